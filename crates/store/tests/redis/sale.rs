//! A sale from its creation to a ticket at the door, with a waiting room.

use crate::stage::{
    MemoryArchive, confirm_command, done, hold, id, new_event, open, options, place, settings,
    until,
};
use onrush_core::hold::HoldState;
use onrush_core::ids::ScanId;
use onrush_core::lines::Lines;
use onrush_core::question::{AvailabilityNow, BookingsOf, EventNow, PlaceOf, SeatsNow};
use onrush_core::settings::RoomSettings;
use onrush_core::spec::{Access, CategorySpec, PoolSpec, Reason, SeatSpec};
use onrush_core::types::AskedTypes;
use onrush_core::view::{HoldView, LeftFrom, PlaceState, PlaceView, SeatStatus};
use onrush_core::{Command, Phase, Refusal};
use onrush_store::redis::{Options, RedisEngine};
use onrush_store::{Ask, Engine, Failure};
use onrush_testkit::{Redis, need};

#[tokio::test]
async fn visitors_wait_are_admitted_hold_and_are_let_in() {
    let Some(redis) = need(Redis::start()) else { return };
    let engine = open(&redis, MemoryArchive::new()).await;
    let event = new_event();
    let room = RoomSettings { capacity: 1, ..RoomSettings::default() };
    let settings = onrush_core::settings::Settings { room: Some(room), ..settings() };
    done(&engine, &event, Command::CreateEvent { settings: Box::new(settings.clone()) }).await;
    let spec = PoolSpec { pool: id("ga"), capacity: 2, price_minor: 0 };
    done(&engine, &event, Command::AddPool { spec }).await;
    done(&engine, &event, Command::OpenPrequeue).await;
    for (number, user) in [(1, "ada"), (2, "bob")] {
        let join = Command::Join { place: place(number), user: id(user) };
        let view: PlaceView = engine.run(event.clone(), join).await.expect("a place").value;
        assert!(matches!(view.state, PlaceState::Queued { position: Some(_), .. }), "{view:?}");
    }
    assert_eq!(
        hold(&engine, &event, "ada", "b1").await,
        Err(Failure::Refused(Refusal::EventNotOpen { phase: Phase::Prequeue }))
    );
    done(&engine, &event, Command::OpenSale { seed: None, public_value: None }).await;

    let active = |user: &'static str| {
        let (engine, event) = (&engine, event.clone());
        move || {
            let asked = engine.ask(event.clone(), PlaceOf { user: id(user), place: None });
            async {
                let view = asked.await.expect("a place").value;
                matches!(view.state, PlaceState::Active { .. }).then_some(())
            }
        }
    };
    // Nobody sends a tick: the engine admits by itself, one at a time.
    until("Ada's turn", active("ada")).await;
    hold(&engine, &event, "ada", "b1").await.expect("it is her turn");
    let confirmed = engine.run::<HoldView>(event.clone(), confirm_command("ada", "b1")).await;
    let view = confirmed.expect("nothing is to be paid").value;
    assert!(matches!(view.state, HoldState::Confirmed { payment: None, .. }), "{view:?}");
    until("Bob's turn", active("bob")).await;
    let leave = Command::Leave { place: place(2), user: id("bob") };
    let left: LeftFrom = engine.run(event.clone(), leave).await.expect("they are in").value;
    assert_eq!(left, LeftFrom::Active);

    let check_in = |scan| Command::CheckIn {
        booking: id("b1"),
        ticket: 1,
        scan: Some(ScanId::from_u128(scan)),
    };
    let view: HoldView = engine.run(event.clone(), check_in(1)).await.expect("a ticket").value;
    assert_eq!(view.checked_in.len(), 1);
    let again: HoldView = engine.run(event.clone(), check_in(1)).await.expect("the same").value;
    assert_eq!(again.checked_in, view.checked_in);
    let other = engine.run::<HoldView>(event.clone(), check_in(2)).await.expect_err("another");
    let is_used = matches!(other, Failure::Refused(Refusal::AlreadyCheckedIn { .. }));
    assert!(is_used, "{other:?}");

    let view = engine.ask(event.clone(), EventNow).await.expect("the event").value;
    assert_eq!((view.settings, view.phase), (settings, Phase::Open));
    assert_eq!((view.waiting, view.active, view.places_taken), (0, 0, 2));
    assert_eq!((view.units.free, view.units.sold), (1, 1));
    let hers = BookingsOf { user: id("ada"), after: None, limit: 10 };
    assert_eq!(engine.ask(event.clone(), hers).await.expect("her bookings").value.len(), 1);
    assert!(engine.events().await.expect("a list").value.contains(&event));
    engine.close().await;
}

#[tokio::test]
async fn seats_are_listed_in_the_order_they_were_added_with_whose_they_are() {
    let Some(redis) = need(Redis::start()) else { return };
    let engine = open(&redis, MemoryArchive::new()).await;
    let event = new_event();
    let settings = onrush_core::settings::Settings { room: None, ..settings() };
    done(&engine, &event, Command::CreateEvent { settings: Box::new(settings) }).await;
    let seat = |seat: &str, category: &str| SeatSpec {
        seat: id(seat),
        section: "Stalls".into(),
        row: "A".into(),
        number: "1".into(),
        category: category.into(),
        rank: 0,
        aisle: false,
        access: Access::Anyone,
    };
    let categories = vec![
        CategorySpec { name: "near \"the stage\"".into(), price_minor: 5_000 },
        CategorySpec { name: "far".into(), price_minor: 0 },
    ];
    let seats = vec![seat("Z-9", "far"), seat("A-1", "near \"the stage\""), seat("B-1", "far")];
    done(&engine, &event, Command::AddSeats { categories, seats }).await;
    done(&engine, &event, Command::OpenSale { seed: None, public_value: None }).await;
    let reason = || Reason { by: "ops".into(), why: "a broken\nseat".into() };
    let broken = Lines::new(Vec::new(), vec![id("B-1")]).expect("lines");
    done(&engine, &event, Command::Block { lines: broken.clone(), reason: reason() }).await;
    let lines = Lines::new(Vec::new(), vec![id("A-1")]).expect("lines");
    let hold = Command::Hold {
        booking: id("b1"),
        user: id("ada"),
        lines,
        channels: Vec::new(),
        types: AskedTypes::default(),
    };
    engine.execute(event.clone(), hold).await.expect("the seat is free");

    let seats = engine.ask(event.clone(), SeatsNow).await.expect("the seats").value;
    let shown: Vec<_> = seats
        .iter()
        .map(|seat| {
            let booking = seat.booking.as_ref().map(|booking| booking.as_str());
            (seat.seat.as_str(), &*seat.category, seat.status, booking, seat.why.as_deref())
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("Z-9", "far", SeatStatus::Free, None, None),
            ("A-1", "near \"the stage\"", SeatStatus::Held, Some("b1"), None),
            ("B-1", "far", SeatStatus::Blocked, None, Some("a broken\nseat")),
        ]
    );
    done(&engine, &event, Command::Unblock { lines: broken, reason: reason() }).await;
    let view = engine.ask(event.clone(), AvailabilityNow).await.expect("stock").value;
    let names: Vec<_> = view.categories.iter().map(|category| &*category.name).collect();
    assert_eq!(names, ["near \"the stage\"", "far"]);
    assert_eq!((view.categories[0].units.held, view.categories[1].units.free), (1, 2));
    engine.close().await;
}

/// The largest house there may be is added in one step, which takes Redis a while.
#[tokio::test]
async fn a_stadium_is_added_at_once() {
    const SEATS: usize = 250_000;
    let Some(redis) = need(Redis::start()) else { return };
    // Seconds of work in one call: on a busy machine it takes many times as long.
    let usual = options(&redis, MemoryArchive::new());
    let patient = RedisEngine::open(Options { timeout_ms: 60_000, ..usual }).await;
    let engine = patient.expect("the engine begins");
    let event = new_event();
    let settings = onrush_core::settings::Settings { room: None, ..settings() };
    done(&engine, &event, Command::CreateEvent { settings: Box::new(settings) }).await;
    let seats = (0..SEATS).map(|n| SeatSpec {
        seat: id(&format!("s-{n}")),
        section: "Stand".into(),
        row: (n / 100).to_string().into(),
        number: (n % 100).to_string().into(),
        category: "all".into(),
        rank: 0,
        aisle: false,
        access: Access::Anyone,
    });
    let categories = vec![CategorySpec { name: "all".into(), price_minor: 1_000 }];
    done(&engine, &event, Command::AddSeats { categories, seats: seats.collect() }).await;
    let seats = engine.ask(event.clone(), SeatsNow).await.expect("the seats").value;
    assert_eq!(seats.len(), SEATS);
    assert_eq!(seats[SEATS - 1].seat.as_str(), "s-249999");
    engine.close().await;
}
