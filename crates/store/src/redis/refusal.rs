//! Refusals as the scripts write them: `{"code":"INSUFFICIENT_STOCK","pool":"ga","free":3}`.

use onrush_core::Refusal;

/// The refusal as JSON.
pub(super) fn write(refusal: &Refusal) -> String {
    serde_json::to_string(refusal).expect("texts and numbers can be written")
}

/// The refusal that a script wrote.
pub(super) fn read(json: &str) -> Result<Refusal, String> {
    serde_json::from_str(json).map_err(|error| format!("a refusal {json}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{read, write};
    use onrush_core::Refusal;
    use onrush_core::ids::PlaceId;
    use serde_json::{Value, json};

    /// Everything that any refusal carries.
    fn everything(code: &str) -> Value {
        json!({
            "code": code, "field": "title", "why": "a \"quoted\" why", "pool": "ga", "seat": "A-1",
            "seats": ["A-1"], "instead": ["A-2"],
            "place": PlaceId::from_u128(7), "phase": "paused", "free": 3, "limit": 4,
            "held": 3, "claimed": 2, "booking_status": "cancelled", "amount_minor": i64::MAX,
            "committed": 9, "tickets": 2, "checked_in_at": -5, "paid_minor": 1, "refund_minor": 5,
            "step_minor": 10, "longest": 2, "category": "stalls", "section": "left",
            "channel": "fans", "quota": 5, "taken": 2,
            "ticket_type": "child", "of": {"pool": "ga"}, "min": 1, "max": 4, "asked": 9, "by": "card",
            "archived_at": 8, "waiting": 1, "inside": 2, "public_value_source": "lottery",
        })
    }

    #[test]
    fn every_refusal_comes_back_as_it_was_written() {
        assert_eq!(Refusal::KINDS.len(), 68);
        for kind in Refusal::KINDS {
            let refusal = read(&everything(kind.code).to_string()).expect(kind.code);
            assert_eq!(refusal.facts(), *kind);
            assert_eq!(read(&write(&refusal)), Ok(refusal));
        }
    }

    /// Refusals become problem documents, whose own members are these (RFC 9457).
    #[test]
    fn no_fact_of_a_refusal_hides_a_member_of_its_problem() {
        let facts = everything("ANY");
        for taken in ["type", "title", "status", "detail", "instance"] {
            assert_eq!(facts.get(taken), None, "{taken}");
        }
    }

    #[test]
    fn what_no_script_writes_is_an_error() {
        for json in [
            "{}",
            r#"{"code":"NO_SUCH_CODE"}"#,
            r#"{"code":"INSUFFICIENT_STOCK","pool":"ga"}"#,
            r#"{"code":"EXTENSION_LIMIT","limit":256}"#,
            r#"{"code":"INVALID_STATUS","booking_status":"odd"}"#,
            "nothing",
        ] {
            assert!(read(json).is_err(), "{json}");
        }
    }
}
