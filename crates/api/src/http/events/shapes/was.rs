//! Settings as they were read, so that what somebody else changed since is not taken back.

use super::change::given;
use super::limits::UserLimitBody;
use super::money::{FeesBody, TaxBody};
use crate::http::problem::{Code, Problem};
use crate::json::ids::TimeMs;
use crate::json::object::Object;
use crate::json::whole::Whole;
use onrush_core::settings::{RefundRule, Settings};
use onrush_core::{Refusal, Time};
use serde::Deserialize;
use utoipa::ToSchema;

/// Settings that are replaced as a whole, as the event told them; `null` where it told none. What is
/// left out is replaced whatever it is by now.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsWas {
    /// What a booking costs beside its units.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<FeesBody>)]
    fees: Option<Option<Object<FeesBody>>>,
    /// The tax that prices and fees include.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<TaxBody>)]
    tax: Option<Option<Object<TaxBody>>>,
    /// What a buyer gets back who cancels.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<RefundRuleWas>>, max_items = 20)]
    refunds: Option<Option<Vec<Object<RefundRuleWas>>>>,
    /// How much one user may have of pools, categories and their ticket types.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<UserLimitBody>>, max_items = 100)]
    limits: Option<Option<Vec<Object<UserLimitBody>>>>,
}

/// What a buyer gets back who cancels early enough, as the event told it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RefundRuleWas {
    /// Full days before `starts_at`, at least.
    #[schema(value_type = u16)]
    days_before: Whole<u16>,
    /// How much of the units' price, in percent; fees are kept.
    #[schema(value_type = u8, maximum = 100)]
    percent: Whole<u8>,
    /// Read over: it follows from `starts_at`.
    #[serde(default)]
    #[schema(value_type = Option<TimeMs>, nullable = false)]
    until: Whole<i64>,
}

impl SettingsWas {
    /// Checks that each setting that is to be another is still as it was read.
    ///
    /// What is as it is to be already was changed by the same request, whose answer was not heard.
    ///
    /// # Errors
    /// `SETTINGS_CHANGED` about the first one that is neither; `INVALID_SETTINGS` about one that no
    /// event has.
    pub fn check(self, now: &Settings, to_be: &Settings) -> Result<(), Problem> {
        let Self { fees, tax, refunds, limits } = self;
        let fees = fees.map(Option::unwrap_or_default).map(|Object(fees)| fees.fees());
        let tax = tax.map(|tax| tax.map(|Object(tax)| tax.tax()));
        let refunds = refunds.map(Option::unwrap_or_default).map(RefundRuleWas::rules);
        let limits = limits.map(Option::unwrap_or_default).map(UserLimitBody::limits);
        // Nobody can have read what no event has. How the event stands otherwise says nothing of that.
        let read = Settings {
            fees: fees.unwrap_or_default(),
            tax: tax.clone().flatten(),
            refunds: refunds.clone().unwrap_or_default(),
            limits: limits.clone().unwrap_or_default(),
            // Refunds count the days before it.
            starts_at: Some(Time(0)),
            ..Settings::new("as read", now.currency)
        };
        if let Some(complaint) = read.complaint() {
            return Err(Refusal::from(complaint).into());
        }
        let looks = [
            ("fees", is_another(fees, &now.fees, &to_be.fees)),
            ("tax", is_another(tax, &now.tax, &to_be.tax)),
            ("refunds", is_another(refunds, &now.refunds, &to_be.refunds)),
            ("limits", is_another(limits, &now.limits, &to_be.limits)),
        ];
        match looks.into_iter().find(|(_, is_another)| *is_another) {
            Some((field, _)) => {
                let why = "somebody else changed this setting since it was read; nothing was changed \
                    now: read it again, and change what it is";
                Err(Problem::new(Code::SettingsChanged, why).about(field))
            }
            None => Ok(()),
        }
    }
}

/// Whether a setting is neither as it was read, if that is told, nor as it is to be.
fn is_another<T: PartialEq>(was: Option<T>, now: &T, to_be: &T) -> bool {
    was.is_some_and(|was| was != *now && *now != *to_be)
}

impl RefundRuleWas {
    fn rules(rules: Vec<Object<Self>>) -> Vec<RefundRule> {
        let rule = |Object(Self { days_before, percent, until: Whole(_read_over) })| RefundRule {
            days_before: days_before.0,
            percent: percent.0,
        };
        rules.into_iter().map(rule).collect()
    }
}
