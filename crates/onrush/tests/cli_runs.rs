//! The program as people run it: its exit codes and its last line of JSON.

mod cli_support;

use cli_support::{Served, example, onrush, run, run_json};
use onrush_testkit::{Authority, golden};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

/// A demo of a few seconds, which leaves its data in `keep`.
fn small_demo(keep: &Path) -> (Option<i32>, Value) {
    let (plan, keep) = (example("theatre.json"), keep.display().to_string());
    run_json(&[
        "demo",
        "--json",
        "--fans",
        "600",
        "--plan",
        &plan,
        "--zone-capacity",
        "50",
        "--room-capacity",
        "150",
        "--connections",
        "32",
        "--streams",
        "20",
        "--keep",
        &keep,
    ])
}

#[test]
fn demo_sells_out_and_ends_with_three_zeros() {
    let scratch = tempfile::tempdir().expect("a directory");
    let (code, report) = small_demo(&scratch.path().join("data"));
    assert_eq!(code, Some(0), "{report}");
    for zero in ["oversold", "seats_sold_twice", "fifo_violations", "audit_violations"] {
        assert_eq!(report[zero], 0, "{zero}: {report}");
    }
    assert_eq!(report["by_journal"], report["by_receipts"], "{report}");
    assert_eq!(report["complaints"], json!([]), "{report}");
    assert_eq!(report["fans"], 600);
    assert_eq!(report["capacity"], 638);
    assert_eq!(report["sold"], 638, "{report}");
    for figure in ["holds_per_s", "hold_p99_ms", "duration_s"] {
        assert!(report[figure].as_f64().is_some_and(|figure| figure > 0.0), "{figure}: {report}");
    }
}

#[test]
fn audit_names_a_seat_that_was_sold_twice() {
    let scratch = tempfile::tempdir().expect("a directory");
    let data = scratch.path().join("data");
    assert_eq!(small_demo(&data).0, Some(0));
    let clean = data.display().to_string();
    let (code, report) = run_json(&["audit", "--json", "--data", &clean]);
    assert_eq!((code, &report["violations"]), (Some(0), &json!(0)), "{report}");

    let copy = scratch.path().join("copy");
    std::fs::create_dir(&copy).expect("a directory");
    for file in std::fs::read_dir(&data).expect("the data").map(|entry| entry.expect("a file")) {
        if file.path().is_file() {
            std::fs::copy(file.path(), copy.join(file.file_name())).expect("a copy");
        }
    }
    let seat = plant_double_sale(&copy.join("engine.db"));
    let copy = copy.display().to_string();
    let (code, report) = run_json(&["audit", "--json", "--data", &copy]);
    assert_eq!(code, Some(1), "{report}");
    assert!(report["violations"].as_u64().is_some_and(|count| count >= 1), "{report}");
    assert!(report["found"].to_string().contains(&seat), "{seat} is not named: {report}");
    let plain = run(&["audit", "--data", &copy]);
    assert!(String::from_utf8_lossy(&plain.stdout).contains(&seat), "{plain:?}");

    // The original is as it was.
    assert_eq!(run_json(&["audit", "--json", "--data", &clean]).0, Some(0));
}

/// Writes into the journal that somebody else bought a seat that is sold; says which.
fn plant_double_sale(journal: &Path) -> String {
    let journal = Connection::open(journal).expect("the journal");
    let sold: (String, String, String) = journal
        .query_row(
            "SELECT placed.event, placed.body, confirmed.body FROM changes AS placed JOIN changes AS confirmed
             ON placed.body ->> '$.terms.booking' = confirmed.body ->> '$.booking'
             WHERE placed.change = 'hold_placed' AND confirmed.change = 'hold_confirmed'
             AND placed.body ->> '$.terms.lines.seats[0]' IS NOT NULL LIMIT 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .expect("something was sold");
    let parse = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let (event, mut placed, mut confirmed) = (sold.0, parse(&sold.1), parse(&sold.2));
    let seat = placed["terms"]["lines"]["seats"][0].as_str().expect("a seat").to_owned();
    let booking = format!("{event}.00000000000000000000000000000bad");
    placed["terms"]["booking"] = json!(booking);
    placed["terms"]["user"] = json!("somebody-else");
    confirmed["booking"] = json!(booking);
    let body = json!([{"hold_placed": placed}, {"hold_confirmed": confirmed}]).to_string();
    journal
        .execute(
            "INSERT INTO journal (seq, at, event, body) SELECT max(seq) + 1, max(at), ?1, ?2 FROM journal",
            params![event, body],
        )
        .expect("the journal can be written");
    seat
}

#[test]
fn operator_is_answered_while_strangers_have_all_connections_there_are() {
    let scratch = tempfile::tempdir().expect("a directory");
    let served = Served::start_with_files(scratch.path(), 300);
    let strangers: Vec<TcpStream> = (0..400)
        .map(|_| {
            let mut stream = TcpStream::connect(served.address).expect("it listens");
            let bound = Some(Duration::from_secs(30));
            stream.set_read_timeout(bound).expect("a bound");
            // Bodies that never come.
            let head = "POST /api/v1/payments/webhook/stripe HTTP/1.1\r\nHost: a\r\n\
                        Content-Length: 9\r\n\r\n";
            // Those who are not let in may find it closed already.
            drop(stream.write_all(head.as_bytes()));
            stream
        })
        .collect();
    let answer = |mut stream: &TcpStream| {
        let mut head = [0; 12];
        stream.read_exact(&mut head).map(|()| String::from_utf8_lossy(&head).into_owned())
    };
    let last = strangers.last().expect("400 strangers");
    assert_eq!(answer(last).expect("an answer"), "HTTP/1.1 503");
    let mut operator =
        TcpStream::connect(served.operator.expect("it listens")).expect("it listens");
    operator.set_read_timeout(Some(Duration::from_secs(30))).expect("a bound");
    operator.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").expect("it reads");
    assert_eq!(answer(&operator).expect("an answer"), "HTTP/1.1 200");
    // The first were let in, and have been waited for.
    assert_eq!(answer(&strangers[0]).expect("an answer"), "HTTP/1.1 408");
    assert_eq!(served.stop(), Some(0));
}

#[test]
fn audit_runs_beside_a_server() {
    let scratch = tempfile::tempdir().expect("a directory");
    let served = Served::start(scratch.path());
    served.create_flash_sale("flash", 10);
    let data = scratch.path().display().to_string();
    let (code, report) = run_json(&["audit", "--json", "--data", &data]);
    assert_eq!((code, &report["violations"]), (Some(0), &json!(0)), "{report}");
    assert_eq!(served.stop(), Some(0));
}

#[test]
fn wrong_command_line_ends_with_2() {
    for arguments in [
        &["demo", "--fans", "0"][..],
        &["demo", "--fans", "many"],
        &["serve", "--listen", "somewhere"],
        &["serve", "--config", "/there/is/no/such/file.toml"],
        &["bench"],
        &["bench", "engine", "--only", "everything"],
        &["audit", "--dada", "x"],
        &["sell"],
        &[],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?} says nothing");
    }
}

/// Checks a file; the exit code, and what was said about it.
fn check_config(text: &str) -> (Option<i32>, String) {
    let scratch = tempfile::tempdir().expect("a directory");
    let file = scratch.path().join("onrush.toml");
    std::fs::write(&file, text).expect("a file");
    let output = run(&["config", "--check", &file.display().to_string()]);
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).expect("text"))
}

#[test]
fn config_check_finds_every_secret_that_is_empty_or_misplaced_and_prints_none() {
    let stripe = |secret_key: &str, webhook_secret: &str, more: &str| {
        format!(
            "gateway = \"stripe\"\n[stripe]\nsecret_key = \"{secret_key}\"\n\
             webhook_secret = \"{webhook_secret}\"\n{more}"
        )
    };
    let sk = "sk_live_51H8x2KLmNoPqRsTuVwXy";
    let pk = "pk_live_51H8x2KLmNoPqRsTuVwXy";
    let whsec = "whsec_9f8e7d6c5b4a39281706";
    let publishable = |key: &str| format!("publishable_key = \"{key}\"\n");
    assert_eq!(check_config(&stripe(sk, whsec, &publishable(pk))).0, Some(0));
    let restricted = sk.replace("sk_", "rk_");
    assert_eq!(check_config(&stripe(&restricted, whsec, "")).0, Some(0));
    // A test key is fine where nobody comes from outside, or where it is said.
    let test = stripe(&sk.replace("live", "test"), whsec, "");
    let reached = format!("listen = \"0.0.0.0:8080\"\n{test}");
    assert_eq!(check_config(&test).0, Some(0));
    assert_eq!(check_config(&format!("allow_sandbox = true\n{reached}")).0, Some(0));
    assert_eq!(check_config(&reached.replace("test", "live")).0, Some(0));
    for (text, place, said) in [
        (stripe(sk, "", ""), "stripe.webhook_secret", "empty"),
        (stripe("", whsec, ""), "stripe.secret_key", "empty"),
        (stripe("    ", whsec, ""), "stripe.secret_key", "blank"),
        (stripe(&format!("{sk}\\n"), whsec, ""), "stripe.secret_key", "line break"),
        (stripe(pk, whsec, ""), "stripe.secret_key", "publishable key"),
        (stripe(whsec, whsec, ""), "stripe.secret_key", "signing secret"),
        (stripe(sk, pk, ""), "stripe.webhook_secret", "publishable key"),
        (stripe(sk, sk, ""), "stripe.webhook_secret", "secret key"),
        (stripe(sk, "whsec_1", ""), "stripe.webhook_secret", "too short"),
        (stripe("sk_live_1", whsec, ""), "stripe.secret_key", "too short"),
        (stripe("sk_51H8x2KLmNoPqRsTuVwXy", whsec, ""), "stripe.secret_key", "live_ or test_"),
        (stripe("hunter2hunter2hunter2", whsec, ""), "stripe.secret_key", "secret key (sk_"),
        (reached.clone(), "stripe.secret_key", "takes no real money"),
        (reached.replace("sk_", "rk_"), "stripe.secret_key", "set allow_sandbox = true"),
        (
            "listen = \"[::]:8080\"\ngateway = \"sandbox\"\n".into(),
            "gateway",
            "takes no real money",
        ),
        (stripe(sk, whsec, &publishable(sk)), "stripe.publishable_key", "every buyer"),
        (
            stripe(sk, whsec, &publishable(&pk.replace("live", "test"))),
            "stripe.publishable_key",
            "test key and secret_key is a live one",
        ),
        (stripe(sk, whsec, "base_url = \"ftp://x\"\n"), "stripe.base_url", "http or https"),
        (stripe(sk, whsec, "base_url = \"http://pay.example\"\n"), "stripe.base_url", "https only"),
        (
            stripe(sk, whsec, &format!("base_url = \"https://{sk}@pay.example\"\n")),
            "stripe.base_url",
            "no user and no password",
        ),
        (
            "gateway = \"sandbox\"\n[sandbox]\nwebhook_secret = \"\"\n".into(),
            "sandbox.webhook_secret",
            "empty",
        ),
        (
            "gateway = \"sandbox\"\n[sandbox]\nsecret = \"                    \"\n".into(),
            "sandbox.secret",
            "blank",
        ),
        ("[sandbox]\nurl = \"ftp://x\"\n".into(), "sandbox.url", "http or https"),
        (
            "gateway = \"sandbox\"\n[sandbox]\nlisten = \"0.0.0.0:8090\"\n".into(),
            "sandbox.listen",
            "others reach this address",
        ),
        (
            "gateway = \"sandbox\"\n[sandbox.faults]\ndeclined_pct = 101\n".into(),
            "sandbox.faults",
            "at most 100 together",
        ),
        (
            "[[keys]]\nname = \"a\"\nscopes = [\"sell\"]\nfile = \"/nowhere/key\"\n".into(),
            "keys[0].file",
            "No such file",
        ),
        ("admin_key = \"                \"\n".into(), "admin_key", "blank"),
        (format!("admin_key = \"{sk}\"\n"), "admin_key", "secret key of Stripe's"),
        (
            "admin_key = \"h8Gq2-xT4vLm9Rz0\"\nscanner_key = \"h8Gq2-xT4vLm9Rz0\"\n".into(),
            "scanner_key",
            "the same as admin_key",
        ),
        ("pass_issuer = \"\"\n".into(), "pass_issuer", "who signs"),
        (
            "[shop_tokens]\nsecret = \"h8Gq2-xT4vLm9Rz0\"\nissuer = \"\"\naudience = \" \"\n"
                .into(),
            "shop_tokens.secret",
            "at least 32 bytes",
        ),
        (
            format!(
                "[[webhooks]]\nname = \"crm\"\nurl = \"https://crm.example\"\nsecret = \"{sk}\"\n"
            ),
            "webhooks[0].secret",
            "secret key of Stripe's",
        ),
        (
            "allowed_origins = [\"shop.example\"]\n".into(),
            "allowed_origins[0]",
            "https://shop.example",
        ),
    ] {
        let (code, told) = check_config(&text);
        assert_eq!(code, Some(2), "{text}");
        let line = told.lines().find(|line| line.contains(&format!("{place}:")));
        let line = line.unwrap_or_else(|| panic!("{place} is not named: {told}"));
        assert!(line.contains(said), "{said}: {line}");
        for secret in ["51H8x2KLm", "9f8e7d6c", "hunter2", "h8Gq2"] {
            assert!(!told.contains(secret), "{told}");
        }
    }
}

#[test]
fn config_check_tells_all_that_is_wrong_at_once() {
    let (code, told) = check_config(
        "admin_key = \"short\"\nvisitors_per_min = 0\nguest_token_ttl_s = 0\npass_issuer = \" \"\n\
         public_url = \"tickets.example\"\n[stripe]\nsecret_key = \"\"\nwebhook_secret = \"\"\n\
         [shop_tokens]\nsecret = \"\"\nissuer = \"\"\naudience = \"\"\n",
    );
    assert_eq!(code, Some(2));
    for place in [
        "admin_key",
        "visitors_per_min",
        "guest_token_ttl_s",
        "pass_issuer",
        "public_url",
        "stripe.secret_key",
        "stripe.webhook_secret",
        "shop_tokens.secret",
        "shop_tokens.issuer",
        "shop_tokens.audience",
    ] {
        assert!(told.contains(&format!("{place}:")), "{place}: {told}");
    }
}

#[test]
fn proxy_that_is_not_named_is_warned_of_and_one_that_is_everybody_is_refused() {
    let https = "public_url = \"https://tickets.example\"\n";
    let named = |networks: &str| format!("{https}trusted_proxies = [{networks}]\n");
    for (text, is_warned_of) in [(https.to_owned(), true), (named("\"127.0.0.1\""), false)] {
        let (code, told) = check_config(&text);
        assert_eq!((code, told.contains("warning: trusted_proxies: ")), (Some(0), is_warned_of));
        assert!(told.contains("can be used"), "{told}");
    }
    for everybody in ["\"0.0.0.0/0\"", "\"::/0\"", "\"10.0.0.5\", \"0.0.0.0/0\""] {
        let (code, told) = check_config(&named(everybody));
        assert_eq!(code, Some(2), "{everybody}");
        assert!(told.contains("trusted_proxies: this is everybody"), "{told}");
    }
    let scratch = tempfile::tempdir().expect("a directory");
    let log = scratch.path().join("log");
    let served = Served::start_with_log(&scratch.path().join("data"), &log, |command| {
        command.env("ONRUSH_PUBLIC_URL", "https://tickets.example");
    });
    assert_eq!(served.stop(), Some(0));
    let log = std::fs::read_to_string(&log).expect("a log");
    assert_eq!(log.matches("trusted_proxies: public_url is https").count(), 1, "{log}");
}

#[test]
fn a_file_that_cannot_be_read_is_told_without_the_line_that_has_the_secret() {
    for text in [
        "[stripe]\nsecret_key = \"sk_live_51H8x2KLmNoPqRs\nwebhook_secret = \"x\"\n",
        "[stripe]\nsecret_key \"sk_live_51H8x2KLmNoPqRs\"\n",
        "gateway = \"sk_live_51H8x2KLmNoPqRs\"\n",
        "guest_tokens = \"sk_live_51H8x2KLmNoPqRs\"\n",
    ] {
        let (code, told) = check_config(text);
        assert_eq!(code, Some(2));
        assert!(told.contains("line ") && !told.contains("51H8x2KLm"), "{told}");
        let scratch = tempfile::tempdir().expect("a directory");
        let file = scratch.path().join("onrush.toml");
        std::fs::write(&file, text).expect("a file");
        let output = run(&["serve", "--config", &file.display().to_string()]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(!told.contains("51H8x2KLm"), "{told}");
    }
}

#[test]
fn what_cannot_run_ends_with_3() {
    let scratch = tempfile::tempdir().expect("a directory");
    let nothing = scratch.path().join("nothing").display().to_string();
    let output = run(&["audit", "--data", &nothing]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let output = run(&["demo", "--plan", &nothing]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");

    // A second server on the same directory.
    let data = scratch.path().display().to_string();
    let _served = Served::start(scratch.path());
    let output =
        run(&["serve", "--listen", "127.0.0.1:0", "--operator-listen", "off", "--data", &data]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

#[test]
fn half_a_new_certificate_is_told_by_the_check_and_a_start_may_be_tried_again() {
    let (authority, scratch) = (Authority::new("ours"), tempfile::tempdir().expect("a directory"));
    let written = authority.server().write(scratch.path(), "tls");
    let (cert, key) = written.expect("they can be written");
    std::fs::write(&key, authority.server().key).expect("a file");
    let (cert, key) = (cert.display(), key.display());
    let tls = format!("[tls]\ncert = \"{cert}\"\nkey = \"{key}\"\n");
    let (code, told) = check_config(&format!("visitors_per_min = 0\n{tls}"));
    assert_eq!(code, Some(2), "{told}");
    for place in ["visitors_per_min", "tls.key"] {
        assert!(told.contains(&format!("{place}:")), "{place}: {told}");
    }

    let [file, data] = ["onrush.toml", "data"].map(|name| scratch.path().join(name));
    std::fs::write(&file, &tls).expect("a file");
    let [file, data] = [file, data].map(|path| path.display().to_string());
    let here = ["--listen", "127.0.0.1:0", "--operator-listen", "off"];
    let output = run(&[&["serve", "--config", &file, "--data", &data][..], &here].concat());
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("tls.key: the key belongs to another certificate"), "{told}");
}

#[test]
fn flag_overrides_variable_and_variable_overrides_file() {
    let scratch = tempfile::tempdir().expect("a directory");
    let file = scratch.path().join("onrush.toml");
    std::fs::write(&file, "listen = \"127.0.0.1:1\"\noperator_listen = \"127.0.0.1:1\"\n")
        .expect("a file");
    let [by_variable, by_flag] = ["variable", "flag"].map(|name| scratch.path().join(name));
    let mut child = onrush()
        .args(["serve", "--json", "--listen", "127.0.0.1:0", "--data"])
        .arg(&by_flag)
        .env("ONRUSH_CONFIG", &file)
        .env("ONRUSH_DATA", &by_variable)
        .env("ONRUSH_OPERATOR_LISTEN", "off")
        .env("ONRUSH_ADMIN_KEY", cli_support::ADMIN_KEY)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let mut line = String::new();
    let out = child.stdout.take().expect("its output is a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a line");
    child.kill().expect("it can be killed");
    child.wait().expect("it has ended");
    let ready: Value = serde_json::from_str(&line).expect("it says where it listens");
    assert_eq!(ready["operator_listen"], Value::Null, "the variable overrides the file");
    assert_ne!(ready["listen"], json!("127.0.0.1:1"), "the flag overrides the file");
    assert_eq!(ready["data"], json!(by_flag), "the flag overrides the variable");
    assert!(!by_variable.exists());
}

#[test]
fn small_benchmark_of_the_engine_ends_with_its_figures() {
    let (code, figures) = run_json(&["bench", "engine", "--json", "--scale", "0.001"]);
    assert_eq!(code, Some(0));
    for figure in [
        "holds_per_s",
        "p99_ms",
        "recovery_s",
        "recovery_with_snapshot_s",
        "deadline_p99_ms",
        "burst_drained_per_s",
        "snapshot_max_gap_ms",
        "score_ns",
    ] {
        assert!(figures[figure].is_number(), "{figure}: {figures}");
    }
}

#[test]
fn small_benchmark_of_http_ends_with_its_figures() {
    let (code, figures) =
        run_json(&["bench", "http", "--json", "--scale", "0.01", "--rounds", "1"]);
    assert_eq!(code, Some(0));
    for figure in [
        "echo_per_s",
        "get_per_s",
        "holds_per_s",
        "positions_per_s",
        "hold_ratio",
        "position_ratio",
        "hold_ratio_64",
        "stream_kib_each",
        "your_turn_last_ms",
    ] {
        assert!(figures[figure].is_number(), "{figure}: {figures}");
    }
}

#[test]
fn documents_of_benchmarks_are_compared() {
    let scratch = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let document = |least: f64, middle: f64, most: f64| {
        json!({
            "version": "0.1.0", "begun_at": "2026-11-24T10:00:00Z", "scale": 1.0,
            "machine": {
                "processor": "x", "processors": 2, "memory_mib": 1, "system": "linux", "fdatasync_ms": 0.3,
            },
            "figures": {"http.hold_ratio": middle, "engine.score_ns": 2.0},
            "spreads": {"http.hold_ratio": [least, most]},
        })
        .to_string()
    };
    let before = file("before.json", &document(0.48, 0.50, 0.53));
    let after = file("after.json", &document(0.40, 0.41, 0.42));
    let output = run(&["bench", "against", &before, &after]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("WORSE   http.hold_ratio"), "{text}");
    assert!(text.contains("0 better, 1 worse, 1 the same"), "{text}");

    let other = file("other.json", "{}");
    for (before, after) in [(&before, &other), (&other, &after), (&before, &"/none".to_owned())] {
        let output = run(&["bench", "against", before, after]);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let text = String::from_utf8(output.stderr).expect("text");
        assert!(text.contains("other.json") || text.contains("/none"), "{text}");
    }
}

/// What it prints for this command line, without the settings of whoever runs the tests.
fn printed(line: &str) -> String {
    let mut command = onrush();
    command.args(line.split_whitespace()).env_remove("COLUMNS");
    let output = command.output().expect("it can be started");
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The commands that a help text names.
fn commands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| !line.is_empty()).filter_map(|line| {
        // A description that goes on is further in.
        line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?.split(' ').next()
    });
    names.filter(|name| *name != "help").collect()
}

#[test]
fn help_of_every_command_is_as_it_was() {
    let mut told = String::new();
    let mut open = vec![String::new()];
    while let Some(words) = open.pop() {
        let line = format!("{words} --help");
        let help = printed(&line);
        told += &format!("$ onrush{line}\n{help}\n");
        open.extend(commands(&help).iter().rev().map(|name| format!("{words} {name}")));
    }
    golden(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/help.txt"), &told);
}

#[test]
fn configuration_to_start_from_is_as_it_was() {
    let told = printed("config --template");
    golden(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/config.toml"), &told);
}

#[test]
fn the_program_says_its_version_and_commit() {
    let told = printed("--version");
    let head = concat!("onrush ", env!("CARGO_PKG_VERSION"), " (");
    let commit = told.trim_end().strip_prefix(head).and_then(|rest| rest.strip_suffix(')'));
    let is_commit =
        |commit: &str| commit.len() >= 10 && commit.chars().all(|c| c.is_ascii_hexdigit());
    assert!(commit.is_some_and(is_commit), "{told}");
}

#[test]
fn a_new_key_is_shown_once_with_the_lines_for_the_settings() {
    let line = "key new --name box-office --scopes read,sell --channels vip,press";
    let told = printed(line);
    let (key, lines) = told.split_once('\n').expect("a key, and lines");
    let config = onrush_base::config::Config::parse(lines).expect("they are settings");
    config.check().expect("they can be used");
    let [made] = &config.keys[..] else { panic!("{config:?}") };
    assert_eq!(made.name, "box-office");
    assert_eq!(made.hash(), Ok(onrush_base::auth::keyring::hash(key)));
    assert!(!lines.contains(key), "{told}");
    assert_ne!(printed(line).lines().next(), Some(key));
    for wrong in [
        ["key", "new", "--name", "admin", "--scopes", "read"],
        ["key", "new", "--name", "box office", "--scopes", "read"],
        ["key", "new", "--name", "ann", "--scopes", "write"],
    ] {
        let output = onrush().args(wrong).output().expect("it can be started");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{wrong:?}");
    }
}
