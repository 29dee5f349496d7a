//! Faults that are planted in a whole server, to see that they are found: in its files between two
//! lives, on the way from its handlers to the network, and in its streams.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// The journal's last row is gone.
    JournalLosesItsEnd,
    /// The journal's last row is gone, and so is the witness.
    JournalAndWitnessLoseTheirEnd,
    /// A row in the middle of the journal is gone.
    JournalHasAHole,
    /// A hold in the journal has other units.
    JournalSaysOtherwise,
    /// Two decisions have each other's numbers.
    JournalIsOutOfOrder,
    /// A confirmation is no part of its decision any more.
    JournalForgetsAConfirmation,
    /// A hold in a snapshot has other units, and the checksum is right.
    SnapshotSaysOtherwise,
    /// The ledger knows nothing of its newest saga.
    LedgerForgetsASaga,
    /// The ledger has a payment that was taken as one that never was.
    LedgerForgetsMoney,
    /// A payment that was taken is told to have been for less.
    LedgerCountsLess,
    /// A saga under way is said to be over.
    SagaEndsEarly,
    /// Sagas are looked at when there is news, and never by themselves.
    SagasAreNeverDue,
    /// A refund is said to be done before anybody was asked for it.
    RefundIsSaidToBeDone,
    /// A refund is forgotten.
    RefundIsForgotten,
    /// Refunds are asked for once more, under another key.
    RefundIsAskedForTwice,
    /// The follower of the journal believes to be further than it is.
    FollowerSkips,
    /// The answers that keys keep are gone.
    KeysAreForgottenInFiles,
    /// The answer that a key keeps is another one's.
    KeysAreMixedUpInFiles,
    /// Nothing of what is to be told is written down.
    MessagesAreForgotten,
    /// What was tried once in vain is forgotten.
    MessagesAreTriedOnce,
    /// What was tried once in vain is given up.
    MessagesAreGivenUpEarly,
    /// What is tried again has another id.
    MessagesChangeTheirIds,
    /// Each message is told under a second id as well.
    MessagesAreDoubled,
    /// Messages for one receiver go to another.
    MessagesGoAstray,
    /// Messages of cancellations tell of other refunds.
    MessagesSayOtherwise,
    /// What was given up is not known any more.
    DeadLettersVanish,
    /// All mail goes to one buyer.
    MailGoesToAnother,
    /// The server sees a new key in each request.
    KeysAreForgotten,
    /// The server takes every key for its visitor's first.
    KeysAreMixedUp,
    /// Holds are promised that were never made.
    HoldsAreInvented,
    /// Every request that holds is done twice.
    HoldsAreDoubled,
    /// Holds are told to cost less.
    PricesAreWrong,
    /// The ticket types that a buyer names are forgotten.
    TypesAreForgotten,
    /// The limit of what one card may pay for is forgotten.
    CardLimitsAreForgotten,
    /// Bookings that are being paid for are said to be confirmed.
    ConfirmedTooEarly,
    /// Holds are said to be released, and are not.
    ReleasesAreInvented,
    /// One ticket of several is missing.
    TicketsAreMissing,
    /// The first ticket is for something else than what was bought.
    TicketsAreForAnother,
    /// The organiser is told that bookings are cancelled, and they are not.
    OrdersAreInvented,
    /// What the organiser changes about capacity is done twice.
    OrdersAreDoubled,
    /// Tickets let somebody in as often as they are shown.
    TicketsLetInTwice,
    /// Who shows a ticket is let in, and it is written down nowhere.
    CheckInsAreInvented,
    /// Another value than was asked for is mixed into draws.
    PublicValuesAreMixedUp,
    /// Another seed is told than the one that was drawn with.
    SeedsAreToldWrong,
    /// Streams do not tell that it is somebody's turn.
    StreamsForgetTurns,
    /// Streams tell people that it is their turn while they wait.
    StreamsInventTurns,
    /// Streams tell of a place that somebody else has.
    StreamsMixUpPlaces,
    /// Streams tell positions behind the end of the line.
    StreamsMiscount,
    /// Streams fall silent.
    StreamsFallSilent,
    /// The journal's log is never synced, though the disk says so.
    JournalIsNotSynced,
    /// The ledger's log is never synced, though the disk says so.
    LedgerIsNotSynced,
}

/// Where a fault is.
enum Where {
    /// In a file, by what is to be done with it.
    File(&'static str, &'static str),
    Router,
    Stream,
    /// In the disk: what files are called that it never syncs.
    Disk(&'static str),
}

const JOURNAL: &str = "engine.db";
const LEDGER: &str = "ledger.db";

impl Planted {
    /// All of them.
    pub const ALL: [Self; 51] = [
        Self::JournalLosesItsEnd,
        Self::JournalAndWitnessLoseTheirEnd,
        Self::JournalHasAHole,
        Self::JournalSaysOtherwise,
        Self::JournalIsOutOfOrder,
        Self::JournalForgetsAConfirmation,
        Self::SnapshotSaysOtherwise,
        Self::LedgerForgetsASaga,
        Self::LedgerForgetsMoney,
        Self::LedgerCountsLess,
        Self::SagaEndsEarly,
        Self::SagasAreNeverDue,
        Self::RefundIsSaidToBeDone,
        Self::RefundIsForgotten,
        Self::RefundIsAskedForTwice,
        Self::FollowerSkips,
        Self::KeysAreForgottenInFiles,
        Self::KeysAreMixedUpInFiles,
        Self::MessagesAreForgotten,
        Self::MessagesAreTriedOnce,
        Self::MessagesAreGivenUpEarly,
        Self::MessagesChangeTheirIds,
        Self::MessagesAreDoubled,
        Self::MessagesGoAstray,
        Self::MessagesSayOtherwise,
        Self::DeadLettersVanish,
        Self::MailGoesToAnother,
        Self::KeysAreForgotten,
        Self::KeysAreMixedUp,
        Self::HoldsAreInvented,
        Self::HoldsAreDoubled,
        Self::PricesAreWrong,
        Self::TypesAreForgotten,
        Self::CardLimitsAreForgotten,
        Self::ConfirmedTooEarly,
        Self::ReleasesAreInvented,
        Self::TicketsAreMissing,
        Self::TicketsAreForAnother,
        Self::OrdersAreInvented,
        Self::OrdersAreDoubled,
        Self::TicketsLetInTwice,
        Self::CheckInsAreInvented,
        Self::PublicValuesAreMixedUp,
        Self::SeedsAreToldWrong,
        Self::StreamsForgetTurns,
        Self::StreamsInventTurns,
        Self::StreamsMixUpPlaces,
        Self::StreamsMiscount,
        Self::StreamsFallSilent,
        Self::JournalIsNotSynced,
        Self::LedgerIsNotSynced,
    ];

    fn place(self) -> Where {
        match self {
            Self::JournalLosesItsEnd | Self::JournalAndWitnessLoseTheirEnd => Where::File(
                JOURNAL,
                "DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)",
            ),
            Self::JournalHasAHole => Where::File(
                JOURNAL,
                "DELETE FROM journal WHERE seq = (SELECT max(seq) / 2 FROM journal)",
            ),
            Self::JournalSaysOtherwise => Where::File(
                JOURNAL,
                "UPDATE journal SET body = replace(body, '\"ga\":1', '\"ga\":2') \
                 WHERE seq = (SELECT max(seq) FROM journal WHERE body LIKE '%\"ga\":1%')",
            ),
            Self::JournalIsOutOfOrder => Where::File(
                JOURNAL,
                "UPDATE journal SET seq = -1 WHERE seq = (SELECT max(seq) FROM journal); \
                 UPDATE journal SET seq = seq + 1 WHERE seq = (SELECT max(seq) FROM journal); \
                 UPDATE journal SET seq = (SELECT max(seq) - 1 FROM journal) WHERE seq = -1",
            ),
            Self::JournalForgetsAConfirmation => Where::File(
                JOURNAL,
                "UPDATE journal SET body = '[]' WHERE seq = (SELECT max(seq) FROM journal \
                 WHERE body LIKE '%hold_confirmed%')",
            ),
            Self::SnapshotSaysOtherwise => Where::File(JOURNAL, ""),
            Self::LedgerForgetsASaga => Where::File(
                LEDGER,
                "PRAGMA foreign_keys = OFF; DELETE FROM sagas WHERE booking_id = \
                 (SELECT booking_id FROM sagas ORDER BY updated_at DESC LIMIT 1)",
            ),
            Self::LedgerForgetsMoney => Where::File(
                LEDGER,
                "UPDATE payments SET stage = 'void', captured_minor = 0 WHERE payment_id = \
                 (SELECT payment_id FROM payments WHERE stage = 'captured' LIMIT 1)",
            ),
            Self::LedgerCountsLess => Where::File(
                LEDGER,
                "UPDATE payments SET captured_minor = captured_minor - 1 WHERE payment_id = \
                 (SELECT payment_id FROM payments WHERE stage = 'captured' LIMIT 1)",
            ),
            Self::SagaEndsEarly => Where::File(
                LEDGER,
                "UPDATE sagas SET current_step = 'FAILED', next_at = NULL WHERE booking_id = \
                 (SELECT booking_id FROM sagas WHERE current_step = 'PAYMENT_SENT' LIMIT 1)",
            ),
            Self::SagasAreNeverDue => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF next_at ON sagas \
                 WHEN new.next_at < 9000000000000 BEGIN \
                 UPDATE sagas SET next_at = 9000000000000 WHERE booking_id = new.booking_id; END",
            ),
            Self::RefundIsSaidToBeDone => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER INSERT ON refunds BEGIN \
                 UPDATE refunds SET status = 'done' WHERE refund_id = new.refund_id; END",
            ),
            Self::RefundIsForgotten => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER INSERT ON refunds BEGIN \
                 DELETE FROM refunds WHERE refund_id = new.refund_id; END",
            ),
            Self::RefundIsAskedForTwice => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF status ON refunds \
                 WHEN new.status = 'done' AND new.refund_id NOT LIKE '%+' BEGIN \
                 UPDATE refunds SET refund_id = refund_id || '+', status = 'requested' \
                 WHERE refund_id = new.refund_id; END",
            ),
            Self::FollowerSkips => {
                Where::File(LEDGER, "UPDATE feed_cursor SET seq = seq + 40 WHERE id = 1")
            }
            Self::KeysAreForgottenInFiles => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF status ON requests BEGIN \
                 DELETE FROM requests WHERE request_key = new.request_key; END",
            ),
            Self::KeysAreMixedUpInFiles => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF status ON requests BEGIN \
                 UPDATE requests SET body = (SELECT body FROM requests WHERE status IS NOT NULL \
                 ORDER BY begun_at LIMIT 1) WHERE request_key = new.request_key; END",
            ),
            Self::MessagesAreForgotten => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER INSERT ON deliveries BEGIN \
                 DELETE FROM deliveries WHERE message_id = new.message_id; END",
            ),
            Self::MessagesAreTriedOnce => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF attempts ON deliveries BEGIN \
                 DELETE FROM deliveries WHERE message_id = new.message_id; END",
            ),
            Self::MessagesAreGivenUpEarly => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF attempts ON deliveries \
                 WHEN new.next_at IS NOT NULL BEGIN \
                 UPDATE deliveries SET next_at = NULL, died_at = new.since \
                 WHERE message_id = new.message_id AND channel = new.channel; END",
            ),
            Self::MessagesChangeTheirIds => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF attempts ON deliveries BEGIN \
                 INSERT OR IGNORE INTO messages SELECT message_id || '+', kind, event_id, \
                 booking_id, at, body FROM messages WHERE message_id = new.message_id; \
                 UPDATE deliveries SET message_id = message_id || '+' \
                 WHERE message_id = new.message_id AND channel = new.channel; END",
            ),
            Self::MessagesAreDoubled => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER INSERT ON deliveries BEGIN \
                 INSERT OR IGNORE INTO messages SELECT message_id || '+', kind, event_id, \
                 booking_id, at, body FROM messages WHERE message_id = new.message_id; \
                 INSERT OR IGNORE INTO deliveries (message_id, channel, attempts, since, next_at) \
                 VALUES (new.message_id || '+', new.channel, 0, new.since, new.next_at); END",
            ),
            Self::MessagesGoAstray => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER INSERT ON deliveries \
                 WHEN new.channel = 'webhook:books' BEGIN \
                 UPDATE OR REPLACE deliveries SET channel = 'webhook:door' \
                 WHERE message_id = new.message_id AND channel = new.channel; END",
            ),
            Self::MessagesSayOtherwise => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER INSERT ON messages \
                 WHEN new.kind = 'booking_cancelled' BEGIN \
                 UPDATE messages SET body = json_set(body, '$.refund_minor', 1) \
                 WHERE message_id = new.message_id; END",
            ),
            Self::DeadLettersVanish => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER UPDATE OF died_at ON deliveries \
                 WHEN new.died_at IS NOT NULL BEGIN \
                 DELETE FROM deliveries WHERE message_id = new.message_id; END",
            ),
            Self::MailGoesToAnother => Where::File(
                LEDGER,
                "CREATE TRIGGER IF NOT EXISTS planted AFTER INSERT ON buyers BEGIN \
                 UPDATE buyers SET email = 'buyer-0@mail.example' \
                 WHERE booking_id = new.booking_id; END",
            ),
            Self::KeysAreForgotten
            | Self::KeysAreMixedUp
            | Self::HoldsAreInvented
            | Self::HoldsAreDoubled
            | Self::PricesAreWrong
            | Self::TypesAreForgotten
            | Self::CardLimitsAreForgotten
            | Self::ConfirmedTooEarly
            | Self::ReleasesAreInvented
            | Self::TicketsAreMissing
            | Self::TicketsAreForAnother
            | Self::OrdersAreInvented
            | Self::OrdersAreDoubled
            | Self::TicketsLetInTwice
            | Self::CheckInsAreInvented
            | Self::PublicValuesAreMixedUp
            | Self::SeedsAreToldWrong => Where::Router,
            Self::StreamsForgetTurns
            | Self::StreamsInventTurns
            | Self::StreamsMixUpPlaces
            | Self::StreamsMiscount
            | Self::StreamsFallSilent => Where::Stream,
            Self::JournalIsNotSynced => Where::Disk("engine.db-wal"),
            Self::LedgerIsNotSynced => Where::Disk("ledger.db-wal"),
        }
    }

    /// What is in the names of the files that the disk never syncs, if it is such a fault.
    pub(super) fn unsynced(self) -> Option<&'static str> {
        match self.place() {
            Where::Disk(names) => Some(names),
            Where::File(..) | Where::Router | Where::Stream => None,
        }
    }

    /// Puts it into the files of a server that was killed so often: after the second time, and again
    /// if the power goes while it starts.
    pub(super) fn into_files(self, dir: &Path, kills: u64) {
        let Where::File(file, sql) = self.place() else { return };
        if self == Self::SnapshotSaysOtherwise {
            return change_snapshots(dir);
        }
        if kills != 2 {
            return;
        }
        if self == Self::JournalAndWitnessLoseTheirEnd {
            let witness = dir.join("witness.json");
            if witness.exists() {
                std::fs::remove_file(witness).expect("the witness can be removed");
            }
        }
        let connection = Connection::open(dir.join(file)).expect("the file can be opened");
        connection.execute_batch(sql).expect("the fault can be planted");
    }

    /// Puts it between the handlers and the network.
    pub(super) fn into_router(self, router: Router) -> Router {
        let Where::Router = self.place() else { return router };
        let asked = Arc::new(AtomicU64::new(0));
        router.layer(from_fn(move |request: Request, next: Next| {
            let nth = asked.fetch_add(1, Ordering::Relaxed);
            self.on_the_way(nth, request, next)
        }))
    }

    async fn on_the_way(self, nth: u64, mut request: Request, next: Next) -> Response {
        let path = request.uri().path().to_owned();
        let posts = *request.method() == Method::POST;
        let holds = posts && path.starts_with("/api/v1/events/") && path.ends_with("/bookings");
        let looks = *request.method() == Method::GET && path.starts_with("/api/v1/bookings/");
        let key = request.headers_mut().get_mut("idempotency-key");
        if let Some(key) = key {
            if self == Self::KeysAreForgotten {
                *key = HeaderValue::from(nth);
            } else if self == Self::KeysAreMixedUp {
                *key = HeaderValue::from_static("1");
            }
        }
        if self == Self::HoldsAreInvented && holds && nth.is_multiple_of(5) {
            return answer(StatusCode::CREATED, &an_invented_hold());
        }
        if self == Self::ReleasesAreInvented && posts && path.ends_with("/cancel") {
            return answer(StatusCode::OK, &json!({ "status": "released" }));
        }
        if self == Self::TypesAreForgotten && holds {
            let untyped = |asked: &mut Value| {
                drop(asked.as_object_mut().and_then(|asked| asked.remove("types")));
            };
            return next.run(with_another_body(request, untyped).await).await;
        }
        if self == Self::CardLimitsAreForgotten && posts && path == "/api/v1/admin/events" {
            let unlimited = |asked: &mut Value| {
                drop(asked.as_object_mut().and_then(|asked| asked.remove("max_per_card")));
            };
            return next.run(with_another_body(request, unlimited).await).await;
        }
        if self == Self::HoldsAreDoubled && holds {
            return twice(request, next, nth).await;
        }
        let orders = path.starts_with("/api/v1/admin/");
        if self == Self::OrdersAreInvented && orders && path.ends_with("/cancel") {
            return answer(StatusCode::OK, &json!({ "status": "cancelled" }));
        }
        if self == Self::OrdersAreDoubled && orders && path.ends_with("/capacity") {
            return twice(request, next, nth).await;
        }
        if self == Self::CheckInsAreInvented && path.ends_with("/check-in") {
            return answer(StatusCode::OK, &json!({}));
        }
        if self == Self::TicketsLetInTwice && path.ends_with("/check-in") {
            let mut answer = next.run(request).await;
            *answer.status_mut() = StatusCode::OK;
            return answer;
        }
        if self == Self::PublicValuesAreMixedUp && orders && path.ends_with("/open") {
            let another = |asked: &mut Value| {
                if asked["public_value"].is_string() {
                    *asked = json!({ "public_value": "somebody's" });
                }
            };
            return next.run(with_another_body(request, another).await).await;
        }
        let change: fn(&mut Value) = if self == Self::SeedsAreToldWrong && path.ends_with("/draw") {
            |body| body["seed"] = "00".repeat(32).into()
        } else if self == Self::PricesAreWrong && holds {
            |body| {
                if let Some(amount) = body["amount_minor"].as_i64() {
                    body["amount_minor"] = (amount - 1).into();
                }
            }
        } else if self == Self::ConfirmedTooEarly && looks {
            |body| {
                if body["status"] == "paying" {
                    body["status"] = "confirmed".into();
                }
            }
        } else if self == Self::TicketsAreMissing && looks && path.ends_with("/tickets") {
            |body| drop(body["tickets"].as_array_mut().and_then(Vec::pop))
        } else if self == Self::TicketsAreForAnother && looks && path.ends_with("/tickets") {
            |body| {
                if let Some(first) = body["tickets"].as_array_mut().and_then(|all| all.first_mut())
                {
                    first["for"] = json!({ "seat": "s0" });
                }
            }
        } else {
            return next.run(request).await;
        };
        changed(next.run(request).await, change).await
    }

    /// What a stream tells in place of what it should; nothing if it tells nothing.
    pub(super) fn in_stream(self, mut message: Value, nth: u64) -> Option<Value> {
        let kind = message["type"].as_str().unwrap_or_default().to_owned();
        if self == Self::StreamsFallSilent && nth > 2 {
            return None;
        }
        if kind == "your_turn" {
            if self == Self::StreamsForgetTurns {
                return None;
            }
            if self == Self::StreamsMixUpPlaces {
                message["place"] = "00000000000000000000000000000001".into();
            }
        }
        if kind == "position" {
            if self == Self::StreamsInventTurns && nth.is_multiple_of(4) {
                message["type"] = "your_turn".into();
            }
            if self == Self::StreamsMiscount {
                message["position"] = 1_000_000.into();
            }
        }
        Some(message)
    }
}

/// A hold that nobody made.
fn an_invented_hold() -> Value {
    json!({
        "booking": "sale.00000000000000000000000000000001", "event": "sale",
        "status": "held", "amount_minor": 2_500,
    })
}

/// Has a request done under another key before it is done under its own.
async fn twice(request: Request, next: Next, nth: u64) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let mut once = Request::from_parts(parts.clone(), Body::from(bytes.clone()));
    once.headers_mut().insert("idempotency-key", HeaderValue::from(nth));
    drop(next.clone().run(once).await);
    next.run(Request::from_parts(parts, Body::from(bytes))).await
}

/// The same request with another body.
async fn with_another_body(request: Request, change: impl FnOnce(&mut Value)) -> Request {
    let (mut parts, body) = request.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let Ok(mut asked) = serde_json::from_slice(&bytes) else {
        return Request::from_parts(parts, Body::from(bytes));
    };
    change(&mut asked);
    parts.headers.remove("content-length");
    Request::from_parts(parts, Body::from(asked.to_string()))
}

fn answer(status: StatusCode, body: &Value) -> Response {
    let mut answer = Response::new(Body::from(body.to_string()));
    *answer.status_mut() = status;
    answer
}

/// The same answer with another body.
async fn changed(answer: Response, change: impl FnOnce(&mut Value)) -> Response {
    let (mut parts, body) = answer.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let Ok(mut value) = serde_json::from_slice(&bytes) else {
        return Response::from_parts(parts, Body::from(bytes));
    };
    change(&mut value);
    parts.headers.remove("content-length");
    Response::from_parts(parts, Body::from(value.to_string()))
}

/// Has holds of snapshots say otherwise, under checksums that are right.
fn change_snapshots(dir: &Path) {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    for path in
        files.map(|file| file.path()).filter(|path| path.extension() == Some("jsonl".as_ref()))
    {
        let text = std::fs::read_to_string(&path).expect("a snapshot can be read");
        let Some((rows, end)) = text.trim_end().rsplit_once('\n') else { continue };
        let rows = rows.replace("\"ga\":1", "\"ga\":2") + "\n";
        let mut end: Value = serde_json::from_str(end).expect("a snapshot ends with JSON");
        end["end"]["crc32"] = crc32fast::hash(rows.as_bytes()).into();
        std::fs::write(&path, format!("{rows}{end}\n")).expect("a snapshot can be written");
    }
}
