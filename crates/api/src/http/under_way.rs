//! Requests with a key that this process is at, so that of each there is one doing.
//!
//! The ledger knows what began. It may say that it cannot be used, and begin a request all the same:
//! a transaction that nobody waits for any more may be committed still. Nobody would be at such a
//! request, and each that came again would be told that it is under way. So it is in doubt, until the
//! ledger has heard that nobody is at it.

use onrush_ledger::request::RequestKey;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many requests may be in doubt. Of more than that some may stay under way for a day.
const MAX_IN_DOUBT: usize = 65_536;

/// A request's scope and key. Who asks is in the scope already.
type Name = (String, String);

/// What is known of a request here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Somebody is at it.
    AtIt,
    /// Nobody is, and the ledger may have it begin.
    InDoubt,
}

#[derive(Default)]
struct Known {
    by_name: BTreeMap<Name, Standing>,
    in_doubt: usize,
    /// Whether somebody sees to those in doubt.
    is_seen_to: bool,
}

/// Requests that this process is at, or in doubt about.
#[derive(Clone, Default)]
pub struct UnderWay(Arc<Mutex<Known>>);

/// One's being at a request, until it is dropped.
pub(super) struct Turn {
    all: UnderWay,
    name: Name,
    is_in_doubt: bool,
}

impl UnderWay {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a request on, unless somebody is at it.
    pub(super) fn take(&self, key: &RequestKey) -> Option<Turn> {
        let name = (key.scope.clone(), key.key.clone());
        let before = {
            let mut known = self.known();
            let before = known.by_name.get(&name).copied();
            match before {
                Some(Standing::AtIt) => return None,
                Some(Standing::InDoubt) => known.in_doubt -= 1,
                None => {}
            }
            known.by_name.insert(name.clone(), Standing::AtIt);
            before
        };
        Some(Turn { all: self.clone(), name, is_in_doubt: before.is_some() })
    }

    /// Takes on some of those in doubt.
    pub(super) fn take_doubted(&self, most: usize) -> Vec<Turn> {
        let mut known = self.known();
        let doubted = known.by_name.iter_mut().filter(|(_, it)| **it == Standing::InDoubt);
        let taken = doubted.take(most).map(|(name, it)| {
            *it = Standing::AtIt;
            Turn { all: self.clone(), name: name.clone(), is_in_doubt: true }
        });
        let taken: Vec<_> = taken.collect();
        known.in_doubt -= taken.len();
        taken
    }

    /// Whether whoever asks is to see to those in doubt, as nobody does.
    pub(super) fn is_to_be_seen_to(&self) -> bool {
        !std::mem::replace(&mut self.known().is_seen_to, true)
    }

    /// Ends that, if none is in doubt any more; whether it did.
    pub(super) fn is_seen_through(&self) -> bool {
        let mut known = self.known();
        known.is_seen_to = known.in_doubt > 0;
        !known.is_seen_to
    }
}

impl Turn {
    /// Whether the ledger may have it begin although nobody was at it.
    pub(super) const fn is_in_doubt(&self) -> bool {
        self.is_in_doubt
    }

    /// Says that the ledger may have it begin from here on, or that it is known what came of that.
    pub(super) const fn set_in_doubt(&mut self, is_in_doubt: bool) {
        self.is_in_doubt = is_in_doubt;
    }

    /// The request, without who asks.
    pub(super) fn key(&self) -> RequestKey {
        let (scope, key) = self.name.clone();
        RequestKey { scope, key, asker: None }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut known = self.all.known();
        if !self.is_in_doubt {
            known.by_name.remove(&self.name);
        } else if known.in_doubt < MAX_IN_DOUBT {
            known.in_doubt += 1;
            known.by_name.insert(self.name.clone(), Standing::InDoubt);
        } else {
            known.by_name.remove(&self.name);
            tracing::error!(scope = self.name.0, "too many requests may have begun unheard");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(key: &str) -> RequestKey {
        RequestKey { scope: "ann pays gala.1".into(), key: key.into(), asker: Some("ann".into()) }
    }

    #[test]
    fn one_at_a_time_is_at_a_request() {
        let under_way = UnderWay::default();
        let first = under_way.take(&key("k")).expect("nobody is at it");
        assert!(!first.is_in_doubt());
        assert!(under_way.take(&key("k")).is_none());
        assert!(under_way.take(&key("other")).is_some());
        drop(first);
        assert!(!under_way.take(&key("k")).expect("nobody is at it").is_in_doubt());
    }

    #[test]
    fn what_is_in_doubt_is_so_for_whoever_comes_next_until_it_is_known() {
        let under_way = UnderWay::default();
        let doubt = |name: &str| under_way.take(&key(name)).expect("nobody").set_in_doubt(true);
        doubt("k");
        doubt("other");
        let mut again = under_way.take(&key("k")).expect("nobody is at it");
        assert!(again.is_in_doubt());
        let left: Vec<_> = under_way.take_doubted(9).iter().map(Turn::key).collect();
        assert_eq!(left, [RequestKey { asker: None, ..key("other") }]);
        again.set_in_doubt(false);
        drop(again);
        assert!(!under_way.take(&key("k")).expect("nobody is at it").is_in_doubt());
        // Those that were taken on and not seen through are in doubt still.
        assert_eq!(under_way.take_doubted(9).len(), 1);
    }

    #[test]
    fn one_sees_to_all_in_doubt_until_there_are_none() {
        let under_way = UnderWay::default();
        under_way.take(&key("k")).expect("nobody").set_in_doubt(true);
        assert!(under_way.is_to_be_seen_to());
        assert!(!under_way.is_to_be_seen_to());
        assert!(!under_way.is_seen_through());
        for mut turn in under_way.take_doubted(9) {
            turn.set_in_doubt(false);
        }
        assert!(under_way.is_seen_through());
        assert!(under_way.is_to_be_seen_to(), "the next one begins anew");
    }
}
