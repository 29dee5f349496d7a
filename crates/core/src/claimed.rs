//! What is claimed: how many units of each pool each user's live claims have.

use crate::ids::{PoolId, UserId};
use hashbrown::HashMap;
use smallvec::SmallVec;

/// Claimed units by user and pool; only users and pools that have any are in it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Claimed {
    /// Most users claim units of one pool.
    of_user: HashMap<UserId, SmallVec<[(PoolId, u32); 1]>, foldhash::fast::FixedState>,
}

impl Claimed {
    /// How many units of a pool the user has claimed.
    pub(crate) fn of(&self, user: &UserId, pool: &PoolId) -> u32 {
        let pools = self.of_user.get(user);
        let found = pools.and_then(|pools| pools.iter().find(|(known, _)| known == pool));
        found.map_or(0, |(_, units)| *units)
    }

    /// Counts some more.
    pub(crate) fn add(&mut self, user: &UserId, pool: &PoolId, more: u32) {
        let pools = self.of_user.entry_ref(user).or_default();
        match pools.binary_search_by(|(known, _)| known.cmp(pool)) {
            Ok(nth) => pools[nth].1 += more,
            Err(nth) => pools.insert(nth, (pool.clone(), more)),
        }
    }

    /// Counts some fewer: they are given back.
    pub(crate) fn give_back(&mut self, user: &UserId, pool: &PoolId, fewer: u32) {
        let pools = self.of_user.get_mut(user).expect("who gives back has claimed");
        let nth = pools.binary_search_by(|(known, _)| known.cmp(pool));
        let nth = nth.expect("what is given back was claimed");
        pools[nth].1 -= fewer;
        if pools[nth].1 == 0 {
            pools.remove(nth);
        }
        if pools.is_empty() {
            self.of_user.remove(user);
        }
    }
}
