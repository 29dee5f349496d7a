//! Ways back to what somebody owns: which links of bookings still count, and codes that carry a
//! visitor to another device.

use onrush_core::Time;
use onrush_core::ids::UserId;

/// A code that carries a visitor to another device, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarryCode {
    /// A keyed hash of the code: the ledger never knows the code itself.
    pub hash: [u8; 32],
    /// Whom it carries.
    pub user: UserId,
    /// It counts before this time only.
    pub expires_at: Time,
}
