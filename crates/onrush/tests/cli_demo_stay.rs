//! `onrush demo --stay`: a person buys among the crowd, and the audit finds it.

mod cli_support;

use cli_support::{example, exchange, onrush};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take: the crowd's machine may be busy.
const PATIENCE: Duration = Duration::from_secs(240);

/// A demo that stays; it is killed when this is dropped.
struct Staying {
    child: Child,
    says: std::sync::mpsc::Receiver<String>,
    address: SocketAddr,
    key: String,
}

impl Staying {
    fn start() -> Self {
        let mut child = onrush()
            .args(["demo", "--stay", "--fans", "20", "--zone-capacity", "50", "--streams", "2"])
            .args(["--room-capacity", "20", "--connections", "16", "--late-pct", "0"])
            .args(["--never-pct", "0", "--declined-pct", "0", "--lost-answer-pct", "0"])
            .args(["--plan", &example("theatre.json")])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        let (tell, says) = std::sync::mpsc::channel();
        let errors = child.stderr.take().expect("it is a pipe");
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                // The test may be over already.
                drop(tell.send(line));
            }
        });
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut staying = Self { child, says, address, key: String::new() };
        let line = staying.wait_for("the control room is at http://");
        let (address, key) = line.split_once("/admin, with the admin key ").expect("both");
        staying.address = address.parse().expect("an address");
        staying.key = key.to_owned();
        staying
    }

    /// What stands behind `begin` on the next line that begins so.
    fn wait_for(&self, begin: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.says.recv_timeout(left).unwrap_or_else(|_| panic!("no {begin:?}"));
            if let Some(rest) = line.strip_prefix(begin) {
                return rest.to_owned();
            }
        }
    }

    /// One request, which must be accepted.
    fn ask(&self, method: &str, path: &str, token: &str, key: &str, body: &Value) -> Value {
        let mut connection = TcpStream::connect(self.address).expect("it listens");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let path = format!("/api/v1{path}");
        let answer = exchange(&mut connection, method, &path, token, key, &body);
        let (status, said) = answer.expect("it answers");
        assert!((200..300).contains(&status), "{method} {path}: {status} {said}");
        said
    }

    fn get(&self, path: &str, token: &str) -> Value {
        self.ask("GET", path, token, "", &Value::Null)
    }

    /// Asks again and again until it is as wanted.
    fn until(&self, path: &str, token: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let said = self.get(path, token);
            if wanted(&said) {
                return said;
            }
            assert!(Instant::now() < until, "{path} is still {said}");
            std::thread::yield_now();
        }
    }

    /// Ctrl-C; says how it ended and what it printed.
    fn interrupt(mut self) -> (Option<i32>, String) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        let mut printed = String::new();
        let mut out = self.child.stdout.take().expect("it is a pipe");
        out.read_to_string(&mut printed).expect("text");
        (self.child.wait().expect("it has ended").code(), printed)
    }
}

impl Drop for Staying {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_person_buys_in_the_encore_and_the_audit_knows_of_it() {
    let demo = Staying::start();
    demo.wait_for("the encore is on sale at http://");
    let events = demo.get("/events", "");
    let titles: Vec<_> = events["events"].as_array().unwrap().iter().map(|e| &e["title"]).collect();
    assert_eq!(titles, ["The first sale", "The encore"]);

    let visitor = demo.ask("POST", "/visitors", "", "", &Value::Null);
    let (token, user) = (visitor["token"].as_str().unwrap(), visitor["user"].as_str().unwrap());
    demo.until("/events/encore", "", |event| event["phase"] == "open");
    let place = demo.ask("POST", "/events/encore/queue", token, "", &Value::Null);
    assert_eq!(place["status"], "queued", "a person waits: {place}");
    // The organiser lets people in faster, as the control room's slider does.
    let room = json!({"outflow_per_min": 6_000, "capacity": 1_000});
    demo.ask("PATCH", "/admin/events/encore/room", &demo.key, "", &room);
    demo.until("/events/encore/queue", token, |place| place["status"] == "active");
    let wish = json!({"pools": {"standing": 1}});
    let held = demo.ask("POST", "/events/encore/bookings", token, "hold", &wish);
    let booking = held["booking"].as_str().unwrap();
    let pay = format!("/bookings/{booking}/payment");
    let payment = demo.ask("POST", &pay, token, "pay", &Value::Null);
    use_card(payment["url"].as_str().unwrap());
    demo.until(&format!("/bookings/{booking}"), token, |booking| booking["status"] == "confirmed");
    let told = demo.get("/admin/events/encore/pools/standing", &demo.key);
    let steps = told["history"].as_array().unwrap();
    let bought = |step: &Value| step["what"] == "confirmed" && step["user"] == user;
    assert!(steps.iter().any(bought), "{told}");

    let (code, printed) = demo.interrupt();
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("nothing sold twice"), "{printed}");
    assert!(printed.contains("\n1 booking by visitors\n"), "{printed}");
    assert!(printed.contains("\n0 violations in "), "{printed}");
}

/// A card that is good, on the sandbox's page.
fn use_card(url: &str) {
    let rest = url.strip_prefix("http://").expect("a plain address");
    let (host, path) = rest.split_once('/').expect("a path");
    let mut connection = TcpStream::connect(host).expect("the sandbox listens");
    let form = "card=4242424242424242&action=pay";
    let request = format!(
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\naccept: application/json\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{form}",
        form.len()
    );
    std::io::Write::write_all(&mut connection, request.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 2"), "{answer}");
}
