//! Fees, and refunds for who cancels.

use crate::json::ids::TimeMs;
use crate::json::object::Object;
use onrush_core::Time;
use onrush_core::settings::{Fees, RefundRule, Settings};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a booking costs beside its units; what is left out is 0.
#[derive(Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Fees)]
pub struct FeesBody {
    /// For each booking, in minor units.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    fixed_minor: i64,
    /// Of the units' price, in basis points: 250 is 2.5 %.
    #[serde(default)]
    #[schema(maximum = 10_000)]
    percent_bp: u32,
}

impl FeesBody {
    /// What is shown of fees; nothing if there are none.
    #[must_use]
    pub fn shown(fees: &Fees) -> Option<Self> {
        let Fees { fixed_minor, percent_bp } = *fees;
        (*fees != Fees::default()).then_some(Self { fixed_minor, percent_bp })
    }

    pub(super) fn fees(self) -> Fees {
        Fees { fixed_minor: self.fixed_minor, percent_bp: self.percent_bp }
    }
}

/// What a buyer gets back who cancels early enough.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RefundRule)]
pub struct RefundRuleBody {
    /// Full days before `starts_at`, at least.
    days_before: u16,
    /// How much of the units' price, in percent; fees are kept.
    #[schema(maximum = 100)]
    percent: u8,
}

/// A rule about refunds, and until when it counts.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[schema(as = RefundTerm)]
pub struct RefundTermBody {
    /// Full days before `starts_at`, at least.
    days_before: u16,
    /// How much of the units' price, in percent; fees are kept.
    #[schema(maximum = 100)]
    percent: u8,
    /// The last moment at which it counts; missing where `starts_at` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    until: Option<Time>,
}

impl RefundTermBody {
    /// What is shown of the rules.
    #[must_use]
    pub fn shown(settings: &Settings) -> Vec<Self> {
        let shown = |rule: &RefundRule| Self {
            days_before: rule.days_before,
            percent: rule.percent,
            until: settings.starts_at.map(|starts_at| rule.until(starts_at)),
        };
        settings.refunds.iter().map(shown).collect()
    }
}

impl RefundRuleBody {
    pub(super) fn rules(rules: Vec<Object<Self>>) -> Vec<RefundRule> {
        let rule = |Object(Self { days_before, percent })| RefundRule { days_before, percent };
        rules.into_iter().map(rule).collect()
    }
}
