//! A limit on what one card may pay for: money is set aside, the card is looked at, and then the money
//! is taken, or set free.

use crate::paying::paid_event;
use crate::shop::{Guest, Shop};
use crate::till::{Till, message, send};
use crate::webhooks::AMOUNT_MINOR;
use onrush_core::Command;
use onrush_core::payers::PayerBy;
use onrush_core::question::EventNow;
use onrush_core::saga::{Stage, Step};
use onrush_ledger::money::Capture;
use onrush_ledger::saga::SagaRecord;
use onrush_saga::Action;
use onrush_store::Ask;
use serde_json::{Value, json};

const CARD: Option<&str> = Some("card_a");
const OTHER_CARD: Option<&str> = Some("card_b");
/// Longer than any hold of these tests lasts.
const PAST_THE_HOLD_MS: i64 = 700_000;

/// A shop whose event `e` lets one card pay for so many units, with a gateway that the test plays.
async fn limited(till: &Till, limit: u32) -> Shop {
    let shop = Shop::start_with(|config| {
        till.configure(config);
        config.saga.tries = 5;
    })
    .await;
    paid_event(&shop, "e").await;
    set_limit(&shop, Some(limit)).await;
    shop
}

async fn set_limit(shop: &Shop, limit: Option<u32>) {
    let engine = shop.server.engine();
    let mut settings = engine.ask("e".parse().unwrap(), EventNow).await.unwrap().value.settings;
    settings.max_per_card = limit;
    let change = Command::ChangeSettings { settings: Box::new(settings) };
    engine.execute("e".parse().unwrap(), change).await.unwrap();
}

struct Paying<'a> {
    till: &'a Till,
    guest: Guest<'a>,
    booking: String,
    payment: Value,
}

impl<'a> Paying<'a> {
    async fn begin(shop: &'a Shop, till: &'a Till, quantity: u32) -> Self {
        let guest = shop.guest().await;
        let booking = guest.hold_ga("h", quantity).await;
        let payment = guest.pay(&booking, "p").await.expect(201).json();
        Self { till, guest, booking, payment }
    }

    /// Pays again, under another key.
    async fn again(&mut self, key: &str) {
        self.payment = self.guest.pay(&self.booking, key).await.expect(201).json();
    }

    fn id(&self) -> &str {
        self.payment["payment"].as_str().unwrap()
    }

    /// The buyer's money is set aside, and the shop is told.
    async fn authorise(&self, card: Option<&str>) {
        self.till.authorise(self.id(), card);
        self.tell("payment.authorised").await;
    }

    async fn tell(&self, kind: &str) {
        send(self.guest.shop, &message(kind, &self.payment)).await.expect(200);
    }

    async fn shown(&self) -> Value {
        self.guest.get(&format!("/bookings/{}/payment", self.booking)).await.expect(200).json()
    }

    async fn status(&self) -> String {
        self.guest.booking(&self.booking).await["status"].as_str().unwrap().to_owned()
    }

    async fn until_step(&self, step: Step) -> SagaRecord {
        self.guest.shop.until_step(&self.booking, step).await
    }

    async fn until_stage(&self, stage: Stage) -> SagaRecord {
        let is_there = |record: &SagaRecord| record.present().is_some_and(|row| row.stage == stage);
        self.guest.shop.until_record(&self.booking, is_there).await
    }
}

#[tokio::test]
async fn money_is_taken_once_its_card_was_looked_at() {
    let till = Till::start();
    let shop = limited(&till, 2).await;
    let paying = Paying::begin(&shop, &till, 1).await;
    assert_eq!(till.asked(paying.id())["capture"], "later");
    for _ in 0..2 {
        paying.authorise(CARD).await;
    }
    let record = paying.until_step(Step::Confirmed).await;
    assert_eq!(record.payments[0].capture, Capture::Later);
    assert_eq!((till.totals(), till.captures_asked()), ((AMOUNT_MINOR, 0), 1));
    assert_eq!(paying.status().await, "confirmed");
    paying.tell("payment.captured").await;
    paying.tell("payment.authorised").await;
    paying.tell("payment.declined").await;
    assert_eq!(shop.saga_record(&paying.booking).await, record);
}

#[tokio::test]
async fn payment_of_an_event_without_a_limit_is_one_step_as_before() {
    let till = Till::start();
    let shop = crate::webhooks::shop_with(&till).await;
    let paying = Paying::begin(&shop, &till, 1).await;
    assert_eq!(till.asked(paying.id()).get("capture"), None);
    till.capture(paying.id());
    paying.tell("payment.captured").await;
    paying.until_step(Step::Confirmed).await;
    assert_eq!(till.captures_asked(), 0);
}

#[tokio::test]
async fn card_that_has_paid_for_enough_is_refused_and_nothing_is_taken_from_it() {
    let till = Till::start();
    let shop = limited(&till, 2).await;
    let first = Paying::begin(&shop, &till, 2).await;
    first.authorise(CARD).await;
    first.until_step(Step::Confirmed).await;
    let taken = till.totals();

    let mut second = Paying::begin(&shop, &till, 1).await;
    second.authorise(CARD).await;
    second.until_step(Step::ReserveOk).await;
    assert_eq!((till.totals(), till.status_of(second.id()).as_str()), (taken, "cancelled"));
    assert_eq!(second.status().await, "held");
    let shown = second.shown().await;
    assert_eq!((&shown["status"], &shown["why"]), (&json!("failed"), &json!("card_limit")));
    // Another card may.
    second.again("q").await;
    second.authorise(OTHER_CARD).await;
    second.until_step(Step::Confirmed).await;
    assert_eq!(till.totals(), (taken.0 + AMOUNT_MINOR, 0));
}

#[tokio::test]
async fn card_that_is_known_by_nothing_is_refused_where_cards_have_a_limit() {
    let till = Till::start();
    let shop = limited(&till, 4).await;
    let paying = Paying::begin(&shop, &till, 1).await;
    paying.authorise(None).await;
    paying.until_step(Step::ReserveOk).await;
    assert_eq!(paying.shown().await["why"], "card_unknown");
    assert_eq!((till.totals(), till.status_of(paying.id()).as_str()), ((0, 0), "cancelled"));
}

#[tokio::test]
async fn limit_that_is_lifted_lets_every_card_pay() {
    let till = Till::start();
    let shop = limited(&till, 1).await;
    let paying = Paying::begin(&shop, &till, 2).await;
    set_limit(&shop, None).await;
    paying.authorise(None).await;
    paying.until_step(Step::Confirmed).await;
}

#[tokio::test]
async fn card_is_looked_at_although_no_message_ever_comes() {
    let till = Till::start();
    let shop = limited(&till, 2).await;
    let paying = Paying::begin(&shop, &till, 1).await;
    till.authorise(paying.id(), CARD);
    shop.clock.advance_ms(300_000);
    paying.until_step(Step::Confirmed).await;
    assert_eq!(till.totals(), (AMOUNT_MINOR, 0));
}

#[tokio::test]
async fn decline_that_comes_late_does_not_call_off_what_another_card_has_set_aside() {
    let till = Till::start();
    let shop = limited(&till, 2).await;
    let paying = Paying::begin(&shop, &till, 1).await;
    till.authorise(paying.id(), CARD);
    paying.tell("payment.declined").await;
    paying.until_step(Step::Confirmed).await;
    assert_eq!(till.totals(), (AMOUNT_MINOR, 0));
}

#[tokio::test]
async fn buyer_is_told_that_money_is_set_aside_while_the_gateway_is_away() {
    let till = Till::start();
    let shop = limited(&till, 2).await;
    let paying = Paying::begin(&shop, &till, 1).await;
    till.authorise(paying.id(), CARD);
    till.down(true);
    paying.tell("payment.authorised").await;
    paying.until_stage(Stage::Authorised).await;
    let shown = paying.shown().await;
    assert_eq!((&shown["status"], shown.get("url")), (&json!("authorised"), None));
    // Whoever asks again finds the payment that runs.
    let again = paying.guest.pay(&paying.booking, "q").await.expect(200).json();
    assert_eq!(again["payment"], paying.payment["payment"]);
    till.down(false);
    shop.clock.advance_ms(2_000);
    paying.until_step(Step::Confirmed).await;
}

#[tokio::test]
async fn answer_to_a_capture_that_gets_lost_is_found_again_and_nothing_is_taken_twice() {
    let till = Till::start();
    let shop = limited(&till, 2).await;
    let paying = Paying::begin(&shop, &till, 1).await;
    till.lose_captures(true);
    paying.authorise(CARD).await;
    let record = paying.until_stage(Stage::Capturing).await;
    assert_eq!(
        (record.saga.step, record.present().unwrap().captured_minor),
        (Step::PaymentSent, 0)
    );
    assert_eq!(till.totals(), (AMOUNT_MINOR, 0));
    till.lose_captures(false);
    shop.clock.advance_ms(2_000);
    paying.until_step(Step::Confirmed).await;
    assert_eq!(till.totals(), (AMOUNT_MINOR, 0));
}

#[tokio::test]
async fn hold_that_runs_out_while_money_is_only_set_aside_sets_it_free() {
    let till = Till::start();
    let shop = limited(&till, 2).await;
    let paying = Paying::begin(&shop, &till, 1).await;
    till.authorise(paying.id(), CARD);
    till.down(true);
    paying.tell("payment.authorised").await;
    paying.until_stage(Stage::Authorised).await;
    shop.clock.advance_ms(PAST_THE_HOLD_MS);
    // It may be that nobody looks before the hold has run out.
    till.down(false);
    let record = shop.until_tried_to(&paying.booking, Step::Failed).await;
    assert_eq!(record.present().unwrap().stage, Stage::Void);
    assert_eq!((till.totals(), till.captures_asked()), ((0, 0), 0));
    assert_eq!(till.status_of(paying.id()), "cancelled");
    assert_eq!(paying.status().await, "expired");
}

#[tokio::test]
async fn money_that_was_taken_without_a_word_before_the_hold_ran_out_is_late_money() {
    let till = Till::start();
    let shop = limited(&till, 2).await;
    let paying = Paying::begin(&shop, &till, 1).await;
    till.lose_captures(true);
    paying.authorise(CARD).await;
    paying.until_stage(Stage::Capturing).await;
    shop.clock.advance_ms(PAST_THE_HOLD_MS);
    paying.guest.until_status(&paying.booking, "confirmed").await;
    assert_eq!(till.totals(), (AMOUNT_MINOR, 0));
    assert_eq!(paying.until_step(Step::Confirmed).await.saga.stuck, None);
}

#[tokio::test]
async fn card_that_was_named_before_a_crash_is_named_again_and_pays() {
    let till = Till::start();
    let shop = limited(&till, 1).await;
    let paying = Paying::begin(&shop, &till, 1).await;
    till.down(true);
    till.authorise(paying.id(), CARD);
    paying.tell("payment.authorised").await;
    paying.until_stage(Stage::Authorised).await;
    // As by a process that died before it wrote down what the engine said.
    let keys = onrush_base::auth::keys::KeyDir::open(shop.dir.path()).unwrap();
    let payers = onrush_base::auth::payers::Payers::new(&keys.load_or_draw("ids.key").unwrap());
    let (event, booking) = ("e".parse().unwrap(), paying.booking.parse().unwrap());
    let payer = payers.card(&event, CARD.unwrap());
    let user = paying.guest.user.parse().unwrap();
    let name = Command::NamePayer { booking, user, by: PayerBy::Card, payer };
    crate::stuck::as_if_it_had_died(&shop, name).await;
    till.down(false);
    shop.clock.advance_ms(2_000);
    paying.until_step(Step::Confirmed).await;
    assert_eq!(till.captures_asked(), 1);
}

#[tokio::test]
async fn what_is_set_aside_for_a_payment_that_had_ended_is_set_free() {
    let till = Till::start();
    let shop = limited(&till, 2).await;
    let paying = Paying::begin(&shop, &till, 1).await;
    till.authorise(paying.id(), None);
    paying.tell("payment.authorised").await;
    paying.until_step(Step::ReserveOk).await;
    // The gateway had called it cancelled.
    till.authorise(paying.id(), CARD);
    till.down(true);
    let refused = send(&shop, &message("payment.authorised", &paying.payment)).await;
    assert_eq!(refused.status, 503, "it is to be sent again");
    till.down(false);
    paying.tell("payment.authorised").await;
    assert_eq!((till.status_of(paying.id()).as_str(), till.totals()), ("cancelled", (0, 0)));
    assert_eq!(paying.status().await, "held");
}

#[tokio::test]
async fn operator_who_ends_a_stuck_payment_has_its_money_set_free() {
    let till = Till::start();
    let shop = limited(&till, 2).await;
    let paying = Paying::begin(&shop, &till, 1).await;
    till.authorise(paying.id(), CARD);
    till.down(true);
    paying.tell("payment.authorised").await;
    let is_stuck = |record: &SagaRecord| record.saga.stuck.is_some();
    let record = shop.until_tried(&paying.booking, is_stuck).await;
    assert_eq!(record.present().unwrap().stage, Stage::Authorised);
    till.down(false);
    let booking = paying.booking.parse().unwrap();
    shop.server.sagas().act(&booking, Action::Release, "ann").await.unwrap();
    paying.until_step(Step::Failed).await;
    assert_eq!((till.status_of(paying.id()).as_str(), till.totals()), ("cancelled", (0, 0)));
}
