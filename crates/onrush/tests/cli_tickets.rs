//! Tickets: checked without a server, and those of a key that somebody else has.

mod cli_support;

use cli_support::{ADMIN_KEY, Served, exchange, onrush, run};
use serde_json::{Value, json};
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::Output;

fn verify_offline(arguments: &[&str]) -> Output {
    run(&[&["verify-ticket"], arguments].concat())
}

#[test]
fn anybody_verifies_a_ticket_offline_with_the_published_keys() {
    let scratch = tempfile::tempdir().unwrap();
    let server = Served::start(scratch.path());
    server.create_flash_sale("e", 10);
    let child = json!({"id": "child", "name": "Child", "price_minor": 0, "proof": true});
    let types = json!({"pool": "ga", "types": [child], "why": "families"}).to_string();
    server.ask("PUT", "/api/v1/admin/events/e/types", ADMIN_KEY, &types);
    let visitor = server.visitor();
    let mut connection = TcpStream::connect(server.address).unwrap();
    let (to, wish) = ("/api/v1/events/e/bookings", r#"{"pools":{"ga":1}}"#);
    let (_, held) = exchange(&mut connection, "POST", to, &visitor, "k", wish).unwrap();
    let booking = held["booking"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/bookings/{booking}");
    server.ask("POST", &format!("{path}/confirm"), &visitor, "{}");
    let tickets = server.ask("GET", &format!("{path}/tickets"), &visitor, "");
    let code = tickets["tickets"][0]["code"].as_str().unwrap().to_owned();
    let published = server.ask("GET", "/api/v1/keys", "", "");
    // The server may be gone by now.
    server.kill();

    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let keys = file("keys.json", published.to_string().as_bytes());
    let mut passes = published;
    passes["keys"].as_array_mut().unwrap().retain(|key| key["for"] == "passes");
    let passes = file("passes.json", passes.to_string().as_bytes());
    let list = |event: &str, bookings: Value| {
        let list = json!({"event": event, "at": 1, "bookings": bookings});
        file(&format!("{event}.json"), list.to_string().as_bytes())
    };
    let none = list("e", json!([]));
    let genuine = verify_offline(&["--keys", &keys, "--revoked", &none, "--event", "e", &code]);
    let text = String::from_utf8(genuine.stdout).unwrap();
    assert_eq!(genuine.status.code(), Some(0), "{text}");
    assert!(text.contains(&booking) && text.contains("cannot be known offline"), "{text}");
    assert!(text.contains("one unit of ga as child (look at a proof)"), "{text}");
    assert!(text.contains("Not revoked by 1970-01-01T00:00:00Z"), "{text}");
    let json_of = |output: &Output| serde_json::from_slice::<Value>(&output.stdout).unwrap();
    let as_json = verify_offline(&["--json", "--keys", &keys, &code]);
    let report = json_of(&as_json);
    assert_eq!((&report["valid"], &report["admits_once"]), (&json!(true), &json!(false)));
    assert_eq!(report["not_revoked_at"], Value::Null, "no list was given");
    let text = String::from_utf8(verify_offline(&["--keys", &keys, &code]).stdout).unwrap();
    assert!(text.contains("was not looked at: give the list by --revoked"), "{text}");
    assert_eq!(report["ticket"]["booking"], booking.as_str());

    let other = if &code[120..121] == "A" { "B" } else { "A" };
    let altered = format!("{}{other}{}", &code[..120], &code[121..]);
    let revoked = list("e", json!([booking]));
    let elsewhere = list("f", json!([booking]));
    for (exit, arguments) in [
        (1, vec!["--keys", &keys, &altered]),
        (1, vec!["--keys", &keys, "nonsense"]),
        (1, vec!["--keys", &keys, "--event", "f", &code]),
        (1, vec!["--keys", &keys, "--revoked", &revoked, &code]),
        (2, vec!["--keys", &keys, "--revoked", &elsewhere, &code]),
        (2, vec!["--keys", &passes, &code]),
        (2, vec!["--keys", "-", "-"]),
        (2, vec!["--keys", &keys]),
        (3, vec!["--keys", "/no/such/file", &code]),
        (3, vec!["--keys", &none, &code]),
    ] {
        let output = verify_offline(&arguments);
        assert_eq!(output.status.code(), Some(exit), "{arguments:?} {output:?}");
        if exit == 1 {
            let arguments = [&["--json"], &arguments[..]].concat();
            let report = json_of(&verify_offline(&arguments));
            assert_eq!(report["valid"], false, "{report}");
        }
    }
}

/// The names of the keys that sign tickets.
fn ticket_keys(keys: &Path) -> Vec<String> {
    let names = fs::read_dir(keys).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    names.filter(|name| name.starts_with("ticket-")).collect()
}

#[test]
fn tickets_of_the_only_key_are_void_once_it_is_retired_and_the_server_starts() {
    let data = tempfile::tempdir().unwrap();
    let server = Served::start(data.path());
    server.create_flash_sale("e", 10);
    let visitor = server.visitor();
    let post = |server: &Served, to: &str, token: &str, key: &str, body: &str| {
        let mut connection = TcpStream::connect(server.address).unwrap();
        exchange(&mut connection, "POST", to, token, key, body).unwrap()
    };
    let (to, wish) = ("/api/v1/events/e/bookings", r#"{"pools":{"ga":1}}"#);
    let (_, held) = post(&server, to, &visitor, "k", wish);
    let path = format!("/api/v1/bookings/{}", held["booking"].as_str().unwrap());
    server.ask("POST", &format!("{path}/confirm"), &visitor, "{}");
    let ticket = |server: &Served| {
        let shown = server.ask("GET", &format!("{path}/tickets"), &visitor, "");
        json!({ "code": shown["tickets"][0]["code"] }).to_string()
    };
    let scan =
        |server: &Served, ticket: &str| post(server, "/api/v1/check-in", ADMIN_KEY, "", ticket);
    let before = ticket(&server);
    assert_eq!(server.stop(), Some(0));

    let keys = data.path().join("keys");
    let [key]: [String; 1] = ticket_keys(&keys).try_into().unwrap();
    fs::write(keys.join("ticket-999999999999.key"), [7; 32]).unwrap();
    let starts = || {
        let mut command = onrush();
        command.args(["serve", "--listen", "127.0.0.1:0", "--operator-listen", "off"]);
        command.args(["--stop-with-input", "--data"]).arg(data.path());
        command.env("ONRUSH_ADMIN_KEY", ADMIN_KEY);
        command.output().unwrap().status.code()
    };
    // One that is merely gone, or another one by that name, is taken for lost.
    let retired = keys.join(format!("{key}.retired"));
    let bytes = fs::read(keys.join(&key)).unwrap();
    fs::remove_file(keys.join(&key)).unwrap();
    assert_eq!(starts(), Some(4));
    fs::write(&retired, [8; 32]).unwrap();
    assert_eq!(starts(), Some(4));
    fs::write(&retired, bytes).unwrap();
    let server = Served::start(data.path());
    let (status, refused) = scan(&server, &before);
    assert_eq!((status, &refused["code"]), (422, &json!("TICKET_NOT_GENUINE")));
    let (status, let_in) = scan(&server, &ticket(&server));
    assert_eq!(status, 200, "{let_in}");
    assert_eq!(server.stop(), Some(0));
    // Nor is it missed later.
    fs::remove_file(&retired).unwrap();
    assert_eq!(starts(), Some(0));
}
