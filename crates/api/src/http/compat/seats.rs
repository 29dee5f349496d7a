//! `GET /api/seats/available`.

use super::words::OfEvent;
use crate::http::body::json_bytes;
use crate::http::caller::Strict;
use crate::http::openapi::EventProblems;
use crate::http::problem::Problem;
use crate::http::state::Units;
use crate::json::ids::{EventIdText, IdText};
use crate::live::pieces::{PIECE_BYTES, Pieces};
use crate::live::snapshot::Snapshot;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use onrush_core::ids::EventId;
use std::sync::Arc;
use utoipa::ToSchema;

/// The seats that nobody has.
#[derive(ToSchema)]
#[schema(as = InheritedSeats)]
#[expect(dead_code, reason = "it describes what is written piece by piece")]
pub struct Available {
    /// The event.
    #[schema(value_type = EventIdText)]
    event_id: EventId,
    /// Their ids, in the order of the seat map.
    #[schema(value_type = Vec<IdText>)]
    seats: Vec<String>,
}

/// The seats that can be selected now.
#[utoipa::path(
    get, path = "/api/seats/available", tag = "inherited", operation_id = "inherited_seats",
    params(OfEvent),
    responses((status = 200, description = "The free seats", body = Available), EventProblems),
)]
pub async fn seats(
    State(units): State<Arc<Units>>,
    Strict(OfEvent { event_id }): Strict<OfEvent>,
) -> Result<Response, Problem> {
    let snapshot = units.boards.lately(&event_id).await?;
    Ok(json_bytes(StatusCode::OK, Body::new(free_seats(event_id, snapshot))))
}

/// The list, which is written while it is sent: its readers share the seats.
type FreeSeats = Pieces<(EventId, Arc<Snapshot>), usize>;

fn free_seats(event: EventId, snapshot: Arc<Snapshot>) -> FreeSeats {
    // An id in its quotes, and a comma or the end of the list; the end of it all.
    let ids: usize = snapshot.free_from(0).map(|(_, seat)| seat.as_str().len() + 3).sum();
    let bytes = start(&event).len() + ids.max(1) + 1;
    let body = Pieces::new((event, snapshot), 0, |(event, snapshot), first| {
        Ok(write(event, snapshot, first))
    });
    body.of_length(bytes as u64)
}

/// What stands before the seats.
fn start(event: &EventId) -> String {
    format!("{{\"event_id\":\"{event}\",\"seats\":[")
}

/// Free seats from the one with this number on, and where to look for the next one.
fn write(event: &EventId, snapshot: &Snapshot, first: usize) -> (Bytes, Option<usize>) {
    let mut piece = if first == 0 { start(event).into_bytes() } else { Vec::new() };
    let mut next = None;
    for (index, seat) in snapshot.free_from(first) {
        if piece.len() >= PIECE_BYTES {
            next = Some(index);
            break;
        }
        // The start of it all ends with a bracket.
        if piece.last() != Some(&b'[') {
            piece.push(b',');
        }
        piece.push(b'"');
        piece.extend_from_slice(seat.as_str().as_bytes());
        piece.push(b'"');
    }
    if next.is_none() {
        piece.extend_from_slice(b"]}");
    }
    (piece.into(), next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::snapshot::snapshots;
    use http_body::Body as _;
    use serde_json::{Value, json};

    #[test]
    fn the_list_is_sent_in_short_pieces_of_a_known_length() {
        for letters in ["", "f", "hsb", "bfhsf", &"fh".repeat(5_000)] {
            let snapshot = snapshots(letters.len(), [letters]).remove(0);
            let mut body = free_seats("e".parse().unwrap(), snapshot);
            let promised = body.size_hint().exact().unwrap();
            let (mut sent, mut longest) = (Vec::new(), 0);
            while let Some(Ok(piece)) = body.piece() {
                longest = longest.max(piece.len());
                sent.extend_from_slice(&piece);
            }
            assert!(body.is_end_stream() && longest <= PIECE_BYTES + 256, "{longest}");
            assert_eq!(sent.len() as u64, promised);
            let free = (0..).zip(letters.bytes()).filter(|(_, letter)| *letter == b'f');
            let free: Vec<String> =
                free.map(|(number, _): (u32, _)| format!("A-{number}")).collect();
            let told: Value = serde_json::from_slice(&sent).unwrap();
            assert_eq!(told, json!({"event_id": "e", "seats": free}));
        }
    }
}
