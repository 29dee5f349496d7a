//! Buyers at all nodes at once, who do not give up, and what must be true when the last unit is gone.

use crate::deployment::{Deployment, GOOD_CARD, Process, until};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Buyers who are at it at the same time.
const AT_A_TIME: usize = 6;
/// What a unit costs.
pub(crate) const PRICE_MINOR: i64 = 2_500;

/// An open event with these pools: id, capacity, price.
pub(crate) fn create(deployment: &Deployment, event: &Value, pools: &[(&str, u32, i64)]) {
    let node = &deployment.nodes[0];
    let id = event["event"].as_str().expect("an id").to_owned();
    node.organise("POST", "/events", event);
    for (pool, capacity, price_minor) in pools {
        let pool = json!({"pool": pool, "capacity": capacity, "price_minor": price_minor});
        node.organise("POST", &format!("/events/{id}/pools"), &pool);
    }
    node.organise("POST", &format!("/events/{id}/open"), &json!({}));
}

/// What has happened so far in a sale.
#[derive(Default)]
pub(crate) struct Sale {
    sold: AtomicUsize,
    next: AtomicUsize,
    over: AtomicUsize,
}

impl Sale {
    /// Waits until so many were sold.
    pub(crate) fn until_sold(&self, count: usize) {
        until(format!("{count} sold"), || {
            (self.sold.load(Ordering::SeqCst) >= count).then_some(())
        });
    }
}

/// Sells all `capacity` units of a new event while `meanwhile` does its worst to the servers, and
/// has everything added up.
pub(crate) fn sell_out(
    deployment: &mut Deployment,
    capacity: u32,
    meanwhile: impl FnOnce(&mut Faulty<'_>),
) -> Value {
    sell(deployment, capacity, &Value::Null, meanwhile)
}

/// The same where buyers queue first, and three of them are in at a time.
pub(crate) fn sell_out_in_room(
    deployment: &mut Deployment,
    capacity: u32,
    meanwhile: impl FnOnce(&mut Faulty<'_>),
) -> Value {
    sell(deployment, capacity, &json!({"capacity": 3}), meanwhile)
}

fn sell(
    deployment: &mut Deployment,
    capacity: u32,
    room: &Value,
    meanwhile: impl FnOnce(&mut Faulty<'_>),
) -> Value {
    let event = json!({"event": "e", "title": "Show", "currency": "EUR", "room": room});
    create(deployment, &event, &[("ga", capacity, PRICE_MINOR)]);
    let queues = !room.is_null();
    let wanted = capacity as usize;
    let sale = Sale::default();
    let addresses: Vec<_> = deployment.nodes.iter().map(|node| node.address).collect();
    let sandbox = deployment.sandbox_address();
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                let shop = Shop { nodes: &addresses, sandbox, queues };
                // Some buyers more than there are units: the last ones find nothing.
                while sale.over.load(Ordering::SeqCst) < AT_A_TIME {
                    let number = sale.next.fetch_add(1, Ordering::SeqCst);
                    if shop.buy(number) {
                        sale.sold.fetch_add(1, Ordering::SeqCst);
                    } else {
                        sale.over.fetch_add(1, Ordering::SeqCst);
                    }
                }
            });
        }
        meanwhile(&mut Faulty { deployment, sale: &sale });
    });
    assert_eq!(sale.sold.load(Ordering::SeqCst), wanted, "every unit is sold, and none twice");
    let audit = until("the end of all sagas", || {
        let audit = deployment.audit();
        (audit["open_sagas"] == 0).then_some(audit)
    });
    let confirmed_minor = i64::from(capacity) * PRICE_MINOR;
    assert_eq!(audit["sold"], json!(capacity), "{audit}");
    assert_eq!(audit["confirmed_minor"], json!(confirmed_minor), "{audit}");
    assert_eq!(audit["stuck_sagas"], json!(0), "{audit}");
    let totals = deployment.sandbox("GET", "/v1/totals", "");
    let took = |what: &str| totals[what].as_i64().expect("a number");
    assert_eq!(took("captured_minor") - took("refunded_minor"), confirmed_minor, "{totals}");
    audit
}

/// A deployment that is being sold from, to do something bad to.
pub(crate) struct Faulty<'a> {
    pub(crate) deployment: &'a mut Deployment,
    pub(crate) sale: &'a Sale,
}

/// The nodes and the gateway, as buyers see them.
struct Shop<'a> {
    nodes: &'a [std::net::SocketAddr],
    sandbox: std::net::SocketAddr,
    /// Whether buyers queue first.
    queues: bool,
}

impl Shop<'_> {
    /// Whether this buyer got a unit; each step is asked of another node, until one answers.
    fn buy(&self, number: usize) -> bool {
        let mut step = number;
        let mut ask = |method: &str, path: &str, token: &str, key: &str, body: &str| {
            until(format!("an answer to {method} {path}"), || {
                step += 1;
                let node = self.nodes[step % self.nodes.len()];
                let answer = Process::try_ask_at(node, method, path, token, key, body).ok();
                // A node that died is taken to be at a request for some seconds.
                answer.filter(|(status, body)| *status != 503 && body["code"] != "IN_PROGRESS")
            })
        };
        let (status, visitor) = ask("POST", "/api/v1/visitors", "", "", "");
        assert_eq!(status, 201, "{visitor}");
        let token = visitor["token"].as_str().expect("a token").to_owned();
        if self.queues {
            let queue = "/api/v1/events/e/queue";
            let (status, place) = ask("POST", queue, &token, "", "");
            assert!(matches!(status, 200 | 202), "{status}: {place}");
            let is_in = until("the buyer's turn", || {
                let is_in = ask("GET", queue, &token, "", "").1["status"] == "active";
                // Nobody is let in to nothing.
                let mut event = || ask("GET", "/api/v1/events/e", "", "", "").1;
                (is_in || event()["admission"] == "sold_out").then_some(is_in)
            });
            if !is_in {
                return false;
            }
        }
        let wish = json!({"pools": {"ga": 1}}).to_string();
        // A hold that was lost with what Redis forgot is taken anew.
        for attempt in 0..20 {
            let path = "/api/v1/events/e/bookings";
            let (status, held) = ask("POST", path, &token, &format!("hold-{attempt}"), &wish);
            match status {
                201 => {}
                409 if held["code"] == "INSUFFICIENT_STOCK" => {
                    if self.queues {
                        ask("DELETE", "/api/v1/events/e/queue", &token, "", "");
                    }
                    return false;
                }
                _ => panic!("{status}: {held}"),
            }
            let booking = held["booking"].as_str().expect("an id").to_owned();
            let path = format!("/api/v1/bookings/{booking}/payment");
            let body = json!({"buyer": {"name": "Ann", "email": "ann@example.org"}}).to_string();
            let (status, payment) = ask("POST", &path, &token, "pay", &body);
            if status == 404 {
                continue;
            }
            assert!(matches!(status, 200 | 201), "{status}: {payment}");
            self.use_card(payment["url"].as_str().expect("a page"));
            let path = format!("/api/v1/bookings/{booking}");
            until(format!("{booking} confirmed"), || {
                let (status, answer) = ask("GET", &path, &token, "", "");
                (status == 200 && answer["status"] == "confirmed").then_some(())
            });
            return true;
        }
        panic!("a buyer's hold was lost twenty times");
    }

    fn use_card(&self, url: &str) {
        let path =
            url.strip_prefix(&format!("http://{}", self.sandbox)).expect("our sandbox's page");
        let form = format!("card={GOOD_CARD}&action=pay");
        let (status, _) = Process::try_ask_at(self.sandbox, "POST", path, "", "", &form)
            .expect("the sandbox answers");
        assert_eq!(status, 303);
    }
}
