//! What is kept about a person, as one document: for whoever asks what that is.

use super::buyer::{BuyerBody, whose};
use super::shapes::LedgerBooking;
use crate::history::person::Trace;
use crate::http::body::{Json, JsonBody};
use crate::http::caller::Operator;
use crate::http::openapi::WriteProblems;
use crate::http::payments::desk::DeskEntryBody;
use crate::http::problem::Problem;
use crate::http::receipts::shapes::ReceiptBody;
use crate::http::sagas::shapes::SagaFile;
use crate::http::state::{Sale, Units};
use crate::json::ids::{EventIdText, IdText, TimeMs};
use axum::extract::State;
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_ledger::booking::{Buyer, BuyerOf};
use onrush_ledger::delivery::Message;
use onrush_ledger::desk::DeskFilter;
use onrush_ledger::receipt::{Receipt, ReceiptFilter};
use onrush_ledger::{Ledger, LedgerError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use utoipa::ToSchema;

/// Bookings that one document has.
const BOOKINGS: usize = 500;
/// Receipts, and entries of the desk, that are told of one booking.
const OF_BOOKING: usize = 1_000;

/// Whose data are asked for: exactly one of the three, and where a document goes on.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WhoseData {
    /// One booking's buyer.
    #[schema(value_type = Option<IdText>, nullable = false)]
    booking: Option<BookingId>,
    /// A visitor's.
    #[schema(value_type = Option<IdText>, nullable = false)]
    user: Option<UserId>,
    /// Those of everybody with this mail address, in whatever capitals.
    #[schema(min_length = 1, max_length = 254, nullable = false)]
    email: Option<String>,
    /// The `next` of the document before.
    #[schema(value_type = Option<IdText>, nullable = false)]
    after: Option<BookingId>,
}

/// What is kept about a person.
#[derive(Serialize, ToSchema)]
pub struct KeptData {
    /// When it was put together.
    #[schema(value_type = TimeMs)]
    at: Time,
    /// As which visitors the person is known.
    #[schema(value_type = Vec<IdText>)]
    users: Vec<UserId>,
    /// Bookings, by id.
    bookings: Vec<KeptBooking>,
    /// Places in queues, sessions, claims and bans of these visitors, oldest first: the latest
    /// 10,000, and in the first document alone.
    traces: Vec<Trace>,
    /// What to ask for next as `after`; missing in the last document.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>, nullable = false)]
    next: Option<BookingId>,
}

/// What is kept about one booking.
#[derive(Serialize, ToSchema)]
pub struct KeptBooking {
    /// Its id.
    #[schema(value_type = IdText)]
    booking: BookingId,
    /// Who pays, unless nobody said so or it was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    buyer: Option<BuyerBody>,
    /// The booking; missing as long as the ledger has not heard of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    bought: Option<LedgerBooking>,
    /// Its saga, payments and refunds; missing where nothing is to be paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    money: Option<SagaFile>,
    /// Receipts and credit notes, the first one first.
    receipts: Vec<ReceiptBody>,
    /// What the gateway's own desk did with its payments.
    desk: Vec<DeskEntryBody>,
    /// What its buyer and other systems were told, or are to be told.
    messages: Vec<KeptMessage>,
}

/// Something that was told, or is to be told.
#[derive(Serialize, ToSchema)]
pub struct KeptMessage {
    /// Its id.
    message: String,
    /// What it is about, such as `booking_confirmed`.
    kind: String,
    #[schema(value_type = EventIdText)]
    event: EventId,
    /// When that happened.
    #[schema(value_type = TimeMs)]
    at: Time,
    /// The facts.
    data: Value,
    /// Over which ways it has not arrived: it is still to be sent, or was given up.
    missing: Vec<String>,
}

impl From<Message> for KeptMessage {
    fn from(message: Message) -> Self {
        let Message { id, kind, event, booking: _, at, body, channels } = message;
        let data = serde_json::from_str(&body).unwrap_or(Value::String(body));
        Self { message: id, kind, event, at, data, missing: channels }
    }
}

/// Everything that is kept about a person, in one document: their bookings with buyer, payments,
/// refunds, receipts and messages, and the places in queues, sessions, claims and bans of the
/// visitors that these bookings are of. Of a booking that has another buyer by now, the document of an
/// address has the receipts that were issued to it, and nothing else; what names another buyer is in no
/// document of an address. Reads the whole feed.
///
/// Answers to requests with a key, which live for 24 hours, are not in it.
#[utoipa::path(
    post, path = "/api/v1/admin/buyers/export", tag = "admin",
    request_body = WhoseData,
    responses((status = 200, description = "What is kept", body = KeptData), WriteProblems),
)]
pub async fn export_buyers(
    State(ledger): State<Arc<dyn Ledger>>,
    State(sale): State<Arc<Sale>>,
    State(units): State<Arc<Units>>,
    _: Operator,
    JsonBody(WhoseData { booking, user, email, after }): JsonBody<WhoseData>,
) -> Result<Json<KeptData>, Problem> {
    let mut users: BTreeSet<UserId> = user.iter().cloned().collect();
    let whose = whose(booking, user, email)?;
    let address = match &whose {
        BuyerOf::Email(email) => Some(email.to_lowercase()),
        BuyerOf::Booking(_) | BuyerOf::User(_) | BuyerOf::Event(_) => None,
    };
    let is_first = after.is_none();
    let mut ids = ledger.bookings_of(whose, after, BOOKINGS + 1).await?;
    let goes_on = ids.len() > BOOKINGS;
    ids.truncate(BOOKINGS);
    let mut messages: HashMap<BookingId, Vec<KeptMessage>> = HashMap::new();
    for message in ledger.messages_about(ids.clone()).await? {
        if let Some(booking) = message.booking.clone() {
            messages.entry(booking).or_default().push(message.into());
        }
    }
    let next = ids.last().filter(|_| goes_on).cloned();
    let mut bookings = Vec::with_capacity(ids.len());
    for id in ids {
        let messages = messages.remove(&id).unwrap_or_default();
        let (user, kept) = about(&*ledger, id, messages, address.as_deref()).await?;
        users.extend(user);
        bookings.push(kept);
    }
    let traces = match is_first {
        true => units.histories.of_users(&users).await?,
        false => Vec::new(),
    };
    let users = users.into_iter().collect();
    let kept = KeptData { at: sale.clock.now(), users, bookings, traces, next };
    Ok(Json(kept))
}

/// What is kept about one booking, and whose it is. Of one that has another buyer than `address` by
/// now, that is what was issued to the address.
async fn about(
    ledger: &dyn Ledger,
    id: BookingId,
    messages: Vec<KeptMessage>,
    address: Option<&str>,
) -> Result<(Option<UserId>, KeptBooking), LedgerError> {
    let booking = || Some(id.clone());
    let receipts =
        ReceiptFilter { booking: booking(), is_rising: true, ..ReceiptFilter::default() };
    let desk = DeskFilter { booking: booking(), ..DeskFilter::default() };
    let (row, user, buyer, record, history, receipts, desk) = tokio::try_join!(
        ledger.booking(&id),
        ledger.user_of(&id),
        ledger.buyer(&id),
        ledger.saga_record(&id),
        ledger.history(&id),
        ledger.receipts(receipts, OF_BOOKING),
        ledger.desk(desk, OF_BOOKING),
    )?;
    let has = |buyer: &Buyer| address.is_none_or(|address| buyer.email.to_lowercase() == address);
    let is_to_them = |receipt: &Receipt| receipt.buyer_email_lower.as_deref() == address;
    if address.is_some() && !buyer.as_ref().is_some_and(has) {
        let receipts = receipts.rows.into_iter().filter(is_to_them).map(Into::into).collect();
        let (buyer, bought, money) = (None, None, None);
        let (desk, messages) = (vec![], vec![]);
        let kept = KeptBooking { booking: id, buyer, bought, money, receipts, desk, messages };
        return Ok((None, kept));
    }
    // The booking may have had another buyer before.
    let names_no_other = |receipt: &Receipt| {
        address.is_none() || is_to_them(receipt) || receipt.buyer_name.is_none()
    };
    let kept = KeptBooking {
        booking: id,
        buyer: buyer.map(Into::into),
        bought: row.map(|row| LedgerBooking::new(row, None, None)),
        money: record.map(|record| SagaFile::new(record, history)),
        receipts: receipts.rows.into_iter().filter(names_no_other).map(Into::into).collect(),
        desk: desk.rows.into_iter().map(Into::into).collect(),
        messages,
    };
    Ok((user, kept))
}
