//! Random sequences of commands, most of which mean something to the event they meet.

mod best;
mod claims;
mod ending;
mod money;
mod stock;
mod types;

use crate::random::Random;
use crate::truth::{Op, Truth};
use crate::world::{
    POOLS, SEATS, SEED, START, USERS, WRONG_SEED, World, booking, id, place, pool, price_change,
    public_value, risky_text, risky_value, seat, text, user,
};
use onrush_core::change::Change;
use onrush_core::hold::HoldState;
use onrush_core::ids::{BookingId, PlaceId, UserId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::question::EventNow;
use onrush_core::snapshot::{HoldRow, SnapshotRow};
use onrush_core::spec::{CategorySpec, Reason};
use onrush_core::view::{ClaimView, EventView};
use onrush_core::{Command, Event, Phase};

/// How sequences are made.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) seed: u64,
    /// How many commands.
    pub(crate) commands: usize,
    /// Whether everything due is dealt with at once (see [`Truth`]). The clock never goes back then.
    pub(crate) settles: bool,
    /// Groups of commands that are left out.
    pub(crate) without: Vec<String>,
}

/// A group of commands, as it is switched off.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Group {
    Organiser,
    Stock,
    Phase,
    Queue,
    Hold,
    Money,
    Claim,
    Visitor,
    Tick,
    Recover,
    Clock,
    Retry,
}

const GROUPS: [(Group, &str); 12] = [
    (Group::Organiser, "organiser"),
    (Group::Stock, "stock"),
    (Group::Phase, "phase"),
    (Group::Queue, "queue"),
    (Group::Hold, "hold"),
    (Group::Money, "money"),
    (Group::Claim, "claim"),
    (Group::Visitor, "visitor"),
    (Group::Tick, "tick"),
    (Group::Recover, "recover"),
    (Group::Clock, "clock"),
    (Group::Retry, "retry"),
];

/// What there is to aim at.
#[derive(Default)]
struct Known {
    waiting: Vec<(PlaceId, UserId)>,
    inside: Vec<(PlaceId, UserId)>,
    holds: Vec<HoldRow>,
    claims: Vec<ClaimView>,
    banned: Vec<UserId>,
}

struct Generator {
    random: Random,
    world: World,
    truth: Truth,
    known: Known,
    ops: Vec<Op>,
    settles: bool,
    /// The next new place, booking, claim and payment.
    fresh: [u64; 4],
    /// What was to be blocked, and why.
    blocked: Vec<(Lines, Reason)>,
    /// Prices and numbers are made for one kind of sequence each; this one likes large lines.
    large: bool,
}

/// A sequence, the same one for the same recipe.
pub(crate) fn sequence(recipe: &Recipe) -> Vec<Op> {
    let mut random = Random::new(recipe.seed);
    let mut world = World::new(&mut random);
    world.leave_out(&recipe.without);
    let truth = Truth::new(Event::new(id("e")), START, recipe.settles);
    let large = random.percent(10);
    let mut generator = Generator {
        random,
        world,
        truth,
        known: Known::default(),
        ops: Vec::new(),
        settles: recipe.settles,
        fresh: [0; 4],
        blocked: Vec::new(),
        large,
    };
    generator.set_up();
    let weights = [
        (2, Group::Organiser),
        (3, Group::Stock),
        (3, Group::Phase),
        (24, Group::Queue),
        (24, Group::Hold),
        (22, Group::Money),
        (8, Group::Claim),
        (3, Group::Visitor),
        (14, Group::Tick),
        (1, Group::Recover),
        (14, Group::Clock),
        (3, Group::Retry),
    ];
    let name =
        |group| GROUPS.iter().find(|(other, _)| *other == group).map_or("", |(_, name)| *name);
    let wanted = |group| !recipe.without.iter().any(|without| without == name(group));
    let weights: Vec<_> = weights.into_iter().filter(|(_, group)| wanted(*group)).collect();
    let commands = |ops: &[Op]| ops.iter().filter(|op| matches!(op, Op::Command(_))).count();
    let mut after_the_end = 0;
    while commands(&generator.ops) < recipe.commands && after_the_end < 60 {
        after_the_end += usize::from(generator.is_over());
        if after_the_end == 30 && wanted(Group::Phase) {
            after_the_end += 1;
            generator.end_for_good();
        }
        let group = generator.random.weighted(&weights);
        generator.step(group);
    }
    generator.ops
}

impl Generator {
    fn push(&mut self, op: Op) {
        match &op {
            Op::Clock(clock) => drop(self.truth.set_clock(*clock)),
            Op::Command(command) => drop(self.truth.run(command)),
            Op::Resend | Op::Refill => {}
        }
        self.ops.push(op);
    }

    fn ask(&mut self, command: Command) {
        self.push(Op::Command(Box::new(command)));
    }

    fn is_open(&self) -> bool {
        self.view().is_some_and(|view| view.phase == Phase::Open)
    }

    /// Whether the sale is over: little can happen then.
    fn is_over(&self) -> bool {
        let is_closed = self.view().is_some_and(|view| view.phase == Phase::Closed);
        is_closed || self.truth.event.archived_at().is_some()
    }

    fn view(&self) -> Option<Box<EventView>> {
        self.truth.event.ask(self.truth.now(), EventNow).ok()
    }

    /// Mostly an event with everything in it; sometimes things are missing, or come in another order.
    fn set_up(&mut self) {
        self.push(Op::Clock(START));
        if self.random.percent(20) {
            self.step(Group::Hold);
            self.step(Group::Queue);
        }
        let settings = Box::new(self.world.settings.clone());
        self.ask(Command::CreateEvent { settings });
        for name in &POOLS[..3] {
            let spec = self.world.pool_spec(name, &mut self.random);
            self.ask(Command::AddPool { spec });
        }
        let count = if self.random.percent(20) { 3 } else { SEATS };
        let seats = (0..count).map(|n| self.world.seat_spec(n)).collect();
        self.ask(Command::AddSeats { categories: self.world.categories(), seats });
        self.set_up_types();
        self.set_up_channels();
        if self.world.settings.room.is_some() && self.random.percent(60) {
            self.ask(Command::OpenPrequeue);
            for _ in 0..self.random.below(12) {
                self.step(Group::Queue);
            }
        }
        if self.random.percent(80) {
            self.open_sale();
        }
    }

    fn open_sale(&mut self) {
        let (drawn, promised) = (self.world.is_drawn(), self.world.is_promised());
        let closes_first = drawn && (self.random.percent(60) || promised);
        if closes_first {
            self.ask(Command::ClosePrequeue);
            if self.random.percent(50) {
                self.step(Group::Queue);
            }
        }
        let mut value =
            (closes_first && self.random.percent(50)).then(|| public_value(&mut self.random));
        if drawn && self.random.percent(20) {
            let seed = *self.random.pick(&[None, Some(WRONG_SEED)]);
            self.ask(Command::OpenSale { seed, public_value: value.clone() });
        }
        let seed = drawn.then_some(SEED);
        if promised {
            self.ask(Command::OpenSale { seed, public_value: None });
            value.get_or_insert_with(|| public_value(&mut self.random));
        }
        self.ask(Command::OpenSale { seed, public_value: value });
    }

    fn step(&mut self, group: Group) {
        self.look();
        match self.sensible(group) {
            Group::Organiser => self.organiser(),
            Group::Stock => self.stock(),
            Group::Phase => self.phase(),
            Group::Queue => self.queue(),
            Group::Hold => self.hold(),
            Group::Money => self.money(),
            Group::Claim => self.claim(),
            Group::Visitor => self.visitor(),
            Group::Tick => self.tick(),
            Group::Recover => {
                let gap_ms = *self.random.pick(&[1, 1_000, 1_234_567, 90_000_000, 0, -1]);
                self.ask(Command::Recover { gap_ms });
            }
            Group::Clock => self.clock(),
            Group::Retry => self.retry(),
        }
    }

    /// Mostly a group that means something now: who has no hold cannot pay, who is not in cannot hold.
    fn sensible(&mut self, group: Group) -> Group {
        let Some(view) = self.view() else { return group };
        if self.random.percent(10) {
            return group;
        }
        let nobody_is_in = view.settings.room.is_some() && self.known.inside.is_empty();
        match (group, view.phase) {
            (
                Group::Hold | Group::Money | Group::Claim,
                Phase::Scheduled | Phase::Prequeue | Phase::Paused,
            ) => *self.random.pick(&[Group::Phase, Group::Queue, Group::Clock, Group::Tick]),
            (Group::Hold | Group::Money | Group::Claim, _)
                if nobody_is_in && self.known.holds.is_empty() =>
            {
                *self.random.pick(&[Group::Queue, Group::Tick])
            }
            (Group::Money, _) if self.known.holds.is_empty() => Group::Hold,
            (Group::Queue, _) if view.settings.room.is_none() => Group::Hold,
            (group, _) => group,
        }
    }

    fn look(&mut self) {
        let mut known = Known::default();
        for row in self.truth.event.snapshot() {
            match row {
                SnapshotRow::Place(row) => known.waiting.push((row.place, row.user)),
                SnapshotRow::Session(row) => known.inside.push((row.place, row.user)),
                SnapshotRow::Hold(row) => known.holds.push(row),
                SnapshotRow::Claim(row) => known.claims.push(row),
                SnapshotRow::Ban(ban) => known.banned.push(ban.user),
                SnapshotRow::Gone(_)
                | SnapshotRow::Archived(_)
                | SnapshotRow::Event(_)
                | SnapshotRow::Channel(_)
                | SnapshotRow::Pool(_)
                | SnapshotRow::Category(_)
                | SnapshotRow::Types(_)
                | SnapshotRow::Seat(_) => {}
            }
        }
        self.known = known;
    }

    fn fresh(&mut self, kind: usize) -> u64 {
        self.fresh[kind] += 1;
        self.fresh[kind]
    }

    fn any_user(&mut self) -> UserId {
        user(self.random.below(USERS))
    }

    fn reason(&mut self) -> Reason {
        Reason { by: text(&mut self.random), why: risky_text(&mut self.random) }
    }

    /// One of few reasons, so that what is blocked can be unblocked.
    fn usual_reason(&mut self) -> Reason {
        let why = ["house", "tech: rig | \"x\"", "ünï"];
        Reason { by: "box office".into(), why: (*self.random.pick(&why)).into() }
    }

    fn lines(&mut self) -> Option<Lines> {
        let mut pools = Vec::new();
        let mut seats = Vec::new();
        let kind = self.random.below(10);
        if kind < 7 {
            for _ in 0..self.random.weighted(&[(6, 1), (2, 2), (1, 3)]) {
                let name = *self.random.pick(&[
                    "ga",
                    "ga",
                    "ga",
                    "vip",
                    "vouchers",
                    "deluxe.2026-12-24",
                    "nope",
                ]);
                let quantity = self.random.weighted(&[(5, 1), (3, 2), (1, 3), (1, 11)]);
                let quantity = if self.large { quantity * 77 } else { quantity };
                pools.push(PoolLine { pool: pool(name), quantity });
            }
        }
        if kind >= 5 {
            for _ in 0..=self.random.below(3) {
                let unknown = u64::from(self.random.percent(5));
                seats.push(seat(self.random.below(SEATS + unknown)));
            }
            seats.sort_unstable();
            seats.dedup();
        }
        Lines::new(pools, seats).ok()
    }

    fn organiser(&mut self) {
        match self.random.below(7) {
            6 if self.random.percent(45) => self.set_types(),
            6 => {
                let change = price_change(self.truth.now(), &mut self.random);
                self.ask(change);
            }
            0 => {
                let settings = Box::new(self.world.settings.clone());
                self.ask(Command::CreateEvent { settings });
            }
            1 | 2 => {
                let settings = self.world.other_settings(&mut self.random);
                let before = self.truth.event.snapshot().next();
                self.ask(Command::ChangeSettings { settings: Box::new(settings.clone()) });
                if self.truth.event.snapshot().next() != before {
                    self.world.settings = settings;
                }
            }
            3 => {
                let name = *self.random.pick(&POOLS);
                let mut spec = self.world.pool_spec(name, &mut self.random);
                if self.random.percent(10) {
                    spec.price_minor = *self.random.pick(&[-1, i64::MAX]);
                }
                self.ask(Command::AddPool { spec });
            }
            4 => {
                let name = *self.random.pick(&["ga", "ga", "vip", "vouchers", "nope"]);
                let most = *self.random.pick(&[0, 1, 3, 8, 10, 12, 1_000_000, 1_000_000_001]);
                let (pool, capacity, reason) = (pool(name), most, self.reason());
                self.ask(Command::AdjustCapacity { pool, capacity, reason });
            }
            _ => self.add_seats(),
        }
    }

    fn add_seats(&mut self) {
        let first = self.random.below(SEATS + 2);
        let mut seats: Vec<_> =
            (first..first + self.random.below(4)).map(|n| self.world.seat_spec(n)).collect();
        let mut categories = self.world.categories();
        match self.random.below(8) {
            0 => categories[0].price_minor += 1,
            1 => categories.clear(),
            2 => {
                categories.push(CategorySpec { name: risky_text(&mut self.random), price_minor: 5 })
            }
            3 => categories.push(categories[0].clone()),
            4 => seats.extend(seats.first().cloned()),
            5 => seats.iter_mut().for_each(|seat| seat.category = "unheard of".into()),
            6 => seats.iter_mut().for_each(|seat| seat.row = "é".repeat(501).into()),
            _ => {}
        }
        self.ask(Command::AddSeats { categories, seats });
    }

    fn phase(&mut self) {
        match self.random.below(12) {
            0 => self.ask(Command::OpenPrequeue),
            1 if self.world.may_close_prequeue() => self.ask(Command::ClosePrequeue),
            2 | 3 => self.open_sale(),
            4 | 8 if !self.is_open() => {
                let seed =
                    *self.random.pick(&[None, Some(SEED), Some(WRONG_SEED), Some(WRONG_SEED)]);
                let public_value = self.random.percent(50).then(|| risky_value(&mut self.random));
                self.ask(Command::OpenSale { seed, public_value });
            }
            5 | 6 => self.ask(Command::Pause),
            9 if self.random.percent(30) => {
                let reason = self.reason();
                self.ask(Command::Archive { reason });
            }
            // The end of a sale is the end of most that is interesting.
            7 if self.random.percent(25) => self.ask(Command::Close),
            _ => self.ask(Command::Resume),
        }
    }

    /// A place and its owner: one that waits or is in, else any.
    fn some_place(&mut self) -> (PlaceId, UserId) {
        let inside = self.random.percent(50);
        let known = if inside { &self.known.inside } else { &self.known.waiting };
        if !known.is_empty() && self.random.percent(85) {
            let (place, owner) = self.random.pick(known).clone();
            let owner = if self.random.percent(4) { self.any_user() } else { owner };
            return (place, owner);
        }
        let owner = self.random.below(USERS);
        let nth = self.random.below(self.fresh[0] + 1);
        (place(owner, nth), user(owner))
    }

    fn queue(&mut self) {
        match self.random.below(16) {
            0..=6 => {
                let owner = self.random.below(USERS);
                let nth = match self.random.below(5) {
                    0 => self.random.below(self.fresh[0] + 1),
                    _ => self.fresh(0),
                };
                self.ask(Command::Join { place: place(owner, nth), user: user(owner) });
            }
            7 | 8 => {
                let (place, user) = self.some_place();
                self.ask(Command::Leave { place, user });
            }
            9..=11 => {
                let (place, user) = self.some_place();
                self.ask(Command::See { place, user });
            }
            _ => {
                let (place, user) = self.some_place();
                self.ask(Command::Arrive { place, user });
            }
        }
    }

    /// A booking and its owner, mostly one in a state that `fits`.
    fn some_booking(
        &mut self,
        fits: impl Fn(&HoldState) -> bool,
    ) -> (BookingId, UserId, HoldState) {
        let fitting: Vec<_> = self.known.holds.iter().filter(|row| fits(&row.state)).collect();
        let all: Vec<_> = self.known.holds.iter().collect();
        let from = if !fitting.is_empty() && self.random.percent(80) { fitting } else { all };
        if from.is_empty() || self.random.percent(3) {
            let state = HoldState::Released { at: START };
            return (booking(self.random.below(self.fresh[1] + 2)), self.any_user(), state);
        }
        let row = (*self.random.pick(&from)).clone();
        let owner = if self.random.percent(4) { self.any_user() } else { row.terms.user.clone() };
        (row.terms.booking.clone(), owner, row.state)
    }

    /// Somebody who may buy, mostly.
    fn buyer(&mut self) -> UserId {
        if !self.known.inside.is_empty() && self.random.percent(85) {
            self.random.pick(&self.known.inside).1.clone()
        } else {
            self.any_user()
        }
    }

    fn hold(&mut self) {
        match self.random.below(14) {
            10..=13 => self.hold_best(),
            0..=5 => {
                let Some(lines) = self.lines_to_hold() else { return };
                let owner = self.buyer();
                let booking = self.new_booking();
                self.ask_hold(booking, owner, lines);
            }
            6 => {
                // The very same again, or nearly.
                let Some(row) = self.known.holds.last().cloned() else { return };
                let user =
                    if self.random.percent(20) { self.any_user() } else { row.terms.user.clone() };
                let lines = if self.random.percent(20) { self.lines() } else { None };
                let lines = lines.unwrap_or_else(|| row.terms.lines.clone());
                let types = self.types_again(&row, Some(&lines), 0);
                self.ask_hold_of(row.terms.booking.clone(), user, lines, types);
            }
            7 | 8 => {
                let (booking, user, _) = self.some_booking(|state| state.until().is_some());
                self.ask(Command::Release { booking, user });
            }
            _ => self.extend(),
        }
    }

    /// Removes somebody who has something, mostly; bans are lifted about as often as they are made.
    fn visitor(&mut self) {
        let banned = self.known.banned.clone();
        let reason = if self.random.percent(90) { self.usual_reason() } else { self.reason() };
        if !banned.is_empty() && self.random.percent(50) {
            let user = self.random.pick(&banned).clone();
            self.ask(Command::UnbanVisitor { user, reason });
            return;
        }
        let places = self.known.inside.iter().chain(&self.known.waiting).map(|(_, user)| user);
        let holds = self.known.holds.iter().map(|row| &row.terms.user);
        let known: Vec<_> = places.chain(holds).cloned().collect();
        let user = if known.is_empty() || self.random.percent(10) {
            self.any_user()
        } else {
            self.random.pick(&known).clone()
        };
        if self.random.percent(8) {
            self.ask(Command::UnbanVisitor { user, reason });
        } else {
            let ban = self.random.percent(40);
            self.ask(Command::RemoveVisitor { user, reason, ban });
        }
    }

    fn tick(&mut self) {
        let most = *self.random.pick(&[1, 1, 4, 12]);
        for done in 0..most {
            if done > 0 && !self.truth.is_due() {
                return;
            }
            self.ask(Command::Tick);
        }
    }

    fn clock(&mut self) {
        let now = self.truth.now();
        let due = self.truth.event.next_deadline().filter(|due| *due > now);
        let to = match (self.random.below(20), due) {
            (0..=6, Some(due)) => due,
            (7, Some(due)) => due.plus_ms(-1),
            (8, Some(due)) => due.plus_ms(1),
            (0..=10, _) => now.plus_ms(self.random.within(1, 20_000)),
            (11..=15, _) => now.plus_ms(self.random.within(1, 700_000)),
            (16, _) => now.plus_ms(self.random.within(1, 90_000_000)),
            (17, _) if !self.settles => now.plus_ms(-self.random.within(1, 60_000)),
            _ => now.plus_ms(1),
        };
        // A deadline may be years away; scores and days are not made for the far end of time.
        if to.since_ms(START) < 300 * 24 * 3_600_000 {
            self.push(Op::Clock(to));
        }
    }

    /// Something that was asked before: with the same ids, the same answer or the same refusal.
    fn retry(&mut self) {
        if self.random.percent(30) {
            self.push(Op::Resend);
            return;
        }
        let recent = self.ops.len().saturating_sub(30);
        let asked: Vec<_> = self.ops[recent..]
            .iter()
            .filter_map(|op| match op {
                Op::Command(command) => Some(command.clone()),
                Op::Clock(_) | Op::Resend | Op::Refill => None,
            })
            .collect();
        if let Some(last) = asked.last() {
            let command = if self.random.percent(50) { last } else { self.random.pick(&asked) };
            self.ask(*command.clone());
        }
    }
}

/// What a change is called in JSON, for counting what sequences reach.
pub(crate) fn kind_of(change: &Change) -> String {
    match serde_json::to_value(change).expect("a change is JSON") {
        serde_json::Value::String(kind) => kind,
        serde_json::Value::Object(object) => {
            object.keys().next().expect("a change has a kind").clone()
        }
        other => panic!("a change is written as {other}"),
    }
}
