//! What every question must be answered with.

use super::Oracle;
use super::books::{Inside, Pool, Seat, Stay, Waiting, category_view};
use super::visitor::Found;
use crate::plan::EVENT;
use onrush_core::gaps::Gaps;
use onrush_core::ids::{BookingId, UserId};
use onrush_core::prices::Priced;
use onrush_core::question::{
    AvailabilityNow, BansAfter, BookingOf, BookingsOf, ClaimOf, EventNow, PlaceOf, Query, SeatsNow,
    View,
};
use onrush_core::spec::CategorySpec;
use onrush_core::view::{
    AdmissionState, AvailabilityView, BanView, CategoryView, DrawView, EventView, HoldView,
    PlaceState, PlaceView, PoolView, Units,
};
use onrush_core::{Refusal, Time};

impl Oracle {
    pub(super) fn view(&self, at: Time, query: &Query) -> Result<View, Refusal> {
        if self.settings.is_none() {
            return Err(self.nothing_there());
        }
        match query {
            Query::Event(EventNow) => Ok(View::Event(Box::new(self.event_view(at)))),
            Query::Availability(AvailabilityNow) => {
                Ok(View::Availability(Box::new(self.availability())))
            }
            Query::Seats(SeatsNow) => Ok(View::Seats(self.seats.iter().map(Seat::view).collect())),
            Query::Channels(_) => Ok(View::Channels(self.channel_views())),
            Query::Place(PlaceOf { user, place: None }) => self.first_place(at, user),
            Query::Place(PlaceOf { user, place: Some(place) }) => {
                match self.find_place(at, *place, user).ok_or(Refusal::PlaceNotFound)? {
                    Found::InLine(index) => Ok(View::Place(self.in_line(at, index))),
                    Found::InRoom(index) => Ok(View::Place(self.in_room(at, &self.inside[index]))),
                }
            }
            Query::Booking(BookingOf { booking, user }) => {
                let known = match user {
                    Some(user) => self.own(booking, user)?,
                    None => self.bookings.get(booking).ok_or(Refusal::ReservationNotFound)?,
                };
                Ok(View::Booking(known.view()))
            }
            Query::Bookings(BookingsOf { user, after, limit }) => {
                self.page(user, after.as_ref(), *limit).map(View::Bookings)
            }
            Query::Claim(ClaimOf { claim, user }) => {
                let known = self.claims.get(claim).ok_or(Refusal::ClaimNotFound)?;
                if user.is_some() && *user != known.user {
                    return Err(Refusal::ClaimNotFound);
                }
                Ok(View::Claim(known.clone()))
            }
            Query::Bans(BansAfter { after, at_most }) => {
                let later = |user: &&UserId| after.as_ref().is_none_or(|after| *user > after);
                let users = self.bans.keys().filter(later).take(*at_most as usize);
                Ok(View::Bans(users.map(|user| self.ban(user)).collect()))
            }
        }
    }

    fn ban(&self, user: &UserId) -> BanView {
        let (reason, at) = &self.bans[user];
        BanView { user: user.clone(), reason: reason.clone(), at: *at }
    }

    fn view_pool(&self, pool: &Pool) -> PoolView {
        let of = Priced::Pool(pool.spec.pool.clone());
        pool.view(self.other_prices(&of), self.type_views(&of, pool.spec.price_minor))
    }

    fn view_category(&self, category: &CategorySpec) -> CategoryView {
        let of = Priced::Category(category.name.clone());
        let types = self.type_views(&of, category.price_minor);
        category_view(category, &self.seats, self.other_prices(&of), types)
    }

    fn availability(&self) -> AvailabilityView {
        let categories = self.categories.iter();
        AvailabilityView {
            pools: self.pools.iter().map(|pool| self.view_pool(pool)).collect(),
            categories: categories.map(|it| self.view_category(it)).collect(),
        }
    }

    /// Whether the next in line would find what is reckoned for one, after all who may choose have
    /// taken as much. The last units are for one at a time.
    pub(super) fn admission(&self) -> AdmissionState {
        let stock = !self.pools.is_empty() || !self.seats.is_empty();
        let Some(room) = self.room().filter(|_| stock) else { return AdmissionState::GoesOn };
        let Units { free, held, .. } = self.units_in_all();
        let (free, held) = (u64::from(free) + self.free_for_the_line(), u64::from(held));
        let may_choose = |inside: &&Inside| {
            !matches!(inside.stay, Stay::Over) && self.live_of(&inside.user).is_empty()
        };
        let choosing = self.inside.iter().filter(may_choose).count() as u64;
        let left = i128::from(free) - i128::from(choosing) * i128::from(room.units_per_visitor);
        if left >= i128::from(room.units_per_visitor) || (choosing == 0 && free > 0) {
            AdmissionState::GoesOn
        } else if free + held > 0 {
            AdmissionState::Waits
        } else {
            AdmissionState::SoldOut
        }
    }

    fn units_in_all(&self) -> Units {
        let AvailabilityView { pools, categories } = self.availability();
        let parts = pools.iter().map(|it| it.units).chain(categories.iter().map(|it| it.units));
        parts.fold(Units::default(), |sum, part| Units {
            free: sum.free.saturating_add(part.free),
            held: sum.held.saturating_add(part.held),
            sold: sum.sold.saturating_add(part.sold),
            blocked: sum.blocked.saturating_add(part.blocked),
        })
    }

    fn event_view(&self, at: Time) -> EventView {
        let settings = self.settings().clone();
        let revealed = self.revealed.clone().unwrap_or_default();
        let draw = Self::commitment(&settings).map(|seed_hash| DrawView {
            seed_hash,
            entrants: self.entrants.map(|(count, ..)| count),
            entrants_hash: self.entrants.map(|(_, hash, ..)| hash),
            list_fixed_at: self.entrants.map(|(.., at)| at),
            seed: revealed.0,
            public_value: revealed.1,
        });
        EventView {
            event: EVENT.parse().expect("the event's id is one"),
            settings,
            phase: self.phase_at(at),
            waiting: self.waiting(),
            active: u32::try_from(self.inside.len()).unwrap_or(u32::MAX),
            places_taken: self.taken,
            units: self.units_in_all(),
            admission: self.admission(),
            draw,
            gaps: self.gaps(),
        }
    }

    /// The last 32 times that it was away, and all before together with the first of these.
    fn gaps(&self) -> Gaps {
        let (before, last) = self.away.split_at(self.away.len().saturating_sub(32));
        let mut gaps = last.to_vec();
        if let Some((_, first_ms)) = gaps.first_mut() {
            *first_ms += before.iter().map(|(_, gap_ms)| gap_ms).sum::<i64>();
        }
        Gaps::restore(gaps)
    }

    fn in_line(&self, at: Time, index: usize) -> PlaceView {
        let waiting = &self.line[index];
        let position = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let state = PlaceState::Queued {
            position: self.is_ordered().then_some(position),
            total: self.waiting(),
            lapses_at: self.lapses_at(waiting),
            see_due: self.is_sign_due(at, waiting),
        };
        PlaceView { place: waiting.place, number: waiting.number, state }
    }

    fn in_room(&self, at: Time, inside: &Inside) -> PlaceView {
        let lasts = inside.stay.lasts_at(at);
        let see_due = self.is_any_sign_due(at, &inside.user);
        let state = match inside.stay {
            Stay::Invited { until, arrive_by } if lasts => {
                PlaceState::Active { until, arrive_by: Some(arrive_by), see_due }
            }
            Stay::Active { until } if lasts => {
                PlaceState::Active { until, arrive_by: None, see_due }
            }
            Stay::Invited { .. } | Stay::Active { .. } | Stay::Over => {
                let live = self.live_of(&inside.user);
                let ends = live.iter().filter_map(|id| self.bookings[id].state.until());
                PlaceState::Ended { until: ends.max().unwrap_or(at) }
            }
        };
        PlaceView { place: inside.place, number: inside.number, state }
    }

    /// The session while it lasts, else the place that is served first, else the session.
    fn first_place(&self, at: Time, user: &UserId) -> Result<View, Refusal> {
        let session = self.session_of(user).map(|index| &self.inside[index]);
        if let Some(session) = session.filter(|session| session.stay.lasts_at(at)) {
            return Ok(View::Place(self.in_room(at, session)));
        }
        let waits = |waiting: &Waiting| {
            waiting.user == *user && self.lapses_at(waiting).is_none_or(|until| at < until)
        };
        if let Some(index) = self.line.iter().position(waits) {
            return Ok(View::Place(self.in_line(at, index)));
        }
        let session = session.ok_or(Refusal::PlaceNotFound)?;
        Ok(View::Place(self.in_room(at, session)))
    }

    fn page(
        &self,
        user: &UserId,
        after: Option<&BookingId>,
        limit: u32,
    ) -> Result<Vec<HoldView>, Refusal> {
        let mine = self.of_user.get(user).map_or(&[][..], Vec::as_slice);
        let from = match after {
            None => 0,
            Some(after) => {
                self.own(after, user)?;
                mine.iter().position(|id| id == after).map_or(mine.len(), |index| index + 1)
            }
        };
        Ok(mine[from..].iter().take(limit as usize).map(|id| self.bookings[id].view()).collect())
    }

    /// Every question that has an answer now.
    pub(super) fn all_queries(&self) -> Vec<Query> {
        let mut all = vec![
            EventNow.into(),
            AvailabilityNow.into(),
            SeatsNow.into(),
            BansAfter { after: None, at_most: u32::MAX }.into(),
        ];
        let waiting = self.line.iter().map(|it| (it.place, &it.user));
        let inside = self.inside.iter().map(|it| (it.place, &it.user));
        for (place, user) in waiting.chain(inside) {
            all.push(PlaceOf { user: user.clone(), place: Some(place) }.into());
        }
        for user in self.of_user.keys() {
            all.push(BookingsOf { user: user.clone(), after: None, limit: u32::MAX }.into());
        }
        for claim in self.claims.keys() {
            all.push(ClaimOf { claim: claim.clone(), user: None }.into());
        }
        all
    }
}
