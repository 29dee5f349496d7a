//! Last moments, exact bounds and plain texts: what a rule that is off by one, or says nothing, would
//! get wrong.

use crate::bookings::{extend, extend_by};
use crate::stage::{
    Stage, arrive, begin, booking_id, hold, hold_ga, join, leave, lines, reason, release, settings,
};
use onrush_core::best::{Best, Together};
use onrush_core::change::SetupChange;
use onrush_core::command::CancelTerms;
use onrush_core::hold::{HoldState, OnDecline};
use onrush_core::ids::{ExtensionId, PlaceId, UserId};
use onrush_core::limits::{MAX_ID_BYTES, MAX_SEATS_PER_EVENT};
use onrush_core::lines::Lines;
use onrush_core::money::Currency;
use onrush_core::payers::PayerBy;
use onrush_core::prices::Priced;
use onrush_core::question::ClaimOf;
use onrush_core::settings::{Digest, Fees, Order, RoomSettings, Settings, SingleSeats};
use onrush_core::snapshot::{SnapshotRow, agree};
use onrush_core::spec::{Access, CategorySpec, PoolSpec, SeatSpec};
use onrush_core::view::{ClaimState, LeftFrom};
use onrush_core::{Command, Phase, Refusal, Reply, Time};

fn claim(id: &str, user: &str, quantity: u32, ttl_ms: Option<i64>) -> Command {
    Command::Claim {
        claim: id.parse().expect("an id"),
        user: user.parse().expect("an id"),
        pool: "ga".parse().expect("an id"),
        quantity,
        ttl_ms,
    }
}

fn adjust(id: &str, amount: i64) -> Command {
    Command::AdjustClaimed {
        claim: id.parse().expect("an id"),
        pool: "ga".parse().expect("an id"),
        amount,
        reason: reason(),
    }
}

fn seat(n: usize) -> SeatSpec {
    SeatSpec {
        seat: format!("s{n}").parse().expect("an id"),
        section: "".into(),
        row: "".into(),
        number: "".into(),
        category: "all".into(),
        rank: 0,
        aisle: false,
        access: Access::Anyone,
    }
}

fn add_seats(seats: impl Iterator<Item = usize>) -> Command {
    let categories = vec![CategorySpec { name: "all".into(), price_minor: 100 }];
    Command::AddSeats { categories, seats: seats.map(seat).collect() }
}

fn change(settings: Settings) -> Command {
    Command::ChangeSettings { settings: Box::new(settings) }
}

#[test]
fn each_extension_is_counted() {
    let mut stage = Stage::open(Settings { room: None, extensions: 2, ..settings() });
    stage.ok(hold_ga("b1", "ann", 1));
    for count in 1..=2 {
        stage.pass_ms(1_000);
        let Reply::Hold(view) = stage.ok(extend("b1", "ann")) else { panic!("a hold is answered") };
        assert_eq!((view.extensions, stage.booking("b1").extensions), (count, count));
    }
    stage.pass_ms(1_000);
    stage.refused(extend("b1", "ann"), "EXTENSION_LIMIT");
}

#[test]
fn a_hold_is_over_in_the_very_millisecond_of_its_deadline() {
    let mut stage = Stage::created(Settings { room: None, ..settings() });
    stage.stock_up(500);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage.ok(hold_ga("b1", "ann", 1));
    let until = stage.booking("b1").state.until().expect("a deadline");
    stage.now = until;
    stage.refused(begin("b1", "ann", "p1"), "HOLD_EXPIRED");
    stage.refused(release("b1", "ann"), "HOLD_EXPIRED");
    stage.now = until.plus_ms(-1);
    stage.ok(begin("b1", "ann", "p1"));
}

#[test]
fn a_session_is_over_in_the_very_millisecond_of_its_end() {
    let mut stage = Stage::with_room(RoomSettings::default());
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.ok(arrive(1, "ann"));
    let session_ms = RoomSettings::default().session_ms;
    stage.now = stage.now.plus_ms(session_ms);
    stage.refused(arrive(1, "ann"), "SESSION_OVER");
    stage.now = stage.now.plus_ms(-1);
    stage.ok(arrive(1, "ann"));
}

#[test]
fn a_failed_payment_whose_hold_ran_out_shows_it_as_expired() {
    let mut stage = Stage::created(Settings { room: None, ..settings() });
    stage.stock_up(500);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    stage.now = stage.booking("b1").state.until().expect("a deadline");
    let fail = Command::FailPayment {
        booking: booking_id("b1"),
        payment: "p1".parse().expect("an id"),
        why: "declined".into(),
        then: OnDecline::Keep,
    };
    let Reply::Hold(view) = stage.ok(fail) else { panic!("a hold is answered") };
    assert_eq!(view.state, HoldState::Expired { at: stage.now, payment: None });
    assert_eq!(stage.status("b1"), "expired");
}

#[test]
fn all_that_is_free_may_be_claimed_and_no_more() {
    let mut stage = Stage::flash();
    stage.refused(adjust("c1", 11), "CLAIM_EXCEEDS_QUANTITY");
    stage.ok(adjust("c1", 10));
    stage.refused(adjust("c2", -11), "CLAIM_BELOW_ZERO");
    stage.ok(adjust("c2", -10));
    assert_eq!(stage.free("ga"), 10);
}

#[test]
fn a_claim_that_costs_something_says_how_much() {
    let mut stage = Stage::created(Settings { room: None, ..settings() });
    stage.stock_up(500);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    let refusal = stage.run(claim("c1", "ann", 3, None)).expect_err("it is not free of charge");
    assert_eq!(refusal, Refusal::PaymentRequired { amount_minor: 1_500 });
}

#[test]
fn an_outage_moves_claims_on_and_one_of_no_time_is_none() {
    let mut stage = Stage::flash();
    stage.ok(claim("c1", "ann", 1, Some(60_000)));
    let until = stage.now.plus_ms(60_000);
    stage.refused(Command::Recover { gap_ms: 0 }, "INVALID_SETTINGS");
    stage.ok(Command::Recover { gap_ms: 5_000 });
    let anyones = ClaimOf { claim: "c1".parse().expect("an id"), user: None };
    let view = stage.event.ask(stage.now, anyones).expect("a claim");
    assert_eq!(view.state, ClaimState::Claimed { until: Some(until.plus_ms(5_000)) });
    stage.check_recovery();
}

#[test]
fn a_claim_is_shown_to_its_owner_and_to_who_asks_for_anyones() {
    let mut stage = Stage::flash();
    stage.ok(claim("c1", "ann", 1, None));
    let shown = |user: Option<&str>| {
        let user: Option<UserId> = user.map(|user| user.parse().expect("an id"));
        stage.event.ask(stage.now, ClaimOf { claim: "c1".parse().expect("an id"), user })
    };
    assert!(shown(None).is_ok());
    assert!(shown(Some("ann")).is_ok());
    assert_eq!(shown(Some("bob")), Err(Refusal::ClaimNotFound));
}

#[test]
fn the_currency_is_fixed_by_seats_alone_and_by_pools_alone() {
    let dong = || change(Settings { currency: "VND".parse().expect("a currency"), ..settings() });
    let mut stage = Stage::created(settings());
    stage.ok(dong());
    stage.ok(change(settings()));
    stage.ok(add_seats(0..1));
    stage.refused(dong(), "SETTINGS_FIXED");
    let mut stage = Stage::created(settings());
    let pool = "ga".parse().expect("an id");
    stage.ok(Command::AddPool { spec: PoolSpec { pool, capacity: 0, price_minor: 0 } });
    stage.refused(dong(), "SETTINGS_FIXED");
}

#[test]
fn the_room_stays_while_somebody_waits_or_is_in() {
    let without = || change(Settings { room: None, ..settings() });
    let mut stage = Stage::with_room(RoomSettings { capacity: 1, ..RoomSettings::default() });
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.refused(without(), "SETTINGS_FIXED");
    stage.ok(join(2, "bob"));
    stage.refused(without(), "SETTINGS_FIXED");
    stage.ok(leave(2, "bob"));
    stage.refused(without(), "SETTINGS_FIXED");
    stage.ok(leave(1, "ann"));
    stage.ok(without());
}

#[test]
fn a_sale_that_runs_gets_a_room_and_no_draw() {
    let with = |order: Order| {
        change(Settings {
            room: Some(RoomSettings { order, ..RoomSettings::default() }),
            ..settings()
        })
    };
    let mut stage = Stage::flash();
    stage.refused(with(Order::Draw { seed_hash: Digest([7; 32]) }), "SETTINGS_FIXED");
    stage.ok(with(Order::Fifo));
}

#[test]
fn places_of_a_sale_that_closes_unopened_lapse() {
    let mut stage = Stage::created(settings());
    stage.ok(Command::OpenPrequeue);
    stage.ok(join(1, "ann"));
    stage.ok(Command::Close);
    stage.pass_ms(RoomSettings::default().place_ttl_ms);
    assert_eq!(stage.place("ann"), Err(Refusal::PlaceNotFound));
}

#[test]
fn an_event_has_so_many_seats_and_no_more() {
    let mut stage = Stage::created(settings());
    stage.ok(add_seats(0..2));
    stage.refused(add_seats(2..MAX_SEATS_PER_EVENT + 1), "EVENT_LIMIT");
    stage.ok(add_seats(2..4));
}

#[test]
fn rows_that_differ_do_not_agree() {
    let mut stage = Stage::flash();
    let rows: Vec<SnapshotRow> = stage.event.snapshot().collect();
    assert!(agree(rows.clone(), rows.clone()));
    stage.ok(hold("b1", "ann", lines(&[], &["A-1"])));
    stage.ok(Command::AdjustCapacity {
        pool: "ga".parse().expect("an id"),
        capacity: 9,
        reason: reason(),
    });
    let later: Vec<SnapshotRow> = stage.event.snapshot().collect();
    assert!(!agree(rows.clone(), later.clone()) && !agree(later, rows));
}

#[test]
fn names_of_extensions_that_an_older_version_did_not_keep_are_not_missed() {
    let mut stage = Stage::flash();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.pass_ms(1_000);
    stage.ok(extend_by("b1", "ann", 7));
    let rows: Vec<SnapshotRow> = stage.event.snapshot().collect();
    let with = |names: &[u128]| {
        let names: Vec<_> = names.iter().copied().map(ExtensionId::from_u128).collect();
        let mut rows = rows.clone();
        for row in &mut rows {
            if let SnapshotRow::Hold(row) = row {
                row.extensions_named.clone_from(&names);
            }
        }
        rows
    };
    assert_eq!(with(&[7]), rows);
    assert!(agree(with(&[]), rows.clone()) && !agree(rows.clone(), with(&[])));
    assert!(!agree(with(&[8]), rows.clone()) && !agree(with(&[7, 8]), rows.clone()));
}

#[test]
fn what_goes_without_saying_is_not_written() {
    let mut stage = Stage::flash();
    stage.ok(hold_ga("b1", "ann", 1));
    let terms = stage.booking("b1").terms;
    let fee = |fee_minor| {
        let terms = onrush_core::hold::HoldTerms { fee_minor, ..(*terms).clone() };
        serde_json::to_value(terms).expect("JSON").get("fee_minor").cloned()
    };
    assert_eq!((fee(0), fee(3)), (None, Some(3.into())));
    let step = |amount_step_minor| {
        let settings = Settings { amount_step_minor, ..settings() };
        serde_json::to_value(settings).expect("JSON").get("amount_step_minor").cloned()
    };
    assert_eq!((step(1), step(10)), (None, Some(10.into())));
}

#[test]
fn a_hold_may_live_as_long_as_it_lasts_and_not_shorter() {
    let with = |hold_max_ms| Settings { hold_ttl_ms: 60_000, hold_max_ms, ..settings() };
    assert_eq!(with(60_000).contradiction(), None);
    assert!(with(59_999).contradiction().is_some());
}

#[test]
fn ids_digests_and_currencies_are_read_and_shown_as_they_are_written() {
    for len in [1, 37, 38, 39, 40, MAX_ID_BYTES] {
        let text: String = ('a'..='z').cycle().take(len).collect();
        let user: UserId = text.parse().expect("an id");
        assert_eq!((user.to_string(), user.as_str().len()), (text, len));
    }
    let place = PlaceId::from_u128(0x12);
    assert_eq!(format!("{place:?}"), format!("{place}"));
    let text: String = "0123456789abcdef".repeat(4);
    assert_eq!(text.parse::<Digest>().expect("a digest").to_string(), text);
    for text in ["eur", "EUr", "E1R", "EU", "EURO", ""] {
        assert!(text.parse::<Currency>().is_err(), "{text:?} is no currency");
    }
    let euro: Currency = "EUR".parse().expect("a currency");
    assert_eq!((format!("{euro:?}"), format!("{euro}")), ("EUR".into(), "EUR".into()));
}

#[test]
fn refusals_have_their_numbers_and_say_what_they_are_about() {
    assert_eq!((Refusal::EventNotFound.number(), Refusal::NoDraw.number()), (1, 58));
    let seats = vec!["A-1".parse().expect("an id"), "A-2".parse().expect("an id")];
    assert!(Refusal::SeatUnavailable { seats }.to_string().ends_with("choose others: A-1, A-2"));
    let said = |phase| Refusal::EventNotOpen { phase }.to_string();
    let all = [said(Phase::Scheduled), said(Phase::Open), said(Phase::Paused), said(Phase::Closed)];
    for (nth, text) in all.iter().enumerate() {
        assert!(text.starts_with("the sale is ") && !all[..nth].contains(text), "{text}");
    }
}

#[test]
fn refusals_of_limits_name_the_part_and_the_payer() {
    let limited = |of: Option<Priced>, ticket_type: Option<&str>| {
        let ticket_type = ticket_type.map(|id| id.parse().expect("an id"));
        Refusal::UserLimitExceeded { limit: 2, held: 1, of, ticket_type }.to_string()
    };
    let stalls = || Some(Priced::Category("stalls".into()));
    let (of_all, of_some) = (limited(None, None), limited(stalls(), None));
    assert!(of_all.starts_with("one person may have 2 and you have 1"), "{of_all}");
    assert!(of_some.contains("may have 2 of ") && of_some.contains("stalls"), "{of_some}");
    let of_type = limited(stalls(), Some("child"));
    assert!(of_type.contains("may have 2 of type child of "), "{of_type}");
    let by = |by| Refusal::PayerLimitExceeded { by, limit: 4 }.to_string();
    assert!(by(PayerBy::Email).contains("e-mail address"), "{}", by(PayerBy::Email));
    assert!(by(PayerBy::Card).contains("card"), "{}", by(PayerBy::Card));
}

#[test]
fn what_is_no_currency_digest_or_list_of_pools_says_what_to_use() {
    let currency = "eur".parse::<Currency>().expect_err("small letters").to_string();
    assert_eq!(currency, "a currency is three capital letters, such as EUR");
    let lines = serde_json::from_str::<Lines>(r#"{"pools": [1]}"#).expect_err("no map").to_string();
    assert!(lines.contains("a map of pool ids to quantities"), "{lines}");
    let at = Time(1_796_119_200_000);
    assert_eq!(
        (at.to_string(), format!("{at:?}")),
        ("1796119200000".into(), "1796119200000ms".into())
    );
}

#[test]
fn settings_that_are_as_usual_are_not_written() {
    let keys = |settings: &Settings| -> Vec<String> {
        let value = serde_json::to_value(settings).expect("JSON");
        value.as_object().expect("an object").keys().cloned().collect()
    };
    let usual = Settings::new("A show", "EUR".parse().expect("a currency"));
    for name in ["fees", "single_seats", "refunds", "amount_step_minor", "tax", "limits"] {
        assert!(!keys(&usual).contains(&name.to_owned()), "{name} is written");
    }
    let fees = Fees { fixed_minor: 50, percent_bp: 0 };
    let unusual = Settings { fees, single_seats: SingleSeats::Refuse, ..usual.clone() };
    for name in ["fees", "single_seats"] {
        assert!(keys(&unusual).contains(&name.to_owned()), "{name} is not written");
    }
    for settings in [usual, unusual] {
        let text = serde_json::to_string(&settings).expect("JSON");
        assert_eq!(serde_json::from_str::<Settings>(&text).expect("settings"), settings);
    }
}

#[test]
fn a_seat_of_the_first_rank_writes_none() {
    let keys = |rank| {
        let value = serde_json::to_value(SeatSpec { rank, ..seat(1) }).expect("JSON");
        value.get("rank").cloned()
    };
    assert_eq!((keys(0), keys(2)), (None, Some(2.into())));
}

#[test]
fn an_event_that_was_never_away_writes_no_gaps() {
    let mut stage = Stage::flash();
    let gaps = |stage: &Stage| {
        let row = stage.event.snapshot().next().expect("the event's row");
        let value = serde_json::to_value(row).expect("JSON");
        value["event"].get("gaps").cloned()
    };
    assert_eq!(gaps(&stage), None);
    stage.ok(Command::Recover { gap_ms: 5_000 });
    assert!(gaps(&stage).is_some());
}

#[test]
fn an_order_that_is_as_usual_is_not_written_in_full() {
    let best = Best::new(3, Together::Must).expect("a quantity");
    let value = serde_json::to_value(&best).expect("JSON");
    assert!(value.get("accessible").is_none(), "{value}");
    let accessible = best.with_accessible(1).expect("a wheelchair place");
    let text = serde_json::to_string(&accessible).expect("JSON");
    assert_eq!(serde_json::from_str::<Best>(&text).expect("an order"), accessible);
}

#[test]
fn a_reply_is_nothing_only_if_it_says_nothing() {
    assert_eq!(<()>::try_from(Reply::Done), Ok(()));
    let left = Reply::Left(LeftFrom::Queue);
    assert_eq!(<()>::try_from(left.clone()), Err(left));
}

#[test]
fn who_changes_stock_by_hand_is_in_the_journal() {
    let mut stage = Stage::flash();
    stage.ok(Command::Block { lines: lines(&[], &["A-1"]), reason: reason() });
    let by_whom = stage.journal.iter().rev().find_map(|(_, change)| match change {
        onrush_core::Change::Setup(SetupChange::UnitsBlocked { reason, .. }) => Some(&reason.by),
        _ => None,
    });
    assert_eq!(by_whom.map(|by| by.as_ref()), Some("box office"));
    let cancel = Command::CancelConfirmed {
        booking: booking_id("b1"),
        reason: reason(),
        terms: CancelTerms::Organiser { refund_minor: None },
    };
    stage.refused(cancel, "RESERVATION_NOT_FOUND");
}
