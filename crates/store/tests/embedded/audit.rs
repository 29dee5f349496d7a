//! The audit finds what was planted, and nothing else.

use crate::sale::{
    Sale, assert_audit_is_clean, confirm, create, done, flash_settings, hold, id, join_command,
    open_room_sale, release, run, seat, units,
};
use onrush_core::change::{SaleChange, SetupChange};
use onrush_core::ids::PlaceId;
use onrush_core::settings::{Digest, Order, RoomSettings, Settings};
use onrush_core::types::AskedTypes;
use onrush_core::waiting_room::draw;
use onrush_core::{Change, Command};
use onrush_store::Engine;
use onrush_store::embedded::{AuditReport, audit};

/// Adds a decision to the end of the journal that the engine never made.
pub(crate) fn plant(sale: &Sale, body: &str) -> AuditReport {
    let copy = sale.copy();
    let db = rusqlite::Connection::open(copy.path().join("engine.db")).expect("opened");
    db.execute(
        "INSERT INTO journal (seq, at, event, body)
         SELECT seq + 1, at, event, ?1 FROM journal ORDER BY seq DESC LIMIT 1",
        [body],
    )
    .expect("planted");
    drop(db);
    audit(copy.path()).expect("readable")
}

fn planted_hold(lines: &str) -> String {
    format!(
        r#"[{{"hold_placed":{{"terms":{{"booking":"planted","user":"u-planted","lines":{lines},
        "amount_minor":0,"created_at":1780000000000}},"until":1780000600000}}}},
        {{"hold_confirmed":{{"booking":"planted"}}}}]"#
    )
}

#[tokio::test]
async fn view_that_a_flipped_bit_has_changed_is_found() {
    let sale = Sale::new();
    sale.opened().await.close();
    assert_audit_is_clean(sale.path());
    let db = rusqlite::Connection::open(sale.path().join("engine.db")).expect("opened");
    db.execute_batch(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, 'journal.body', 'nournal.body')
         WHERE name = 'changes'",
    )
    .expect("planted");
    drop(db);
    let report = audit(sale.path()).expect("readable");
    assert!(report.violations[0].contains("the view changes"), "{report:?}");
}

/// What an organiser held themselves to, and what came of it.
#[tokio::test]
async fn draw_that_is_not_the_promised_one_is_found() {
    let sale = Sale::new();
    sale.opened().await.close();
    let (seed, other) = (Digest([7; 32]), Digest([8; 32]));
    let drawn = |seed: Digest, public_value: Option<&str>| {
        let order = Order::Draw { seed_hash: draw::sha256(&[7; 32]) };
        let public_value_source = Some("the lottery of 5 December".into());
        let room = Some(RoomSettings { order, public_value_source, ..RoomSettings::default() });
        let settings = Box::new(Settings { room, ..flash_settings() });
        let public_value = public_value.map(Into::into);
        let changes: [Change; 2] = [
            SetupChange::SettingsChanged { settings }.into(),
            SaleChange::SaleOpened { seed: Some(seed), public_value }.into(),
        ];
        let found = plant(&sale, &serde_json::to_string(&changes).expect("changes are JSON"));
        let of_draw = |what: &String| what.contains("it is drawn");
        found.violations.into_iter().filter(of_draw).collect::<Vec<_>>()
    };
    assert_eq!(drawn(seed, Some("4 8 15")), Vec::<String>::new());
    let (another, without) = (drawn(other, Some("4 8 15")), drawn(seed, None));
    assert!(another.len() == 1 && another[0].contains("another seed"), "{another:?}");
    assert!(without.len() == 1 && without[0].contains("without the value"), "{without:?}");
}

#[tokio::test]
async fn planted_double_sale_of_a_seat_is_found() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    hold(&engine, "b1", seat(7)).await.expect("held");
    confirm(&engine, "b1").await.expect("confirmed");
    engine.close();
    assert_audit_is_clean(sale.path());

    let report = plant(&sale, &planted_hold(r#"{"seats":["s7"]}"#));
    assert_eq!(report.seats_sold_twice, 1);
    assert!(report.violations.iter().any(|what| what.contains("seat s7")), "{report:?}");
    // The rules notice by themselves as well.
    assert!(report.violations.iter().any(|what| what.contains("contradicts")), "{report:?}");

    let report = plant(&sale, &planted_hold(r#"{"seats":["s8"]}"#));
    assert_eq!((report.seats_sold_twice, report.violation_count), (0, 0), "a free seat is fine");
    assert_eq!(report.sold, 2);
}

#[tokio::test]
async fn planted_oversale_of_a_pool_is_found() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    hold(&engine, "b1", units(60)).await.expect("held");
    hold(&engine, "b2", units(30)).await.expect("held");
    confirm(&engine, "b1").await.expect("confirmed");
    engine.close();
    let report = plant(&sale, &planted_hold(r#"{"pools":{"ga":13}}"#));
    assert_eq!(report.oversold, 3);
    assert!(report.violation_count > 0);
    let report = plant(&sale, &planted_hold(r#"{"pools":{"ga":10}}"#));
    assert_eq!((report.oversold, report.violation_count), (0, 0));
}

#[tokio::test]
async fn planted_payer_beyond_the_limit_is_found() {
    let sale = Sale::new();
    sale.opened().await.close();
    let limited = |limit: &str| {
        let hold = planted_hold(r#"{"pools":{"ga":3}}"#);
        let named = format!(
            r#"[{{"settings_changed":{{"settings":{{"title":"A","currency":"EUR","hold_ttl_ms":1,
            "hold_max_ms":1,"payment_window_ms":1,"payment_attempts":1,"extensions":0{limit}}}}}}},
            {},{{"payer_named":{{"booking":"planted","by":"email","payer":"{:032x}"}}}}]"#,
            hold.trim_start_matches('[').trim_end_matches(']'),
            7
        );
        plant(&sale, &named)
    };
    for (limit, why) in [
        (r#","max_per_email":2"#, "has 3 units, and may have 2"),
        (r#","max_per_card":3"#, "nobody asked for one"),
    ] {
        let report = limited(limit);
        assert!(report.violations.iter().any(|what| what.contains(why)), "{report:?}");
    }
    assert_eq!(limited(r#","max_per_email":3"#).violation_count, 0);
}

#[tokio::test]
async fn planted_units_beyond_the_limit_per_user_are_found() {
    let sale = Sale::new();
    let engine = sale.open();
    create(&engine, Settings { max_per_user: Some(3), ..flash_settings() }).await;
    done(&engine, Command::OpenSale { seed: None, public_value: None }).await;
    let found = |quantity: u32| {
        let claimed = format!(
            r#"[{{"claimed":{{"claim":"c1","user":"u-planted","pool":"ga","quantity":1,"before":0,
            "after":1}}}},{}]"#,
            planted_hold(&format!(r#"{{"pools":{{"ga":{quantity}}}}}"#)).trim_matches(['[', ']'])
        );
        plant(&sale, &claimed).violations
    };
    // What was given back counts no more.
    let (booking, user) = (id("before"), id("u-planted"));
    let (lines, types) = (units(3), AskedTypes::default());
    done(&engine, Command::Hold { booking, user, lines, channels: Vec::new(), types }).await;
    done(&engine, Command::Release { booking: id("before"), user: id("u-planted") }).await;
    engine.close();
    assert_eq!(found(2), Vec::<String>::new());
    let (told, why) = (found(3), "user u-planted has 4 units, and may have 3");
    assert!(told.len() == 1 && told[0].contains(why), "{told:?}");
}

#[tokio::test]
async fn planted_admission_out_of_turn_is_found() {
    let sale = Sale::new();
    let engine = sale.open();
    open_room_sale(&engine).await;
    for n in 1..=6 {
        done(&engine, join_command(n)).await;
    }
    engine.close();
    let admitted = |n: u128| {
        let place = PlaceId::from_u128(n);
        format!(
            r#"[{{"admitted":{{"place":"{place}","user":"v{n}",
                "until":1780000600000,"arrive_by":1780000120000}}}}]"#
        )
    };
    assert_eq!(plant(&sale, &admitted(4)).fifo_violations, 1);
    assert_eq!(plant(&sale, &admitted(3)).fifo_violations, 0);
}

#[tokio::test]
async fn places_of_one_user_wait_for_each_other_and_block_nobody() {
    let sale = Sale::new();
    let engine = sale.open();
    open_room_sale(&engine).await;
    let join = |place: u128, user: &str| Command::Join {
        place: PlaceId::from_u128(place),
        user: id(user),
    };
    for (place, user) in [(1, "a"), (2, "a"), (3, "b"), (4, "a"), (5, "c"), (6, "d")] {
        done(&engine, join(place, user)).await;
    }
    for (place, user) in [(1, "a"), (3, "b"), (2, "a"), (5, "c")] {
        let leave = Command::Leave { place: PlaceId::from_u128(place), user: id(user) };
        run(&engine, leave).await.expect("left");
    }
    engine.close();
    assert_audit_is_clean(sale.path());
}

#[tokio::test]
async fn audit_reads_beside_a_running_engine() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    for n in 0..50 {
        hold(&engine, &format!("b{n}"), units(1)).await.expect("held");
        if n % 2 == 0 {
            release(&engine, &format!("b{n}")).await.expect("released");
        } else {
            confirm(&engine, &format!("b{n}")).await.expect("confirmed");
        }
        let report = audit(sale.path()).expect("readable");
        assert_eq!(report.seq, engine.committed());
        assert_eq!(report.violations, Vec::<String>::new());
    }
    let report = audit(sale.path()).expect("readable");
    assert_eq!((report.events, report.sold, report.changes), (1, 25, 104));
}

#[tokio::test]
async fn unreadable_decision_is_a_violation() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    hold(&engine, "b1", units(1)).await.expect("held");
    engine.close();
    let report = plant(&sale, "[{\"hold_placed\":");
    assert_eq!(report.violation_count, 1);
    assert!(report.violations[0].contains("decision 6"), "{:?}", report.violations);
}
