//! Whatever was answered is still so after a crash, wherever it happens.

use crate::sale::{
    SEATS, Sale, assert_audit_is_clean, booking, copy_files, event, hold, hold_command, release,
    seat, units,
};
use onrush_core::Refusal;
use onrush_core::hold::HoldState;
use onrush_core::question::SeatsNow;
use onrush_core::view::{SeatStatus, SeatView};
use onrush_store::embedded::{Embedded, Fate, Faults, KillPoint, Options};
use onrush_store::{Ask, Engine, Failure};
use std::collections::HashSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What visitors were told.
#[derive(Default)]
struct Told {
    held: HashSet<String>,
    /// Seats that somebody was told are taken, by a refusal or by the seat map.
    taken: HashSet<String>,
}

/// Everybody wants any seat; the engine is killed at `point` of batch `nth`. Returns the files it leaves.
async fn stampede(point: KillPoint, nth: u64, told: &mut Told) -> Sale {
    let sale = Sale::new();
    let left = Sale { dir: tempfile::tempdir().expect("a directory"), clock: sale.clock.clone() };
    let (from, to) = (sale.path().to_owned(), left.path().to_owned());
    let killed = AtomicBool::new(false);
    let faults = Faults::new(move |at, batch| {
        if at != point || batch < nth || killed.swap(true, Ordering::SeqCst) {
            return Fate::GoOn;
        }
        // What the process leaves when it ends here and now.
        copy_files(&from, &to);
        Fate::Die
    });
    let options = Options { faults, ..sale.options() };
    let engine = Arc::new(Embedded::open(sale.path(), options).expect("opened"));
    crate::sale::open_flash_sale(&engine).await;
    let mut visitors = Vec::new();
    for n in 0..60 {
        let engine = Arc::clone(&engine);
        visitors.push(tokio::spawn(async move {
            let mut told = Told::default();
            for attempt in 0.. {
                let name = format!("b{n}-{attempt}");
                let lines = seat((n + attempt) % SEATS);
                match hold(&engine, &name, lines).await {
                    Ok(_) => {
                        told.held.insert(name);
                    }
                    Err(Failure::Refused(Refusal::SeatUnavailable { seats })) => {
                        told.taken.extend(seats.iter().map(ToString::to_string));
                    }
                    Err(Failure::Stopped) => return told,
                    Err(other) => panic!("{other}"),
                }
                match engine.ask(event(), SeatsNow).await {
                    Ok(answer) => told.taken.extend(taken_seats(answer.value)),
                    Err(Failure::Stopped) => return told,
                    Err(other) => panic!("{other}"),
                }
                // There must be something to decide until the end: standing places come and go.
                let name = format!("ga{n}-{attempt}");
                if hold(&engine, &name, units(1)).await == Err(Failure::Stopped)
                    || release(&engine, &name).await == Err(Failure::Stopped)
                {
                    return told;
                }
            }
            told
        }));
    }
    for visitor in visitors {
        let Told { held, taken } = visitor.await.expect("a visitor");
        told.held.extend(held);
        told.taken.extend(taken);
    }
    assert!(engine.failure().is_some(), "the engine was killed");
    left
}

fn taken_seats(seats: Vec<SeatView>) -> Vec<String> {
    let taken = seats.into_iter().filter(|seat| seat.status != SeatStatus::Free);
    taken.map(|seat| seat.seat.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_survives_a_crash_at_every_point() {
    use KillPoint::{AfterAnswers, AfterCommit, BeforeCommit, BeforeInsert};
    for point in [BeforeInsert, BeforeCommit, AfterCommit, AfterAnswers] {
        for nth in 5..10 {
            let mut told = Told::default();
            let left = stampede(point, nth, &mut told).await;
            let engine = left.open();
            for name in &told.held {
                let state = booking(&engine, name).await;
                assert!(
                    matches!(state, Ok(HoldState::Held { .. })),
                    "{point:?} of batch {nth}: {name} was held and is {state:?}"
                );
            }
            let seats = engine.ask(event(), SeatsNow).await.expect("an answer").value;
            let taken: HashSet<String> = taken_seats(seats).into_iter().collect();
            let lost: Vec<_> = told.taken.difference(&taken).collect();
            assert!(lost.is_empty(), "{point:?} of batch {nth}: {lost:?} were said to be taken");
            engine.close();
            assert_audit_is_clean(left.path());
        }
    }
}

#[tokio::test]
async fn torn_log_loses_only_what_was_not_answered() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    let log = sale.path().join("engine.db-wal");
    // A crash within a second: the witness has not seen what follows.
    let witness = fs::read(sale.path().join("witness.json")).expect("a witness");
    let mut lengths = Vec::new();
    for n in 0..12 {
        hold(&engine, &format!("b{n}"), units(1)).await.expect("held");
        lengths.push(fs::metadata(&log).expect("the log").len());
    }
    let image = sale.copy();
    engine.close();
    fs::write(image.path().join("witness.json"), witness).expect("written");
    let whole = fs::read(image.path().join("engine.db-wal")).expect("the log");
    // The log begins anew in a file that keeps the length of what the start wrote: the first holds may
    // not make it longer.
    let grew = |(_, pair): &(usize, &[u64])| pair[0] < pair[1];
    let growing: Vec<_> = lengths.windows(2).enumerate().filter(grew).collect();
    assert!(growing.len() >= 6, "{lengths:?}");
    for (n, pair) in growing {
        // What hold n + 1 wrote is cut off: at its beginning, somewhere within, or at the very end.
        for cut in [pair[0], pair[0] + 1, (pair[0] + pair[1]) / 2, pair[1] - 1] {
            let torn = image.copy();
            let cut = usize::try_from(cut).expect("small");
            fs::write(torn.path().join("engine.db-wal"), &whole[..cut]).expect("written");
            let engine = torn.open();
            for kept in 0..=n {
                let state = booking(&engine, &format!("b{kept}")).await;
                assert!(matches!(state, Ok(HoldState::Held { .. })), "cut {cut}: b{kept}");
            }
            let lost = booking(&engine, &format!("b{}", n + 1)).await;
            assert_eq!(lost, Err(Refusal::ReservationNotFound.into()), "cut {cut}");
            engine.close();
            assert_audit_is_clean(torn.path());
        }
    }
}

#[tokio::test]
async fn crash_while_the_file_is_created_leaves_nothing_in_the_way() {
    let sale = Sale::new();
    fs::write(sale.path().join("engine.db.new"), "half of one").expect("written");
    let engine = sale.opened().await;
    hold(&engine, "b1", units(1)).await.expect("held");
    assert!(!sale.path().join("engine.db.new").exists());
}

#[tokio::test]
async fn dropped_caller_does_not_undo_his_command() {
    let sale = Sale::new();
    let engine = sale.opened().await;
    drop(engine.execute(event(), hold_command("b1", units(1))));
    assert!(matches!(booking(&engine, "b1").await, Ok(HoldState::Held { .. })));
}
