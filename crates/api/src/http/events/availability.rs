//! What is left of an event.

use super::shapes::stock::{Availability, CategoryBody, PoolBody};
use crate::http::body::json_bytes;
use crate::http::caller::Ids;
use crate::http::openapi::EventProblems;
use crate::http::problem::Problem;
use crate::http::state::Sale;
use crate::json::ids::EventIdText;
use crate::live::looks::{Left, Looks, Piece, Seen};
use crate::live::pieces::Pieces;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use onrush_core::ids::EventId;
use onrush_core::view::AvailabilityView;
use serde::Serialize;
use std::io;
use std::sync::Arc;

/// What stands between pools and categories, and what behind these.
const BETWEEN: &[u8] = b"],\"categories\":[";
const END: &[u8] = b"]}";

/// What is left of an event, and for how much: by pool, and by category of seats.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/availability", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "What is left", body = Availability), EventProblems),
)]
pub async fn availability(
    State(sale): State<Arc<Sale>>,
    Ids(event): Ids<EventId>,
) -> Result<Response, Problem> {
    let left = sale.looks.left(&event).await?;
    let first = left.value.first();
    let body: Body = match written(&event, &left, first) {
        Some(whole) if first == Piece::Whole => whole.into(),
        Some(_) | None => Body::new(left_body(sale.looks.clone(), event, first)),
    };
    Ok(json_bytes(StatusCode::OK, body))
}

/// A long answer. It is written while it is sent, and each piece is of the last reading by then:
/// whoever reads slowly holds on to none but the piece they are at.
type LeftBody = Pieces<(Looks, EventId), Piece, io::Error>;

fn left_body(looks: Looks, event: EventId, first: Piece) -> LeftBody {
    Pieces::new((looks, event), first, |(looks, event), piece| {
        let last = looks.last_left(event);
        let made =
            last.and_then(|left| Some((written(event, &left, piece)?, left.value.after(piece))));
        made.ok_or_else(|| io::Error::other("the event was archived meanwhile"))
    })
}

/// A piece of what is left, which is written once for everybody; nothing if there is none such.
fn written(event: &EventId, left: &Seen<Left>, piece: Piece) -> Option<Bytes> {
    left.value.written(piece, || write(event, left, piece))
}

fn write(event: &EventId, left: &Seen<Left>, piece: Piece) -> Vec<u8> {
    let Left { settings, stock, .. } = &left.value;
    let around = |stock: &AvailabilityView| {
        let all = Availability::new(event.clone(), left.at, stock, settings);
        serde_json::to_vec(&all).expect("an answer is JSON")
    };
    let mut out = Vec::new();
    match piece {
        Piece::Whole => out = around(stock),
        Piece::Pools(number) => {
            if number == 0 {
                out = around(&AvailabilityView { pools: Vec::new(), categories: Vec::new() });
                out.truncate(out.len() - BETWEEN.len() - END.len());
            }
            list(&mut out, number, &PoolBody::all(left.value.pools_of(number), settings));
        }
        Piece::Categories(number) => {
            if number == 0 {
                out.extend_from_slice(BETWEEN);
            }
            let categories = left.value.categories_of(number).iter().cloned();
            list(&mut out, number, &CategoryBody::all(categories, settings));
            if left.value.after(piece).is_none() {
                out.extend_from_slice(END);
            }
        }
    }
    out
}

/// A part of a list, the first of which has the number 0.
fn list<T: Serialize>(out: &mut Vec<u8>, number: usize, items: &[T]) {
    for (index, item) in items.iter().enumerate() {
        if number + index > 0 {
            out.push(b',');
        }
        serde_json::to_writer(&mut *out, item).expect("an answer is JSON");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_stub::EngineStub;
    use crate::live::samples;
    use onrush_core::view::{CategoryView, PoolView, Units};
    use onrush_core::{Query, View};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// So many pools and categories, of which so many units are free.
    fn stock(pools: usize, categories: usize, free: u32) -> AvailabilityView {
        let units = Units { free, ..Units::default() };
        let pool = |number| PoolView {
            pool: format!("night-{number}").parse().unwrap(),
            price_minor: 900,
            first_minor: None,
            later: Vec::new(),
            types: Vec::new(),
            capacity: free,
            units,
            claimed: 0,
            claimed_by_services: 0,
            blocked_why: Vec::new(),
            allotted: Vec::new(),
        };
        let category = |number| CategoryView {
            name: format!("Block {number}").into(),
            price_minor: 900,
            first_minor: None,
            later: Vec::new(),
            types: Vec::new(),
            units,
            allotted: Vec::new(),
        };
        AvailabilityView {
            pools: (0..pools).map(pool).collect(),
            categories: (0..categories).map(category).collect(),
        }
    }

    /// Looks at an event with so many pools and categories, and how many units of each are free.
    fn looks(pools: usize, categories: usize) -> (Looks, Arc<AtomicU32>) {
        let free = Arc::new(AtomicU32::new(1));
        let told = {
            let free = free.clone();
            move |event: &EventId, query: &Query| {
                let free = free.load(Ordering::Relaxed);
                Some(Ok(match query {
                    Query::Event(_) => View::Event(Box::new(samples::tests::view(event.as_str()))),
                    Query::Availability(_) => {
                        View::Availability(Box::new(stock(pools, categories, free)))
                    }
                    _ => unreachable!("nothing else is asked"),
                }))
            }
        };
        let stub = EngineStub::telling(told);
        (Looks::new(Arc::new(stub)), free)
    }

    fn body(looks: &Looks, left: &Seen<Left>) -> LeftBody {
        left_body(looks.clone(), "e".parse().unwrap(), left.value.first())
    }

    fn joined(pieces: &[Bytes]) -> Vec<u8> {
        pieces.iter().flatten().copied().collect()
    }

    fn pieces(mut body: LeftBody) -> Vec<Bytes> {
        std::iter::from_fn(|| body.piece()).map(Result::unwrap).collect()
    }

    #[tokio::test]
    async fn whoever_asks_for_one_reading_shares_its_bytes_and_gets_them_in_short_pieces() {
        let event: EventId = "e".parse().unwrap();
        for (pools, categories) in [(0, 0), (32, 32), (33, 0), (64, 1), (200, 70)] {
            let (looks, _) = looks(pools, categories);
            let left = looks.left(&event).await.unwrap();
            let [first, second] = [(); 2].map(|()| pieces(body(&looks, &left)));
            let places =
                |pieces: &[Bytes]| pieces.iter().map(|piece| piece.as_ptr()).collect::<Vec<_>>();
            assert_eq!(places(&first), places(&second), "{pools} pools");
            assert!(first.iter().all(|piece| piece.len() < 16 << 10), "{pools} pools");
            let Left { settings, stock, .. } = &left.value;
            let all = Availability::new(event.clone(), left.at, stock, settings);
            let (all, told) = (serde_json::to_string(&all).unwrap(), joined(&first));
            assert_eq!(String::from_utf8(told).unwrap(), all, "{pools} pools");
        }
    }

    #[tokio::test]
    async fn whoever_reads_slowly_goes_on_with_what_is_left_by_then() {
        let event: EventId = "e".parse().unwrap();
        let (looks, free) = looks(40, 0);
        let left = looks.left(&event).await.unwrap();
        let mut slow = body(&looks, &left);
        let first = slow.piece().unwrap().unwrap();
        free.store(2, Ordering::Relaxed);
        looks.left(&event).await.unwrap();
        assert_eq!(Arc::strong_count(&left), 1, "nobody holds on to the first reading");
        let all: Vec<Bytes> = [first].into_iter().chain(pieces(slow)).collect();
        let all: serde_json::Value = serde_json::from_slice(&joined(&all)).unwrap();
        let pools = all["pools"].as_array().unwrap();
        let free: Vec<_> = pools.iter().map(|pool| pool["free"].as_u64().unwrap()).collect();
        assert_eq!(free, [[1; 32].as_slice(), &[2; 8]].concat());
        looks.forget(&event);
        assert!(body(&looks, &left).piece().unwrap().is_err(), "it was archived");
    }
}
