//! Where a sale stands, and how its units divide.

use super::ids::TimeMs;
use onrush_core::Time;
use onrush_core::prices::PriceStep;
use onrush_core::settings::Settings;
use onrush_core::view::Units;
use serde::Serialize;
use utoipa::ToSchema;

/// Where a sale stands.
#[derive(ToSchema)]
#[schema(as = Phase, rename_all = "snake_case")]
pub enum PhaseName {
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

/// Whether those who wait can be let in to anything.
#[derive(ToSchema)]
#[schema(as = Admission, rename_all = "snake_case")]
pub enum AdmissionName {
    /// Something is left for whoever is next.
    GoesOn,
    /// All there is may be taken by those inside; what they leave comes back.
    Waits,
    /// Nothing is free, and nobody inside has anything to leave.
    SoldOut,
}

/// What happens to seats whose choice leaves one free seat alone.
#[derive(ToSchema)]
#[schema(as = SingleSeats, rename_all = "snake_case")]
pub enum SingleSeatsName {
    /// They are held.
    Allow,
    /// They are refused where as many seats side by side of their category leave nobody alone.
    Refuse,
}

/// How units divide; the four are all there are.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[schema(as = Units)]
pub struct UnitsBody {
    /// On sale.
    pub free: u32,
    /// In holds.
    pub held: u32,
    /// Confirmed or claimed.
    pub sold: u32,
    /// Off sale.
    pub blocked: u32,
}

impl From<Units> for UnitsBody {
    fn from(Units { free, held, sold, blocked }: Units) -> Self {
        Self { free, held, sold, blocked }
    }
}

/// A price from some time on.
#[derive(Serialize, ToSchema)]
#[schema(as = PriceStep)]
pub struct PriceStepBody {
    /// From when on.
    #[schema(value_type = TimeMs)]
    from: Time,
    /// What one unit costs then before fees, in minor units.
    price_minor: i64,
    /// The same with the percentage fee on it.
    all_in_minor: i64,
}

impl PriceStepBody {
    /// All of these, with what people pay.
    #[must_use]
    pub fn all(steps: &[PriceStep], settings: &Settings) -> Vec<Self> {
        let body = |&PriceStep { from, price_minor }: &PriceStep| Self {
            from,
            price_minor,
            all_in_minor: settings.all_in_minor(price_minor),
        };
        steps.iter().map(body).collect()
    }
}
