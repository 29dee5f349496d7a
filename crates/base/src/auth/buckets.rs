//! Allowances by key: so many a minute each, in a fixed amount of memory.
//!
//! A bucket is one number, the time at which its allowance is whole again (the generic cell rate
//! algorithm); one that is whole need not be remembered. Whoever uses many keys only makes others'
//! buckets be forgotten, the fullest first: nobody who is new is turned away because of somebody
//! else. Time is how long this process has run, whatever the clock says.

use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// Parts of the table, each behind a lock of its own.
const SHARDS: usize = 64;
/// Buckets that compete for the same memory; one cache line or two.
const WAYS: usize = 8;
const MINUTE_US: u64 = 60_000_000;

/// A bucket that is not whole.
#[derive(Clone, Copy, Default)]
struct Bucket {
    /// The hash of its key, never 0; 0 is nobody's.
    tag: u64,
    /// When it is whole again, in microseconds since the start.
    whole_at_us: u64,
}

/// Whose allowance is used up, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedUp {
    /// How long to wait for the next one, in milliseconds.
    pub wait_ms: u32,
}

/// Allowances of one size.
pub struct Buckets {
    /// A shard's memory is taken when it is first used.
    shards: Box<[Mutex<Vec<Bucket>>]>,
    sets_per_shard: usize,
    hasher: RandomState,
    interval_us: u64,
    burst_us: u64,
    began: Instant,
}

impl Buckets {
    /// Allows `per_min` a minute, and as many at once; tells about `keys` keys apart.
    #[must_use]
    pub fn new(per_min: NonZeroU32, keys: usize) -> Self {
        let interval_us = (MINUTE_US / u64::from(per_min.get())).max(1);
        Self::of(interval_us, interval_us * u64::from(per_min.get()), keys)
    }

    /// Allows one in `interval_us`.
    #[must_use]
    pub fn one_in(interval_us: u64, keys: usize) -> Self {
        Self::of(interval_us, interval_us, keys)
    }

    fn of(interval_us: u64, burst_us: u64, keys: usize) -> Self {
        let sets_per_shard = keys.div_ceil(SHARDS * WAYS).next_power_of_two();
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            sets_per_shard,
            // Its keys are random, so that nobody can choose whose memory to compete for.
            hasher: RandomState::new(),
            interval_us,
            burst_us,
            began: Instant::now(),
        }
    }

    /// Takes one from the key's allowance.
    ///
    /// # Errors
    /// It is used up.
    pub fn take(&self, key: &impl Hash) -> Result<(), UsedUp> {
        self.take_at(key, self.now_us())
    }

    /// Whether there is one to take.
    ///
    /// # Errors
    /// It is used up.
    pub fn look(&self, key: &impl Hash) -> Result<(), UsedUp> {
        self.look_at(key, self.now_us())
    }

    /// Whether the key has taken what is not back yet; if so, it has taken it just now: of one in a time
    /// ([`Self::one_in`]) that is how a key is remembered for as long as it comes.
    #[must_use]
    pub fn renew(&self, key: &impl Hash) -> bool {
        self.renew_at(key, self.now_us())
    }

    /// Gives back what [`Self::take`] took.
    pub fn give_back(&self, key: &impl Hash) {
        let tag = self.tag(key);
        if let Some(bucket) =
            self.set_of(tag, &mut self.shard(tag)).iter_mut().find(|b| b.tag == tag)
        {
            bucket.whole_at_us = bucket.whole_at_us.saturating_sub(self.interval_us);
        }
    }

    fn now_us(&self) -> u64 {
        // More than half a million years fit.
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX / 2)
    }

    fn take_at(&self, key: &impl Hash, now_us: u64) -> Result<(), UsedUp> {
        let tag = self.tag(key);
        let mut shard = self.shard(tag);
        let set = self.set_of(tag, &mut shard);
        // Its own bucket, else one that need not be remembered, else the one that is whole first.
        let place = |bucket: &Bucket| if bucket.tag == tag { 0 } else { bucket.whole_at_us.max(1) };
        let bucket = set.iter_mut().min_by_key(|bucket| place(bucket)).expect("a set has buckets");
        let whole_at_us = if bucket.tag == tag { bucket.whole_at_us } else { 0 };
        let next = whole_at_us.max(now_us) + self.interval_us;
        self.allowed(next, now_us)?;
        *bucket = Bucket { tag, whole_at_us: next };
        Ok(())
    }

    fn look_at(&self, key: &impl Hash, now_us: u64) -> Result<(), UsedUp> {
        let tag = self.tag(key);
        let mut shard = self.shard(tag);
        let known = self.set_of(tag, &mut shard).iter().find(|bucket| bucket.tag == tag);
        let whole_at_us = known.map_or(0, |bucket| bucket.whole_at_us);
        self.allowed(whole_at_us.max(now_us) + self.interval_us, now_us)
    }

    fn renew_at(&self, key: &impl Hash, now_us: u64) -> bool {
        let tag = self.tag(key);
        let mut shard = self.shard(tag);
        let known = self.set_of(tag, &mut shard).iter_mut().find(|bucket| bucket.tag == tag);
        let Some(bucket) = known.filter(|bucket| bucket.whole_at_us > now_us) else { return false };
        bucket.whole_at_us = now_us + self.interval_us;
        true
    }

    fn allowed(&self, next_us: u64, now_us: u64) -> Result<(), UsedUp> {
        let early_us = next_us.saturating_sub(now_us + self.burst_us);
        if early_us == 0 {
            return Ok(());
        }
        Err(UsedUp { wait_ms: u32::try_from(early_us.div_ceil(1_000)).unwrap_or(u32::MAX) })
    }

    fn tag(&self, key: &impl Hash) -> u64 {
        self.hasher.hash_one(key).max(1)
    }

    fn shard(&self, tag: u64) -> MutexGuard<'_, Vec<Bucket>> {
        let shard = &self.shards[(tag >> 56) as usize % SHARDS];
        // Whatever a panic left there is an allowance.
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if shard.is_empty() {
            *shard = vec![Bucket::default(); self.sets_per_shard * WAYS];
        }
        shard
    }

    fn set_of<'a>(&self, tag: u64, shard: &'a mut [Bucket]) -> &'a mut [Bucket] {
        let set = tag as usize % self.sets_per_shard;
        &mut shard[set * WAYS..][..WAYS]
    }
}

/// An allowance with a name, as it is configured.
pub struct Limit {
    /// The setting's name without `_per_min`.
    pub name: &'static str,
    /// How many a minute, and at once.
    pub per_min: NonZeroU32,
    buckets: Buckets,
    turned_away: AtomicU64,
}

impl Limit {
    /// An allowance for about `keys` keys.
    #[must_use]
    pub fn new(name: &'static str, per_min: NonZeroU32, keys: usize) -> Self {
        Self { name, per_min, buckets: Buckets::new(per_min, keys), turned_away: AtomicU64::new(0) }
    }

    /// Takes one from the key's allowance.
    ///
    /// # Errors
    /// It is used up.
    pub fn take(&self, key: &impl Hash) -> Result<(), UsedUp> {
        self.buckets.take(key).inspect_err(|_| self.count())
    }

    /// Whether there is one to take.
    ///
    /// # Errors
    /// It is used up.
    pub fn look(&self, key: &impl Hash) -> Result<(), UsedUp> {
        self.buckets.look(key).inspect_err(|_| self.count())
    }

    /// Gives back what [`Self::take`] took.
    pub fn give_back(&self, key: &impl Hash) {
        self.buckets.give_back(key);
    }

    /// How many were turned away.
    #[must_use]
    pub fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }

    fn count(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000;

    fn buckets(per_min: u32, keys: usize) -> Buckets {
        Buckets::new(NonZeroU32::new(per_min).unwrap(), keys)
    }

    #[test]
    fn the_allowance_of_a_minute_can_be_taken_at_once_and_then_comes_back_evenly() {
        let buckets = buckets(60, 1_024);
        for _ in 0..60 {
            assert_eq!(buckets.take_at(&"ann", S), Ok(()));
        }
        assert_eq!(buckets.take_at(&"ann", S), Err(UsedUp { wait_ms: 1_000 }));
        assert_eq!(buckets.take_at(&"bob", S), Ok(()));
        assert_eq!(buckets.look_at(&"ann", 2 * S), Ok(()));
        assert_eq!(buckets.take_at(&"ann", 2 * S), Ok(()));
        assert!(buckets.look_at(&"ann", 2 * S).is_err());
        assert!(buckets.take_at(&"ann", 2 * S).is_err());
    }

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let buckets = buckets(1, 1_024);
        for _ in 0..3 {
            assert_eq!(buckets.take_at(&"ann", S), Ok(()));
            assert!(buckets.take_at(&"ann", S).is_err());
            buckets.give_back(&"ann");
        }
    }

    #[test]
    fn whoever_sprays_keys_locks_no_fresh_one_out_and_takes_no_more_memory() {
        let buckets = buckets(1, 1_024);
        for n in 0..200_000_u32 {
            assert_eq!(buckets.take_at(&n, S), Ok(()), "{n}");
        }
        let kept: usize = buckets.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert_eq!(kept, 1_024);
    }

    #[test]
    fn a_bucket_that_is_used_up_outlives_many_that_are_not() {
        let buckets = buckets(60, 8_192);
        for _ in 0..60 {
            assert_eq!(buckets.take_at(&"greedy", S), Ok(()));
        }
        for n in 0..100_000_u32 {
            assert_eq!(buckets.take_at(&n, S), Ok(()));
        }
        assert!(buckets.take_at(&"greedy", S).is_err());
    }

    #[test]
    fn one_in_a_day_is_remembered_for_a_day() {
        let day = 24 * 60 * MINUTE_US;
        let buckets = Buckets::one_in(day, 64);
        assert_eq!(buckets.take_at(&"ann", S), Ok(()));
        assert!(buckets.look_at(&"ann", day).is_err());
        assert_eq!(buckets.look_at(&"ann", day + S), Ok(()));
    }

    #[test]
    fn one_in_a_day_is_remembered_for_as_long_as_it_comes_within_a_day() {
        let day = 24 * 60 * MINUTE_US;
        let buckets = Buckets::one_in(day, 64);
        assert!(!buckets.renew_at(&"ann", S), "nobody knows it yet");
        assert_eq!(buckets.take_at(&"ann", S), Ok(()));
        for n in 1..9 {
            assert!(buckets.renew_at(&"ann", n * (day - S)), "{n}");
        }
        assert!(!buckets.renew_at(&"ann", 9 * day), "the day is over");
        assert_eq!(buckets.look_at(&"ann", 9 * day), Ok(()));
    }

    #[test]
    fn the_widest_allowance_does_not_overflow() {
        let buckets = buckets(u32::MAX, 64);
        for _ in 0..1_000 {
            assert_eq!(buckets.take_at(&"ann", u64::MAX / 4), Ok(()));
        }
    }
}
