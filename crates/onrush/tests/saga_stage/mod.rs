//! A stage for stories that a kill -9 interrupts: the real server, a sandbox of its own that
//! survives it, and the audit.
//!
//! Whatever a story asks of the server is asked again, with the same key, by a restarted server if
//! the first one dies.

use crate::cli_support::{ADMIN_KEY, exchange, onrush, run_json};
use onrush_core::saga::Step;
use onrush_testkit::NotStarted;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

mod rows;
mod shared;

use rows::Rows;
use shared::Shared;

/// How long anything may take that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at the same thing: other processes need the processor as well.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
const SANDBOX_SECRET: &str = "a sandbox for tests only";
const WEBHOOK_SECRET: &str = "webhooks for tests only";
pub(crate) const HOLD_PATH: &str = "/api/v1/events/e/bookings";
/// The only seat there is.
pub(crate) const WISH: &str = r#"{"seats":["A-1"]}"#;
/// What a seat costs, and a booking of one with its fees.
const PRICE_MINOR: i64 = 2_500;
pub(crate) const AMOUNT_MINOR: i64 = 2_725;

/// Waits for a condition; `what` says which.
pub(crate) fn until<T>(what: impl std::fmt::Display, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what} never came");
        std::thread::park_timeout(BETWEEN_LOOKS);
    }
}

/// A process that says where it listens.
struct Listening {
    child: Child,
    address: SocketAddr,
}

impl Listening {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program can be started");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output is a pipe");
        BufReader::new(out).read_line(&mut line).expect("its output can be read");
        let ready: Value = serde_json::from_str(&line).expect("it says where it listens");
        let address = ready["listen"].as_str().and_then(|text| text.parse().ok());
        Self { child, address: address.expect("an address") }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it runs");
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // It may have ended already. A stopped process dies of this signal too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a story is told with.
pub(crate) struct Stage {
    scratch: TempDir,
    sandbox: Listening,
    server: Listening,
    /// Where the first server dies, unless it has.
    kill_at: Option<String>,
    /// How often it was killed.
    kills: u32,
    frozen: bool,
    /// The servers that two nodes share, and the second node: it takes over from the first one.
    shared: Option<Shared>,
}

/// How long holds last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Longer than any story.
    Long,
    /// As long, of an event that limits what one card may pay for.
    OfCards,
    /// So short that waiting for their end is no burden, and long enough for a restart in between.
    Short,
}

impl Stage {
    /// A server that dies at a point (`before:PaymentSent:Open`), and an event with one seat.
    pub(crate) fn set(kill_at: Option<&str>, holds: Holds) -> Self {
        Self::set_on(kill_at, holds, None)
    }

    /// The same with two nodes on Redis and PostgreSQL, of which the first one dies.
    ///
    /// # Errors
    /// If a server is not installed.
    pub(crate) fn set_cluster(kill_at: Option<&str>, holds: Holds) -> Result<Self, NotStarted> {
        Ok(Self::set_on(kill_at, holds, Some(Shared::start()?)))
    }

    fn set_on(kill_at: Option<&str>, holds: Holds, mut shared: Option<Shared>) -> Self {
        let scratch = tempfile::tempdir().expect("a directory");
        let sandbox = Listening::start(
            onrush()
                .args(["sandbox", "--json", "--log", "error", "--listen", "127.0.0.1:0"])
                .arg("--data")
                .arg(scratch.path().join("sandbox"))
                .env("ONRUSH_SANDBOX_SECRET", SANDBOX_SECRET)
                .env("ONRUSH_SANDBOX_WEBHOOK_SECRET", WEBHOOK_SECRET),
        );
        let config = format!(
            "gateway = \"sandbox\"\nvisitors_per_min = 1000000\nadmin_key = \"{ADMIN_KEY}\"\n\
             {}[sandbox]\nurl = \"http://{}\"\nsecret = \"{SANDBOX_SECRET}\"\nwebhook_secret = \
             \"{WEBHOOK_SECRET}\"\n\
             [saga]\ngateway_timeout_ms = 5000\nask_after_ms = 60000\nabandoned_after_ms = 200\n\
             first_pause_ms = 20\nlongest_pause_ms = 200\ntries = 200\n",
            shared.as_ref().map_or(String::new(), Shared::settings),
            sandbox.address
        );
        fs::write(scratch.path().join("onrush.toml"), config).expect("a file can be written");
        // A restart will take as long, more or less: on a busy machine holds have to outlive more.
        let begun = Instant::now();
        let server = start(&scratch, "data", kill_at);
        let mut restart_takes = begun.elapsed();
        if let Some(shared) = &mut shared {
            shared.other = Some(start(&scratch, "other", None));
            // It runs already when it takes over.
            restart_takes = Duration::ZERO;
        }
        let kill_at = kill_at.map(str::to_owned);
        let mut stage = Self { scratch, sandbox, server, kill_at, kills: 0, frozen: false, shared };
        stage.send_webhooks_here();
        stage.open_event(holds, restart_takes);
        stage
    }

    fn open_event(&mut self, holds: Holds, restart_takes: Duration) {
        let mut event = json!({"event": "e", "title": "One seat", "currency": "EUR", "room": null,
            "fees": {"fixed_minor": 100, "percent_bp": 500}});
        if holds == Holds::Short {
            let restart_ms = u64::try_from(restart_takes.as_millis()).expect("it is no age");
            event["hold_ttl_ms"] = json!((4 * restart_ms).clamp(4_000, 20_000));
            event["payment_window_ms"] = json!(1);
        }
        if holds == Holds::OfCards {
            event["max_per_card"] = json!(1);
        }
        self.organise("POST", "/events", &event);
        let plan = json!({"name": "One", "size": {"width": 9, "height": 9},
            "categories": [{"name": "Stalls", "color": "#aa3333"}],
            "zones": [{"name": "Floor", "position": {"x": 1, "y": 1}, "zone_id": "z", "rows": [
                {"row_number": "A", "position": {"x": 0, "y": 0}, "seats": [
                    {"seat_guid": "A-1", "seat_number": "1", "position": {"x": 1, "y": 0},
                        "category": "Stalls"}]}]}]});
        let map = json!({"plan": plan, "prices": {"Stalls": PRICE_MINOR}});
        self.organise("PUT", "/events/e/seat-map", &map);
        self.organise("POST", "/events/e/open", &json!({}));
    }

    fn send_webhooks_here(&self) {
        if self.frozen {
            return;
        }
        let url = format!("http://{}/api/v1/payments/webhook/sandbox", self.server.address);
        self.sandbox("PUT", "/v1/webhook", &json!({ "url": url }).to_string());
    }

    fn organise(&mut self, method: &str, path: &str, body: &Value) {
        let (status, answer) =
            self.ask(method, &format!("/api/v1/admin{path}"), ADMIN_KEY, "", &body.to_string());
        assert!(matches!(status, 200 | 201), "{path}: {status} {answer}");
    }

    /// Asks the server until it answers: if it was killed, another one is started first.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        path: &str,
        token: &str,
        key: &str,
        body: &str,
    ) -> (u16, Value) {
        loop {
            let answer = TcpStream::connect(self.server.address).and_then(|mut connection| {
                connection.set_read_timeout(Some(PATIENCE))?;
                exchange(&mut connection, method, path, token, key, body)
            });
            match answer {
                Ok(answer) => return answer,
                Err(error) => self.restart_after(&error),
            }
        }
    }

    fn restart_after(&mut self, error: &std::io::Error) {
        let ended = until("the end of a server that does not answer", || {
            self.server.child.try_wait().expect("it is our child")
        });
        assert_eq!(ended.signal(), Some(9), "{error}: {ended}");
        assert!(self.kill_at.take().is_some(), "killed twice");
        self.kills += 1;
        let other = self.shared.as_mut().and_then(|shared| shared.other.take());
        self.server = other.unwrap_or_else(|| start(&self.scratch, "data", None));
        self.send_webhooks_here();
    }

    /// Asks for something whose answer is lost because the server dies of it, and that is not asked
    /// for again.
    pub(crate) fn lose(&mut self, method: &str, path: &str, token: &str, key: &str, body: &str) {
        let mut connection = TcpStream::connect(self.server.address).expect("it listens");
        match exchange(&mut connection, method, path, token, key, body) {
            Ok(answer) => panic!("{path} was answered: {answer:?}"),
            Err(error) => self.restart_after(&error),
        }
    }

    /// Asks the sandbox something that it must accept.
    pub(crate) fn sandbox(&self, method: &str, path: &str, body: &str) -> Value {
        let mut connection = TcpStream::connect(self.sandbox.address).expect("it listens");
        let answer = exchange(&mut connection, method, path, SANDBOX_SECRET, "", body);
        let (status, answer) = answer.expect("it answers");
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    /// Has something go wrong with the next calls of a kind.
    pub(crate) fn script(&self, fault: &str, on: &str) {
        self.sandbox("POST", "/v1/faults", &json!({"fault": fault, "on": on}).to_string());
    }

    /// Has the sandbox say nothing about a booking's payments to whoever asks only that.
    pub(crate) fn hide_status(&self, booking: &str) {
        let script = json!({"fault": "error_then_success", "on": "status", "next_n": 100_000,
            "payment_prefix": booking});
        self.sandbox("POST", "/v1/faults", &script.to_string());
    }

    /// Has the sandbox stand still: nobody gets an answer until it goes on.
    pub(crate) fn freeze_sandbox(&mut self) {
        self.frozen = true;
        self.sandbox.signal(rustix::process::Signal::STOP);
    }

    /// Has the sandbox go on.
    pub(crate) fn thaw_sandbox(&mut self) {
        self.frozen = false;
        self.sandbox.signal(rustix::process::Signal::CONT);
        self.send_webhooks_here();
    }

    /// The points that were reached so far, each once.
    fn points(&self) -> Vec<String> {
        let text = fs::read_to_string(self.scratch.path().join("points")).unwrap_or_default();
        let mut points: Vec<String> = Vec::new();
        for line in text.lines() {
            if !points.iter().any(|point| point == line) {
                points.push(line.to_owned());
            }
        }
        points
    }

    fn data(&self) -> PathBuf {
        self.scratch.path().join("data")
    }
}

fn start(scratch: &TempDir, data: &str, kill_at: Option<&str>) -> Listening {
    let mut command = onrush();
    command
        .args(["serve", "--json", "--log", "off", "--listen", "127.0.0.1:0"])
        .args(["--operator-listen", "off", "--data"])
        .arg(scratch.path().join(data))
        .arg("--config")
        .arg(scratch.path().join("onrush.toml"))
        .env("ONRUSH_LIMITS", "off")
        .env("ONRUSH_SHED_AFTER_MS", "0")
        .env("ONRUSH_KILL_LOG", scratch.path().join("points"));
    if let Some(point) = kill_at {
        command.env("ONRUSH_KILL_AT", point);
    }
    Listening::start(&mut command)
}

/// A buyer.
pub(crate) struct Buyer {
    pub(crate) token: String,
}

/// What a buyer does.
impl Stage {
    pub(crate) fn buyer(&mut self) -> Buyer {
        let (status, visitor) = self.ask("POST", "/api/v1/visitors", "", "", "");
        assert_eq!(status, 201, "{visitor}");
        Buyer { token: visitor["token"].as_str().expect("a token").to_owned() }
    }

    /// Tries to hold the seat; says the booking, or the problem's code.
    pub(crate) fn try_hold(&mut self, buyer: &Buyer, key: &str) -> Result<String, String> {
        let (status, answer) = self.ask("POST", HOLD_PATH, &buyer.token, key, WISH);
        match status {
            201 => Ok(answer["booking"].as_str().expect("an id").to_owned()),
            _ => Err(answer["code"].as_str().expect("a code").to_owned()),
        }
    }

    pub(crate) fn hold(&mut self, buyer: &Buyer) -> String {
        self.try_hold(buyer, "hold").expect("the seat is free")
    }

    /// The one booking that a buyer has.
    pub(crate) fn only_booking(&mut self, buyer: &Buyer) -> String {
        let (status, answer) = self.ask("GET", "/api/v1/bookings", &buyer.token, "", "");
        assert_eq!(
            (status, answer["bookings"].as_array().map(Vec::len)),
            (200, Some(1)),
            "{answer}"
        );
        answer["bookings"][0]["booking"].as_str().expect("an id").to_owned()
    }

    /// Begins a payment, asking again while the gateway does not answer; says where it is paid.
    pub(crate) fn pay(&mut self, buyer: &Buyer, booking: &str, key: &str) -> String {
        let path = format!("/api/v1/bookings/{booking}/payment");
        let body = json!({"buyer": {"name": "Ann", "email": "ann@example.org"}}).to_string();
        until("a payment", || {
            let (status, answer) = self.ask("POST", &path, &buyer.token, key, &body);
            match status {
                200 | 201 => Some(answer["url"].as_str().expect("a page").to_owned()),
                503 => None,
                // A node that died is taken to be at it for some seconds.
                409 if answer["code"] == "IN_PROGRESS" => None,
                _ => panic!("{status}: {answer}"),
            }
        })
    }

    /// Types a card into the page and presses "pay".
    pub(crate) fn use_card(&self, url: &str, card: &str) {
        let path = url.strip_prefix(&format!("http://{}", self.sandbox.address));
        let form = format!("card={card}&action=pay");
        let mut connection = TcpStream::connect(self.sandbox.address).expect("it listens");
        let path = path.expect("the sandbox's page");
        let answer = exchange(&mut connection, "POST", path, "", "", &form);
        // The browser is sent to the page again, which says what happened.
        assert_eq!(answer.expect("it answers").0, 303);
    }

    pub(crate) fn status(&mut self, buyer: &Buyer, booking: &str) -> String {
        let path = format!("/api/v1/bookings/{booking}");
        let (status, answer) = self.ask("GET", &path, &buyer.token, "", "");
        assert_eq!(status, 200, "{answer}");
        answer["status"].as_str().expect("a status").to_owned()
    }

    pub(crate) fn until_status(&mut self, buyer: &Buyer, booking: &str, wanted: &str) {
        until(format!("{wanted} for {booking}"), || {
            (self.status(buyer, booking) == wanted).then_some(())
        });
    }

    /// The buyer gives the hold back.
    pub(crate) fn give_back(&mut self, buyer: &Buyer, booking: &str) {
        let path = format!("/api/v1/bookings/{booking}/cancel");
        let (status, answer) = self.ask("POST", &path, &buyer.token, "", "");
        assert!(status == 200 || answer["code"] == "ALREADY_RELEASED", "{status}: {answer}");
    }

    /// The organiser takes a confirmed booking back.
    pub(crate) fn cancel(&mut self, booking: &str, refund_minor: Option<i64>) {
        let mut body = json!({"by": "crew", "why": "rain"});
        if let Some(refund_minor) = refund_minor {
            body["refund_minor"] = json!(refund_minor);
        }
        self.organise("POST", &format!("/events/e/bookings/{booking}/cancel"), &body);
    }
}

/// How a story ends.
pub(crate) struct End {
    /// Bookings, and the status that each must have in the end.
    pub(crate) bookings: Vec<(String, &'static str)>,
    /// Money that stays although its booking was taken back, as was decided.
    pub(crate) kept_minor: i64,
}

/// What is known of a story that ended well.
pub(crate) struct Checked {
    /// The points that were reached, each once.
    pub(crate) points: Vec<String>,
    /// Whether the first server died.
    pub(crate) killed: bool,
}

/// What must be true in the end, whatever happened.
impl Stage {
    /// Waits until every saga is at its end, takes the server away, and has everything added up.
    pub(crate) fn check(mut self, story: &str, end: &End, kills: u32) -> Checked {
        until(format!("{story}: the end of all sagas"), || {
            // Whoever asks learns that the server was killed, and starts another.
            self.ask("GET", "/api/v1/events/e", "", "", "");
            self.has_ended(end).then_some(())
        });
        if self.kill_at.is_some() && self.shared.is_none() {
            // It wrote the last line of the story, and dies now.
            self.restart_after(&std::io::Error::other("it was to be killed"));
        }
        let ended = self.server.child.try_wait().expect("it is our child");
        let killed = self.kills > 0 || ended.is_some_and(|status| status.signal() == Some(9));
        if self.kill_at.is_some() {
            self.server.child.kill().expect("it is our child");
        } else {
            // It says which points it reached: the last of them may come after the end can be read.
            self.server.signal(rustix::process::Signal::TERM);
        }
        self.server.child.wait().expect("it has ended");

        let books = match self.shared {
            None => self.data(),
            Some(_) => self.scratch.path().join("onrush.toml"),
        };
        let kind = if self.shared.is_none() { "--data" } else { "--config" };
        let (code, audit) =
            run_json(&["audit", "--json", kind, books.to_str().expect("a plain path")]);
        assert_eq!((code, &audit["violations"]), (Some(0), &json!(0)), "{story}: {audit}");
        assert_eq!(audit["seats_sold_twice"], 0, "{story}: {audit}");

        let reader = self.rows().expect("the ledger can be read");
        let mut confirmed_minor = 0;
        for (booking, status) in &end.bookings {
            let row = reader.booking(&booking.parse().expect("an id"));
            let row = row.unwrap_or_else(|| panic!("{story}: {booking} is not in the ledger"));
            assert_eq!(row.status.to_string(), *status, "{story}: {booking}");
            if *status == "confirmed" {
                confirmed_minor += row.amount_minor;
            }
        }
        assert_eq!(reader.bookings(), end.bookings.len(), "{story}: there are no other bookings");
        let totals = reader.totals();
        let sandbox = self.sandbox("GET", "/v1/totals", "");
        let took = |what: &str| sandbox[what].as_i64().expect("a number");
        assert_eq!(totals.captured_minor, took("captured_minor"), "{story}: {sandbox}");
        assert_eq!(totals.refunded_minor, took("refunded_minor"), "{story}: {sandbox}");
        assert_eq!((totals.refunding_minor, totals.stuck_sagas), (0, 0), "{story}");
        assert_eq!(
            took("captured_minor") - took("refunded_minor"),
            confirmed_minor + end.kept_minor,
            "{story}: {sandbox}"
        );
        // Nobody can pay for anything any more.
        assert_eq!((took("open"), took("declined")), (0, 0), "{story}: {sandbox}");
        if self.shared.is_none() {
            let why = "the server was killed as often as it should be";
            assert_eq!(self.kills, kills, "{story}: {why}");
        }
        Checked { points: self.points(), killed }
    }

    /// How many bookings the ledger knows.
    pub(crate) fn known_bookings(&self) -> usize {
        self.rows().expect("nothing is at work on the tables").bookings()
    }

    /// The ledger; `None` while a server that starts is at work on its tables.
    fn rows(&self) -> Option<Rows<'_>> {
        match &self.shared {
            None => Rows::in_files(&self.data()),
            Some(shared) => Some(Rows::Shared(&shared.ledger)),
        }
    }

    /// Whether the ledger knows how the bookings ended, and every saga is at its end.
    fn has_ended(&self, end: &End) -> bool {
        // A server that starts may be at work on the tables.
        let Some(reader) = self.rows() else { return false };
        let is_known = |(booking, status): &(String, &str)| {
            let row = reader.booking(&booking.parse().expect("an id"));
            row.is_some_and(|row| row.status.to_string() == *status)
        };
        // The bookings first: what a booking's end makes of its saga is written together with it.
        if !end.bookings.iter().all(is_known) {
            return false;
        }
        let rows = reader.sagas();
        for saga in &rows {
            assert_eq!(saga.stuck, None, "{}", saga.booking);
        }
        let is_at_end = |(booking, status): &(String, &str)| {
            let saga = rows.iter().find(|saga| saga.booking.as_str() == booking);
            match saga {
                Some(saga) if saga.next_at.is_some() => false,
                Some(saga) if *status == "confirmed" => saga.step == Step::Confirmed,
                Some(saga) => saga.step == Step::Failed,
                // Nobody tried to pay for it.
                None => matches!(*status, "expired" | "released"),
            }
        };
        rows.len() <= end.bookings.len() && end.bookings.iter().all(is_at_end)
    }
}
