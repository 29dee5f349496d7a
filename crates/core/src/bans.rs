//! Bans: visitors whom the organiser keeps out of an event.

use crate::ids::UserId;
use crate::spec::Reason;
use crate::time::Time;
use crate::view::BanView;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Who is banned, by user id.
#[derive(Debug, Default)]
pub(crate) struct Bans {
    by_user: BTreeMap<UserId, (Reason, Time)>,
}

impl Bans {
    pub(crate) fn has(&self, user: &UserId) -> bool {
        self.by_user.contains_key(user)
    }

    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.by_user.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn add(&mut self, ban: BanView) {
        let known = self.by_user.insert(ban.user, (ban.reason, ban.at));
        assert!(known.is_none(), "a visitor is banned once");
    }

    pub(crate) fn remove(&mut self, user: &UserId) {
        let known = self.by_user.remove(user);
        assert!(known.is_some(), "only who is banned is unbanned");
    }

    /// All of them after this user.
    pub(crate) fn after<'a>(
        &'a self,
        after: Option<&'a UserId>,
    ) -> impl Iterator<Item = BanView> + 'a {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_user.range::<UserId, _>((from, Bound::Unbounded)).map(|(user, (reason, at))| {
            BanView { user: user.clone(), reason: reason.clone(), at: *at }
        })
    }
}
