//! What is asked about claims.

use super::settings::{check_reason, invalid};
use super::{Answer, Oracle};
use onrush_core::change::{ClaimChange, DeclaimedHow};
use onrush_core::ids::{ClaimId, PoolId, UserId};
use onrush_core::prices::Priced;
use onrush_core::spec::Reason;
use onrush_core::view::{ClaimState, ClaimView, Reply};
use onrush_core::{Refusal, Time};

impl Oracle {
    pub(super) fn claim(
        &mut self,
        at: Time,
        id: &ClaimId,
        user: &UserId,
        pool: &PoolId,
        quantity: u32,
        ttl_ms: Option<i64>,
    ) -> Answer {
        if ttl_ms.is_some_and(|ms| !(1..=366 * 86_400_000).contains(&ms)) {
            return Err(invalid(Some("ttl_ms")));
        }
        if quantity == 0 || quantity > 1_000 {
            return Err(Refusal::InvalidQuantity);
        }
        let amount = i64::from(quantity);
        if let Some(known) = self.claims.get(id) {
            let same =
                known.user.as_ref() == Some(user) && known.pool == *pool && known.amount == amount;
            if !same {
                return Err(Refusal::BookingMismatch);
            }
            // Whatever became of it since: the first answer.
            let state = ClaimState::Claimed { until: known.first_until };
            return Ok(Reply::Claim(ClaimView { state, ..known.clone() }));
        }
        let Some(found) = self.pool(pool) else {
            return Err(Refusal::ZoneNotFound { pool: pool.clone() });
        };
        let (free, price_minor) = (found.free(), self.price_unnamed(&Priced::Pool(pool.clone())));
        let before = found.all_claimed();
        self.may_take(at, user)?;
        if quantity > free {
            return Err(Refusal::ClaimExceedsQuantity { free });
        }
        self.within_limit(user, quantity)?;
        self.within_limits_of_claim(user, &Priced::Pool(pool.clone()), quantity)?;
        self.few_ended(user)?;
        if price_minor > 0 {
            return Err(Refusal::PaymentRequired { amount_minor: price_minor * amount });
        }
        let ttl_ms = match (ttl_ms, self.settings().claim_ttl_max_ms) {
            (Some(wished), Some(most)) => Some(wished.min(most)),
            (one, other) => one.or(other),
        };
        let until = ttl_ms.map(|ms| at.plus_ms(ms));
        let after = before + quantity;
        self.show_up(user);
        self.pool_mut(pool).claimed += quantity;
        self.add_units(user, quantity);
        let (claim, owner, pool) = (id.clone(), user.clone(), pool.clone());
        self.change(ClaimChange::Claimed {
            claim: claim.clone(),
            user: owner.clone(),
            pool: pool.clone(),
            quantity,
            until,
            before,
            after,
        });
        let view = ClaimView {
            claim,
            user: Some(owner),
            pool,
            amount,
            before,
            after,
            first_until: until,
            state: ClaimState::Claimed { until },
        };
        self.claims.insert(id.clone(), view.clone());
        Ok(Reply::Claim(view))
    }

    pub(super) fn declaim(&mut self, at: Time, id: &ClaimId, user: &UserId) -> Answer {
        let known = self.claims.get(id).filter(|claim| claim.user.as_ref() == Some(user));
        let known = known.ok_or(Refusal::ClaimNotFound)?;
        match known.state {
            ClaimState::Claimed { until: Some(until) } if at >= until => {
                self.end_claim(at, id, DeclaimedHow::Expired);
            }
            ClaimState::Claimed { .. } => self.end_claim(at, id, DeclaimedHow::Returned),
            ClaimState::Returned { .. }
            | ClaimState::Expired { .. }
            | ClaimState::Adjusted { .. } => {}
        }
        Ok(Reply::Claim(self.claims[id].clone()))
    }

    /// A visitor's claim comes back.
    pub(super) fn end_claim(&mut self, at: Time, id: &ClaimId, how: DeclaimedHow) {
        let claim = self.claims.get_mut(id).expect("the claim was looked up before");
        claim.state = match how {
            DeclaimedHow::Returned => ClaimState::Returned { at },
            DeclaimedHow::Expired => ClaimState::Expired { at },
        };
        let (pool, user) = (claim.pool.clone(), claim.user.clone());
        let quantity = u32::try_from(claim.amount).unwrap_or(0);
        let found = self.pool_mut(&pool);
        let before = found.all_claimed();
        found.claimed -= quantity;
        let after = found.all_claimed();
        if let Some(user) = user {
            self.drop_units(&user, quantity);
        }
        self.change(ClaimChange::Declaimed { claim: id.clone(), how, before, after });
    }

    pub(super) fn adjust_claimed(
        &mut self,
        at: Time,
        id: &ClaimId,
        pool: &PoolId,
        amount: i64,
        reason: &Reason,
    ) -> Answer {
        check_reason(&reason.by, &reason.why)?;
        if amount == 0 || !(-1_000_000_000..=1_000_000_000).contains(&amount) {
            return Err(Refusal::InvalidQuantity);
        }
        if let Some(known) = self.claims.get(id) {
            let same = known.user.is_none() && known.pool == *pool && known.amount == amount;
            let reply = || Reply::Claim(known.clone());
            return if same { Ok(reply()) } else { Err(Refusal::BookingMismatch) };
        }
        let Some(found) = self.pool(pool) else {
            return Err(Refusal::ZoneNotFound { pool: pool.clone() });
        };
        let (free, claimed, before) = (found.free(), found.by_services, found.all_claimed());
        if amount > i64::from(free) {
            return Err(Refusal::ClaimExceedsQuantity { free });
        }
        if i64::from(claimed) + amount < 0 {
            return Err(Refusal::ClaimBelowZero { claimed });
        }
        let by_services = u32::try_from(i64::from(claimed) + amount).unwrap_or(0);
        self.pool_mut(pool).by_services = by_services;
        let after = before - claimed + by_services;
        let view = ClaimView {
            claim: id.clone(),
            user: None,
            pool: pool.clone(),
            amount,
            before,
            after,
            first_until: None,
            state: ClaimState::Adjusted { at },
        };
        self.claims.insert(id.clone(), view.clone());
        let (claim, pool, reason) = (id.clone(), pool.clone(), reason.clone());
        self.change(ClaimChange::ClaimedAdjusted { claim, pool, amount, before, after, reason });
        Ok(Reply::Claim(view))
    }
}
