//! A shop that sells paid bookings through the sandbox inside the server, and people who buy there.

use crate::cli_support::{ADMIN_KEY, Served, exchange, onrush, run_json};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
/// It pays.
pub(crate) const GOOD_CARD: &str = "4242424242424242";
/// It pays, and the shop never hears of it unless it asks.
pub(crate) const SILENT_CARD: &str = "4000000000000110";

/// A server with the sandbox inside.
pub(crate) fn sandboxed(data: &Path, flags: &[&str]) -> Served {
    Served::start_with(data, |command| {
        command.args(flags).env("ONRUSH_GATEWAY", "sandbox");
    })
}

/// Starts such a server and has it stop at once: how it ended, and what it said.
pub(crate) fn restored_start(data: &Path, flags: &[&str]) -> (Option<i32>, String) {
    let output = onrush()
        .args(["serve", "--json", "--log", "warn", "--listen", "127.0.0.1:0"])
        .args(["--operator-listen", "off", "--stop-with-input", "--data"])
        .arg(data)
        .args(flags)
        .env("ONRUSH_ADMIN_KEY", ADMIN_KEY)
        .env("ONRUSH_GATEWAY", "sandbox")
        .stdin(Stdio::null())
        .output()
        .expect("the program can be started");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What an audit says of a directory.
pub(crate) fn audited(data: &Path) -> Value {
    run_json(&["audit", "--json", "--data", data.to_str().expect("a plain path")]).1
}

/// The paths of all files below a directory.
pub(crate) fn names_in(dir: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("a file").path();
        let name =
            path.file_name().and_then(|name| name.to_str()).expect("a plain name").to_owned();
        if path.is_dir() {
            found.extend(names_in(&path).into_iter().map(|below| format!("{name}/{below}")));
        } else {
            found.insert(name);
        }
    }
    found
}

/// What files say, one after the other.
pub(crate) fn read_over(dir: &Path, names: &[&str]) -> String {
    names.iter().map(|name| fs::read_to_string(dir.join(name)).expect("a text")).collect()
}

/// Somebody who buys.
#[derive(Clone)]
pub(crate) struct Buyer {
    token: String,
}

impl Buyer {
    pub(crate) fn new(served: &Served) -> Self {
        Self { token: served.visitor() }
    }

    pub(crate) fn try_hold(&self, served: &Served) -> Result<String, String> {
        let mut connection = TcpStream::connect(served.address).expect("it listens");
        let path = "/api/v1/events/paid/bookings";
        let answer =
            exchange(&mut connection, "POST", path, &self.token, "h", r#"{"pools":{"ga":1}}"#);
        let (status, answer) = answer.expect("it answers");
        let text = |name: &str| answer[name].as_str().expect("a text").to_owned();
        if status == 201 { Ok(text("booking")) } else { Err(text("code")) }
    }

    pub(crate) fn hold(&self, served: &Served) -> String {
        self.try_hold(served).expect("there is enough")
    }

    /// Pays with a card, at the sandbox's page.
    pub(crate) fn pay(&self, served: &Served, booking: &str, card: &str) {
        let path = format!("/api/v1/bookings/{booking}/payment");
        let mut connection = TcpStream::connect(served.address).expect("it listens");
        let answer = exchange(&mut connection, "POST", &path, &self.token, "p", "{}");
        let (status, payment) = answer.expect("it answers");
        assert!((200..300).contains(&status), "{status}: {payment}");
        let url = payment["url"].as_str().expect("a page");
        let (host, path) =
            url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a page");
        let host: SocketAddr = host.parse().expect("an address");
        let mut connection = TcpStream::connect(host).expect("it listens");
        let form = format!("card={card}&action=pay");
        let answer = exchange(&mut connection, "POST", &format!("/{path}"), "", "", &form);
        // The browser is sent to the page again, which says what happened.
        assert_eq!(answer.expect("it answers").0, 303);
    }

    pub(crate) fn status(&self, served: &Served, booking: &str) -> String {
        let booking = served.ask("GET", &format!("/api/v1/bookings/{booking}"), &self.token, "");
        booking["status"].as_str().expect("a status").to_owned()
    }

    pub(crate) fn until_confirmed(&self, served: &Served, booking: &str) {
        let begun = Instant::now();
        while self.status(served, booking) != "confirmed" {
            assert!(begun.elapsed() < PATIENCE, "{booking} is never confirmed");
            std::thread::park_timeout(BETWEEN_LOOKS);
        }
    }

    /// Everything from the hold to the confirmed booking.
    fn buy(&self, served: &Served) -> String {
        let booking = self.hold(served);
        self.pay(served, &booking, GOOD_CARD);
        self.until_confirmed(served, &booking);
        booking
    }
}

/// The server, and what it said to buyers.
pub(crate) struct Shop {
    pub(crate) served: Served,
    /// Bookings that somebody was told are confirmed.
    confirmed: Mutex<Vec<(Buyer, String)>>,
    is_closed: AtomicBool,
}

/// Closes the shop when it goes.
pub(crate) struct Closing<'a>(&'a Shop);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.is_closed.store(true, Ordering::SeqCst);
    }
}

impl Shop {
    /// Opens one on an empty directory, with one event on sale.
    pub(crate) fn open(data: &Path) -> Self {
        Self::open_with(data, &[])
    }

    /// The same with more flags.
    pub(crate) fn open_with(data: &Path, flags: &[&str]) -> Self {
        let served = sandboxed(data, flags);
        let create = json!({"event": "paid", "title": "Test", "currency": "EUR", "room": null,
            "max_per_user": null, "fees": {"percent_bp": 250}});
        served.ask("POST", "/api/v1/admin/events", ADMIN_KEY, &create.to_string());
        let pool = r#"{"pool":"ga","capacity":1000000,"price_minor":4900}"#;
        served.ask("POST", "/api/v1/admin/events/paid/pools", ADMIN_KEY, pool);
        served.ask("POST", "/api/v1/admin/events/paid/open", ADMIN_KEY, "{}");
        Self { served, confirmed: Mutex::default(), is_closed: AtomicBool::new(false) }
    }

    /// Gives the event a plan with one seat.
    pub(crate) fn import_a_seat(&self) {
        let plan = json!({"name": "One", "size": {"width": 9, "height": 9},
            "categories": [{"name": "Stalls", "color": "#aa3333"}],
            "zones": [{"name": "Floor", "position": {"x": 1, "y": 1}, "zone_id": "z", "rows": [
                {"row_number": "A", "position": {"x": 0, "y": 0}, "seats": [
                    {"seat_guid": "A-1", "seat_number": "1", "position": {"x": 1, "y": 0},
                        "category": "Stalls"}]}]}]});
        let map = json!({"plan": plan, "prices": {"Stalls": 2_500}}).to_string();
        self.served.ask("PUT", "/api/v1/admin/events/paid/seat-map", ADMIN_KEY, &map);
    }

    /// Has somebody buy so often.
    pub(crate) fn buy(&self, count: usize) {
        for _ in 0..count {
            Buyer::new(&self.served).buy(&self.served);
        }
    }

    /// Buys until the shop is closed.
    pub(crate) fn buy_until_closed(&self) {
        while !self.is_closed.load(Ordering::SeqCst) {
            let buyer = Buyer::new(&self.served);
            let booking = buyer.buy(&self.served);
            self.confirmed.lock().expect("no panic").push((buyer, booking));
        }
    }

    /// What closes it.
    pub(crate) fn closing(&self) -> Closing<'_> {
        Closing(self)
    }

    /// Waits until so many more bookings were confirmed.
    pub(crate) fn wait_for_more(&self, count: usize) {
        let wanted = self.acknowledged().len() + count;
        let begun = Instant::now();
        while self.acknowledged().len() < wanted {
            assert!(begun.elapsed() < PATIENCE, "nobody buys any more");
            std::thread::park_timeout(BETWEEN_LOOKS);
        }
    }

    /// The bookings that somebody was told are confirmed.
    pub(crate) fn acknowledged(&self) -> Vec<(Buyer, String)> {
        self.confirmed.lock().expect("no panic").clone()
    }

    pub(crate) fn stop(self) {
        assert_eq!(self.served.stop(), Some(0));
    }

    pub(crate) fn kill(self) {
        self.served.kill();
    }
}
