//! One run: buyers, the organiser, the clock and the faults think of steps, and the world takes
//! them.

use crate::asked::{Asked, Step, Who};
use crate::buyers::{Act, Buyer};
use crate::chance::Chance;
use crate::counts::Counts;
use crate::faults::{FAULTS, Fault, Faults};
use crate::floor::Floor;
use crate::judges::Violation;
use crate::organiser::Organiser;
use crate::plan::{Plan, START};
use crate::world::World;
use onrush_core::ids::UserId;
use onrush_core::{Command, Phase, Time};

/// Commands that are still asked once the sale is closed.
const AFTER_THE_END: u64 = 80;
/// The same where the event may be archived: by then nobody waits, is in or holds anything.
const UNTIL_ARCHIVED: u64 = 400;
/// How late a clock that drifts may be.
const MOST_DRIFT_MS: i64 = 50_000;

/// A clock that is corrected by no more moves nothing on.
const UNNOTICED_MS: i64 = 60_000;

/// How a run went.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// What happened.
    pub counts: Counts,
    /// How often each fault came, in the order of [`FAULTS`].
    pub faults: [u64; FAULTS.len()],
    /// The hash of everything that could be observed.
    pub observed: String,
    /// What went wrong, if anything did.
    pub violation: Option<Violation>,
    /// All steps, if they were to be recorded.
    pub steps: Vec<Step>,
}

/// One run of one seed.
pub(crate) struct Run {
    pub(crate) world: World,
    plan: Plan,
    chance: Chance,
    faults: Faults,
    floor: Floor,
    organiser: Organiser,
    buyers: Vec<Buyer>,
    /// What the clock would show if nobody set it.
    now: Time,
    /// By how much it was set back.
    behind_ms: i64,
    /// When the process was last known to run.
    alive_at: Time,
    ticks_from: Time,
    late: Vec<(Time, Who, Command)>,
    pub(crate) steps: Option<Vec<Step>>,
    closed_at: Option<u64>,
}

impl Run {
    pub(crate) fn new(seed: u64, without: &[Fault], record: bool) -> Self {
        let plan = Plan::of(seed);
        let buyers = (0..).zip(&plan.users);
        let buyers = buyers.map(|(n, user)| Buyer::new(seed, n, user.clone(), START)).collect();
        Self {
            world: World::new(),
            chance: Chance::of(seed, "course", 0),
            faults: Faults::new(seed, without),
            floor: Floor::new(&plan),
            organiser: Organiser::new(&plan),
            buyers,
            now: START,
            behind_ms: 0,
            alive_at: START,
            ticks_from: START,
            late: Vec::new(),
            steps: record.then(Vec::new),
            closed_at: None,
            plan,
        }
    }

    pub(crate) fn faults(&self) -> [u64; FAULTS.len()] {
        self.faults.came()
    }

    /// Runs to the end of the sale.
    pub(crate) fn go(&mut self) -> Result<(), Violation> {
        while !self.is_over() {
            self.turn()?;
        }
        self.commit()?;
        self.world.audit()
    }

    fn is_over(&mut self) -> bool {
        let commands = self.world.counts().commands;
        if self.floor.phase == Phase::Closed {
            let since = *self.closed_at.get_or_insert(commands);
            let more = if self.organiser.archives() { UNTIL_ARCHIVED } else { AFTER_THE_END };
            return commands >= since + more;
        }
        commands >= self.plan.commands
    }

    fn take(&mut self, step: Step) -> Result<(), Violation> {
        if let Some(steps) = &mut self.steps {
            steps.push(step.clone());
        }
        self.world.step(step)
    }

    fn ask(&mut self, who: Who, command: Command) -> Result<(), Violation> {
        let at = self.clock();
        self.take(Step::Ask { at, who, command })
    }

    fn turn(&mut self) -> Result<(), Violation> {
        self.go_wrong()?;
        let wake = self.buyers.iter().map(|buyer| buyer.wakes_at).min().unwrap_or(self.now);
        let late = self.late.iter().map(|(at, ..)| *at).min();
        let deadline = self.world.next_deadline().map(|at| at.max(self.ticks_from));
        let next = late.map_or(wake, |late| late.min(wake));
        if !self.organiser.is_ready() {
            self.organise()?;
        } else if let Some(deadline) = deadline.filter(|deadline| *deadline <= next) {
            self.tick(deadline)?;
        } else {
            self.advance(next);
            if self.chance.percent(self.plan.organiser_percent) {
                self.organise()?;
            } else if late == Some(next) {
                self.deliver(next)?;
            } else {
                self.wake(next)?;
            }
        }
        let batch = self.plan.batch;
        if self.world.pending() as u32 >= batch || self.chance.below(batch) == 0 {
            self.commit()?;
            if self.chance.below(400) == 0 {
                self.take(Step::Snapshot)?;
            }
        }
        Ok(())
    }

    fn tick(&mut self, deadline: Time) -> Result<(), Violation> {
        if deadline > self.now && self.faults.comes(Fault::LateTick) {
            let late_ms = self.faults.chance(Fault::LateTick).within(1, 30_000);
            self.advance(deadline);
            self.ticks_from = self.now.plus_ms(late_ms);
            return Ok(());
        }
        self.advance(deadline);
        self.ask(Who::Clock, Command::Tick)
    }

    /// Lets time pass until `next`, by a clock that may go wrong.
    fn advance(&mut self, next: Time) {
        if next <= self.now {
            return;
        }
        let passed_ms = next.since_ms(self.now);
        self.now = next;
        if self.faults.comes(Fault::ClockDrift) {
            self.now = next.plus_ms((passed_ms / 100).min(MOST_DRIFT_MS));
        }
    }

    /// What the clock shows.
    fn clock(&self) -> Time {
        self.now.plus_ms(-self.behind_ms)
    }

    /// A clock that was set back is right again; by much, everything due moves on by as much.
    fn set_right(&mut self) -> Result<(), Violation> {
        let gap_ms = std::mem::take(&mut self.behind_ms);
        if gap_ms > UNNOTICED_MS { self.stand_still(0, gap_ms) } else { Ok(()) }
    }

    fn organise(&mut self) -> Result<(), Violation> {
        if self.organiser.is_ready() && self.chance.percent(20) {
            let (at, query) = (self.clock(), self.organiser.look());
            return self.take(Step::Look { at, who: Who::Organiser, query });
        }
        let command = self.organiser.act(&self.floor, self.floor.phase);
        self.ask(Who::Organiser, command)
    }

    fn deliver(&mut self, at: Time) -> Result<(), Violation> {
        let index = self.late.iter().position(|(late, ..)| *late == at);
        let (_, who, command) = self.late.swap_remove(index.expect("it was found before"));
        self.ask(who, command)
    }

    fn wake(&mut self, at: Time) -> Result<(), Violation> {
        let found = self.buyers.iter().position(|buyer| buyer.wakes_at == at);
        let index = found.expect("it was found before");
        let who = Who::Buyer(index as u32);
        let act = self.buyers[index].act(&self.floor);
        self.buyers[index].think(self.now, self.plan.tempo_ms);
        match act {
            Act::Look(query) => {
                let at = self.clock();
                self.take(Step::Look { at, who, query })
            }
            Act::Ask(command) if self.faults.comes(Fault::Late) => {
                let late_ms = self.faults.chance(Fault::Late).within(1, 3 * self.plan.tempo_ms);
                self.late.push((self.now.plus_ms(late_ms), who, command));
                Ok(())
            }
            Act::Ask(command) => {
                if self.faults.comes(Fault::Stale)
                    && let Some(stale) = self.stale()
                {
                    self.ask(who, stale)?;
                }
                if self.faults.comes(Fault::Doubled) {
                    self.ask(who, command.clone())?;
                }
                self.ask(who, command)
            }
        }
    }

    /// A command of before, or the same for somebody else.
    fn stale(&mut self) -> Option<Command> {
        let chance = self.faults.chance(Fault::Stale);
        let command = chance.any_of(&self.floor.asked)?.clone();
        if chance.percent(50) {
            return Some(command);
        }
        let user = chance.any_of(&self.floor.users)?.clone();
        Some(for_user(command, user))
    }

    fn go_wrong(&mut self) -> Result<(), Violation> {
        if self.faults.comes(Fault::ClockJump) {
            let chance = self.faults.chance(Fault::ClockJump);
            if chance.percent(50) {
                self.behind_ms += chance.within(1, 600_000);
            } else {
                self.now = self.now.plus_ms(chance.within(1, 30_000));
            }
        }
        if self.behind_ms > 0 && self.chance.percent(10) {
            self.set_right()?;
        }
        if self.faults.comes(Fault::Pause) {
            let gap_ms = self.faults.chance(Fault::Pause).within(2_000, 3_600_000);
            self.stand_still(gap_ms, gap_ms)?;
        }
        if self.faults.comes(Fault::Crash) {
            self.crash()?;
        }
        Ok(())
    }

    /// Time passes and nothing runs: everything due moves on by as much.
    fn stand_still(&mut self, away_ms: i64, gap_ms: i64) -> Result<(), Violation> {
        self.now = self.now.plus_ms(away_ms);
        for buyer in &mut self.buyers {
            buyer.wakes_at = buyer.wakes_at.max(self.now);
        }
        self.ask(Who::Clock, Command::Recover { gap_ms })
    }

    fn crash(&mut self) -> Result<(), Violation> {
        let from_snapshot = self.faults.chance(Fault::Crash).percent(70);
        let at = self.now;
        self.take(Step::Crash { at, from_snapshot })?;
        self.behind_ms = 0;
        let down_ms = if self.faults.comes(Fault::Downtime) {
            self.faults.chance(Fault::Downtime).within(1, 7_200_000)
        } else {
            0
        };
        // How long it was away counts from the last sign of life.
        let gap_ms = at.plus_ms(down_ms).since_ms(self.alive_at);
        if gap_ms > 0 { self.stand_still(down_ms, gap_ms) } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<(), Violation> {
        self.take(Step::Commit)?;
        self.alive_at = self.clock().max(self.world.at());
        let mut answers = std::mem::take(&mut self.world.answers);
        for asked in &answers {
            self.hear(asked);
        }
        answers.clear();
        self.world.answers = answers;
        Ok(())
    }

    fn hear(&mut self, asked: &Asked) {
        self.floor.see(asked);
        if let Who::Buyer(number) = asked.who {
            self.buyers[number as usize].hear(asked);
        }
        for (user, place, arrive_by) in std::mem::take(&mut self.floor.admitted) {
            let Some(buyer) = self.buyers.iter_mut().find(|buyer| buyer.user == user) else {
                continue;
            };
            buyer.admitted(place, arrive_by);
            if self.chance.percent(80) {
                let soon = self.now.plus_ms(self.chance.within(0, 1_000));
                buyer.wakes_at = buyer.wakes_at.min(soon);
            }
        }
    }
}

/// The same command, by somebody else. A place belongs to whoever joins with it, by contract.
fn for_user(command: Command, other: UserId) -> Command {
    match command {
        Command::Leave { place, .. } => Command::Leave { place, user: other },
        Command::See { place, .. } => Command::See { place, user: other },
        Command::Arrive { place, .. } => Command::Arrive { place, user: other },
        Command::Hold { booking, lines, channels, types, .. } => {
            Command::Hold { booking, lines, user: other, channels, types }
        }
        Command::HoldBest { booking, order, channels, types, .. } => {
            Command::HoldBest { booking, order, user: other, channels, types }
        }
        Command::Extend { booking, extension, .. } => {
            Command::Extend { booking, extension, user: other }
        }
        Command::Release { booking, .. } => Command::Release { booking, user: other },
        Command::NamePayer { booking, by, payer, .. } => {
            Command::NamePayer { booking, by, payer, user: other }
        }
        Command::BeginPayment { booking, payment, .. } => {
            Command::BeginPayment { booking, payment, user: other }
        }
        Command::Confirm { booking, payment, .. } => {
            Command::Confirm { booking, payment, user: other }
        }
        Command::Claim { claim, pool, quantity, ttl_ms, .. } => {
            Command::Claim { claim, pool, quantity, ttl_ms, user: other }
        }
        Command::Declaim { claim, .. } => Command::Declaim { claim, user: other },
        same => same,
    }
}
