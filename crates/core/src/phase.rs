//! Where a sale stands.

use serde::{Deserialize, Serialize};

/// Where a sale stands: `scheduled → prequeue → open ⇄ paused → closed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Nothing is possible yet.
    Scheduled,
    /// People may join.
    Prequeue,
    /// People are admitted and may hold.
    Open,
    /// No admission and no new holds for now.
    Paused,
    /// It is over.
    Closed,
}
