//! A small sale with something of everything: what the corpora of files and records begin with.

use onrush_core::ids::{PlaceId, ScanId, UserId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::snapshot::SnapshotRow;
use onrush_core::spec::{Access, CategorySpec, PoolSpec, Reason, SeatSpec};
use onrush_core::types::{AskedTypes, TicketType, TypePrice};
use onrush_core::{Change, Command, Event, Time};
use std::str::FromStr;

/// When it begins.
const BEGIN: Time = Time(1_790_000_000_000);
/// Between two commands.
const STEP_MS: i64 = 1_000;

/// The state that its decisions add up to, and the decisions.
#[derive(Debug)]
pub struct Sale {
    /// The state.
    pub event: Event,
    /// When each decision was made, and what changed.
    pub decisions: Vec<(Time, Vec<Change>)>,
}

impl Sale {
    /// The sale, from its creation on.
    ///
    /// # Panics
    /// If the rules refuse one of its commands.
    #[must_use]
    pub fn new() -> Self {
        let mut sale = Self { event: Event::new(id("e")), decisions: Vec::new() };
        setup().into_iter().chain(visitors()).chain(money()).for_each(|command| sale.run(&command));
        sale
    }

    /// The state's rows.
    #[must_use]
    pub fn rows(&self) -> Vec<SnapshotRow> {
        self.event.snapshot().collect()
    }

    fn run(&mut self, command: &Command) {
        let at = BEGIN.plus_ms(STEP_MS * self.decisions.len() as i64);
        let decision = self.event.decide(at, command);
        let changes = decision.unwrap_or_else(|why| panic!("{command:?}: {why}")).changes;
        changes.iter().for_each(|change| self.event.evolve(at, change));
        self.decisions.push((at, changes.into_vec()));
    }
}

impl Default for Sale {
    fn default() -> Self {
        Self::new()
    }
}

fn id<T: FromStr>(text: &str) -> T {
    text.parse().ok().expect("it is an id")
}

fn user(name: &str) -> UserId {
    id(name)
}

fn place(number: u128) -> PlaceId {
    PlaceId::from_u128(number)
}

fn reason(why: &str) -> Reason {
    Reason { by: "box office".into(), why: why.into() }
}

fn lines(pool: Option<(&str, u32)>, seats: &[&str]) -> Lines {
    let pools = pool.map(|(pool, quantity)| PoolLine { pool: id(pool), quantity });
    let seats = seats.iter().map(|seat| id(seat)).collect();
    Lines::new(pools.into_iter().collect(), seats).expect("they are lines")
}

fn types(of: Priced) -> Command {
    let one = |name: &str, price| TicketType {
        id: id(&name.to_lowercase()),
        name: name.into(),
        price,
        min: 0,
        max: None,
        proof: false,
    };
    let child = one("Child", TypePrice::PercentBp(5_000));
    let types = vec![
        one("Adult", TypePrice::PriceMinor(2_000)),
        TicketType { proof: true, ..child },
        TicketType { min: 2, max: Some(5), ..one("Group", TypePrice::LessMinor(300)) },
    ];
    Command::SetTypes { of, types, reason: reason("everybody is welcome") }
}

fn setup() -> Vec<Command> {
    let room = RoomSettings { capacity: 3, places_per_user: 2, ..RoomSettings::default() };
    let settings = Settings { room: Some(room), ..Settings::new("Tour", id("EUR")) };
    let pool = |pool, capacity| Command::AddPool {
        spec: PoolSpec { pool: id(pool), capacity, price_minor: 1_250 },
    };
    let seat = |seat: &str| SeatSpec {
        seat: id(seat),
        section: "Parkett".into(),
        row: "A".into(),
        number: seat[2..].into(),
        category: "front".into(),
        rank: 0,
        aisle: false,
        access: Access::Anyone,
    };
    vec![
        Command::CreateEvent { settings: Box::new(settings) },
        pool("ga", 20),
        pool("car", 5),
        Command::AddSeats {
            categories: vec![CategorySpec { name: "front".into(), price_minor: 5_000 }],
            seats: ["A-1", "A-2", "A-3", "A-4"].map(seat).into(),
        },
        Command::AdjustCapacity { pool: id("ga"), capacity: 19, reason: reason("a pillar") },
        Command::ChangePrice {
            of: Priced::Pool(id("ga")),
            price_minor: 2_000,
            later: vec![PriceStep { from: Time(9_000_000_000_000), price_minor: 2_500 }],
            reason: reason("early birds"),
        },
        types(Priced::Pool(id("ga"))),
        types(Priced::Category("front".into())),
        Command::Block { lines: lines(Some(("ga", 2)), &["A-4"]), reason: reason("the press") },
        Command::Unblock { lines: lines(Some(("ga", 1)), &[]), reason: reason("the press") },
    ]
}

fn visitors() -> Vec<Command> {
    let join = |name, number| Command::Join { place: place(number), user: user(name) };
    let arrive = |name, number| Command::Arrive { place: place(number), user: user(name) };
    vec![
        Command::OpenPrequeue,
        join("ann", 1),
        join("ben", 2),
        join("cem", 3),
        join("dot", 4),
        join("eve", 5),
        join("eve", 6),
        Command::Leave { place: place(6), user: user("eve") },
        Command::OpenSale { seed: None, public_value: None },
        Command::Tick,
        Command::Tick,
        Command::Tick,
        Command::See { place: place(4), user: user("dot") },
        arrive("ann", 1),
        arrive("ben", 2),
    ]
}

fn money() -> Vec<Command> {
    let hold = |booking, name, lines, types| Command::Hold {
        booking: id(booking),
        user: user(name),
        lines,
        channels: Vec::new(),
        types,
    };
    let pay = |booking, name, payment| Command::BeginPayment {
        booking: id(booking),
        user: user(name),
        payment: id(payment),
    };
    let children = AskedTypes::new(
        [(id("ga"), [(id("child"), 1)].into())].into(),
        [(id("A-1"), id("child"))].into(),
        Default::default(),
    );
    let children = children.expect("they are types");
    vec![
        hold("e.1", "ann", lines(Some(("ga", 2)), &["A-1"]), children),
        hold("e.2", "ann", lines(Some(("car", 1)), &[]), AskedTypes::default()),
        hold("e.3", "ben", lines(None, &["A-2"]), AskedTypes::default()),
        Command::Extend { booking: id("e.3"), user: user("ben"), extension: None },
        pay("e.1", "ann", "p.1"),
        Command::Confirm { booking: id("e.1"), user: user("ann"), payment: Some(id("p.1")) },
        Command::CheckIn { booking: id("e.1"), ticket: 1, scan: None },
        Command::CheckIn { booking: id("e.1"), ticket: 2, scan: Some(ScanId::from_u128(7)) },
        Command::Release { booking: id("e.2"), user: user("ann") },
        pay("e.3", "ben", "p.3"),
        Command::AdjustClaimed {
            claim: id("e.c2"),
            pool: id("car"),
            amount: 1,
            reason: reason("a partner"),
        },
        Command::RemoveVisitor { user: user("eve"), reason: reason("a robot"), ban: true },
    ]
}
