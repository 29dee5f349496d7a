//! The feed, page by page.

use crate::feed_page::next_page;
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
use onrush_store::{Engine, FeedEntry, Seq};
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
    Ok(Json(read(&*sale.engine, after, query.event.as_ref(), limit).await?))
}

/// A page of the feed, of one event or all.
async fn read(
    engine: &dyn Engine,
    after: u64,
    event: Option<&EventId>,
    limit: usize,
) -> Result<FeedBody, Problem> {
    let (mut entries, mut next, mut read, mut left_out) = (Vec::new(), after, 0, 0);
    let committed = engine.committed().0;
    let mut feed = engine.subscribe(Seq(next));
    // The feed waits for more at its end, so it is asked only while there is some.
    'pages: while next < committed {
        let Some(page) = next_page(&mut *feed).await? else { break };
        for entry in page {
            if entries.len() == limit || read == MAX_READ {
                break 'pages;
            }
            read += 1;
            let missing = entry.seq.0 - next - 1;
            next = entry.seq.0;
            if event.is_none() {
                left_out += missing;
            }
            if event.is_some_and(|event| *event != entry.event) {
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
    Ok(FeedBody { entries, next, committed, left_out })
}

impl From<&FeedEntry> for EntryBody {
    fn from(entry: &FeedEntry) -> Self {
        let FeedEntry { seq, at, event, changes } = entry;
        Self { seq: seq.0, at: *at, event: event.clone(), changes: changes.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_stub::EngineStub;
    use onrush_core::change::SaleChange;

    /// As after a failover to a standby that lagged behind.
    #[tokio::test]
    async fn a_page_ends_with_what_a_feed_has_that_lost_its_end() {
        let event: EventId = "e".parse().unwrap();
        let changes = vec![Change::Sale(SaleChange::SalePaused)];
        let entry = FeedEntry { seq: Seq(1), at: Time(1), event, changes };
        let engine = EngineStub {
            feed: vec![Arc::new(entry)],
            committed: 3.into(),
            ..EngineStub::telling(|_: &_, _: &_| None)
        };
        for (after, found) in [(0, 1), (1, 0), (2, 0)] {
            let page = read(&engine, after, None, 100).await.expect("it is read");
            assert_eq!(page.entries.len(), found, "{after}");
            assert_eq!((page.next, page.committed), (after.max(1), 3));
        }
    }
}
