//! The best seats, found by trying every choice there is.

use super::books::{Owner, Seat};
use super::channels::owners;
use super::hold::Wanted;
use super::types::{MostMinor, kept, names_the_same, names_what_is_there};
use super::{Answer, Oracle};
use onrush_core::best::{Best, BestOrder, Together};
use onrush_core::channels::Sources;
use onrush_core::ids::{BookingId, ChannelId, SeatId, UserId};
use onrush_core::limits::MAX_SEATS_PER_SEGMENT;
use onrush_core::lines::Lines;
use onrush_core::settings::SingleSeats;
use onrush_core::types::AskedTypes;
use onrush_core::{Refusal, Time};
use std::ops::Range;
use std::sync::Arc;

/// What choices are compared by, the lower, the better: whether single seats put it last, the worst
/// rank, the single seats.
type Worth = (bool, u32, usize);

impl Oracle {
    pub(super) fn hold_best(
        &mut self,
        at: Time,
        id: &BookingId,
        user: &UserId,
        order: &Arc<BestOrder>,
        channels: &[ChannelId],
        asked: &AskedTypes,
    ) -> Answer {
        names_what_is_there(asked, order.beside(), order.best().quantity())?;
        if self.bookings.contains_key(id) {
            return self.known_hold(id, user, |terms| {
                terms.asked.as_ref() == Some(order) && names_the_same(terms, asked)
            });
        }
        if let Some(beside) = order.beside() {
            self.all_exist(beside)?;
            self.companions_have_places(beside)?;
        }
        self.names_exist(order.best())?;
        let mut mine = self.mine(channels)?;
        let named = match order.beside() {
            Some(beside) => self.typed(beside, asked.pools(), asked.seats())?,
            None => Vec::new(),
        };
        let mut most_minor = self.most_minor(order, asked, &named)?;
        self.may_take(at, user)?;
        let beside = match order.beside() {
            Some(beside) => self.where_from(beside, &mut mine)?,
            None => Sources::new(),
        };
        self.within_limit(user, order.units())?;
        self.within_limits_of_best(user, order, asked, &named, &mut most_minor)?;
        self.few_ended(user)?;
        let (pools, mut seats) = match order.beside() {
            Some(beside) => (beside.pools().to_vec(), beside.seats().to_vec()),
            None => (Vec::new(), Vec::new()),
        };
        let (best, is_first) = self.best_with(order, asked, &most_minor, &mine)?;
        seats.extend(best.iter().cloned());
        // Who gets their first choice has chosen it themselves.
        let by_rules = if is_first { &[] } else { &best[..] };
        self.leaves_nobody_alone(&seats, by_rules, &owners(&mine))?;
        let lines = Lines::new(pools, seats)?;
        let sources = self.all_sources(&beside, &lines);
        let types = kept(&self.typed_with(&lines, &best, asked)?, asked);
        let asked = Some(Arc::clone(order));
        Ok(self.place(at, id, user, Wanted { lines, asked, sources, types }))
    }

    fn names_exist(&self, best: &Best) -> Result<(), Refusal> {
        for name in best.categories() {
            if !self.categories.iter().any(|category| category.name == *name) {
                return Err(Refusal::CategoryNotFound { category: name.clone() });
            }
        }
        for name in best.sections() {
            if !self.seats.iter().any(|seat| seat.spec.section == *name) {
                return Err(Refusal::SectionNotFound { section: name.clone() });
            }
        }
        for wanted in best.first_choice() {
            if !self.seats.iter().any(|seat| seat.spec.seat == *wanted) {
                return Err(Refusal::SeatNotFound { seat: wanted.clone() });
            }
        }
        Ok(())
    }

    /// Whether all of a first choice can be had from these owners.
    pub(super) fn has_first_choice(
        &self,
        order: &BestOrder,
        most_minor: &MostMinor,
        from: &[Owner],
    ) -> bool {
        let house = House::of(self, order, most_minor, from);
        let wanted = order.best().first_choice();
        let may_have = |wanted: &SeatId| {
            let mut places = self.seats.iter().zip(&house.free);
            places.any(|(seat, is_free)| seat.spec.seat == *wanted && *is_free)
        };
        !wanted.is_empty() && wanted.iter().all(may_have)
    }

    /// The best seats of these owners.
    pub(super) fn best_seats(
        &self,
        order: &BestOrder,
        most_minor: &MostMinor,
        from: &[Owner],
    ) -> Result<Vec<SeatId>, Refusal> {
        let best = order.best();
        let quantity = best.quantity() as usize;
        if best.accessible() > 0 {
            return self.best_accessible(order, most_minor, from);
        }
        let house = House::of(self, order, most_minor, from);
        let apart = || match best.together() {
            Together::Must => None,
            Together::Prefer => (2..=quantity / 2).find_map(|groups| house.apart(groups, quantity)),
        };
        let chosen = house.together(quantity).map(|seats| vec![seats]).or_else(apart);
        if let Some(chosen) = chosen {
            let seats = chosen.into_iter().flatten();
            return Ok(seats.map(|seat| self.seats[seat].spec.seat.clone()).collect());
        }
        let free = house.free.iter().filter(|free| **free).count();
        let longest = house.runs().iter().map(Range::len).max().unwrap_or(0);
        let count = |seats: usize| u32::try_from(seats).unwrap_or(u32::MAX);
        let (free, longest) = (count(free), count(longest));
        Err(if free < best.quantity() {
            Refusal::TooFewSeats { free }
        } else {
            Refusal::NotTogether { longest, free }
        })
    }
}

/// The seats, and which of them may be chosen.
pub(super) struct House<'a> {
    pub(super) seats: &'a [Seat],
    pub(super) free: Vec<bool>,
    /// Where the next seat is not beside: after each of these.
    ends: Vec<bool>,
    /// Whether single seats are refused.
    is_strict: bool,
}

impl<'a> House<'a> {
    fn of(oracle: &'a Oracle, order: &BestOrder, most_minor: &MostMinor, from: &[Owner]) -> Self {
        let best = order.best();
        let among = |names: &[Box<str>], name: &str| {
            names.is_empty() || names.iter().any(|other| other.as_ref() == name)
        };
        let named = |seat: &Seat| {
            order.beside().is_some_and(|beside| beside.seats().contains(&seat.spec.seat))
        };
        let affordable = |minor: &i64| best.price_max_minor().is_none_or(|most| *minor <= most);
        let free = oracle.seats.iter().map(|seat| {
            from.contains(&seat.owner)
                && among(best.categories(), &seat.spec.category)
                && among(best.sections(), &seat.spec.section)
                && most_minor.get(&seat.spec.category).is_some_and(affordable)
                && !named(seat)
                && oracle.is_by_itself(seat)
        });
        Self::with(oracle, free.collect())
    }

    /// The house with these seats to choose from.
    pub(super) fn with(oracle: &'a Oracle, free: Vec<bool>) -> Self {
        let mut ends = Vec::new();
        let mut length = 0;
        for (n, seat) in oracle.seats.iter().enumerate() {
            length += 1;
            let goes_on = oracle.seats.get(n + 1).is_some_and(|next| {
                let (one, other) = (&seat.spec, &next.spec);
                one.section == other.section
                    && one.row == other.row
                    && one.category == other.category
                    && !one.aisle
                    && length < MAX_SEATS_PER_SEGMENT
            });
            ends.push(!goes_on);
            length = if goes_on { length } else { 0 };
        }
        let is_strict = oracle.settings().single_seats == SingleSeats::Refuse;
        Self { seats: &oracle.seats, free, ends, is_strict }
    }

    /// Whether all of these may be chosen, and are side by side.
    pub(super) fn fits(&self, seats: &Range<usize>) -> bool {
        seats.end <= self.seats.len()
            && seats.clone().all(|seat| self.free[seat])
            && (seats.start..seats.end - 1).all(|seat| !self.ends[seat])
    }

    /// The segment that a seat is in.
    pub(super) fn segment(&self, seat: usize) -> Range<usize> {
        let first =
            (0..seat).rev().find(|before| self.ends[*before]).map_or(0, |before| before + 1);
        let last =
            (seat..).find(|after| self.ends[*after]).expect("the last seat ends its segment");
        first..last + 1
    }

    /// The runs of seats that may be chosen, none of which could be longer.
    fn runs(&self) -> Vec<Range<usize>> {
        let all = (0..self.seats.len())
            .flat_map(|first| (first + 1..=self.seats.len()).map(move |past| first..past));
        let fitting: Vec<_> = all.filter(|seats| self.fits(seats)).collect();
        let longer = |run: &Range<usize>| {
            let before = run.start.checked_sub(1).is_some_and(|start| self.fits(&(start..run.end)));
            before || self.fits(&(run.start..run.end + 1))
        };
        fitting.into_iter().filter(|run| !longer(run)).collect()
    }

    fn worth(&self, seats: &Range<usize>, runs: &[Range<usize>]) -> Worth {
        let run = runs.iter().find(|run| run.contains(&seats.start)).expect("they are in a run");
        let singles = [seats.start - run.start, run.end - seats.end];
        let worst = seats.clone().map(|seat| self.seats[seat].spec.rank).max();
        self.worth_of(worst.unwrap_or(0), singles.iter().filter(|side| **side == 1).count())
    }

    fn worth_of(&self, worst: u32, singles: usize) -> Worth {
        (self.is_strict && singles > 0, worst, singles)
    }

    /// What equal choices of one segment are told apart by.
    fn left(&self, seats: &Range<usize>, runs: &[Range<usize>]) -> std::cmp::Reverse<usize> {
        let segment = self.segment(seats.start);
        let left = runs.iter().filter(|run| segment.contains(&run.start)).map(|run| {
            if run.contains(&seats.start) {
                (seats.start - run.start).max(run.end - seats.end)
            } else {
                run.len()
            }
        });
        std::cmp::Reverse(left.max().unwrap_or(0))
    }

    pub(super) fn together(&self, quantity: usize) -> Option<Range<usize>> {
        let runs = self.runs();
        let starts = (0..self.seats.len()).map(|start| start..start + quantity);
        let fitting = starts.filter(|seats| self.fits(seats));
        fitting.min_by_key(|seats| {
            let segment = self.segment(seats.start);
            let rank = segment.clone().map(|seat| self.seats[seat].spec.rank).min();
            (self.worth(seats, &runs), rank, segment.start, self.left(seats, &runs), seats.start)
        })
    }

    /// Each seat's row, counted from the first.
    fn rows(&self) -> Vec<usize> {
        let mut rows = Vec::new();
        for (n, seat) in self.seats.iter().enumerate() {
            let row = match n.checked_sub(1).map(|before| (&self.seats[before].spec, rows[before]))
            {
                None => 0,
                Some((before, row)) => {
                    let same = before.section == seat.spec.section && before.row == seat.spec.row;
                    if same { row } else { row + 1 }
                }
            };
            rows.push(row);
        }
        rows
    }

    fn apart(&self, groups: usize, quantity: usize) -> Option<Vec<Range<usize>>> {
        let (runs, rows) = (self.runs(), self.rows());
        let wide: Vec<_> = runs.iter().filter(|run| run.len() > 1).collect();
        let mut found: Vec<(Worth, usize, Vec<Range<usize>>)> = Vec::new();
        for first in wide.iter().map(|run| rows[run.start]) {
            let section = &self.seats[rows.iter().position(|row| *row == first)?].spec.section;
            let mut near: Vec<_> = wide
                .iter()
                .filter(|run| (first..first + groups).contains(&rows[run.start]))
                .filter(|run| self.seats[run.start].spec.section == *section)
                .collect();
            near.sort_by_key(|run| (std::cmp::Reverse(run.len()), run.start));
            near.truncate(groups);
            if near.len() < groups || near.iter().map(|run| run.len()).sum::<usize>() < quantity {
                continue;
            }
            let (mut chosen, mut left) = (Vec::new(), quantity);
            for (nth, run) in near.iter().enumerate() {
                let size = run.len().min(left - 2 * (groups - nth - 1));
                left -= size;
                let choices = (run.start..=run.end - size).map(|start| start..start + size);
                chosen.extend(choices.min_by_key(|seats| {
                    (self.worth(seats, &runs), self.left(seats, &runs), seats.start)
                }));
            }
            let worths: Vec<Worth> = chosen.iter().map(|seats| self.worth(seats, &runs)).collect();
            let worst = worths.iter().map(|worth| worth.1).max().unwrap_or(0);
            let singles = worths.iter().map(|worth| worth.2).sum();
            found.push((self.worth_of(worst, singles), first, chosen));
        }
        found.into_iter().min_by_key(|(worth, first, _)| (*worth, *first)).map(|(.., it)| it)
    }
}
