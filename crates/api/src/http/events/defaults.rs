//! What a new event has where its organiser says nothing.

use super::shapes::room::RoomBody;
use crate::http::body::Json;
use crate::http::caller::Operator;
use crate::http::openapi::ReadProblems;
use crate::http::problem::Problem;
use crate::json::sale::SingleSeatsName;
use onrush_core::settings::{RoomSettings, Settings, SingleSeats};
use serde::Serialize;
use utoipa::ToSchema;

/// What a new event has where its organiser says nothing.
#[derive(Serialize, ToSchema)]
pub struct EventDefaults {
    hold_ttl_ms: i64,
    hold_max_ms: i64,
    payment_window_ms: i64,
    payment_attempts: u8,
    extensions: u8,
    /// Missing if there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    max_per_user: Option<u32>,
    /// Missing if visitors may claim for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    claim_ttl_max_ms: Option<i64>,
    #[schema(value_type = SingleSeatsName)]
    single_seats: SingleSeats,
    /// What a waiting room has; an event has none unless it is asked for.
    room: RoomBody,
}

impl EventDefaults {
    fn new() -> Self {
        // Title and currency have no defaults, and change none.
        let currency = "EUR".parse().expect("it is a currency");
        let settings = Settings::new("", currency);
        Self {
            hold_ttl_ms: settings.hold_ttl_ms,
            hold_max_ms: settings.hold_max_ms,
            payment_window_ms: settings.payment_window_ms,
            payment_attempts: settings.payment_attempts,
            extensions: settings.extensions,
            max_per_user: settings.max_per_user,
            claim_ttl_max_ms: settings.claim_ttl_max_ms,
            single_seats: settings.single_seats,
            room: RoomBody::new(&RoomSettings::default()),
        }
    }
}

/// What a new event has where its organiser says nothing.
#[utoipa::path(
    get, path = "/api/v1/admin/event-defaults", tag = "admin",
    responses((status = 200, description = "The defaults", body = EventDefaults), ReadProblems),
)]
pub async fn event_defaults(_: Operator) -> Result<Json<EventDefaults>, Problem> {
    Ok(Json(EventDefaults::new()))
}

#[cfg(test)]
mod tests {
    use super::EventDefaults;
    use serde_json::json;

    #[test]
    fn defaults_are_those_of_the_rules() {
        let expected = json!({"hold_ttl_ms": 600_000, "hold_max_ms": 1_800_000,
            "payment_window_ms": 600_000, "payment_attempts": 3, "extensions": 1,
            "max_per_user": 8, "claim_ttl_max_ms": 86_400_000, "single_seats": "allow",
            "room": {"capacity": 1_000, "session_ms": 600_000, "place_ttl_ms": 1_800_000,
                "arrive_ms": 120_000, "max_queue_size": 1_000_000, "places_per_user": 1,
                "units_per_visitor": 1,
                "order": "fifo"}});
        assert_eq!(serde_json::to_value(EventDefaults::new()).unwrap(), expected);
    }
}
