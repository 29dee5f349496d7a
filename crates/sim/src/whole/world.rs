//! What is sold, and what everybody around the server has noted.

use super::accepted;
use super::client::{Answer, Asking};
use super::noted::{Act, Came, Scan, Scanned, Shown, Taken, Ticket, What};
use super::server::{Life, Server};
use crate::chance::Chance;
use onrush_core::Command;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId, InvalidId, PoolId, SeatId};
use onrush_core::question::BookingOf;
use onrush_core::settings::{Fees, RoomSettings, Settings};
use onrush_core::spec::{Access, CategorySpec, SeatSpec};
use onrush_core::tax::Tax;
use onrush_store::{Ask, Engine, Failure};
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How many of the latest bookings are young.
const YOUNG: usize = 5;

/// An id that is written here.
pub(super) fn id<T: FromStr<Err = InvalidId>>(text: &str) -> T {
    text.parse().expect("ids of the simulation are ids")
}

/// What is on sale: one event, or some at once that are alike.
pub(super) struct World {
    pub(super) events: Vec<EventId>,
    pub(super) settings: Settings,
    /// Whether those who came before the opening are served by lot.
    pub(super) is_drawn: bool,
    /// Whether draws are promised a public value, where there are some.
    promises: bool,
    pub(super) pool: PoolId,
    pub(super) capacity: u32,
    pub(super) price_minor: i64,
    pub(super) seats: u32,
    /// Whether units are sold as tickets of several types.
    pub(super) has_types: bool,
    pub(super) buyers: u32,
    /// How much buyers get back who give their booking back, in percent, if they may.
    pub(super) refund_percent: Option<u32>,
    /// Bookings that buyers wanted to give back, and when.
    given_back: Mutex<Vec<(BookingId, Instant)>>,
    /// Whether money goes back at the bank's own desk, too.
    pub(super) has_desk: bool,
    /// Of which bookings it did, and how much at once.
    back_at_desk: Mutex<Vec<(BookingId, i64)>>,
    /// Bookings that buyers were told of, in that order.
    held: Mutex<Vec<BookingId>>,
    /// How often each visitor asked for something to be held.
    wishes: Mutex<BTreeMap<String, u32>>,
    /// Where mail about bookings goes.
    addresses: Mutex<BTreeMap<BookingId, Address>>,
    /// Visitors, in the order in which they came.
    visitors: Mutex<Vec<String>>,
    /// What the organiser asked for, in that order.
    acts: Mutex<Vec<Act>>,
    /// Public values that were to be mixed into draws.
    public_values: Mutex<BTreeMap<EventId, String>>,
    /// Tickets that buyers have got.
    tickets: Mutex<Vec<Ticket>>,
    scans: Mutex<Vec<Scanned>>,
    /// Whether whoever pays gets a receipt.
    pub(super) has_receipts: bool,
    /// Receipts and credit notes that buyers were shown.
    shown: Mutex<Vec<Shown>>,
    /// Whether there is a box office.
    pub(super) has_till: bool,
    /// Money that the box office has taken, or wanted to.
    taken: Mutex<Vec<Taken>>,
    /// What buyers found wrong.
    complaints: Mutex<Vec<String>>,
}

/// Where mail about a booking goes.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) to: String,
    /// After how many losses the server has said that it knows, last.
    pub(super) known_after: Option<u64>,
}

/// What a key keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// The whole answer.
    Answer,
    /// The booking, which may have gone on since.
    Booking,
}

impl Kept {
    /// Whether a key means the same when it comes again.
    pub(super) fn is_same(self, first: &Answer, again: &Answer) -> bool {
        match self {
            Self::Answer => first == again,
            Self::Booking => ["booking", "lines", "amount_minor"]
                .iter()
                .all(|member| first.body[*member] == again.body[*member]),
        }
    }
}

impl World {
    /// The sale of a seed, for so many buyers if that is asked for.
    pub(super) fn of(seed: u64, buyers: Option<u32>) -> Self {
        let mut chance = Chance::of(seed, "world", 0);
        let mut settings = Settings::new("A sale", "EUR".parse().expect("a currency"));
        let drawn = *chance.pick(&[30, 60, 60, 120, 120, 600]);
        let buyers = buyers.unwrap_or(drawn);
        // What is sold, and how many may shop at a time, grows with the crowd.
        let times = (buyers / 60).max(1);
        settings.room = chance.percent(70).then(|| RoomSettings {
            capacity: *chance.pick(&[5, 20, 60]) * times,
            session_ms: 600_000,
            ..RoomSettings::default()
        });
        (settings.hold_ttl_ms, settings.hold_max_ms) =
            *chance.pick(&[(600_000, 1_800_000), (60_000, 120_000), (180_000, 600_000)]);
        settings.payment_window_ms = *chance.pick(&[600_000, 120_000]);
        settings.payment_attempts = *chance.pick(&[1, 3]);
        settings.max_per_user = Some(8);
        // A stream of its own, as for types.
        let mut cards = Chance::of(seed, "cards", 0);
        settings.max_per_card = cards.percent(30).then(|| *cards.pick(&[2, 4]));
        settings.fees =
            *chance.pick(&[Fees::default(), Fees { fixed_minor: 100, percent_bp: 500 }]);
        // A stream of its own, as for types. What is free at first may cost something later.
        let is_free = Chance::of(seed, "free of charge", 0).percent(10);
        if is_free {
            settings.fees = Fees::default();
        }
        // A stream of its own: sales without this limit are as they were before there was one. Where
        // there is one everybody gets mail, which takes its time.
        let is_limited = buyers <= 60 && Chance::of(seed, "payers", 0).percent(20);
        settings.max_per_email = is_limited.then_some(6);
        // A stream of its own, as for types.
        let mut taxes = Chance::of(seed, "taxes", 0);
        settings.tax = taxes
            .percent(60)
            .then(|| Tax { name: "VAT".into(), rate_bp: *taxes.pick(&[1_900, 700, 550]) });
        let count = *chance.pick(&[1, 1, 1, 2, 3]);
        let has_room = settings.room.is_some();
        Self {
            events: (0..count).map(|nth| id(["sale", "sale-2", "sale-3"][nth])).collect(),
            settings,
            pool: id("ga"),
            capacity: *chance.pick(&[10, 40, 200]) * times,
            price_minor: match *chance.pick(&[2_500, 999]) {
                _ if is_free => 0,
                price_minor => price_minor,
            },
            seats: *chance.pick(&[0, 12, 40]) * times,
            is_drawn: has_room && chance.percent(30),
            // A stream of its own, as for types.
            promises: Chance::of(seed, "promises", 0).percent(60),
            // A stream of its own: sales without types are as they were before there were any.
            has_types: Chance::of(seed, "types", 0).percent(40),
            buyers,
            refund_percent: {
                let mut refunds = Chance::of(seed, "refunds", 0);
                refunds.percent(60).then(|| *refunds.pick(&[50, 100, 33]))
            },
            given_back: Mutex::default(),
            has_desk: has_desk(seed),
            back_at_desk: Mutex::default(),
            held: Mutex::default(),
            wishes: Mutex::default(),
            addresses: Mutex::default(),
            visitors: Mutex::default(),
            acts: Mutex::default(),
            public_values: Mutex::default(),
            tickets: Mutex::default(),
            scans: Mutex::default(),
            has_receipts: has_receipts(seed),
            shown: Mutex::default(),
            // A stream of its own, as for types.
            has_till: Chance::of(seed, "box office", 0).percent(40),
            taken: Mutex::default(),
            complaints: Mutex::default(),
        }
    }

    /// Notes that a buyer was told of a booking.
    pub(super) fn note(&self, booking: &BookingId) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).push(booking.clone());
    }

    /// Notes how often a visitor asked for something to be held.
    pub(super) fn note_wishes(&self, user: String, count: u32) {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner).insert(user, count);
    }

    /// How often a visitor asked for something to be held, if they have come to an end.
    pub(super) fn wishes(&self, user: &str) -> Option<u32> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner).get(user).copied()
    }

    /// Notes where a buyer wants mail about a booking, and, if the server has said that it knows,
    /// after how many losses; it stays known until the next one.
    pub(super) fn note_address(&self, booking: &BookingId, to: &str, known_after: Option<u64>) {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        let address = Address { to: to.to_owned(), known_after: None };
        let address = addresses.entry(booking.clone()).or_insert(address);
        address.known_after = address.known_after.max(known_after);
    }

    /// Where mail about a booking goes, if its buyer has told.
    pub(super) fn address(&self, booking: &BookingId) -> Option<Address> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).get(booking).cloned()
    }

    /// Notes that a buyer wants to give a booking back.
    pub(super) fn note_given_back(&self, booking: &BookingId) {
        note(&self.given_back, (booking.clone(), Instant::now()));
    }

    /// Bookings that buyers wanted to give back.
    pub(super) fn given_back(&self) -> Vec<BookingId> {
        all(&self.given_back).into_iter().map(|(booking, _)| booking).collect()
    }

    /// Bookings that somebody wanted to be cancelled and was not refused, and since when.
    pub(super) fn called_off(&self) -> BTreeMap<BookingId, Instant> {
        let is_it = |act: &Act| act.what == What::Cancels && act.came != Came::Refused;
        let acts = self.acts().into_iter().filter(is_it);
        let acts = acts.filter_map(|act| Some((act.whom.parse::<BookingId>().ok()?, act.at)));
        let mut since = BTreeMap::new();
        for (booking, at) in acts.chain(all(&self.given_back)) {
            let first = since.entry(booking).or_insert(at);
            *first = at.min(*first);
        }
        since
    }

    /// Notes that money of a booking went back at the bank's desk.
    pub(super) fn note_back_at_desk(&self, booking: &BookingId, amount_minor: i64) {
        note(&self.back_at_desk, (booking.clone(), amount_minor));
    }

    /// One of the bookings of which money went back at the bank's desk, and how much at once.
    pub(super) fn any_back_at_desk(&self, chance: &mut Chance) -> Option<(BookingId, i64)> {
        any(&self.back_at_desk, chance)
    }

    pub(super) fn complain(&self, what: String) {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    pub(super) fn complaints(&self) -> Vec<String> {
        std::mem::take(&mut *self.complaints.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sees that a key means the same when it comes again. What was refused meanwhile was not kept.
    pub(super) fn compare(&self, asking: &Asking, kept: Kept, first: &Answer, again: &Answer) {
        if !kept.is_same(first, again) {
            let what = format!("{asking:?} was answered {first:?}, and again {again:?}");
            self.complain(what);
        }
    }

    /// One of the bookings there are.
    pub(super) fn any_booking(&self, chance: &mut Chance) -> Option<BookingId> {
        any(&self.held, chance)
    }

    /// Notes that a visitor came.
    pub(super) fn note_visitor(&self, user: &str) {
        note(&self.visitors, user.to_owned());
    }

    /// One of the visitors who came.
    pub(super) fn any_visitor(&self, chance: &mut Chance) -> Option<String> {
        any(&self.visitors, chance)
    }

    /// Notes what the organiser asks for, before anybody can do it; gives back its number.
    pub(super) fn note_act(&self, act: Act) -> usize {
        note(&self.acts, act)
    }

    /// Notes what came of it.
    pub(super) fn note_outcome(&self, act: usize, came: Came) {
        self.acts.lock().unwrap_or_else(PoisonError::into_inner)[act].came = came;
    }

    pub(super) fn acts(&self) -> Vec<Act> {
        all(&self.acts)
    }

    /// Which public value draws are promised, if there are some and they are.
    pub(super) fn promised(&self) -> Option<&'static str> {
        (self.is_drawn && self.promises)
            .then_some("the beacon's first pulse after the list is fixed")
    }

    /// Notes what is to be mixed into a draw.
    pub(super) fn note_public_value(&self, event: &EventId, value: String) {
        let mut values = self.public_values.lock().unwrap_or_else(PoisonError::into_inner);
        values.insert(event.clone(), value);
    }

    /// What was to be mixed into a draw, if anything was.
    pub(super) fn public_value(&self, event: &EventId) -> Option<String> {
        let values = self.public_values.lock().unwrap_or_else(PoisonError::into_inner);
        values.get(event).cloned()
    }

    /// Notes that somebody has got a ticket.
    pub(super) fn note_ticket(&self, ticket: Ticket) {
        note(&self.tickets, ticket);
    }

    /// One of the tickets there are.
    pub(super) fn any_ticket(&self, chance: &mut Chance) -> Option<Ticket> {
        any(&self.tickets, chance)
    }

    pub(super) fn tickets(&self) -> Vec<Ticket> {
        all(&self.tickets)
    }

    /// Notes that a ticket is shown, before anybody can be let in; gives back its number.
    pub(super) fn note_scan(&self, scan: Scanned) -> usize {
        note(&self.scans, scan)
    }

    /// Notes what the scanner said.
    pub(super) fn note_said(&self, scanned: usize, scan: Scan) {
        self.scans.lock().unwrap_or_else(PoisonError::into_inner)[scanned].scan = scan;
    }

    /// One of the bookings that buyers were told of last.
    pub(super) fn young_booking(&self, chance: &mut Chance) -> Option<BookingId> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        chance.any_of(&held[held.len().saturating_sub(YOUNG)..]).cloned()
    }

    /// Notes that the box office wants to sell something, before it can be done; gives back its number.
    pub(super) fn note_taken(&self, taken: Taken) -> usize {
        note(&self.taken, taken)
    }

    /// Notes what came of it.
    pub(super) fn note_taken_came(&self, taken: usize, came: Came) {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)[taken].came = came;
    }

    /// What the box office wanted to sell.
    pub(super) fn taken(&self) -> Vec<Taken> {
        all(&self.taken)
    }

    pub(super) fn scans(&self) -> Vec<Scanned> {
        all(&self.scans)
    }

    /// Notes that a buyer was shown a receipt or a credit note.
    pub(super) fn note_shown(&self, shown: Shown) {
        note(&self.shown, shown);
    }

    pub(super) fn shown(&self) -> Vec<Shown> {
        all(&self.shown)
    }

    pub(super) fn seat(number: u32) -> SeatId {
        id(&format!("s{number}"))
    }

    /// Has the engine sell the seats, whose plan is not drawn here.
    ///
    /// # Errors
    /// What stands in the way of it.
    pub(super) async fn add_seats(
        &self,
        server: &Arc<Server>,
        event: &EventId,
    ) -> Result<(), String> {
        let categories =
            vec![CategorySpec { name: "stalls".into(), price_minor: self.price_minor }];
        let seat = |number: u32| SeatSpec {
            seat: Self::seat(number),
            section: "stalls".into(),
            row: "A".into(),
            number: number.to_string().into(),
            category: "stalls".into(),
            rank: 0,
            aisle: false,
            access: Access::Anyone,
        };
        let seats: Vec<_> = (1..=self.seats).map(seat).collect();
        if seats.is_empty() {
            return Ok(());
        }
        let life = server.life().ok_or("the server is gone before there is a sale")?;
        insist(&life, event, &Command::AddSeats { categories, seats }).await
    }

    /// The event that this buyer wants to see.
    pub(super) fn event_of(&self, buyer: u32) -> &EventId {
        &self.events[buyer as usize % self.events.len()]
    }

    /// Where a booking stands; `None` if the engine knows of none.
    pub(super) async fn status(&self, server: &Arc<Server>, booking: &BookingId) -> Looked {
        let Some(life) = server.life() else { return Looked::Nothing };
        let question = BookingOf { booking: booking.clone(), user: None };
        match life.engine.ask(event_of(booking), question).await {
            Ok(answer) => Looked::There(answer.value.state.status()),
            Err(Failure::Refused(_)) => Looked::Gone,
            Err(_) => Looked::Nothing,
        }
    }
}

/// Whether whoever pays gets a receipt, in the sale of a seed. A stream of its own, as for types.
pub(super) fn has_receipts(seed: u64) -> bool {
    Chance::of(seed, "receipts", 0).percent(50)
}

/// Whether money goes back at the bank's own desk, too, in the sale of a seed. A stream of its own, as for
/// types. Not where files come back for good: a ledger that was put back may know a payment, and not what
/// the desk gave back of it since. Then it asks for that as well, under a key that stands for the rest:
/// gateways refuse, and here is no operator who adds up.
fn has_desk(seed: u64) -> bool {
    Chance::of(seed, "goes back at the desk", 0).percent(40) && !accepted::may_lose(seed)
}

/// The event that a booking is of, by its id.
pub(super) fn event_of(booking: &BookingId) -> EventId {
    id(booking.as_str().rsplit_once('.').map_or("", |(event, _)| event))
}

/// Notes one more, and gives back its number.
fn note<T>(list: &Mutex<Vec<T>>, one: T) -> usize {
    let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
    list.push(one);
    list.len() - 1
}

fn any<T: Clone>(list: &Mutex<Vec<T>>, chance: &mut Chance) -> Option<T> {
    chance.any_of(&list.lock().unwrap_or_else(PoisonError::into_inner)).cloned()
}

fn all<T: Clone>(list: &Mutex<Vec<T>>) -> Vec<T> {
    list.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Has a command of the organiser done; there is no other way for the sale to begin.
async fn insist(life: &Life, event: &EventId, command: &Command) -> Result<(), String> {
    loop {
        match life.engine.execute(event.clone(), command.clone()).await {
            Ok(_) => return Ok(()),
            Err(Failure::DiskLow) => sleep(Duration::from_secs(1)).await,
            Err(failure) => return Err(format!("no seats can be added: {failure}")),
        }
    }
}

/// What a look at a booking shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looked {
    There(HoldStatus),
    /// The engine knows of no such booking.
    Gone,
    /// Nobody answers.
    Nothing,
}
