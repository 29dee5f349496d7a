//! Events end: what an archived one took up is free again, and its history is audited as before.

use crate::sale::{
    Sale, assert_audit_is_clean, confirm, create, done, event, flash_settings, hold, id, run, seat,
    units,
};
use onrush_core::ids::EventId;
use onrush_core::question::EventNow;
use onrush_core::spec::Reason;
use onrush_core::{Command, Refusal, Reply};
use onrush_store::embedded::{Embedded, Options, audit};
use onrush_store::{Ask, Engine, Failure};

fn archive() -> Command {
    Command::Archive { reason: Reason { by: "office".into(), why: "it is over".into() } }
}

/// Sells a few units, closes and archives.
async fn sell_and_archive(engine: &Embedded) {
    for n in 0..5 {
        hold(engine, &format!("b{n}"), units(2)).await.expect("held");
        confirm(engine, &format!("b{n}")).await.expect("free of charge");
    }
    hold(engine, "s", seat(1)).await.expect("held");
    done(engine, Command::Close).await;
    let refused = run(engine, archive()).await;
    let in_use = Refusal::EventInUse { waiting: 0, inside: 0, held: 1 };
    assert_eq!(refused, Err(Failure::Refused(in_use)));
    confirm(engine, "s").await.expect("free of charge");
    done(engine, archive()).await;
}

async fn is_archived(engine: &Embedded) -> bool {
    let answer = engine.ask(event(), EventNow).await;
    matches!(answer, Err(Failure::Refused(Refusal::EventArchived { .. })))
}

#[tokio::test]
async fn archived_event_stays_archived_from_the_journal_and_from_a_snapshot() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    sell_and_archive(&engine).await;
    assert!(is_archived(&engine).await);
    assert_eq!(engine.events().await.expect("a list").value, Vec::<EventId>::new());
    engine.close();
    assert_audit_is_clean(sale.path());

    let from_journal = sale.open();
    assert!(is_archived(&from_journal).await, "as the journal has it");
    from_journal.close();
    let options = Options { snapshot_every: 1, ..sale.options() };
    let engine = Embedded::open(sale.path(), options).expect("opened");
    let again = Command::CreateEvent { settings: Box::new(flash_settings()) };
    let refused = run(&engine, again).await;
    assert!(matches!(refused, Err(Failure::Refused(Refusal::EventArchived { .. }))), "{refused:?}");
    // Another event's decisions have a snapshot made.
    let other: EventId = id("other");
    let create = Command::CreateEvent { settings: Box::new(flash_settings()) };
    assert_eq!(engine.run(other.clone(), create).await.map(|answer| answer.value), Ok(()));
    let mut snapshots = 0;
    while snapshots == 0 {
        for command in [Command::OpenSale { seed: None, public_value: None }, Command::Pause] {
            drop(engine.execute(other.clone(), command).await);
        }
        drop(engine.execute(other.clone(), Command::Resume).await);
        snapshots = audit(sale.path()).expect("readable").snapshots;
    }
    engine.close();
    assert_audit_is_clean(sale.path());
    let engine = sale.open();
    assert!(is_archived(&engine).await, "as the snapshot has it");
    assert_eq!(engine.events().await.expect("a list").value, [other]);
    engine.close();
}

#[tokio::test]
async fn what_archived_events_sold_is_still_counted_and_checked() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    sell_and_archive(&engine).await;
    engine.close();
    let report = audit(sale.path()).expect("readable");
    assert_eq!((report.sold, report.events), (11, 1));
    assert_eq!(report.violations, Vec::<String>::new());
}

#[tokio::test]
async fn a_crash_leaves_an_event_whole_or_archived() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    done(&engine, Command::Close).await;
    let before = sale.copy();
    done(&engine, archive()).await;
    let after = sale.copy();
    drop(engine);
    let engine = before.open();
    assert!(!is_archived(&engine).await, "what was not answered may be missing, and all of it is");
    assert_eq!(run(&engine, archive()).await, Ok(Reply::Done), "asked again, it is done");
    engine.close();
    let engine = after.open();
    assert!(is_archived(&engine).await, "what was answered is never lost");
    engine.close();
    assert_audit_is_clean(before.path());
    assert_audit_is_clean(after.path());
}

#[tokio::test]
async fn the_rules_alone_say_whether_a_new_event_may_have_an_id() {
    let sale = Sale::new();
    let engine = sale.open();
    create(&engine, flash_settings()).await;
    let refused = run(&engine, archive()).await;
    assert!(matches!(refused, Err(Failure::Refused(Refusal::OtherStepFirst { .. }))));
    engine.close();
}
