//! The waiting room's rules, one fact a test.

use crate::stage::{Stage, arrive, hold_ga, join, leave, place_id, settings};
use onrush_core::change::{LeftHow, QueueChange, SessionEnd, VisitorChange};
use onrush_core::question::EventNow;
use onrush_core::settings::{Digest, Order, RoomSettings, Settings};
use onrush_core::view::LeftFrom;
use onrush_core::waiting_room::draw;
use onrush_core::{Change, Command, Reply, Time};

fn room(capacity: u32) -> RoomSettings {
    RoomSettings { capacity, ..RoomSettings::default() }
}

fn admitted(stage: &Stage) -> Vec<String> {
    let users = stage.journal.iter().filter_map(|(_, change)| match change {
        Change::Queue(QueueChange::Admitted { user, .. }) => Some(user.to_string()),
        _ => None,
    });
    users.collect()
}

/// Joins this many people, named by their place's number.
fn join_many(stage: &mut Stage, count: u128) {
    for n in 1..=count {
        stage.ok(join(n, &format!("u{n}")));
    }
}

#[test]
fn first_come_is_first_served_up_to_the_capacity() {
    let mut stage = Stage::with_room(room(2));
    join_many(&mut stage, 5);
    assert_eq!(stage.position("u5"), Some(5));
    stage.tick();
    assert_eq!(admitted(&stage), ["u1", "u2"]);
    assert_eq!(stage.position("u3"), Some(1));
    assert_eq!(stage.position("u5"), Some(3));
    stage.check_recovery();
}

#[test]
fn leavers_move_everybody_behind_them_up() {
    let mut stage = Stage::with_room(room(1));
    join_many(&mut stage, 3_000);
    stage.tick();
    for n in (2..=2_999).filter(|n| n % 3 != 0) {
        assert_eq!(stage.ok(leave(n, &format!("u{n}"))), Reply::Left(LeftFrom::Queue));
    }
    assert_eq!(stage.position("u3"), Some(1));
    assert_eq!(stage.position("u3000"), Some(1_000));
    stage.check_recovery();
}

#[test]
fn a_place_is_taken_once() {
    let mut stage = Stage::with_room(room(1));
    stage.ok(join(1, "ann"));
    stage.refused(join(1, "ann"), "DUPLICATE");
    stage.refused(join(2, "ann"), "ALREADY_IN_QUEUE");
    stage.tick();
    assert!(stage.is_active("ann"));
    stage.refused(join(1, "ann"), "DUPLICATE");
    stage.refused(join(2, "ann"), "ALREADY_IN_QUEUE");
}

#[test]
fn the_queue_is_never_longer_than_allowed() {
    let mut stage = Stage::with_room(RoomSettings { max_queue_size: 2, ..room(1) });
    join_many(&mut stage, 2);
    stage.refused(join(3, "u3"), "QUEUE_FULL");
    stage.tick();
    stage.ok(join(3, "u3"));
}

#[test]
fn several_places_of_a_user_are_served_in_the_order_taken_and_block_nobody() {
    let mut stage = Stage::with_room(RoomSettings { places_per_user: 3, ..room(2) });
    for n in 1..=3 {
        stage.ok(join(n, "ann"));
    }
    stage.ok(join(4, "bob"));
    stage.ok(join(5, "cat"));
    stage.tick();
    assert_eq!(admitted(&stage), ["ann", "bob"], "ann has one session at a time");
    stage.ok(leave(1, "ann"));
    stage.tick();
    assert_eq!(admitted(&stage), ["ann", "bob", "ann"]);
    assert_eq!(
        stage.place("ann").expect("a place").place,
        place_id(2),
        "the second place is served before the third"
    );
    stage.check_recovery();
}

#[test]
fn outflow_is_limited_with_a_burst_of_one_second() {
    let mut stage = Stage::with_room(RoomSettings { outflow_per_min: Some(120), ..room(1_000) });
    join_many(&mut stage, 10);
    stage.tick();
    assert_eq!(admitted(&stage).len(), 2, "one second's worth at once");
    stage.pass_ms(499);
    assert_eq!(admitted(&stage).len(), 2);
    stage.pass_ms(1);
    assert_eq!(admitted(&stage).len(), 3, "then one each half second");
    stage.pass_ms(2_000);
    assert_eq!(admitted(&stage).len(), 7);
}

#[test]
fn outflow_of_one_a_minute_is_one_a_minute() {
    let mut stage = Stage::with_room(RoomSettings { outflow_per_min: Some(1), ..room(1_000) });
    join_many(&mut stage, 3);
    stage.tick();
    assert_eq!(admitted(&stage).len(), 1);
    stage.pass_ms(59_999);
    assert_eq!(admitted(&stage).len(), 1);
    stage.pass_ms(1);
    assert_eq!(admitted(&stage).len(), 2);
}

#[test]
fn who_does_not_show_up_loses_the_slot() {
    let mut stage = Stage::with_room(room(1));
    join_many(&mut stage, 2);
    stage.tick();
    stage.pass_ms(119_999);
    assert!(stage.is_active("u1"));
    stage.pass_ms(1);
    assert!(stage.place("u1").is_err());
    assert!(stage.is_active("u2"), "ghosts do not stall the queue");
    let no_show = |(_, change): &(Time, Change)| {
        matches!(
            change,
            Change::Visitor(VisitorChange::SessionEnded { how: SessionEnd::NoShow, .. })
        )
    };
    assert!(stage.journal.iter().any(no_show));
    stage.check_recovery();
}

#[test]
fn who_showed_up_has_the_whole_session() {
    let mut stage = Stage::with_room(room(1));
    join_many(&mut stage, 2);
    stage.refused(arrive(2, "u2"), "NOT_YOUR_TURN");
    stage.tick();
    stage.pass_ms(100_000);
    stage.ok(arrive(1, "u1"));
    stage.ok(arrive(1, "u1"));
    stage.pass_ms(499_999);
    assert!(stage.is_active("u1"));
    stage.pass_ms(1);
    assert!(stage.is_active("u2"), "600 s after the admission the next one is in");
}

#[test]
fn a_live_hold_keeps_the_slot_but_allows_no_more_holds() {
    let mut stage = Stage::with_room(room(1));
    join_many(&mut stage, 2);
    stage.tick();
    stage.pass_ms(1_000);
    stage.ok(arrive(1, "u1"));
    stage.pass_ms(500_000);
    stage.ok(hold_ga("b1", "u1", 1));
    stage.pass_ms(99_000);
    assert!(!stage.is_active("u1"), "the session is over after 600 s");
    assert!(!stage.is_active("u2"), "the hold keeps the slot");
    stage.refused(hold_ga("b2", "u1", 1), "SESSION_OVER");
    stage.ok(crate::stage::confirm("b1", "u1", None));
    stage.tick();
    assert!(stage.is_active("u2"));
    stage.check_recovery();
}

#[test]
fn places_lapse_when_their_visitor_is_not_seen() {
    let mut stage = Stage::with_room(room(1));
    join_many(&mut stage, 3);
    stage.tick();
    stage.ok(arrive(1, "u1"));
    stage.ok(hold_ga("b1", "u1", 1));
    stage.pass_ms(550_000);
    stage.ok(Command::Extend {
        booking: crate::stage::booking_id("b1"),
        user: "u1".parse().expect("an id"),
        extension: None,
    });
    let see =
        |n| Command::See { place: place_id(n), user: format!("u{n}").parse().expect("an id") };
    let changes = stage.journal.len();
    stage.ok(see(2));
    assert_eq!(stage.journal.len(), changes + 1);
    stage.ok(see(2));
    assert_eq!(stage.journal.len(), changes + 1, "a sign of life is written down once in 300 s");
    // The holder keeps the slot to 1,150 s; then u2 is in until 1,270 s, and does not show up.
    stage.pass_ms(720_000);
    assert!(stage.is_active("u3"), "seen or not, who is next is admitted");
    stage.check_recovery();
}

#[test]
fn a_place_lapses_at_its_time_to_live_and_not_before() {
    let mut stage = Stage::with_room(RoomSettings { place_ttl_ms: 60_000, ..room(1) });
    join_many(&mut stage, 3);
    stage.tick();
    stage.ok(arrive(1, "u1"));
    stage.pass_ms(50_000);
    stage.ok(Command::See { place: place_id(3), user: "u3".parse().expect("an id") });
    stage.pass_ms(9_999);
    assert_eq!(stage.position("u3"), Some(2));
    stage.pass_ms(1);
    assert!(stage.place("u2").is_err());
    assert_eq!(stage.position("u3"), Some(1));
    let lapsed = |(_, change): &(Time, Change)| {
        matches!(change, Change::Queue(QueueChange::PlaceLeft { how: LeftHow::Lapsed, .. }))
    };
    assert_eq!(stage.journal.iter().filter(|entry| lapsed(entry)).count(), 1);
}

#[test]
fn a_shorter_time_to_live_throws_out_nobody_who_was_noted_when_it_was_due() {
    let cut = |place_ttl_ms| {
        let settings =
            Settings { room: Some(RoomSettings { place_ttl_ms, ..room(1) }), ..settings() };
        Command::ChangeSettings { settings: Box::new(settings) }
    };
    let mut stage = Stage::with_room(room(1));
    stage.ok(cut(60_000));
    stage.ok(cut(room(1).place_ttl_ms));
    join_many(&mut stage, 3);
    stage.tick();
    stage.ok(arrive(1, "u1"));
    // They ask every second, and nothing of it is written down yet.
    stage.pass_ms(240_000);
    stage.refused(cut(180_000), "SETTINGS_FIXED");
    stage.refused(cut(359_999), "SETTINGS_FIXED");
    stage.ok(cut(360_000));
    stage.refused(cut(359_999), "SETTINGS_FIXED");
    stage.ok(cut(400_000));
    stage.tick();
    assert_eq!((stage.position("u2"), stage.position("u3")), (Some(1), Some(2)));
    stage.ok(leave(2, "u2"));
    stage.ok(leave(3, "u3"));
    stage.ok(cut(60_000));
    stage.check_recovery();
}

#[test]
fn a_sign_of_life_counts_for_all_places_of_a_visitor() {
    let settings = RoomSettings { place_ttl_ms: 60_000, places_per_user: 3, ..room(1) };
    let mut stage = Stage::with_room(settings);
    let user = || "u1".parse().expect("an id");
    for n in 1..=3 {
        stage.ok(Command::Join { place: place_id(n), user: user() });
    }
    let see = |n| Command::See { place: place_id(n), user: user() };
    // One of them is in the room, and the others wait behind it.
    stage.tick();
    stage.ok(arrive(1, "u1"));
    for n in [1, 2, 3] {
        stage.pass_ms(50_000);
        let before = stage.journal.len();
        stage.ok(see(n));
        let seen: Vec<_> = stage.journal[before..].iter().map(|(_, change)| change).collect();
        let of = |n| Change::Queue(QueueChange::PlaceSeen { place: place_id(n), user: user() });
        assert_eq!(seen, [&of(2), &of(3)], "with {n}");
    }
    stage.check_recovery();
}

#[test]
fn leaving_the_room_gives_back_holds_and_the_slot() {
    let mut stage = Stage::with_room(room(1));
    join_many(&mut stage, 2);
    stage.tick();
    stage.ok(hold_ga("b1", "u1", 2));
    assert_eq!(stage.free("ga"), 8);
    assert_eq!(stage.ok(leave(1, "u1")), Reply::Left(LeftFrom::Active));
    stage.tick();
    assert_eq!(stage.free("ga"), 10);
    assert_eq!(stage.status("b1"), "released");
    assert!(stage.is_active("u2"));
}

#[test]
fn nobody_leaves_while_he_pays() {
    let mut stage = Stage::created(settings());
    stage.stock_up(5_000);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(Command::BeginPayment {
        booking: crate::stage::booking_id("b1"),
        user: "ann".parse().expect("an id"),
        payment: "p1".parse().expect("an id"),
    });
    stage.refused(leave(1, "ann"), "CANNOT_CANCEL");
    stage.refused(crate::stage::release("b1", "ann"), "CANNOT_CANCEL");
}

#[test]
fn a_pause_stops_admission_and_holds_but_no_clock() {
    let mut stage = Stage::with_room(room(1));
    join_many(&mut stage, 3);
    stage.tick();
    stage.ok(Command::Pause);
    stage.refused(hold_ga("b1", "u1", 1), "EVENT_NOT_OPEN");
    stage.pass_ms(120_000);
    assert!(stage.place("u1").is_err(), "the clock ran on: u1 did not show up");
    assert_eq!(stage.position("u2"), Some(1), "nobody is admitted");
    stage.ok(join(4, "u4"));
    stage.ok(Command::Resume);
    stage.tick();
    assert!(stage.is_active("u2"));
}

#[test]
fn downtime_empties_no_queue() {
    let mut stage = Stage::with_room(room(1));
    join_many(&mut stage, 3);
    stage.tick();
    stage.ok(arrive(1, "u1"));
    stage.ok(hold_ga("b1", "u1", 1));
    stage.now = stage.now.plus_ms(7_200_000);
    stage.ok(Command::Recover { gap_ms: 7_200_000 });
    stage.tick();
    assert!(stage.is_active("u1"));
    assert_eq!(stage.status("b1"), "held");
    assert_eq!(stage.position("u3"), Some(2));
    stage.check_recovery();
    stage.pass_ms(600_000);
    assert_eq!(stage.status("b1"), "expired", "what was left of its time was still left");
}

#[test]
fn the_prequeue_knows_no_time_to_live() {
    let mut stage = Stage::created(settings());
    stage.ok(Command::OpenPrequeue);
    stage.ok(join(1, "ann"));
    stage.pass_ms(24 * 3_600_000);
    assert_eq!(stage.position("ann"), Some(1));
    stage.check_recovery();
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage.tick();
    assert!(stage.is_active("ann"));
}

fn draw_settings(seed: &Digest) -> Settings {
    let order = Order::Draw { seed_hash: draw::sha256(&seed.0) };
    Settings { room: Some(RoomSettings { order, ..room(10) }), ..settings() }
}

#[test]
fn the_draw_orders_entrants_by_rank_and_late_comers_after_them() {
    let seed = Digest([7; 32]);
    let mut stage = Stage::created(draw_settings(&seed));
    stage.ok(Command::OpenPrequeue);
    join_many(&mut stage, 50);
    assert_eq!(stage.position("u7"), None, "before the draw nobody is ahead of anybody");
    stage.ok(Command::ClosePrequeue);
    stage.ok(join(51, "u51"));
    let public_value: Option<Box<str>> = Some("lottery 4 8 15 16 23 42".into());
    let other = Some(Digest([8; 32]));
    stage.refused(Command::OpenSale { seed: other, public_value: None }, "SEED_MISMATCH");
    stage.refused(Command::OpenSale { seed: None, public_value: None }, "SEED_MISMATCH");
    stage.ok(Command::OpenSale { seed: Some(seed), public_value: public_value.clone() });

    let key = draw::draw_key(&seed, public_value.as_deref());
    let mut expected: Vec<u128> = (1..=50).collect();
    expected.sort_by_key(|n| (draw::rank(&key, place_id(*n)), place_id(*n)));
    expected.push(51);
    for (position, n) in (1..).zip(&expected) {
        assert_eq!(stage.position(&format!("u{n}")), Some(position));
    }
    assert_ne!(expected, (1..=51).collect::<Vec<_>>(), "a draw that changes nothing is none");
    stage.check_recovery();
    stage.tick();
    let first: Vec<String> = expected[..10].iter().map(|n| format!("u{n}")).collect();
    assert_eq!(admitted(&stage), first);
    stage.check_recovery();
}

#[test]
fn the_seed_stays_secret_until_the_sale_opens() {
    let seed = Digest([7; 32]);
    let mut stage = Stage::created(draw_settings(&seed));
    stage.ok(Command::OpenPrequeue);
    join_many(&mut stage, 5);
    stage.ok(Command::ClosePrequeue);
    let everything = format!("{:?} {:?}", stage.event, stage.journal);
    assert!(!everything.contains(&seed.to_string()));
    let draw = stage.event.ask(stage.now, EventNow).expect("an event").draw.expect("a draw");
    assert_eq!(draw.seed_hash, draw::sha256(&seed.0));
    assert_eq!(draw.entrants, Some(5));
    assert_eq!(draw.entrants_hash, Some(draw::entrants_hash((1..=5).map(place_id))));
    assert_eq!(draw.seed, None);
}

#[test]
fn a_public_value_counts_only_after_the_list_is_fixed() {
    let seed = Digest([7; 32]);
    let mut stage = Stage::created(draw_settings(&seed));
    stage.ok(Command::OpenPrequeue);
    let open = Command::OpenSale { seed: Some(seed), public_value: Some("known too early".into()) };
    stage.refused(open, "OTHER_STEP_FIRST");
}

#[test]
fn ranks_are_52_bits_and_known_ones_stay_the_same() {
    // Computed with: printf of 32 zero bytes and 32 digits '0…01', piped into sha256sum, first 13 digits.
    let rank = draw::rank(&Digest([0; 32]), place_id(1));
    assert!(rank < 1 << 52);
    let digits =
        draw::sha256(&[&[0_u8; 32][..], b"00000000000000000000000000000001"].concat()).to_string();
    assert_eq!(format!("{rank:013x}"), digits[..13]);
}

#[test]
fn an_event_opens_and_closes_by_its_schedule() {
    let mut stage = Stage::created(Settings {
        prequeue_at: Some(crate::stage::OPENING.plus_ms(1_000)),
        opens_at: Some(crate::stage::OPENING.plus_ms(2_000)),
        closes_at: Some(crate::stage::OPENING.plus_ms(3_000)),
        ..settings()
    });
    stage.refused(join(1, "ann"), "EVENT_NOT_OPEN");
    stage.pass_ms(1_000);
    stage.ok(join(1, "ann"));
    assert!(!stage.is_active("ann"));
    stage.pass_ms(1_000);
    assert!(stage.is_active("ann"));
    stage.now = stage.now.plus_ms(1_000);
    stage.refused(join(2, "bob"), "EVENT_NOT_OPEN");
    stage.tick();
    stage.refused(join(2, "bob"), "EVENT_NOT_OPEN");
    stage.check_recovery();
}

#[test]
fn a_drawn_event_waits_for_its_seed() {
    let seed = Digest([7; 32]);
    let opens_at = Some(crate::stage::OPENING.plus_ms(1_000));
    let mut stage = Stage::created(Settings { opens_at, ..draw_settings(&seed) });
    stage.ok(Command::OpenPrequeue);
    stage.ok(join(1, "ann"));
    stage.pass_ms(5_000);
    assert!(
        stage
            .journal
            .iter()
            .any(|(_, change)| matches!(change, Change::Queue(QueueChange::PrequeueClosed { .. })))
    );
    assert!(!stage.is_active("ann"));
    stage.ok(Command::OpenSale { seed: Some(seed), public_value: None });
    stage.tick();
    assert!(stage.is_active("ann"));
}

#[test]
fn the_order_of_the_line_is_fixed_once_people_may_join() {
    let seed = Digest([7; 32]);
    let mut stage = Stage::created(draw_settings(&seed));
    stage.ok(Command::OpenPrequeue);
    let wanted = Command::ChangeSettings { settings: Box::new(settings()) };
    stage.refused(wanted, "SETTINGS_FIXED");
}

#[test]
fn a_smaller_room_throws_nobody_out_and_a_larger_one_admits_at_once() {
    let mut stage = Stage::with_room(room(3));
    join_many(&mut stage, 6);
    stage.tick();
    let resize = |capacity| {
        let settings = Settings { room: Some(room(capacity)), ..settings() };
        Command::ChangeSettings { settings: Box::new(settings) }
    };
    stage.ok(resize(1));
    stage.tick();
    assert!(stage.is_active("u3"));
    stage.ok(leave(1, "u1"));
    stage.tick();
    assert_eq!(stage.position("u4"), Some(1));
    stage.ok(resize(4));
    stage.tick();
    assert_eq!(admitted(&stage), ["u1", "u2", "u3", "u4", "u5"]);
}

#[test]
fn an_admission_that_is_due_within_a_millisecond_is_due_at_its_end() {
    let room = RoomSettings { outflow_per_min: Some(7), ..RoomSettings::default() };
    let mut stage = Stage::with_room(room);
    stage.ok(join(1, "ann"));
    stage.ok(join(2, "bob"));
    stage.tick();
    // A seventh of a minute is 8,571.4 ms.
    assert_eq!(stage.event.next_deadline(), Some(stage.now.plus_ms(8_572)));
}
