//! The JSON that goes in and out. These are promises to others, so they are kept apart from the
//! rules' own types.

pub mod availability;
pub mod booking;
pub mod claim;
pub mod desk;
pub mod event;
pub mod ledger;
pub mod lines;
pub mod payment;
pub mod place;
pub mod problem;
pub mod seats;
pub mod settings;
pub mod texts;
pub mod ticket;
