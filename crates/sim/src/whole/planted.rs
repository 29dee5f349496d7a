//! Faults that are planted in a whole server, to see that they are found: in its files between two
//! lives, on the way from its handlers to the network, and in its streams.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a fault is.
enum Place {
    /// In the journal, once: the SQL that plants it.
    Journal(&'static str),
    /// In all snapshots, at every start.
    Snapshots,
    /// In the ledger, once: the SQL that plants it.
    Ledger(&'static str),
    /// In the ledger, from then on: after what, and what is done then.
    LedgerAfter(&'static str, &'static str),
    /// In a ledger that was just put back from a backup.
    LedgerPutBack(&'static str),
    /// In what the operator does.
    Operator,
    /// Between the handlers and the network.
    Http,
    Stream,
    /// In the disk: what files are called that it never syncs.
    Disk(&'static str),
}

use Place::{Disk, Http, Journal, Ledger, LedgerAfter, LedgerPutBack, Operator, Snapshots, Stream};

macro_rules! faults {
    ($($name:ident = $text:literal, $place:expr;)+) => {
        /// A fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Planted {$(#[doc = $text] $name,)+}

        impl Planted {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            fn place(self) -> Place {
                match self {$(Self::$name => $place,)+}
            }
        }
    };
}

faults! {
    JournalLosesItsEnd = "the journal's last row is gone",
        Journal("DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)");
    JournalAndWitnessLoseTheirEnd = "the journal's last row is gone, and so is the witness",
        Journal("DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)");
    JournalHasAHole = "a row in the middle of the journal is gone",
        Journal("DELETE FROM journal WHERE seq = (SELECT max(seq) / 2 FROM journal)");
    JournalSaysOtherwise = "a hold in the journal has other units",
        Journal("UPDATE journal SET body = replace(body, '\"ga\":1', '\"ga\":2') \
         WHERE seq = (SELECT max(seq) FROM journal WHERE body LIKE '%\"ga\":1%')");
    JournalIsOutOfOrder = "two decisions have each other's numbers",
        Journal("UPDATE journal SET seq = -1 WHERE seq = (SELECT max(seq) FROM journal); \
         UPDATE journal SET seq = seq + 1 WHERE seq = (SELECT max(seq) FROM journal); \
         UPDATE journal SET seq = (SELECT max(seq) - 1 FROM journal) WHERE seq = -1");
    JournalForgetsAConfirmation = "a confirmation is no part of its decision any more",
        Journal("UPDATE journal SET body = '[]' \
         WHERE seq = (SELECT max(seq) FROM journal WHERE body LIKE '%hold_confirmed%')");
    JournalHasAnotherNumber = "a booking is confirmed with another number than the box office gave",
        Journal("UPDATE journal SET body = replace(body, '\"till-', '\"till-9') \
         WHERE seq = (SELECT max(seq) FROM journal WHERE body LIKE '%\"till-%')");
    SnapshotSaysOtherwise = "a hold in a snapshot has other units, and the checksum is right",
        Snapshots;
    LedgerForgetsASaga = "the ledger knows nothing of its newest saga",
        Ledger("PRAGMA foreign_keys = OFF; DELETE FROM sagas \
         WHERE booking_id = (SELECT booking_id FROM sagas ORDER BY updated_at DESC LIMIT 1)");
    LedgerForgetsMoney = "the ledger has a payment that was taken as one that never was",
        Ledger("UPDATE payments SET stage = 'void', captured_minor = 0 \
         WHERE payment_id = (SELECT payment_id FROM payments WHERE stage = 'captured' LIMIT 1)");
    LedgerCountsLess = "a payment that was taken is told to have been for less",
        Ledger("UPDATE payments SET captured_minor = captured_minor - 1 \
         WHERE payment_id = (SELECT payment_id FROM payments WHERE stage = 'captured' LIMIT 1)");
    SagaEndsEarly = "a saga under way is said to be over",
        Ledger("UPDATE sagas SET current_step = 'FAILED', next_at = NULL WHERE booking_id = \
         (SELECT booking_id FROM sagas WHERE current_step = 'PAYMENT_SENT' LIMIT 1)");
    SagasAreNeverDue = "sagas are looked at when there is news, and never by themselves",
        LedgerAfter("UPDATE OF next_at ON sagas WHEN new.next_at < 9000000000000",
         "UPDATE sagas SET next_at = 9000000000000 WHERE booking_id = new.booking_id");
    RefundIsSaidToBeDone = "a refund is said to be done before anybody was asked for it",
        LedgerAfter("INSERT ON refunds",
         "UPDATE refunds SET status = 'done' WHERE refund_id = new.refund_id");
    RefundIsForgotten = "a refund is forgotten",
        LedgerAfter("INSERT ON refunds", "DELETE FROM refunds WHERE refund_id = new.refund_id");
    RefundIsAskedForTwice = "refunds are asked for once more, under another key",
        LedgerAfter(
         "UPDATE OF status ON refunds WHEN new.status = 'done' AND new.refund_id NOT LIKE '%+'",
         "UPDATE refunds SET refund_id = refund_id || '+', status = 'requested' \
         WHERE refund_id = new.refund_id");
    DeskEntriesAreForgotten = "nothing of what the bank's own desk did is written down",
        LedgerAfter("INSERT ON desk_entries",
         "DELETE FROM desk_entries WHERE entry_id = new.entry_id");
    DeskMoneyCountsForNothing = "what went back at the bank's own desk counts for no cancellation",
        LedgerAfter("UPDATE OF flagged ON payments WHEN new.flagged = 1",
         "UPDATE payments SET flagged = 0 WHERE payment_id = new.payment_id");
    FollowerSkips = "the follower of the journal believes to be further than it is",
        Ledger("UPDATE feed_cursor SET seq = seq + 40 WHERE id = 1");
    KeysAreForgottenInFiles = "the answers that keys keep are gone",
        LedgerAfter("UPDATE OF status ON requests",
         "DELETE FROM requests WHERE request_key = new.request_key");
    KeysAreMixedUpInFiles = "the answer that a key keeps is another one's",
        LedgerAfter("UPDATE OF status ON requests",
         "UPDATE requests SET body = (SELECT body FROM requests WHERE status IS NOT NULL \
         ORDER BY begun_at LIMIT 1) WHERE request_key = new.request_key");
    MessagesAreForgotten = "nothing of what is to be told is written down",
        LedgerAfter("INSERT ON deliveries",
         "DELETE FROM deliveries WHERE message_id = new.message_id");
    MessagesAreTriedOnce = "what was tried once in vain is forgotten",
        LedgerAfter("UPDATE OF attempts ON deliveries",
         "DELETE FROM deliveries WHERE message_id = new.message_id");
    MessagesAreGivenUpEarly = "what was tried once in vain is given up",
        LedgerAfter("UPDATE OF attempts ON deliveries WHEN new.next_at IS NOT NULL",
         "UPDATE deliveries SET next_at = NULL, died_at = new.since \
         WHERE message_id = new.message_id AND channel = new.channel");
    MessagesChangeTheirIds = "what is tried again has another id",
        LedgerAfter("UPDATE OF attempts ON deliveries",
         "INSERT OR IGNORE INTO messages SELECT message_id || '+', kind, event_id, \
         booking_id, at, body FROM messages WHERE message_id = new.message_id; \
         UPDATE deliveries SET message_id = message_id || '+' \
         WHERE message_id = new.message_id AND channel = new.channel");
    MessagesAreDoubled = "each message is told under a second id as well",
        LedgerAfter("INSERT ON deliveries",
         "INSERT OR IGNORE INTO messages SELECT message_id || '+', kind, event_id, \
         booking_id, at, body FROM messages WHERE message_id = new.message_id; \
         INSERT OR IGNORE INTO deliveries (message_id, channel, attempts, since, next_at) \
         VALUES (new.message_id || '+', new.channel, 0, new.since, new.next_at)");
    MessagesGoAstray = "messages for one receiver go to another",
        LedgerAfter("INSERT ON deliveries WHEN new.channel = 'webhook:books'",
         "UPDATE OR REPLACE deliveries SET channel = 'webhook:door' \
         WHERE message_id = new.message_id AND channel = new.channel");
    MessagesSayOtherwise = "messages of cancellations tell of other refunds",
        LedgerAfter("INSERT ON messages WHEN new.kind = 'booking_cancelled'",
         "UPDATE messages SET body = json_set(body, '$.refund_minor', 1) \
         WHERE message_id = new.message_id");
    DeadLettersVanish = "what was given up is not known any more",
        LedgerAfter("UPDATE OF died_at ON deliveries WHEN new.died_at IS NOT NULL",
         "DELETE FROM deliveries WHERE message_id = new.message_id");
    MailGoesToAnother = "all mail goes to one buyer",
        LedgerAfter("INSERT ON buyers",
         "UPDATE buyers SET email = 'buyer-0@mail.example' WHERE booking_id = new.booking_id");
    ReceiptNumbersHaveAGap = "the third receipt has the number after its own",
        LedgerAfter("INSERT ON receipts WHEN new.number = 3",
         "UPDATE receipts SET number = 4 WHERE series = new.series AND number = 3");
    CreditNotesAreForgotten = "credit notes are not written down",
        LedgerAfter("INSERT ON receipts WHEN new.kind = 'credit_note'",
         "DELETE FROM receipts WHERE series = new.series AND number = new.number");
    CreditNotesAreLess = "credit notes are for a minor unit less",
        LedgerAfter("INSERT ON receipts WHEN new.kind = 'credit_note'",
         "UPDATE receipts SET amount_minor = amount_minor - 1 \
         WHERE series = new.series AND number = new.number");
    TaxesAreLess = "receipts tell of less tax",
        LedgerAfter("INSERT ON receipts",
         "UPDATE receipts SET document = json_set(document, \
         '$.lines[0].tax_minor', (document ->> '$.lines[0].tax_minor') - 1, \
         '$.lines[0].net_minor', (document ->> '$.lines[0].net_minor') + 1) \
         WHERE series = new.series AND number = new.number");
    ReceiptsChangeLater = "receipts that were issued have another title afterwards",
        Ledger("UPDATE receipts SET document = json_set(document, '$.title', 'Another')");
    ReceiptsAreIssuedAnew = "receipts are forgotten, and issued once more",
        Ledger("DELETE FROM receipts");
    LostTimeIsSkipped = "a ledger that was put back follows from the journal's end on",
        LedgerPutBack("UPDATE feed_cursor SET seq = 1000000000 WHERE id = 1");
    OperatorForgets = "after a restore nobody compares the gateway's payments with the server's",
        Operator;
    KeysAreForgotten = "the server sees a new key in each request", Http;
    KeysAreMixedUp = "the server takes every key for its visitor's first", Http;
    HoldsAreInvented = "holds are promised that were never made", Http;
    HoldsAreDoubled = "every request that holds is done twice", Http;
    PricesAreWrong = "holds are told to cost less", Http;
    TypesAreForgotten = "the ticket types that a buyer names are forgotten", Http;
    CardLimitsAreForgotten = "the limit of what one card may pay for is forgotten", Http;
    ConfirmedTooEarly = "bookings that are being paid for are said to be confirmed", Http;
    ReleasesAreInvented = "holds are said to be released, and are not", Http;
    TicketsAreMissing = "one ticket of several is missing", Http;
    TicketsAreForAnother = "the first ticket is for something else than what was bought", Http;
    OrdersAreInvented = "the organiser is told that bookings are cancelled, and they are not", Http;
    RefundsAreLeftOut = "what the organiser takes back gives nothing back", Http;
    OnlyHeldIsOverlooked = "whoever gives back what is only held loses what was paid for, too", Http;
    RefundRulesAreLess = "the organiser's rule gives buyers less than it says", Http;
    CapacityIsMore = "the organiser changes a capacity, and it is more", Http;
    BlocksAreFewer = "of several units that the organiser takes off sale one is", Http;
    LaterPricesAreLeftOut = "prices that are to come never do", Http;
    DeadlinesAreTooLate = "holds are said to last an hour longer", Http;
    FaultsAreAnswered = "a hold in ten is answered with a fault of the server's own", Http;
    OrdersAreDoubled = "what the organiser changes about capacity is done twice", Http;
    TicketsLetInTwice = "tickets let somebody in as often as they are shown", Http;
    TillsAreToldWrong = "the box office is told that it has sold something, and it has not", Http;
    CheckInsAreInvented = "who shows a ticket is let in, and it is written down nowhere", Http;
    GuestsAreTurnedAway = "every other ticket is said to be of a booking that is not confirmed", Http;
    PromisesAreForgotten = "draws are promised no public value, whatever the organiser says", Http;
    PublicValuesAreMixedUp = "another value than was asked for is mixed into draws", Http;
    SeedsAreToldWrong = "another seed is told than the one that was drawn with", Http;
    StreamsForgetTurns = "streams do not tell that it is somebody's turn", Stream;
    StreamsInventTurns = "streams tell people that it is their turn while they wait", Stream;
    StreamsMixUpPlaces = "streams tell of a place that somebody else has", Stream;
    StreamsMiscount = "streams tell positions behind the end of the line", Stream;
    StreamsFallSilent = "streams fall silent", Stream;
    JournalIsNotSynced = "the journal's log is never synced, though the disk says so",
        Disk("engine.db-wal");
    LedgerIsNotSynced = "the ledger's log is never synced, though the disk says so",
        Disk("ledger.db-wal");
}

impl Planted {
    /// What is in the names of the files that the disk never syncs, if it is such a fault.
    pub(super) fn unsynced(self) -> Option<&'static str> {
        let Disk(names) = self.place() else { return None };
        Some(names)
    }

    /// Puts it into the files of a server that was killed so often: after the second time, and again
    /// if the power goes while it starts.
    pub(super) fn into_files(self, dir: &Path, kills: u64) {
        let (file, sql) = match self.place() {
            Journal(sql) => ("engine.db", sql.to_owned()),
            Ledger(sql) => ("ledger.db", sql.to_owned()),
            LedgerAfter(when, sql) => {
                let trigger = "CREATE TRIGGER IF NOT EXISTS planted AFTER";
                ("ledger.db", format!("{trigger} {when} BEGIN {sql}; END"))
            }
            Snapshots => return change_snapshots(dir),
            LedgerPutBack(_) | Operator | Http | Stream | Disk(_) => return,
        };
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
        match connection.execute_batch(&sql) {
            // A version before has just written it, which had no receipts.
            Err(error) if error.to_string().ends_with("receipts") => {}
            planted => planted.expect("the fault can be planted"),
        }
    }

    /// Puts it into a ledger that was just put back from a backup, if there is one.
    pub(super) fn into_ledger_put_back(self, dir: &Path) {
        let (LedgerPutBack(sql), ledger) = (self.place(), dir.join("ledger.db")) else { return };
        if ledger.exists() {
            let connection = Connection::open(ledger).expect("the file can be opened");
            connection.execute_batch(sql).expect("the fault can be planted");
        }
    }

    /// Puts it between the handlers and the network.
    pub(super) fn into_router(self, router: Router) -> Router {
        let Http = self.place() else { return router };
        let asked = Arc::new(AtomicU64::new(0));
        router.layer(from_fn(move |request: Request, next: Next| {
            let nth = asked.fetch_add(1, Ordering::Relaxed);
            self.on_the_way(nth, request, next)
        }))
    }

    async fn on_the_way(self, nth: u64, mut request: Request, next: Next) -> Response {
        let path = request.uri().path().to_owned();
        let ends = |end: &str| path.ends_with(end);
        let posts = *request.method() == Method::POST;
        let holds = posts && path.starts_with("/api/v1/events/") && ends("/bookings");
        let looks = *request.method() == Method::GET && path.starts_with("/api/v1/bookings/");
        let orders = path.starts_with("/api/v1/admin/");
        match self {
            Self::KeysAreForgotten => change_key(&mut request, HeaderValue::from(nth)),
            Self::KeysAreMixedUp => change_key(&mut request, HeaderValue::from_static("1")),
            Self::HoldsAreInvented if holds && nth.is_multiple_of(5) => {
                return answer(StatusCode::CREATED, &an_invented_hold());
            }
            Self::ReleasesAreInvented if posts && ends("/cancel") => {
                return answer(StatusCode::OK, &json!({ "status": "released" }));
            }
            Self::OrdersAreInvented if orders && ends("/cancel") => {
                return answer(StatusCode::OK, &json!({ "status": "cancelled" }));
            }
            Self::TillsAreToldWrong if orders && ends("/confirm") => {
                return answer(StatusCode::OK, &json!({ "status": "confirmed" }));
            }
            Self::CheckInsAreInvented if ends("/check-in") => {
                return answer(StatusCode::OK, &json!({}));
            }
            Self::GuestsAreTurnedAway if ends("/check-in") && nth.is_multiple_of(2) => {
                return answer(StatusCode::CONFLICT, &json!({ "code": "INVALID_STATUS" }));
            }
            Self::HoldsAreDoubled if holds => return twice(request, next, nth).await,
            Self::OrdersAreDoubled if orders && ends("/capacity") => {
                return twice(request, next, nth).await;
            }
            Self::TypesAreForgotten if holds => {
                request = with_another_body(request, |asked| forget(asked, "types")).await;
            }
            Self::CardLimitsAreForgotten if posts && path == "/api/v1/admin/events" => {
                request = with_another_body(request, |asked| forget(asked, "max_per_card")).await;
            }
            Self::RefundsAreLeftOut if orders && ends("/cancel") => {
                let none = |asked: &mut Value| asked["refund_minor"] = 0.into();
                request = with_another_body(request, none).await;
            }
            Self::OnlyHeldIsOverlooked if posts && ends("/cancel") => {
                request = with_another_body(request, |asked| forget(asked, "only")).await;
            }
            Self::RefundRulesAreLess if posts && path == "/api/v1/admin/events" => {
                let less = |asked: &mut Value| {
                    let rules = asked["refunds"].as_array_mut().into_iter().flatten();
                    rules.for_each(|rule| rule["percent"] = 10.into());
                };
                request = with_another_body(request, less).await;
            }
            Self::CapacityIsMore if orders && ends("/capacity") => {
                let more = |asked: &mut Value| {
                    asked["capacity"] =
                        (asked["capacity"].as_u64().unwrap_or_default() + 100).into();
                };
                request = with_another_body(request, more).await;
            }
            Self::BlocksAreFewer if orders && ends("/block") => {
                let fewer = |asked: &mut Value| {
                    let pools = asked["pools"].as_object_mut().into_iter().flatten();
                    pools.for_each(|(_, count)| *count = 1.into());
                };
                request = with_another_body(request, fewer).await;
            }
            Self::LaterPricesAreLeftOut if orders && ends("/prices") => {
                request = with_another_body(request, |asked| forget(asked, "later")).await;
            }
            Self::FaultsAreAnswered if holds && nth.is_multiple_of(10) => {
                return answer(StatusCode::INTERNAL_SERVER_ERROR, &json!({ "code": "INTERNAL" }));
            }
            Self::PromisesAreForgotten if posts && path == "/api/v1/admin/events" => {
                let none = |asked: &mut Value| {
                    if let Some(room) = asked.get_mut("room") {
                        forget(room, "public_value_source");
                    }
                };
                request = with_another_body(request, none).await;
            }
            Self::PublicValuesAreMixedUp if orders && ends("/open") => {
                let another = |asked: &mut Value| {
                    if asked["public_value"].is_string() {
                        *asked = json!({ "public_value": "somebody's" });
                    }
                };
                request = with_another_body(request, another).await;
            }
            _ => {}
        }
        let mut answer = next.run(request).await;
        let change: fn(&mut Value) = match self {
            Self::TicketsLetInTwice if ends("/check-in") => {
                *answer.status_mut() = StatusCode::OK;
                return answer;
            }
            Self::SeedsAreToldWrong if ends("/draw") => {
                |body| body["seed"] = "00".repeat(32).into()
            }
            Self::PricesAreWrong if holds => |body| {
                if let Some(amount) = body["amount_minor"].as_i64() {
                    body["amount_minor"] = (amount - 1).into();
                }
            },
            Self::DeadlinesAreTooLate if holds => |body| {
                if let Some(until) = body["until"].as_i64() {
                    body["until"] = (until + 3_600_000).into();
                }
            },
            Self::ConfirmedTooEarly if looks => |body| {
                if body["status"] == "paying" {
                    body["status"] = "confirmed".into();
                }
            },
            Self::TicketsAreMissing if looks && ends("/tickets") => {
                |body| drop(body["tickets"].as_array_mut().and_then(Vec::pop))
            }
            Self::TicketsAreForAnother if looks && ends("/tickets") => |body| {
                if let Some(first) = body["tickets"].get_mut(0) {
                    first["for"] = json!({ "seat": "s0" });
                }
            },
            _ => return answer,
        };
        let (mut parts, body) = answer.into_parts();
        let body = changed(body, &mut parts.headers, change).await;
        Response::from_parts(parts, body)
    }

    /// What a stream tells in place of what it should; nothing if it tells nothing.
    pub(super) fn in_stream(self, mut message: Value, nth: u64) -> Option<Value> {
        match (self, message["type"].as_str().unwrap_or_default()) {
            (Self::StreamsFallSilent, _) if nth > 2 => return None,
            (Self::StreamsForgetTurns, "your_turn") => return None,
            (Self::StreamsMixUpPlaces, "your_turn") => {
                message["place"] = "00000000000000000000000000000001".into();
            }
            (Self::StreamsInventTurns, "position") if nth.is_multiple_of(4) => {
                message["type"] = "your_turn".into();
            }
            (Self::StreamsMiscount, "position") => message["position"] = 1_000_000.into(),
            (_, _) => {}
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

/// Has a request that has a key have this one.
fn change_key(request: &mut Request, other: HeaderValue) {
    if let Some(key) = request.headers_mut().get_mut("idempotency-key") {
        *key = other;
    }
}

fn forget(asked: &mut Value, name: &str) {
    drop(asked.as_object_mut().and_then(|asked| asked.remove(name)));
}

/// The same request with another body.
async fn with_another_body(request: Request, change: impl FnOnce(&mut Value)) -> Request {
    let (mut parts, body) = request.into_parts();
    let body = changed(body, &mut parts.headers, change).await;
    Request::from_parts(parts, body)
}

fn answer(status: StatusCode, body: &Value) -> Response {
    let mut answer = Response::new(Body::from(body.to_string()));
    *answer.status_mut() = status;
    answer
}

/// Another body, if it is JSON.
async fn changed(body: Body, headers: &mut HeaderMap, change: impl FnOnce(&mut Value)) -> Body {
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let Ok(mut value) = serde_json::from_slice(&bytes) else { return Body::from(bytes) };
    change(&mut value);
    headers.remove("content-length");
    Body::from(value.to_string())
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
