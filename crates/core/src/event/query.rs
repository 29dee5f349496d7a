//! What can be asked without changing anything.

use super::Event;
use crate::ids::{BookingId, UserId};
use crate::question::{BansAfter, BookingOf, BookingsOf, ClaimOf, PlaceOf, Query, Question, View};
use crate::refusal::Refusal;
use crate::seats::{Seat, SeatState};
use crate::segments::SegmentView;
use crate::settings::Settings;
use crate::time::Time;
use crate::view::{AdmissionState, AvailabilityView, EventView, HoldView, SeatView, Units};

impl Event {
    /// Answers a question about the state at `at`.
    ///
    /// # Errors
    /// `EVENT_NOT_FOUND`, `EVENT_ARCHIVED`, `PLACE_NOT_FOUND`, `RESERVATION_NOT_FOUND`,
    /// `CLAIM_NOT_FOUND`.
    pub fn query(&self, at: Time, query: &Query) -> Result<View, Refusal> {
        if self.settings.is_none() {
            return Err(self.missing());
        }
        match query {
            Query::Event(_) => self.view_event(at).map(|view| View::Event(Box::new(view))),
            Query::Availability(_) => Ok(View::Availability(Box::new(AvailabilityView {
                pools: self.stock.iter().map(|pool| self.view_pool(pool)).collect(),
                categories: self.seats.categories().map(|it| self.view_category(it)).collect(),
            }))),
            Query::Seats(_) => {
                Ok(View::Seats(self.seats.iter().map(|seat| self.view_seat(seat)).collect()))
            }
            Query::Channels(_) => Ok(View::Channels(self.channels.iter().cloned().collect())),
            Query::Place(PlaceOf { user, place: None }) => {
                self.view_first_place(at, user).map(View::Place)
            }
            Query::Place(PlaceOf { user, place: Some(place) }) => {
                self.view_place(at, *place, user).map(View::Place)
            }
            Query::Booking(BookingOf { booking, user: Some(user) }) => {
                self.booking_of(booking, user).map(|hold| View::Booking(hold.view()))
            }
            Query::Booking(BookingOf { booking, user: None }) => {
                let hold = self.bookings.get(booking).ok_or(Refusal::ReservationNotFound)?;
                Ok(View::Booking(hold.view()))
            }
            Query::Bookings(BookingsOf { user, after, limit }) => {
                self.view_bookings(user, after.as_ref(), *limit).map(View::Bookings)
            }
            Query::Claim(ClaimOf { claim, user }) => {
                let known = self.claims.get(claim).ok_or(Refusal::ClaimNotFound)?;
                let allowed = user.is_none() || *user == known.user;
                if allowed { Ok(View::Claim(known.clone())) } else { Err(Refusal::ClaimNotFound) }
            }
            Query::Bans(BansAfter { after, at_most }) => {
                let bans = self.bans.after(after.as_ref()).take(*at_most as usize);
                Ok(View::Bans(bans.collect()))
            }
        }
    }

    /// Which seats are side by side, in the order in which they were added.
    pub fn segments(&self) -> impl Iterator<Item = SegmentView> {
        self.seats.segments()
    }

    /// Answers a question about the state at `at` with an answer of its own type.
    ///
    /// # Errors
    /// As [`Self::query`].
    ///
    /// # Panics
    /// Never: each question has one kind of answer.
    pub fn ask<Q: Question>(&self, at: Time, question: Q) -> Result<Q::Answer, Refusal> {
        let view = self.query(at, &question.into())?;
        Ok(view.try_into().expect("a question has one kind of answer"))
    }

    fn view_event(&self, at: Time) -> Result<EventView, Refusal> {
        let settings = self.settings.clone().ok_or(Refusal::EventNotFound)?;
        let mut units = self.stock.totals().units();
        for part in self.seats.categories().map(|category| category.units) {
            units.free = units.free.saturating_add(part.free);
            units.held = units.held.saturating_add(part.held);
            units.sold = units.sold.saturating_add(part.sold);
            units.blocked = units.blocked.saturating_add(part.blocked);
        }
        Ok(EventView {
            event: self.id.clone(),
            phase: self.phase_at(at),
            waiting: self.room.waiting(),
            active: u32::try_from(self.room.sessions.len()).unwrap_or(u32::MAX),
            places_taken: self.room.taken,
            units,
            admission: self.admission(&settings, units),
            draw: settings.seed_hash().map(|seed_hash| self.room.draw_view(seed_hash)),
            gaps: self.gaps.clone(),
            settings,
        })
    }

    fn admission(&self, settings: &Settings, units: Units) -> AdmissionState {
        let room = settings.room.as_ref().filter(|_| self.has_stock());
        room.map_or(AdmissionState::GoesOn, |room| {
            let choosing = self.room.sessions.choosing();
            AdmissionState::of(self.units_for_the_line(), u64::from(units.held), choosing, room)
        })
    }

    fn view_seat(&self, seat: &Seat) -> SeatView {
        let view = SeatView {
            seat: seat.spec.seat.clone(),
            category: self.seats.category_of(seat).name.clone(),
            status: seat.state.status(),
            booking: None,
            why: None,
            channel: None,
        };
        match &seat.state {
            SeatState::Free => view,
            SeatState::Held(idx) | SeatState::Sold(idx) => {
                SeatView { booking: Some(self.bookings[*idx].terms.booking.clone()), ..view }
            }
            SeatState::Blocked(why) => SeatView { why: Some(why.clone()), ..view },
            SeatState::Allotted(number) => {
                SeatView { channel: Some(self.channels.id(*number)), ..view }
            }
        }
    }

    fn view_bookings(
        &self,
        user: &UserId,
        after: Option<&BookingId>,
        limit: u32,
    ) -> Result<Vec<HoldView>, Refusal> {
        let after = match after {
            None => None,
            Some(after) => {
                self.booking_of(after, user)?;
                Some(self.bookings.find(after))
            }
        };
        let last = self.user(user).and_then(|user| user.last_hold);
        let page = self.bookings.of_user_after(last, after).take(limit as usize);
        Ok(page.map(|idx| self.bookings[idx].view()).collect())
    }
}
