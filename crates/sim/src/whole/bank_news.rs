//! The bank's messages on their way to the server.

use super::bank::{Bank, Heard};
use super::client::{Answer, Asking, Client};
use super::server::Server;
use crate::chance::Chance;
use serde_json::json;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep};

/// How often the bank repeats a message that nobody takes.
const REPEATS: u32 = 12;
/// Where its messages come from.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// Tells the server what happened at the bank: late, twice, in another order, or never.
pub(super) async fn tell(
    mut news: UnboundedReceiver<String>,
    bank: Arc<Bank>,
    server: Arc<Server>,
    seed: u64,
    has_faults: bool,
) {
    let mut chance = Chance::of(seed, "messages", 0);
    while let Some(notice) = news.recv().await {
        let times = match chance.below(20) {
            _ if !has_faults => 1,
            0..=1 => 0,
            2..=4 => 2,
            _ => 1,
        };
        for _ in 0..times {
            let late_ms = match chance.below(10) {
                _ if !has_faults => 50,
                0 => chance.within(1_000, 900_000),
                _ => chance.within(10, 2_000),
            };
            let courier = courier(&server, Chance::of(seed, "courier", chance.any()));
            let (bank, server) = (bank.clone(), server.clone());
            let late_ms = late_ms.unsigned_abs();
            tokio::spawn(deliver(notice.clone(), courier, late_ms, bank, server));
        }
    }
}

/// Whoever brings the bank's messages.
pub(super) fn courier(server: &Server, device: Chance) -> Client {
    Client::new(server.net().clone(), ADDRESS.into(), device)
}

/// Brings a message once; says what was answered. Of what its desk did the bank notes that the server
/// knows it from then on.
pub(super) async fn bring(
    id: &str,
    courier: &mut Client,
    bank: &Bank,
    server: &Server,
) -> Option<Answer> {
    let told = bank.told_of_desk(id);
    // Asked for beforehand: the files may be made older after it was taken in, and before that is heard.
    let upgrades = if told.is_empty() { None } else { Some(server.upgrades().await) };
    let message = Asking::post("/payments/webhook/bank").body(json!({ "id": id }));
    let answer = courier.ask(&message).await;
    if let (Some(upgrades), Some(answer)) = (upgrades, &answer)
        && answer.is_done()
    {
        bank.note_heard(&told, Heard { at: Instant::now(), upgrades });
    }
    answer
}

async fn deliver(
    id: String,
    mut courier: Client,
    late_ms: u64,
    bank: Arc<Bank>,
    server: Arc<Server>,
) {
    sleep(Duration::from_millis(late_ms)).await;
    for time in 0..REPEATS {
        let taken = bring(&id, &mut courier, &bank, &server).await;
        if taken.is_some_and(|taken| taken.is_done() || taken.code() == "WEBHOOK_MISMATCH") {
            return;
        }
        sleep(Duration::from_secs(1 << time.min(8))).await;
    }
}
