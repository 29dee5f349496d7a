//! The audit works out anew what holds cost, and looks at what goes back.

use crate::audit::plant;
use crate::sale::{
    HOLD_MS, START, Sale, assert_audit_is_clean, create, done, flash_settings, hold, id, pool_spec,
    release,
};
use onrush_core::change::{BookingChange, HoldChange, SetupChange};
use onrush_core::hold::HoldTerms;
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::settings::{Fees, Settings};
use onrush_core::spec::{PoolSpec, Reason};
use onrush_core::types::{TicketType, TypePrice};
use onrush_core::{Change, Command};
use onrush_store::embedded::Embedded;

const FEES: Fees = Fees { fixed_minor: 70, percent_bp: 250 };

fn reason() -> Reason {
    Reason { by: "office".into(), why: "early birds".into() }
}

/// Holds units whose type costs a share, and a seat whose price to come has come, with fees; all in
/// steps of 10.
async fn held(sale: &Sale) -> (Embedded, HoldTerms) {
    let engine = sale.open();
    let settings = Settings { fees: FEES, amount_step_minor: 10, ..flash_settings() };
    create(&engine, settings).await;
    let spec = PoolSpec { price_minor: 1_050, ..pool_spec("vip", 10) };
    done(&engine, Command::AddPool { spec }).await;
    let price = TypePrice::PercentBp(3_333);
    let (min, max, proof) = (0, None, false);
    let child = TicketType { id: id("child"), name: "Child".into(), price, min, max, proof };
    let (of, types) = (Priced::Pool(id("vip")), vec![child]);
    done(&engine, Command::SetTypes { of, types, reason: reason() }).await;
    let of = Priced::Category("stalls".into());
    let later = vec![PriceStep { from: START.plus_ms(1_000), price_minor: 2_500 }];
    done(&engine, Command::ChangePrice { of, price_minor: 2_000, later, reason: reason() }).await;
    done(&engine, Command::OpenSale { seed: None, public_value: None }).await;
    sale.clock.advance_ms(1_500);
    let pools = vec![PoolLine { pool: id("vip"), quantity: 3 }];
    let lines = Lines::new(pools, vec![id("s7")]).expect("lines");
    let terms = (*hold(&engine, "b1", lines).await.expect("held").terms).clone();
    assert_eq!((terms.amount_minor, terms.fee_minor), (3 * 350 + 2_500 + 160, 160));
    (engine, terms)
}

/// Such a hold that was given back, so that its units are free.
async fn given_back(sale: &Sale) -> HoldTerms {
    let (engine, terms) = held(sale).await;
    release(&engine, "b1").await.expect("released");
    engine.close();
    HoldTerms { booking: id("planted"), ..terms }
}

fn placed(terms: &HoldTerms) -> Change {
    let until = terms.created_at.plus_ms(HOLD_MS);
    HoldChange::HoldPlaced { terms: terms.clone().into(), until }.into()
}

/// Makes a hold's terms other than the rules would.
type Tampers = fn(&mut HoldTerms);

/// What the audit finds after these changes.
fn found(sale: &Sale, changes: &[Change]) -> Vec<String> {
    plant(sale, &serde_json::to_string(changes).expect("changes are JSON")).violations
}

#[tokio::test]
async fn hold_that_costs_other_than_its_units_did_is_found() {
    let sale = Sale::new();
    let terms = given_back(&sale).await;
    assert_audit_is_clean(sale.path());
    assert_eq!(found(&sale, &[placed(&terms)]), Vec::<String>::new());
    let cases: [(Tampers, &str); 8] = [
        (|it| it.amount_minor += 1, "its units cost 3550, and fees are 160"),
        (|it| it.amount_minor -= 10, "its units cost 3550, and fees are 160"),
        (
            |it| (it.amount_minor, it.fee_minor) = (it.amount_minor + 1, it.fee_minor + 1),
            "its fees are 161, and 160 are due on 3550",
        ),
        (|it| it.fee_minor = it.amount_minor + 1, "3711 of it are fees"),
        (|it| (it.amount_minor, it.fee_minor) = (-1, 0), "costs -1: 0 of it are fees"),
        (|it| it.prices_minor.clear(), "a unit of line 1 is 0, and cost 2500 then"),
        (|it| it.types = None, "3 units of line 0 have no type, not 0"),
        (
            |it| it.types.as_mut().expect("types").held[0].price_minor = 349,
            "a unit of type child is 349, and cost 350 then",
        ),
    ];
    for (spoil, why) in cases {
        let mut spoiled = terms.clone();
        spoil(&mut spoiled);
        let told = found(&sale, &[placed(&spoiled)]);
        let is_named = |told: &String| told.contains("booking planted costs") && told.contains(why);
        assert!(told.len() == 1 && is_named(&told[0]), "{why}: {told:?}");
    }
}

#[tokio::test]
async fn refund_above_what_was_paid_is_found() {
    let sale = Sale::new();
    let terms = given_back(&sale).await;
    let cancelled = |refund_minor| {
        let booking = &terms.booking;
        let payment = Some(id("till-1"));
        let confirmed = BookingChange::HoldConfirmed { booking: booking.clone(), payment };
        let (booking, reason) = (booking.clone(), reason());
        let cancelled = BookingChange::ConfirmedCancelled { booking, reason, refund_minor };
        found(&sale, &[placed(&terms), confirmed.into(), cancelled.into()])
    };
    for fine in [0, 1_850, 3_710] {
        assert_eq!(cancelled(fine), Vec::<String>::new());
    }
    for wrong in [-1, 3_711] {
        let (told, why) = (cancelled(wrong), format!("cost 3710, and {wrong} go back"));
        assert!(told.len() == 1 && told[0].contains(&why), "{why}: {told:?}");
    }
}

#[tokio::test]
async fn what_is_held_keeps_its_price_when_prices_types_and_fees_change() {
    let sale = Sale::new();
    let (engine, terms) = held(&sale).await;
    let settings = Settings { fees: Fees::default(), ..flash_settings() };
    done(&engine, Command::ChangeSettings { settings: Box::new(settings) }).await;
    let of = Priced::Pool(id("vip"));
    done(&engine, Command::SetTypes { of, types: Vec::new(), reason: reason() }).await;
    let (of, later) = (Priced::Category("stalls".into()), Vec::new());
    done(&engine, Command::ChangePrice { of, price_minor: 1, later, reason: reason() }).await;
    let lines = Lines::new(terms.lines.pools().to_vec(), vec![id("s8")]).expect("lines");
    let next = hold(&engine, "b2", lines).await.expect("held");
    assert_eq!((next.terms.amount_minor, next.terms.fee_minor), (3 * 1_050 + 1, 0));
    release(&engine, "b1").await.expect("released");
    engine.close();
    assert_audit_is_clean(sale.path());
}

/// Versions before amount steps rounded percentage fees to minor units in all currencies.
#[tokio::test]
async fn fees_that_older_versions_rounded_otherwise_are_no_violation() {
    let sale = Sale::new();
    let terms = given_back(&sale).await;
    let with_fee = |fee_minor| {
        let currency = "MGA".parse().expect("a currency");
        let settings = Box::new(Settings { currency, fees: FEES, ..flash_settings() });
        let lines = Lines::new(Vec::new(), vec![id("s7")]).expect("lines");
        let hold = HoldTerms {
            lines,
            prices_minor: vec![2_500],
            types: None,
            amount_minor: 2_500 + fee_minor,
            fee_minor,
            ..terms.clone()
        };
        found(&sale, &[SetupChange::SettingsChanged { settings }.into(), placed(&hold)])
    };
    // 2.5 % are 62.5: in steps of 20, as now, and in steps of 1.
    assert_eq!(with_fee(70 + 60), Vec::<String>::new());
    assert_eq!(with_fee(70 + 63), Vec::<String>::new());
    let told = with_fee(70 + 62);
    let why = "its fees are 132, and 130 are due on 2500";
    assert!(told.len() == 1 && told[0].contains(why), "{told:?}");
}
