//! Claims: units taken at once and for good, and services' adjustments of them.

use crate::arena::{Idx, Keyed, Table};
use crate::claimed::Claimed;
use crate::ended::Ended;
use crate::ids::{ClaimId, PoolId, UserId};
use crate::limits::ENDED_KNOWN_MS;
use crate::time::Time;
use crate::view::{ClaimState, ClaimView};
use std::collections::BTreeSet;

impl Keyed for ClaimView {
    fn key(&self) -> &str {
        self.claim.as_str()
    }
}

impl ClaimView {
    /// Whose live claim it is, and how many units it has.
    fn claimed(&self) -> Option<(&UserId, u32)> {
        match self.state {
            ClaimState::Claimed { .. } => {
                let units = u32::try_from(self.amount).expect("a visitor claims some units");
                Some((self.user.as_ref()?, units))
            }
            ClaimState::Returned { .. }
            | ClaimState::Expired { .. }
            | ClaimState::Adjusted { .. } => None,
        }
    }
}

impl ClaimState {
    fn until(self) -> Option<Time> {
        match self {
            Self::Claimed { until } => until,
            Self::Returned { .. } | Self::Expired { .. } | Self::Adjusted { .. } => None,
        }
    }

    fn forget_at(self) -> Option<Time> {
        match self {
            Self::Claimed { .. } => None,
            Self::Returned { at } | Self::Expired { at } | Self::Adjusted { at } => {
                Some(at.plus_ms(ENDED_KNOWN_MS))
            }
        }
    }
}

/// All claims and adjustments of one event that are still known.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    table: Table<ClaimView>,
    expiries: BTreeSet<(Time, ClaimId)>,
    forgets: BTreeSet<(Time, ClaimId)>,
    ended: Ended,
    claimed: Claimed,
}

impl Claims {
    pub(crate) fn get(&self, claim: &ClaimId) -> Option<&ClaimView> {
        self.table.get(claim.as_str())
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// The claim that expires next, and when.
    pub(crate) fn next_expiry(&self) -> Option<&(Time, ClaimId)> {
        self.expiries.first()
    }

    /// The ended claim that may be forgotten next, and when.
    pub(crate) fn next_forget(&self) -> Option<&(Time, ClaimId)> {
        self.forgets.first()
    }

    /// How many of a user's claims have ended and are still known.
    pub(crate) fn ended_of(&self, user: &UserId) -> u32 {
        self.ended.of(user)
    }

    /// How many units of a pool a user's live claims have.
    pub(crate) fn units_of(&self, user: &UserId, pool: &PoolId) -> u32 {
        self.claimed.of(user, pool)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ClaimView> {
        self.table.iter().map(|(_, claim)| claim)
    }

    pub(crate) fn insert(&mut self, claim: ClaimView) {
        let idx = self.table.insert(claim);
        self.enter(idx);
    }

    /// Gives a claim that is known to exist a new state.
    pub(crate) fn set_state(&mut self, claim: &ClaimId, state: ClaimState) {
        let idx = self.find(claim);
        self.take_out(idx);
        self.table[idx].state = state;
        self.enter(idx);
    }

    pub(crate) fn remove(&mut self, claim: &ClaimId) {
        let idx = self.find(claim);
        self.take_out(idx);
        self.table.remove(idx);
    }

    /// Moves live claims on by the time the engine was away.
    pub(crate) fn move_on(&mut self, gap_ms: i64) {
        for claim in self.table.iter_mut() {
            if let ClaimState::Claimed { until: Some(until) } = &mut claim.state {
                *until = until.plus_ms(gap_ms);
            }
        }
        self.expiries = std::mem::take(&mut self.expiries)
            .into_iter()
            .map(|(at, claim)| (at.plus_ms(gap_ms), claim))
            .collect();
    }

    fn find(&self, claim: &ClaimId) -> Idx {
        self.table.find(claim.as_str()).expect("changes name only claims that exist")
    }

    /// Takes note of the deadline it has now, and counts it for its user.
    fn enter(&mut self, idx: Idx) {
        let claim = &self.table[idx];
        if let Some((user, units)) = claim.claimed() {
            self.claimed.add(user, &claim.pool, units);
        }
        if let Some(at) = claim.state.until() {
            self.expiries.insert((at, claim.claim.clone()));
        } else if let Some(at) = claim.state.forget_at() {
            self.forgets.insert((at, claim.claim.clone()));
            claim.user.iter().for_each(|user| self.ended.add(user));
        }
    }

    /// The opposite.
    fn take_out(&mut self, idx: Idx) {
        let claim = &self.table[idx];
        if let Some((user, units)) = claim.claimed() {
            self.claimed.give_back(user, &claim.pool, units);
        }
        if let Some(at) = claim.state.until() {
            self.expiries.remove(&(at, claim.claim.clone()));
        } else if let Some(at) = claim.state.forget_at() {
            self.forgets.remove(&(at, claim.claim.clone()));
            claim.user.iter().for_each(|user| self.ended.forget(user));
        }
    }

    pub(crate) fn check(&self, broken: &mut Vec<String>) {
        let expiring = self.iter().filter(|claim| claim.state.until().is_some()).count();
        let ended = self.iter().filter(|claim| claim.state.forget_at().is_some()).count();
        if expiring != self.expiries.len() || ended != self.forgets.len() {
            broken.push("claims: every claim has its deadline, and no other has".to_owned());
        }
        let of_users =
            |claim: &&ClaimView| claim.state.forget_at().is_some() && claim.user.is_some();
        if self.iter().filter(of_users).count() != self.ended.total() {
            broken.push("claims: ended ones are counted for their users".to_owned());
        }
        let mut claimed = Claimed::default();
        for claim in self.iter() {
            if let Some((user, units)) = claim.claimed() {
                claimed.add(user, &claim.pool, units);
            }
        }
        if claimed != self.claimed {
            broken.push("claims: live ones are counted for their users, by pool".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::tests::{complains, sale};

    fn at(claim: &str) -> (Time, ClaimId) {
        (Time(5), claim.parse().unwrap())
    }

    #[test]
    fn deadlines_and_counts_that_are_not_those_of_the_claims_are_noticed() {
        let deadlines = "claims: every claim has its deadline, and no other has";
        // One of both kinds is wrong, and the other is right.
        complains(sale(), deadlines, |it| assert!(it.claims.expiries.insert(at("c9"))));
        complains(sale(), deadlines, |it| it.claims.forgets.clear());
        complains(sale(), deadlines, |it| assert!(it.claims.forgets.insert(at("c9"))));
        let ended = "claims: ended ones are counted for their users";
        complains(sale(), ended, |it| it.claims.ended.add(&"ann".parse().unwrap()));
        let live = "claims: live ones are counted for their users, by pool";
        complains(sale(), live, |it| it.claims.claimed = Claimed::default());
    }
}
