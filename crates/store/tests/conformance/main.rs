//! Conformance: random sequences of commands on every engine, compared with the rules one by one.
//!
//! `ONRUSH_CONFORMANCE_RUNS` multiplies how much is played; `ONRUSH_CONFORMANCE_SEED` plays one
//! sequence alone; `ONRUSH_CONFORMANCE_WITHOUT=money,claim` leaves groups of commands out;
//! `ONRUSH_CONFORMANCE_FAILURES` names a folder that failing sequences are written to, and
//! `ONRUSH_CONFORMANCE_REPLAY` one of those files to be played again.

mod embedded;
mod generator;
#[expect(dead_code, reason = "other tests take it away and look into it")]
#[path = "../support/memory_archive.rs"]
mod memory_archive;
mod play;
mod random;
mod redis;
mod sequences;
mod truth;
mod world;

// The rules' own table tests, with Redis as their shadow.
#[path = "../../../core/tests/rules/accessible.rs"]
mod accessible;
#[path = "../../../core/tests/rules/answers.rs"]
mod answers;
#[path = "../../../core/tests/rules/best.rs"]
mod best;
#[path = "../../../core/tests/rules/bookings.rs"]
mod bookings;
#[path = "../../../core/tests/rules/claims.rs"]
mod claims;
#[path = "../../../core/tests/rules/limits.rs"]
mod limits;
#[path = "../../../core/tests/rules/money.rs"]
mod money;
#[path = "../../../core/tests/rules/organiser.rs"]
mod organiser;
#[path = "../../../core/tests/rules/payers.rs"]
mod payers;
#[path = "../../../core/tests/rules/public_value.rs"]
mod public_value;
#[path = "../../../core/tests/rules/refunds.rs"]
mod refunds;
#[path = "../../../core/tests/rules/removal.rs"]
mod removal;
mod shadow;
#[path = "../../../core/tests/rules/single_seats.rs"]
mod single_seats;
#[path = "../../../core/tests/rules/stage.rs"]
mod stage;
#[path = "../../../core/tests/rules/traps.rs"]
mod traps;
#[path = "../../../core/tests/rules/typed_best.rs"]
mod typed_best;
#[path = "../../../core/tests/rules/types.rs"]
mod types;
#[path = "../../../core/tests/rules/waiting_room.rs"]
mod waiting_room;
