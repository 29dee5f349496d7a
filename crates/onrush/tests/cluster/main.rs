//! Several nodes on one Redis and one PostgreSQL: real processes, real servers, faults, and an
//! audit after each.

#[path = "../cli_support/mod.rs"]
mod cli_support;
mod deployment;
mod faults;
mod load;
mod lost_tail;
mod outages;
mod restored;
mod sale;
mod simulation;
