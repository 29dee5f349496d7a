//! What runs reach: every command, and every refusal but those listed here.

use crate::asked::Deal;
use crate::simulate;
use crate::world::World;
use onrush_core::Refusal;
use onrush_core::change::{Change, HoldChange};
use std::collections::BTreeSet;

/// Refusals that no run reaches, and why not.
const NOT_REACHED: &[(&str, &str)] = &[
    ("EVENT_LIMIT", "a sale has a few pools and seats"),
    ("BAN_LIST_FULL", "a sale has a few dozen visitors"),
];

/// Names of variants, as JSON has them.
fn name<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value).expect("it can be written as JSON") {
        serde_json::Value::String(name) => name,
        other => {
            let object = other.as_object().expect("a variant with fields is an object");
            object.keys().next().expect("it has a name").clone()
        }
    }
}

/// Commands there are, in command.rs.
const COMMANDS: usize = 40;
/// Changes there are, in change.rs.
const CHANGES: usize = 46;
/// Sales that are looked at until they have reached everything; some hundred do.
const MOST_SALES: u64 = 2_000;

/// What happened in some hundred sales: commands accepted, codes of refusals, changes, and how many
/// seats a hold had at most.
fn reached() -> ([BTreeSet<String>; 3], usize) {
    let [mut accepted, mut codes, mut changed] = [const { BTreeSet::new() }; 3];
    let mut most_seats = 0;
    let all = Refusal::KINDS.len() - NOT_REACHED.len();
    for seed in 0..MOST_SALES {
        let has_all = (accepted.len(), changed.len()) == (COMMANDS, CHANGES);
        if has_all && codes.len() >= all && most_seats > 20 {
            break;
        }
        let mut world = World::new();
        for step in simulate(seed, &[], true).steps {
            world.step(step).expect("these seeds show no violation");
            for asked in world.answers.drain(..) {
                let Deal::Command { command, said, changes } = asked.deal else { continue };
                changed.extend(changes.iter().map(name));
                for change in &*changes {
                    if let Change::Hold(HoldChange::HoldPlaced { terms, .. }) = change {
                        most_seats = most_seats.max(terms.lines.seats().len());
                    }
                }
                match said {
                    Ok(_) => accepted.insert(name(&command)),
                    Err(refusal) => codes.insert(refusal.code().to_owned()),
                };
            }
        }
    }
    ([accepted, codes, changed], most_seats)
}

#[test]
fn runs_reach_every_command_and_every_refusal_but_those_listed() {
    let ([accepted, codes, changed], most_seats) = reached();
    assert!(most_seats > 20, "no hold has more than {most_seats} seats, and rows may be longer");
    // What command.rs and change.rs have, as their JSON names them.
    assert_eq!(accepted.len(), COMMANDS, "commands accepted: {accepted:?}");
    assert_eq!(changed.len(), CHANGES, "changes: {changed:?}");
    let listed: BTreeSet<String> = NOT_REACHED.iter().map(|(code, _)| (*code).to_owned()).collect();
    let all = Refusal::KINDS.iter().map(|kind| kind.code.to_owned());
    let missing: BTreeSet<String> = all.filter(|code| !codes.contains(code)).collect();
    assert_eq!(missing, listed, "refusals that no run reached, and those listed");
}
