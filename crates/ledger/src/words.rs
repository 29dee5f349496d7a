//! The words that stand in columns, and what they mean.

use crate::desk::{DeskKind, DeskStatus};
use crate::money::{Capture, OnDecline, RefundCause, RefundStatus};
use onrush_core::hold::HoldStatus;
use onrush_core::saga::{Stage, Step};

/// Something that stands in a column as one of a few words.
pub(crate) trait Word: Copy + Sized + 'static {
    /// All there are.
    const ALL: &'static [Self];

    /// The word.
    fn word(self) -> &'static str;

    /// What the word means.
    fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.word() == word)
    }
}

impl Word for Step {
    const ALL: &'static [Self] = &[
        Self::ReserveSent,
        Self::ReserveOk,
        Self::PaymentSent,
        Self::PaymentOk,
        Self::Confirmed,
        Self::Compensating,
        Self::Failed,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::ReserveSent => "RESERVE_SENT",
            Self::ReserveOk => "RESERVE_OK",
            Self::PaymentSent => "PAYMENT_SENT",
            Self::PaymentOk => "PAYMENT_OK",
            Self::Confirmed => "CONFIRMED",
            Self::Compensating => "COMPENSATING",
            Self::Failed => "FAILED",
        }
    }
}

impl Word for Stage {
    const ALL: &'static [Self] = &[
        Self::Creating,
        Self::Open,
        Self::Authorised,
        Self::Capturing,
        Self::Closing,
        Self::Closed,
        Self::Void,
        Self::Captured,
        Self::Refunding,
        Self::Returned,
        Self::Refunded,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Open => "open",
            Self::Authorised => "authorised",
            Self::Capturing => "capturing",
            Self::Closing => "closing",
            Self::Closed => "closed",
            Self::Void => "void",
            Self::Captured => "captured",
            Self::Refunding => "refunding",
            Self::Returned => "returned",
            Self::Refunded => "refunded",
        }
    }
}

impl Word for HoldStatus {
    const ALL: &'static [Self] = &Self::ALL;

    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Word for OnDecline {
    const ALL: &'static [Self] = &[Self::Keep, Self::Release];

    fn word(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Release => "release",
        }
    }
}

impl Word for Capture {
    const ALL: &'static [Self] = &[Self::AtOnce, Self::Later];

    fn word(self) -> &'static str {
        match self {
            Self::AtOnce => "at_once",
            Self::Later => "later",
        }
    }
}

impl Word for RefundCause {
    const ALL: &'static [Self] = &Self::ALL;

    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl Word for RefundStatus {
    const ALL: &'static [Self] = &[Self::Requested, Self::Sent, Self::Done, Self::Failed];

    fn word(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::Sent => "sent",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

impl Word for DeskKind {
    const ALL: &'static [Self] = &[Self::Refund, Self::Dispute, Self::SecondPayment];

    fn word(self) -> &'static str {
        match self {
            Self::Refund => "refund",
            Self::Dispute => "dispute",
            Self::SecondPayment => "second_payment",
        }
    }
}

impl Word for DeskStatus {
    const ALL: &'static [Self] = &[Self::Open, Self::Moved, Self::Stayed];

    fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Moved => "moved",
            Self::Stayed => "stayed",
        }
    }
}
