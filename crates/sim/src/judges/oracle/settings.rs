//! What settings may say: the ranges and contradictions of docs/design/http.md, in their order.

use super::limits::wrong_limit;
use super::organiser::is_name;
use super::payers::wrong_limit_of_payers;
use onrush_core::Refusal;
use onrush_core::Time;
use onrush_core::settings::{Order, RoomSettings, Settings};

const YEAR_MS: i64 = 366 * 24 * 3_600_000;
const TRILLION: i64 = 1_000_000_000_000;

fn lasts(ms: i64) -> bool {
    ms > 0 && ms <= YEAR_MS
}

fn fits(text: &str) -> bool {
    let chars = text.chars().count();
    chars > 0 && chars <= 500
}

fn is_name_of_tax(name: &str) -> bool {
    name.chars().count() <= 40
        && name.chars().any(|c| !c.is_whitespace())
        && name.chars().all(|c| !c.is_control())
}

/// The first setting that is wrong.
pub(super) fn wrong_setting(it: &Settings) -> Option<String> {
    let plain = [
        ("title", !it.title.is_empty() && is_name(&it.title)),
        ("hold_ttl_ms", lasts(it.hold_ttl_ms)),
        ("hold_max_ms", lasts(it.hold_max_ms)),
        ("payment_window_ms", lasts(it.payment_window_ms)),
        ("payment_attempts", it.payment_attempts > 0),
        ("fees.fixed_minor", it.fees.fixed_minor >= 0 && it.fees.fixed_minor <= TRILLION),
        ("fees.percent_bp", it.fees.percent_bp <= 10_000),
        ("tax.name", it.tax.as_ref().is_none_or(|tax| is_name_of_tax(&tax.name))),
        ("tax.rate_bp", it.tax.as_ref().is_none_or(|tax| tax.rate_bp <= 10_000)),
        ("amount_step_minor", it.amount_step_minor > 0 && it.amount_step_minor <= 10_000),
        ("refunds", it.refunds.len() <= 20),
    ];
    if let Some((name, _)) = plain.into_iter().find(|(_, fine)| !fine) {
        return Some(name.to_owned());
    }
    for (index, rule) in it.refunds.iter().enumerate() {
        if rule.percent > 100 {
            return Some(format!("refunds[{index}].percent"));
        }
    }
    if it.max_per_user.is_some_and(|limit| limit < 1) {
        return Some("max_per_user".to_owned());
    }
    let wrong = wrong_limit(&it.limits).or_else(|| wrong_limit_of_payers(it));
    if wrong.is_some() {
        return wrong;
    }
    if it.claim_ttl_max_ms.is_some_and(|ms| !lasts(ms)) {
        return Some("claim_ttl_max_ms".to_owned());
    }
    let wrong = it.room.as_ref().and_then(wrong_room);
    wrong.or_else(|| contradiction(it)).map(str::to_owned)
}

/// The closing time, if it is not what it was, and has come.
pub(super) fn wrong_closing(was: Option<Time>, is: Option<Time>, now: Time) -> Option<String> {
    match is {
        Some(closing) if is != was && closing.0 <= now.0 => Some("closes_at".to_owned()),
        Some(_) | None => None,
    }
}

/// Whether a text says something, and reads as it is written.
fn is_told(text: &str) -> bool {
    let says_something = text.chars().any(|sign| sign.is_numeric() || sign.is_alphabetic());
    says_something && is_name(text) && fits(text) && text.chars().all(|sign| !sign.is_control())
}

fn wrong_room(room: &RoomSettings) -> Option<&'static str> {
    let all = [
        ("room.capacity", room.capacity > 0 && room.capacity <= 1_000_000),
        ("room.outflow_per_min", room.outflow_per_min.is_none_or(|n| n > 0)),
        ("room.session_ms", lasts(room.session_ms)),
        ("room.place_ttl_ms", lasts(room.place_ttl_ms)),
        ("room.arrive_ms", lasts(room.arrive_ms)),
        ("room.max_queue_size", room.max_queue_size > 0 && room.max_queue_size <= 20_000_000),
        ("room.places_per_user", room.places_per_user > 0 && room.places_per_user <= 100),
        ("room.units_per_visitor", (1..1_001).contains(&room.units_per_visitor)),
        ("room.public_value_source", room.public_value_source.as_deref().is_none_or(is_told)),
    ];
    all.into_iter().find(|(_, fine)| !fine).map(|(name, _)| name)
}

fn contradiction(it: &Settings) -> Option<&'static str> {
    if it.amount_step_minor != 1 && it.amount_step_minor % coin(it) != 0 {
        return Some("amount_step_minor");
    }
    if it.hold_ttl_ms > it.hold_max_ms {
        return Some("hold_max_ms");
    }
    if it.starts_at.is_none() && !it.refunds.is_empty() {
        return Some("refunds");
    }
    let late = |first: Option<Time>, then: Option<Time>| match (first, then) {
        (Some(first), Some(then)) => first >= then,
        (None, _) | (_, None) => false,
    };
    if late(it.prequeue_at, it.opens_at) {
        return Some("opens_at");
    }
    if late(it.opens_at, it.closes_at) || late(it.prequeue_at, it.closes_at) {
        return Some("closes_at");
    }
    let room = it.room.as_ref()?;
    let is_drawn = matches!(room.order, Order::Draw { .. });
    if is_drawn && room.places_per_user > 1 {
        return Some("room.places_per_user");
    }
    (room.public_value_source.is_some() && !is_drawn).then_some("room.public_value_source")
}

/// The smallest coin of the event's currency: fifths of ariary and ouguiya.
fn coin(it: &Settings) -> i64 {
    if ["MGA", "MRU"].contains(&it.currency.as_str()) { 20 } else { 1 }
}

/// What amounts are multiples of.
pub(super) fn step(it: &Settings) -> i64 {
    coin(it).max(it.amount_step_minor)
}

/// Checks who did something by hand, and why.
pub(super) fn check_reason(by: &str, why: &str) -> Result<(), Refusal> {
    let wrong = if !fits(by) {
        "by"
    } else if !fits(why) {
        "why"
    } else {
        return Ok(());
    };
    Err(invalid(Some(wrong)))
}

/// `INVALID_SETTINGS` about this field.
pub(super) fn invalid(field: Option<&str>) -> Refusal {
    Refusal::InvalidSettings { field: field.map(|f| f.to_owned().into()), why: "".into() }
}
