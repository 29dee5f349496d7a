//! The feed, page by page.

use crate::http::body::Json;
use crate::http::caller::{Operator, Strict};
use crate::http::openapi::ReadProblems;
use crate::http::problem::{Code, Problem};
use crate::http::shapes::page::page_size;
use crate::http::state::Sale;
use crate::json::ids::{EventIdText, TimeMs};
use axum::extract::State;
use onrush_core::ids::EventId;
use onrush_core::{Change, Time};
use onrush_store::{FeedEntry, Seq};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Entries looked at for one page: a filter that finds little must not read the whole journal at once.
const MAX_READ: usize = 20_000;

/// Which page.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FeedQuery {
    /// The number of the last entry that was read; 0 is the beginning.
    #[param(minimum = 0, nullable = false)]
    after: Option<i64>,
    /// Only entries of this event.
    #[param(value_type = Option<EventIdText>, nullable = false)]
    event: Option<EventId>,
    /// How many at most; 100 if left out.
    #[param(minimum = 1, maximum = 1000, nullable = false)]
    limit: Option<usize>,
}

/// A page of the feed.
#[derive(Serialize, ToSchema)]
pub struct FeedBody {
    /// The entries, in order.
    entries: Vec<EntryBody>,
    /// What to ask for next as `after`.
    next: u64,
    /// The number of the last entry there is.
    committed: u64,
    /// Entries that were passed over: their event was archived, and their changes are in its archive
    /// file and nowhere else. In a cluster, numbers below `next` that no entry has, if all events are
    /// asked for: nobody knows any more whose they were.
    left_out: u64,
}

/// One decision.
#[derive(Serialize, ToSchema)]
pub struct EntryBody {
    /// Its number.
    seq: u64,
    /// When it was decided.
    #[schema(value_type = TimeMs)]
    at: Time,
    /// The event it belongs to.
    #[schema(value_type = EventIdText)]
    event: EventId,
    /// What changed, as docs/design/journal.md explains it.
    #[schema(value_type = Vec<serde_json::Value>)]
    changes: Vec<Change>,
}

/// The changes of all events, in order, as the journal has them.
#[utoipa::path(
    get, path = "/api/v1/admin/feed", tag = "admin",
    params(FeedQuery),
    responses((status = 200, description = "A page of the feed", body = FeedBody), ReadProblems),
)]
pub async fn feed(
    State(sale): State<Arc<Sale>>,
    _: Operator,
    Strict(query): Strict<FeedQuery>,
) -> Result<Json<FeedBody>, Problem> {
    let limit = page_size(query.limit)?;
    let Ok(after) = u64::try_from(query.after.unwrap_or(0)) else {
        return Err(Problem::new(Code::InvalidQuery, "after: use 0 or the number of an entry")
            .about("after"));
    };
    let (mut entries, mut next, mut read, mut left_out) = (Vec::new(), after, 0, 0);
    let committed = sale.engine.committed().0;
    let mut feed = sale.engine.subscribe(Seq(next));
    // The feed waits for more at its end, so it is asked only while there is some.
    'pages: while next < committed {
        let page = feed.next().await.map_err(|error| {
            tracing::error!(error, "the feed cannot be read");
            Problem::new(Code::Internal, "reading the feed failed on our side; the log has more")
        })?;
        for entry in page.unwrap_or_default() {
            if entries.len() == limit || read == MAX_READ {
                break 'pages;
            }
            read += 1;
            let missing = entry.seq.0 - next - 1;
            next = entry.seq.0;
            if query.event.is_none() {
                left_out += missing;
            }
            if query.event.as_ref().is_some_and(|event| *event != entry.event) {
                continue;
            }
            if entry.changes.is_empty() {
                left_out += 1;
            } else {
                entries.push(EntryBody::from(&*entry));
            }
        }
        if entries.len() == limit || read == MAX_READ {
            break;
        }
    }
    Ok(Json(FeedBody { entries, next, committed, left_out }))
}

impl From<&FeedEntry> for EntryBody {
    fn from(entry: &FeedEntry) -> Self {
        let FeedEntry { seq, at, event, changes } = entry;
        Self { seq: seq.0, at: *at, event: event.clone(), changes: changes.clone() }
    }
}
