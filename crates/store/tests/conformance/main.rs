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

// The rules' own table tests, with Redis as their shadow. Not those that draw thousands of cases
// (`kept_counts`, `mixed_bookings`, `properties`): random sequences are what this suite has of its own.
#[path = "../../../core/tests/rules/accessible.rs"]
mod accessible;
#[path = "../../../core/tests/rules/answers.rs"]
mod answers;
#[path = "../../../core/tests/rules/archive.rs"]
mod archive;
#[path = "../../../core/tests/rules/best.rs"]
mod best;
#[path = "../../../core/tests/rules/bookings.rs"]
mod bookings;
#[path = "../../../core/tests/rules/bounds.rs"]
mod bounds;
#[path = "../../../core/tests/rules/channels.rs"]
mod channels;
#[path = "../../../core/tests/rules/claims.rs"]
mod claims;
#[path = "../../../core/tests/rules/costs.rs"]
mod costs;
#[path = "../../../core/tests/rules/edges.rs"]
mod edges;
#[path = "../../../core/tests/rules/limits.rs"]
mod limits;
#[path = "../../../core/tests/rules/money.rs"]
mod money;
#[path = "../../../core/tests/rules/organiser.rs"]
mod organiser;
#[path = "../../../core/tests/rules/payers.rs"]
mod payers;
#[path = "../../../core/tests/rules/prices.rs"]
mod prices;
#[path = "../../../core/tests/rules/public_value.rs"]
mod public_value;
#[path = "../../../core/tests/rules/refunds.rs"]
mod refunds;
#[path = "../../../core/tests/rules/removal.rs"]
mod removal;
mod shadow;
#[path = "../../../core/tests/rules/single_seats.rs"]
mod single_seats;
#[path = "../../../core/tests/rules/something_left.rs"]
mod something_left;
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

/// Those of the rules' tests on a stage that are not played here: they draw thousands of cases.
const NOT_HERE: [&str; 3] = ["kept_counts.rs", "mixed_bookings.rs", "properties.rs"];

#[test]
fn every_table_test_of_the_rules_is_played_here() {
    let (dir, here) =
        (concat!(env!("CARGO_MANIFEST_DIR"), "/../core/tests/rules"), include_str!("main.rs"));
    let (mut played, mut missing) = (0, Vec::new());
    for file in std::fs::read_dir(dir).expect("the rules' tests") {
        let path = file.expect("a file").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let text = std::fs::read_to_string(&path).expect("it can be read");
        if !text.contains("use crate::stage::") || NOT_HERE.contains(&name.as_str()) {
            continue;
        }
        if here.contains(&format!("rules/{name}\"")) { played += 1 } else { missing.push(name) }
    }
    assert!(missing.is_empty(), "only the rules are asked what these ask: {missing:?}");
    assert!(played >= 24, "{played}");
}
