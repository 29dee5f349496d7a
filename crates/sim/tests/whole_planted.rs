//! Faults that are planted are found.

use onrush_sim::whole::{Faults, Planted, run_for};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

/// Seeds that are tried for each.
const SEEDS: u64 = 40;
/// The same for what shows only where a kill comes between two writes, where files are put back, or where
/// the bank's desk gives money back.
const SEEDS_OF_RARE: u64 = 100;
/// Seeds that show what few seeds show: they are tried first. Where the sale has changed so that they
/// show it no more, all are tried as for the others; the test prints which one shows it then.
const KNOWN: [(Planted, u64); 15] = [
    (Planted::DeadLettersVanish, 4),
    (Planted::CreditNotesAreForgotten, 4),
    (Planted::CreditNotesAreLess, 4),
    (Planted::RefundIsSaidToBeDone, 4),
    (Planted::PublicValuesAreMixedUp, 3),
    (Planted::DeskEntriesAreForgotten, 5),
    (Planted::LedgerForgetsASaga, 7),
    (Planted::CardLimitsAreForgotten, 13),
    (Planted::OperatorForgets, 14),
    (Planted::SagaEndsEarly, 15),
    (Planted::ReceiptsAreIssuedAnew, 19),
    (Planted::ReceiptsChangeLater, 19),
    (Planted::DeskMoneyCountsForNothing, 25),
    (Planted::MailGoesToAnother, 27),
    (Planted::OnlyHeldIsOverlooked, 29),
];
/// As few buyers as show everything: with some faults they wait for a day, all of them.
const BUYERS: u32 = 40;
/// Faults that are looked for at the same time: a sale runs on one thread.
const AT_ONCE: usize = 2;

/// The first seed that shows it, and how.
fn find(planted: Planted) -> Option<(u64, String)> {
    // What is lost for good excuses something: it happens where the fault is in it.
    let losses = matches!(planted, Planted::LostTimeIsSkipped | Planted::OperatorForgets);
    let faults = Faults { planted: Some(planted), losses, ..Faults::ALL };
    let is_rare = losses
        || matches!(
            planted,
            Planted::RefundIsSaidToBeDone
                | Planted::OnlyHeldIsOverlooked
                | Planted::DeskEntriesAreForgotten
                | Planted::DeskMoneyCountsForNothing
        );
    let seeds = if is_rare { SEEDS_OF_RARE } else { SEEDS };
    let known = KNOWN.iter().filter(|(shown, _)| *shown == planted).map(|(_, seed)| *seed);
    known.chain(1..=seeds).find_map(|seed| {
        let violations = run_for(seed, faults, Some(BUYERS)).violations;
        violations.first().map(|first| (seed, first.clone()))
    })
}

#[test]
fn every_planted_fault_is_found() {
    let (left, missed) = (Mutex::new(Planted::ALL.iter()), Mutex::new(Vec::new()));
    let look = || {
        loop {
            let next = left.lock().expect("no thread panicked").next().copied();
            let Some(planted) = next else { return };
            let begun = Instant::now();
            match find(planted) {
                // Whoever keeps what is known looks for what took long.
                Some((seed, first)) => {
                    println!("{planted:?}: seed {seed}, {:.1?}: {first}", begun.elapsed());
                }
                None => missed.lock().expect("no thread panicked").push(planted),
            }
        }
    };
    thread::scope(|threads| {
        for _ in 0..AT_ONCE {
            threads.spawn(look);
        }
    });
    let missed = missed.into_inner().expect("no thread panicked");
    assert!(missed.is_empty(), "not found in their seeds: {missed:?}");
}
