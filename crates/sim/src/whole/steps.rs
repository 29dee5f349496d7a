//! Engine and ledger, run step by step on a disk that takes its time.

use super::server::Server;
use crate::chance::Chance;
use onrush_ledger::sqlite::SteppedLedger;
use onrush_store::Engine;
use onrush_store::embedded::{Clock, Stepped};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::sleep;

/// The power goes in one of so many commits, and of passes that move pages.
const COMMITS_ENDED: u32 = 300;
const PASSES_ENDED: u32 = 8;

/// Decides, lets the disk take its time, commits, and so on. A snapshot is made now and then.
pub(super) async fn run_engine(
    server: Arc<Server>,
    mut steps: Stepped,
    clock: Clock,
    mut chance: Chance,
) {
    loop {
        let due = steps.next_deadline().map(|at| at.since_ms(clock.now()).max(0).unsigned_abs());
        let due = async {
            match due {
                Some(ms) => sleep(Duration::from_millis(ms)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = steps.asked() => {}
            () = server.clocks.moved() => {}
            () = due => {}
        }
        if server.faults.disk {
            let is_calm = server.calm.load(Ordering::Relaxed);
            let is_low = !is_calm && chance.below(200) == 0;
            steps.set_free_bytes(if is_low { 1 << 20 } else { u64::MAX });
        }
        if !steps.decide() {
            break;
        }
        // Decided and not durable: a process that ends here has told nobody.
        sleep(server.sync_time(&mut chance)).await;
        let is_committed = server.risk(&mut chance, COMMITS_ENDED, || steps.commit());
        server.disk.look_at_witness();
        if !is_committed {
            break;
        }
        if chance.below(100) == 0 {
            server.risk(&mut chance, PASSES_ENDED, || steps.move_pages());
        }
        let is_safe = server.is_safe();
        // Of a journal without a decision there is none: the real engine counts decisions.
        let has_past = server.life().is_some_and(|life| life.engine.committed().0 > 0);
        if chance.below(300) == 0
            && has_past
            && let Err(why) = server.disk.snapshot(&steps, &mut chance, is_safe)
            && !server.disk.ends_life()
        {
            return server.fail(format!("no snapshot can be made: {why}"));
        }
        if server.disk.has_stopped() {
            break;
        }
    }
    if server.disk.ends_life() {
        // Nobody hears anything any more.
        return std::future::pending().await;
    }
    if let Some(why) = steps.failure() {
        server.fail(format!("the engine stops by itself: {why}"));
    }
}

/// Does what the ledger is asked, as slowly as the disk.
pub(super) async fn run_ledger(server: Arc<Server>, mut steps: SteppedLedger, mut chance: Chance) {
    loop {
        steps.asked().await;
        sleep(server.sync_time(&mut chance)).await;
        server.risk(&mut chance, COMMITS_ENDED, || steps.step());
        if chance.below(100) == 0 {
            server.risk(&mut chance, PASSES_ENDED, || steps.move_pages());
        }
        if server.disk.has_stopped() && server.disk.ends_life() {
            return std::future::pending().await;
        }
        // What is asked because of these answers belongs to the next transaction.
        tokio::task::yield_now().await;
    }
}
