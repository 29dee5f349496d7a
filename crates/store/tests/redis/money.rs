//! What is held, paid for and claimed on a real server: exact amounts, and traps of earlier designs.

use crate::world::{NOON, Node, World, event, key, user};
use onrush_core::command::CancelTerms;
use onrush_core::hold::HoldState;
use onrush_core::ids::{BookingId, ExtensionId};
use onrush_core::limits::{MAX_PRICE_MINOR, MAX_UNITS_PER_HOLD};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::question::AvailabilityNow;
use onrush_core::settings::{Fees, RefundRule, Settings};
use onrush_core::spec::{Access, CategorySpec, PoolSpec, Reason, SeatSpec};
use onrush_core::types::AskedTypes;
use onrush_core::view::{ClaimView, HoldView};
use onrush_core::{Command, Refusal, Reply, Time};
use onrush_store::Ask;

const DAY_MS: i64 = 24 * 3_600_000;
/// An uneven number, so that shares are seldom whole: a double would be wrong here by one.
const MANY: u32 = MAX_UNITS_PER_HOLD - 1;

fn settings() -> Settings {
    Settings { max_per_user: None, ..Settings::new("Concert", "EUR".parse().expect("a currency")) }
}

fn reason() -> Reason {
    Reason { by: "ops".into(), why: "asked for".into() }
}

fn pool(quantity: u32) -> Lines {
    let line = PoolLine { pool: "ga".parse().expect("an id"), quantity };
    Lines::new(vec![line], Vec::new()).expect("lines")
}

fn booking(number: usize) -> BookingId {
    format!("b-{number}").parse().expect("an id")
}

/// An open sale at noon of one pool and of two seats of one category.
async fn sale(world: &World, settings: Settings, capacity: u32, price_minor: i64) -> Node {
    let node = world.node().await;
    node.create(settings).await;
    world.set_clock(NOON);
    let spec = PoolSpec { pool: "ga".parse().expect("an id"), capacity, price_minor };
    node.done(Command::AddPool { spec }).await;
    let seat = |seat: &str| SeatSpec {
        seat: seat.parse().expect("an id"),
        section: "Stalls".into(),
        row: "A".into(),
        number: "1".into(),
        category: "near".into(),
        rank: 0,
        aisle: false,
        access: Access::Anyone,
    };
    let categories = vec![CategorySpec { name: "near".into(), price_minor }];
    node.done(Command::AddSeats { categories, seats: vec![seat("A-1"), seat("A-2")] }).await;
    node.open_sale().await;
    node
}

impl Node {
    async fn hold(&self, number: usize, owner: usize, lines: Lines) -> Result<HoldView, Refusal> {
        let command = Command::Hold {
            booking: booking(number),
            user: user(owner),
            lines,
            channels: Vec::new(),
            types: AskedTypes::default(),
        };
        self.run(command).await.map(hold_view)
    }

    async fn free(&self) -> u32 {
        self.engine.ask(event(), AvailabilityNow).await.expect("stock").value.pools[0].units.free
    }

    async fn claim(&self, claim: &str, quantity: u32) -> Result<ClaimView, Refusal> {
        let command = Command::Claim {
            claim: claim.parse().expect("an id"),
            user: user(1),
            pool: "ga".parse().expect("an id"),
            quantity,
            ttl_ms: None,
        };
        self.run(command).await.map(claim_view)
    }

    async fn adjust(&self, claim: &str, amount: i64) -> Result<ClaimView, Refusal> {
        let (claim, pool) = (claim.parse().expect("an id"), "ga".parse().expect("an id"));
        let command = Command::AdjustClaimed { claim, pool, amount, reason: reason() };
        self.run(command).await.map(claim_view)
    }
}

fn hold_view(reply: Reply) -> HoldView {
    reply.try_into().expect("it is about a booking")
}

fn claim_view(reply: Reply) -> ClaimView {
    reply.try_into().expect("it is about a claim")
}

/// Ten thousand basis points of the largest price are 10^19, more than a double or an `i64` counts.
#[tokio::test(flavor = "multi_thread")]
async fn the_largest_amounts_are_exact_in_redis() {
    let Some(world) = World::start() else { return };
    let prices =
        [1, 4_999, 123_456_789_012, MAX_PRICE_MINOR - 5, MAX_PRICE_MINOR - 1, MAX_PRICE_MINOR];
    let node = sale(&world, settings(), 1, 100).await;
    for price_minor in prices {
        let pool = format!("p-{price_minor}").parse().expect("an id");
        let spec = PoolSpec { pool, capacity: 1_000_000, price_minor };
        node.done(Command::AddPool { spec }).await;
    }
    let mut number = 0;
    for percent_bp in [1, 3_333, 9_999, 10_000] {
        for percent in [1, 33, 99, 100] {
            let fees = Fees { fixed_minor: MAX_PRICE_MINOR, percent_bp };
            let refunds = vec![
                RefundRule { days_before: 0, percent: 50 },
                RefundRule { days_before: 1, percent },
            ];
            let starts_at = Some(NOON.plus_ms(DAY_MS));
            let settings = Box::new(Settings { fees, refunds, starts_at, ..settings() });
            node.done(Command::ChangeSettings { settings }).await;
            for price_minor in prices {
                number += 1;
                let pool = format!("p-{price_minor}").parse().expect("an id");
                let line = PoolLine { pool, quantity: MANY };
                let lines = Lines::new(vec![line], Vec::new()).expect("lines");
                let held = node.hold(number, 1, lines).await.expect("free");
                let price = price_minor * i64::from(MANY);
                assert_eq!(held.terms.fee_minor, fees.on_minor(price), "{percent_bp} of {price}");
                assert_eq!(held.terms.amount_minor, price + fees.on_minor(price));

                let (booking, owner) = (booking(number), user(1));
                let payment = Some("p-1".parse().expect("an id"));
                let confirm =
                    Command::Confirm { booking: booking.clone(), user: owner.clone(), payment };
                node.done(confirm).await;
                let terms = CancelTerms::Buyer { user: owner, at_least_minor: None };
                let cancel = Command::CancelConfirmed { booking, reason: reason(), terms };
                let HoldState::Cancelled { refund_minor, .. } =
                    hold_view(node.done(cancel).await).state
                else {
                    panic!("it was not cancelled")
                };
                // Rounded up.
                let share = (i128::from(price) * i128::from(percent) + 99) / 100;
                assert_eq!(i128::from(refund_minor), share, "{percent} % of {price}");
            }
        }
    }
}

/// A hold that dies by a key's expiry takes its stock with it.
#[tokio::test(flavor = "multi_thread")]
async fn stock_of_a_hold_that_ran_out_returns_by_the_tick() {
    let Some(world) = World::start() else { return };
    let node = sale(&world, settings(), 3, 100).await;
    let held = node.hold(1, 1, pool(2)).await.expect("free");
    let until = held.state.until().expect("it is held");
    world.set_clock(Time(until.0 - 1));
    assert_eq!(node.tick(&world, 10).await, 0, "it is not over yet");
    assert_eq!(node.free().await, 1);
    world.set_clock(until);
    assert_eq!(node.tick(&world, 10).await, 1);
    assert_eq!(node.free().await, 3);
    assert_eq!(world.ask(&["ZCOUNT", &key("deadlines"), "-inf", &until.to_string()]), "0");
    node.hold(2, 2, pool(3)).await.expect("all are free again");
}

/// A hold's key expires, and its seat stays marked HOLD.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_ran_out_leaves_no_seat_marked_held() {
    let Some(world) = World::start() else { return };
    let node = sale(&world, settings(), 1, 100).await;
    let seats = || {
        let seats = vec!["A-1".parse().expect("an id"), "A-2".parse().expect("an id")];
        Lines::new(Vec::new(), seats).expect("lines")
    };
    let held = node.hold(1, 1, seats()).await.expect("free");
    assert_eq!(world.ask(&["HGET", &key("seats"), "A-1"]), "0 0 H b-1");
    assert_eq!(
        node.hold(2, 2, seats()).await,
        Err(Refusal::SeatUnavailable { seats: seats().seats().to_vec() })
    );
    world.set_clock(held.state.until().expect("it is held"));
    node.tick(&world, 10).await;
    assert_eq!(world.ask(&["HGET", &key("seats"), "A-1"]), "0 0 F");
    assert_eq!(world.ask(&["HGET", &key("categories"), "near"]), "0 100 2 0 0 0");
    node.hold(3, 2, seats()).await.expect("both are free again");
}

/// The user's count expires although their confirmed seats still count.
#[tokio::test(flavor = "multi_thread")]
async fn confirmed_seats_count_against_the_limit_for_ever() {
    let Some(world) = World::start() else { return };
    let node = sale(&world, Settings { max_per_user: Some(2), ..settings() }, 10, 0).await;
    node.hold(1, 1, pool(2)).await.expect("free");
    let payment = None;
    node.done(Command::Confirm { booking: booking(1), user: user(1), payment }).await;
    world.set_clock(NOON.plus_ms(400 * DAY_MS));
    node.tick(&world, 10).await;
    assert_eq!(world.ask(&["TTL", &key("users")]), "-1", "no key of a sale expires");
    assert_eq!(world.ask(&["TTL", &key("holds")]), "-1");
    assert_eq!(
        node.hold(2, 1, pool(1)).await,
        Err(Refusal::UserLimitExceeded { limit: 2, held: 2, of: None, ticket_type: None })
    );
}

/// An older version reads the record of a hold as well, and knows nothing of names there.
#[tokio::test(flavor = "multi_thread")]
async fn names_of_extensions_stand_beside_the_holds_and_go_with_their_booking() {
    let Some(world) = World::start() else { return };
    let node = sale(&world, Settings { extensions: 3, ..settings() }, 10, 0).await;
    let [one, two] = [1, 2].map(ExtensionId::from_u128);
    // That version left it behind as it forgot an earlier booking.
    world.ask(&["HSET", &key("extended"), "b-1", &one.to_string()]);
    let held = node.hold(1, 1, pool(1)).await.expect("free");
    for (nth, name, extensions) in [(1, one, 1), (2, two, 2), (3, one, 2)] {
        world.set_clock(NOON.plus_ms(nth * 1_000));
        let (booking, user) = (booking(1), user(1));
        let extend = Command::Extend { booking, user, extension: Some(name) };
        assert_eq!(hold_view(node.done(extend).await).extensions, extensions);
    }
    assert_eq!(world.ask(&["HGET", &key("extended"), "b-1"]), format!("{one},{two}"));
    let record = world.ask(&["HGET", &key("holds"), "b-1"]);
    let lines = serde_json::to_string(&held.terms.lines).expect("JSON");
    assert!(record.ends_with(&format!("|2||{lines}")), "{record}");
    node.done(Command::Release { booking: booking(1), user: user(1) }).await;
    world.set_clock(NOON.plus_ms(2 * DAY_MS));
    node.tick(&world, 10).await;
    assert_eq!(world.ask(&["EXISTS", &key("holds")]), "0", "it is forgotten");
    assert_eq!(world.ask(&["EXISTS", &key("extended")]), "0");
}

/// A missing inventory key is left behind as 0.
#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_is_not_there_is_not_left_behind_empty() {
    let Some(world) = World::start() else { return };
    let node = sale(&world, settings(), 1, 100).await;
    let pool: onrush_core::ids::PoolId = "nowhere".parse().expect("an id");
    let line = PoolLine { pool: pool.clone(), quantity: 1 };
    let lines = |seats| Lines::new(vec![line.clone()], seats).expect("lines");
    let missing = Err(Refusal::ZoneNotFound { pool: pool.clone() });
    assert_eq!(node.hold(1, 1, lines(Vec::new())).await, missing);
    assert_eq!(node.hold(1, 1, lines(vec!["A-1".parse().expect("an id")])).await, missing);
    assert_eq!(world.ask(&["HKEYS", &key("pools")]), "ga");
    assert_eq!(world.ask(&["HLEN", &key("users")]), "0", "nor is who asked");
    assert_eq!(world.ask(&["HLEN", &key("holds")]), "0");
}

/// The variant that checks first never checks the first claim, and may go below zero.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_claim_is_checked_like_every_other_and_no_count_goes_below_zero() {
    let Some(world) = World::start() else { return };
    let node = sale(&world, settings(), 5, 0).await;
    assert_eq!(node.claim("c-1", 6).await, Err(Refusal::ClaimExceedsQuantity { free: 5 }));
    assert_eq!(node.adjust("a-1", -1).await, Err(Refusal::ClaimBelowZero { claimed: 0 }));
    let first = node.claim("c-2", 5).await.expect("free");
    assert_eq!((first.before, first.after), (0, 5));
    assert_eq!(node.claim("c-2", 5).await.expect("the same"), first, "the first answer");
    assert_eq!(node.claim("c-3", 1).await, Err(Refusal::ClaimExceedsQuantity { free: 0 }));
    // A visitor's units are not a service's to give back.
    assert_eq!(node.adjust("a-2", -1).await, Err(Refusal::ClaimBelowZero { claimed: 0 }));
    assert_eq!(world.ask(&["HGET", &key("pools"), "ga"]), "0 5 0 0 5 0 5 0");
}
