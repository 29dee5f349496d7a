//! Where a sale stands, and how its units divide.

use super::ids::TimeMs;
use super::words::words;
use onrush_core::prices::PriceStep;
use onrush_core::settings::{Settings, SingleSeats};
use onrush_core::view::{AdmissionState, Units};
use onrush_core::{Phase, Time};
use serde::Serialize;
use utoipa::ToSchema;

words!(
    /// Where a sale stands.
    PhaseName, "Phase", Phase
);

words!(
    /// Whether those who wait can be let in to anything.
    AdmissionName, "Admission", AdmissionState
);

words!(
    /// What happens to seats whose choice leaves one free seat alone.
    SingleSeatsName, "SingleSeats", SingleSeats
);

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
