//! Money: gateways take it, and the driver of sagas sees every payment through.
//!
//! ```text
//! visitor ── pay ──► start ─┐                         ┌─► engine   (BeginPayment, Confirm, FailPayment)
//! gateway ── webhook ► notice ─► driver ── todo ──────┼─► gateway  (create, status, cancel, refund)
//! feed ────► follower ► ledger ► recovery ─┘  ▲       └─► ledger   (before and after each of them)
//! operator ──────────────────────────────────-┘
//!             ledger ► clerk ► ledger                     (receipts of what was paid, credit notes)
//! ```
//!
//! What to do next follows from the ledger's row alone, so that after a crash the driver goes on
//! where it was.

mod capture;
mod clerk;
mod desk;
mod draft;
mod driver;
mod earlier;
#[cfg(test)]
mod engine_stub;
mod follower;
pub mod gateway;
mod hold;
pub mod kill;
mod locks;
mod look;
mod lost;
mod notice;
mod operator;
#[cfg(test)]
mod outage;
pub mod pairing;
mod payers;
mod reach;
mod receipts;
mod recovery;
mod refunds;
mod retention;
mod rows;
mod sagas;
mod start;
mod steps;
mod tasks;
mod wake;

pub use clerk::Issuer;
pub use desk::sentence as desk_sentence;
pub use look::DriveError;
pub use notice::NoticeError;
pub use operator::Action;
pub use payers::Begins;
pub use refunds::is_buyers_return;
pub use sagas::{Counts, SagaDeps, Sagas};
pub use start::{PaymentRequest, StartError, Started};
