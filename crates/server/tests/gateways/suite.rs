//! What every gateway must do, whichever it is.

use crate::fake_stripe::{FakeStripe, Trouble, WEBHOOK_SECRET};
use crate::fake_stripe_form::SECRET_KEY;
use crate::stage::{GOOD_CARD, Stage, order, secret};
use onrush_saga::gateway::stripe::StripeGateway;
use onrush_saga::gateway::{Gateway, Order};
use serde_json::{Value, json};

/// A gateway with its other side: the buyer, and what goes wrong.
pub(crate) trait Rig {
    fn gateway(&self) -> &dyn Gateway;
    /// The buyer pays; says whether money was taken by it.
    async fn pay(&self, order: &Order) -> bool;
    /// The buyer pays with a card of this number, whose money is set aside.
    async fn authorise(&self, order: &Order, number: &str);
    /// The buyer's card is declined for want of money.
    async fn decline(&self, order: &Order);
    /// The answer to the next such call is lost after it was done.
    async fn lose_answer(&self, call: &'static str);
    /// Money that was taken and that went back, over everything.
    async fn money(&self) -> (i64, i64);
    /// How many payments there are.
    async fn payments(&self) -> usize;
}

impl Rig for Stage {
    fn gateway(&self) -> &dyn Gateway {
        &self.gateway
    }

    async fn pay(&self, order: &Order) -> bool {
        let before = self.totals().await.captured_payments;
        // An answer that refuses is an answer.
        drop(Stage::pay(self, order, GOOD_CARD).await.unwrap());
        self.totals().await.captured_payments > before
    }

    async fn authorise(&self, order: &Order, number: &str) {
        let answer = Stage::pay(self, order, number).await.unwrap();
        assert_eq!(answer.json()["status"], "authorised");
    }

    async fn decline(&self, order: &Order) {
        drop(Stage::pay(self, order, "4000000000000010").await.unwrap());
    }

    async fn lose_answer(&self, call: &'static str) {
        self.script(json!({"fault": "lost_answer", "on": call})).await;
    }

    async fn money(&self) -> (i64, i64) {
        let totals = self.totals().await;
        (totals.captured_minor, totals.refunded_minor)
    }

    async fn payments(&self) -> usize {
        self.totals().await.payments as usize
    }
}

/// Stripe's client and the fake.
pub(crate) struct StripeRig {
    pub(crate) fake: FakeStripe,
    pub(crate) gateway: StripeGateway,
}

impl StripeRig {
    pub(crate) fn start() -> Self {
        let fake = FakeStripe::start();
        let gateway = StripeGateway::new(&secret(SECRET_KEY), secret(WEBHOOK_SECRET));
        let gateway = gateway.with_base_url(&fake.url());
        Self { fake, gateway }
    }
}

impl Rig for StripeRig {
    fn gateway(&self) -> &dyn Gateway {
        &self.gateway
    }

    async fn pay(&self, order: &Order) -> bool {
        self.fake.pay(order.payment.as_str())
    }

    async fn authorise(&self, order: &Order, number: &str) {
        assert!(self.fake.pay_with(order.payment.as_str(), Some(&format!("of{number}"))));
    }

    async fn decline(&self, order: &Order) {
        self.fake.decline(order.payment.as_str(), "insufficient_funds");
    }

    async fn lose_answer(&self, call: &'static str) {
        let path_end = match call {
            "create" => "/payment_intents",
            "capture" => "/capture",
            "cancel" => "/cancel",
            "refund" => "/refunds",
            other => panic!("no path for {other}"),
        };
        self.fake.trouble(path_end, Trouble::Lost);
    }

    async fn money(&self) -> (i64, i64) {
        let sum = |all: &[Value], member: &str| -> i64 {
            all.iter().map(|it| it[member].as_i64().unwrap()).sum()
        };
        let (intents, mut refunds) = (self.fake.intents(), self.fake.refunds());
        // What was only set aside and is free again is told as of a refund, and none went back.
        let took_money = |it: &Value| it["amount_received"] != 0;
        let is_of = |it: &Value, refund: &Value| it["id"] == refund["payment_intent"];
        refunds.retain(|refund| intents.iter().any(|it| is_of(it, refund) && took_money(it)));
        (sum(&intents, "amount_received"), sum(&refunds, "amount"))
    }

    async fn payments(&self) -> usize {
        self.fake.intents().len()
    }
}

mod facts {
    use super::{Order, Rig, order};
    use crate::stage::{GOOD_CARD, refund_of};
    use onrush_ledger::money::Capture;
    use onrush_saga::gateway::{Fingerprint, GatewayError, RefundStanding, Standing};

    fn reference(standing: &Standing) -> String {
        match standing {
            Standing::Open { reference, .. } => reference.clone(),
            other => panic!("not open: {other:?}"),
        }
    }

    fn captured(order: &Order, standing: Standing) -> String {
        match standing {
            Standing::Captured { reference, amount_minor, currency } => {
                assert_eq!((amount_minor, currency), (order.amount_minor, order.currency));
                reference
            }
            other => panic!("not captured: {other:?}"),
        }
    }

    pub(super) async fn creating_twice_is_one_payment(rig: &impl Rig) {
        let order = order("p-1");
        let first = rig.gateway().create(&order).await.unwrap();
        assert_eq!(rig.gateway().create(&order).await.unwrap(), first);
        assert_eq!(rig.payments().await, 1);
        let other = Order { amount_minor: 1, ..order };
        assert!(rig.gateway().create(&other).await.is_err());
        assert_eq!(rig.payments().await, 1);
    }

    pub(super) async fn buyer_has_somewhere_to_pay(rig: &impl Rig) {
        let standing = rig.gateway().create(&order("p-1")).await.unwrap();
        let Standing::Open { url, client_secret, .. } = standing else {
            panic!("not open: {standing:?}")
        };
        assert!(url.is_some() || client_secret.is_some());
    }

    pub(super) async fn status_is_known_by_key_and_by_reference(rig: &impl Rig) {
        let order = order("p-1");
        assert_eq!(rig.gateway().status(&order).await, Ok(Standing::Unknown));
        let open = rig.gateway().create(&order).await.unwrap();
        let named = Order { reference: Some(reference(&open)), ..order.clone() };
        for order in [&order, &named] {
            assert_eq!(rig.gateway().status(order).await, Ok(open.clone()));
        }
        assert!(rig.pay(&order).await);
        for order in [&order, &named] {
            let standing = rig.gateway().status(order).await.unwrap();
            assert_eq!(captured(order, standing), reference(&open));
        }
    }

    pub(super) async fn declined_payment_may_still_be_paid(rig: &impl Rig) {
        let order = order("p-1");
        let open = rig.gateway().create(&order).await.unwrap();
        rig.decline(&order).await;
        let why = "insufficient_funds".to_owned();
        let declined = Standing::Declined { reference: reference(&open), why };
        assert_eq!(rig.gateway().status(&order).await, Ok(declined));
        assert!(rig.pay(&order).await);
        captured(&order, rig.gateway().status(&order).await.unwrap());
    }

    pub(super) async fn cancelled_payment_cannot_be_paid(rig: &impl Rig) {
        for (payment, declined) in [("p-1", false), ("p-2", true)] {
            let order = order(payment);
            rig.gateway().create(&order).await.unwrap();
            if declined {
                rig.decline(&order).await;
            }
            for _ in 0..2 {
                let standing = rig.gateway().cancel(&order).await;
                assert!(matches!(standing, Ok(Standing::Cancelled { .. })), "{standing:?}");
            }
            assert!(!rig.pay(&order).await);
            let standing = rig.gateway().status(&order).await;
            assert!(matches!(standing, Ok(Standing::Cancelled { .. })), "{standing:?}");
        }
        assert_eq!(rig.money().await, (0, 0));
    }

    pub(super) async fn cancelling_by_reference_is_the_same(rig: &impl Rig) {
        let order = order("p-1");
        let open = rig.gateway().create(&order).await.unwrap();
        let named = Order { reference: Some(reference(&open)), ..order.clone() };
        let standing = rig.gateway().cancel(&named).await;
        assert!(matches!(standing, Ok(Standing::Cancelled { .. })), "{standing:?}");
        assert!(!rig.pay(&order).await);
    }

    pub(super) async fn cancelling_what_is_paid_says_so(rig: &impl Rig) {
        let order = order("p-1");
        let open = rig.gateway().create(&order).await.unwrap();
        assert!(rig.pay(&order).await);
        let named = Order { reference: Some(reference(&open)), ..order.clone() };
        for order in [&order, &named] {
            captured(order, rig.gateway().cancel(order).await.unwrap());
        }
        assert_eq!(rig.money().await, (1_250, 0));
    }

    pub(super) async fn cancelled_before_it_is_created_it_never_opens(rig: &impl Rig) {
        let order = order("p-1");
        let standing = rig.gateway().cancel(&order).await;
        assert!(matches!(standing, Ok(Standing::Cancelled { .. })), "{standing:?}");
        // The create that was still under way arrives now. Whatever it is told, no money can be taken.
        drop(rig.gateway().create(&order).await);
        let standing = rig.gateway().status(&order).await;
        assert!(matches!(standing, Ok(Standing::Cancelled { .. })), "{standing:?}");
    }

    pub(super) async fn refund_is_made_once_for_each_key(rig: &impl Rig) {
        let order = order("p-1");
        rig.gateway().create(&order).await.unwrap();
        assert!(rig.pay(&order).await);
        let first = refund_of(&order, 1, 1_000);
        let done = rig.gateway().refund(&first).await.unwrap();
        assert!(matches!(done, RefundStanding::Done { .. }), "{done:?}");
        assert_eq!(rig.gateway().refund(&first).await.unwrap(), done);
        assert_eq!(rig.money().await, (1_250, 1_000));
        let rest = rig.gateway().refund(&refund_of(&order, 2, 250)).await.unwrap();
        assert_ne!(rest, done);
        assert_eq!(rig.money().await, (1_250, 1_250));
    }

    pub(super) async fn another_amount_under_a_used_key_is_a_refund_that_is_not_known(
        rig: &impl Rig,
    ) {
        let order = order("p-1");
        rig.gateway().create(&order).await.unwrap();
        assert!(rig.pay(&order).await);
        rig.gateway().refund(&refund_of(&order, 1, 1_000)).await.unwrap();
        let other = rig.gateway().refund(&refund_of(&order, 1, 250)).await;
        assert!(matches!(other, Err(GatewayError::UnknownRefund(_))), "{other:?}");
        assert_eq!(rig.money().await, (1_250, 1_000));
    }

    pub(super) async fn more_than_was_taken_does_not_go_back(rig: &impl Rig) {
        let order = order("p-1");
        let refused = |answer: &Result<RefundStanding, GatewayError>| {
            assert!(matches!(answer, Err(GatewayError::Refused(_))), "{answer:?}");
        };
        rig.gateway().create(&order).await.unwrap();
        refused(&rig.gateway().refund(&refund_of(&order, 1, 1)).await);
        assert!(rig.pay(&order).await);
        refused(&rig.gateway().refund(&refund_of(&order, 2, 1_251)).await);
        rig.gateway().refund(&refund_of(&order, 3, 1_000)).await.unwrap();
        refused(&rig.gateway().refund(&refund_of(&order, 4, 251)).await);
        rig.gateway().refund(&refund_of(&order, 5, 250)).await.unwrap();
        refused(&rig.gateway().refund(&refund_of(&order, 6, 1)).await);
        assert_eq!(rig.money().await, (1_250, 1_250));
    }

    /// An order whose money is taken later.
    fn later(payment: &str) -> Order {
        Order { capture: Capture::Later, ..order(payment) }
    }

    /// What the card is known by whose money is set aside for an order.
    async fn card(rig: &impl Rig, order: &Order) -> Fingerprint {
        match rig.gateway().status(order).await {
            Ok(Standing::Authorised { card: Some(card), .. }) => card,
            other => panic!("not set aside: {other:?}"),
        }
    }

    pub(super) async fn money_that_is_set_aside_is_taken_by_capture_and_once(rig: &impl Rig) {
        let order = later("p-1");
        let open = rig.gateway().create(&order).await.unwrap();
        assert_eq!(rig.gateway().create(&order).await.unwrap(), open);
        let named = Order { reference: Some(reference(&open)), ..order.clone() };
        rig.authorise(&order, GOOD_CARD).await;
        assert_eq!(card(rig, &order).await, card(rig, &named).await);
        assert_eq!(rig.money().await, (0, 0));
        for order in [&named, &order] {
            let standing = rig.gateway().capture(order).await.unwrap();
            assert_eq!(captured(order, standing), reference(&open));
            assert_eq!(rig.money().await, (1_250, 0));
        }
        captured(&order, rig.gateway().cancel(&named).await.unwrap());
        let back = rig.gateway().refund(&refund_of(&order, 1, 1_250)).await;
        assert!(matches!(back, Ok(RefundStanding::Done { .. })), "{back:?}");
    }

    pub(super) async fn same_card_is_known_again_and_another_is_another(rig: &impl Rig) {
        let mut cards = Vec::new();
        for (payment, number) in
            [("p-1", GOOD_CARD), ("p-2", GOOD_CARD), ("p-3", "4111111111111111")]
        {
            let order = later(payment);
            rig.gateway().create(&order).await.unwrap();
            rig.authorise(&order, number).await;
            cards.push(card(rig, &order).await);
        }
        assert_eq!(cards[0], cards[1]);
        assert_ne!(cards[0], cards[2]);
    }

    pub(super) async fn what_is_set_aside_is_set_free_by_cancel(rig: &impl Rig) {
        for by_name in [false, true] {
            let order = later(if by_name { "p-2" } else { "p-1" });
            let open = rig.gateway().create(&order).await.unwrap();
            let name = Some(reference(&open)).filter(|_| by_name);
            rig.authorise(&order, GOOD_CARD).await;
            let asked = Order { reference: name, ..order };
            for _ in 0..2 {
                let standing = rig.gateway().cancel(&asked).await;
                assert!(matches!(standing, Ok(Standing::Cancelled { .. })), "{standing:?}");
            }
            let standing = rig.gateway().capture(&asked).await;
            assert!(matches!(standing, Ok(Standing::Cancelled { .. })), "{standing:?}");
            assert!(!rig.pay(&asked).await);
        }
        assert_eq!(rig.money().await, (0, 0));
    }

    pub(super) async fn what_is_not_set_aside_is_not_captured(rig: &impl Rig) {
        let order = later("p-1");
        let open = rig.gateway().create(&order).await.unwrap();
        assert_eq!(rig.gateway().capture(&order).await, Ok(open));
        rig.decline(&order).await;
        let standing = rig.gateway().capture(&order).await;
        assert!(matches!(standing, Ok(Standing::Declined { .. })), "{standing:?}");
        assert_eq!(rig.money().await, (0, 0));
        // Another card may still set it aside.
        rig.authorise(&order, GOOD_CARD).await;
        captured(&order, rig.gateway().capture(&order).await.unwrap());
    }

    pub(super) async fn lost_answer_to_a_capture_is_found_again(rig: &impl Rig) {
        let order = later("p-1");
        rig.gateway().create(&order).await.unwrap();
        rig.authorise(&order, GOOD_CARD).await;
        rig.lose_answer("capture").await;
        let lost = rig.gateway().capture(&order).await;
        assert!(matches!(lost, Err(GatewayError::Unavailable(_))), "{lost:?}");
        captured(&order, rig.gateway().status(&order).await.unwrap());
        captured(&order, rig.gateway().capture(&order).await.unwrap());
        assert_eq!(rig.money().await, (1_250, 0));
    }

    pub(super) async fn lost_answers_are_found_again(rig: &impl Rig) {
        let (kept, dropped) = (order("p-1"), order("p-2"));
        let lost = |why: Option<GatewayError>| {
            assert!(matches!(why, Some(GatewayError::Unavailable(_))), "{why:?}");
        };
        rig.lose_answer("create").await;
        lost(rig.gateway().create(&kept).await.err());
        assert_eq!(rig.payments().await, 1);
        reference(&rig.gateway().create(&kept).await.unwrap());
        assert_eq!(rig.payments().await, 1);

        rig.gateway().create(&dropped).await.unwrap();
        rig.lose_answer("cancel").await;
        lost(rig.gateway().cancel(&dropped).await.err());
        let standing = rig.gateway().cancel(&dropped).await;
        assert!(matches!(standing, Ok(Standing::Cancelled { .. })), "{standing:?}");

        assert!(rig.pay(&kept).await);
        rig.lose_answer("refund").await;
        let refund = refund_of(&kept, 1, 700);
        lost(rig.gateway().refund(&refund).await.err());
        rig.gateway().refund(&refund).await.unwrap();
        assert_eq!(rig.money().await, (1_250, 700));
    }
}

macro_rules! every_gateway {
    ($($fact:ident),* $(,)?) => {
        mod sandbox {
            $(#[tokio::test]
            async fn $fact() {
                super::facts::$fact(&super::Stage::start().await).await;
            })*
        }
        mod stripe {
            $(#[tokio::test]
            async fn $fact() {
                super::facts::$fact(&super::StripeRig::start()).await;
            })*
        }
    };
}

every_gateway!(
    creating_twice_is_one_payment,
    buyer_has_somewhere_to_pay,
    status_is_known_by_key_and_by_reference,
    declined_payment_may_still_be_paid,
    cancelled_payment_cannot_be_paid,
    cancelling_by_reference_is_the_same,
    cancelling_what_is_paid_says_so,
    cancelled_before_it_is_created_it_never_opens,
    refund_is_made_once_for_each_key,
    another_amount_under_a_used_key_is_a_refund_that_is_not_known,
    more_than_was_taken_does_not_go_back,
    lost_answers_are_found_again,
    money_that_is_set_aside_is_taken_by_capture_and_once,
    same_card_is_known_again_and_another_is_another,
    what_is_set_aside_is_set_free_by_cancel,
    what_is_not_set_aside_is_not_captured,
    lost_answer_to_a_capture_is_found_again,
);
