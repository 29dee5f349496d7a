//! Buyers: what each does next, by what they were told.

use crate::asked::{Asked, Deal};
use crate::chance::Chance;
use crate::floor::Floor;
use crate::plan::id;
use crate::types;
use onrush_core::command::CancelTerms;
use onrush_core::hold::{HoldState, OnDecline};
use onrush_core::ids::{BookingId, ClaimId, ExtensionId, PayerId, PaymentId, PlaceId, UserId};
use onrush_core::payers::PayerBy;
use onrush_core::question::{BookingOf, BookingsOf, ClaimOf, PlaceOf, Query};
use onrush_core::view::{PlaceState, Reply};
use onrush_core::{Command, Refusal, Time};
use std::sync::Arc;

/// What a buyer does next.
pub(crate) enum Act {
    Ask(Command),
    Look(Query),
}

/// A booking as its buyer knows it.
#[derive(Debug)]
struct Mine {
    booking: BookingId,
    state: HoldState,
    amount_minor: i64,
}

/// What a buyer does at most.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    /// Buys and is done, then comes again.
    Buys,
    /// Holds and gives back, again and again.
    Wavers,
    /// Goes away without a word.
    Drops,
    /// Claims what is free of charge.
    Claims,
}

/// One buyer.
#[derive(Debug)]
pub(crate) struct Buyer {
    number: u32,
    pub(crate) user: UserId,
    chance: Chance,
    /// What is drawn about ticket types.
    types: Chance,
    /// What is drawn about payers.
    payers: Chance,
    manner: Manner,
    place: Option<PlaceId>,
    is_in: bool,
    bookings: Vec<Mine>,
    claims: Vec<ClaimId>,
    /// What they held last.
    wish: Option<Command>,
    fresh: u64,
    /// What was asked and never answered: it is asked again.
    unanswered: Option<Command>,
    pub(crate) wakes_at: Time,
    /// A deadline they were told of.
    deadline: Option<Time>,
}

impl Buyer {
    pub(crate) fn new(seed: u64, number: u32, user: UserId, at: Time) -> Self {
        let mut chance = Chance::of(seed, "buyer", number.into());
        let manner = chance.weighted(&[
            (6, Manner::Buys),
            (2, Manner::Wavers),
            (1, Manner::Drops),
            (2, Manner::Claims),
        ]);
        Self {
            number,
            user,
            chance,
            types: Chance::of(seed, "types", u64::from(number) + 1),
            payers: Chance::of(seed, "payers", u64::from(number)),
            manner,
            place: None,
            is_in: false,
            bookings: Vec::new(),
            claims: Vec::new(),
            wish: None,
            fresh: 0,
            unanswered: None,
            wakes_at: at,
            deadline: None,
        }
    }

    /// When they act next: after some thought, or right at a deadline.
    pub(crate) fn think(&mut self, now: Time, tempo_ms: i64) {
        self.wakes_at = now.plus_ms(self.chance.within(0, 2 * tempo_ms));
        if let Some(deadline) = self.deadline.filter(|deadline| *deadline > now)
            && self.chance.percent(15)
        {
            self.wakes_at = deadline.plus_ms(self.chance.within(-1, 1)).max(now);
        }
    }

    fn fresh(&mut self) -> u64 {
        self.fresh += 1;
        u64::from(self.number) << 32 | self.fresh
    }

    fn new_id(&mut self, kind: char) -> String {
        let fresh = self.fresh() & 0xffff_ffff;
        format!("{kind}{}.{fresh}", self.number)
    }

    pub(crate) fn act(&mut self, floor: &Floor) -> Act {
        if let Some(command) = self.unanswered.take() {
            return Act::Ask(command);
        }
        if self.chance.percent(12) {
            return Act::Look(self.look());
        }
        let command = self.command(floor);
        self.unanswered = Some(command.clone());
        Act::Ask(command)
    }

    fn look(&mut self) -> Query {
        let user = self.user.clone();
        match self.chance.below(6) {
            0 => {
                if let Some(mine) = self.chance.any_of(&self.bookings) {
                    let booking = mine.booking.clone();
                    return BookingOf { booking, user: Some(user) }.into();
                }
            }
            1 => return BookingsOf { user, after: None, limit: 5 }.into(),
            2 => {
                if let Some(claim) = self.chance.any_of(&self.claims) {
                    return ClaimOf { claim: claim.clone(), user: Some(user) }.into();
                }
            }
            3 => return PlaceOf { user, place: None }.into(),
            _ => {}
        }
        PlaceOf { user, place: self.place }.into()
    }

    fn command(&mut self, floor: &Floor) -> Command {
        if !self.bookings.is_empty() && self.chance.percent(75) {
            let index = self.chance.below(self.bookings.len() as u32) as usize;
            if let Some(command) = self.name_payer(floor, index).or_else(|| self.go_on(index)) {
                return command;
            }
        }
        if !floor.has_room || self.is_in {
            return self.shop(floor);
        }
        match self.place {
            None => self.join(),
            Some(place) => {
                let user = self.user.clone();
                match self.chance.below(20) {
                    0 => Command::Leave { place, user },
                    1 => Command::Arrive { place, user },
                    2 => self.join(),
                    3 => self.shop(floor),
                    _ => Command::See { place, user },
                }
            }
        }
    }

    fn join(&mut self) -> Command {
        let place =
            PlaceId::from_u128(u128::from(self.number + 1) << 96 | u128::from(self.fresh()));
        self.place = Some(place);
        Command::Join { place, user: self.user.clone() }
    }

    fn shop(&mut self, floor: &Floor) -> Command {
        if !floor.types.is_empty()
            && self.types.percent(4)
            && let Some(other) = self.same_with_other_types(floor)
        {
            return other;
        }
        let user = self.user.clone();
        if let Some(place) = self.place.filter(|_| floor.has_room) {
            match self.chance.below(20) {
                0 => return Command::Leave { place, user },
                1..=3 => return Command::Arrive { place, user },
                _ => {}
            }
        }
        let claims = self.manner == Manner::Claims || self.chance.percent(3);
        if let Some(pool) = self.chance.any_of(&floor.pools).filter(|_| claims) {
            if let Some(claim) = self.chance.any_of(&self.claims)
                && self.chance.percent(40)
            {
                return Command::Declaim { claim: claim.clone(), user };
            }
            let claim: ClaimId = id(&self.new_id('c'));
            self.claims.push(claim.clone());
            let quantity = *self.chance.pick(&[1, 1, 1, 2, 5, 0]);
            let ttl_ms = *self.chance.pick(&[None, None, Some(1), Some(60_000), Some(0)]);
            return Command::Claim { claim, user, pool: pool.clone(), quantity, ttl_ms };
        }
        if self.chance.percent(30)
            && let Some(order) = floor.best(&mut self.chance)
        {
            let booking = id(&self.new_id('b'));
            let channels = floor.some_channels(&mut self.chance);
            let best = order.best().quantity();
            let types = types::named(&mut self.types, floor, order.beside(), best);
            let order = Arc::new(order);
            let wish = Command::HoldBest { booking, user, order, channels, types };
            self.wish = Some(wish.clone());
            return wish;
        }
        match floor.wish(&mut self.chance) {
            Some(lines) => {
                let booking = id(&self.new_id('b'));
                let channels = floor.some_channels(&mut self.chance);
                let types = types::named(&mut self.types, floor, Some(&lines), 0);
                let wish = Command::Hold { booking, user, lines, channels, types };
                self.wish = Some(wish.clone());
                wish
            }
            None => self.join(),
        }
    }

    /// What they held last, with the types they name now.
    fn same_with_other_types(&mut self, floor: &Floor) -> Option<Command> {
        let mut other = self.wish.clone()?;
        if let Command::Hold { lines, types, .. } = &mut other {
            *types = types::named(&mut self.types, floor, Some(lines), 0);
        }
        if let Command::HoldBest { order, types, .. } = &mut other {
            let best = order.best().quantity();
            *types = types::named(&mut self.types, floor, order.beside(), best);
        }
        Some(other)
    }

    /// Says who pays for a booking, where payers have limits: often the buyer, often somebody else too.
    fn name_payer(&mut self, floor: &Floor, index: usize) -> Option<Command> {
        let limits = floor.settings.max_per_email.or(floor.settings.max_per_card);
        if limits.is_none() || !self.payers.percent(35) {
            return None;
        }
        let who = if self.payers.percent(50) { self.number } else { self.payers.below(4) };
        let payer = PayerId::from_u128(u128::from(who) << 96 | 7);
        let by = *self.payers.pick(&PayerBy::ALL);
        let (booking, user) = (self.bookings[index].booking.clone(), self.user.clone());
        Some(Command::NamePayer { booking, user, by, payer })
    }

    /// The next thing to do about a booking, if there is any.
    fn go_on(&mut self, index: usize) -> Option<Command> {
        let user = self.user.clone();
        let booking = self.bookings[index].booking.clone();
        let amount_minor = self.bookings[index].amount_minor;
        match self.bookings[index].state.clone() {
            HoldState::Held { .. } => {
                let gives_back = if self.manner == Manner::Wavers { 60 } else { 4 };
                if self.chance.percent(gives_back) {
                    return Some(Command::Release { booking, user });
                }
                if self.chance.percent(10) {
                    // Whoever asked for nothing new in between asks under the same key.
                    let named = !self.fresh.is_multiple_of(3);
                    let extension = named.then(|| ExtensionId::from_u128(self.fresh.into()));
                    return Some(Command::Extend { booking, user, extension });
                }
                if self.manner == Manner::Drops && self.chance.percent(50) {
                    return None;
                }
                if amount_minor == 0 && self.chance.percent(95) || self.chance.percent(2) {
                    return Some(Command::Confirm { booking, user, payment: None });
                }
                let payment = id(&self.new_id('p'));
                Some(Command::BeginPayment { booking, user, payment })
            }
            HoldState::Paying { payment, .. } => Some(self.pay(booking, payment)),
            HoldState::Confirmed { payment, .. } => match self.chance.below(30) {
                0 => {
                    let reason = crate::organiser::reason(&mut self.chance);
                    let at_least_minor = match self.chance.below(4) {
                        0 => Some(amount_minor),
                        1 => Some(amount_minor / 2),
                        _ => None,
                    };
                    let terms = CancelTerms::Buyer { user, at_least_minor };
                    Some(Command::CancelConfirmed { booking, reason, terms })
                }
                1 => Some(Command::Confirm { booking, user, payment }),
                _ => None,
            },
            HoldState::Expired { payment: Some(payment), .. } => Some(self.pay(booking, payment)),
            HoldState::Released { .. }
            | HoldState::Expired { payment: None, .. }
            | HoldState::Cancelled { .. } => {
                if self.chance.percent(90) {
                    self.bookings.swap_remove(index);
                }
                None
            }
        }
    }

    /// What the gateway says of a payment, or what the buyer does meanwhile.
    fn pay(&mut self, booking: BookingId, payment: PaymentId) -> Command {
        let user = self.user.clone();
        match self.chance.below(20) {
            0..=11 => Command::Confirm { booking, user, payment: Some(payment) },
            12..=16 => {
                let then = *self.chance.pick(&[OnDecline::Keep, OnDecline::Release]);
                Command::FailPayment { booking, payment, why: "declined".into(), then }
            }
            17 => Command::BeginPayment { booking, user, payment: id(&self.new_id('p')) },
            18 => Command::Release { booking, user },
            _ => Command::Confirm { booking, user, payment: None },
        }
    }

    /// Hears an answer.
    pub(crate) fn hear(&mut self, asked: &Asked) {
        let Deal::Command { command, said, .. } = &asked.deal else {
            return self.hear_view(asked);
        };
        if self.unanswered.as_ref() == Some(command) {
            self.unanswered = None;
        }
        match said {
            Ok(Reply::Place(view)) => self.hear_place(&view.state),
            Ok(Reply::Left(_)) => self.outside(),
            Ok(Reply::Hold(view)) => {
                let terms = &view.terms;
                if terms.user != self.user {
                    return;
                }
                self.deadline = view.state.until().or(self.deadline);
                let known = self.bookings.iter().position(|mine| mine.booking == terms.booking);
                let mine = Mine {
                    booking: terms.booking.clone(),
                    state: view.state.clone(),
                    amount_minor: terms.amount_minor,
                };
                match known {
                    Some(index) => self.bookings[index] = mine,
                    None => self.bookings.push(mine),
                }
                if self.bookings.len() > 12 {
                    self.bookings.remove(0);
                }
            }
            Ok(Reply::Claim(_) | Reply::Removed(_) | Reply::Done) => {
                if self.claims.len() > 6 {
                    self.claims.remove(0);
                }
            }
            Err(refusal) => self.hear_no(command, refusal),
        }
    }

    fn hear_view(&mut self, asked: &Asked) {
        let Deal::Look { shown, .. } = &asked.deal else { return };
        match shown {
            Ok(onrush_core::View::Place(view)) => {
                self.place = Some(view.place);
                self.hear_place(&view.state);
            }
            Err(Refusal::PlaceNotFound) => self.outside(),
            Ok(_) | Err(_) => {}
        }
    }

    fn hear_place(&mut self, state: &PlaceState) {
        match state {
            PlaceState::Queued { lapses_at, .. } => {
                self.is_in = false;
                self.deadline = lapses_at.or(self.deadline);
            }
            PlaceState::Active { until, arrive_by, see_due: _ } => {
                self.is_in = true;
                self.deadline = Some(arrive_by.unwrap_or(*until));
            }
            PlaceState::Ended { .. } => self.is_in = false,
        }
    }

    fn outside(&mut self) {
        self.place = None;
        self.is_in = false;
    }

    fn hear_no(&mut self, command: &Command, refusal: &Refusal) {
        match refusal {
            Refusal::AlreadyInQueue { place } => self.place = Some(*place),
            Refusal::PlaceNotFound | Refusal::NotYourTurn | Refusal::SessionOver => self.outside(),
            Refusal::Duplicate { .. } if self.chance.percent(50) => self.outside(),
            Refusal::AlreadyReleased
            | Refusal::HoldExpired
            | Refusal::ReservationNotFound
            | Refusal::TooManyAttempts { .. } => {
                let gone = match command {
                    Command::Extend { booking, .. }
                    | Command::Release { booking, .. }
                    | Command::NamePayer { booking, .. }
                    | Command::BeginPayment { booking, .. }
                    | Command::FailPayment { booking, .. }
                    | Command::Confirm { booking, .. } => booking,
                    _ => return,
                };
                self.bookings.retain(|mine| mine.booking != *gone);
            }
            _ => {}
        }
    }

    /// Hears that it is their turn.
    pub(crate) fn admitted(&mut self, place: PlaceId, until: Time) {
        self.place = Some(place);
        self.is_in = true;
        self.deadline = Some(until);
    }
}
