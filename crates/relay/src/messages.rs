//! What there is to tell, and over which channels: pure functions from what happened to messages.
//!
//! A message's body has facts only, and nothing that names a person: who the buyer is stays in the
//! ledger, where it can be erased.

use onrush_base::config::Config;
use onrush_base::config::kinds::{
    BOOKING_CANCELLED, BOOKING_CONFIRMED, BOOKING_EXPIRED, BOOKING_REFUNDED, BOOKING_RELEASED,
    MAIL_KINDS, PAYMENT_DISPUTED, PAYMENT_FAILED, PAYMENT_LATE_REFUNDED, PAYMENT_PAID_TWICE,
    PAYMENT_REFUNDED_AT_DESK, TICKET_CHECKED_IN,
};
use onrush_core::Time;
use onrush_core::change::{BookingChange, Change, HoldChange};
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId};
use onrush_ledger::booking::Booking;
use onrush_ledger::delivery::Message;
use onrush_ledger::desk::{DeskEntry, DeskKind};
use onrush_ledger::money::{Refund, RefundCause};
use serde_json::{Value, json};

/// Why a buyer's own cancellation happened.
pub const CANCELLED_BY_BUYER: &str = "cancelled by the buyer";
/// Why a cancellation by whoever has the booking's link happened.
pub const CANCELLED_BY_LINK: &str = "cancelled with the booking's link";

/// Why money went back because an operator said so. Whoever is told reads it: who it was stays inside.
pub const BY_OPERATOR: &str = "an operator had it given back";
/// How programs of before began the same, and went on with who it was.
const BY_WHOM: &str = "refunded by ";
/// What it says of money that an operator gave back without the gateway.
pub const BY_HAND: &str = "given back by other means than the gateway";

/// The channel to buyers.
pub const MAIL: &str = "mail";

/// The channel of a webhook.
#[must_use]
pub fn webhook_channel(name: &str) -> String {
    format!("webhook:{name}")
}

/// The channels there are, and what each wants to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    mail: bool,
    /// The channel, and the kinds; `None` is all of them.
    webhooks: Vec<(String, Option<Vec<String>>)>,
}

impl Channels {
    /// Those that are configured.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let webhooks = config.webhooks.iter();
        let webhooks = webhooks.map(|hook| (webhook_channel(&hook.name), hook.kinds.clone()));
        Self { mail: config.mail.is_some(), webhooks: webhooks.collect() }
    }

    /// The names of all.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let mail = self.mail.then_some(MAIL);
        mail.into_iter().chain(self.webhooks.iter().map(|(name, _)| name.as_str()))
    }

    /// Whether nobody is to be told anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.mail && self.webhooks.is_empty()
    }

    /// Those that want messages of this kind.
    #[must_use]
    pub fn wanting(&self, kind: &str) -> Vec<String> {
        let mail = (self.mail && MAIL_KINDS.contains(&kind)).then(|| MAIL.to_owned());
        let wants = |kinds: &Option<Vec<String>>| {
            kinds.as_ref().is_none_or(|kinds| kinds.iter().any(|wanted| wanted == kind))
        };
        let webhooks = self.webhooks.iter().filter(|(_, kinds)| wants(kinds));
        mail.into_iter().chain(webhooks.map(|(name, _)| name.clone())).collect()
    }

    /// Whether there are dead letters to look for under this name.
    #[must_use]
    pub fn contains(&self, channel: &str) -> bool {
        (self.mail && channel == MAIL) || self.webhooks.iter().any(|(name, _)| name == channel)
    }
}

/// What is to be told of one change: the `index`th (from 0) of the decision `seq`. `booking` is the
/// booking that it is about as it was projected so far, if it is known; without it the message says
/// less.
///
/// The same change makes the same message, with the same id.
#[must_use]
pub fn of_change(
    seq: u64,
    index: usize,
    at: Time,
    event: &EventId,
    change: &Change,
    booking: Option<&Booking>,
    channels: &Channels,
) -> Option<Message> {
    if channels.is_empty() {
        return None;
    }
    let (kind, id, more) = match change {
        Change::Hold(change) => match change {
            HoldChange::HoldReleased { booking } => (BOOKING_RELEASED, booking, json!({})),
            HoldChange::HoldExpired { booking } => (BOOKING_EXPIRED, booking, json!({})),
            HoldChange::HoldPlaced { .. }
            | HoldChange::HoldExtended { .. }
            | HoldChange::HoldForgotten { .. } => return None,
        },
        Change::Booking(change) => match change {
            BookingChange::HoldConfirmed { booking, payment } => {
                (BOOKING_CONFIRMED, booking, json!({"payment": payment, "late": false}))
            }
            BookingChange::HoldConfirmedLate { booking, payment } => {
                (BOOKING_CONFIRMED, booking, json!({"payment": payment, "late": true}))
            }
            BookingChange::ConfirmedCancelled { booking, reason, refund_minor } => {
                let why = &reason.why;
                (BOOKING_CANCELLED, booking, json!({"refund_minor": refund_minor, "why": why}))
            }
            BookingChange::PaymentFailed { booking, payment, why, until } => {
                let facts = json!({"payment": payment, "why": why, "until": until});
                (PAYMENT_FAILED, booking, facts)
            }
            BookingChange::CheckedIn { booking, ticket, scan: _ } => {
                (TICKET_CHECKED_IN, booking, json!({"ticket": ticket}))
            }
            BookingChange::PayerNamed { .. }
            | BookingChange::PaymentBegun { .. }
            // Nothing was taken and nothing is owed. The mail about the hold's end has waited for this.
            | BookingChange::LatePaymentFailed { .. } => return None,
        },
        Change::Setup(_)
        | Change::Sale(_)
        | Change::Queue(_)
        | Change::Visitor(_)
        | Change::Claim(_) => return None,
    };
    let facts = joined(booking.map(facts_of).unwrap_or_else(|| json!({})), more);
    // With its time: after older files were accepted other decisions have the same numbers.
    let told = format!("{event}-{seq}-{}-{index}", at.0);
    message(told, kind, event, id, at, facts, channels)
}

/// The confirmation of a booking that is confirmed since `confirmed_at`, for its buyer alone once more,
/// who may have another address by now; `None` if buyers are not written to. `wish` names what was
/// asked for: the same wish is the same message.
#[must_use]
pub fn confirmed_again(
    wish: u128,
    at: Time,
    confirmed_at: Time,
    event: &EventId,
    booking: &BookingId,
    channels: &Channels,
) -> Option<Message> {
    channels.contains(MAIL).then(|| Message {
        id: format!("{event}-again-{wish:032x}"),
        kind: BOOKING_CONFIRMED.to_owned(),
        event: event.clone(),
        booking: Some(booking.clone()),
        at,
        body: json!({ "confirmed_at": confirmed_at }).to_string(),
        // Nothing has happened that other systems would have to be told.
        channels: vec![MAIL.to_owned()],
    })
}

/// What is to be told of a refund that is done: money that came too late is back, or else the
/// booking was cancelled. `status` is how the booking stands, if that is known: the booking's own payment
/// may have bought it all the same.
#[must_use]
pub fn refund_done(
    refund: &Refund,
    event: &EventId,
    at: Time,
    status: Option<HoldStatus>,
    channels: &Channels,
) -> Option<Message> {
    let kind = if refund.cause.is_late() { PAYMENT_LATE_REFUNDED } else { BOOKING_REFUNDED };
    let names_operator = refund.cause == RefundCause::Operator && refund.why.starts_with(BY_WHOM);
    let facts = json!({
        "refund_minor": refund.amount_minor,
        "currency": refund.currency,
        "payment": refund.payment,
        "why": if names_operator { BY_OPERATOR } else { &*refund.why },
        "booking_status": status,
        "by_hand": (refund.why == BY_HAND).then_some(true),
    });
    let facts = joined(json!({}), facts);
    // Colons have no place in the ids of messages, which become parts of addresses. With the time of
    // its row: in an older ledger that was accepted, refunds are numbered again.
    let id = format!("{}-{}", refund.refund.replace(':', "-"), refund.created_at.0);
    message(id, kind, event, &refund.booking, at, facts, channels)
}

/// What is to be told of something that the gateway's own desk did. The buyer hears of it from the gateway.
#[must_use]
pub fn at_desk(entry: &DeskEntry, channels: &Channels) -> Option<Message> {
    let kind = match entry.kind {
        DeskKind::Refund => PAYMENT_REFUNDED_AT_DESK,
        DeskKind::Dispute => PAYMENT_DISPUTED,
        DeskKind::SecondPayment => PAYMENT_PAID_TWICE,
    };
    let facts = json!({
        "entry": entry.entry,
        "status": entry.status,
        "payment": entry.payment,
        "moved_minor": entry.amount_minor,
        "moved_currency": entry.currency,
        "why": entry.why,
    });
    // Each end of a thing is told of once.
    let status: &str = entry.status.into();
    let id = format!("desk-{}-{status}", entry.entry);
    message(id, kind, &entry.event, &entry.booking, entry.updated_at, facts, channels)
}

/// What a message's body says, and with it what the booking is about, which never changes.
///
/// # Errors
/// The body is not JSON.
pub fn said_of(body: &str, booking: Option<&Booking>) -> serde_json::Result<Value> {
    let said = serde_json::from_str(body)?;
    Ok(joined(booking.map(facts_of).unwrap_or_else(|| json!({})), said))
}

fn facts_of(booking: &Booking) -> Value {
    json!({
        "lines": booking.lines,
        "amount_minor": booking.amount_minor,
        "fee_minor": booking.fee_minor,
        "currency": booking.currency,
    })
}

/// Both objects' members; where both have one, the second one's.
fn joined(mut first: Value, second: Value) -> Value {
    if let (Value::Object(first), Value::Object(second)) = (&mut first, second) {
        first.extend(second.into_iter().filter(|(_, value)| !value.is_null()));
    }
    first
}

fn message(
    id: String,
    kind: &str,
    event: &EventId,
    booking: &BookingId,
    at: Time,
    facts: Value,
    channels: &Channels,
) -> Option<Message> {
    let channels = channels.wanting(kind);
    (!channels.is_empty()).then(|| Message {
        id,
        kind: kind.to_owned(),
        event: event.clone(),
        booking: Some(booking.clone()),
        at,
        body: facts.to_string(),
        channels,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::change::SaleChange;
    use onrush_core::lines::{Lines, PoolLine};
    use onrush_core::spec::Reason;

    fn channels(kinds: Option<&[&str]>) -> Channels {
        let kinds = kinds.map(|kinds| kinds.iter().map(|&kind| kind.to_owned()).collect());
        Channels { mail: true, webhooks: vec![(webhook_channel("crm"), kinds)] }
    }

    #[test]
    fn names_are_those_of_all_that_are_configured() {
        assert_eq!(channels(None).names().collect::<Vec<_>>(), ["mail", "webhook:crm"]);
        assert_eq!(Channels::default().names().count(), 0);
    }

    fn told(change: &Change, channels: &Channels) -> Option<Message> {
        of_change(7, 1, Time(5), &"e".parse().unwrap(), change, None, channels)
    }

    fn booking() -> Booking {
        let pools = vec![PoolLine { pool: "ga".parse().unwrap(), quantity: 2 }];
        Booking {
            booking: "e.1".parse().unwrap(),
            event: "e".parse().unwrap(),
            user: "ann".parse().unwrap(),
            status: HoldStatus::Confirmed,
            lines: Lines::new(pools, Vec::new()).unwrap(),
            prices_minor: Vec::new(),
            types: None,
            amount_minor: 5_000,
            fee_minor: 0,
            currency: "EUR".parse().unwrap(),
            payment: None,
            refund_minor: 0,
            checked_in: 0,
            created_at: Time(1),
            confirmed_at: Some(Time(2)),
            updated_at: Time(2),
        }
    }

    fn value(body: &str) -> Value {
        serde_json::from_str(body).unwrap()
    }

    #[test]
    fn a_change_always_makes_the_same_message() {
        let change = Change::Booking(BookingChange::HoldConfirmedLate {
            booking: "e.1".parse().unwrap(),
            payment: "p.1".parse().unwrap(),
        });
        let message = told(&change, &channels(None)).unwrap();
        assert_eq!(told(&change, &channels(None)), Some(message.clone()));
        assert_eq!((message.id.as_str(), message.kind.as_str()), ("e-7-5-1", BOOKING_CONFIRMED));
        assert_eq!(message.at, Time(5));
        assert_eq!(message.channels, ["mail", "webhook:crm"]);
        assert_eq!(value(&message.body), json!({"payment": "p.1", "late": true}));
    }

    /// After an older journal was accepted, another decision may have the number of a lost one.
    #[test]
    fn decisions_of_one_number_and_two_pasts_have_two_ids() {
        let booking = "e.1".parse().unwrap();
        let change = Change::Hold(HoldChange::HoldReleased { booking });
        let id_at = |ms| {
            let event = "e".parse().unwrap();
            of_change(7, 1, Time(ms), &event, &change, None, &channels(None)).unwrap().id
        };
        assert_eq!(id_at(5), id_at(5));
        assert_ne!(id_at(5), id_at(6));
    }

    #[test]
    fn who_cancelled_stays_inside_and_why_is_told() {
        let change = Change::Booking(BookingChange::ConfirmedCancelled {
            booking: "e.1".parse().unwrap(),
            reason: Reason { by: "ann@box.example".into(), why: "rain".into() },
            refund_minor: 30,
        });
        let message = told(&change, &channels(None)).unwrap();
        assert_eq!(value(&message.body), json!({"refund_minor": 30, "why": "rain"}));
        let said = said_of(&message.body, Some(&booking())).unwrap();
        let expected = json!({"lines": {"pools": {"ga": 2}}, "amount_minor": 5_000, "fee_minor": 0,
            "currency": "EUR", "refund_minor": 30, "why": "rain"});
        assert_eq!(said, expected);
        assert!(said_of("no JSON", None).is_err());
    }

    #[test]
    fn each_channel_is_told_what_it_wants_and_buyers_what_concerns_them() {
        let checked_in = Change::Booking(BookingChange::CheckedIn {
            booking: "e.1".parse().unwrap(),
            ticket: 1,
            scan: None,
        });
        assert_eq!(told(&checked_in, &channels(None)).unwrap().channels, ["webhook:crm"]);
        assert_eq!(told(&checked_in, &channels(Some(&[BOOKING_EXPIRED]))), None);
        let expired = Change::Hold(HoldChange::HoldExpired { booking: "e.1".parse().unwrap() });
        let both = told(&expired, &channels(Some(&[BOOKING_EXPIRED]))).unwrap();
        assert_eq!(both.channels, ["mail", "webhook:crm"]);
        assert_eq!(told(&expired, &Channels::default()), None);
        assert_eq!(told(&Change::Sale(SaleChange::SalePaused), &channels(None)), None);
    }

    #[test]
    fn a_confirmation_is_told_to_its_buyer_again_and_to_nobody_else() {
        let (event, booking) = ("e".parse().unwrap(), "e.1".parse().unwrap());
        let again = |wish, channels: &Channels| {
            confirmed_again(wish, Time(9), Time(5), &event, &booking, channels)
        };
        let message = again(255, &channels(None)).unwrap();
        assert_eq!(message.id, format!("e-again-{:0>32}", "ff"));
        assert_eq!((message.kind.as_str(), message.at), (BOOKING_CONFIRMED, Time(9)));
        assert_eq!(message.channels, ["mail"]);
        assert_eq!(value(&message.body), json!({"confirmed_at": 5}));
        assert_ne!(again(254, &channels(None)).unwrap().id, message.id);
        let without_mail = Channels { mail: false, ..channels(None) };
        assert_eq!(again(255, &without_mail), None);
    }

    #[test]
    fn a_refund_is_told_once_under_its_own_name() {
        let refund = |cause| Refund {
            refund: "refund:e.1:1".into(),
            booking: "e.1".parse().unwrap(),
            payment: "e.1.000000000001".parse().unwrap(),
            amount_minor: 30,
            currency: "EUR".parse().unwrap(),
            status: onrush_ledger::money::RefundStatus::Done,
            cause,
            decided_by: None,
            why: "the booking was cancelled".into(),
            reference: None,
            created_at: Time(1),
            updated_at: Time(2),
        };
        let event = "e".parse().unwrap();
        let kinds = [
            (RefundCause::Cancelled, BOOKING_REFUNDED),
            (RefundCause::Unconfirmed, PAYMENT_LATE_REFUNDED),
            (RefundCause::Stray, PAYMENT_LATE_REFUNDED),
        ];
        for (cause, kind) in kinds {
            let message = refund_done(&refund(cause), &event, Time(3), None, &channels(None));
            let message = message.unwrap();
            assert_eq!((message.id.as_str(), message.kind.as_str()), ("refund-e.1-1-1", kind));
            assert_eq!(value(&message.body)["refund_minor"], 30);
            assert_eq!(value(&message.body).get("booking_status"), None);
        }
        let stray = refund(RefundCause::Stray);
        let status = Some(HoldStatus::Confirmed);
        let beside = refund_done(&stray, &event, Time(3), status, &channels(None)).unwrap();
        assert_eq!(value(&beside.body)["booking_status"], "confirmed");
        // An operator's, as it is written down and as it was before.
        for why in [BY_OPERATOR, "refunded by bo"] {
            let by_operator = Refund { why: why.into(), ..refund(RefundCause::Operator) };
            let told = refund_done(&by_operator, &event, Time(3), None, &channels(None)).unwrap();
            assert_eq!(value(&told.body)["why"], BY_OPERATOR);
        }
        let by_hand = Refund { why: BY_HAND.into(), ..refund(RefundCause::Cancelled) };
        let told = refund_done(&by_hand, &event, Time(3), None, &channels(None)).unwrap();
        assert_eq!(value(&told.body)["by_hand"], true);
        assert_eq!(value(&beside.body).get("by_hand"), None);
        // Another refund of the same number, after an older ledger was accepted.
        let again = Refund { created_at: Time(9), ..refund(RefundCause::Cancelled) };
        let again = refund_done(&again, &event, Time(9), None, &channels(None)).unwrap();
        assert_eq!(again.id, "refund-e.1-1-9");
    }
}
