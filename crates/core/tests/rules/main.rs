//! The rules, tested from outside: tables of facts, properties against naive models, and the traps of earlier designs.

mod bookings;
mod claims;
mod organiser;
mod properties;
mod score;
mod stage;
mod traps;
mod waiting_room;
