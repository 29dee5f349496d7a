//! Fees, taxes, and refunds for who cancels.

use crate::json::ids::{TaxNameText, TimeMs};
use crate::json::object::Object;
use crate::json::whole::Whole;
use onrush_core::Time;
use onrush_core::settings::{Fees, RefundRule, Settings};
use onrush_core::tax::{Tax, Taxed};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a booking costs beside its units; what is left out is 0.
#[derive(Clone, Copy, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Fees)]
pub struct FeesBody {
    /// For each booking, in minor units.
    #[serde(default)]
    #[schema(value_type = i64, minimum = 0, maximum = 1_000_000_000_000_i64)]
    fixed_minor: Whole<i64>,
    /// Of the units' price, in basis points: 250 is 2.5 %.
    #[serde(default)]
    #[schema(value_type = u32, maximum = 10_000)]
    percent_bp: Whole<u32>,
}

impl FeesBody {
    /// What is shown of fees; nothing if there are none.
    #[must_use]
    pub fn shown(fees: &Fees) -> Option<Self> {
        let Fees { fixed_minor, percent_bp } = *fees;
        let body = Self { fixed_minor: Whole(fixed_minor), percent_bp: Whole(percent_bp) };
        (*fees != Fees::default()).then_some(body)
    }

    pub(super) fn fees(self) -> Fees {
        Fees { fixed_minor: self.fixed_minor.0, percent_bp: self.percent_bp.0 }
    }
}

/// The tax that prices and fees include.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Tax)]
pub struct TaxBody {
    /// What buyers know it by.
    #[schema(value_type = TaxNameText)]
    name: Box<str>,
    /// The rate on the net amount, in basis points: 1900 is 19 %.
    #[schema(value_type = u32, maximum = 10_000)]
    rate_bp: Whole<u32>,
}

impl TaxBody {
    /// What is shown of a tax.
    #[must_use]
    pub fn shown(tax: Tax) -> Self {
        let Tax { name, rate_bp } = tax;
        Self { name, rate_bp: Whole(rate_bp) }
    }

    pub(super) fn tax(self) -> Tax {
        Tax { name: self.name, rate_bp: self.rate_bp.0 }
    }
}

/// How much of an amount is tax: `net_minor` and `tax_minor` add up to it.
#[derive(Serialize, ToSchema)]
pub struct TaxOf {
    /// What buyers know it by.
    #[schema(value_type = TaxNameText)]
    pub name: Box<str>,
    /// The rate on the net amount, in basis points: 1900 is 19 %.
    pub rate_bp: u32,
    /// The amount without it, in minor units.
    pub net_minor: i64,
    /// The tax, in minor units.
    pub tax_minor: i64,
}

impl TaxOf {
    /// The tax in an amount of an event; nothing where the event tells of none.
    #[must_use]
    pub fn amount(settings: &Settings, amount_minor: i64) -> Option<Self> {
        let Tax { name, rate_bp } = settings.tax.clone()?;
        let Taxed { gross_minor: _, net_minor, tax_minor } = settings.taxed(amount_minor)?;
        Some(Self { name, rate_bp, net_minor, tax_minor })
    }
}

/// What a buyer gets back who cancels early enough.
#[derive(Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = RefundRule)]
pub struct RefundRuleBody {
    /// Full days before `starts_at`, at least.
    #[schema(value_type = u16)]
    days_before: Whole<u16>,
    /// How much of the units' price, in percent; fees are kept.
    #[schema(value_type = u8, maximum = 100)]
    percent: Whole<u8>,
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
        let rule = |Object(Self { days_before, percent })| RefundRule {
            days_before: days_before.0,
            percent: percent.0,
        };
        rules.into_iter().map(rule).collect()
    }
}
