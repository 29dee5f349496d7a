//! The counts that people are let in by.

use crate::stage::{id, lines};
use crate::world::{NOON, Node, World, key, place, settings, user};
use onrush_core::Command;
use onrush_core::settings::RoomSettings;
use onrush_core::spec::PoolSpec;
use onrush_core::types::AskedTypes;

async fn join(node: &Node, users: std::ops::Range<usize>) {
    for number in users {
        node.join(place(number), user(number)).await.expect("joined");
    }
}

/// Sessions that Redis has.
fn inside(world: &World) -> usize {
    world.ask(&["HLEN", &key("sessions")]).trim().parse().expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_older_version_did_not_count_is_counted_by_the_next_tick() {
    let Some(world) = World::start() else { return };
    let node = world.node().await;
    world.set_clock(NOON);
    node.create(settings(RoomSettings::default())).await;
    let spec = PoolSpec { pool: id("ga"), capacity: 5, price_minor: 0 };
    node.done(Command::AddPool { spec }).await;
    node.done(Command::OpenSale { seed: None, public_value: None }).await;
    join(&node, 0..2).await;
    node.tick(&world, 2).await;
    assert_eq!(inside(&world), 2);
    world.ask(&["HDEL", &key("meta"), "units_free", "choosing"]);

    let hold = Command::Hold {
        booking: id("b-0"),
        user: user(0),
        lines: lines(2),
        channels: Vec::new(),
        types: AskedTypes::default(),
    };
    node.done(hold).await;
    let counted = world.ask(&["HMGET", &key("meta"), "units_free", "choosing"]);
    assert_eq!(counted.trim(), "", "what was not counted does not go on");
    join(&node, 2..9).await;
    node.tick(&world, 3).await;
    let counted = world.ask(&["HMGET", &key("meta"), "units_free", "choosing"]);
    assert_eq!(counted.split_whitespace().collect::<Vec<_>>(), ["3", "3"]);
    assert_eq!(inside(&world), 4, "three are left for three, and one has what they want");
}
