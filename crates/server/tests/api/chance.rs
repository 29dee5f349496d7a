//! Buyers, the gateway, the clock and crashes in every order that chance comes up with: the money
//! adds up in the end.

use crate::client::{Answer, Request};
use crate::seat_maps::small_house;
use crate::shop::{ADMIN_KEY, config};
use crate::till::{WEBHOOK_SECRET, now_s};
use onrush_base::config::{GatewayName, Secret};
use onrush_core::Time;
use onrush_ledger::sqlite::LedgerReader;
use onrush_sandbox::{Sandbox, SandboxConfig, SandboxTotals};
use onrush_server::Server;
use onrush_store::embedded::{self, Clock, ManualClock, Options};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::runtime::{Builder, Runtime};

const BUYERS: usize = 3;
const SEATS: usize = 3;
const SECRET: &str = "whoever shows this is served";
const PATIENCE: Duration = Duration::from_secs(60);
const CARDS: [&str; 8] = [
    "4242424242424242",
    "4000000000000010",
    "4000000000000050",
    "4000000000000070",
    "4000000000000080",
    "4000000000000090",
    "4000000000000100",
    "4000000000000110",
];
const FAULTS: [&str; 3] = ["lost_answer", "error_then_success", "never"];
const CALLS: [&str; 4] = ["create", "status", "cancel", "refund"];

/// What may happen next.
#[derive(Clone, Debug)]
enum Act {
    Hold {
        buyer: usize,
        seat: usize,
    },
    Pay {
        buyer: usize,
    },
    /// The request is on its way when the process dies.
    PayAndCrash {
        buyer: usize,
    },
    UseCard {
        buyer: usize,
        card: usize,
    },
    Cancel {
        buyer: usize,
    },
    CancelByOrganiser {
        buyer: usize,
        refund_minor: Option<i64>,
    },
    Fault {
        fault: usize,
        call: usize,
        times: u32,
    },
    Wait {
        ms: i64,
    },
    Crash,
    Restart,
}

fn acts() -> impl Strategy<Value = Act> {
    let buyer = 0..BUYERS;
    prop_oneof![
        4 => (buyer.clone(), 0..SEATS).prop_map(|(buyer, seat)| Act::Hold { buyer, seat }),
        4 => buyer.clone().prop_map(|buyer| Act::Pay { buyer }),
        1 => buyer.clone().prop_map(|buyer| Act::PayAndCrash { buyer }),
        5 => (buyer.clone(), 0..CARDS.len()).prop_map(|(buyer, card)| Act::UseCard { buyer, card }),
        1 => buyer.clone().prop_map(|buyer| Act::Cancel { buyer }),
        1 => (buyer, prop_oneof![Just(None), (0_i64..=2_500).prop_map(Some)])
            .prop_map(|(buyer, refund_minor)| Act::CancelByOrganiser { buyer, refund_minor }),
        1 => (0..FAULTS.len(), 0..CALLS.len(), 1_u32..4)
            .prop_map(|(fault, call, times)| Act::Fault { fault, call, times }),
        3 => prop_oneof![1_i64..2_000, 1_i64..900_000].prop_map(|ms| Act::Wait { ms }),
        1 => any::<bool>().prop_map(|crash| if crash { Act::Crash } else { Act::Restart }),
    ]
}

/// The world outside, which survives crashes, and the server, which lives in a runtime of its own.
struct World {
    dir: TempDir,
    _sandbox_dir: TempDir,
    clock: ManualClock,
    outside: Runtime,
    sandbox: Sandbox,
    running: Option<(Runtime, Server)>,
    buyers: Vec<Buyer>,
}

struct Buyer {
    token: String,
    bookings: Vec<String>,
    url: Option<String>,
    tries: u32,
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

impl World {
    fn new() -> Self {
        let (dir, sandbox_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = |text: &str| Secret::from(text.to_owned());
        let config = SandboxConfig {
            late_ms: 50,
            ..SandboxConfig::new(
                sandbox_dir.path().to_owned(),
                secret(SECRET),
                secret(WEBHOOK_SECRET),
            )
        };
        let outside = runtime();
        let sandbox = outside.block_on(Sandbox::start(config)).unwrap();
        let clock = ManualClock::new(Time(now_s() * 1_000));
        let (running, buyers) = (None, Vec::new());
        let mut world =
            Self { dir, _sandbox_dir: sandbox_dir, clock, outside, sandbox, running, buyers };
        world.start();
        world.open_event();
        for _ in 0..BUYERS {
            let token = world.ask("POST", "/visitors", "", "", None).text("token");
            world.buyers.push(Buyer { token, bookings: Vec::new(), url: None, tries: 0 });
        }
        world
    }

    fn start(&mut self) {
        let mut config = config(&self.dir);
        config.gateway = GatewayName::Sandbox;
        config.sandbox.url = Some(self.sandbox.base_url());
        config.sandbox.secret = Some(Secret::from(SECRET.to_owned()));
        config.sandbox.webhook_secret = Some(Secret::from(WEBHOOK_SECRET.to_owned()));
        config.saga.tries = 10_000;
        config.saga.longest_pause_ms = 5_000;
        let options = Options { clock: Clock::Manual(self.clock.clone()), ..Options::default() };
        let inside = runtime();
        let server = inside.block_on(Server::start_with(config, options)).unwrap();
        let url = format!("http://{}/api/v1/payments/webhook/sandbox", server.public_addr());
        self.sandbox.set_webhook_url(Some(url.parse().unwrap()));
        self.running = Some((inside, server));
    }

    /// Cuts the server off in the middle of whatever it is doing.
    fn crash(&mut self) {
        let (inside, server) = self.running.take().unwrap();
        // What runs stops where it waits; nothing is told that it ends.
        drop(inside);
        drop(server);
    }

    fn stop(&mut self) {
        let (inside, server) = self.running.take().unwrap();
        inside.block_on(server.shutdown());
    }

    fn server(&self) -> &Server {
        &self.running.as_ref().unwrap().1
    }

    fn open_event(&self) {
        let starts_at = self.clock.now().0 + 30 * 24 * 3_600_000;
        let event = json!({"event": "e", "title": "Three seats", "currency": "EUR", "room": null,
            "fees": {"fixed_minor": 100, "percent_bp": 500}, "starts_at": starts_at,
            "refunds": [{"days_before": 1, "percent": 50}], "payment_attempts": 3});
        let map = json!({"plan": small_house(), "prices": {"Stalls": 2_500}});
        let admin = |method: &str, path: &str, body: Option<&Value>| {
            let answer = self.ask(method, &format!("/admin/events{path}"), ADMIN_KEY, "", body);
            assert!(matches!(answer.status, 200 | 201), "{answer:?}");
        };
        admin("POST", "", Some(&event));
        admin("PUT", "/e/seat-map", Some(&map));
        admin("POST", "/e/open", None);
    }

    fn request(&self, method: &str, path: &str, token: &str, key: &str) -> Request {
        let request = Request::new(self.server().public_addr(), method, &format!("/api/v1{path}"));
        let request = if token.is_empty() { request } else { request.bearer(token) };
        if key.is_empty() { request } else { request.key(key) }
    }

    /// An answer that is no fault of ours.
    fn ask(
        &self,
        method: &str,
        path: &str,
        token: &str,
        key: &str,
        body: Option<&Value>,
    ) -> Answer {
        let request = self.request(method, path, token, key);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let answer = self.outside.block_on(request.send());
        assert_ne!(answer.status, 500, "{path}: {answer:?}");
        answer
    }

    fn script(&self, fault: &str, call: &str, times: u32) {
        let to: SocketAddr = self.sandbox.address();
        let body = json!({"fault": fault, "on": call, "next_n": times});
        let request = Request::new(to, "POST", "/v1/faults").bearer(SECRET).json(&body);
        self.outside.block_on(request.send()).expect(200);
    }

    fn pay_path(&self, buyer: usize) -> Option<String> {
        let booking = self.buyers[buyer].bookings.last()?;
        Some(format!("/bookings/{booking}/payment"))
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Hold { buyer, seat } => {
                let key = format!("h{}", self.buyers[buyer].bookings.len());
                let wish = json!({"seats": [format!("A-{}", seat + 1)]});
                let token = self.buyers[buyer].token.clone();
                let answer = self.ask("POST", "/events/e/bookings", &token, &key, Some(&wish));
                if answer.status == 201 {
                    self.buyers[buyer].bookings.push(answer.text("booking"));
                }
            }
            Act::Pay { buyer } => {
                let Some(path) = self.pay_path(buyer) else { return };
                let key = format!("p{}", self.buyers[buyer].tries);
                let answer = self.ask("POST", &path, &self.buyers[buyer].token, &key, None);
                let buyer = &mut self.buyers[buyer];
                if let 200 | 201 = answer.status {
                    buyer.url = answer.json()["url"].as_str().map(str::to_owned);
                    buyer.tries += 1;
                }
            }
            Act::PayAndCrash { buyer } => {
                let Some(path) = self.pay_path(buyer) else { return };
                let key = format!("p{}", self.buyers[buyer].tries);
                let request = self.request("POST", &path, &self.buyers[buyer].token, &key);
                drop(self.outside.block_on(request.start()));
                self.crash();
                self.start();
            }
            Act::UseCard { buyer, card } => {
                let Some(url) = self.buyers[buyer].url.clone() else { return };
                let path = &url[url.find("/pay/").unwrap()..];
                let form = format!("card={}&action=pay", CARDS[card]);
                let request = Request::new(self.sandbox.address(), "POST", path)
                    .header("Content-Type", "application/x-www-form-urlencoded")
                    .body(form);
                // Some cards lose the answer, and what the page says does not matter here.
                self.outside.block_on(async {
                    let mut stream = request.header("Connection", "close").start().await;
                    drop(stream.read_to_end(&mut Vec::new()).await);
                });
            }
            Act::Cancel { buyer } => {
                let Some(booking) = self.buyers[buyer].bookings.last() else { return };
                let path = format!("/bookings/{booking}/cancel");
                self.ask("POST", &path, &self.buyers[buyer].token, "", None);
            }
            Act::CancelByOrganiser { buyer, refund_minor } => {
                let Some(booking) = self.buyers[buyer].bookings.last() else { return };
                let mut body = json!({"by": "crew", "why": "rain"});
                if let Some(refund_minor) = refund_minor {
                    body["refund_minor"] = json!(refund_minor);
                }
                let path = format!("/admin/events/e/bookings/{booking}/cancel");
                self.ask("POST", &path, ADMIN_KEY, "", Some(&body));
            }
            Act::Fault { fault, call, times } => self.script(FAULTS[fault], CALLS[call], times),
            Act::Wait { ms } => {
                self.clock.advance_ms(ms);
                self.server().sagas().look();
            }
            Act::Crash => {
                self.crash();
                self.start();
            }
            Act::Restart => {
                self.stop();
                self.start();
            }
        }
    }

    /// Lets time pass until nothing is open any more.
    fn drive_out(&self) -> SandboxTotals {
        let (engine, ledger) = (self.server().engine(), self.server().ledger().clone());
        // Every hold is over by then, and cancelled bookings are still known.
        self.clock.advance_ms(3 * 3_600_000);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (next, cursor, totals) = self.outside.block_on(async {
                tokio::task::yield_now().await;
                let cursor = ledger.cursor().await.unwrap();
                (ledger.next_due().await.unwrap(), cursor, self.sandbox.totals().await.unwrap())
            });
            let followed = cursor == engine.committed().0;
            match next {
                None if followed && totals.messages_waiting == 0 => return totals,
                Some(next) if followed && next > self.clock.now() => self.clock.set(next),
                Some(_) | None => {}
            }
            self.server().sagas().look();
            assert!(Instant::now() < deadline, "a saga does not end: {next:?} {totals:?}");
        }
    }

    fn check(mut self) {
        let sandbox = self.drive_out();
        let map = self.ask("GET", "/admin/events/e/seats", ADMIN_KEY, "", None).expect(200).json();
        self.stop();
        let audit = embedded::audit(self.dir.path()).unwrap();
        assert_eq!(
            (audit.violation_count, audit.seats_sold_twice),
            (0, 0),
            "{:?}",
            audit.violations
        );

        let reader = LedgerReader::open(self.dir.path()).unwrap();
        let totals = reader.totals().unwrap();
        assert_eq!((totals.open_sagas, totals.stuck_sagas, totals.refunding_minor), (0, 0, 0));
        assert_eq!(totals.captured_minor, sandbox.captured_minor);
        assert_eq!(totals.refunded_minor, sandbox.refunded_minor);
        assert_eq!((sandbox.open, sandbox.declined), (0, 0), "nobody can pay any more");

        let (mut confirmed_minor, mut kept_minor, mut owned) = (0, 0, Vec::new());
        for booking in reader.bookings(None, 1_000).unwrap().rows {
            match <&str>::from(booking.status) {
                "confirmed" => {
                    confirmed_minor += booking.amount_minor;
                    owned.push(booking.booking.to_string());
                }
                "cancelled" => kept_minor += booking.amount_minor - booking.refund_minor,
                "released" | "expired" => {}
                other => panic!("{} is still {other}", booking.booking),
            }
        }
        assert_eq!(
            sandbox.captured_minor,
            confirmed_minor + sandbox.refunded_minor + kept_minor,
            "{sandbox:?}"
        );
        // Each seat that is sold belongs to one of the confirmed bookings, and each of those has
        // its one seat.
        let seats = map["seats"].as_array().unwrap().iter();
        let sold = seats.filter(|seat| seat["status"] == "sold");
        let mut sold: Vec<_> =
            sold.map(|seat| seat["booking"].as_str().unwrap().to_owned()).collect();
        sold.sort();
        owned.sort();
        assert_eq!(sold, owned, "{map}");
    }
}

/// Few, so that nobody waits for them; `PROPTEST_CASES` says how many instead.
fn cases() -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(24)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_iters: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn money_adds_up_in_whatever_order_things_happen(acts in proptest::collection::vec(acts(), 5..50)) {
        let mut world = World::new();
        for act in &acts {
            world.act(act);
        }
        world.check();
    }
}
