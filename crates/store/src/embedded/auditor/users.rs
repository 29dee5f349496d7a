//! Units that users have by the changes alone, and whether any was given more than they might have.

use onrush_core::ids::UserId;
use onrush_core::settings::Settings;
use std::collections::HashMap;

/// Users of one event.
#[derive(Default)]
pub(super) struct Users {
    /// Of the whole event; those of its parts are not minded.
    limit: Option<u32>,
    /// Held, confirmed and claimed; only of those who have some.
    units: HashMap<UserId, i64>,
}

impl Users {
    /// Minds these settings from now on.
    pub(super) fn set(&mut self, settings: &Settings) {
        self.limit = settings.max_per_user;
    }

    /// A user takes units; what is wrong with it.
    pub(super) fn take(&mut self, user: &UserId, units: i64) -> Option<String> {
        let has = self.add(user, units);
        let limit = self.limit.filter(|limit| has > i64::from(*limit))?;
        Some(format!("user {user} has {has} units, and may have {limit}"))
    }

    /// A user has units more (positive) or fewer (negative); how many they have then.
    pub(super) fn add(&mut self, user: &UserId, units: i64) -> i64 {
        let has = self.units.get(user).copied().unwrap_or_default() + units;
        if has == 0 {
            self.units.remove(user);
        } else {
            self.units.insert(user.clone(), has);
        }
        has
    }
}
