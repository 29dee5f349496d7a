//! Layers: what is free in each segment to those who may take the seats of one kind.

use super::free::FreeSeats;
use super::{Segment, Whose};
use crate::limits::MAX_BEST_QUANTITY;
use std::collections::BTreeSet;

/// Up to how many seats side by side each segment knows how good they can be: as many as most people
/// ask for. More of them are no better.
pub(super) const BOUNDED: usize = 4;

/// Where a segment stands among the others: by the best rank of a free seat, its own rank, and
/// which was added first.
pub(super) type Place = (u32, u32, usize);

/// What is free of one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stock {
    pub(super) free: FreeSeats,
    /// The longest run of free seats.
    pub(super) longest: u32,
    /// The best rank of a free seat, if there is one.
    best_free: Option<u32>,
    /// The best that the worst rank of 1, 2, … free seats side by side can be; the greatest number
    /// there is if there are not so many.
    worst_of: [u32; BOUNDED],
}

impl Default for Stock {
    fn default() -> Self {
        let free = FreeSeats::default();
        Self { free, longest: 0, best_free: None, worst_of: [u32::MAX; BOUNDED] }
    }
}

impl Stock {
    fn of(free: FreeSeats, ranks: &[u32]) -> Self {
        let mut longest = 0;
        let mut worst_of = [u32::MAX; BOUNDED];
        for run in free.runs() {
            longest = longest.max(run.len() as u32);
            // Of so many seats that end here.
            let mut worst = [u32::MAX; BOUNDED];
            for rank in &ranks[run] {
                for more in (1..BOUNDED).rev() {
                    worst[more] = worst[more - 1].max(*rank);
                }
                worst[0] = *rank;
                for (best, worst) in worst_of.iter_mut().zip(worst) {
                    *best = worst.min(*best);
                }
            }
        }
        let best_free = (longest > 0).then_some(worst_of[0]);
        Self { free, longest, best_free, worst_of }
    }

    /// No choice of so many seats has a better worst rank.
    pub(super) fn worst_rank_at_best(&self, quantity: u32) -> u32 {
        self.worst_of[(quantity as usize).min(BOUNDED) - 1]
    }
}

/// What is free of all segments to those who may take the seats of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layer {
    /// Of each segment.
    pub(super) stock: Vec<Stock>,
    /// The segments that have so many free seats side by side, or the last of these numbers and more,
    /// by their places: no choice of one is better than its place.
    pub(super) by_place: [BTreeSet<Place>; MAX_BEST_QUANTITY as usize + 1],
}

impl Layer {
    /// Nothing is free of so many segments.
    pub(super) fn of(segments: usize) -> Self {
        Self { stock: vec![Stock::default(); segments], ..Self::default() }
    }

    pub(super) fn add_segment(&mut self) {
        self.stock.push(Stock::default());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_place.iter().all(BTreeSet::is_empty)
    }

    fn place(&self, nth: usize, rank: u32) -> Option<(usize, Place)> {
        let it = &self.stock[nth];
        Some((it.longest.min(MAX_BEST_QUANTITY) as usize, (it.best_free?, rank, nth)))
    }

    fn replace(&mut self, before: Option<(usize, Place)>, after: Option<(usize, Place)>) {
        if before != after {
            before.map(|(longest, place)| self.by_place[longest].remove(&place));
            after.map(|(longest, place)| self.by_place[longest].insert(place));
        }
    }

    /// A segment's rank becomes another one.
    pub(super) fn move_rank(&mut self, nth: usize, from: u32, to: u32) {
        self.replace(self.place(nth, from), self.place(nth, to));
    }

    /// These seats of a segment, whose ranks these are, are free from now on.
    pub(super) fn set(&mut self, nth: usize, segment: &Segment, free: FreeSeats, ranks: &[u32]) {
        let before = self.place(nth, segment.rank);
        self.stock[nth] = Stock::of(free, &ranks[segment.seats.clone()]);
        self.replace(before, self.place(nth, segment.rank));
    }
}

/// Everybody's layer, and one for each channel that has seats.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layers {
    pub(super) everybodys: Layer,
    of_channels: Vec<(u8, Layer)>,
}

impl Layers {
    pub(super) fn of_channel(&self, channel: u8) -> Option<&Layer> {
        let mut layers = self.of_channels.iter();
        layers.find(|(number, _)| *number == channel).map(|(_, layer)| layer)
    }

    pub(super) fn each(&mut self) -> impl Iterator<Item = &mut Layer> {
        let of_channels = self.of_channels.iter_mut().map(|(_, layer)| layer);
        of_channels.chain([&mut self.everybodys])
    }

    /// The layer that such a seat is free in, if any; a channel's first seat makes its layer.
    pub(super) fn get_mut(&mut self, whose: Whose) -> Option<&mut Layer> {
        let channel = match whose {
            Whose::Nobodys => return None,
            Whose::Everybodys => return Some(&mut self.everybodys),
            Whose::Channels(channel) => channel,
        };
        let place = self.of_channels.binary_search_by_key(&channel, |(number, _)| *number);
        let place = place.unwrap_or_else(|place| {
            let layer = Layer::of(self.everybodys.stock.len());
            self.of_channels.insert(place, (channel, layer));
            place
        });
        Some(&mut self.of_channels[place].1)
    }

    /// A channel that has no seat any more needs no layer.
    pub(super) fn forget_if_empty(&mut self, whose: Whose) {
        if let Whose::Channels(channel) = whose {
            self.of_channels.retain(|(number, layer)| *number != channel || !layer.is_empty());
        }
    }
}
