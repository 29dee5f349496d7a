//! Confirmations, payments and people who name a buyer at the same time.

#![cfg(test)]

use super::*;
use crate::engine_stub::{EngineStub, Meanwhile, Overtaken};
use onrush_base::auth::keys::KeyDir;
use onrush_base::auth::link::BookingLinks;
use onrush_base::config::Config;
use onrush_base::tickets::TicketSigner;
use onrush_core::hold::{HoldStatus, OnDecline};
use onrush_core::ids::PoolId;
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::settings::Settings;
use onrush_core::spec::PoolSpec;
use onrush_core::types::AskedTypes;
use onrush_core::{Query, Time};
use onrush_ledger::booking::BuyerOf;
use onrush_ledger::sqlite::SqliteLedger;
use onrush_relay::RelayDeps;
use onrush_relay::messages::MAIL;
use onrush_store::embedded::{Clock, Embedded, ManualClock, Options};
use serde_json::json;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// A confirmation without a payment.
fn asked() -> Confirming {
    Confirming {
        event: "e".parse().unwrap(),
        booking: "e.1".parse().unwrap(),
        user: "ann".parse().unwrap(),
        payment: None,
        by: By::BoxOffice,
    }
}

/// The same with one.
fn paid() -> Confirming {
    Confirming { payment: Some("till-1".parse().unwrap()), ..asked() }
}

/// One with a payment that is refused whatever happens: for another visitor than the booking's.
fn strangers() -> Confirming {
    Confirming { user: "mia".parse().unwrap(), ..paid() }
}

/// The number of a payment online.
fn online() -> PaymentId {
    "e.1.000000000001".parse().unwrap()
}

fn buyer(name: &str) -> Buyer {
    let email = format!("{name}@example.org");
    Buyer { name: name.into(), email, language: "en".into() }
}

/// Buyers are written to, and nobody delivers it.
fn relay(engine: Arc<Embedded>, ledger: Arc<SqliteLedger>, dir: &Path) -> Relay {
    let keys = KeyDir::open(dir).unwrap();
    let mail = json!({"smtp": "mail.example:25", "from": "tickets@shop.example"});
    let config = Config { mail: serde_json::from_value(mail).unwrap(), ..Config::default() };
    let tickets = Arc::new(TicketSigner::open(&keys, "onrush").unwrap());
    let links = Arc::new(BookingLinks::open(&keys, None).unwrap());
    let parts = RelayDeps { ledger, engine, tickets, links, clock: Clock::default() };
    Relay::over(&config, &parts, Vec::new())
}

/// One unit that is held, and what others do about it.
struct Stage {
    engine: Arc<Embedded>,
    ledger: Arc<SqliteLedger>,
    relay: Arc<Relay>,
    clock: ManualClock,
    _dirs: [TempDir; 2],
}

impl Stage {
    async fn with_price(price_minor: i64) -> Self {
        let dirs = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let clock = ManualClock::new(Time(1_790_000_000_000));
        let options = Options { clock: Clock::Manual(clock.clone()), ..Options::default() };
        let engine = Embedded::open(dirs[0].path(), options).unwrap();
        let ledger = SqliteLedger::open(dirs[1].path()).unwrap();
        let Confirming { event, booking, user, .. } = asked();
        let pool: PoolId = "ga".parse().unwrap();
        let settings = Box::new(Settings::new("Gala", "EUR".parse().unwrap()));
        let spec = PoolSpec { pool: pool.clone(), capacity: 3, price_minor };
        let lines = Lines::new(vec![PoolLine { pool, quantity: 1 }], Vec::new()).unwrap();
        let (channels, types) = (Vec::new(), AskedTypes::default());
        for command in [
            Command::CreateEvent { settings },
            Command::AddPool { spec },
            Command::OpenSale { seed: None, public_value: None },
            Command::Hold { booking, user, lines, channels, types },
        ] {
            engine.execute(event.clone(), command).await.unwrap();
        }
        let (engine, ledger) = (Arc::new(engine), Arc::new(ledger));
        let relay = Arc::new(relay(engine.clone(), ledger.clone(), dirs[1].path()));
        Self { engine, ledger, relay, clock, _dirs: dirs }
    }

    async fn known(&self) -> Option<Buyer> {
        self.ledger.buyer(&asked().booking).await.unwrap()
    }

    /// What is mailed once more, as messages say it.
    async fn mails(&self) -> Vec<String> {
        let due = self.ledger.deliveries(MAIL, Time(i64::MAX), 9).await.unwrap();
        due.into_iter().map(|due| due.message.body).collect()
    }

    /// How a confirmation for a buyer, with a payment, goes while others do this.
    async fn is_made(&self, buyer: &Buyer, others: impl IntoIterator<Item = Option<Meanwhile>>) {
        let engine = Overtaken::new(self.engine.clone(), others);
        let made = confirm_named(&engine, &*self.ledger, &self.relay, &paid(), buyer).await;
        assert_eq!(made.unwrap().state.status(), HoldStatus::Confirmed);
    }

    /// Names somebody, if there is somebody to name.
    fn names(&self, buyer: Option<&Buyer>) -> Meanwhile {
        let (ledger, buyer) = (self.ledger.clone(), buyer.cloned());
        Box::pin(async move {
            if let Some(buyer) = buyer {
                let Confirming { booking, user, .. } = asked();
                ledger.set_buyer(&booking, &user, buyer).await.unwrap();
            }
        })
    }

    /// Takes back whom a refused confirmation named.
    fn takes_back(&self, named: &Buyer, before: Option<&Buyer>) -> Meanwhile {
        let (engine, ledger) = (self.engine.clone(), self.ledger.clone());
        let (named, before) = (named.clone(), before.cloned());
        Box::pin(async move {
            restore(&*engine, &*ledger, &asked(), &named, before.as_ref()).await.unwrap();
        })
    }

    /// Confirms the booking for a buyer.
    fn confirms(&self, buyer: &Buyer) -> Meanwhile {
        let (engine, ledger) = (self.engine.clone(), self.ledger.clone());
        let (relay, buyer) = (self.relay.clone(), buyer.clone());
        Box::pin(async move {
            confirm_named(&*engine, &*ledger, &relay, &paid(), &buyer).await.unwrap();
        })
    }

    /// Confirms the booking for a buyer, whom an organiser corrects a little later.
    fn confirms_and_corrects(&self, buyer: &Buyer, corrected: &Buyer) -> Meanwhile {
        let (confirmed, corrected) = (self.confirms(buyer), self.names(Some(corrected)));
        let clock = self.clock.clone();
        Box::pin(async move {
            confirmed.await;
            clock.advance_ms(1);
            corrected.await;
        })
    }

    /// Begins a payment that names nobody.
    fn begins_payment(&self) -> Meanwhile {
        let engine = self.engine.clone();
        Box::pin(async move {
            let Confirming { event, booking, user, .. } = asked();
            let begin = Command::BeginPayment { booking, user, payment: online() };
            engine.execute(event, begin).await.unwrap();
        })
    }

    /// Begins a payment of a buyer.
    fn pays(&self, buyer: &Buyer) -> Meanwhile {
        let (begun, named) = (self.begins_payment(), self.names(Some(buyer)));
        Box::pin(async move {
            begun.await;
            named.await;
        })
    }

    /// Has the payment that runs succeed.
    fn is_paid_for(&self) -> Meanwhile {
        let engine = self.engine.clone();
        Box::pin(async move {
            let paid = Confirming { payment: Some(online()), ..asked() };
            engine.execute(paid.event.clone(), paid.command()).await.unwrap();
        })
    }

    /// Has the payment that runs fail; the hold stays.
    fn pays_in_vain(&self) -> Meanwhile {
        let engine = self.engine.clone();
        Box::pin(async move {
            let Confirming { event, booking, .. } = asked();
            let (why, then) = ("declined".into(), OnDecline::Keep);
            let fail = Command::FailPayment { booking, payment: online(), why, then };
            engine.execute(event, fail).await.unwrap();
        })
    }

    /// Breaks the ledger.
    fn breaks_down(&self) -> Meanwhile {
        let ledger = self.ledger.clone();
        Box::pin(async move { ledger.break_for_tests(true) })
    }

    /// Forgets the buyer, who asked for it.
    fn erases(&self) -> Meanwhile {
        let ledger = self.ledger.clone();
        Box::pin(async move {
            let erased = ledger.erase_buyer(BuyerOf::Booking(asked().booking));
            assert_eq!(erased.await, Ok(1));
        })
    }

    /// Confirms the booking for a buyer, who asks to be forgotten.
    fn confirms_and_erases(&self, buyer: &Buyer) -> Meanwhile {
        let (confirmed, erased) = (self.confirms(buyer), self.erases());
        Box::pin(async move {
            confirmed.await;
            erased.await;
        })
    }

    /// What a confirmation that is refused whatever happens comes to, while others do this.
    async fn is_refused(&self, buyer: &Buyer, others: Vec<Option<Meanwhile>>) {
        let code = self.refusal(&strangers(), buyer, others).await;
        assert_eq!(code, "RESERVATION_NOT_FOUND");
    }

    /// Why a confirmation is refused, while others do this.
    async fn refusal(
        &self,
        asked: &Confirming,
        buyer: &Buyer,
        others: Vec<Option<Meanwhile>>,
    ) -> &'static str {
        let engine = Overtaken::new(self.engine.clone(), others);
        let refused = confirm_named(&engine, &*self.ledger, &self.relay, asked, buyer).await;
        refused.unwrap_err().code()
    }
}

/// Two confirm at once and name the same buyer: the one that is refused comes second.
#[tokio::test]
async fn a_refused_confirmation_leaves_the_buyer_of_what_another_one_confirmed() {
    let stage = Stage::with_price(0).await;
    let (asked, ann, bo) = (asked(), buyer("ann"), buyer("bo"));
    // Nothing came of it, and then something did.
    for (is_sold, before) in [(false, Some(&bo)), (false, None), (true, Some(&bo)), (true, None)] {
        if is_sold {
            stage.engine.execute(asked.event.clone(), asked.command()).await.unwrap();
        }
        stage.names(Some(&ann)).await;
        restore(&*stage.engine, &*stage.ledger, &asked, &ann, before).await.unwrap();
        let known = stage.known().await;
        assert_eq!(known.as_ref(), if is_sold { Some(&ann) } else { before });
    }
}

/// The other one comes between the look at the booking and what is written after it.
#[tokio::test]
async fn a_buyer_taken_back_while_another_one_confirms_is_named_again() {
    let (ann, bo) = (buyer("ann"), buyer("bo"));
    for before in [Some(&bo), None] {
        let stage = Stage::with_price(2_500).await;
        stage.names(before).await;
        stage.is_refused(&ann, vec![None, None, Some(stage.confirms(&ann))]).await;
        assert_eq!(stage.known().await.as_ref(), Some(&ann), "{before:?}");
        assert_eq!(stage.mails().await.len(), 1, "{before:?}");
    }
}

/// A payment names the same buyer before the confirmation is refused, or while that is taken back, and
/// again once whoever was known is put back.
#[tokio::test]
async fn a_refused_confirmation_leaves_the_buyer_of_a_payment_that_has_begun() {
    let (ann, bo) = (buyer("ann"), buyer("bo"));
    for before in [Some(&bo), None] {
        for (asked, looks, code) in [
            (strangers(), 1, "RESERVATION_NOT_FOUND"),
            (paid(), 1, "PAYMENT_MISMATCH"),
            (strangers(), 2, "RESERVATION_NOT_FOUND"),
        ] {
            let stage = Stage::with_price(2_500).await;
            stage.names(before).await;
            let mut others: Vec<Option<Meanwhile>> = (0..looks).map(|_| None).collect();
            others.push(Some(stage.pays(&ann)));
            // The looks at the booking that are left.
            others.extend((looks..2).map(|_| None));
            others.push(before.map(|_| stage.names(Some(&ann))));
            assert_eq!(stage.refusal(&asked, &ann, others).await, code);
            assert_eq!(stage.known().await.as_ref(), Some(&ann), "{before:?} {looks} {code}");
            assert_eq!(stage.mails().await, [""; 0], "it is not confirmed");
        }
    }
}

/// The payment names nobody, or whoever was known: its tickets are not for whom the till has named.
#[tokio::test]
async fn a_refused_confirmation_gives_a_payment_back_the_buyer_who_was_known() {
    let (ann, bo) = (buyer("ann"), buyer("bo"));
    for (asked, looks, code) in
        [(paid(), 1, "PAYMENT_MISMATCH"), (strangers(), 2, "RESERVATION_NOT_FOUND")]
    {
        let stage = Stage::with_price(2_500).await;
        stage.names(Some(&bo)).await;
        let mut others: Vec<Option<Meanwhile>> = (0..looks).map(|_| None).collect();
        others.push(Some(stage.begins_payment()));
        assert_eq!(stage.refusal(&asked, &ann, others).await, code);
        assert_eq!(stage.known().await.as_ref(), Some(&bo), "{looks} {code}");
        assert_eq!(stage.mails().await, [""; 0], "it is not confirmed");
    }
}

/// Its mail may have gone to whom the till has named.
#[tokio::test]
async fn a_payment_that_confirms_while_its_buyer_is_put_back_is_mailed_once_more() {
    let (stage, ann, bo) = (Stage::with_price(2_500).await, buyer("ann"), buyer("bo"));
    stage.names(Some(&bo)).await;
    let others = vec![None, Some(stage.begins_payment()), Some(stage.is_paid_for())];
    assert_eq!(stage.refusal(&paid(), &ann, others).await, "PAYMENT_MISMATCH");
    assert_eq!(stage.known().await.as_ref(), Some(&bo));
    assert_eq!(stage.mails().await.len(), 1);
}

#[test]
fn what_another_one_confirmed_or_pays_for_is_somebody_elses() {
    let (at, until, before) = (Time(1), Time(9), Time(5));
    let paying = |payment| HoldState::Paying { until, before, payment };
    let expired = |payment| HoldState::Expired { at, payment };
    let till = paid().payment.unwrap();
    // Whether it is for a confirmation without a payment, and for the till's.
    for (state, for_none, for_till) in [
        (HoldState::Held { until }, false, false),
        (HoldState::Released { at }, false, false),
        (expired(None), false, false),
        (expired(Some(till.clone())), true, false),
        (expired(Some(online())), true, true),
        (paying(till.clone()), true, false),
        (paying(online()), true, true),
        (HoldState::Confirmed { at, payment: None }, true, true),
        (HoldState::Confirmed { at, payment: Some(till) }, true, true),
        (HoldState::Cancelled { at, refund_minor: 0 }, true, true),
    ] {
        let found = (asked().is_anothers(&state), paid().is_anothers(&state));
        assert_eq!(found, (for_none, for_till), "{state:?}");
    }
}

/// The other one has named them as well, whether it knew or not, and confirms once that is taken back.
#[tokio::test]
async fn a_buyer_taken_back_before_another_one_confirms_is_named_again() {
    let (ann, bo) = (buyer("ann"), buyer("bo"));
    for (before, was_named) in [(Some(&bo), false), (Some(&bo), true), (None, false), (None, true)]
    {
        let stage = Stage::with_price(2_500).await;
        stage.names(before).await;
        stage.names(was_named.then_some(&ann)).await;
        let others = [Some(stage.names(Some(&ann))), Some(stage.takes_back(&ann, before))];
        stage.is_made(&ann, others).await;
        assert_eq!(stage.known().await.as_ref(), Some(&ann), "{before:?} {was_named}");
        assert_eq!(stage.mails().await.len(), 1, "{before:?} {was_named}");
    }
}

/// The other one puts its buyer in their place before it is refused.
#[tokio::test]
async fn of_two_confirmations_for_two_buyers_the_one_that_is_made_has_its_own() {
    let (ann, bo) = (buyer("ann"), buyer("bo"));
    for before in [None, Some(&ann), Some(&bo)] {
        let stage = Stage::with_price(2_500).await;
        stage.names(before).await;
        stage.is_made(&ann, [None, Some(stage.names(Some(&bo)))]).await;
        stage.takes_back(&bo, Some(&ann)).await;
        assert_eq!(stage.known().await.as_ref(), Some(&ann), "{before:?}");
        assert_eq!(stage.mails().await.len(), 1, "{before:?}");
    }
}

/// Its mail may have found somebody else. Anyone can type anyone's address, so that what is free of charge
/// is mailed once.
#[tokio::test]
async fn what_was_paid_for_is_mailed_once_more_if_its_buyer_was_put_right_afterwards() {
    let (ann, bo) = (buyer("ann"), buyer("bo"));
    let renamed = Buyer { name: "Ann Lee".into(), ..ann.clone() };
    for (price_minor, meanwhile, is_mailed) in [
        (2_500, Some(&bo), true),
        (2_500, Some(&renamed), false),
        (2_500, None, false),
        (0, Some(&bo), false),
    ] {
        let stage = Stage::with_price(price_minor).await;
        stage.is_made(&ann, [None, Some(stage.names(meanwhile))]).await;
        assert_eq!(stage.known().await.as_ref(), Some(&ann), "{meanwhile:?}");
        let state = asked().state(&*stage.engine).await.unwrap();
        let Some(HoldState::Confirmed { at, .. }) = state else { panic!("it is confirmed") };
        let said = json!({ "confirmed_at": at }).to_string();
        let expected = if is_mailed { vec![said] } else { Vec::new() };
        assert_eq!(stage.mails().await, expected, "{price_minor} {meanwhile:?}");
    }
}

/// It cannot succeed, and naming somebody withdraws the links of whom they take the place of.
#[tokio::test]
async fn a_confirmation_that_lacks_its_payment_withdraws_no_links() {
    let (ann, bo) = (buyer("ann"), buyer("bo"));
    let stage = Stage::with_price(2_500).await;
    stage.names(Some(&bo)).await;
    let links = async || stage.ledger.link_generation(&asked().booking).await.unwrap();
    let before = links().await;
    assert_eq!(stage.refusal(&asked(), &ann, Vec::new()).await, "PAYMENT_REQUIRED");
    assert_eq!(stage.known().await, Some(bo));
    assert_eq!(links().await, before);
}

/// It does not know for whom that was, and the other one may have looked already.
#[tokio::test]
async fn a_confirmation_that_comes_too_late_leaves_the_buyer_whom_the_other_one_named_as_well() {
    let (ann, bo) = (buyer("ann"), buyer("bo"));
    for before in [None, Some(&ann)] {
        let stage = Stage::with_price(2_500).await;
        stage.names(before).await;
        let others = vec![None, Some(stage.confirms(&bo))];
        let other = Confirming { payment: Some("till-2".parse().unwrap()), ..asked() };
        assert_eq!(stage.refusal(&other, &bo, others).await, "ALREADY_CONFIRMED");
        assert_eq!(stage.known().await.as_ref(), Some(&bo), "{before:?}");
    }
}

/// Both were sent with the same payment, and the second one had seen the booking held.
#[tokio::test]
async fn a_repeated_confirmation_leaves_the_buyer_whom_an_organiser_has_corrected() {
    let (ann, bo) = (buyer("ann"), buyer("bo"));
    for before in [None, Some(&ann)] {
        let stage = Stage::with_price(2_500).await;
        stage.names(before).await;
        stage.is_made(&ann, [None, Some(stage.confirms_and_corrects(&ann, &bo))]).await;
        assert_eq!(stage.known().await.as_ref(), Some(&bo), "{before:?}");
        assert_eq!(stage.mails().await, [""; 0], "{before:?}");
    }
}

#[tokio::test]
async fn whoever_was_erased_while_their_booking_was_confirmed_is_not_named_again() {
    let (ann, bo) = (buyer("ann"), buyer("bo"));
    for before in [Some(&bo), None] {
        let stage = Stage::with_price(2_500).await;
        stage.names(before).await;
        stage.is_made(&ann, [None, Some(stage.erases())]).await;
        assert_eq!(stage.known().await, None, "{before:?}");
    }
}

#[tokio::test]
async fn a_refused_confirmation_takes_back_nobody_whom_another_one_named_first() {
    let (stage, ann) = (Stage::with_price(2_500).await, buyer("ann"));
    stage.is_refused(&ann, vec![Some(stage.names(Some(&ann)))]).await;
    assert_eq!(stage.known().await.as_ref(), Some(&ann));
}

#[tokio::test]
async fn whoever_was_erased_while_another_one_confirmed_is_not_named_again() {
    let (ann, bo) = (buyer("ann"), buyer("bo"));
    for before in [Some(&bo), None] {
        let stage = Stage::with_price(2_500).await;
        stage.names(before).await;
        stage.is_refused(&ann, vec![None, None, Some(stage.confirms_and_erases(&ann))]).await;
        assert_eq!(stage.known().await, None, "{before:?}");
    }
}

/// `LEDGER_UNAVAILABLE` says that nothing was done.
#[tokio::test]
async fn what_was_confirmed_is_told_although_the_ledger_fails_afterwards() {
    let ann = buyer("ann");
    for is_paid_meanwhile in [false, true] {
        let stage = Stage::with_price(2_500).await;
        stage.names(Some(&ann)).await;
        let others = if is_paid_meanwhile {
            // It is not for the till, until that payment has failed.
            stage.pays(&ann).await;
            vec![Some(stage.pays_in_vain()), Some(stage.breaks_down())]
        } else {
            vec![None, Some(stage.breaks_down())]
        };
        stage.is_made(&ann, others).await;
        stage.ledger.break_for_tests(false);
        assert_eq!(stage.known().await.as_ref(), Some(&ann), "{is_paid_meanwhile}");
    }
}

/// What is too busy to confirm is too busy to tell: it may be confirmed by another one.
#[tokio::test]
async fn a_buyer_stays_while_the_engine_does_not_tell_what_became_of_the_booking() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = SqliteLedger::open(dir.path()).unwrap();
    let asked = asked();
    let (ann, bo) = (buyer("ann"), buyer("bo"));
    let retry_after_ms = 1;
    let unknown = Failure::Refused(Refusal::ReservationNotFound);
    for (failure, stays) in [
        (Failure::Busy { retry_after_ms }, true),
        (Failure::Rebuilding { retry_after_ms }, true),
        (Failure::Unreachable, true),
        (unknown.clone(), false),
    ] {
        // It tells at first, or never.
        for (before, told) in [(Some(&bo), 0), (None, 0), (Some(&bo), 1), (None, 1)] {
            let (nth, unknown, says) = (AtomicU32::new(0), unknown.clone(), failure.clone());
            let engine = EngineStub::telling(move |_: &EventId, _: &Query| {
                let is_told = nth.fetch_add(1, Ordering::Relaxed) < told;
                Some(Err(if is_told { unknown.clone() } else { says.clone() }))
            });
            ledger.set_buyer(&asked.booking, &asked.user, ann.clone()).await.unwrap();
            let restored = restore(&engine, &ledger, &asked, &ann, before).await;
            assert_eq!(restored.is_err(), stays, "{failure:?}");
            let known = ledger.buyer(&asked.booking).await.unwrap();
            assert_eq!(known.as_ref(), if stays { Some(&ann) } else { before }, "{failure:?}");
        }
    }
}
