//! docs/design/journal.md against a journal: its queries are run, and its table knows every change
//! and member.

use crate::sale::{Sale, id, pool_spec};
use onrush_core::best::{Best, BestOrder, Together};
use onrush_core::change::{
    BookingChange, ClaimChange, DeclaimedHow, HoldChange, LeftHow, QueueChange, SaleChange,
    SessionEnd, SetupChange, VisitorChange,
};
use onrush_core::channels::{ChannelSpec, PlannedRelease};
use onrush_core::command::CancelTerms;
use onrush_core::hold::HoldTerms;
use onrush_core::ids::{EventId, PlaceId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::question::PlaceOf;
use onrush_core::settings::{Digest, Fees, Order, RefundRule, RoomSettings, Settings, SingleSeats};
use onrush_core::spec::{Access, CategorySpec, Reason, SeatSpec};
use onrush_core::tax::Tax;
use onrush_core::types::{AskedTypes, HeldType, HeldTypes, TicketType, TypeCounts, TypePrice};
use onrush_core::user_limits::UserLimit;
use onrush_core::view::PlaceState;
use onrush_core::{Change, Command, Time};
use onrush_store::embedded::Embedded;
use onrush_store::{Ask, Engine};
use onrush_testkit::golden;
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
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

fn office(why: &str) -> Reason {
    Reason { by: "office".into(), why: why.into() }
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

/// A change's name and members, as JSON has them.
fn named(change: &Change) -> (String, Value) {
    match serde_json::to_value(change).expect("JSON") {
        Value::String(name) => (name, json!({})),
        Value::Object(members) => members.into_iter().next().expect("a name"),
        _ => panic!("a change is a name, or a name and members"),
    }
}

/// What was asked for by who left seats to the rules.
fn asked() -> BestOrder {
    let best = Best::new(2, Together::Prefer).and_then(|best| best.up_to(Some(1)));
    let best = best.and_then(|best| best.with_accessible(1));
    let best = best.and_then(|best| best.within(vec!["c".into()], vec!["s".into()]));
    let beside = Lines::new(vec![PoolLine { pool: id("ga"), quantity: 1 }], vec![]);
    BestOrder::new(best.expect("a wish"), Some(beside.expect("lines"))).expect("an order")
}

/// The same by who would rather have certain seats.
fn rather() -> BestOrder {
    let best = Best::new(1, Together::Must).and_then(|best| best.rather(vec![id("A-1")]));
    BestOrder::new(best.expect("a wish"), None).expect("an order")
}

/// Every kind of change with every member that it can have. A test keeps the list complete.
fn changes() -> Vec<Change> {
    let place = PlaceId::from_u128(1);
    let (user, booking, payment) = (|| id("u"), || id("b"), || id("p"));
    let (pool, claim) = (|| id("ga"), || id("c"));
    let line = PoolLine { pool: pool(), quantity: 1 };
    let lines = Lines::new(vec![line], vec![id("A-1")]).expect("lines");
    let at = Time(1);
    let reason = || office("why");
    let settings = || Box::new(Settings::new("-", "EUR".parse().expect("a currency")));
    let seat = SeatSpec {
        seat: id("A-1"),
        section: "s".into(),
        row: "r".into(),
        number: "1".into(),
        category: "c".into(),
        rank: 0,
        aisle: false,
        access: Access::Anyone,
    };
    let category = CategorySpec { name: "c".into(), price_minor: 1 };
    let terms = HoldTerms {
        booking: booking(),
        user: user(),
        lines: lines.clone(),
        asked: None,
        prices_minor: Vec::new(),
        sources: Vec::new(),
        types: None,
        amount_minor: 2,
        fee_minor: 1,
        created_at: at,
    };
    vec![
        SetupChange::EventCreated { settings: settings() }.into(),
        SetupChange::SettingsChanged { settings: settings() }.into(),
        SetupChange::PoolAdded { spec: pool_spec("ga", 1) }.into(),
        SetupChange::CapacityAdjusted { pool: pool(), before: 1, after: 2, reason: reason() }
            .into(),
        SetupChange::SeatsAdded { categories: vec![category.clone()], seats: vec![seat.clone()] }
            .into(),
        SetupChange::PriceChanged {
            of: Priced::Pool(pool()),
            before_minor: 1,
            price_minor: 2,
            later: Vec::new(),
            reason: None,
        }
        .into(),
        SetupChange::TypesSet {
            of: Priced::Pool(pool()),
            types: vec![ticket_type(TypePrice::PriceMinor(1))],
            reason: reason(),
        }
        .into(),
        SetupChange::UnitsBlocked { lines: lines.clone(), reason: reason() }.into(),
        SetupChange::UnitsUnblocked { lines: lines.clone(), reason: reason() }.into(),
        SetupChange::ChannelSet { spec: channel_spec(), reason: reason() }.into(),
        SetupChange::UnitsAllotted { lines: lines.clone(), from: None, to: None, reason: reason() }
            .into(),
        SetupChange::ChannelReleased { channel: id("fans"), into: None, reason: None }.into(),
        SaleChange::PrequeueOpened.into(),
        QueueChange::PrequeueClosed { entrants: 1, entrants_hash: Digest([0; 32]) }.into(),
        SaleChange::SaleOpened { seed: Some(Digest([0; 32])), public_value: Some("x".into()) }
            .into(),
        SaleChange::SalePaused.into(),
        SaleChange::SaleResumed.into(),
        SaleChange::SaleClosed.into(),
        QueueChange::PlaceTaken { place, user: user(), number: 1 }.into(),
        QueueChange::PlaceSeen { place, user: user() }.into(),
        QueueChange::PlaceLeft { place, user: user(), how: LeftHow::Left }.into(),
        QueueChange::Admitted { place, user: user(), until: at, arrive_by: at }.into(),
        VisitorChange::Arrived { place, user: user() }.into(),
        VisitorChange::SessionEnded { place, user: user(), how: SessionEnd::Left }.into(),
        VisitorChange::SlotFreed { place, user: user() }.into(),
        HoldChange::HoldPlaced { terms: terms.clone().into(), until: at }.into(),
        HoldChange::HoldExtended { booking: booking(), until: at }.into(),
        BookingChange::PaymentBegun { booking: booking(), payment: payment(), until: at }.into(),
        BookingChange::PaymentFailed {
            booking: booking(),
            payment: payment(),
            why: "w".into(),
            until: at,
        }
        .into(),
        BookingChange::LatePaymentFailed {
            booking: booking(),
            payment: payment(),
            why: "w".into(),
        }
        .into(),
        BookingChange::HoldConfirmed { booking: booking(), payment: Some(payment()) }.into(),
        BookingChange::HoldConfirmedLate { booking: booking(), payment: payment() }.into(),
        HoldChange::HoldReleased { booking: booking() }.into(),
        HoldChange::HoldExpired { booking: booking() }.into(),
        BookingChange::ConfirmedCancelled { booking: booking(), reason: reason(), refund_minor: 1 }
            .into(),
        BookingChange::CheckedIn { booking: booking(), ticket: 1 }.into(),
        HoldChange::HoldForgotten { booking: booking() }.into(),
        ClaimChange::Claimed {
            claim: claim(),
            user: user(),
            pool: pool(),
            quantity: 1,
            until: Some(at),
            before: 0,
            after: 1,
        }
        .into(),
        ClaimChange::Declaimed { claim: claim(), how: DeclaimedHow::Returned, before: 1, after: 0 }
            .into(),
        ClaimChange::ClaimedAdjusted {
            claim: claim(),
            pool: pool(),
            amount: 1,
            before: 0,
            after: 1,
            reason: reason(),
        }
        .into(),
        ClaimChange::ClaimForgotten { claim: claim() }.into(),
        VisitorChange::VisitorRemoved { user: user(), reason: reason(), banned: true }.into(),
        VisitorChange::VisitorUnbanned { user: user(), reason: reason() }.into(),
        SaleChange::Resumed { gap_ms: 1 }.into(),
    ]
}

/// The names of members, also of those within, but not of what is explained once for all changes:
/// settings, lines and reasons.
/// Those that may say more than they must, saying it.
fn fuller_changes() -> Vec<Change> {
    let fuller = changes().into_iter().filter_map(|change| match change {
        Change::Setup(SetupChange::SeatsAdded { categories, mut seats }) => {
            (seats[0].rank, seats[0].aisle) = (1, true);
            seats[0].access = Access::CompanionOf(id("A-2"));
            Some(SetupChange::SeatsAdded { categories, seats }.into())
        }
        Change::Setup(SetupChange::PriceChanged { of, before_minor, price_minor, .. }) => {
            let later = vec![PriceStep { from: Time(3), price_minor: 4 }];
            let reason = Some(Reason { by: "office".into(), why: "early birds".into() });
            let fuller = SetupChange::PriceChanged { of, before_minor, price_minor, later, reason };
            Some(fuller.into())
        }
        Change::Setup(SetupChange::TypesSet { of: _, types: _, reason }) => {
            let of = Priced::Category("Floor".into());
            let share = ticket_type(TypePrice::PercentBp(5_000));
            let share = TicketType { min: 2, max: Some(4), proof: true, ..share };
            let less = TicketType { id: id("less"), ..ticket_type(TypePrice::LessMinor(3)) };
            Some(SetupChange::TypesSet { of, types: vec![share, less], reason }.into())
        }
        Change::Setup(SetupChange::ChannelSet { spec, reason }) => {
            let release = Some(PlannedRelease { at: Time(3), into: Some(id("box")) });
            let (quota, codes) = (Some(9), vec![Digest([0; 32])]);
            let spec = ChannelSpec { quota, codes, queued: true, release, ..spec };
            Some(SetupChange::ChannelSet { spec, reason }.into())
        }
        Change::Setup(SetupChange::UnitsAllotted { lines, reason, .. }) => {
            let (from, to) = (Some(id("fans")), Some(id("box")));
            Some(SetupChange::UnitsAllotted { lines, from, to, reason }.into())
        }
        Change::Setup(SetupChange::ChannelReleased { channel, .. }) => {
            let reason = Some(Reason { by: "office".into(), why: "the rest".into() });
            let into = Some(id("box"));
            Some(SetupChange::ChannelReleased { channel, into, reason }.into())
        }
        Change::Hold(HoldChange::HoldPlaced { terms, until }) => {
            let asked = Some(Box::new(asked()));
            let terms = HoldTerms { asked, prices_minor: vec![1], ..(*terms).clone() };
            Some(HoldChange::HoldPlaced { terms: terms.into(), until }.into())
        }
        _ => None,
    });
    let rather = changes().into_iter().find_map(|change| match change {
        Change::Hold(HoldChange::HoldPlaced { terms, until }) => {
            let terms = HoldTerms { asked: Some(Box::new(rather())), ..(*terms).clone() };
            Some(HoldChange::HoldPlaced { terms: terms.into(), until }.into())
        }
        _ => None,
    });
    let of_channels = changes().into_iter().find_map(|change| match change {
        Change::Hold(HoldChange::HoldPlaced { terms, until }) => {
            let sources = vec![None, Some(id("fans"))];
            let terms = HoldTerms { sources, ..(*terms).clone() };
            Some(HoldChange::HoldPlaced { terms: terms.into(), until }.into())
        }
        _ => None,
    });
    let of_types = changes().into_iter().find_map(|change| match change {
        Change::Hold(HoldChange::HoldPlaced { terms, until }) => {
            let terms = HoldTerms { types: Some(Box::new(held_types())), ..(*terms).clone() };
            Some(HoldChange::HoldPlaced { terms: terms.into(), until }.into())
        }
        _ => None,
    });
    fuller.chain(rather).chain(of_channels).chain(of_types).collect()
}

/// All of these.
fn all_changes() -> impl Iterator<Item = Change> {
    changes().into_iter().chain(fuller_changes())
}

fn ticket_type(price: TypePrice) -> TicketType {
    TicketType { id: id("child"), name: "Child".into(), price, min: 0, max: None, proof: false }
}

fn held_types() -> HeldTypes {
    let counts: TypeCounts = [(id("child"), 1)].into();
    let pools = [(id("ga"), counts.clone())].into();
    let asked = AskedTypes::new(pools, [(id("A-1"), id("child"))].into(), counts);
    let held = HeldType {
        id: id("child"),
        name: "Child".into(),
        proof: true,
        price_minor: 5,
        units: vec![(0, 1), (1, 1)],
    };
    HeldTypes { asked: asked.expect("few types"), held: vec![held] }
}

fn channel_spec() -> ChannelSpec {
    let (quota, codes, queued, release) = (None, Vec::new(), false, None);
    ChannelSpec { channel: id("fans"), quota, codes, queued, release }
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
