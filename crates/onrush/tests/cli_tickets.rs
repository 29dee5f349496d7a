//! Tickets, checked without a server.

mod cli_support;

use cli_support::{ADMIN_KEY, Served, exchange, run};
use serde_json::{Value, json};
use std::net::TcpStream;
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
