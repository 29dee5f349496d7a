//! Every list of the ledger: which rows, in which order, and by which key a page goes on.
//!
//! Databases read the rows, each in its own way; what is listed is told here, once for all.

mod query;

pub(crate) use query::{Dialect, List, Value};

use crate::action::{Action, ActionFilter};
use crate::booking::{Booking, BookingFilter, BookingText, Buyer, BuyerOf};
use crate::delivery::DeadLetter;
use crate::desk::{DeskEntry, DeskFilter};
use crate::money::{Payment, PaymentFilter, Refund};
use crate::receipt::{Receipt, ReceiptFilter, ReceiptNumber, ReceiptRule, SANDBOX, Taking};
use crate::saga::{Saga, SagaFilter};
use crate::words::Word;
use onrush_core::Time;
use onrush_core::ids::{BookingId, EventId, UserId};
use query::Order::{Falling, Rising};
use query::{Query, containing, text, time_key, time_values};
use std::fmt::Display;

/// What the text is that bookings are looked for by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextIs {
    /// The id of one of them.
    Booking,
    /// The address of some buyer.
    Address,
    /// Part of anything.
    Part,
}

impl TextIs {
    /// By what [`IS_WHOLE`] says. Whose address it is, is nothing to whoever looks for ids.
    pub(crate) const fn of(text: &BookingText, is_booking: bool, is_address: bool) -> Self {
        match (text, is_booking, is_address) {
            (_, true, _) => Self::Booking,
            (BookingText::OfAnything(_), false, true) => Self::Address,
            (BookingText::OfAnything(_) | BookingText::OfId(_), false, _) => Self::Part,
        }
    }
}

/// Reads whether `$1` is a booking's id, and `$2`, in small letters, a buyer's address.
pub(crate) const IS_WHOLE: &str = "SELECT EXISTS (SELECT 1 FROM bookings WHERE booking_id = $1), \
    EXISTS (SELECT 1 FROM buyers WHERE email_lower = $2)";

/// Bookings with their buyers, the latest first. Parts are looked for row by row, however many there
/// are.
pub(crate) fn bookings(
    db: &Dialect,
    filter: &BookingFilter,
    is: TextIs,
    limit: usize,
) -> List<(Booking, Option<Buyer>)> {
    let BookingFilter { event, status, user, text, after } = filter;
    let from = match is {
        // SQLite begins such a join on the left. It would rather look at all bookings of an event, of
        // which it expects ten.
        TextIs::Address => "buyers CROSS JOIN bookings",
        TextIs::Booking | TextIs::Part => {
            "bookings LEFT JOIN buyers ON buyers.booking_id = bookings.booking_id"
        }
    };
    let mut query = Query::of(db, from);
    query.equal("event_id", event.as_ref().map(EventId::as_str));
    query.equal("status", status.map(Word::word));
    query.equal("user_id", user.as_ref().map(UserId::as_str));
    if let Some(text) = text {
        match (is, text) {
            (TextIs::Booking, _) => query.equal("bookings.booking_id", Some(text.as_str())),
            (TextIs::Address, _) => {
                query.only("buyers.booking_id = bookings.booking_id", []);
                query.equal("email_lower", Some(&text.as_str().to_lowercase()));
            }
            (TextIs::Part, BookingText::OfId(text)) => {
                query.only("lower(bookings.booking_id) LIKE ? ESCAPE '\\'", [containing(text)]);
            }
            (TextIs::Part, BookingText::OfAnything(text)) => {
                let pattern = containing(text);
                query.only(
                    "(lower(bookings.booking_id) LIKE ? ESCAPE '\\' \
                     OR name_lower LIKE ? ESCAPE '\\' OR email_lower LIKE ? ESCAPE '\\')",
                    [pattern.clone(), pattern.clone(), pattern],
                );
            }
        }
    }
    let order = (Falling, ["created_at", "bookings.booking_id"]);
    query.page(order, (after.as_deref(), time_values), limit, |(booking, _)| {
        time_key(booking.created_at, &booking.booking)
    })
}

/// All bookings, by id.
pub(crate) fn all_bookings(db: &Dialect, after: Option<&str>, limit: usize) -> List<Booking> {
    let order = (Rising, ["booking_id"]);
    Query::of(db, "bookings")
        .page(order, (after, id_values), limit, |booking| booking.booking.to_string())
}

/// The query of bookings with the value `$1` in a column. One may have come to its saga and not yet,
/// through the feed, to the bookings.
macro_rules! bookings_by {
    ($column:literal) => {
        concat!(
            "SELECT booking_id FROM bookings WHERE ",
            $column,
            " = $1 UNION SELECT booking_id FROM sagas WHERE ",
            $column,
            " = $1"
        )
    };
}

/// The query of a visitor's bookings, whose id is `$1`. What is free of charge and was never confirmed
/// stands nowhere but with the buyer who was named for it.
macro_rules! bookings_of_user {
    () => {
        "SELECT booking_id FROM bookings WHERE user_id = $1 \
         UNION SELECT booking_id FROM sagas WHERE user_id = $1 \
         UNION SELECT booking_id FROM buyers WHERE owner_id = $1"
    };
}
pub(crate) use bookings_of_user;

/// Reads whose the booking with the id `$1` is.
pub(crate) const USER_OF: &str = "SELECT user_id FROM bookings WHERE booking_id = $1 \
    UNION ALL SELECT user_id FROM sagas WHERE booking_id = $1 \
    UNION ALL SELECT owner_id FROM buyers WHERE booking_id = $1 AND owner_id IS NOT NULL LIMIT 1";

/// Bookings that a person has to do with, by id: the query, whose values are [`BuyerOf::value`],
/// the id after which the page begins, and how many it has at most.
pub(crate) fn bookings_of(whose: &BuyerOf) -> &'static str {
    macro_rules! page_of {
        ($($theirs:expr),+) => {
            concat!(
                "SELECT booking_id FROM (",
                $($theirs,)+
                ") AS theirs WHERE booking_id > $2 ORDER BY booking_id LIMIT $3"
            )
        };
    }
    match whose {
        BuyerOf::Booking(_) => page_of!(
            bookings_by!("booking_id"),
            " UNION SELECT booking_id FROM buyers WHERE booking_id = $1"
        ),
        BuyerOf::User(_) => page_of!(bookings_of_user!()),
        BuyerOf::Email(_) => page_of!(
            "SELECT booking_id FROM buyers WHERE email_lower = $1 \
             UNION SELECT booking_id FROM receipts WHERE buyer_email_lower = $1"
        ),
        BuyerOf::Event(_) => page_of!(bookings_by!("event_id")),
    }
}

/// Sagas, the longest unchanged first.
pub(crate) fn sagas(db: &Dialect, filter: &SagaFilter, limit: usize) -> List<Saga> {
    let SagaFilter { event, step, stuck, after } = filter;
    let mut query = Query::of(db, "sagas");
    query.equal("event_id", event.as_ref().map(EventId::as_str));
    query.equal("current_step", step.map(Word::word));
    if let Some(is_stuck) = stuck {
        query.only(if *is_stuck { "stuck IS NOT NULL" } else { "stuck IS NULL" }, []);
    }
    let order = (Rising, ["updated_at", "booking_id"]);
    query.page(order, (after.as_deref(), time_values), limit, |saga| {
        time_key(saga.updated_at, &saga.booking)
    })
}

/// All sagas, by booking.
pub(crate) fn all_sagas(db: &Dialect, after: Option<&str>, limit: usize) -> List<Saga> {
    let order = (Rising, ["booking_id"]);
    Query::of(db, "sagas").page(order, (after, id_values), limit, |saga| saga.booking.to_string())
}

/// Payments, the latest first.
pub(crate) fn payments(db: &Dialect, filter: &PaymentFilter, limit: usize) -> List<Payment> {
    let PaymentFilter { event, booking, stage, flagged, after } = filter;
    let mut query = Query::of(db, "payments");
    of_event_and_booking(&mut query, "payments", event.as_ref(), booking.as_ref());
    query.equal("stage", stage.map(Word::word));
    query.flag("flagged", *flagged);
    let order = (Falling, ["created_at", "payment_id"]);
    query.page(order, (after.as_deref(), time_values), limit, |payment| {
        time_key(payment.created_at, &payment.payment)
    })
}

/// All payments, by booking.
pub(crate) fn all_payments(db: &Dialect, after: Option<&str>, limit: usize) -> List<Payment> {
    let order = (Rising, ["booking_id", "payment_id"]);
    Query::of(db, "payments").page(order, (after, booking_values), limit, |payment| {
        booking_key(&payment.booking, &payment.payment)
    })
}

/// Refunds, the latest first.
pub(crate) fn refunds(db: &Dialect, filter: &PaymentFilter, limit: usize) -> List<Refund> {
    let PaymentFilter { event, booking, stage: _, flagged: _, after } = filter;
    let mut query = Query::of(db, "refunds");
    of_event_and_booking(&mut query, "refunds", event.as_ref(), booking.as_ref());
    let order = (Falling, ["created_at", "refund_id"]);
    query.page(order, (after.as_deref(), time_values), limit, |refund| {
        time_key(refund.created_at, &refund.refund)
    })
}

/// All refunds, by booking.
pub(crate) fn all_refunds(db: &Dialect, after: Option<&str>, limit: usize) -> List<Refund> {
    let order = (Rising, ["booking_id", "refund_id"]);
    Query::of(db, "refunds").page(order, (after, booking_values), limit, |refund| {
        booking_key(&refund.booking, &refund.refund)
    })
}

/// Receipts and credit notes, by number.
pub(crate) fn receipts(db: &Dialect, filter: &ReceiptFilter, limit: usize) -> List<Receipt> {
    let ReceiptFilter { event, booking, number, is_rising, after } = filter;
    let mut query = Query::of(db, "receipts");
    query.equal("event_id", event.as_ref().map(EventId::as_str));
    query.equal("booking_id", booking.as_ref().map(BookingId::as_str));
    if let Some(ReceiptNumber { series, number }) = number {
        let number = [text(series.as_str()), Value::Integer((*number).into())];
        query.only("(series, number) = (?, ?)", number);
    }
    let order = (if *is_rising { Rising } else { Falling }, ["series", "number"]);
    query
        .page(order, (after.as_deref(), number_values), limit, |receipt| receipt.number.to_string())
}

/// The query that counts the bookings of one event whose money is under way, and the payments of its
/// bookings that lack a document. Either goes from the event's sagas to their payments: databases that
/// are left to choose begin with all payments there are.
pub(crate) fn open_money(rule: ReceiptRule) -> String {
    let columns = taking_columns(rule);
    format!(
        "SELECT \
         (SELECT count(*) FROM sagas WHERE event_id = $1 AND (current_step NOT IN ('CONFIRMED', 'FAILED') \
          OR next_at IS NOT NULL OR stuck IS NOT NULL \
          OR EXISTS (SELECT 1 FROM refunds WHERE refunds.booking_id = sagas.booking_id \
           AND refunds.status IN ('requested', 'sent')) \
          OR EXISTS (SELECT 1 FROM payments WHERE payments.booking_id = sagas.booking_id \
           AND payments.stage NOT IN ('void', 'captured', 'refunded')))), \
         (SELECT CAST(coalesce(sum((SELECT count(*) FROM \
          (SELECT {columns} AS is_missing FROM payments \
           WHERE payments.booking_id = sagas.booking_id AND captured_minor > 0) AS takings \
          WHERE is_missing)), 0) AS BIGINT) FROM sagas WHERE event_id = $1)"
    )
}

/// Reads a receipt's number.
fn number_values(key: &str) -> Option<[Value; 2]> {
    let ReceiptNumber { series, number } = key.parse().ok()?;
    Some([text(series.as_str()), Value::Integer(number.into())])
}

/// What is read of a payment that took money: also whether its booking was confirmed with it and
/// lacks its receipt, where the rule gives it one, or a credit note: there is a receipt, and more of it
/// went back than its notes come to, up to [`crate::receipt::owed_minor`]. One refund may stand for
/// another that bounced after its note was issued.
pub(crate) fn taking_columns(rule: ReceiptRule) -> String {
    let covered = covered_by(rule);
    format!(
        "payment_id, booking_id, created_at, \
         EXISTS (SELECT 1 FROM bookings WHERE bookings.booking_id = payments.booking_id \
          AND bookings.payment_id = payments.payment_id \
          AND bookings.status IN ('confirmed', 'cancelled') \
          AND CASE WHEN NOT EXISTS (SELECT 1 FROM receipts \
            WHERE receipts.booking_id = payments.booking_id AND coalesce(refund_id, '') = '') \
           THEN {covered} \
           ELSE EXISTS (SELECT 1 FROM \
            (SELECT sum(amount_minor) AS back_minor, max(amount_minor) AS largest_minor FROM refunds \
             WHERE refunds.booking_id = payments.booking_id \
             AND refunds.payment_id = payments.payment_id AND refunds.status = 'done') AS done, \
            (SELECT coalesce(sum(amount_minor), 0) AS noted_minor FROM receipts \
             WHERE receipts.booking_id = payments.booking_id AND coalesce(refund_id, '') <> '') AS notes \
            WHERE back_minor > noted_minor AND captured_minor > noted_minor \
            AND (bookings.status = 'confirmed' OR bookings.refund_minor > noted_minor \
             OR largest_minor > noted_minor)) END)"
    )
}

/// The condition for payments of which [`ReceiptRule::covers`] says yes.
fn covered_by(ReceiptRule { with_sandbox, from }: ReceiptRule) -> String {
    let mut covered = "(1 = 1".to_owned();
    if !with_sandbox {
        covered.push_str(&format!(" AND payments.gateway <> '{SANDBOX}'"));
    }
    if let Some(Time(from)) = from {
        covered.push_str(&format!(
            " AND coalesce((SELECT payment_completed_at FROM sagas \
             WHERE sagas.booking_id = payments.booking_id), payments.updated_at) >= {from}"
        ));
    }
    covered + ")"
}

/// Payments that took money, the earliest first.
pub(crate) fn takings(db: &Dialect, after: Option<&str>, limit: usize) -> List<Taking> {
    let mut query = Query::of(db, "payments");
    query.only("captured_minor > 0", []);
    let order = (Rising, ["created_at", "payment_id"]);
    query.page(order, (after, time_values), limit, |taking| {
        time_key(taking.created_at, &taking.payment)
    })
}

/// What the gateway's own desk did, the latest first.
pub(crate) fn desk(db: &Dialect, filter: &DeskFilter, limit: usize) -> List<DeskEntry> {
    let DeskFilter { open, booking, after } = filter;
    let mut query = Query::of(db, "desk_entries");
    if let Some(is_open) = open {
        query.only(if *is_open { "settled_at IS NULL" } else { "settled_at IS NOT NULL" }, []);
    }
    query.equal("booking_id", booking.as_ref().map(BookingId::as_str));
    let order = (Falling, ["created_at", "entry_id"]);
    query.page(order, (after.as_deref(), time_values), limit, |entry| {
        time_key(entry.created_at, &entry.entry)
    })
}

/// What was done with keys, the latest first.
pub(crate) fn actions(db: &Dialect, filter: &ActionFilter, limit: usize) -> List<Action> {
    let ActionFilter { name, event, after } = filter;
    let mut query = Query::of(db, "actions");
    query.equal("key_name", name.as_deref());
    query.equal("event_id", event.as_ref().map(EventId::as_str));
    let order = (Falling, ["at", "request_id"]);
    query.page(order, (after.as_deref(), time_values), limit, |action| {
        time_key(action.at, &action.request)
    })
}

/// Deliveries that were given up, the latest first.
pub(crate) fn dead_letters(
    db: &Dialect,
    channel: Option<&str>,
    after: Option<&str>,
    limit: usize,
) -> List<DeadLetter> {
    let mut query =
        Query::of(db, "deliveries JOIN messages ON messages.message_id = deliveries.message_id");
    query.only("died_at IS NOT NULL", []);
    query.equal("channel", channel);
    let order = (Falling, ["died_at", "deliveries.message_id", "channel"]);
    query.page(order, (after, dead_values), limit, |dead| {
        // Neither a message's id nor a channel's name is free of any character.
        let DeadLetter { message, channel, died_at, .. } = dead;
        format!("{died_at}/{}/{}{channel}", message.id.len(), message.id)
    })
}

/// Reads `<milliseconds>/<bytes of the message's id>/<message's id><channel>`.
fn dead_values(key: &str) -> Option<[Value; 3]> {
    let (died_at, rest) = key.split_once('/')?;
    let (bytes, rest) = rest.split_once('/')?;
    let (message, channel) = rest.split_at_checked(bytes.parse().ok()?)?;
    Some([Value::Integer(died_at.parse().ok()?), text(message), text(channel)])
}

/// What payments and refunds have in common: the event and the booking they are of.
fn of_event_and_booking(
    query: &mut Query<'_>,
    table: &str,
    event: Option<&EventId>,
    booking: Option<&BookingId>,
) {
    if let Some(event) = event {
        // Row by row, so that a page need not look at all there are.
        let condition = format!(
            "EXISTS (SELECT 1 FROM sagas WHERE sagas.booking_id = {table}.booking_id \
             AND event_id = ?)"
        );
        query.only(&condition, [text(event.as_str())]);
    }
    query.equal("booking_id", booking.map(BookingId::as_str));
}

/// The key of a list by booking, and then by id: `<booking>/<id>`. No booking has a slash in its id.
fn booking_key(booking: &BookingId, id: &impl Display) -> String {
    format!("{booking}/{id}")
}

/// Reads what [`booking_key`] wrote.
fn booking_values(key: &str) -> Option<[Value; 2]> {
    let (booking, id) = key.split_once('/')?;
    Some([text(booking), text(id)])
}

/// Reads a key that is an id. Any text may be one.
#[expect(clippy::unnecessary_wraps, reason = "other keys can be wrong")]
fn id_values(key: &str) -> Option<[Value; 1]> {
    Some([text(key)])
}
