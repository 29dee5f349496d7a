//! What people who run Onrush call beside the server: its health, the script kit's worker, the inventory.

mod cli_support;

use cli_support::{ADMIN_KEY, Served, exchange, onrush, run};
use onrush_testkit::{Authority, Postgres, Redis, RedisOptions, Tls, need, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::Duration;

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn health_of_a_node_is_its_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start_watched(folder.path(), |_| {});
    let address = served.operator.expect("it listens").to_string();
    let ready = run(&["health", "--address", &address]);
    assert_eq!((ready.status.code(), &ready.stdout[..]), (Some(0), &b"ready\n"[..]));
    let alive = onrush()
        .args(["health", "--alive"])
        .env("ONRUSH_OPERATOR_LISTEN", &address)
        .output()
        .expect("it runs");
    assert_eq!((alive.status.code(), &alive.stdout[..]), (Some(0), &b"ok\n"[..]));
    served.kill();
    let gone = run(&["health", "--address", &address]);
    assert_eq!(gone.status.code(), Some(3), "{}", said(&gone));
    assert!(said(&gone).contains(&address), "{}", said(&gone));
}

#[test]
fn inventory_is_brought_over_tls_to_a_node_that_its_authority_names_and_to_no_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let (cert, key) = ours.server().write(folder.path(), "node").expect("they are written");
    let file = |name: &str, authority: &Authority| {
        let path = folder.path().join(name);
        std::fs::write(&path, authority.pem()).expect("it is written");
        path.display().to_string()
    };
    let (ours, theirs) = (file("ours.pem", &ours), file("theirs.pem", &theirs));
    let served = Served::start_with(&folder.path().join("data"), |command| {
        command.env("ONRUSH_TLS__CERT", cert).env("ONRUSH_TLS__KEY", key);
    });
    let url = format!("https://localhost:{}", served.address.port());
    let sync = |more: &[&str]| {
        let arguments = ["sync-inventory", "--url", &url, "--admin-key", ADMIN_KEY];
        run(&[&arguments[..], more].concat())
    };
    // It is reached, and has no inventory: that is a cluster's.
    let reached = sync(&["--ca", &ours]);
    assert_eq!(reached.status.code(), Some(3));
    assert!(said(&reached).contains("NEEDS_CLUSTER"), "{}", said(&reached));
    for (arguments, why) in [(&["--ca", &theirs][..], "--ca"), (&[], "--ca")] {
        let refused = sync(arguments);
        assert_eq!(refused.status.code(), Some(3));
        let said = said(&refused);
        assert!(said.contains(why) && !said.contains("NEEDS_CLUSTER"), "{arguments:?}: {said}");
    }
    let missing = sync(&["--ca", "/nowhere/ca.pem"]);
    assert!(said(&missing).contains("--ca: /nowhere/ca.pem"), "{}", said(&missing));
    assert_eq!(sync(&["--cert", &ours]).status.code(), Some(2), "a certificate has a key");
}

/// A service manager may stop it at once: what runs then still ends in order.
#[test]
fn whatever_says_that_it_runs_stops_in_order() {
    let scratch = tempfile::tempdir().expect("a directory");
    for number in 0..16 {
        let served = Served::start(&scratch.path().join(number.to_string()));
        assert_eq!(served.stop(), Some(0), "start {number}");
    }
}

/// A worker that is killed when this is dropped.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Worker {
    fn start(arguments: &[&str]) -> Self {
        let mut command = onrush();
        command.args(["kit-worker", "--log", "error"]).args(arguments).stdout(Stdio::null());
        Self(command.spawn().expect("the program can be started"))
    }

    /// Asks it to stop, and says how it ended.
    fn stop(mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.0), Signal::TERM).expect("it runs");
        self.0.wait().expect("it has ended").code()
    }
}

const PATIENCE: Duration = Duration::from_secs(60);
const ZONE: &str = "zone:availability:A";

fn lua(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/lua/kit").join(name);
    std::fs::read_to_string(path).expect("the kit has it")
}

/// Holds four of ten seats for a second, and waits until they are there again.
#[track_caller]
fn stock_comes_back(redis: &Redis, index: &[&str]) {
    redis.command(&["SET", ZONE, "10"]).expect("Redis runs");
    let script = lua("reserve_seats.lua");
    let keys = [&[ZONE, "user:reservations:ada:gala", "reservation:b1"], index].concat();
    let args = ["4", "4", "ada", "b1", "A", "gala", "evening", "15000", "1"];
    let count = keys.len().to_string();
    let call = [&["EVAL", &script, &count][..], &keys, &args].concat();
    // Its own answer: by another look the second may be over.
    let held = redis.command(&call).expect("Redis runs");
    assert_eq!(held, "1\n6\n4", "four are held, and six are left");
    let free = || redis.command(&["GET", ZONE]).expect("Redis runs");
    wait_until("the stock comes back", PATIENCE, || free().contains("10")).expect("in time");
    redis.command(&["DEL", "reservation:b1"]).expect("Redis runs");
}

#[test]
fn kit_worker_returns_stock_until_it_is_told_to_stop() {
    let Some(redis) = need(Redis::start()) else { return };
    let url = redis.url();
    let worker = Worker::start(&["--redis", &url]);
    stock_comes_back(&redis, &[]);
    assert_eq!(worker.stop(), Some(0));
}

#[test]
fn kit_worker_looks_after_several_indexes_and_after_none_that_no_event_can_use() {
    let Some(redis) = need(Redis::start()) else { return };
    let url = redis.url();
    let indexes = ["expiries:{gala}", "expiries:{fair}"];
    let worker = Worker::start(&["--redis", &url, "--index", indexes[0], "--index", indexes[1]]);
    for index in indexes {
        stock_comes_back(&redis, &[index]);
    }
    assert_eq!(worker.stop(), Some(0));
    for index in [&[][..], &["--index", "expiries"], &["--index", "expiries:{}"]] {
        let refused = run(&[&["kit-worker", "--redis", &url, "--cluster"], index].concat());
        assert_eq!(refused.status.code(), Some(2));
        assert!(said(&refused).contains("--index 'expiries:{gala}'"), "{}", said(&refused));
    }
}

#[test]
fn kit_worker_comes_by_tls_with_an_address_out_of_a_file_and_past_no_other_authority() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let tls = Some(Tls::new(ours.server()));
    let Some(redis) = need(Redis::start_with(&RedisOptions { tls, ..Default::default() })) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("it is written");
        path.display().to_string()
    };
    let address = file("address", &format!("{}\n", redis.tls_url()));
    let (ours, theirs) = (file("ours.pem", ours.pem()), file("theirs.pem", theirs.pem()));
    let refused = run(&["kit-worker", "--redis-file", &address, "--ca", &theirs]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(said(&refused).contains("set --ca"), "{}", said(&refused));
    let worker = Worker::start(&["--redis-file", &address, "--ca", &ours]);
    stock_comes_back(&redis, &[]);
    assert_eq!(worker.stop(), Some(0));
    assert_eq!(run(&["kit-worker"]).status.code(), Some(2), "no address");
}

#[test]
fn webhook_whose_certificate_is_not_trusted_is_a_line_in_the_log_with_the_setting() {
    let folder = tempfile::tempdir().expect("a folder");
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let (cert, key) = theirs.server().write(folder.path(), "theirs").expect("they are written");
    // Whoever speaks TLS will do: nothing gets as far as a request.
    let receiver = Served::start_with(&folder.path().join("receiver"), |command| {
        command.env("ONRUSH_TLS__CERT", cert).env("ONRUSH_TLS__KEY", key);
    });
    let log = folder.path().join("log");
    let shop = Served::start_with_log(&folder.path().join("shop"), &log, |command| {
        let url = format!("https://localhost:{}/hook", receiver.address.port());
        command.env("ONRUSH_WEBHOOKS__0__NAME", "crm").env("ONRUSH_WEBHOOKS__0__URL", url);
        command.env("ONRUSH_WEBHOOKS__0__SECRET", "a secret for tests only");
        command.env("ONRUSH_WEBHOOKS__0__ALLOW_PRIVATE", "true");
        command.env("ONRUSH_WEBHOOKS__0__CERTIFICATES__CA", ours.pem());
    });
    shop.create_flash_sale("e", 10);
    for _ in 0..3 {
        let visitor = shop.visitor();
        let mut connection = TcpStream::connect(shop.address).expect("it listens");
        let (path, wish) = ("/api/v1/events/e/bookings", r#"{"pools":{"ga":1}}"#);
        let held = exchange(&mut connection, "POST", path, &visitor, "k", wish);
        let (status, held) = held.expect("it answers");
        assert_eq!(status, 201, "{held}");
        let booking = held["booking"].as_str().expect("an id");
        shop.ask("POST", &format!("/api/v1/bookings/{booking}/confirm"), &visitor, "{}");
    }
    let lines = || std::fs::read_to_string(&log).expect("it can be read");
    let told = || lines().matches("messages do not arrive").count();
    wait_until("the log says so", PATIENCE, || told() > 0).expect("in time");
    let said = lines();
    for part in ["webhook:crm", "webhooks[crm].url", "webhooks[crm].certificates.ca"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// What the operator's listener shows.
fn metrics(operator: SocketAddr) -> String {
    let mut stream = TcpStream::connect(operator).expect("it listens");
    let request = "GET /metrics HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it is text");
    text
}

#[test]
fn the_disk_of_a_journal_is_on_metrics_also_beside_a_ledger_in_postgresql() {
    let Some(postgres) = need(Postgres::start()) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start_watched(folder.path(), |command| {
        command.env("ONRUSH_LEDGER", "postgres").env("ONRUSH_POSTGRES__URL", postgres.url());
    });
    let text = metrics(served.operator.expect("it listens"));
    let row = text.lines().find_map(|line| line.strip_prefix("onrush_disk_free_bytes "));
    let free: f64 = row.expect("it is watched").parse().expect("a number");
    assert!(free > 0.0, "{text}");
}

#[test]
fn rabbitmq_that_is_away_is_on_metrics_and_readyz_and_makes_no_node_unready() {
    let Some(postgres) = need(Postgres::start()) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    // Nobody listens there any more.
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let nobody = nobody.expect("there are ports");
    let served = Served::start_watched(folder.path(), |command| {
        command.env("ONRUSH_LEDGER", "postgres").env("ONRUSH_POSTGRES__URL", postgres.url());
        command.env("ONRUSH_RABBITMQ__URL", format!("amqp://guest@{nobody}"));
        command.env("ONRUSH_RABBITMQ__PASSWORD", "s3cret: /@%");
    });
    served.create_flash_sale("e", 10);
    let operator = served.operator.expect("it listens");
    let failures = "onrush_publisher_failures_total{publisher=\"rabbitmq\"} ";
    let failed = || {
        let text = metrics(operator);
        let row = text.lines().find_map(|line| line.strip_prefix(failures));
        row.is_some_and(|count| count != "0")
    };
    wait_until("it is tried", PATIENCE, failed).expect("in time");
    // Who takes a second to answer counts as away, and as far behind as nobody knows: on a busy machine
    // another look may be needed.
    for row in ["onrush_publisher_up{publisher=\"rabbitmq\"} 0", "onrush_ledger_up 1"] {
        let has = || metrics(operator).lines().any(|line| line == row);
        wait_until(row, PATIENCE, has).unwrap_or_else(|_| panic!("{}", metrics(operator)));
    }
    // The event, its pool and its opening were decided, and RabbitMQ was told of none of it.
    let lag = "onrush_publisher_lag_decisions{publisher=\"rabbitmq\"} ";
    let mut behind = None;
    let is_known = || {
        let text = metrics(operator);
        let row = text.lines().find_map(|line| line.strip_prefix(lag));
        behind = row.and_then(|count| count.parse::<u64>().ok());
        behind.is_some()
    };
    wait_until("how far behind it is", PATIENCE, is_known).expect("in time");
    let behind = behind.expect("it is known");
    assert!(behind >= 3, "{behind}");
    let line = format!("ready\nrabbitmq: not connected, {behind} decisions behind");
    let mut told = String::new();
    let is_told = || {
        let ready = run(&["health", "--address", &operator.to_string()]);
        assert_ne!(ready.status.code(), Some(1), "{}", said(&ready));
        told = String::from_utf8_lossy(&ready.stdout).into_owned();
        ready.status.code() == Some(0) && told.starts_with(&line)
    };
    wait_until("the line of health", PATIENCE, is_told).unwrap_or_else(|_| panic!("{told}"));
}

/// Whoever watches over a server starts it again after the one, and not after the other.
#[test]
fn a_database_that_is_away_and_a_directory_that_was_restored_end_with_different_codes() {
    let folder = tempfile::tempdir().expect("a folder");
    let serve = |data: &str, variables: &[(&str, &str)]| {
        let output = onrush()
            .args(["serve", "--listen", "127.0.0.1:0", "--operator-listen", "off"])
            .args(["--stop-with-input", "--data"])
            .arg(folder.path().join(data))
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .output()
            .expect("it runs");
        (output.status.code(), said(&output))
    };
    // Nobody listens there any more.
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = closed.local_addr().expect("an address").port();
    drop(closed);
    let url = format!("postgres://onrush@127.0.0.1:{port}/onrush");
    let (code, why) =
        serve("one", &[("ONRUSH_LEDGER", "postgres"), ("ONRUSH_POSTGRES__URL", &url)]);
    assert_eq!(code, Some(3), "{why}");
    assert!(why.contains("PostgreSQL cannot be used"), "{why}");
    assert_eq!(why.matches("it is asked again").count(), 4, "{why}");

    let restored = folder.path().join("two");
    std::fs::create_dir(&restored).expect("made");
    // Whatever stands in it, the file says that nobody may sell from here as if nothing had happened.
    std::fs::write(restored.join("backup.json"), "{}").expect("written");
    let (code, why) = serve("two", &[]);
    assert_eq!(code, Some(4), "{why}");
    assert!(why.contains("--accept-restored"), "{why}");
}

/// A server that starts, and asks for PostgreSQL at this port. As the first process of a container it
/// ignores what it does not listen for.
struct Starting {
    process: Worker,
    log: ChildStderr,
}

impl Starting {
    fn with_postgres_at(data: &Path, port: u16) -> Self {
        let url = format!("postgres://onrush@127.0.0.1:{port}/postgres?sslmode=disable");
        let mut command = Command::new("sh");
        let script = "trap '' TERM && exec \"$0\" \"$@\"";
        command.args(["-c", script, env!("CARGO_BIN_EXE_onrush"), "serve", "--json"]);
        command.args(["--log", "info", "--listen", "127.0.0.1:0", "--operator-listen", "off"]);
        command.arg("--data").arg(data);
        command.env("ONRUSH_LEDGER", "postgres").env("ONRUSH_POSTGRES__URL", url);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be started");
        let log = child.stderr.take().expect("it is a pipe");
        Self { process: Worker(child), log }
    }

    fn tell_to_stop(&self) {
        kill_process(Pid::from_child(&self.process.0), Signal::TERM).expect("it runs");
    }

    /// What it says where it listens, its log, and how it ends.
    fn end(mut self) -> (String, String, Option<i32>) {
        let (mut told, mut log) = (String::new(), String::new());
        let mut out = self.process.0.stdout.take().expect("it is a pipe");
        out.read_to_string(&mut told).expect("it is text");
        self.log.read_to_string(&mut log).expect("it is text");
        (told, log, self.process.0.wait().expect("it has ended").code())
    }
}

#[test]
fn a_key_file_that_is_away_ends_a_start_with_2_before_anything_is_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, data] = ["onrush.toml", "data"].map(|name| folder.path().join(name));
    let key =
        "[[keys]]\nname = \"box-office\"\nscopes = [\"sell\"]\nfile = \"/nowhere/box-ofice\"\n";
    std::fs::write(&file, key).expect("it is written");
    let drawn = data.join("keys/admin-key.sha256");
    let [file, data] = [file, data].map(|path| path.display().to_string());
    let here = ["--listen", "127.0.0.1:0", "--operator-listen", "off"];
    let output = run(&[&["serve", "--config", &file, "--data", &data][..], &here].concat());
    let told = said(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("keys[0].file: /nowhere/box-ofice: No such file"), "{told}");
    assert!(!told.contains("data directory"), "{told}");
    // Nobody would ever be shown it.
    assert!(!drawn.exists(), "{told}");
}

#[test]
fn a_server_that_is_told_to_stop_while_it_starts_ends_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let door = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = door.local_addr().expect("an address").port();
    let starting = Starting::with_postgres_at(folder.path(), port);
    // Its start goes no further before this is answered.
    let _never_answered = door.accept().expect("it connects");
    starting.tell_to_stop();
    let (told, log, code) = starting.end();
    assert_eq!((told.as_str(), code), ("", Some(0)), "{log}");
    assert!(log.contains("stopping before it has started"), "{log}");
}

#[test]
fn secrets_in_a_file_that_every_account_can_read_are_told_by_the_check_and_by_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let [file, data, log] = ["onrush.toml", "data", "log"].map(|name| folder.path().join(name));
    std::fs::write(&file, "admin_key = \"s3cret-s3cret-s3cret\"\n").expect("it is written");
    let allow = |place: &Path, mode: u32| {
        std::fs::set_permissions(place, Permissions::from_mode(mode)).expect("set");
    };
    allow(folder.path(), 0o755);
    // Temporary files may stand below a home, where nobody else comes.
    let is_passed = |folder: &Path| {
        let about = folder.metadata().expect("it is there");
        about.permissions().mode() & 0o001 != 0
    };
    let all_pass = folder.path().canonicalize().expect("a path").ancestors().all(is_passed);
    for (around, mode, is_told) in
        [(0o755, 0o644, all_pass), (0o755, 0o640, false), (0o700, 0o644, false)]
    {
        allow(folder.path(), around);
        allow(&file, mode);
        let times = usize::from(is_told);
        let told = said(&run(&["config", "--check", &file.display().to_string()]));
        let served = Served::start_with_log(&data, &log, |command| {
            command.env("ONRUSH_CONFIG", &file);
        });
        assert_eq!(served.stop(), Some(0));
        for told in [told, std::fs::read_to_string(&log).expect("a log")] {
            assert_eq!(told.matches("admin_key: every account").count(), times, "{told}");
            assert!(!told.contains("s3cret"), "{told}");
        }
    }
}
