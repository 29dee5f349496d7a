//! Certificates of a real authority: Pebble looks at names, issues, refuses, is away.

mod stage;

use onrush_acme::Acme;
use onrush_base::config::{AcmeSettings, Pem, Secret};
use onrush_testkit::{Authority, Log, Pebble, PebbleOptions, need};
use onrush_tls::CHALLENGE_PROTOCOL;
use stage::{NAME, Roots, Stage, look_again, settings, until, within};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tracing::Level;

#[tokio::test]
async fn a_certificate_is_fetched_over_the_listener_itself_and_a_restart_asks_nobody() {
    let Some(mut pebble) = need(Pebble::start(PebbleOptions::default())) else { return };
    let (data, roots) = (tempfile::tempdir().unwrap(), Roots::of(&pebble).await);
    let mut settings = settings(&pebble);
    settings.domains.push("www.tickets.example".into());
    let stage = Stage::start(&settings, data.path(), &pebble);
    assert!(!stage.view.is_there());
    let why = stage.connect(&roots, NAME).await.err().expect("there is nothing to show yet");
    assert!(why.to_string().contains("AccessDenied"), "{why}");
    stage.has_certificate().await;
    assert!(pebble.looks() >= 2, "each name was looked at");
    let mut shown = Vec::new();
    for name in [NAME, "www.tickets.example"] {
        let mut connection = stage.connect(&roots, name).await.unwrap();
        assert!(connection.ask().await.starts_with("HTTP/1.1 200"));
        shown = connection.shown();
    }
    stage.connect(&roots, "other.example").await.err().expect("it is for two names alone");
    stage.end().await;
    for file in ["keys/acme/account.json", "keys/acme/certificate.pem"] {
        assert_eq!(mode(&data.path().join(file)), 0o600, "{file}");
    }
    assert_eq!(mode(&data.path().join("keys/acme")), 0o700);

    pebble.stop();
    let (log, _guard) = Log::begin(Level::INFO);
    let stage = Stage::start(&settings, data.path(), &pebble);
    assert!(stage.view.is_there(), "what was kept is shown at once");
    let mut connection = stage.connect(&roots, NAME).await.unwrap();
    assert!(connection.ask().await.ends_with("hello"));
    assert_eq!(connection.shown(), shown);
    assert_eq!(log.text(), "", "nobody was asked");
    stage.end().await;
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn a_certificate_is_renewed_before_it_ends_and_connections_stay() {
    // Renewed when eight seconds of them are left, which a busy machine may take for it.
    let options = PebbleOptions { validity_s: Some(24), ..PebbleOptions::default() };
    let Some(pebble) = need(Pebble::start(options)) else { return };
    let (data, roots) = (tempfile::tempdir().unwrap(), Roots::of(&pebble).await);
    let stage = Stage::start(&settings(&pebble), data.path(), &pebble);
    stage.has_certificate().await;
    let mut stays = stage.connect(&roots, NAME).await.unwrap();
    let first = stays.validity();
    let renewed = async {
        while stage.view.not_after_s() == Some(first.not_after_s) {
            stays.ask().await;
            look_again().await;
        }
    };
    within("another certificate", renewed).await;
    let mut comes = stage.connect(&roots, NAME).await.unwrap();
    comes.ask().await;
    assert_ne!(comes.shown(), stays.shown());
    let second = comes.validity();
    assert_eq!(stage.view.not_after_s(), Some(second.not_after_s));
    assert!(second.not_after_s > first.not_after_s);
    assert!(second.not_before_s <= first.not_after_s, "there was no time without one");
    stays.ask().await;
    stage.end().await;
}

/// Puts a certificate of somebody else's into a folder, as if it had been fetched.
fn keep(data: &Path, authority: &Authority, directory: &str, names: &[&str]) {
    let issued = authority.server_of(names);
    fs::create_dir_all(data.join("keys/acme")).unwrap();
    let text = format!("directory: {directory}\n{}\n{}", issued.cert, issued.key);
    fs::write(data.join("keys/acme/certificate.pem"), text).unwrap();
}

#[tokio::test]
async fn what_another_authority_or_other_names_had_is_shown_until_there_is_a_better_one() {
    let Some(pebble) = need(Pebble::start(PebbleOptions::default())) else { return };
    let (settings, theirs) = (settings(&pebble), Authority::new("theirs"));
    for (directory, names) in
        [("https://staging.example/dir", [NAME]), (&*settings.directory, ["old.example"])]
    {
        let data = tempfile::tempdir().unwrap();
        keep(data.path(), &theirs, directory, &names);
        let before = Acme::open(&settings, data.path()).unwrap().shown().pair().unwrap();
        let stage = Stage::start(&settings, data.path(), &pebble);
        assert!(stage.view.is_there());
        let not_after_s = stage.view.not_after_s();
        assert_eq!(not_after_s, before.validity().map(|validity| validity.not_after_s));
        until("another certificate", || stage.view.not_after_s() != not_after_s).await;
        stage.connect(&Roots::of(&pebble).await, NAME).await.unwrap().ask().await;
        stage.end().await;
    }
}

#[tokio::test]
async fn whatever_keeps_it_away_is_told_once_and_the_one_from_before_stays() {
    let Some(mut pebble) = need(Pebble::start(PebbleOptions::default())) else { return };
    let data = tempfile::tempdir().unwrap();
    let settings = settings(&pebble);
    keep(data.path(), &Authority::new("theirs"), &settings.directory, &["old.example"]);
    let (log, _guard) = Log::begin(Level::INFO);
    pebble.stop();
    let stage = Stage::start(&settings, data.path(), &pebble);
    let not_after_s = stage.view.not_after_s();
    let away = "the authority cannot be asked: no connection: ";
    until("a sentence", || log.count(away) == 1).await;
    assert_eq!(log.count("no certificate could be fetched; the one from before stays"), 1);

    // Another reason, so another sentence; and none is repeated for the tries between.
    pebble.look_at_nobody();
    pebble.restart().unwrap();
    let unseen = "the authority could not see that the names are ours; it connects to port 443";
    until("a sentence", || log.count(unseen) == 1).await;
    assert_eq!(log.count(away), 1, "{}", log.text());
    assert_eq!(stage.view.not_after_s(), not_after_s, "it stays");

    pebble.look_at(stage.address);
    until("a certificate", || stage.view.not_after_s() != not_after_s).await;
    stage.connect(&Roots::of(&pebble).await, NAME).await.unwrap().ask().await;
    stage.end().await;
}

/// What the log says of settings by which there never is a certificate.
async fn complaint(pebble: &Pebble, settings: &AcmeSettings, said: &str) -> String {
    let data = tempfile::tempdir().unwrap();
    let (log, _guard) = Log::begin(Level::INFO);
    let stage = Stage::start(settings, data.path(), pebble);
    until(said, || log.count(said) == 1).await;
    assert!(log.text().contains("until one is issued nobody is greeted"), "{}", log.text());
    assert!(!stage.view.is_there());
    assert!(!data.path().join("keys/acme/certificate.pem").exists());
    stage.end().await;
    log.text()
}

#[tokio::test]
async fn an_authority_that_refuses_is_quoted() {
    let Some(pebble) = need(Pebble::start(PebbleOptions::default())) else { return };
    let settings = settings(&pebble);
    let refused = AcmeSettings { domains: vec![Pebble::BLOCKED.into()], ..settings.clone() };
    let text = complaint(&pebble, &refused, "the authority refuses: ").await;
    assert!(text.contains(Pebble::BLOCKED) && text.contains("(rejectedIdentifier)"), "{text}");
    let refused = AcmeSettings { accept_terms: false, ..settings.clone() };
    let text = complaint(&pebble, &refused, "the authority refuses: ").await;
    assert!(text.contains("terms of service") && text.contains("(agreementRequired)"), "{text}");
    let other = AcmeSettings { directory: pebble.root_url(), ..settings.clone() };
    complaint(&pebble, &other, "look at tls.acme.directory").await;
    let ca = Pem::Text(Authority::new("theirs").pem().to_owned());
    let other = AcmeSettings { ca: Some(ca), ..settings };
    complaint(&pebble, &other, "set tls.acme.ca to the certificate of the authority").await;
}

#[tokio::test]
async fn an_account_is_made_once_again_after_the_authority_forgot_it() {
    let Some(mut pebble) = need(Pebble::start(PebbleOptions::default())) else { return };
    let (data, settings) = (tempfile::tempdir().unwrap(), settings(&pebble));
    let stage = Stage::start(&settings, data.path(), &pebble);
    stage.has_certificate().await;
    stage.end().await;
    let account = || fs::read_to_string(data.path().join("keys/acme/account.json")).unwrap();
    let first = account();

    // The contact is told anew, and the account stays.
    fs::remove_file(data.path().join("keys/acme/certificate.pem")).unwrap();
    let moved = AcmeSettings { contact: Some("mailto:door@shop.example".into()), ..settings };
    let stage = Stage::start(&moved, data.path(), &pebble);
    stage.has_certificate().await;
    stage.end().await;
    let second = account();
    assert_eq!(first.replace("ops@", "door@"), second);

    fs::remove_file(data.path().join("keys/acme/certificate.pem")).unwrap();
    pebble.restart().unwrap();
    let stage = Stage::start(&moved, data.path(), &pebble);
    stage.has_certificate().await;
    stage.end().await;
    let third = account();
    assert_ne!(third, second);

    // The same where the contact is another one by then.
    fs::remove_file(data.path().join("keys/acme/certificate.pem")).unwrap();
    pebble.restart().unwrap();
    let moved = AcmeSettings { contact: Some("mailto:box@shop.example".into()), ..moved };
    let stage = Stage::start(&moved, data.path(), &pebble);
    stage.has_certificate().await;
    stage.end().await;
    assert_ne!(account().replace("box@", "door@"), third);
}

#[tokio::test]
async fn an_authority_that_wants_an_account_of_its_own_is_shown_one() {
    let options = PebbleOptions { binds_accounts: true, ..PebbleOptions::default() };
    let Some(pebble) = need(Pebble::start(options)) else { return };
    let (data, settings) = (tempfile::tempdir().unwrap(), settings(&pebble));
    complaint(&pebble, &settings, "(externalAccountRequired)").await;
    let bound = AcmeSettings {
        eab_kid: Some(Pebble::EAB_KID.into()),
        eab_hmac_key: Some(Secret::from(Pebble::EAB_HMAC_KEY.to_owned())),
        ..settings
    };
    let stage = Stage::start(&bound, data.path(), &pebble);
    stage.has_certificate().await;
    stage.end().await;
}

#[tokio::test]
async fn the_protocol_of_challenges_leads_nobody_to_an_answer() {
    let Some(pebble) = need(Pebble::start(PebbleOptions::default())) else { return };
    let (data, roots) = (tempfile::tempdir().unwrap(), Roots::of(&pebble).await);
    let stage = Stage::start(&settings(&pebble), data.path(), &pebble);
    stage.has_certificate().await;
    // As an authority asks: no challenge is open.
    let greeted = stage.connect_by(&roots, NAME, &[CHALLENGE_PROTOCOL]).await;
    let why = greeted.err().expect("there is nothing to show");
    assert!(why.to_string().contains("AccessDenied"), "{why}");
    // Beside one that is spoken here it is not chosen.
    let both = [CHALLENGE_PROTOCOL, b"http/1.1"];
    let mut connection = stage.connect_by(&roots, NAME, &both).await.unwrap();
    connection.ask().await;
    // Where it is, nothing follows.
    let other = [CHALLENGE_PROTOCOL, b"h2"];
    let mut connection = stage.connect_by(&roots, NAME, &other).await.unwrap().0;
    // The other side may be gone already.
    drop(connection.write_all(b"GET / HTTP/1.1\r\nHost: tickets.example\r\n\r\n").await);
    let mut said = Vec::new();
    drop(within("its end", connection.read_to_end(&mut said)).await);
    assert_eq!(said, b"");
    stage.end().await;
}
