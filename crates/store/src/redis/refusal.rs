//! Refusals as the scripts write them: `{"code":"INSUFFICIENT_STOCK","pool":"ga","free":3}`.

use onrush_core::ids::{PlaceId, PoolId, SeatId};
use onrush_core::{Phase, Refusal, Time};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Different reasons in words that are kept; the scripts have fewer than a hundred.
const MAX_WORDS: usize = 512;

/// A refusal's code and whatever it carries.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Written {
    code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<PoolId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seat: Option<SeatId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seats: Option<Vec<SeatId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<PlaceId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<Phase>,
    #[serde(skip_serializing_if = "Option::is_none")]
    free: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount_minor: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    committed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tickets: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paid_minor: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step_minor: Option<i64>,
}

/// The refusal as JSON.
pub(super) fn write(refusal: &Refusal) -> String {
    let mut out = Written { code: refusal.code().to_owned(), ..Written::default() };
    match refusal {
        Refusal::EventNotFound
        | Refusal::EventExists
        | Refusal::InvalidQuantity
        | Refusal::PlaceNotFound
        | Refusal::ReservationNotFound
        | Refusal::ClaimNotFound
        | Refusal::BookingMismatch
        | Refusal::QueueFull
        | Refusal::AlreadyReleased
        | Refusal::AlreadyConfirmed
        | Refusal::HoldExpired
        | Refusal::PaymentMismatch
        | Refusal::CannotCancel
        | Refusal::UnitsNotBlocked
        | Refusal::SeedMismatch
        | Refusal::NotCancellable
        | Refusal::VisitorBanned
        | Refusal::NoWaitingRoom
        | Refusal::NotYourTurn
        | Refusal::SessionOver
        | Refusal::NothingToPay
        | Refusal::NoDraw => {}
        Refusal::InvalidSettings { why }
        | Refusal::InvalidLines { why }
        | Refusal::SettingsFixed { why }
        | Refusal::EventLimit { why }
        | Refusal::AlreadyInPhase { why }
        | Refusal::OtherStepFirst { why } => out.why = Some((*why).to_owned()),
        Refusal::ZoneNotFound { pool } | Refusal::PoolExists { pool } => {
            out.pool = Some(pool.clone());
        }
        Refusal::SeatNotFound { seat } | Refusal::SeatExists { seat } => {
            out.seat = Some(seat.clone());
        }
        Refusal::EventNotOpen { phase } => out.phase = Some(*phase),
        Refusal::Duplicate { place } | Refusal::AlreadyInQueue { place } => {
            out.place = Some(*place);
        }
        Refusal::InsufficientStock { pool, free } => {
            (out.pool, out.free) = (Some(pool.clone()), Some(*free));
        }
        Refusal::SeatUnavailable { seats } => out.seats = Some(seats.clone()),
        Refusal::ClaimExceedsQuantity { free } => out.free = Some(*free),
        Refusal::UserLimitExceeded { limit, held } => {
            (out.limit, out.held) = (Some(*limit), Some(*held));
        }
        Refusal::ClaimBelowZero { claimed } => out.claimed = Some(*claimed),
        Refusal::InvalidStatus { status } => out.status = Some((*status).to_owned()),
        Refusal::PaymentRequired { amount_minor } => out.amount_minor = Some(*amount_minor),
        Refusal::TooManyAttempts { limit } | Refusal::ExtensionLimit { limit } => {
            out.limit = Some(u32::from(*limit));
        }
        Refusal::CapacityBelowCommitted { committed } => out.committed = Some(*committed),
        Refusal::TicketNotFound { tickets } => out.tickets = Some(*tickets),
        Refusal::AlreadyCheckedIn { at } => out.at = Some(*at),
        Refusal::BanListFull { limit } | Refusal::TooManyEnded { limit } => {
            out.limit = Some(*limit);
        }
        Refusal::RefundExceedsPaid { paid_minor } => out.paid_minor = Some(*paid_minor),
        Refusal::RefundBetweenSteps { step_minor } => out.step_minor = Some(*step_minor),
    }
    serde_json::to_string(&out).expect("texts and numbers can be written")
}

/// The refusal that a script wrote.
pub(super) fn read(json: &str) -> Result<Refusal, String> {
    let written: Written =
        serde_json::from_str(json).map_err(|error| format!("a refusal {json}: {error}"))?;
    written.refusal().ok_or_else(|| format!("no refusal is written like this: {json}"))
}

impl Written {
    fn refusal(self) -> Option<Refusal> {
        let short = |limit: Option<u32>| u8::try_from(limit?).ok();
        Some(match self.code.as_str() {
            "EVENT_NOT_FOUND" => Refusal::EventNotFound,
            "EVENT_EXISTS" => Refusal::EventExists,
            "INVALID_SETTINGS" => Refusal::InvalidSettings { why: intern(&self.why?) },
            "INVALID_QUANTITY" => Refusal::InvalidQuantity,
            "INVALID_LINES" => Refusal::InvalidLines { why: intern(&self.why?) },
            "ZONE_NOT_FOUND" => Refusal::ZoneNotFound { pool: self.pool? },
            "SEAT_NOT_FOUND" => Refusal::SeatNotFound { seat: self.seat? },
            "POOL_EXISTS" => Refusal::PoolExists { pool: self.pool? },
            "SEAT_EXISTS" => Refusal::SeatExists { seat: self.seat? },
            "PLACE_NOT_FOUND" => Refusal::PlaceNotFound,
            "RESERVATION_NOT_FOUND" => Refusal::ReservationNotFound,
            "CLAIM_NOT_FOUND" => Refusal::ClaimNotFound,
            "BOOKING_MISMATCH" => Refusal::BookingMismatch,
            "EVENT_NOT_OPEN" => Refusal::EventNotOpen { phase: self.phase? },
            "NO_WAITING_ROOM" => Refusal::NoWaitingRoom,
            "NOT_YOUR_TURN" => Refusal::NotYourTurn,
            "SESSION_OVER" => Refusal::SessionOver,
            "NOTHING_TO_PAY" => Refusal::NothingToPay,
            "SETTINGS_FIXED" => Refusal::SettingsFixed { why: intern(&self.why?) },
            "EVENT_LIMIT" => Refusal::EventLimit { why: intern(&self.why?) },
            "ALREADY_IN_PHASE" => Refusal::AlreadyInPhase { why: intern(&self.why?) },
            "OTHER_STEP_FIRST" => Refusal::OtherStepFirst { why: intern(&self.why?) },
            "NO_DRAW" => Refusal::NoDraw,
            "DUPLICATE" => Refusal::Duplicate { place: self.place? },
            "ALREADY_IN_QUEUE" => Refusal::AlreadyInQueue { place: self.place? },
            "QUEUE_FULL" => Refusal::QueueFull,
            "INSUFFICIENT_STOCK" => {
                Refusal::InsufficientStock { pool: self.pool?, free: self.free? }
            }
            "SEAT_UNAVAILABLE" => Refusal::SeatUnavailable { seats: self.seats? },
            "CLAIM_EXCEEDS_QUANTITY" => Refusal::ClaimExceedsQuantity { free: self.free? },
            "USER_LIMIT_EXCEEDED" => {
                Refusal::UserLimitExceeded { limit: self.limit?, held: self.held? }
            }
            "CLAIM_BELOW_ZERO" => Refusal::ClaimBelowZero { claimed: self.claimed? },
            "ALREADY_RELEASED" => Refusal::AlreadyReleased,
            "ALREADY_CONFIRMED" => Refusal::AlreadyConfirmed,
            "HOLD_EXPIRED" => Refusal::HoldExpired,
            "INVALID_STATUS" => Refusal::InvalidStatus { status: intern(&self.status?) },
            "PAYMENT_REQUIRED" => Refusal::PaymentRequired { amount_minor: self.amount_minor? },
            "PAYMENT_MISMATCH" => Refusal::PaymentMismatch,
            "TOO_MANY_ATTEMPTS" => Refusal::TooManyAttempts { limit: short(self.limit)? },
            "EXTENSION_LIMIT" => Refusal::ExtensionLimit { limit: short(self.limit)? },
            "CANNOT_CANCEL" => Refusal::CannotCancel,
            "CAPACITY_BELOW_COMMITTED" => {
                Refusal::CapacityBelowCommitted { committed: self.committed? }
            }
            "UNITS_NOT_BLOCKED" => Refusal::UnitsNotBlocked,
            "SEED_MISMATCH" => Refusal::SeedMismatch,
            "TICKET_NOT_FOUND" => Refusal::TicketNotFound { tickets: self.tickets? },
            "ALREADY_CHECKED_IN" => Refusal::AlreadyCheckedIn { at: self.at? },
            "NOT_CANCELLABLE" => Refusal::NotCancellable,
            "REFUND_EXCEEDS_PAID" => Refusal::RefundExceedsPaid { paid_minor: self.paid_minor? },
            "VISITOR_BANNED" => Refusal::VisitorBanned,
            "BAN_LIST_FULL" => Refusal::BanListFull { limit: self.limit? },
            "TOO_MANY_ENDED" => Refusal::TooManyEnded { limit: self.limit? },
            "REFUND_BETWEEN_STEPS" => Refusal::RefundBetweenSteps { step_minor: self.step_minor? },
            _ => return None,
        })
    }
}

/// The same text, for as long as the process runs: refusals carry texts of the program, and the scripts are part of it.
fn intern(text: &str) -> &'static str {
    static WORDS: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = words.get(text) {
        return known;
    }
    // Only a broken script could have this many; its texts must not fill the memory.
    if words.len() >= MAX_WORDS {
        return "the rules say no";
    }
    let kept: &'static str = Box::leak(text.into());
    words.insert(kept);
    kept
}

#[cfg(test)]
mod tests {
    use super::{read, write};
    use onrush_core::ids::PlaceId;
    use onrush_core::{Phase, Refusal, Time};

    /// Every refusal there is, each once. The match keeps the list complete: a new refusal does not compile without one.
    fn all() -> Vec<Refusal> {
        let pool = || "ga".parse().expect("an id");
        let seat = || "A-1".parse().expect("an id");
        let place = PlaceId::from_u128(7);
        let mut all = vec![Refusal::EventNotFound];
        loop {
            let next = match all.last().expect("it begins with one") {
                Refusal::EventNotFound => Refusal::EventExists,
                Refusal::EventExists => Refusal::InvalidSettings { why: "a \"quoted\" why" },
                Refusal::InvalidSettings { .. } => Refusal::InvalidQuantity,
                Refusal::InvalidQuantity => Refusal::InvalidLines { why: "lines" },
                Refusal::InvalidLines { .. } => Refusal::ZoneNotFound { pool: pool() },
                Refusal::ZoneNotFound { .. } => Refusal::SeatNotFound { seat: seat() },
                Refusal::SeatNotFound { .. } => Refusal::PoolExists { pool: pool() },
                Refusal::PoolExists { .. } => Refusal::SeatExists { seat: seat() },
                Refusal::SeatExists { .. } => Refusal::PlaceNotFound,
                Refusal::PlaceNotFound => Refusal::ReservationNotFound,
                Refusal::ReservationNotFound => Refusal::ClaimNotFound,
                Refusal::ClaimNotFound => Refusal::BookingMismatch,
                Refusal::BookingMismatch => Refusal::EventNotOpen { phase: Phase::Paused },
                Refusal::EventNotOpen { .. } => Refusal::NoWaitingRoom,
                Refusal::NoWaitingRoom => Refusal::NotYourTurn,
                Refusal::NotYourTurn => Refusal::SessionOver,
                Refusal::SessionOver => Refusal::NothingToPay,
                Refusal::NothingToPay => Refusal::SettingsFixed { why: "fixed" },
                Refusal::SettingsFixed { .. } => Refusal::EventLimit { why: "as many" },
                Refusal::EventLimit { .. } => Refusal::AlreadyInPhase { why: "already" },
                Refusal::AlreadyInPhase { .. } => Refusal::OtherStepFirst { why: "first" },
                Refusal::OtherStepFirst { .. } => Refusal::NoDraw,
                Refusal::NoDraw => Refusal::Duplicate { place },
                Refusal::Duplicate { .. } => Refusal::AlreadyInQueue { place },
                Refusal::AlreadyInQueue { .. } => Refusal::QueueFull,
                Refusal::QueueFull => Refusal::InsufficientStock { pool: pool(), free: 3 },
                Refusal::InsufficientStock { .. } => {
                    Refusal::SeatUnavailable { seats: vec![seat()] }
                }
                Refusal::SeatUnavailable { .. } => Refusal::ClaimExceedsQuantity { free: 0 },
                Refusal::ClaimExceedsQuantity { .. } => {
                    Refusal::UserLimitExceeded { limit: 4, held: 3 }
                }
                Refusal::UserLimitExceeded { .. } => Refusal::ClaimBelowZero { claimed: 2 },
                Refusal::ClaimBelowZero { .. } => Refusal::AlreadyReleased,
                Refusal::AlreadyReleased => Refusal::AlreadyConfirmed,
                Refusal::AlreadyConfirmed => Refusal::HoldExpired,
                Refusal::HoldExpired => Refusal::InvalidStatus { status: "cancelled" },
                Refusal::InvalidStatus { .. } => {
                    Refusal::PaymentRequired { amount_minor: i64::MAX }
                }
                Refusal::PaymentRequired { .. } => Refusal::PaymentMismatch,
                Refusal::PaymentMismatch => Refusal::TooManyAttempts { limit: 3 },
                Refusal::TooManyAttempts { .. } => Refusal::ExtensionLimit { limit: 255 },
                Refusal::ExtensionLimit { .. } => Refusal::CannotCancel,
                Refusal::CannotCancel => Refusal::CapacityBelowCommitted { committed: 9 },
                Refusal::CapacityBelowCommitted { .. } => Refusal::UnitsNotBlocked,
                Refusal::UnitsNotBlocked => Refusal::SeedMismatch,
                Refusal::SeedMismatch => Refusal::TicketNotFound { tickets: 2 },
                Refusal::TicketNotFound { .. } => Refusal::AlreadyCheckedIn { at: Time(-5) },
                Refusal::AlreadyCheckedIn { .. } => Refusal::NotCancellable,
                Refusal::NotCancellable => Refusal::RefundExceedsPaid { paid_minor: 1 },
                Refusal::RefundExceedsPaid { .. } => Refusal::VisitorBanned,
                Refusal::VisitorBanned => Refusal::BanListFull { limit: 10_000 },
                Refusal::BanListFull { .. } => Refusal::TooManyEnded { limit: 100 },
                Refusal::TooManyEnded { .. } => Refusal::RefundBetweenSteps { step_minor: 10 },
                Refusal::RefundBetweenSteps { .. } => return all,
            };
            all.push(next);
        }
    }

    #[test]
    fn every_refusal_comes_back_as_it_was_written() {
        let all = all();
        assert_eq!(all.len(), 51, "one of each");
        for refusal in all {
            assert_eq!(read(&write(&refusal)), Ok(refusal));
        }
    }

    #[test]
    fn what_no_script_writes_is_an_error() {
        for json in [
            "{}",
            r#"{"code":"NO_SUCH_CODE"}"#,
            r#"{"code":"INSUFFICIENT_STOCK","pool":"ga"}"#,
            "nothing",
        ] {
            assert!(read(json).is_err(), "{json}");
        }
    }
}
