//! Which kind of request it is, for those who count: told by the path, at the cost of a few comparisons.

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    /// Guest tokens, and tickets that open streams.
    Visitors,
    /// Events, their plans, seats and prices.
    Catalogue,
    /// Places in the queue.
    Queue,
    /// Holds: the beginning of a booking.
    Holds,
    /// Units that are claimed.
    Claims,
    /// Bookings and what becomes of them; payments begin here.
    Bookings,
    /// What gateways tell.
    Webhooks,
    /// Tickets at the door.
    Door,
    /// Live streams: how long until they open.
    Streams,
    /// Organisers.
    Admin,
    /// Pages, documents, health, the inherited paths and what is not there.
    Other,
}

impl Group {
    /// What a path belongs to.
    #[must_use]
    pub fn of(path: &str) -> Self {
        let Some(below) = path.strip_prefix("/api/v1/") else { return Self::Other };
        let (first, rest) = below.split_once('/').unwrap_or((below, ""));
        match first {
            "events" => Self::of_event(rest.split_once('/').map_or("", |(_, rest)| rest)),
            "bookings" => Self::Bookings,
            "visitors" | "stream-tickets" => Self::Visitors,
            "claims" => Self::Claims,
            "payments" => Self::Webhooks,
            "check-in" => Self::Door,
            "admin" if rest.ends_with("/live") => Self::Streams,
            "admin" | "session" => Self::Admin,
            _ => Self::Other,
        }
    }

    /// What is below an event belongs to.
    fn of_event(rest: &str) -> Self {
        match rest {
            "bookings" => Self::Holds,
            "queue" | "queue/arrive" | "pace" => Self::Queue,
            "stream" | "ws" => Self::Streams,
            "revoked-tickets" => Self::Door,
            rest if rest.starts_with("pools/") => Self::Claims,
            _ => Self::Catalogue,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_belongs_to_one_kind() {
        for (path, group) in [
            ("/api/v1/events/gala/bookings", Group::Holds),
            ("/api/v1/events/gala/queue", Group::Queue),
            ("/api/v1/events/gala/queue/arrive", Group::Queue),
            ("/api/v1/events/gala/pools/vip/claims", Group::Claims),
            ("/api/v1/events/gala/ws", Group::Streams),
            ("/api/v1/events/gala/seats/status", Group::Catalogue),
            ("/api/v1/events/bookings", Group::Catalogue),
            ("/api/v1/events", Group::Catalogue),
            ("/api/v1/bookings/b.1/payment", Group::Bookings),
            ("/api/v1/payments/webhook/stripe", Group::Webhooks),
            ("/api/v1/check-in", Group::Door),
            ("/api/v1/admin/events/gala/live", Group::Streams),
            ("/api/v1/admin/sagas", Group::Admin),
            ("/api/v1/visitors/renew", Group::Visitors),
            ("/api/v1", Group::Other),
            ("/", Group::Other),
        ] {
            assert_eq!(Group::of(path), group, "{path}");
        }
    }
}
