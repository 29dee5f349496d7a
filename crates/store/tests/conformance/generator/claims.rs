//! Commands about claims, and what services take without one.

use super::Generator;
use crate::world::{claim, pool};
use onrush_core::Command;
use onrush_core::ids::ClaimId;
use onrush_core::view::{ClaimState, ClaimView};

impl Generator {
    fn some_claim(&mut self) -> Option<ClaimView> {
        let open: Vec<_> = self
            .known
            .claims
            .iter()
            .filter(|claim| matches!(claim.state, ClaimState::Claimed { .. }))
            .collect();
        if !open.is_empty() && self.random.percent(70) {
            return Some((*self.random.pick(&open)).clone());
        }
        if self.known.claims.is_empty() {
            return None;
        }
        Some(self.random.pick(&self.known.claims).clone())
    }

    fn claim_id(&mut self) -> ClaimId {
        let n = if self.random.percent(10) {
            self.random.below(self.fresh[2] + 2)
        } else {
            self.fresh(2)
        };
        claim(n)
    }

    pub(super) fn claim(&mut self) {
        let name =
            *self.random.pick(&["vouchers", "vouchers", "vouchers", "vouchers", "ga", "nope"]);
        match self.random.below(10) {
            0..=3 => {
                let claim = self.claim_id();
                let user = match self.known.inside.first() {
                    Some(_) if self.random.percent(85) => {
                        self.random.pick(&self.known.inside).1.clone()
                    }
                    _ => self.any_user(),
                };
                let quantity = self.random.weighted(&[(8, 1), (4, 2), (1, 7), (1, 0), (1, 1_001)]);
                let ttl_ms = *self.random.pick(&[
                    None,
                    None,
                    Some(1),
                    Some(60_000),
                    Some(600_000),
                    Some(0),
                    Some(-5),
                    Some(i64::MAX),
                ]);
                self.ask(Command::Claim { claim, user, pool: pool(name), quantity, ttl_ms });
            }
            4 => {
                // The very same again, or nearly.
                let Some(known) = self.some_claim() else { return };
                let quantity = u32::try_from(known.amount).unwrap_or(1);
                let user = known.user.clone().unwrap_or_else(|| self.any_user());
                let quantity = if self.random.percent(20) { quantity + 1 } else { quantity };
                self.ask(Command::Claim {
                    claim: known.claim,
                    user,
                    pool: known.pool,
                    quantity,
                    ttl_ms: None,
                });
            }
            5 | 6 => {
                let Some(known) = self.some_claim() else { return };
                let owner = known.user.clone().filter(|_| self.random.percent(92));
                let user = owner.unwrap_or_else(|| self.any_user());
                self.ask(Command::Declaim { claim: known.claim, user });
            }
            7 => {
                let Some(known) = self.some_claim() else { return };
                let reason = self.usual_reason();
                let (claim, pool) = (known.claim, known.pool);
                self.ask(Command::AdjustClaimed { claim, pool, amount: known.amount, reason });
            }
            _ => {
                let claim = self.claim_id();
                let amount = *self.random.pick(&[1, 1, 2, -1, -1, -2, 5, 0, 7, i64::MAX, i64::MIN]);
                let reason = self.reason();
                self.ask(Command::AdjustClaimed { claim, pool: pool(name), amount, reason });
            }
        }
    }
}
