//! Which sequences are played on which engine.

use crate::embedded::EmbeddedSubject;
use crate::generator::{Recipe, kind_of, sequence};
use crate::play::{Mismatch, Subject, play, shrink};
use crate::redis::{Fault, RedisSubject, Way};
use crate::truth::{Op, Truth};
use crate::world::{START, id};
use onrush_core::change::{Change, HoldChange};
use onrush_core::ids::{BookingId, ExtensionId, PlaceId, UserId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::spec::PoolSpec;
use onrush_core::types::AskedTypes;
use onrush_core::{Command, Event};
use onrush_testkit::{NotStarted, Redis, RedisCluster, RedisOptions, Shared, need};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// One server for all tests that run at the same time; each sequence has an event of its own.
static REDIS: Shared<Redis> = Shared::new();

/// The server of all tests. While a script that adds an arena runs, the others wait: Redis would send
/// them away after five seconds, which are soon over on a machine that is busy with others.
pub(crate) fn a_redis() -> Result<Arc<Redis>, NotStarted> {
    let config = vec!["lua-time-limit 120000".to_owned()];
    REDIS.get(|| Redis::start_with(&RedisOptions { config, ..RedisOptions::default() }))
}

fn setting(name: &str) -> Option<String> {
    std::env::var(format!("ONRUSH_CONFORMANCE_{name}")).ok().filter(|value| !value.is_empty())
}

/// How many sequences to play where this many are usual.
fn runs(usual: u64) -> u64 {
    let times = setting("RUNS")
        .map_or(1.0, |runs| runs.parse().expect("ONRUSH_CONFORMANCE_RUNS is a number"));
    ((usual as f64 * times) as u64).max(1)
}

fn without() -> Vec<String> {
    setting("WITHOUT")
        .map_or_else(Vec::new, |groups| groups.split(',').map(str::to_owned).collect())
}

/// The seeds to play where this many are usual.
fn seeds(first: u64, usual: u64) -> Vec<u64> {
    match setting("SEED") {
        Some(seed) => vec![seed.parse().expect("ONRUSH_CONFORMANCE_SEED is a number")],
        None => (first..first + runs(usual)).collect(),
    }
}

/// Plays sequences; fails with the shortest sequences that differ.
fn play_all(
    name: &str,
    recipes: impl Iterator<Item = Recipe>,
    change: impl Fn(Vec<Op>) -> Vec<Op>,
    subject: &mut dyn Subject,
) {
    const MOST_FAILURES: usize = 4;
    let mut failures = Vec::new();
    if let Some(path) = setting("REPLAY") {
        if !path.contains(&format!("/{name}-")) {
            return;
        }
        let text = std::fs::read_to_string(&path).expect("the sequence can be read");
        let lines = text.lines().filter(|line| line.starts_with(['{', '"']));
        let ops: Vec<Op> =
            lines.map(|line| serde_json::from_str(line).expect("an operation")).collect();
        if let Err(mismatch) = play(&ops, text.contains("settles"), subject) {
            panic!("{}", told(&path, &ops, &mismatch));
        }
        return;
    }
    for recipe in recipes {
        let ops = change(sequence(&recipe));
        if let Err(mismatch) = play(&ops, recipe.settles, subject) {
            let (ops, mismatch) =
                shrink(ops, mismatch, |ops| play(ops, recipe.settles, subject).err());
            let title = format!(
                "{name}, seed {}{}",
                recipe.seed,
                if recipe.settles { ", settles" } else { "" }
            );
            failures.push(told(&title, &ops, &mismatch));
            if let Some(dir) = setting("FAILURES") {
                let path = format!("{dir}/{name}-{}.txt", recipe.seed);
                std::fs::write(path, failures.last().expect("a failure"))
                    .expect("the folder is there");
            }
            if failures.len() >= MOST_FAILURES {
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// A sequence that nothing is added to.
fn as_it_is(ops: Vec<Op>) -> Vec<Op> {
    ops
}

fn told(title: &str, ops: &[Op], mismatch: &Mismatch) -> String {
    let mut text = format!(
        "{title}: engine and rules differ after operation {}: {}\n",
        mismatch.op + 1,
        mismatch.what
    );
    for op in ops {
        let line = serde_json::to_string(op).expect("an operation is JSON");
        writeln!(text, "{line}").expect("a string takes everything");
    }
    text
}

#[test]
fn the_embedded_engine_agrees_with_the_rules() {
    let recipe = |seed| Recipe { seed, commands: 250, settles: true, without: without() };
    play_all(
        "embedded",
        seeds(1, 20).into_iter().map(recipe),
        as_it_is,
        &mut EmbeddedSubject::new(),
    );
}

#[test]
fn redis_agrees_with_the_rules() {
    let Some(redis) = need(a_redis()) else { return };
    let recipe = |seed| Recipe { seed, commands: 300, settles: false, without: without() };
    let mut subject = RedisSubject::new(&[redis.url()], false, Way::Engine);
    play_all("redis", seeds(1_000, 60).into_iter().map(recipe), as_it_is, &mut subject);
}

#[test]
fn redis_agrees_with_the_rules_with_every_flag_half_on() {
    let Some(redis) = need(a_redis()) else { return };
    let recipe = |seed| Recipe { seed, commands: 300, settles: false, without: without() };
    let mut subject = RedisSubject::new(&[redis.url()], false, Way::HalfFlags);
    play_all("flags", seeds(9_000, 20).into_iter().map(recipe), as_it_is, &mut subject);
}

#[test]
fn optimistic_transactions_agree_with_the_rules() {
    let Some(redis) = need(a_redis()) else { return };
    let recipe = |seed| Recipe { seed, commands: 300, settles: false, without: without() };
    let mut subject = RedisSubject::new(&[redis.url()], false, Way::Transactions);
    play_all("transactions", seeds(13_000, 20).into_iter().map(recipe), as_it_is, &mut subject);
    let stats = redis.command(&["INFO", "commandstats"]).expect("Redis answers");
    assert!(stats.contains("cmdstat_watch:"), "transactions were made");
}

#[test]
fn flags_that_are_switched_between_commands_change_no_answer() {
    let Some(redis) = need(a_redis()) else { return };
    let recipe = |seed| Recipe { seed, commands: 300, settles: false, without: without() };
    let mut subject = RedisSubject::new(&[redis.url()], false, Way::Switching);
    play_all("switching", seeds(11_000, 20).into_iter().map(recipe), as_it_is, &mut subject);
}

#[test]
fn redis_cluster_agrees_with_the_rules() {
    let Some(cluster) = need(RedisCluster::start()) else { return };
    let recipe = |seed| Recipe { seed, commands: 200, settles: false, without: without() };
    let mut subject = RedisSubject::new(&cluster.urls(), true, Way::Engine);
    play_all("cluster", seeds(7_000, 12).into_iter().map(recipe), as_it_is, &mut subject);
}

/// Draws, and ticks where users have several places, need a node between the caller and the scripts.
fn for_scripts() -> Vec<String> {
    let mut without = without();
    without.extend(["draw".to_owned(), "streams".to_owned()]);
    without
}

#[test]
fn a_request_that_comes_twice_changes_redis_once() {
    let Some(redis) = need(a_redis()) else { return };
    let recipe = |seed| Recipe { seed, commands: 200, settles: false, without: for_scripts() };
    let mut subject = RedisSubject::new(&[redis.url()], false, Way::Scripts);
    let resent = |ops: Vec<Op>| ops.into_iter().flat_map(|op| [op, Op::Resend]).collect();
    play_all("twice", seeds(3_000, 30).into_iter().map(recipe), resent, &mut subject);
}

#[test]
fn an_event_that_is_written_anew_into_redis_goes_on_as_if_nothing_had_been() {
    let Some(redis) = need(a_redis()) else { return };
    let recipe = |seed| Recipe { seed, commands: 200, settles: false, without: for_scripts() };
    let mut subject = RedisSubject::new(&[redis.url()], false, Way::Scripts);
    let refilled = |ops: Vec<Op>| {
        let every = ops.into_iter().enumerate().flat_map(|(index, op)| {
            let refill = (index % 23 == 22).then_some(Op::Refill);
            [Some(op), refill].into_iter().flatten()
        });
        every.collect()
    };
    play_all("refill", seeds(5_000, 20).into_iter().map(recipe), refilled, &mut subject);
}

/// Seed 5006 of those before, once it had other wishes: Redis let somebody in before it saw that
/// somebody else had lapsed.
#[test]
fn who_came_after_an_outage_lapses_in_time_although_the_event_was_written_anew() {
    let Some(redis) = need(a_redis()) else { return };
    let mut settings = Settings::new("A show", "EUR".parse().expect("a currency"));
    settings.room = Some(RoomSettings { place_ttl_ms: 7, ..RoomSettings::default() });
    let join = |place: u128, user: &str| {
        let place = PlaceId::from_u128(place);
        Op::Command(Box::new(Command::Join { place, user: id(user) }))
    };
    let ops = vec![
        Op::Command(Box::new(Command::CreateEvent { settings: Box::new(settings) })),
        Op::Command(Box::new(Command::OpenSale { seed: None, public_value: None })),
        join(1, "waits-through-it"),
        Op::Command(Box::new(Command::Recover { gap_ms: 90_000_000 })),
        Op::Refill,
        join(2, "comes-after-it"),
        Op::Clock(START.plus_ms(60_000)),
        Op::Command(Box::new(Command::Tick)),
    ];
    let mut subject = RedisSubject::new(&[redis.url()], false, Way::Engine);
    if let Err(mismatch) = play(&ops, false, &mut subject) {
        panic!("{}", told("after an outage", &ops, &mismatch));
    }
}

#[test]
fn a_hold_that_was_moved_on_is_paid_for_and_extended_as_long_as_any() {
    let Some(redis) = need(a_redis()) else { return };
    let settings =
        Settings { extensions: 9, ..Settings::new("A show", "EUR".parse().expect("a currency")) };
    let of = |user: &str, command: fn(BookingId, UserId) -> Command| {
        Op::Command(Box::new(command(id(user), id(user))))
    };
    let hold = |user| {
        of(user, |booking, user| {
            let lines = Lines::new(vec![PoolLine { pool: id("ga"), quantity: 1 }], Vec::new());
            let (lines, types) = (lines.expect("a line"), AskedTypes::default());
            Command::Hold { booking, user, lines, channels: Vec::new(), types }
        })
    };
    let pay =
        |user| of(user, |booking, user| Command::BeginPayment { booking, user, payment: id("p") });
    let extend =
        |user| of(user, |booking, user| Command::Extend { booking, user, extension: None });
    let spec = PoolSpec { pool: id("ga"), capacity: 9, price_minor: 100 };
    let mut ops = vec![
        Op::Command(Box::new(Command::CreateEvent { settings: Box::new(settings) })),
        Op::Command(Box::new(Command::AddPool { spec })),
        Op::Command(Box::new(Command::OpenSale { seed: None, public_value: None })),
    ];
    // More outages than are known, of which the first ones no hold has seen.
    let mut now = START;
    for nth in 0..40 {
        if nth >= 35 {
            ops.push(hold(["ann", "bob", "cy", "dan", "eve"][nth - 35]));
        }
        now = now.plus_ms(60_000 + 3_600_000);
        ops.push(Op::Clock(now));
        ops.push(Op::Command(Box::new(Command::Recover { gap_ms: 3_600_000 })));
        if nth == 37 {
            ops.push(Op::Refill);
        }
    }
    ops.extend([pay("ann"), extend("bob"), pay("cy"), extend("dan"), pay("eve"), Op::Refill]);
    now = now.plus_ms(540_000);
    ops.extend([Op::Clock(now), extend("bob"), extend("dan"), pay("bob"), pay("dan")]);
    let mut subject = RedisSubject::new(&[redis.url()], false, Way::Engine);
    if let Err(mismatch) = play(&ops, false, &mut subject) {
        panic!("{}", told("after outages", &ops, &mismatch));
    }
}

#[test]
fn an_extension_that_is_asked_for_again_is_known_also_after_the_event_was_written_anew() {
    let Some(redis) = need(a_redis()) else { return };
    let settings =
        Settings { extensions: 4, ..Settings::new("A show", "EUR".parse().expect("a currency")) };
    let command = |command: Command| Op::Command(Box::new(command));
    let extend = |extension: Option<u128>| {
        let extension = extension.map(ExtensionId::from_u128);
        command(Command::Extend { booking: id("b"), user: id("ann"), extension })
    };
    let lines = Lines::new(vec![PoolLine { pool: id("ga"), quantity: 1 }], Vec::new());
    let (lines, types) = (lines.expect("a line"), AskedTypes::default());
    let spec = PoolSpec { pool: id("ga"), capacity: 9, price_minor: 100 };
    let later = |ms| Op::Clock(START.plus_ms(ms));
    let ops = vec![
        command(Command::CreateEvent { settings: Box::new(settings) }),
        command(Command::AddPool { spec }),
        command(Command::OpenSale { seed: None, public_value: None }),
        command(Command::Hold {
            booking: id("b"),
            user: id("ann"),
            lines,
            channels: Vec::new(),
            types,
        }),
        later(1_000),
        extend(Some(1)),
        later(2_000),
        extend(Some(1)),
        Op::Refill,
        extend(Some(1)),
        extend(None),
        extend(Some(1)),
        later(3_000),
        extend(Some(2)),
        later(4_000),
        extend(Some(1)),
        Op::Refill,
        extend(Some(1)),
        extend(Some(2)),
        extend(Some(3)),
        command(Command::Release { booking: id("b"), user: id("ann") }),
        extend(Some(1)),
        Op::Refill,
        extend(Some(1)),
        extend(Some(2)),
    ];
    let mut subject = RedisSubject::new(&[redis.url()], false, Way::Engine);
    if let Err(mismatch) = play(&ops, false, &mut subject) {
        panic!("{}", told("extended by name", &ops, &mismatch));
    }
}

#[test]
fn the_sequences_reach_every_change_and_every_refusal() {
    const TYPED: &str = "a hold whose types are named";
    let names_types = |change: &Change| {
        let Change::Hold(HoldChange::HoldPlaced { terms, .. }) = change else { return false };
        terms.types.as_ref().is_some_and(|types| !types.asked.is_empty())
    };
    let mut reached: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 1..=150 {
        let ops = sequence(&Recipe { seed, commands: 400, settles: false, without: Vec::new() });
        let mut truth = Truth::new(Event::new(id("e")), START, false);
        for op in ops {
            let Op::Command(command) = op else {
                if let Op::Clock(clock) = op {
                    truth.set_clock(clock);
                }
                continue;
            };
            let outcome = truth.run(&command);
            for (_, changes) in &outcome.decided {
                changes.iter().for_each(|change| *reached.entry(kind_of(change)).or_default() += 1);
                let typed = changes.iter().filter(|change| names_types(change)).count();
                *reached.entry(TYPED.to_owned()).or_default() += typed as u32;
            }
            if let Err(refusal) = &outcome.answer {
                *reached.entry(refusal.code().to_owned()).or_default() += 1;
            }
        }
    }
    let changes = [
        "event_created",
        "settings_changed",
        "pool_added",
        "capacity_adjusted",
        "seats_added",
        "price_changed",
        "types_set",
        TYPED,
        "channel_set",
        "units_allotted",
        "channel_released",
        "units_blocked",
        "units_unblocked",
        "prequeue_opened",
        "prequeue_closed",
        "sale_opened",
        "sale_paused",
        "sale_resumed",
        "sale_closed",
        "event_archived",
        "place_taken",
        "place_seen",
        "place_left",
        "admitted",
        "arrived",
        "session_ended",
        "slot_freed",
        "hold_placed",
        "hold_extended",
        "payer_named",
        "payment_begun",
        "payment_failed",
        "late_payment_failed",
        "hold_confirmed",
        "hold_confirmed_late",
        "hold_released",
        "hold_expired",
        "confirmed_cancelled",
        "checked_in",
        "hold_forgotten",
        "claimed",
        "declaimed",
        "claimed_adjusted",
        "claim_forgotten",
        "visitor_removed",
        "visitor_unbanned",
        "resumed",
    ];
    let refusals = [
        "ALREADY_CHECKED_IN",
        "ALREADY_CONFIRMED",
        "ALREADY_IN_PHASE",
        "ALREADY_IN_QUEUE",
        "ALREADY_RELEASED",
        "BOOKING_MISMATCH",
        "CANNOT_CANCEL",
        "CAPACITY_BELOW_COMMITTED",
        "CLAIM_BELOW_ZERO",
        "CLAIM_EXCEEDS_QUANTITY",
        "CLAIM_NOT_FOUND",
        "DUPLICATE",
        "EVENT_ARCHIVED",
        "EVENT_EXISTS",
        "EVENT_IN_USE",
        "EVENT_NOT_FOUND",
        "EVENT_NOT_OPEN",
        "EXTENSION_LIMIT",
        "HOLD_EXPIRED",
        "CATEGORY_NOT_FOUND",
        "COMPANION_ALONE",
        "INSUFFICIENT_STOCK",
        "CHANNEL_NOT_FOUND",
        "CHANNEL_QUOTA",
        "CHANNEL_RELEASED",
        "INVALID_LINES",
        "INVALID_QUANTITY",
        "INVALID_SETTINGS",
        "TYPE_LIMIT",
        "TYPE_NOT_FOUND",
        "INVALID_STATUS",
        "LEAVES_SINGLE_SEAT",
        "NOTHING_TO_PAY",
        "NOT_CANCELLABLE",
        "NOT_TOGETHER",
        "NOT_YOUR_TURN",
        "NO_WAITING_ROOM",
        "OTHER_STEP_FIRST",
        "PAYER_LIMIT_EXCEEDED",
        "PAYMENT_MISMATCH",
        "PAYMENT_REQUIRED",
        "PLACE_NOT_FOUND",
        "POOL_EXISTS",
        "PUBLIC_VALUE_MISSING",
        "QUEUE_FULL",
        "REFUND_BETWEEN_STEPS",
        "REFUND_EXCEEDS_PAID",
        "REFUND_LOWERED",
        "RESERVATION_NOT_FOUND",
        "SEAT_EXISTS",
        "SECTION_NOT_FOUND",
        "SESSION_OVER",
        "SETTINGS_FIXED",
        "SEAT_NOT_FOUND",
        "SEAT_UNAVAILABLE",
        "SEED_MISMATCH",
        "TICKET_NOT_FOUND",
        "TOO_FEW_ACCESSIBLE",
        "TOO_FEW_SEATS",
        "TOO_MANY_ATTEMPTS",
        "UNITS_NOT_BLOCKED",
        "USER_LIMIT_EXCEEDED",
        "ZONE_NOT_FOUND",
    ];
    for kind in changes.iter().chain(&refusals) {
        let times = reached.get(*kind).copied().unwrap_or(0);
        assert!(times >= 5, "{kind} is reached {times} times only: {reached:#?}");
    }
}

fn words(words: &[&str]) -> Option<Vec<String>> {
    Some(words.iter().map(|word| (*word).to_owned()).collect())
}

/// What a faulty script might do; each must be found, and told by a sequence that is as short as can be.
#[test]
fn a_fault_is_found_and_told_by_a_short_sequence() {
    let Some(redis) = need(a_redis()) else { return };
    /// Operations that the longest of these needs, whose hold asks for types of all that it names, and
    /// a few.
    const MOST: usize = 16;
    let faults: [(&str, Fault); 4] = [
        ("a hold never expires", |command, probe| match command {
            Command::Hold { booking, .. } => {
                words(&["ZREM", &probe.key("deadlines"), &format!("1:{booking}")])
            }
            _ => None,
        }),
        ("a leaver stays in the line", |command, probe| match command {
            Command::Leave { user, .. } => {
                words(&["ZADD", &probe.key("queue"), "1", &format!("0000000001:{user}")])
            }
            _ => None,
        }),
        ("a confirmation counts a unit twice", |command, probe| match command {
            Command::Confirm { .. } => {
                words(&["HSET", &probe.key("pools"), "ga", "0 10 0 0 1 0 0 0"])
            }
            _ => None,
        }),
        ("a tick forgets how far the outflow is", |command, probe| match command {
            Command::Tick => words(&["HDEL", &probe.key("meta"), "outflow_ms"]),
            _ => None,
        }),
    ];
    for (name, fault) in faults {
        let mut subject = RedisSubject::new(&[redis.url()], false, Way::Scripts);
        subject.plant(fault);
        let found = (1..=60).find_map(|seed| {
            let recipe = Recipe { seed, commands: 200, settles: false, without: for_scripts() };
            let ops = sequence(&recipe);
            let mismatch = play(&ops, false, &mut subject).err()?;
            Some(shrink(ops, mismatch, |ops| play(ops, false, &mut subject).err()))
        });
        let (ops, mismatch) = found.unwrap_or_else(|| panic!("{name}: nobody finds it"));
        assert!(ops.len() <= MOST, "{}", told(name, &ops, &mismatch));
    }
}
