//! Conformance: random sequences of commands on every engine, compared with the rules one by one.
//!
//! `ONRUSH_CONFORMANCE_RUNS` multiplies how much is played; `ONRUSH_CONFORMANCE_SEED` plays one sequence alone;
//! `ONRUSH_CONFORMANCE_WITHOUT=money,claim` leaves groups of commands out; `ONRUSH_CONFORMANCE_FAILURES` names a folder
//! that failing sequences are written to, and `ONRUSH_CONFORMANCE_REPLAY` one of those files to be played again.

mod embedded;
mod generator;
#[path = "../support/memory_archive.rs"]
mod memory_archive;
mod play;
mod random;
mod redis;
mod sequences;
mod truth;
mod world;
