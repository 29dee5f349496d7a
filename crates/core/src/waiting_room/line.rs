//! The line itself: who stands where, with leavers, in O(log n).
//!
//! Each place has a slot; slots are handed out in the order of service and never reused. Slots come
//! in blocks of 1,024 that remember who still waits and when each was last seen. Over the blocks,
//! two Fenwick trees count the waiting and those among them who may be admitted, and a tree of
//! minima leads to whoever was seen longest ago. A block that everyone left is freed, so memory
//! follows the people who wait and not those who came.

use super::seen::{NEVER_LAPSES, Seen};
use crate::arena::Idx;
use crate::time::Time;

const WORDS: usize = 16;
const SLOTS: usize = WORDS * 64;

#[derive(Debug)]
struct Block {
    waiting: [u64; WORDS],
    /// Waiting, but not to be admitted now: their user is in the room with an earlier place.
    parked: [u64; WORDS],
    places: Vec<Option<Idx>>,
    /// When each was last seen.
    seen: Seen,
    /// The earliest of each 64.
    seen_first: [Time; WORDS],
}

/// The line of one waiting room.
#[derive(Debug, Default)]
pub(crate) struct Line {
    blocks: Vec<Option<Box<Block>>>,
    waiting: Fenwick,
    eligible: Fenwick,
    seen_first: Minima,
    next_slot: u32,
    len: u32,
}

impl Line {
    /// How many wait.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Takes the last slot; `last_seen` starts the place's time to live, if it has one yet.
    pub(crate) fn push(&mut self, place: Idx, last_seen: Option<Time>) -> u32 {
        let slot = self.next_slot;
        self.next_slot += 1;
        self.len += 1;
        let (block, offset) = split(slot);
        if block == self.blocks.len() {
            self.blocks.push(Some(Box::new(Block {
                waiting: [0; WORDS],
                parked: [0; WORDS],
                places: vec![None; SLOTS],
                seen: Seen::never(SLOTS),
                seen_first: [NEVER_LAPSES; WORDS],
            })));
            self.waiting.push_zero();
            self.eligible.push_zero();
        }
        let found = self.block_mut(block);
        found.waiting[offset / 64] |= 1 << (offset % 64);
        found.places[offset] = Some(place);
        self.waiting.add(block, 1);
        self.eligible.add(block, 1);
        if let Some(last_seen) = last_seen {
            self.see(slot, last_seen);
        }
        slot
    }

    /// When a waiting place was last seen, if its time to live runs.
    pub(crate) fn last_seen(&self, slot: u32) -> Option<Time> {
        let (block, offset) = split(slot);
        Some(self.block(block).seen.get(offset)).filter(|seen| *seen != NEVER_LAPSES)
    }

    /// Writes down when a waiting place was last seen.
    pub(crate) fn see(&mut self, slot: u32, at: Time) {
        let (block, offset) = split(slot);
        let found = self.block_mut(block);
        found.seen.set(offset, at);
        let word = offset / 64;
        found.seen_first[word] = found.seen.earliest(word * 64..(word + 1) * 64);
        let first = found.seen_first.iter().copied().min().unwrap_or(NEVER_LAPSES);
        self.seen_first.set(block, first);
    }

    /// The slot of the place that was seen longest ago, the first in line if there are several, and when.
    pub(crate) fn seen_longest_ago(&self) -> Option<(Time, u32)> {
        let (block, at) = self.seen_first.first()?;
        let found = self.block(block);
        let word = found.seen_first.iter().position(|first| *first == at)?;
        let offset = (word * 64..SLOTS).find(|offset| found.seen.get(*offset) == at)?;
        Some((at, (block * SLOTS + offset) as u32))
    }

    /// Moves everyone's last sign of life on.
    pub(crate) fn move_on(&mut self, gap_ms: i64) {
        for block in self.blocks.iter_mut().flatten() {
            block.seen.move_on(gap_ms);
            let seen = block.seen_first.iter_mut().filter(|at| **at != NEVER_LAPSES);
            seen.for_each(|at| *at = at.plus_ms(gap_ms));
        }
        for (position, block) in self.blocks.iter().enumerate() {
            let first = block.as_ref().and_then(|block| block.seen_first.iter().copied().min());
            self.seen_first.set(position, first.unwrap_or(NEVER_LAPSES));
        }
    }

    /// Leaves a slot that somebody waits in.
    pub(crate) fn remove(&mut self, slot: u32) {
        self.set_parked(slot, false);
        self.see(slot, NEVER_LAPSES);
        let (block, offset) = split(slot);
        let still_filling =
            block + 1 == self.blocks.len() && !(self.next_slot as usize).is_multiple_of(SLOTS);
        let found = self.block_mut(block);
        let bit = 1 << (offset % 64);
        assert!(found.waiting[offset / 64] & bit != 0, "only a waiting place leaves the line");
        found.waiting[offset / 64] &= !bit;
        found.places[offset] = None;
        if found.waiting == [0; WORDS] && !still_filling {
            self.blocks[block] = None;
        }
        self.waiting.sub(block, 1);
        self.eligible.sub(block, 1);
        self.len -= 1;
    }

    /// Says whether a waiting place is to be passed over by admission.
    pub(crate) fn set_parked(&mut self, slot: u32, parked: bool) {
        let (block, offset) = split(slot);
        let found = self.block_mut(block);
        let bit = 1 << (offset % 64);
        let was_parked = found.parked[offset / 64] & bit != 0;
        match (was_parked, parked) {
            (false, true) => {
                found.parked[offset / 64] |= bit;
                self.eligible.sub(block, 1);
            }
            (true, false) => {
                found.parked[offset / 64] &= !bit;
                self.eligible.add(block, 1);
            }
            (true, true) | (false, false) => {}
        }
    }

    /// The position of a waiting place: 1 is the head of the line.
    pub(crate) fn position(&self, slot: u32) -> u32 {
        let (block, offset) = split(slot);
        let found = self.block(block);
        let before: u32 = found.waiting[..offset / 64].iter().map(|word| word.count_ones()).sum();
        let within = (found.waiting[offset / 64] & ((1 << (offset % 64)) - 1)).count_ones();
        self.waiting.sum_before(block) + before + within + 1
    }

    /// The place in a slot that somebody waits in.
    pub(crate) fn place(&self, slot: u32) -> Idx {
        let (block, offset) = split(slot);
        self.block(block).places[offset].expect("somebody waits in this slot")
    }

    /// The place to admit next.
    pub(crate) fn first_eligible(&self) -> Option<Idx> {
        let block = self.eligible.first_nonzero()?;
        let found = self.block(block);
        let (word, bits) = (0..WORDS)
            .map(|word| (word, found.waiting[word] & !found.parked[word]))
            .find(|(_, bits)| *bits != 0)
            .expect("a block that is counted as eligible has an eligible place");
        found.places[word * 64 + bits.trailing_zeros() as usize]
    }

    /// Whether anyone may be admitted.
    pub(crate) fn has_eligible(&self) -> bool {
        self.eligible.total != 0
    }

    /// Everyone who waits, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Idx> + '_ {
        self.blocks.iter().flatten().flat_map(|block| block.places.iter().flatten().copied())
    }

    fn block(&self, block: usize) -> &Block {
        self.blocks[block].as_ref().expect("a slot that somebody waits in has its block")
    }

    fn block_mut(&mut self, block: usize) -> &mut Block {
        self.blocks[block].as_mut().expect("a slot that somebody waits in has its block")
    }
}

fn split(slot: u32) -> (usize, usize) {
    (slot as usize / SLOTS, slot as usize % SLOTS)
}

/// Counts with prefix sums in O(log n).
#[derive(Debug, Default)]
struct Fenwick {
    tree: Vec<u32>,
    total: u32,
}

impl Fenwick {
    fn push_zero(&mut self) {
        // The new node covers the entries since its lowest set bit, all of which are counted already.
        let node = self.tree.len() + 1;
        let covered_from = node & (node - 1);
        self.tree.push(self.total - self.sum_before(covered_from));
    }

    fn add(&mut self, entry: usize, count: u32) {
        self.total += count;
        self.each_above(entry, |node| *node += count);
    }

    fn sub(&mut self, entry: usize, count: u32) {
        self.total -= count;
        self.each_above(entry, |node| *node -= count);
    }

    fn each_above(&mut self, entry: usize, change: impl Fn(&mut u32)) {
        let mut node = entry + 1;
        while node <= self.tree.len() {
            change(&mut self.tree[node - 1]);
            node += node & node.wrapping_neg();
        }
    }

    fn sum_before(&self, entry: usize) -> u32 {
        let mut node = entry;
        let mut sum = 0;
        while node > 0 {
            sum += self.tree[node - 1];
            node &= node - 1;
        }
        sum
    }

    fn first_nonzero(&self) -> Option<usize> {
        if self.total == 0 {
            return None;
        }
        let mut before = 0;
        let mut step = self.tree.len().next_power_of_two();
        while step > 0 {
            if before + step <= self.tree.len() && self.tree[before + step - 1] == 0 {
                before += step;
            }
            step /= 2;
        }
        Some(before)
    }
}

/// The earliest of some times, found from the top of a binary tree; times are its leaves.
#[derive(Debug, Default)]
struct Minima {
    leaves: usize,
    tree: Vec<Time>,
}

impl Minima {
    fn set(&mut self, leaf: usize, at: Time) {
        if leaf >= self.leaves {
            self.grow(leaf + 1);
        }
        let mut node = self.leaves + leaf;
        self.tree[node] = at;
        while node > 1 {
            node /= 2;
            self.tree[node] = self.tree[2 * node].min(self.tree[2 * node + 1]);
        }
    }

    fn grow(&mut self, leaves: usize) {
        let old = std::mem::take(self);
        self.leaves = leaves.next_power_of_two();
        self.tree = vec![NEVER_LAPSES; 2 * self.leaves];
        for leaf in 0..old.leaves {
            self.set(leaf, old.tree[old.leaves + leaf]);
        }
    }

    /// The first leaf with the earliest time.
    fn first(&self) -> Option<(usize, Time)> {
        let earliest = self.tree.get(1).copied().filter(|at| *at != NEVER_LAPSES)?;
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            node += usize::from(self.tree[node] != earliest);
        }
        Some((node - self.leaves, earliest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Arena;
    use std::collections::BTreeMap;

    const BLOCK: u32 = SLOTS as u32;

    /// A line, and the plainest one there is: who waits, whether they are passed over, and when they
    /// were last seen.
    struct Both {
        line: Line,
        plain: BTreeMap<u32, (Idx, bool, Option<Time>)>,
        idxs: Arena<()>,
    }

    impl Both {
        /// So many who came before the sale opened.
        fn of(places: u32) -> Self {
            let (line, plain, idxs) = (Line::default(), BTreeMap::new(), Arena::default());
            let mut both = Self { line, plain, idxs };
            (0..places).for_each(|_| both.push(None));
            both
        }

        fn push(&mut self, last_seen: Option<Time>) {
            let idx = self.idxs.insert(());
            let slot = self.line.push(idx, last_seen);
            self.plain.insert(slot, (idx, false, last_seen));
        }

        fn see(&mut self, slot: u32, at: i64) {
            self.line.see(slot, Time(at));
            self.plain.get_mut(&slot).expect("a place").2 = Some(Time(at));
        }

        fn park(&mut self, slot: u32, parked: bool) {
            self.line.set_parked(slot, parked);
            self.plain.get_mut(&slot).expect("a place").1 = parked;
        }

        fn remove(&mut self, slot: u32) {
            self.line.remove(slot);
            self.plain.remove(&slot);
        }

        #[track_caller]
        fn check(&self) {
            let (line, plain) = (&self.line, &self.plain);
            assert_eq!(line.len() as usize, plain.len());
            assert!(line.iter().eq(plain.values().map(|place| place.0)), "all are there, in order");
            for (position, (slot, (idx, _, seen))) in (1..).zip(plain) {
                assert_eq!((line.position(*slot), line.place(*slot)), (position, *idx));
                assert_eq!(line.last_seen(*slot), *seen);
            }
            let eligible = plain.values().find(|place| !place.1).map(|place| place.0);
            assert_eq!(
                (line.first_eligible(), line.has_eligible()),
                (eligible, eligible.is_some())
            );
            let seen = plain.iter().filter_map(|(slot, place)| Some((place.2?, *slot)));
            assert_eq!(line.seen_longest_ago(), seen.min());
        }
    }

    #[test]
    fn who_is_next_is_found_behind_thousands_who_are_passed_over() {
        let mut both = Both::of(5 * BLOCK + 9);
        both.check();
        (0..4 * BLOCK).for_each(|slot| both.park(slot, true));
        both.check();
        for next in [3 * BLOCK + 63, 3 * BLOCK, BLOCK + 1, 0] {
            both.park(next, false);
            both.check();
        }
        (0..5 * BLOCK + 9).for_each(|slot| both.park(slot, true));
        both.check();
        both.park(5 * BLOCK + 8, false);
        both.check();
    }

    #[test]
    fn whoever_was_seen_longest_ago_is_found_in_any_block() {
        let mut both = Both::of(5 * BLOCK + 9);
        for slot in [4 * BLOCK + 70, 2 * BLOCK + 1, 2 * BLOCK, 0, 64, 5 * BLOCK] {
            both.see(slot, 1_000 - i64::from(slot % 7));
            both.check();
        }
        // The same time for several: the first in line.
        for slot in [5 * BLOCK + 8, 3 * BLOCK, 3 * BLOCK + 65, BLOCK + 3] {
            both.see(slot, 10);
            both.check();
        }
        for slot in [BLOCK + 3, 3 * BLOCK] {
            both.see(slot, 2_000);
            both.check();
        }
        both.line.move_on(500);
        let seen = both.plain.values_mut().filter_map(|place| place.2.as_mut());
        seen.for_each(|seen| *seen = seen.plus_ms(500));
        both.check();
    }

    #[test]
    fn blocks_keep_their_times_as_the_tree_over_them_grows() {
        let mut both = Both::of(5 * BLOCK);
        for block in 0..5 {
            both.see(block * BLOCK + 7, 10 * i64::from(block));
            both.check();
        }
        for block in 0..5 {
            both.see(block * BLOCK + 7, 1_000);
            both.check();
        }
    }

    #[test]
    fn who_was_seen_before_others_of_the_block_leaves_no_trace() {
        let mut both = Both::of(200);
        both.see(0, 10);
        both.see(64, 50);
        both.see(130, 70);
        both.see(0, 90);
        both.check();
        both.remove(64);
        both.check();
    }

    #[test]
    fn blocks_that_everyone_left_are_freed_but_the_one_that_fills() {
        let mut both = Both::of(3 * BLOCK + 2);
        both.see(2 * BLOCK, 5);
        (BLOCK..2 * BLOCK).for_each(|slot| both.remove(slot));
        both.check();
        [3 * BLOCK, 3 * BLOCK + 1].into_iter().for_each(|slot| both.remove(slot));
        both.check();
        let is_there =
            |both: &Both| both.line.blocks.iter().map(Option::is_some).collect::<Vec<_>>();
        assert_eq!(is_there(&both), [true, false, true, true]);
        both.push(Some(Time(7)));
        both.check();
        // The last block goes as well, once it is full.
        (3..BLOCK).for_each(|_| both.push(None));
        (3 * BLOCK + 2..4 * BLOCK).for_each(|slot| both.remove(slot));
        assert_eq!(is_there(&both), [true, false, true, false]);
        both.push(None);
        both.check();
    }
}
