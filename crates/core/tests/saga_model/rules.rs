//! The engine of the model: the real rules, with every state they get into kept once under a number.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use onrush_core::change::{BookingChange, HoldChange};
use onrush_core::command::CancelTerms;
use onrush_core::hold::{HoldState, OnDecline};
use onrush_core::ids::{BookingId, PaymentId, SeatId};
use onrush_core::lines::Lines;
use onrush_core::question::{BookingOf, EventNow};
use onrush_core::settings::Settings;
use onrush_core::spec::{Access, CategorySpec, Reason, SeatSpec};
use onrush_core::{Change, Command, Event, Phase, Time};
use std::sync::Mutex;

/// How long a hold lasts. Nothing else in the model has a length: a deadline is either reached or not.
const HOLD_TTL_MS: i64 = 1_000;

/// Who wants the seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    /// The buyer whose saga is modelled.
    Buyer,
    /// Somebody else, who pays at once or not at all.
    Competitor,
}

/// One thing asked of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Asked {
    Hold(Who),
    Begin(Who, u8),
    Fail(u8, DeclineThen),
    Confirm(Who, u8),
    /// With all of the money back, or none.
    CancelBuyers(Refunded),
    ReleaseCompetitors,
    CloseSale,
    Tick,
}

/// What a decline does to the hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DeclineThen {
    Keep,
    Release,
}

/// What a cancellation gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Refunded {
    All,
    Nothing,
}

/// Where a booking stands, payments by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Standing {
    Absent,
    Held,
    Paying(u8),
    Confirmed(u8),
    Released,
    /// With the payment that ran then, if it has not ended.
    Expired(Option<u8>),
    Cancelled(Refunded),
}

impl Standing {
    pub(crate) fn owns(self) -> bool {
        matches!(self, Self::Held | Self::Paying(_) | Self::Confirmed(_))
    }
}

/// What can be seen of an engine's state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) buyer: Standing,
    pub(crate) competitor: Standing,
    /// When the next hold runs out.
    pub(crate) hold_until_ms: Option<i64>,
    /// Whether the sale goes on.
    pub(crate) is_open: bool,
    /// When the next tick is due.
    pub(crate) tick_ms: Option<i64>,
}

/// What came of asking.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    /// The engine's state from then on.
    pub(crate) engine: u32,
    /// `None` if it was refused.
    pub(crate) refused: Option<&'static str>,
    /// How often the buyer's booking was confirmed by it.
    pub(crate) confirms: u8,
    /// Whether that was after its hold had run out.
    pub(crate) late: bool,
    /// Whether the feed tells of something that the saga's driver is woken for.
    pub(crate) wakes: bool,
}

/// Every state the rules were seen in, and every answer they gave.
pub(crate) struct Rules {
    book: Mutex<Book>,
}

struct Book {
    events: Vec<(Event, Facts)>,
    numbers: HashMap<String, u32, FixedState>,
    answers: HashMap<(u32, i64, Asked), Answer, FixedState>,
}

impl Rules {
    /// An open sale of one seat; it has number 0.
    pub(crate) fn new() -> Self {
        let mut event = Event::new("show".parse().expect("an id"));
        let settings = Settings {
            room: None,
            hold_ttl_ms: HOLD_TTL_MS,
            payment_window_ms: HOLD_TTL_MS,
            payment_attempts: 2,
            ..Settings::new("A show", "EUR".parse().expect("a currency"))
        };
        let seat = SeatSpec {
            seat: seat(),
            section: "stalls".into(),
            row: "A".into(),
            number: "1".into(),
            category: "stalls".into(),
            rank: 0,
            aisle: false,
            access: Access::Anyone,
        };
        let categories = vec![CategorySpec { name: "stalls".into(), price_minor: 100 }];
        for command in [
            Command::CreateEvent { settings: Box::new(settings) },
            Command::AddSeats { categories, seats: vec![seat] },
            Command::OpenSale { seed: None, public_value: None },
        ] {
            let decision = event.decide(Time(0), &command).expect("the sale opens");
            decision.changes.iter().for_each(|change| event.evolve(Time(0), change));
        }
        let mut book =
            Book { events: Vec::new(), numbers: HashMap::default(), answers: HashMap::default() };
        book.number(event);
        Self { book: Mutex::new(book) }
    }

    pub(crate) fn facts(&self, engine: u32) -> Facts {
        self.book.lock().expect("no panic before").events[engine as usize].1
    }

    /// Asks the rules, or looks up what they said before.
    pub(crate) fn ask(&self, engine: u32, now_ms: i64, asked: Asked) -> Answer {
        let mut book = self.book.lock().expect("no panic before");
        if let Some(answer) = book.answers.get(&(engine, now_ms, asked)) {
            return *answer;
        }
        let answer = book.ask(engine, Time(now_ms), asked);
        book.answers.insert((engine, now_ms, asked), answer);
        answer
    }
}

impl Book {
    fn ask(&mut self, engine: u32, at: Time, asked: Asked) -> Answer {
        let event = &self.events[engine as usize].0;
        let decision = match event.decide(at, &command(asked)) {
            Ok(decision) => decision,
            Err(refusal) => {
                let refused = Some(refusal.code());
                return Answer { engine, refused, confirms: 0, late: false, wakes: false };
            }
        };
        let mut next = Event::restore(event.id().clone(), event.snapshot()).expect("a snapshot");
        let (mut confirms, mut late, mut wakes) = (0, false, false);
        for change in &decision.changes {
            next.evolve(at, change);
            match change {
                Change::Booking(BookingChange::HoldConfirmed { booking, .. }) => {
                    confirms += u8::from(*booking == booking_of(Who::Buyer));
                }
                Change::Booking(BookingChange::HoldConfirmedLate { booking, .. }) => {
                    late = *booking == booking_of(Who::Buyer);
                    confirms += u8::from(late);
                }
                Change::Booking(BookingChange::PaymentBegun { booking, .. })
                | Change::Hold(HoldChange::HoldExpired { booking })
                | Change::Booking(BookingChange::ConfirmedCancelled { booking, .. }) => {
                    wakes |= *booking == booking_of(Who::Buyer);
                }
                _ => {}
            }
        }
        Answer { engine: self.number(next), refused: None, confirms, late, wakes }
    }

    /// The number of a state. Equal states have equal snapshots.
    fn number(&mut self, event: Event) -> u32 {
        let rows: Vec<_> = event.snapshot().collect();
        let text = serde_json::to_string(&rows).expect("rows are JSON");
        if let Some(number) = self.numbers.get(&text) {
            return *number;
        }
        event.check().unwrap_or_else(|broken| panic!("{broken:#?}"));
        let number = u32::try_from(self.events.len()).expect("there are few states");
        let facts = facts_of(&event);
        self.events.push((event, facts));
        self.numbers.insert(text, number);
        number
    }
}

fn facts_of(event: &Event) -> Facts {
    let of = |who| {
        let anyones = BookingOf { booking: booking_of(who), user: None };
        event.ask(Time(0), anyones).ok().map(|view| view.state)
    };
    let (buyer, competitor) = (of(Who::Buyer), of(Who::Competitor));
    let until = |state: &Option<HoldState>| Some(state.as_ref()?.until()?.0);
    Facts {
        hold_until_ms: [until(&buyer), until(&competitor)].into_iter().flatten().min(),
        is_open: event.ask(Time(0), EventNow).expect("an event").phase == Phase::Open,
        tick_ms: event.next_deadline().map(|due| due.0),
        buyer: standing(buyer),
        competitor: standing(competitor),
    }
}

fn standing(state: Option<HoldState>) -> Standing {
    let number = |payment: PaymentId| match payment.as_str().as_bytes() {
        [b'p', digit] => digit - b'0',
        other => panic!("a payment of the model is asked for, not {other:?}"),
    };
    match state {
        None => Standing::Absent,
        Some(HoldState::Held { .. }) => Standing::Held,
        Some(HoldState::Paying { payment, .. }) => Standing::Paying(number(payment)),
        Some(HoldState::Confirmed { payment, .. }) => {
            Standing::Confirmed(number(payment.expect("the seat is not free of charge")))
        }
        Some(HoldState::Released { .. }) => Standing::Released,
        Some(HoldState::Expired { payment, .. }) => Standing::Expired(payment.map(number)),
        Some(HoldState::Cancelled { refund_minor: 0, .. }) => {
            Standing::Cancelled(Refunded::Nothing)
        }
        Some(HoldState::Cancelled { .. }) => Standing::Cancelled(Refunded::All),
    }
}

fn seat() -> SeatId {
    "A-1".parse().expect("an id")
}

fn booking_of(who: Who) -> BookingId {
    match who {
        Who::Buyer => "b1".parse().expect("an id"),
        Who::Competitor => "b2".parse().expect("an id"),
    }
}

fn command(asked: Asked) -> Command {
    let user = |who| match who {
        Who::Buyer => "ann".parse().expect("an id"),
        Who::Competitor => "bob".parse().expect("an id"),
    };
    let payment = |number: u8| -> PaymentId { format!("p{number}").parse().expect("an id") };
    match asked {
        Asked::Hold(who) => {
            let lines = Lines::new(vec![], vec![seat()]).expect("lines");
            Command::Hold {
                booking: booking_of(who),
                user: user(who),
                lines,
                channels: Vec::new(),
                types: Default::default(),
            }
        }
        Asked::Begin(who, number) => Command::BeginPayment {
            booking: booking_of(who),
            user: user(who),
            payment: payment(number),
        },
        Asked::Fail(number, then) => Command::FailPayment {
            booking: booking_of(Who::Buyer),
            payment: payment(number),
            why: "declined".into(),
            then: match then {
                DeclineThen::Keep => OnDecline::Keep,
                DeclineThen::Release => OnDecline::Release,
            },
        },
        Asked::Confirm(who, number) => Command::Confirm {
            booking: booking_of(who),
            user: user(who),
            payment: Some(payment(number)),
        },
        Asked::CancelBuyers(refunded) => Command::CancelConfirmed {
            booking: booking_of(Who::Buyer),
            reason: Reason { by: "ann".into(), why: "ill".into() },
            terms: CancelTerms::Organiser {
                refund_minor: match refunded {
                    Refunded::All => None,
                    Refunded::Nothing => Some(0),
                },
            },
        },
        Asked::ReleaseCompetitors => {
            Command::Release { booking: booking_of(Who::Competitor), user: user(Who::Competitor) }
        }
        Asked::CloseSale => Command::Close,
        Asked::Tick => Command::Tick,
    }
}
