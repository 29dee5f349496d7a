//! How many streams one visitor and one address may have.

use super::error::LiveError;
use onrush_core::ids::UserId;
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;

/// How many streams there may be at a time, on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// In all.
    pub all: u32,
    /// Of one visitor, about whatever events.
    pub per_user: u32,
    /// Of one address.
    pub per_address: u32,
}

/// Who has how many streams.
#[derive(Default)]
pub(super) struct Shares {
    users: HashMap<UserId, u32>,
    addresses: HashMap<IpAddr, u32>,
}

impl Shares {
    /// Counts a stream in.
    ///
    /// # Errors
    /// [`LiveError::TooMany`].
    pub(super) fn take(
        &mut self,
        limits: &StreamLimits,
        user: &UserId,
        address: Option<IpAddr>,
    ) -> Result<(), LiveError> {
        let full = |whose, limit| Err(LiveError::TooMany { whose, limit });
        if self.users.get(user).is_some_and(|open| *open >= limits.per_user) {
            return full("with your token", limits.per_user);
        }
        if let Some(address) = address {
            let open = self.addresses.entry(address).or_default();
            if *open >= limits.per_address {
                return full("from your address", limits.per_address);
            }
            *open += 1;
        }
        *self.users.entry(user.clone()).or_default() += 1;
        Ok(())
    }

    /// Counts a stream out.
    pub(super) fn give_back(&mut self, user: &UserId, address: Option<IpAddr>) {
        less(&mut self.users, user);
        if let Some(address) = address {
            less(&mut self.addresses, &address);
        }
    }
}

fn less<K: Eq + Hash>(open: &mut HashMap<K, u32>, whose: &K) {
    if let Some(count) = open.get_mut(whose) {
        *count -= 1;
        if *count == 0 {
            open.remove(whose);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_forgotten_and_a_refusal_takes_nothing() {
        let limits = StreamLimits { all: 9, per_user: 2, per_address: 2 };
        let mut shares = Shares::default();
        let (ann, bob): (UserId, UserId) = ("ann".parse().unwrap(), "bob".parse().unwrap());
        let here = Some("192.0.2.1".parse().unwrap());
        shares.take(&limits, &ann, here).unwrap();
        shares.take(&limits, &ann, None).unwrap();
        let full = |whose| Err(LiveError::TooMany { whose, limit: 2 });
        assert_eq!(shares.take(&limits, &ann, here), full("with your token"));
        shares.take(&limits, &bob, here).unwrap();
        assert_eq!(shares.take(&limits, &bob, here), full("from your address"));
        shares.take(&limits, &bob, None).unwrap();
        for (user, address) in [(&ann, here), (&ann, None), (&bob, here), (&bob, None)] {
            shares.give_back(user, address);
        }
        assert!(shares.users.is_empty() && shares.addresses.is_empty());
    }
}
