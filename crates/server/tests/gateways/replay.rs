//! What the sandbox knows is what its file says.

use crate::inbox::PATIENCE;
use crate::stage::{GOOD_CARD, Stage, order, refund_of};
use onrush_saga::gateway::{Gateway, Standing};
use serde_json::json;
use std::io::Write;

/// Random numbers that are the same in every run (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

const CARDS: [&str; 6] = [
    GOOD_CARD,
    "4000000000000010",
    "4000000000000050",
    "4000000000000060",
    "4000000000000080",
    "4000000000000110",
];

/// Whatever happened, the file gives the same state again, and a second time too.
#[tokio::test]
async fn replaying_the_file_gives_the_same_state() {
    for seed in 0..6 {
        let mut chance = Chance(seed);
        // Without a receiver all messages wait, so that they are compared as well.
        let stage = Stage::start_with(|config| config.webhook_url = None).await;
        for _ in 0..120 {
            let order = order(&format!("p-{}", chance.below(20)));
            // Whether it can be done is not the question here.
            match chance.below(12) {
                0..=3 => drop(stage.gateway.create(&order).await),
                4..=7 => drop(stage.pay(&order, CARDS[chance.below(6) as usize]).await),
                8 => drop(stage.gateway.cancel(&order).await),
                9 | 10 => {
                    let amount_minor = chance.below(900) as i64 + 1;
                    let refund = refund_of(&order, chance.below(3) as u32, amount_minor);
                    drop(stage.gateway.refund(&refund).await);
                }
                _ => {
                    let script = json!({"fault": "lost_answer", "next_n": chance.below(3) + 1});
                    stage.script(script).await;
                }
            }
        }
        let state = async |stage: &Stage| (stage.list("").await.payments, stage.totals().await);
        let (mut before, totals) = state(&stage).await;
        assert!(totals.captured_payments > 0 && totals.messages_waiting > 0, "seed {seed}");
        let bytes = std::fs::read(stage.file()).unwrap();
        let stage = stage.restart(false).await.restart(false).await;
        let (mut after, totals_after) = state(&stage).await;
        // Addresses have the port of the day.
        for view in before.iter_mut().chain(&mut after) {
            view.asked.as_mut().unwrap().url.clear();
        }
        assert_eq!((after, totals_after), (before, totals), "seed {seed}");
        assert_eq!(std::fs::read(stage.file()).unwrap(), bytes, "seed {seed}");
    }
}

#[tokio::test]
async fn webhooks_that_had_not_arrived_are_sent_after_a_restart_and_others_are_not() {
    let stage = Stage::start().await;
    let (told, untold) = (order("told"), order("untold"));
    for order in [&told, &untold] {
        stage.gateway.create(order).await.unwrap();
    }
    stage.pay(&told, GOOD_CARD).await.unwrap();
    stage.inbox.wait_for(1).await;
    let settled = async {
        while stage.totals().await.messages_waiting > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, settled).await.unwrap();
    stage.sandbox.set_webhook_url(None);
    stage.pay(&untold, GOOD_CARD).await.unwrap();
    let stage = stage.restart(true).await;
    let all = stage.inbox.wait_for(2).await;
    assert_eq!(all[1].json()["payment"], "untold");
    let third = order("third");
    stage.gateway.create(&third).await.unwrap();
    stage.pay(&third, GOOD_CARD).await.unwrap();
    assert_eq!(stage.inbox.wait_for(3).await[2].json()["payment"], "third");
}

#[tokio::test]
async fn calling_off_the_unheard_of_outlives_a_restart() {
    let stage = Stage::start().await;
    let order = order("p");
    assert!(matches!(stage.gateway.cancel(&order).await, Ok(Standing::Cancelled { .. })));
    let stage = stage.restart(true).await;
    assert!(matches!(stage.gateway.create(&order).await, Ok(Standing::Cancelled { .. })));
}

#[tokio::test]
async fn line_that_was_cut_off_is_forgotten_and_a_damaged_one_is_an_error() {
    let stage = Stage::start().await;
    let (whole, cut) = (order("whole"), order("cut"));
    stage.gateway.create(&whole).await.unwrap();
    let length = std::fs::metadata(stage.file()).unwrap().len();
    stage.gateway.create(&cut).await.unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(stage.file()).unwrap();
    file.set_len(length + 40).unwrap();
    let stage = stage.restart(true).await;
    assert_eq!(stage.gateway.status(&cut).await, Ok(Standing::Unknown));
    assert!(matches!(stage.gateway.status(&whole).await, Ok(Standing::Open { .. })));
    stage.gateway.create(&cut).await.unwrap();
    let stage = stage.restart(true).await;
    assert!(matches!(stage.gateway.status(&cut).await, Ok(Standing::Open { .. })));

    let mut file = std::fs::OpenOptions::new().append(true).open(stage.file()).unwrap();
    file.write_all(b"{\"is\":\"nonsense\"}\n").unwrap();
    let dir = stage.file().parent().unwrap().to_owned();
    let moved = tempfile::tempdir().unwrap();
    std::fs::copy(dir.join("sandbox.jsonl"), moved.path().join("sandbox.jsonl")).unwrap();
    let damaged = onrush_sandbox::Sandbox::start(crate::stage::config(moved.path())).await;
    assert!(damaged.err().unwrap().to_string().contains("line 3"));
}
