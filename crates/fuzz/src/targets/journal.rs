//! The journal's rows: on each line a time, a space, and a decision's changes as JSON.

use crate::quiet::{expecting, guarded};
use crate::verdict::{Verdict, assert_sentence};
use onrush_core::ids::EventId;
use onrush_core::{Change, Event, Time};
use onrush_store::embedded::fuzzing::replayed;
use onrush_store::{FeedEntry, Seq};

/// Reads the lines, and adds up those that are decisions.
///
/// # Panics
/// If changes do not come back as they were written, or the state that they add up to does not
/// come back from its rows.
pub fn target(bytes: &[u8]) -> Verdict {
    let event: EventId = "e".parse().expect("it is an id");
    let text = String::from_utf8_lossy(bytes);
    let decisions = text.lines().filter_map(decision);
    let entries: Vec<FeedEntry> = (1..)
        .zip(decisions)
        .map(|(seq, (at, changes))| FeedEntry { seq: Seq(seq), at, event: event.clone(), changes })
        .collect();
    if entries.is_empty() {
        return Verdict::Refused;
    }
    let replayed = expecting(|| replayed(entries));
    match &replayed {
        Ok(events) => events.iter().for_each(|(event, rows)| {
            let restored = guarded(|| Event::restore(event.clone(), rows.iter().cloned()));
            let restored = restored.and_then(|restored| restored).expect("a state's rows fit");
            assert!(restored.snapshot().eq(rows.iter().cloned()), "it is another state");
        }),
        Err(why) => assert_sentence(why),
    }
    Verdict::on(&replayed)
}

fn decision(line: &str) -> Option<(Time, Vec<Change>)> {
    let (at, body) = line.split_once(' ')?;
    let at = Time(at.parse().ok()?);
    let changes: Vec<Change> = match serde_json::from_str(body) {
        Ok(changes) => changes,
        Err(why) => {
            assert_sentence(&why.to_string());
            return None;
        }
    };
    let text = serde_json::to_string(&changes).expect("changes can be written");
    let again: Vec<Change> = serde_json::from_str(&text).expect("what was written is read");
    assert_eq!(again, changes, "they are other changes");
    assert_eq!(serde_json::to_string(&again).ok(), Some(text), "it is another text");
    Some((at, changes))
}
