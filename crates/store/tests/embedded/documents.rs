//! docs/design/journal.md against a journal: its queries are run, and its table knows every change
//! and member.

use crate::changes::{all_changes, changes, named, office};
use crate::sale::{Sale, id, pool_spec};
use onrush_core::change::{
    ClaimChange, DeclaimedHow, LeftHow, QueueChange, SessionEnd, SetupChange, VisitorChange,
};
use onrush_core::command::CancelTerms;
use onrush_core::ids::{EventId, PlaceId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::prices::Priced;
use onrush_core::question::PlaceOf;
use onrush_core::settings::{Digest, Fees, Order, RefundRule, RoomSettings, Settings, SingleSeats};
use onrush_core::spec::{Access, CategorySpec, SeatSpec};
use onrush_core::tax::Tax;
use onrush_core::types::AskedTypes;
use onrush_core::user_limits::UserLimit;
use onrush_core::view::PlaceState;
use onrush_core::{Change, Command, Time};
use onrush_store::embedded::Embedded;
use onrush_store::{Ask, Engine};
use onrush_testkit::golden;
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../docs/design/journal.md");
/// The booking whose history the page asks for.
const BOOKING: &str = "gala-2026.7f3a";

/// The queries of the page, in its order, as one would type them.
fn queries() -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    for line in PAGE.lines() {
        let begun = line.strip_prefix("sqlite> ");
        let more = line.strip_prefix("   ...> ").filter(|_| open);
        if let Some(part) = begun {
            found.push(part.to_owned());
        } else if let Some(part) = more {
            let query = found.last_mut().expect("a query goes on that began");
            query.push('\n');
            query.push_str(part);
        } else {
            continue;
        }
        open = !line.trim_end().ends_with(';');
    }
    assert!(!open, "every query ends with a semicolon");
    found
}

struct Gala {
    engine: Embedded,
    event: EventId,
}

impl Gala {
    async fn ask(&self, command: Command) {
        let told = format!("{command:?}");
        let answer = self.engine.execute(self.event.clone(), command).await;
        answer.unwrap_or_else(|failure| panic!("{told}: {failure}"));
    }

    /// Joins, and waits for the admission.
    async fn come_in(&self, n: u32) {
        let (place, user) = (PlaceId::from_u128(u128::from(n)), format!("fan-{n}"));
        self.ask(Command::Join { place, user: id(&user) }).await;
        loop {
            let question = PlaceOf { user: id(&user), place: Some(place) };
            let answer = self.engine.ask(self.event.clone(), question).await.expect("a place");
            if matches!(answer.value.state, PlaceState::Active { .. }) {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn hold(&self, booking: &str, user: &str, seats: &[&str]) {
        let seats = seats.iter().map(|seat| id(seat)).collect();
        let lines = Lines::new(vec![], seats).expect("lines");
        self.ask(Command::Hold {
            booking: id(booking),
            user: id(user),
            lines,
            channels: Vec::new(),
            types: AskedTypes::default(),
        })
        .await;
    }

    async fn pay(&self, booking: &str, user: &str, payment: &str) {
        let (booking, user, payment) = (id(booking), id(user), id(payment));
        self.ask(Command::BeginPayment { booking, user, payment }).await;
    }

    async fn confirm(&self, booking: &str, user: &str, payment: &str) {
        let (booking, user) = (id(booking), id(user));
        self.ask(Command::Confirm { booking, user, payment: Some(id(payment)) }).await;
    }
}

/// A sale in which seats are sold in time, late, twice one after the other, and not at all.
async fn gala(sale: &Sale) -> Gala {
    let gala = Gala { engine: sale.open(), event: id("gala-2026") };
    let mut settings = Settings::new("Gala", "EUR".parse().expect("a currency"));
    settings.room = Some(RoomSettings { capacity: 10, ..RoomSettings::default() });
    settings.hold_ttl_ms = 600_000;
    settings.payment_window_ms = 600_000;
    gala.ask(Command::CreateEvent { settings: Box::new(settings) }).await;
    gala.ask(Command::AddPool { spec: pool_spec("standing", 100) }).await;
    let seat = |n: u32| SeatSpec {
        seat: id(&format!("A-{n}")),
        section: "Stalls".into(),
        row: "A".into(),
        number: n.to_string().into(),
        category: "stalls".into(),
        rank: 0,
        aisle: false,
        access: Access::Anyone,
    };
    let categories = vec![CategorySpec { name: "stalls".into(), price_minor: 2_500 }];
    gala.ask(Command::AddSeats { categories, seats: (1..=6).map(seat).collect() }).await;
    gala.ask(Command::OpenSale { seed: None, public_value: None }).await;
    for n in 1_u32..=4 {
        gala.come_in(n).await;
    }
    // In time, late, and never.
    gala.hold(BOOKING, "fan-1", &["A-1"]).await;
    gala.pay(BOOKING, "fan-1", "p1").await;
    gala.confirm(BOOKING, "fan-1", "p1").await;
    gala.hold("gala-2026.late", "fan-2", &["A-2", "A-3"]).await;
    gala.pay("gala-2026.late", "fan-2", "p2").await;
    gala.hold("gala-2026.lost", "fan-3", &["A-6"]).await;
    sale.clock.advance_ms(600_000);
    gala.confirm("gala-2026.late", "fan-2", "p2").await;
    // Sold, taken back, and once more; sold and taken back.
    gala.come_in(5).await;
    for (booking, seat) in [("gala-2026.first", "A-4"), ("gala-2026.gone", "A-5")] {
        gala.hold(booking, "fan-5", &[seat]).await;
    }
    for (n, booking) in ["gala-2026.first", "gala-2026.gone"].iter().enumerate() {
        gala.pay(booking, "fan-5", &format!("q{n}")).await;
        gala.confirm(booking, "fan-5", &format!("q{n}")).await;
        gala.ask(Command::CancelConfirmed {
            booking: id(booking),
            reason: office("a mistake"),
            terms: CancelTerms::Organiser { refund_minor: None },
        })
        .await;
    }
    gala.come_in(6).await;
    gala.hold("gala-2026.second", "fan-6", &["A-4"]).await;
    gala.pay("gala-2026.second", "fan-6", "r1").await;
    gala.confirm("gala-2026.second", "fan-6", "r1").await;
    let (pool, reason) = (id("standing"), office("bigger hall"));
    gala.ask(Command::AdjustCapacity { pool, capacity: 120, reason }).await;
    let press = Lines::new(vec![PoolLine { pool: id("standing"), quantity: 2 }], vec![]);
    gala.ask(Command::Block { lines: press.expect("lines"), reason: office("press") }).await;
    gala
}

/// What a query finds, as texts.
fn found(db: &Connection, query: &str) -> Vec<Vec<String>> {
    let mut statement = db.prepare(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        let cell = |index| {
            Ok(match row.get::<_, Cell>(index)? {
                Cell::Null => "NULL".to_owned(),
                Cell::Integer(number) => number.to_string(),
                Cell::Real(number) => number.to_string(),
                Cell::Text(text) => text,
                Cell::Blob(_) => "BLOB".to_owned(),
            })
        };
        (0..columns).map(cell).collect()
    };
    let rows = statement.query_map([], row).expect("it runs");
    rows.collect::<Result<_, _>>().expect("rows")
}

fn texts(rows: &[&[&str]]) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
}

#[tokio::test]
async fn each_query_of_the_journals_page_answers_what_it_says() {
    let sale = Sale::new();
    let gala = gala(&sale).await;
    let last = gala.engine.committed();
    let feed = crate::sale::feed_to(&gala.engine, onrush_store::Seq(0), last).await;
    let db = Connection::open_with_flags(
        sale.path().join("engine.db"),
        OpenFlags::SQLITE_OPEN_READ_ONLY,
    )
    .expect("it can be read while the engine runs");

    let queries = queries();
    let [happened, history, sold, by_hand, admissions] = &queries[..] else {
        panic!("a query has no answer here, or is gone: {queries:#?}")
    };
    // What happened, one change a line.
    let mut expected = Vec::new();
    for entry in feed.iter().filter(|entry| (17..=19).contains(&entry.seq.0)) {
        for change in &entry.changes {
            let (name, body) = named(change);
            expected.push((entry.seq.0.to_string(), name, body));
        }
    }
    let rows = found(&db, happened);
    assert!(rows.len() >= 3, "{rows:?}");
    let told: Vec<_> = rows
        .into_iter()
        .map(|row| {
            let [seq, utc, change, body] = <[String; 4]>::try_from(row).expect("four columns");
            assert_eq!(utc.len(), "23:28:29.081".len(), "{utc}");
            (seq, change, serde_json::from_str(&body).expect("JSON"))
        })
        .collect();
    assert_eq!(told, expected);

    let steps: Vec<_> = found(&db, history).into_iter().map(|mut row| row.remove(1)).collect();
    assert_eq!(steps, ["hold_placed", "payment_begun", "hold_confirmed"]);
    // Those that were paid for late are sold, those that were taken back are not.
    assert_eq!(
        found(&db, sold),
        texts(&[&["A-1", "1"], &["A-2", "1"], &["A-3", "1"], &["A-4", "1"]])
    );
    let why: Vec<_> = found(&db, by_hand).into_iter().map(|row| row[1..].to_vec()).collect();
    assert_eq!(
        why,
        texts(&[
            &["confirmed_cancelled", r#"{"by":"office","why":"a mistake"}"#],
            &["confirmed_cancelled", r#"{"by":"office","why":"a mistake"}"#],
            &["capacity_adjusted", r#"{"by":"office","why":"bigger hall"}"#],
            &["units_blocked", r#"{"by":"office","why":"press"}"#],
        ])
    );
    let admitted: Vec<_> =
        found(&db, admissions).into_iter().map(|mut row| row.remove(1)).collect();
    assert_eq!(admitted, ["4", "2"]);
    gala.engine.close();
}

fn members(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                names.insert(name.clone());
                // Below these, members are named by ids.
                let by_id = name == "asked" && value.get("pools").is_some();
                if by_id {
                    names.extend(value.as_object().into_iter().flatten().map(|it| it.0.clone()));
                } else if !["settings", "lines", "beside", "reason"].contains(&name.as_str()) {
                    members(value, names);
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| members(value, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn word(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).expect("JSON").as_str().expect("a word").to_owned()
}

#[test]
fn every_kind_of_change_is_documented_with_every_member() {
    let rows: Vec<(&str, &str)> =
        PAGE.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" | ")).collect();
    let is_word = |text: &str, word: &str| {
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|part| part == word)
    };
    let row_of = |name: &str| rows.iter().find(|(names, _)| is_word(names, name)).map(|row| row.1);
    let mut lacks = Vec::new();
    for change in all_changes() {
        let (name, body) = named(&change);
        let Some(text) = row_of(&name) else {
            lacks.push(name);
            continue;
        };
        let mut names = BTreeSet::new();
        members(&body, &mut names);
        let mut words: Vec<String> = names.into_iter().collect();
        if let Change::Queue(QueueChange::PlaceLeft { .. }) = change {
            words.extend([LeftHow::Left, LeftHow::Lapsed].map(word));
        } else if let Change::Visitor(VisitorChange::SessionEnded { .. }) = change {
            words.extend([SessionEnd::NoShow, SessionEnd::Timeout, SessionEnd::Left].map(word));
            words.extend([SessionEnd::Completed, SessionEnd::PaymentFailed].map(word));
        } else if let Change::Claim(ClaimChange::Declaimed { .. }) = change {
            words.extend([DeclaimedHow::Returned, DeclaimedHow::Expired].map(word));
        }
        for missing in words.iter().filter(|word| !is_word(text, word)) {
            lacks.push(format!("{name}: {missing}"));
        }
    }
    assert_eq!(lacks, Vec::<String>::new());
}

/// Settings that leave nothing out. All members by name: a new one is asked for.
fn full_settings() -> Settings {
    let room = RoomSettings {
        capacity: 1,
        outflow_per_min: Some(2),
        session_ms: 3,
        place_ttl_ms: 4,
        arrive_ms: 5,
        max_queue_size: 6,
        places_per_user: 1,
        units_per_visitor: 23,
        order: Order::Draw { seed_hash: Digest([1; 32]) },
        public_value_source: Some("the numbers of the lottery".into()),
    };
    Settings {
        title: "Gala".into(),
        currency: "EUR".parse().expect("a currency"),
        room: Some(room),
        hold_ttl_ms: 7,
        hold_max_ms: 8,
        payment_window_ms: 9,
        payment_attempts: 10,
        extensions: 11,
        max_per_user: Some(12),
        limits: vec![
            UserLimit {
                of: Priced::Category("stalls".into()),
                ticket_type: Some("child".parse().expect("an id")),
                max_per_user: 25,
            },
            UserLimit {
                of: Priced::Pool("ga".parse().expect("an id")),
                ticket_type: None,
                max_per_user: 26,
            },
        ],
        max_per_email: Some(27),
        max_per_card: Some(28),
        claim_ttl_max_ms: Some(13),
        prequeue_at: Some(Time(14)),
        opens_at: Some(Time(15)),
        closes_at: Some(Time(16)),
        starts_at: Some(Time(17)),
        fees: Fees { fixed_minor: 18, percent_bp: 19 },
        tax: Some(Tax { name: "VAT".into(), rate_bp: 24 }),
        refunds: vec![RefundRule { days_before: 20, percent: 21 }],
        amount_step_minor: 22,
        single_seats: SingleSeats::Refuse,
    }
}

#[test]
fn journals_have_the_changes_they_always_had() {
    let mut all = all_changes().collect::<Vec<_>>();
    all.push(SetupChange::SettingsChanged { settings: Box::new(full_settings()) }.into());
    let rows = all.iter().map(|change| serde_json::to_string(change).expect("JSON") + "\n");
    let rows: String = rows.collect();
    golden(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/changes.jsonl"), &rows);
    let read: Vec<Change> =
        rows.lines().map(|row| serde_json::from_str(row).expect("a change")).collect();
    assert_eq!(read, all);
}

/// The paths of the members of a JSON value.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let path = format!("{path}.{name}");
                // Below `pools` are pools' ids, which are no members.
                if name != "pools" {
                    paths(value, &path, found);
                }
                found.insert(path);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| paths(item, path, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A version before must not overlook what it does not know.
#[test]
fn whoever_writes_a_journal_notes_every_member_that_its_changes_can_have() {
    let mut all = all_changes().collect::<Vec<_>>();
    all.push(SetupChange::SettingsChanged { settings: Box::new(full_settings()) }.into());
    all.push(SetupChange::EventCreated { settings: Box::new(full_settings()) }.into());
    let mut found = BTreeSet::new();
    for (change, value) in all.iter().map(named) {
        paths(&value, &change, &mut found);
        found.insert(change);
    }
    let text: String = found.iter().map(|path| format!("{path}\n")).collect();
    golden(concat!(env!("CARGO_MANIFEST_DIR"), "/src/embedded/vocabulary.txt"), &text);
}

#[test]
fn every_kind_of_change_is_in_the_list() {
    // Told what it cannot read, the reader names all that it can.
    let error = serde_json::from_str::<Change>(r#""unheard_of""#).expect_err("no change");
    let error = error.to_string();
    let known: BTreeSet<&str> = error.split('`').skip(3).step_by(2).collect();
    let all: Vec<String> = changes().iter().map(|change| named(change).0).collect();
    assert_eq!(all.iter().map(String::as_str).collect::<BTreeSet<_>>(), known);
    assert_eq!(all.len(), known.len());
}
