//! A replica that had not received everything becomes the master, and no node knows it by numbers:
//! the one goes on from what it had, and another has seen what was decided before under them.

use crate::stage::{
    MemoryArchive, confirm_command, flash_sale, free_units, hold, hold_command, id, options, until,
};
use onrush_core::hold::HoldStatus;
use onrush_core::ids::EventId;
use onrush_core::question::BookingOf;
use onrush_core::spec::Reason;
use onrush_core::{Command, Refusal};
use onrush_store::redis::{Options, RedisEngine};
use onrush_store::{Ask, Engine, Failure};
use onrush_testkit::{Redis, need};

/// An event's keys as a replica has them.
struct Replica<'r> {
    redis: &'r Redis,
    event: &'r EventId,
}

impl<'r> Replica<'r> {
    /// It receives all there is, and then no more.
    fn of(redis: &'r Redis, event: &'r EventId) -> Self {
        let replica = Self { redis, event };
        for key in replica.keys("") {
            replica.command(&["COPY", &key, &format!("replica:{key}"), "REPLACE"]);
        }
        replica
    }

    /// It takes the master's place.
    fn take_over(&self) {
        for key in self.keys("") {
            self.command(&["UNLINK", &key]);
        }
        for key in self.keys("replica:") {
            let name = key.strip_prefix("replica:").expect("it was asked for");
            self.command(&["RENAME", &key, name]);
        }
    }

    fn keys(&self, prefix: &str) -> Vec<String> {
        let pattern = format!("{prefix}onrush:{{{}}}:*", self.event);
        self.command(&["KEYS", &pattern]).lines().map(str::to_owned).collect()
    }

    fn command(&self, words: &[&str]) -> String {
        self.redis.command(words).expect("Redis answers")
    }
}

/// A node that does only what it is asked to.
async fn node(redis: &Redis, archive: &MemoryArchive) -> RedisEngine {
    let options = Options { ticks: false, ..options(redis, archive.other_node()) };
    RedisEngine::open(options).await.expect("the engine begins")
}

/// Two nodes that know of the same decisions of a sale: held by Ada as `b1`, by Bob as `b2`.
async fn two_nodes(redis: &Redis, archive: &MemoryArchive) -> (RedisEngine, RedisEngine, EventId) {
    let (one, other) = (node(redis, archive).await, node(redis, archive).await);
    let event = flash_sale(&one, 10).await;
    hold(&one, &event, "ada", "b1").await.expect("units are free");
    hold(&one, &event, "bob", "b2").await.expect("units are free");
    until("the holds in the archive", || async {
        (archive.of_event(&event).len() == 5).then_some(())
    })
    .await;
    assert_eq!(free_units(&other, &event).await, 8);
    (one, other, event)
}

/// Two nodes, of which one decided Dan's hold, which a failover lost, and the other then Cyd's; the
/// archive is away, and has neither.
async fn after_a_lost_hold(
    redis: &Redis,
    archive: &MemoryArchive,
) -> (RedisEngine, RedisEngine, EventId) {
    let (one, other, event) = two_nodes(redis, archive).await;
    archive.set_away(true);
    let replica = Replica::of(redis, &event);
    hold(&one, &event, "dan", "b4").await.expect("units are free");
    replica.take_over();
    hold(&other, &event, "cyd", "b3").await.expect("units are free");
    (one, other, event)
}

/// The same once Ada's is confirmed, which only the first node knows: a replica without it took over.
async fn after_a_failover(
    redis: &Redis,
    archive: &MemoryArchive,
) -> (RedisEngine, RedisEngine, EventId) {
    let (one, other, event) = two_nodes(redis, archive).await;
    let replica = Replica::of(redis, &event);
    one.execute(event.clone(), confirm_command("ada", "b1")).await.expect("it is hers");
    replica.take_over();
    (one, other, event)
}

/// Asks again for as long as nobody knows.
async fn decided(engine: &RedisEngine, event: &EventId, command: Command) -> Result<(), Refusal> {
    until("a decision", || async {
        match engine.execute(event.clone(), command.clone()).await {
            Ok(_) => Some(Ok(())),
            Err(Failure::Refused(refusal)) => Some(Err(refusal)),
            Err(Failure::Rebuilding { .. } | Failure::Unreachable) => None,
            Err(other) => panic!("{command:?}: {other:?}"),
        }
    })
    .await
}

async fn assert_confirmed(engine: &RedisEngine, event: &EventId, booking: &str) {
    let view = until("the booking", || async {
        let question = BookingOf { booking: id(booking), user: None };
        engine.ask(event.clone(), question).await.ok()
    })
    .await;
    assert_eq!(view.value.state.status(), HoldStatus::Confirmed, "{booking}");
}

/// Redis has what the archive adds up to, and the archive contradicts itself nowhere.
async fn assert_sound(engine: &RedisEngine) {
    let report = engine.audit().await.expect("a report");
    assert_eq!(report.violations, Vec::<String>::new());
}

#[tokio::test]
async fn confirmation_is_not_told_under_a_number_that_is_another_decisions_in_the_archive() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let (one, other, event) = after_a_failover(&redis, &archive).await;

    // Redis has it now, under the number of Ada's; the archive does not.
    let told = other.execute(event.clone(), confirm_command("bob", "b2")).await;
    assert!(
        matches!(told, Err(Failure::Unreachable | Failure::Rebuilding { .. })),
        "it is told as {told:?}, and the archive has {:?}",
        archive.of_event(&event).last()
    );
    decided(&other, &event, confirm_command("bob", "b2")).await.expect("it is theirs");
    for booking in ["b1", "b2"] {
        assert_confirmed(&one, &event, booking).await;
        assert_confirmed(&other, &event, booking).await;
    }
    assert_sound(&other).await;
}

#[tokio::test]
async fn decisions_that_go_on_from_another_history_are_not_archived_behind_the_first() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let (_one, other, event) = after_a_failover(&redis, &archive).await;

    // A fresh hold is answered before it is archived, and may be lost with what came before it.
    hold(&other, &event, "cyd", "b3").await.expect("units are free");
    let confirmed = decided(&other, &event, confirm_command("cyd", "b3")).await;
    if confirmed.is_err() {
        assert_eq!(confirmed, Err(Refusal::ReservationNotFound));
        decided(&other, &event, hold_command("cyd", "b3")).await.expect("units are free");
        decided(&other, &event, confirm_command("cyd", "b3")).await.expect("it is theirs");
    }
    for booking in ["b1", "b3"] {
        assert_confirmed(&other, &event, booking).await;
    }
    assert_sound(&other).await;
}

#[tokio::test]
async fn node_that_has_seen_another_decision_of_the_same_number_has_the_event_rebuilt() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let (one, other, event) = after_a_lost_hold(&redis, &archive).await;
    let asked = hold(&one, &event, "eve", "b5").await;
    assert!(matches!(asked, Err(Failure::Rebuilding { .. })), "{asked:?}");

    // What the new master has is archived first, and Dan's is what a failover may lose.
    archive.set_away(false);
    decided(&one, &event, hold_command("eve", "b5")).await.expect("units are free");
    decided(&other, &event, confirm_command("cyd", "b3")).await.expect("it is theirs");
    let dan = decided(&one, &event, confirm_command("dan", "b4")).await;
    assert_eq!(dan, Err(Refusal::ReservationNotFound));
}

#[tokio::test]
async fn node_whose_last_decision_was_lost_goes_on_from_the_one_that_was_archived_in_its_place() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let (one, _other, event) = after_a_lost_hold(&redis, &archive).await;
    archive.set_away(false);
    until("what the new master has, in the archive", || async {
        (archive.of_event(&event).len() == 6).then_some(())
    })
    .await;
    // Nobody else decides anything.
    decided(&one, &event, hold_command("eve", "b5")).await.expect("units are free");
    let dan = decided(&one, &event, confirm_command("dan", "b4")).await;
    assert_eq!(dan, Err(Refusal::ReservationNotFound));
    decided(&one, &event, confirm_command("cyd", "b3")).await.expect("it is theirs");
    assert_sound(&one).await;
}

#[tokio::test]
async fn confirmation_in_an_event_whose_history_is_in_a_file_is_not_told_from_before_its_end() {
    let Some(redis) = need(Redis::start()) else { return };
    let archive = MemoryArchive::new();
    let (one, other, event) = two_nodes(&redis, &archive).await;
    let replica = Replica::of(&redis, &event);
    for (user, booking) in [("ada", "b1"), ("bob", "b2")] {
        one.execute(event.clone(), confirm_command(user, booking)).await.expect("it is theirs");
    }
    let reason = Reason { by: "office".into(), why: "it is over".into() };
    for command in [Command::Close, Command::Archive { reason }] {
        one.execute(event.clone(), command).await.expect("nobody is in");
    }
    until("its end in the archive", || async {
        (archive.of_event(&event).len() == 9).then_some(())
    })
    .await;
    // Nobody else archives any more, so that the other node does it itself.
    one.close().await;
    archive.file(&event);
    replica.take_over();

    // Redis decides it under a number that the archive has no row of any more.
    let told = other.execute(event.clone(), confirm_command("bob", "b2")).await;
    assert!(told.is_err(), "it is told as {told:?}");
    let refused = decided(&other, &event, confirm_command("bob", "b2")).await;
    assert!(matches!(refused, Err(Refusal::EventArchived { .. })), "{refused:?}");
    assert_sound(&other).await;
}
