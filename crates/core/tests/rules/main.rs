//! The rules, tested from outside: tables of facts, properties against naive models, and the traps
//! of earlier designs.

mod accessible;
mod answers;
mod archive;
mod best;
mod bookings;
mod bounds;
mod channels;
mod claims;
mod costs;
mod edges;
mod kept_counts;
mod limits;
mod mixed_bookings;
mod money;
mod organiser;
mod payers;
mod prices;
mod properties;
mod public_value;
mod refunds;
mod removal;
mod saga;
mod score;
mod shadow;
mod single_seats;
mod something_left;
mod stage;
mod traps;
mod typed_best;
mod types;
mod waiting_room;
