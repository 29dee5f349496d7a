//! Names, keys and bodies are the inherited ones.

use crate::observer::{Observer, Seen};
use crate::stage::{Node, Stage, id, place, settings, shared_server, warm_up};
use onrush_base::config::ladder::Ladder;
use onrush_base::config::rabbit::{RabbitSettings, Tuning};
use onrush_bridge::cursors::MemoryCursors;
use onrush_core::hold::OnDecline;
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::settings::RoomSettings;
use onrush_core::types::AskedTypes;
use onrush_core::{Command, Time};
use onrush_store::embedded::{Clock, ManualClock};

/// Whole seconds and some, so that rounding shows.
const START: Time = Time(1_900_000_000_999);
const START_S: i64 = 1_900_000_000;

/// What goes out for one visitor after another, each message looked at before the next thing happens.
struct Reader(Observer);

impl Reader {
    async fn slot(&mut self, reason: &str, timestamp: i64) {
        let Seen { exchange, key, body, .. } = self.0.next().await;
        assert_eq!((exchange.as_str(), key.as_str()), ("slot-released-exchange", "slot-released"));
        let expected = format!(r#"{{"event_id":"e","reason":"{reason}","timestamp":{timestamp}}}"#);
        assert_eq!(body, expected);
    }

    async fn deadline(&mut self, rung_ms: u32, user: &str, expire_time: i64, scheduled_at: i64) {
        let Seen { exchange, key, body, .. } = self.0.next().await;
        assert_eq!(exchange, "timeout-exchange");
        assert_eq!(key, format!("timeout.{rung_ms}ms"));
        let expected = format!(
            "{{\"user_id\":\"{user}\",\"event_id\":\"e\",\"expire_time\":{expire_time},\
             \"scheduled_at\":{scheduled_at}}}"
        );
        assert_eq!(body, expected);
    }

    /// A session of 600 s and 120 s to show up.
    async fn admitted(&mut self, user: &str, at_s: i64) {
        self.deadline(600_000, user, at_s + 600, at_s).await;
        self.deadline(60_000, user, at_s + 120, at_s).await;
    }
}

fn hold(n: u32) -> Command {
    let lines = vec![PoolLine { pool: id("ga"), quantity: 1 }];
    let lines = Lines::new(lines, vec![]).expect("lines");
    Command::Hold {
        booking: id(&format!("e.b{n}")),
        user: id(&format!("v{n}")),
        lines,
        channels: Vec::new(),
        types: AskedTypes::default(),
    }
}

fn pay(n: u32) -> Command {
    let (booking, user) = (id(&format!("e.b{n}")), id(&format!("v{n}")));
    Command::BeginPayment { booking, user, payment: id(&format!("p{n}")) }
}

#[tokio::test]
async fn messages_are_those_of_s3() {
    let Some(server) = shared_server() else { return };
    // The only test under the inherited names.
    let tuning = Tuning { ladder: Ladder::default(), ..settings(&server, "").tuning };
    let settings = RabbitSettings { tuning, ..settings(&server, "") };
    let clock = ManualClock::new(START);
    let stage = Stage::new(Clock::Manual(clock.clone()));
    stage.open_sale(RoomSettings { capacity: 1, ..RoomSettings::default() }).await;
    warm_up(&settings).await;
    let mut reader = Reader(Observer::of(&settings).await);
    let node = Node::start(&stage, &settings, MemoryCursors::new(Clock::default()));

    // One who buys.
    stage.join(1).await;
    reader.admitted("v1", START_S).await;
    stage.done(hold(1)).await;
    reader.deadline(600_000, "v1", START_S + 600, START_S).await;
    clock.advance_ms(10_000);
    stage.done(pay(1)).await;
    reader.deadline(600_000, "v1", START_S + 610, START_S + 10).await;
    let (booking, user) = (id("e.b1"), id("v1"));
    stage.done(Command::Confirm { booking, user, payment: Some(id("p1")) }).await;
    reader.slot("payment_success", START_S + 10).await;

    // One who leaves.
    stage.join(2).await;
    reader.admitted("v2", START_S + 10).await;
    stage.done(Command::Leave { place: place(2), user: id("v2") }).await;
    reader.slot("cancellation", START_S + 10).await;

    // One whose payment fails: first they keep the hold, then they lose it.
    stage.join(3).await;
    reader.admitted("v3", START_S + 10).await;
    stage.done(hold(3)).await;
    reader.deadline(600_000, "v3", START_S + 610, START_S + 10).await;
    stage.done(pay(3)).await;
    reader.deadline(600_000, "v3", START_S + 610, START_S + 10).await;
    let fail = |payment: &str, then| {
        let (booking, payment) = (id("e.b3"), id(payment));
        Command::FailPayment { booking, payment, why: "insufficient_funds".into(), then }
    };
    stage.done(fail("p3", OnDecline::Keep)).await;
    reader.deadline(600_000, "v3", START_S + 610, START_S + 10).await;
    let (booking, user) = (id("e.b3"), id("v3"));
    stage.done(Command::BeginPayment { booking, user, payment: id("p3b") }).await;
    reader.deadline(600_000, "v3", START_S + 610, START_S + 10).await;
    stage.done(fail("p3b", OnDecline::Release)).await;
    reader.slot("payment_failure", START_S + 10).await;

    // One who never shows up.
    stage.join(4).await;
    reader.admitted("v4", START_S + 10).await;
    clock.advance_ms(120_000);
    reader.slot("timeout", START_S + 130).await;

    let queues = server.ctl(&["list_queues", "--no-table-headers", "name", "type", "arguments"]);
    let queues = queues.expect("it answers");
    let of = |name: &str| {
        let line = queues.lines().find(|line| line.split('\t').next() == Some(name));
        line.unwrap_or_else(|| panic!("no {name} in {queues}")).to_owned()
    };
    for name in ["slot-released-queue", "timeout-queue"] {
        assert!(of(name).contains("\tquorum\t"), "{queues}");
    }
    for rung_s in [1, 5, 30, 60, 300, 600] {
        let line = of(&format!("timeout-queue.{}ms", rung_s * 1_000));
        for part in [
            "\tquorum\t",
            &format!("\"x-message-ttl\",{}", rung_s * 1_000),
            "\"x-dead-letter-exchange\",\"timeout-exchange\"",
            "\"x-dead-letter-routing-key\",\"timeout\"",
            "\"x-dead-letter-strategy\",\"at-least-once\"",
            "\"x-overflow\",\"reject-publish\"",
        ] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
    }
    node.stop().await;
}
