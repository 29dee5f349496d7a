//! Storage for millions of small records: no copying when it grows, and no pause while it does.

use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::ops;

/// Where a record is. Four bytes, also as an `Option`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Idx(NonZeroU32);

impl Idx {
    fn new(position: usize) -> Self {
        let position =
            u32::try_from(position + 1).expect("an event has fewer than 2^32 records of a kind");
        Self(NonZeroU32::new(position).expect("a position plus one is not zero"))
    }

    fn position(self) -> usize {
        self.0.get() as usize - 1
    }
}

#[derive(Debug)]
enum Entry<T> {
    Taken(T),
    Vacant { next: Option<Idx> },
}

/// Records in a chunk. With more of them an allocator rounds up, or leaves the rest of its page: with
/// 1,024, a waiting visitor took a tenth more.
const CHUNK: usize = 1 << 7;

/// Records in chunks of a fixed size, so that growing neither moves nor copies any.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    chunks: Vec<Vec<Entry<T>>>,
    vacant: Option<Idx>,
    len: usize,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), vacant: None, len: 0 }
    }
}

impl<T> Arena<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn insert(&mut self, record: T) -> Idx {
        self.len += 1;
        if let Some(idx) = self.vacant {
            let entry = self.entry_mut(idx);
            let Entry::Vacant { next } = *entry else {
                unreachable!("the free list holds vacant entries")
            };
            *entry = Entry::Taken(record);
            self.vacant = next;
            return idx;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let base = (self.chunks.len() - 1) * CHUNK;
        let chunk = self.chunks.last_mut().expect("a chunk was just made sure of");
        chunk.push(Entry::Taken(record));
        Idx::new(base + chunk.len() - 1)
    }

    pub(crate) fn remove(&mut self, idx: Idx) -> T {
        let vacant = Entry::Vacant { next: self.vacant };
        let Entry::Taken(record) = std::mem::replace(self.entry_mut(idx), vacant) else {
            unreachable!("only a record that is there is removed");
        };
        self.vacant = Some(idx);
        self.len -= 1;
        record
    }

    /// All records, in no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Idx, &T)> {
        self.chunks.iter().flatten().enumerate().filter_map(|(position, entry)| match entry {
            Entry::Taken(record) => Some((Idx::new(position), record)),
            Entry::Vacant { .. } => None,
        })
    }

    /// All records, to be changed, in no order that means anything.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.chunks.iter_mut().flatten().filter_map(|entry| match entry {
            Entry::Taken(record) => Some(record),
            Entry::Vacant { .. } => None,
        })
    }

    fn entry_mut(&mut self, idx: Idx) -> &mut Entry<T> {
        &mut self.chunks[idx.position() / CHUNK][idx.position() % CHUNK]
    }
}

impl<T> ops::Index<Idx> for Arena<T> {
    type Output = T;

    fn index(&self, idx: Idx) -> &T {
        match &self.chunks[idx.position() / CHUNK][idx.position() % CHUNK] {
            Entry::Taken(record) => record,
            Entry::Vacant { .. } => unreachable!("only a record that is there is looked at"),
        }
    }
}

impl<T> ops::IndexMut<Idx> for Arena<T> {
    fn index_mut(&mut self, idx: Idx) -> &mut T {
        match self.entry_mut(idx) {
            Entry::Taken(record) => record,
            Entry::Vacant { .. } => unreachable!("only a record that is there is changed"),
        }
    }
}

/// A record that has an id.
pub(crate) trait Keyed {
    fn key(&self) -> &str;
}

/// How many hash tables share the work: each grows by itself, so that no growth takes long.
const SHARDS: usize = 256;

/// The hash of an id, and the shard it belongs to.
///
/// The seed is fixed, because the rules draw no randomness. Visitors do not choose the ids: the
/// edge derives them with a secret key, so they cannot be made to collide.
fn hash_of(key: &str) -> (u64, usize) {
    let hash = foldhash::fast::FixedState::default().hash_one(key);
    // The last shard has twice as many records as the first, so that they do not all grow at once: a
    // table has just doubled with some, and is full with others, however many records there are.
    let share = (hash >> 32) as usize % (SHARDS * SHARDS);
    (hash, (SHARDS * SHARDS + 3 * share).isqrt() - SHARDS)
}

/// An arena whose records are also found by id; the id is stored in the record alone.
#[derive(Debug)]
pub(crate) struct Table<T> {
    arena: Arena<T>,
    /// None before the first record: an event that was archived stays without.
    shards: Vec<HashTable<Idx>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { arena: Arena::default(), shards: Vec::new() }
    }
}

impl<T: Keyed> Table<T> {
    pub(crate) fn find(&self, key: &str) -> Option<Idx> {
        let (hash, shard) = hash_of(key);
        self.shards.get(shard)?.find(hash, |idx| self.arena[*idx].key() == key).copied()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&T> {
        self.find(key).map(|idx| &self.arena[idx])
    }

    /// Adds a record whose id is not there yet.
    pub(crate) fn insert(&mut self, record: T) -> Idx {
        let (hash, shard) = hash_of(record.key());
        let idx = self.arena.insert(record);
        if self.shards.is_empty() {
            self.shards.resize_with(SHARDS, HashTable::new);
        }
        self.shards[shard].insert_unique(hash, idx, |idx| hash_of(self.arena[*idx].key()).0);
        idx
    }

    pub(crate) fn remove(&mut self, idx: Idx) -> T {
        let (hash, shard) = hash_of(self.arena[idx].key());
        self.shards[shard]
            .find_entry(hash, |filed| *filed == idx)
            .expect("every record is in its shard")
            .remove();
        self.arena.remove(idx)
    }

    pub(crate) fn len(&self) -> usize {
        self.arena.len()
    }

    /// All records, in no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Idx, &T)> {
        self.arena.iter()
    }

    /// All records, to be changed (but not their ids), in no order that means anything.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.arena.iter_mut()
    }
}

impl<T> ops::Index<Idx> for Table<T> {
    type Output = T;

    fn index(&self, idx: Idx) -> &T {
        &self.arena[idx]
    }
}

impl<T> ops::IndexMut<Idx> for Table<T> {
    fn index_mut(&mut self, idx: Idx) -> &mut T {
        &mut self.arena[idx]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Named(&'static str);

    impl Keyed for Named {
        fn key(&self) -> &str {
            self.0
        }
    }

    #[test]
    fn table_takes_memory_with_its_first_record_only() {
        let mut table = Table::default();
        assert!(table.find("ada").is_none());
        assert_eq!((table.shards.capacity(), table.arena.chunks.capacity()), (0, 0));
        let ada = table.insert(Named("ada"));
        assert_eq!(table.find("ada"), Some(ada));
        table.remove(ada);
        assert!(table.find("ada").is_none());
    }

    #[test]
    fn the_last_shard_has_twice_as_many_records_as_the_first() {
        let mut records = [0_u32; SHARDS];
        for n in 0..1_000_000 {
            records[hash_of(&format!("user-{n}")).1] += 1;
        }
        // They rise steadily from two thirds of the mean of 3,906 to four thirds.
        for (part, shards) in (0_u32..).zip(records.chunks(SHARDS / 4)) {
            let mean = shards.iter().sum::<u32>() / 64;
            let expected = 2_604 + (2 * part + 1) * 2_604 / 8;
            assert!(mean.abs_diff(expected) < 60, "{mean} in quarter {part}, not {expected}");
        }
        assert!(records.iter().all(|count| (2_300..5_600).contains(count)), "{records:?}");
    }

    #[test]
    fn hashes_differ_where_ids_do() {
        let hashes: std::collections::BTreeSet<u64> =
            (0..1_000).map(|n| hash_of(&n.to_string()).0).collect();
        assert_eq!(hashes.len(), 1_000);
    }

    #[test]
    fn a_table_counts_its_records() {
        let mut table = Table::default();
        let ada = table.insert(Named("ada"));
        table.insert(Named("bob"));
        assert_eq!(table.len(), 2);
        table.remove(ada);
        assert_eq!(table.len(), 1);
    }
}
