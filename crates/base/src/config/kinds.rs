//! Names of what can be told.

/// A booking is final.
pub const BOOKING_CONFIRMED: &str = "booking_confirmed";
/// A hold ran out.
pub const BOOKING_EXPIRED: &str = "booking_expired";
/// A hold was given back.
pub const BOOKING_RELEASED: &str = "booking_released";
/// A confirmed booking was taken back.
pub const BOOKING_CANCELLED: &str = "booking_cancelled";
/// Money for a confirmed booking went back.
pub const BOOKING_REFUNDED: &str = "booking_refunded";
/// A payment failed; the hold waits for another.
pub const PAYMENT_FAILED: &str = "payment_failed";
/// Money that came too late went back.
pub const PAYMENT_LATE_REFUNDED: &str = "payment_late_refunded";
/// Somebody was let in.
pub const TICKET_CHECKED_IN: &str = "ticket_checked_in";

/// Money went back at the gateway's own desk.
pub const PAYMENT_REFUNDED_AT_DESK: &str = "payment_refunded_at_desk";
/// A buyer's bank disputes a payment, or that is decided.
pub const PAYMENT_DISPUTED: &str = "payment_disputed";
/// The same order was paid a second time.
pub const PAYMENT_PAID_TWICE: &str = "payment_paid_twice";

/// Everything that webhooks can be told.
pub const KINDS: [&str; 11] = [
    BOOKING_CONFIRMED,
    BOOKING_EXPIRED,
    BOOKING_RELEASED,
    BOOKING_CANCELLED,
    BOOKING_REFUNDED,
    PAYMENT_FAILED,
    PAYMENT_LATE_REFUNDED,
    TICKET_CHECKED_IN,
    PAYMENT_REFUNDED_AT_DESK,
    PAYMENT_DISPUTED,
    PAYMENT_PAID_TWICE,
];

/// What buyers get a mail about.
pub const MAIL_KINDS: [&str; 5] = [
    BOOKING_CONFIRMED,
    BOOKING_EXPIRED,
    BOOKING_CANCELLED,
    BOOKING_REFUNDED,
    PAYMENT_LATE_REFUNDED,
];
