//! What Redis keeps and scripts answer, from texts instead: for a fuzzer, which has no Redis.

use super::layout::{Layout, Texts};
use super::rows::SeatSpecs;
use super::{query, wire};
use onrush_core::ids::EventId;
use onrush_core::snapshot::SnapshotRow;
use onrush_core::{Event, Query, View};
use redis::Value;

/// An event's keys: for each one its name and what is in it, field by field.
pub type Keys = Vec<(&'static str, Vec<(String, String)>)>;

/// How Redis keeps this state, without what follows from it alone.
///
/// # Panics
/// If the event does not exist.
#[must_use]
pub fn keys_of(event: &Event) -> Keys {
    let mut layout = Layout::of(event);
    let mut keys: Keys = hashes(&mut layout)
        .into_iter()
        .map(|(name, texts)| (name, std::mem::take(texts).into_iter().collect()))
        .collect();
    let scored = |line: Vec<(String, i64)>| {
        line.into_iter().map(|(member, score)| (member, score.to_string())).collect()
    };
    keys.push(("queue", scored(layout.queue)));
    keys.push(("parked", scored(layout.parked)));
    keys
}

/// The rows of a snapshot that these fields of keys are the state of; keys of other names, and
/// scores that are no numbers, are left out.
///
/// # Errors
/// What cannot be read, as a sentence.
pub fn rows<'a>(
    fields: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
    seats: &SeatSpecs,
) -> Result<Vec<SnapshotRow>, String> {
    let mut layout = Layout::default();
    for (key, field, text) in fields {
        let mut hashes = hashes(&mut layout);
        if let Some((_, texts)) = hashes.iter_mut().find(|(name, _)| *name == key) {
            texts.insert(field.to_owned(), text.to_owned());
        } else if let Ok(score) = text.parse() {
            match key {
                "queue" => layout.queue.push((field.to_owned(), score)),
                "parked" => layout.parked.push((field.to_owned(), score)),
                _ => {}
            }
        }
    }
    layout.rows(seats)
}

/// What a script's answer to a question means.
///
/// # Errors
/// What no script of ours answers, as a sentence.
pub fn answer(event: &EventId, query: &Query, parts: Vec<Vec<u8>>) -> Result<Option<View>, String> {
    let parts = parts.into_iter().map(|part| {
        // The fields of hashes come as a list in the list.
        match part.strip_prefix(b"*") {
            Some(fields) => {
                let fields = fields.split(|byte| *byte == b'\t');
                Value::Array(fields.map(|field| Value::BulkString(field.to_vec())).collect())
            }
            None => Value::BulkString(part),
        }
    });
    match wire::outcome(Value::Array(parts.collect()))? {
        wire::Outcome::Ok { reply, more, .. } => query::view(event, query, &reply, more).map(Some),
        wire::Outcome::No { .. } | wire::Outcome::Other(_) => Ok(None),
    }
}

fn hashes(layout: &mut Layout) -> [(&'static str, &mut Texts); 20] {
    let Layout {
        meta,
        pools,
        blocked,
        seats,
        categories,
        holds,
        users,
        sessions,
        queue: _,
        parked: _,
        lapses,
        deadlines,
        claims,
        bans,
        gone,
        segments,
        segments_free,
        segments_open,
        access,
        channels,
        payers,
        extended,
    } = layout;
    [
        ("meta", meta),
        ("pools", pools),
        ("blocked", blocked),
        ("seats", seats),
        ("categories", categories),
        ("holds", holds),
        ("users", users),
        ("sessions", sessions),
        ("lapses", lapses),
        ("deadlines", deadlines),
        ("claims", claims),
        ("bans", bans),
        ("segments", segments),
        ("segments_free", segments_free),
        ("segments_open", segments_open),
        ("access", access),
        ("channels", channels),
        ("payers", payers),
        ("extended", extended),
        ("gone", gone),
    ]
}
