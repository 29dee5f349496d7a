//! What is asked about claims.

use super::decide_organiser::check_reason;
use super::{Changes, Decision, Event};
use crate::change::{ClaimChange, DeclaimedHow};
use crate::ids::{ClaimId, PoolId, UserId};
use crate::limits::{MAX_DURATION_MS, MAX_POOL_CAPACITY, MAX_UNITS_PER_HOLD};
use crate::refusal::Refusal;
use crate::spec::Reason;
use crate::time::Time;
use crate::view::{ClaimState, ClaimView, Reply};

impl Event {
    pub(super) fn decide_claim(
        &self,
        at: Time,
        claim: &ClaimId,
        user: &UserId,
        pool: &PoolId,
        quantity: u32,
        ttl_ms: Option<i64>,
    ) -> Result<Decision, Refusal> {
        if ttl_ms.is_some_and(|ttl_ms| !(1..=MAX_DURATION_MS).contains(&ttl_ms)) {
            return Err(Refusal::InvalidSettings {
                field: Some("ttl_ms".into()),
                why: "ttl_ms: use 1 ms to 366 days".into(),
            });
        }
        if !(1..=MAX_UNITS_PER_HOLD).contains(&quantity) {
            return Err(Refusal::InvalidQuantity);
        }
        if let Some(known) = self.claims.get(claim) {
            let same = known.user.as_ref() == Some(user)
                && known.pool == *pool
                && known.amount == i64::from(quantity);
            let reply = || Decision::nothing(Reply::Claim(known.as_first_told()));
            return if same { Ok(reply()) } else { Err(Refusal::BookingMismatch) };
        }
        let found =
            self.stock.get(pool).ok_or_else(|| Refusal::ZoneNotFound { pool: pool.clone() })?;
        let session = self.check_may_take(at, user)?;
        if quantity > found.free() {
            return Err(Refusal::ClaimExceedsQuantity { free: found.free() });
        }
        self.check_user_limit(user, quantity)?;
        self.check_limits_of_claim(user, pool, quantity)?;
        self.check_few_ended(user)?;
        let price_minor = self.untyped_price_minor(found, at);
        if price_minor > 0 {
            let amount_minor = price_minor * i64::from(quantity);
            return Err(Refusal::PaymentRequired { amount_minor });
        }
        let (before, after) = (found.claimed, found.claimed + quantity);
        // A claim that names no time lasts as long as the organiser allows.
        let longest_ms = self.settings.as_ref().and_then(|settings| settings.claim_ttl_max_ms);
        let ttl_ms =
            ttl_ms.map_or(longest_ms, |ttl_ms| Some(ttl_ms.min(longest_ms.unwrap_or(ttl_ms))));
        let until = ttl_ms.map(|ttl_ms| at.plus_ms(ttl_ms));
        let mut changes = Changes::new();
        changes.extend(self.arrival(session, user));
        let claimed = ClaimChange::Claimed {
            claim: claim.clone(),
            user: user.clone(),
            pool: pool.clone(),
            quantity,
            until,
            before,
            after,
        };
        changes.push(claimed.into());
        let view = ClaimView {
            claim: claim.clone(),
            user: Some(user.clone()),
            pool: pool.clone(),
            amount: i64::from(quantity),
            before,
            after,
            first_until: until,
            state: ClaimState::Claimed { until },
        };
        Ok(Decision { reply: Reply::Claim(view), changes })
    }

    pub(super) fn decide_declaim(
        &self,
        at: Time,
        claim: &ClaimId,
        user: &UserId,
    ) -> Result<Decision, Refusal> {
        let known = self.claims.get(claim).ok_or(Refusal::ClaimNotFound)?;
        if known.user.as_ref() != Some(user) {
            return Err(Refusal::ClaimNotFound);
        }
        let ClaimState::Claimed { until } = known.state else {
            return Ok(Decision::nothing(Reply::Claim(known.clone())));
        };
        let expired = until.is_some_and(|until| until <= at);
        let (how, state) = if expired {
            (DeclaimedHow::Expired, ClaimState::Expired { at })
        } else {
            (DeclaimedHow::Returned, ClaimState::Returned { at })
        };
        let view = ClaimView { state, ..known.clone() };
        Ok(Decision::one(Reply::Claim(view), self.declaimed(known, how)))
    }

    pub(super) fn declaimed(&self, claim: &ClaimView, how: DeclaimedHow) -> ClaimChange {
        let before = self.stock.get(&claim.pool).map_or(0, |pool| pool.claimed);
        let quantity =
            u32::try_from(claim.amount).expect("a visitor's claim is a positive quantity");
        ClaimChange::Declaimed { claim: claim.claim.clone(), how, before, after: before - quantity }
    }

    pub(super) fn decide_adjust_claimed(
        &self,
        at: Time,
        claim: &ClaimId,
        pool: &PoolId,
        amount: i64,
        reason: &Reason,
    ) -> Result<Decision, Refusal> {
        check_reason(reason)?;
        if amount == 0 || amount.unsigned_abs() > u64::from(MAX_POOL_CAPACITY) {
            return Err(Refusal::InvalidQuantity);
        }
        if let Some(known) = self.claims.get(claim) {
            let same = known.user.is_none() && known.pool == *pool && known.amount == amount;
            let reply = || Decision::nothing(Reply::Claim(known.clone()));
            return if same { Ok(reply()) } else { Err(Refusal::BookingMismatch) };
        }
        let found =
            self.stock.get(pool).ok_or_else(|| Refusal::ZoneNotFound { pool: pool.clone() })?;
        if amount > i64::from(found.free()) {
            return Err(Refusal::ClaimExceedsQuantity { free: found.free() });
        }
        if -amount > i64::from(found.claimed_by_services) {
            return Err(Refusal::ClaimBelowZero { claimed: found.claimed_by_services });
        }
        let before = found.claimed;
        let after = u32::try_from(i64::from(before) + amount).expect("both ends were checked");
        let (claim, pool, reason) = (claim.clone(), pool.clone(), reason.clone());
        let view = ClaimView {
            claim: claim.clone(),
            user: None,
            pool: pool.clone(),
            amount,
            before,
            after,
            first_until: None,
            state: ClaimState::Adjusted { at },
        };
        let adjusted = ClaimChange::ClaimedAdjusted { claim, pool, amount, before, after, reason };
        Ok(Decision::one(Reply::Claim(view), adjusted))
    }
}
