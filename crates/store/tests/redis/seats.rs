//! What orders for seats cost in a large house: how often Redis is asked for one segment.

use crate::stage::id;
use crate::world::{NOON, Node, World, event, key, settings, user};
use onrush_core::best::{Best, BestOrder, Together};
use onrush_core::channels::ChannelSpec;
use onrush_core::ids::{ChannelId, SeatId};
use onrush_core::lines::Lines;
use onrush_core::question::SeatsNow;
use onrush_core::settings::{RoomSettings, Settings, SingleSeats};
use onrush_core::spec::{Access, CategorySpec, Reason, SeatSpec};
use onrush_core::types::AskedTypes;
use onrush_core::{Command, Refusal};
use onrush_store::Ask;
use std::sync::Arc;

/// Lines of one command at most.
const LINES: usize = 400;

fn seat_id(row: usize, number: usize) -> SeatId {
    id(&format!("{row}-{number}"))
}

fn row(row: usize, seats: usize, category: &str) -> impl Iterator<Item = SeatSpec> {
    (0..seats).map(move |number| SeatSpec {
        seat: seat_id(row, number),
        section: "Hall".into(),
        row: row.to_string().into(),
        number: number.to_string().into(),
        category: category.into(),
        rank: u32::try_from(row).expect("a rank"),
        aisle: false,
        access: Access::Anyone,
    })
}

/// A sale of so many rows of stalls, of so many seats each, and a box of three seats behind them.
async fn house(world: &World, rows: usize, seats: usize) -> Node {
    let node = world.node().await;
    world.set_clock(NOON);
    let plain = settings(RoomSettings::default());
    node.create(Settings { room: None, single_seats: SingleSeats::Allow, ..plain }).await;
    let category = |name: &str| CategorySpec { name: name.into(), price_minor: 100 };
    let categories = vec![category("stalls"), category("box")];
    let stalls = (0..rows).flat_map(|nth| row(nth, seats, "stalls"));
    let seats = stalls.chain(row(rows, 3, "box")).collect();
    node.done(Command::AddSeats { categories, seats }).await;
    node.open_sale().await;
    node
}

fn reason() -> Reason {
    Reason { by: "ann".into(), why: "a sponsor".into() }
}

/// Makes a channel, and gives these seats to it.
async fn allot(node: &Node, channel: &str, seats: &[SeatId]) {
    let spec = ChannelSpec {
        channel: id(channel),
        quota: None,
        codes: Vec::new(),
        queued: false,
        release: None,
    };
    node.done(Command::SetChannel { spec, reason: reason() }).await;
    for part in seats.chunks(LINES) {
        let lines = Lines::new(Vec::new(), part.to_vec()).expect("lines");
        let to = Some(id(channel));
        node.done(Command::Allot { lines, from: None, to, reason: reason() }).await;
    }
}

/// An order for so many seats side by side of a category, through these channels.
fn best(booking: &str, quantity: u32, category: &str, channels: &[ChannelId]) -> Command {
    let best = Best::new(quantity, Together::Must).expect("a quantity");
    let best = best.within(vec![category.into()], Vec::new()).expect("a category");
    let order = Arc::new(BestOrder::new(best, None).expect("an order"));
    let (booking, types) = (id(booking), AskedTypes::default());
    Command::HoldBest { booking, user: user(0), order, channels: channels.to_vec(), types }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_order_reads_no_segment_of_other_categories_by_itself() {
    let Some(world) = World::start() else { return };
    let node = house(&world, 1_000, 2).await;
    let hold = |booking: &str, number| Command::Hold {
        booking: id(booking),
        user: user(1),
        lines: Lines::new(Vec::new(), vec![seat_id(1_000, number)]).expect("lines"),
        channels: Vec::new(),
        types: AskedTypes::default(),
    };
    node.done(hold("middle", 1)).await;
    // Where as many are free, all that are side by side anywhere are looked at.
    is_refused(&world, &node, 2, Refusal::NotTogether { longest: 1, free: 2 }, 250).await;
    is_refused(&world, &node, 3, Refusal::TooFewSeats { free: 2 }, 50).await;
    node.done(hold("left", 0)).await;
    node.done(hold("right", 2)).await;
    is_refused(&world, &node, 2, Refusal::TooFewSeats { free: 0 }, 20).await;
}

/// An order for so many seats of the box is refused with this, in fewer calls than so many.
async fn is_refused(world: &World, node: &Node, quantity: u32, refusal: Refusal, most: u64) {
    world.ask(&["CONFIG", "RESETSTAT"]);
    assert_eq!(node.run(best("refused", quantity, "box", &[])).await, Err(refusal));
    let [zrange, hget] = world.calls(["zrange", "hget"]);
    assert!(zrange + hget < most, "{quantity} seats: ZRANGE {zrange} times, HGET {hget} times");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_through_a_channel_reads_its_segments_together() {
    let Some(world) = World::start() else { return };
    let node = house(&world, 1_000, 2).await;
    let theirs = (400..600).flat_map(|row| [seat_id(row, 0), seat_id(row, 1)]);
    allot(&node, "fans", &theirs.collect::<Vec<_>>()).await;
    allot(&node, "empty", &[]).await;
    for (booking, channel) in [("b-1", "fans"), ("b-2", "empty")] {
        world.ask(&["CONFIG", "RESETSTAT"]);
        node.done(best(booking, 2, "stalls", &[id(channel)])).await;
        let [zrange, hget] = world.calls(["zrange", "hget"]);
        assert!(zrange + hget < 50, "{channel}: ZRANGE {zrange} times, HGET {hget} times");
    }
    let [first, second] =
        ["b-1", "b-2"].map(|booking| world.ask(&["HGET", &key("holds"), booking]));
    assert!(first.contains(r#""400-0","400-1""#), "the best of the channel: {first}");
    assert!(second.contains(r#""0-0","0-1""#), "the best there are: {second}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_may_be_apart_reads_no_rows_far_from_the_best() {
    let Some(world) = World::start() else { return };
    let node = house(&world, 2_000, 2).await;
    // Nobody finds four side by side. Whoever reads rows from the hundredth on fails.
    world.ask(&["ZREMRANGEBYSCORE", &key("segments"), "200", "+inf"]);
    world.ask(&["CONFIG", "RESETSTAT"]);
    let best = Best::new(4, Together::Prefer).expect("a quantity");
    let order = Arc::new(BestOrder::new(best, None).expect("an order"));
    let (booking, types) = (id("b-1"), AskedTypes::default());
    let channels = Vec::new();
    node.done(Command::HoldBest { booking, user: user(0), order, channels, types }).await;
    let [zrange, hget] = world.calls(["zrange", "hget"]);
    assert!(zrange + hget < 100, "ZRANGE {zrange} times, HGET {hget} times");
    let hold = world.ask(&["HGET", &key("holds"), "b-1"]);
    assert!(hold.contains(r#""0-0","0-1","1-0","1-1""#), "the best two rows: {hold}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_is_released_segment_by_segment() {
    let Some(world) = World::start() else { return };
    let node = house(&world, 250, 20).await;
    let all = (0..250).flat_map(|row| (0..20).map(move |number| seat_id(row, number)));
    allot(&node, "fans", &all.collect::<Vec<_>>()).await;
    world.ask(&["CONFIG", "RESETSTAT"]);
    node.done(Command::ReleaseChannel { channel: id("fans"), into: None, reason: reason() }).await;
    let [hget] = world.calls(["hget"]);
    // One for each segment, of which three parcels may cut some in two, and a few for all.
    assert!(hget < 300, "HGET {hget} times");
    let seats = node.engine.ask(event(), SeatsNow).await.expect("an answer").value;
    let by_the_rules = world.by_the_rules().await.ask(NOON, SeatsNow);
    assert_eq!(Ok(seats), by_the_rules, "all are everybody's");
    node.done(best("b-1", 20, "stalls", &[])).await;
}
