//! What ends a life from outside, or keeps it from writing.

use super::disk::End;
use super::faults::Faults;
use super::server::Server;
use crate::chance::Chance;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Ends the server's life at any moment, and starts it again after a while.
pub(super) async fn kill_now_and_then(server: Arc<Server>, seed: u64) {
    let mut chance = Chance::of(seed, "kills", 0);
    let Faults { kills, power, .. } = server.faults;
    loop {
        let lives_ms = match chance.below(4) {
            0 => chance.within(1, 2_000),
            1 => chance.within(2_000, 20_000),
            _ => chance.within(20_000, 300_000),
        };
        let end = match (kills, power) {
            (true, true) if chance.percent(50) => End::Process,
            (true, false) => End::Process,
            (true | false, true) | (false, false) => End::Power,
        };
        let end = tokio::select! {
            biased;
            end = server.disk.ends() => end,
            () = server.strikes.due() => end,
            () = sleep(Duration::from_millis(lives_ms.unsigned_abs())) => end,
        };
        server.kill(end).await;
        let away_ms = if chance.percent(80) {
            chance.within(200, 5_000)
        } else {
            chance.within(5_000, 120_000)
        };
        sleep(Duration::from_millis(away_ms.unsigned_abs())).await;
        server.start().await;
    }
}

/// Fills the disk up now and then, for a while, without end.
pub(super) async fn fill_now_and_then(server: Arc<Server>, seed: u64) {
    let mut chance = Chance::of(seed, "space", 0);
    loop {
        sleep(Duration::from_millis(chance.within(60_000, 1_200_000).unsigned_abs())).await;
        if !server.disk.fill(&mut chance) {
            continue;
        }
        server.story().tell("the disk", "is full");
        sleep(Duration::from_millis(chance.within(100, 20_000).unsigned_abs())).await;
        if !server.disk.has_stopped() {
            server.disk.go_on();
            server.story().tell("the disk", "has space again");
        }
    }
}
