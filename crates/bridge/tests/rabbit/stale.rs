//! A trap: a stale timeout message kills a later session of the same user.

use crate::stage::{Node, Stage, deadline, id, outlet, place, publish, settings, shared_server};
use onrush_base::config::ladder::Ladder;
use onrush_bridge::cursors::MemoryCursors;
use onrush_core::question::PlaceOf;
use onrush_core::settings::RoomSettings;
use onrush_core::view::PlaceState;
use onrush_core::{Command, Time};
use onrush_store::Ask;
use onrush_store::embedded::{Clock, ManualClock};

const START: Time = Time(1_900_000_000_000);

async fn state(stage: &Stage) -> PlaceState {
    let question = PlaceOf { user: id("v1"), place: Some(place(2)) };
    stage.engine.ask(id("e"), question).await.expect("it is there").value.state
}

#[tokio::test]
async fn stale_timeout_of_an_earlier_session_does_not_touch_the_later_one() {
    let Some(server) = shared_server() else { return };
    // The time is the test's, so that waits of RabbitMQ's time are to be short.
    let mut settings = settings(&server, "stale.");
    settings.tuning.ladder = Ladder::new(&[20, 50, 200]);
    let clock = ManualClock::new(START);
    let stage = Stage::new(Clock::Manual(clock.clone()));
    stage.open_sale(RoomSettings { capacity: 1, ..RoomSettings::default() }).await;
    let mut node = Node::start(&stage, &settings, MemoryCursors::new(Clock::default()));
    node.connected(true).await;

    // The first session would end at 600 s. It is left at 300 s for a second one, which ends at 900 s.
    let user = || id("v1");
    stage.join(1).await;
    clock.advance_ms(100_000);
    stage.done(Command::Arrive { place: place(1), user: user() }).await;
    clock.advance_ms(200_000);
    stage.done(Command::Leave { place: place(1), user: user() }).await;
    stage.done(Command::Join { place: place(2), user: user() }).await;
    stage.done(Command::Arrive { place: place(2), user: user() }).await;
    // Both sessions with two deadlines each, and the slot between them.
    node.counted(5, |counts| &counts.published).await;

    clock.set(START.plus_ms(600_000));
    // The first session's end, twice more: it comes as often as RabbitMQ likes.
    let (_connection, outlet) = outlet(&settings).await;
    for _ in 0..2 {
        let message = deadline("e", START.plus_ms(600_000));
        publish(&outlet, &message, stage.clock.now()).await;
    }
    // The slot, three deadlines (120, 420 and 600 s), two repeats.
    for _ in 0..6 {
        node.next_wake().await;
    }
    let later = state(&stage).await;
    let until = START.plus_ms(900_000);
    assert!(matches!(later, PlaceState::Active { until: ends, .. } if ends == until), "{later:?}");

    // And its own end is met, by its own message.
    clock.set(until);
    node.next_wake().await;
    let question = PlaceOf { user: user(), place: Some(place(2)) };
    assert!(stage.engine.ask(id("e"), question).await.is_err(), "it is over");
    node.stop().await;
}
