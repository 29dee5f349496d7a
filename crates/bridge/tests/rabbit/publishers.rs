//! One node publishes at a time; when it goes, another goes on, and repeats harm nobody.

use crate::observer::Observer;
use crate::stage::{Node, Stage, settings, shared_server, warm_up};
use onrush_bridge::cursors::{CursorError, Cursors, Fence, MemoryCursors, Pending};
use onrush_core::change::QueueChange;
use onrush_core::question::EventNow;
use onrush_core::settings::RoomSettings;
use onrush_core::view::EventView;
use onrush_core::{Change, Time};
use onrush_store::embedded::{Clock, ManualClock};
use onrush_store::{Ask, Engine, Seq};
use std::collections::BTreeMap;

/// Long enough that nothing ends by itself.
fn patient_room() -> RoomSettings {
    RoomSettings {
        capacity: 1_000,
        session_ms: 3_600_000,
        arrive_ms: 3_600_000,
        ..RoomSettings::default()
    }
}

fn is_admission(change: &Change) -> bool {
    matches!(change, Change::Queue(QueueChange::Admitted { .. }))
}

/// Has visitors `v<n>` join, and gives the ids of the messages that tell of their sessions.
async fn admit(stage: &Stage, numbers: std::ops::Range<u32>) -> Vec<String> {
    let (after, count) = (stage.engine.committed(), numbers.len());
    for n in numbers {
        stage.join(n).await;
    }
    let entries = stage.feed_until(after, count, is_admission).await;
    let admissions = entries.iter().filter(|entry| entry.changes.iter().any(is_admission));
    admissions.map(|entry| format!("{}.0", entry.seq.0)).collect()
}

/// Reads on until all these were sent, and counts how often each was: an hour's deadline does not
/// come back in between.
async fn read_on(observer: &mut Observer, seen: &mut BTreeMap<String, u32>, ids: &[String]) {
    while !ids.iter().all(|id| seen.contains_key(id)) {
        *seen.entry(observer.next().await.id).or_default() += 1;
    }
}

#[tokio::test]
async fn publishers_take_turns_and_leave_nothing_out() {
    let Some(server) = shared_server() else { return };
    let settings = settings(&server, "turns.");
    let stage = Stage::new(Clock::default());
    stage.open_sale(patient_room()).await;
    warm_up(&settings).await;
    let mut observer = Observer::of(&settings).await;
    // No lease runs out by itself, however busy the machine is.
    let time = ManualClock::new(Time(0));
    let cursors = MemoryCursors::new(Clock::Manual(time.clone()));
    let third = cursors.another_node();
    let second = Node::start(&stage, &settings, cursors.another_node());
    second.stands("it publishes", |state| state.publishing).await;
    let first = Node::start(&stage, &settings, cursors);
    first.connected(true).await;
    let mut seen = BTreeMap::new();
    let ids = admit(&stage, 0..20).await;
    read_on(&mut observer, &mut seen, &ids).await;
    second.counted(20, |counts| &counts.published).await;

    // One that leaves in order makes room at once; one that crashes when its lease has run out.
    second.stop().await;
    first.stands("it goes on", |state| state.publishing).await;
    let later = admit(&stage, 20..40).await;
    read_on(&mut observer, &mut seen, &later).await;
    assert!(ids.iter().all(|id| seen[id] == 1), "one at a time: {seen:?}");
    first.crash();
    let ids = admit(&stage, 40..60).await;
    let third = Node::start(&stage, &settings, third);
    third.connected(true).await;
    assert!(!third.health.state().borrow().publishing, "the lease is another's");
    time.advance_ms(settings.tuning.lease_ms.into());
    read_on(&mut observer, &mut seen, &ids).await;
    third.stop().await;
}

#[tokio::test]
async fn publisher_that_lost_its_lease_stops() {
    let Some(server) = shared_server() else { return };
    let settings = settings(&server, "lost.");
    let stage = Stage::new(Clock::default());
    stage.open_sale(patient_room()).await;
    let cursors = MemoryCursors::new(Clock::default());
    let thief = cursors.another_node();
    let robbed = Node::start(&stage, &settings, Stolen(cursors.another_node(), cursors));
    robbed.stands("it publishes", |state| state.publishing).await;
    // The next time it moves the cursor, somebody else has the lease.
    admit(&stage, 0..1).await;
    robbed.stands("it has stopped", |state| !state.publishing).await;
    assert_eq!(thief.cursor("lost.rabbitmq".into()).await, Ok(Seq(0)), "the cursor did not move");
    robbed.stop().await;
}

/// Cursors whose lease is taken away in the moment in which the cursor is moved.
struct Stolen(MemoryCursors, MemoryCursors);

impl Cursors for Stolen {
    fn lease(&self, name: String, ttl_ms: u32) -> Pending<Option<Fence>> {
        self.1.lease(name, ttl_ms)
    }

    fn release(&self, name: String) -> Pending<()> {
        self.1.release(name)
    }

    fn cursor(&self, name: String) -> Pending<Seq> {
        self.1.cursor(name)
    }

    fn set_cursor(&self, name: String, fence: Fence, value: Seq) -> Pending<()> {
        // In memory these take effect at once.
        drop(self.1.release(name.clone()));
        drop(self.0.lease(name.clone(), 3_600_000));
        self.1.set_cursor(name, fence, value)
    }
}

/// Cursors that cannot be moved: what a publisher that dies in between leaves behind.
struct Immovable(MemoryCursors);

impl Cursors for Immovable {
    fn lease(&self, name: String, ttl_ms: u32) -> Pending<Option<Fence>> {
        self.0.lease(name, ttl_ms)
    }

    fn release(&self, name: String) -> Pending<()> {
        self.0.release(name)
    }

    fn cursor(&self, name: String) -> Pending<Seq> {
        self.0.cursor(name)
    }

    fn set_cursor(&self, _: String, _: Fence, _: Seq) -> Pending<()> {
        let error = CursorError::Unavailable("it dies here".into());
        Box::pin(std::future::ready(Err(error)))
    }
}

#[tokio::test]
async fn publisher_that_dies_before_its_cursor_is_moved_is_repeated_and_that_harms_nobody() {
    let Some(server) = shared_server() else { return };
    let settings = settings(&server, "repeat.");
    let stage = Stage::new(Clock::default());
    stage.open_sale(patient_room()).await;
    let mut observer = Observer::of(&settings).await;
    let cursors = MemoryCursors::new(Clock::default());
    let second = cursors.another_node();
    let dying = Node::start(&stage, &settings, Immovable(cursors));
    dying.stands("it publishes", |state| state.publishing).await;
    let ids = admit(&stage, 0..10).await;
    let mut seen = BTreeMap::new();
    read_on(&mut observer, &mut seen, &ids[..1]).await;
    dying.crash();
    let before = view(&stage).await;
    let committed = stage.engine.committed();

    let second = Node::start(&stage, &settings, second);
    second.counted(10, |counts| &counts.published).await;
    read_on(&mut observer, &mut seen, &ids).await;
    while seen[&ids[0]] < 2 {
        *seen.entry(observer.next().await.id).or_default() += 1;
    }
    assert_eq!(view(&stage).await, before);
    assert_eq!(stage.engine.committed(), committed);
    second.stop().await;
}

async fn view(stage: &Stage) -> Box<EventView> {
    let event = "e".parse().expect("an id");
    stage.engine.ask(event, EventNow).await.expect("it is there").value
}
