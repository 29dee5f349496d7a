//! An event's stream, as scripts write it (`lua/include/change.lua`) and archiver and rebuilder read it.

use super::archive::ToArchiveEntry;
use super::client::{Client, ClientError};
use super::head::Mark;
use super::known::KnownEvent;
use super::wire::read_json;
use crate::engine::{FeedEntry, Seq};
use onrush_core::Time;
use onrush_core::ids::EventId;
use redis::Value;

/// A decision in the stream.
pub(super) struct Streamed {
    /// How often the event had been rebuilt before it was decided.
    pub(super) epoch: u64,
    pub(super) entry: FeedEntry,
    /// Its changes as the script wrote them.
    pub(super) text: String,
    /// The mark of the decision before.
    pub(super) before: Option<Mark>,
    pub(super) mark: Option<Mark>,
}

impl Streamed {
    pub(super) fn into_entry(self) -> ToArchiveEntry {
        ToArchiveEntry { entry: self.entry, text: self.text, mark: self.mark }
    }
}

/// Decisions from this one on; what cannot be read as a sentence.
pub(super) async fn read(
    client: &Client,
    known: &KnownEvent,
    from: Seq,
    limit: usize,
) -> Result<Vec<Result<Streamed, String>>, ClientError> {
    let mut command = redis::cmd("XRANGE");
    command.arg(known.keys.feed()).arg(format!("{}-0", from.0)).arg("+");
    let answer = client.command(command.arg("COUNT").arg(limit)).await?;
    page(&known.event, answer).map_err(ClientError::Answered)
}

/// Decisions up to the first that cannot be read, and why it cannot.
pub(super) fn readable(page: Vec<Result<Streamed, String>>) -> (Vec<Streamed>, Option<String>) {
    let mut readable = Vec::with_capacity(page.len());
    for read in page {
        match read {
            Ok(read) => readable.push(read),
            Err(why) => return (readable, Some(why)),
        }
    }
    (readable, None)
}

/// Decisions as Redis answers them; each that cannot be read as a sentence.
///
/// # Errors
/// The same of the whole.
pub(super) fn page(
    event: &EventId,
    answer: Value,
) -> Result<Vec<Result<Streamed, String>>, String> {
    let page: Vec<(String, Vec<String>)> =
        redis::from_redis_value(answer).map_err(|error| error.to_string())?;
    Ok(page.iter().map(|(id, fields)| streamed(event, id, fields)).collect())
}

fn streamed(event: &EventId, id: &str, fields: &[String]) -> Result<Streamed, String> {
    let field = |name: &str| {
        let found = fields.chunks_exact(2).find(|pair| pair[0] == name);
        found.map(|pair| pair[1].as_str()).ok_or_else(|| format!("entry {id} has no {name}"))
    };
    let seq = id.split('-').next().and_then(|seq| seq.parse().ok());
    let at = field("at")?;
    let epoch = field("e")?;
    let text = field("c")?;
    let mark = |name| field(name).ok().and_then(|text| text.parse().ok());
    Ok(Streamed {
        epoch: epoch.parse().map_err(|_| format!("entry {id} has {epoch} for an epoch"))?,
        entry: FeedEntry {
            seq: Seq(seq.ok_or_else(|| format!("entry {id} has no number"))?),
            at: Time(at.parse().map_err(|_| format!("entry {id} has {at} for a time"))?),
            event: event.clone(),
            changes: read_json(text).map_err(|why| format!("entry {id}: {why}"))?,
        },
        text: text.to_owned(),
        before: mark("p"),
        mark: mark("m"),
    })
}
