//! The rules of an on-sale: who waits, who may shop, who holds what, and until when.
//!
//! Nothing here reads a clock, draws randomness, does I/O or knows of threads. Time and random
//! values come in as arguments. [`Event::decide`](event::Event::decide) reads the state and says
//! what a command would change; [`Event::evolve`](event::Event::evolve) applies changes and cannot
//! fail, so that replaying a journal rebuilds the state.

#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

mod arena;
mod bans;
pub mod best;
mod bookings;
pub mod change;
pub mod channels;
mod claimed;
mod claims;
pub mod command;
pub mod costs;
mod digest;
mod ended;
pub mod event;
pub mod gaps;
pub mod hold;
pub mod ids;
mod invariants;
pub mod limits;
pub mod lines;
pub mod money;
pub mod payers;
pub mod phase;
mod phrases;
pub mod prices;
pub mod question;
pub mod refusal;
mod room_settings;
pub mod saga;
pub mod score;
mod seats;
pub mod segments;
pub mod settings;
pub mod snapshot;
pub mod spec;
mod stock;
pub mod tax;
pub mod time;
pub mod types;
pub mod user_limits;
mod users;
pub mod view;
pub mod waiting_room;

pub use change::Change;
pub use command::Command;
pub use event::{Changes, Decision, Event};
pub use phase::Phase;
pub use question::{Query, Question, View};
pub use refusal::{Class, Refusal};
pub use time::Time;
pub use view::Reply;
