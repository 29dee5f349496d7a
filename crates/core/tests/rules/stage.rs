//! One event under test: commands in, replies or refusals out, everything checked on the way.

use crate::shadow::Shadow;
use onrush_core::command::CancelTerms;
use onrush_core::ids::{BookingId, PlaceId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::question::{AvailabilityNow, BookingOf, PlaceOf};
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::spec::{Access, CategorySpec, PoolSpec, Reason, SeatSpec};
use onrush_core::view::{HoldView, PlaceState, PlaceView};
use onrush_core::{Change, Command, Event, Refusal, Reply, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// 2026-12-01T10:00:00Z: an on-sale starts on the hour.
pub(crate) const OPENING: Time = Time(1_796_119_200_000);

/// An event, its clock, and everything that happened to it.
pub(crate) struct Stage {
    pub(crate) event: Event,
    pub(crate) now: Time,
    pub(crate) journal: Vec<(Time, Change)>,
    /// How long the journal was after each decision: a decision is written as a whole or not at all.
    pub(crate) decisions: Vec<usize>,
    /// What follows every step of the rules, if anything does.
    shadow: Shadow,
}

impl Stage {
    /// An event with these settings that is not open yet.
    pub(crate) fn created(settings: Settings) -> Self {
        let mut stage = Self::replayed([]);
        stage.ok(Command::CreateEvent { settings: Box::new(settings) });
        stage
    }

    /// An event that these changes led to.
    pub(crate) fn replayed(changes: impl IntoIterator<Item = Change>) -> Self {
        let event = Event::new("show".parse().expect("an id"));
        let (journal, decisions, shadow) = <(Vec<_>, Vec<_>, Shadow)>::default();
        let mut stage = Self { event, now: OPENING, journal, decisions, shadow };
        for change in changes {
            stage.event.evolve(OPENING, &change);
            stage.journal.push((OPENING, change));
        }
        stage.shadow.replace(stage.now, &stage.event);
        stage
    }

    /// Goes on with another state of the event.
    pub(crate) fn replace(&mut self, event: Event) {
        self.event = event;
        self.shadow.replace(self.now, &self.event);
    }

    /// An open event without a waiting room: 10 of pool `ga`, and seats in row A, all
    /// free of charge.
    pub(crate) fn flash() -> Self {
        Self::open(Settings { room: None, ..settings() })
    }

    /// The same with a waiting room.
    pub(crate) fn with_room(room: RoomSettings) -> Self {
        Self::open(Settings { room: Some(room), ..settings() })
    }

    /// The same with these settings.
    pub(crate) fn open(settings: Settings) -> Self {
        let mut stage = Self::created(settings);
        stage.stock_up(0);
        stage.ok(Command::OpenSale { seed: None, public_value: None });
        stage
    }

    /// Adds 10 of pool `ga` and seats, at this price each.
    pub(crate) fn stock_up(&mut self, price_minor: i64) {
        let pool = "ga".parse().expect("an id");
        self.ok(Command::AddPool { spec: PoolSpec { pool, capacity: 10, price_minor } });
        let categories = vec![CategorySpec { name: "stalls".into(), price_minor }];
        let seats = (1..=4).map(|number| SeatSpec {
            seat: format!("A-{number}").parse().expect("an id"),
            section: "stalls".into(),
            row: "A".into(),
            number: number.to_string().into(),
            category: "stalls".into(),
            rank: 0,
            aisle: false,
            access: Access::Anyone,
        });
        self.ok(Command::AddSeats { categories, seats: seats.collect() });
    }

    /// Runs a command and applies what it changes.
    pub(crate) fn run(&mut self, command: Command) -> Result<Reply, Refusal> {
        let decision = self.event.decide(self.now, &command);
        self.shadow.follow(self.now, &command, &decision);
        let decision = decision?;
        for change in decision.changes {
            self.event.evolve(self.now, &change);
            self.journal.push((self.now, change));
        }
        self.check_reply(&decision.reply);
        self.decisions.push(self.journal.len());
        if self.decisions.len().is_multiple_of(1_000) {
            self.check();
        }
        Ok(decision.reply)
    }

    /// Checks that a reply tells of a booking or place what is told to who asks for it afterwards.
    #[track_caller]
    fn check_reply(&self, reply: &Reply) {
        if let Reply::Hold(view) = reply {
            let anyones = BookingOf { booking: view.terms.booking.clone(), user: None };
            assert_eq!(self.event.ask(self.now, anyones).as_ref(), Ok(view), "told and found");
        }
    }

    /// Runs a command that must be accepted.
    #[track_caller]
    pub(crate) fn ok(&mut self, command: Command) -> Reply {
        let reply = self.run(command.clone());
        reply.unwrap_or_else(|refusal| panic!("{command:?} was refused: {refusal:?}"))
    }

    /// Runs a command that must be refused with this code.
    #[track_caller]
    pub(crate) fn refused(&mut self, command: Command, code: &str) {
        match self.run(command.clone()) {
            Ok(reply) => panic!("{command:?} was accepted: {reply:?}"),
            Err(refusal) => assert_eq!(refusal.code(), code, "{command:?}: {refusal}"),
        }
    }

    /// Lets time pass and deals with everything that is due by then, each at its own time.
    pub(crate) fn pass_ms(&mut self, ms: i64) {
        let end = self.now.plus_ms(ms);
        self.tick();
        while let Some(due) = self.event.next_deadline().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.tick();
        }
        self.now = end;
        self.check();
    }

    /// Deals with everything that is due now.
    pub(crate) fn tick(&mut self) {
        while self.event.next_deadline().is_some_and(|due| due <= self.now) {
            let before = self.journal.len();
            self.ok(Command::Tick);
            assert!(self.journal.len() > before, "a tick that is due changes something");
        }
    }

    /// Checks every invariant, and that a snapshot and a replay give the same state.
    #[track_caller]
    pub(crate) fn check(&self) {
        self.event.check().unwrap_or_else(|broken| panic!("{broken:#?}"));
        self.shadow.check(self.now, &self.event);
    }

    /// Checks that both ways of recovery give the state at hand.
    #[track_caller]
    pub(crate) fn check_recovery(&self) {
        self.check();
        let rows: Vec<_> = self.event.snapshot().collect();
        let mut replayed = Event::new(self.event.id().clone());
        self.journal.iter().for_each(|(at, change)| replayed.evolve(*at, &read_back(change)));
        assert_eq!(replayed.snapshot().collect::<Vec<_>>(), rows, "a replay gives the same state");
        let restored =
            Event::restore(self.event.id().clone(), rows.iter().map(read_back).collect::<Vec<_>>())
                .expect("rows of a snapshot");
        restored.check().unwrap_or_else(|broken| panic!("{broken:#?}"));
        assert_eq!(
            restored.snapshot().collect::<Vec<_>>(),
            rows,
            "a snapshot gives the same state"
        );
        assert_eq!(restored.next_deadline(), self.event.next_deadline());
    }

    pub(crate) fn place(&self, user: &str) -> Result<PlaceView, Refusal> {
        let first = PlaceOf { user: user.parse().expect("an id"), place: None };
        self.event.ask(self.now, first)
    }

    /// The position of the user's first place; `None` in the room, and before a draw.
    #[track_caller]
    pub(crate) fn position(&self, user: &str) -> Option<u32> {
        match self.place(user).expect("a place").state {
            PlaceState::Queued { position, .. } => position,
            PlaceState::Active { .. } | PlaceState::Ended { .. } => None,
        }
    }

    pub(crate) fn is_active(&self, user: &str) -> bool {
        self.place(user).is_ok_and(|view| matches!(view.state, PlaceState::Active { .. }))
    }

    pub(crate) fn free(&self, pool: &str) -> u32 {
        let view = self.event.ask(self.now, AvailabilityNow).expect("an event");
        let pool = view.pools.iter().find(|view| view.pool.as_str() == pool);
        pool.expect("a pool").units.free
    }

    pub(crate) fn free_seats(&self) -> u32 {
        let view = self.event.ask(self.now, AvailabilityNow).expect("an event");
        view.categories.iter().map(|category| category.units.free).sum()
    }

    pub(crate) fn booking(&self, booking: &str) -> HoldView {
        let anyones = BookingOf { booking: booking.parse().expect("an id"), user: None };
        self.event.ask(self.now, anyones).expect("a booking")
    }

    pub(crate) fn status(&self, booking: &str) -> &'static str {
        self.booking(booking).state.status().into()
    }
}

/// What is left of it when it is written and read.
fn read_back<T: Serialize + DeserializeOwned>(it: &T) -> T {
    let text = serde_json::to_string(it).expect("JSON");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Settings with a waiting room, in which no limit of one visitor is in the way.
pub(crate) fn settings() -> Settings {
    Settings {
        room: Some(RoomSettings::default()),
        max_per_user: None,
        claim_ttl_max_ms: None,
        ..Settings::new("A show", "EUR".parse().expect("a currency"))
    }
}

pub(crate) fn reason() -> Reason {
    Reason { by: "box office".into(), why: "house seats".into() }
}

/// The n-th place there could be.
pub(crate) fn place_id(n: u128) -> PlaceId {
    PlaceId::from_u128(n)
}

pub(crate) fn join(n: u128, user: &str) -> Command {
    Command::Join { place: place_id(n), user: user.parse().expect("an id") }
}

pub(crate) fn leave(n: u128, user: &str) -> Command {
    Command::Leave { place: place_id(n), user: user.parse().expect("an id") }
}

pub(crate) fn arrive(n: u128, user: &str) -> Command {
    Command::Arrive { place: place_id(n), user: user.parse().expect("an id") }
}

pub(crate) fn lines(pools: &[(&str, u32)], seats: &[&str]) -> Lines {
    let pools = pools.iter().map(|(pool, quantity)| PoolLine {
        pool: pool.parse().expect("an id"),
        quantity: *quantity,
    });
    let seats = seats.iter().map(|seat| seat.parse().expect("an id"));
    Lines::new(pools.collect(), seats.collect()).expect("lines")
}

pub(crate) fn hold(booking: &str, user: &str, lines: Lines) -> Command {
    Command::Hold {
        booking: booking_id(booking),
        user: user.parse().expect("an id"),
        lines,
        channels: Vec::new(),
        types: Default::default(),
    }
}

/// Holds some of pool `ga`.
pub(crate) fn hold_ga(booking: &str, user: &str, quantity: u32) -> Command {
    hold(booking, user, lines(&[("ga", quantity)], &[]))
}

pub(crate) fn release(booking: &str, user: &str) -> Command {
    Command::Release { booking: booking_id(booking), user: user.parse().expect("an id") }
}

pub(crate) fn confirm(booking: &str, user: &str, payment: Option<&str>) -> Command {
    Command::Confirm {
        booking: booking_id(booking),
        user: user.parse().expect("an id"),
        payment: payment.map(|payment| payment.parse().expect("an id")),
    }
}

pub(crate) fn booking_id(booking: &str) -> BookingId {
    booking.parse().expect("an id")
}

pub(crate) fn begin(booking: &str, user: &str, payment: &str) -> Command {
    Command::BeginPayment {
        booking: booking_id(booking),
        user: user.parse().expect("an id"),
        payment: payment.parse().expect("an id"),
    }
}

/// Cancels as the organiser; `None` gives back all that was paid.
pub(crate) fn cancel(booking: &str, refund_minor: Option<i64>) -> Command {
    let terms = CancelTerms::Organiser { refund_minor };
    Command::CancelConfirmed { booking: booking_id(booking), reason: reason(), terms }
}

pub(crate) fn check_in(booking: &str, ticket: u32) -> Command {
    Command::CheckIn { booking: booking_id(booking), ticket, scan: None }
}
