//! Several nodes on one Redis and one PostgreSQL: real processes, real servers, faults, and an
//! audit after each.

mod archived;
#[path = "../cli_support/mod.rs"]
mod cli_support;
mod deployment;
mod faults;
mod history;
mod load;
mod lost_tail;
mod moving;
mod outages;
mod restored;
mod retired;
mod room;
mod sale;
mod simulation;
