//! Every kind of change there is: with as little as it may have, and with all of it.

use crate::sale::{id, pool_spec};
use onrush_core::best::{Best, BestOrder, Together};
use onrush_core::change::{
    BookingChange, ClaimChange, DeclaimedHow, HoldChange, LeftHow, QueueChange, SaleChange,
    SessionEnd, SetupChange, VisitorChange,
};
use onrush_core::channels::{ChannelSpec, PlannedRelease};
use onrush_core::hold::HoldTerms;
use onrush_core::ids::{ExtensionId, PayerId, PlaceId, ScanId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::payers::PayerBy;
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::settings::{Digest, Settings};
use onrush_core::spec::{Access, CategorySpec, Reason, SeatSpec};
use onrush_core::types::{AskedTypes, HeldType, HeldTypes, TicketType, TypeCounts, TypePrice};
use onrush_core::{Change, Time};
use serde_json::{Value, json};

/// A change's name and members, as JSON has them.
pub(crate) fn named(change: &Change) -> (String, Value) {
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
pub(crate) fn changes() -> Vec<Change> {
    let place = PlaceId::from_u128(1);
    let (user, booking, payment) = (|| id("u"), || id("b"), || id("p"));
    let (pool, claim) = (|| id("ga"), || id("c"));
    let payer = PayerId::from_u128(2);
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
        SaleChange::EventArchived { reason: reason() }.into(),
        QueueChange::PlaceTaken { place, user: user(), number: 1 }.into(),
        QueueChange::PlaceSeen { place, user: user() }.into(),
        QueueChange::PlaceLeft { place, user: user(), how: LeftHow::Left }.into(),
        QueueChange::Admitted { place, user: user(), until: at, arrive_by: at }.into(),
        VisitorChange::Arrived { place, user: user() }.into(),
        VisitorChange::SessionEnded { place, user: user(), how: SessionEnd::Left }.into(),
        VisitorChange::SlotFreed { place, user: user() }.into(),
        HoldChange::HoldPlaced { terms: terms.clone().into(), until: at }.into(),
        HoldChange::HoldExtended {
            booking: booking(),
            until: at,
            extension: Some(ExtensionId::from_u128(0xe)),
        }
        .into(),
        BookingChange::PayerNamed { booking: booking(), by: PayerBy::Card, payer }.into(),
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
        BookingChange::CheckedIn {
            booking: booking(),
            ticket: 1,
            scan: Some(ScanId::from_u128(0xc0de)),
        }
        .into(),
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
            let asked = Some(asked().into());
            let terms = HoldTerms { asked, prices_minor: vec![1], ..(*terms).clone() };
            Some(HoldChange::HoldPlaced { terms: terms.into(), until }.into())
        }
        _ => None,
    });
    let rather = changes().into_iter().find_map(|change| match change {
        Change::Hold(HoldChange::HoldPlaced { terms, until }) => {
            let terms = HoldTerms { asked: Some(rather().into()), ..(*terms).clone() };
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
pub(crate) fn all_changes() -> impl Iterator<Item = Change> {
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

pub(crate) fn office(why: &str) -> Reason {
    Reason { by: "office".into(), why: why.into() }
}
