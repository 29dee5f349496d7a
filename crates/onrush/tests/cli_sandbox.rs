//! The sandbox as a process of its own, ended as a power cut would.

mod cli_support;

use axum::http::Request;
use bytes::Bytes;
use cli_support::onrush;
use onrush_base::config::Secret;
use onrush_base::http_client::{AddressPolicy, HttpClient};
use onrush_ledger::money::Capture;
use onrush_saga::gateway::sandbox::SandboxGateway;
use onrush_saga::gateway::{Gateway, Order, Standing};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

const SECRET: &str = "the-shop-and-the-sandbox-know-it";
const WEBHOOK_SECRET: &str = "and-this-one-signs-the-webhooks";
const GOOD_CARD: &str = "4242424242424242";

struct Process {
    child: Child,
    base_url: String,
}

impl Process {
    fn start(dir: &Path) -> Self {
        let mut child = onrush()
            .args(["sandbox", "--json", "--log", "error", "--listen", "127.0.0.1:0", "--data"])
            .arg(dir)
            .env("ONRUSH_SANDBOX_SECRET", SECRET)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
        let base_url = format!("http://{}", ready["listen"].as_str().unwrap());
        Self { child, base_url }
    }

    fn kill(&mut self) {
        // It may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn gateway(&self) -> SandboxGateway {
        let secret = |text: &str| Secret::from(text.to_owned());
        SandboxGateway::new(&self.base_url, &secret(SECRET), secret(WEBHOOK_SECRET))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn order(payment: &str) -> Order {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Order {
        payment: payment.parse().unwrap(),
        booking: format!("tour.{payment}").parse().unwrap(),
        event: "tour".parse().unwrap(),
        amount_minor: 1_250,
        currency: "EUR".parse().unwrap(),
        capture: Capture::AtOnce,
        description: "Two seats".into(),
        reference: None,
        written_at_s: i64::try_from(now.as_secs()).unwrap(),
    }
}

async fn pay(client: &HttpClient, base_url: &str, order: &Order) -> bool {
    let request = Request::post(format!("{base_url}/pay/{}", order.payment))
        .header("accept", "application/json")
        .body(Bytes::from(format!("action=pay&card={GOOD_CARD}")))
        .unwrap();
    client.call(request, 20_000).await.is_ok_and(|answer| answer.status() == 200)
}

/// Whoever was told that money was taken finds it taken, and the file can be read, wherever it broke off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_outlives_the_process() {
    const WORKERS: usize = 16;
    let dir = tempfile::tempdir().unwrap();
    let mut paid: Vec<Order> = Vec::new();
    for round in 0..3 {
        let mut process = Process::start(dir.path());
        let answered = Arc::new(Mutex::new(Vec::new()));
        let (count, mut enough) = watch::channel(0_usize);
        let client = HttpClient::new(AddressPolicy::Any);
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let (gateway, base_url) = (process.gateway(), process.base_url.clone());
                let (answered, client, count) = (answered.clone(), client.clone(), count.clone());
                tokio::spawn(async move {
                    for n in 0.. {
                        let order = order(&format!("p-{round}-{worker}-{n}"));
                        let created = gateway.create(&order).await.is_ok();
                        if !created || !pay(&client, &base_url, &order).await {
                            return;
                        }
                        answered.lock().unwrap().push(order);
                        count.send_modify(|count| *count += 1);
                    }
                })
            })
            .collect();
        enough.wait_for(|count| *count >= 200).await.unwrap();
        process.kill();
        for worker in workers {
            worker.await.unwrap();
        }
        paid.append(&mut answered.lock().unwrap());
    }
    assert!(paid.len() >= 600);
    let process = Process::start(dir.path());
    let gateway = process.gateway();
    for order in &paid {
        let standing = gateway.status(order).await;
        assert!(matches!(standing, Ok(Standing::Captured { .. })), "{order:?} {standing:?}");
    }
}
