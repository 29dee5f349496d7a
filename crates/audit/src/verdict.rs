//! What is wrong with the money of one saga that is at its end: pure functions over what the books say.
//!
//! The books are read one after the other, and a server may be at work meanwhile. So the gateway's
//! is read before the others and again after them: what a saga at its end says must lie between the
//! two. Where nothing runs they are the same.

use super::sold::{Sold, State};
use onrush_core::ids::PaymentId;
use onrush_core::saga::Step;
use onrush_ledger::booking_of;
use onrush_ledger::money::{Payment, Refund, RefundCause, RefundStatus};
use onrush_ledger::saga::SagaRecord;
use std::collections::HashMap;

/// Money of one payment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    /// Money that is set aside, and was not taken.
    pub(super) authorised_minor: i64,
    pub(super) captured_minor: i64,
    pub(super) refunded_minor: i64,
}

/// What the gateway's book says of a payment: before the other books were read, and after that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AtGateway {
    pub(super) before: Sums,
    pub(super) after: Sums,
}

/// What became of the money of one saga.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The price, if it is confirmed and was paid through a gateway.
    pub(super) confirmed_minor: i64,
    /// What the buyer did not get back after a cancellation.
    pub(super) kept_minor: i64,
    /// Whether more was kept than the booking costs.
    pub(super) paid_twice: bool,
    /// One sentence each.
    pub(super) violations: Vec<String>,
}

/// Where the ledger has the saga of a booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SagaPlace {
    /// It has none, having followed the feed as far as this.
    Missing { followed: u64 },
    /// It goes on.
    Open,
    /// It is at its end.
    Ended,
}

/// Whether nothing more happens to a saga unless the booking is cancelled.
pub(super) fn is_at_its_end(record: &SagaRecord) -> bool {
    if record.saga.stuck.is_some() {
        return false;
    }
    match record.saga.step {
        Step::Confirmed | Step::Failed => record.strays().next().is_none(),
        Step::ReserveSent
        | Step::ReserveOk
        | Step::PaymentSent
        | Step::PaymentOk
        | Step::Compensating => false,
    }
}

/// Judges a saga at its end by the journal, and by the gateway's book if that is at hand.
pub(super) fn judge(
    record: &SagaRecord,
    sold: Option<&Sold>,
    gateway: Option<&HashMap<PaymentId, AtGateway>>,
) -> Verdict {
    let booking = &record.saga.booking;
    let Some(sold) = sold else {
        let why = format!("booking {booking}: the ledger has it and the journal has not");
        return Verdict { violations: vec![why], ..Verdict::default() };
    };
    let step = record.saga.step;
    let amount_minor = sold.amount_minor;
    let mut verdict = Verdict::default();
    let buyer_paid = match &sold.state {
        State::NotSold => None,
        State::Confirmed(payment) | State::Cancelled { payment, .. } => payment.as_ref(),
    };
    let is_ours = |row: &&Payment| buyer_paid == Some(&row.payment);
    let paid = record.payments.iter().find(is_ours);
    match (&sold.state, paid) {
        (State::NotSold, _) | (_, None) => {}
        // A booking that the ledger has as confirmed was cancelled after the ledger was read.
        (State::Confirmed(_), Some(_)) => verdict.confirmed_minor = amount_minor,
        (State::Cancelled { .. }, Some(_)) if step == Step::Confirmed => {
            verdict.confirmed_minor = amount_minor;
        }
        (State::Cancelled { refund_minor, .. }, Some(_)) => {
            verdict.kept_minor = amount_minor - refund_minor;
        }
    }
    let due_minor = verdict.confirmed_minor + verdict.kept_minor;
    let mut say = |why: String| verdict.violations.push(format!("booking {booking}: {why}"));

    // What was paid elsewhere has a name of another form.
    if let Some(payment) =
        buyer_paid.filter(|id| paid.is_none() && booking_of(id).is_some_and(|of| of == *booking))
    {
        say(format!("it is confirmed with payment {payment}, and the ledger has no such payment"));
    }
    let mut left_minor = 0;
    for row in &record.payments {
        let left = row.captured_minor - given_back(record, Some(&row.payment));
        let due = if is_ours(&row) { due_minor } else { 0 };
        left_minor += left;
        if left != due {
            let payment = &row.payment;
            say(format!(
                "{left} minor units are left of payment {payment}, and {due} are accounted for"
            ));
        }
    }
    let under_way = |refund: &&Refund| {
        matches!(refund.status, RefundStatus::Requested | RefundStatus::Sent) && !is_by_hand(refund)
    };
    for refund in record.refunds.iter().filter(under_way) {
        let (key, status) = (&refund.refund, refund.status);
        say(format!("its saga has ended, and {key} is still {status:?}"));
    }
    if matches!(sold.state, State::NotSold) && step == Step::Confirmed {
        say("the ledger says that it is confirmed, and the journal has not sold it".into());
    }
    if matches!(sold.state, State::Confirmed(_)) && step == Step::Failed {
        say("the journal sold it, and its saga has failed".into());
    }
    verdict.paid_twice = left_minor > amount_minor;
    if let Some(gateway) = gateway {
        let compared = record.payments.iter().filter_map(|row| compare(record, row, gateway));
        verdict.violations.extend(compared);
    }
    verdict
}

/// What the gateway's own book says otherwise of a payment.
fn compare(
    record: &SagaRecord,
    payment: &Payment,
    gateway: &HashMap<PaymentId, AtGateway>,
) -> Option<String> {
    let id = &payment.payment;
    let there = gateway.get(id).copied().unwrap_or_default();
    if let Some(why) = left_set_aside(id, there) {
        return Some(why);
    }
    let AtGateway { before, after } = there;
    let captured = payment.captured_minor;
    let refunded = through_gateway(record, id);
    // What an operator gave back by hand may have been given back at the gateway; its desk's is apart.
    let refunded_at_most = given_back(record, Some(id)) - at_desk(record, id);
    let agree = (before.captured_minor..=after.captured_minor).contains(&captured)
        && before.refunded_minor <= refunded_at_most
        && refunded <= after.refunded_minor;
    (!agree).then(|| {
        let Sums { captured_minor, refunded_minor, .. } = after;
        format!(
            "payment {id}: the gateway took {captured_minor} and gave back {refunded_minor}, the \
             ledger says {captured} and {refunded}"
        )
    })
}

/// What is wrong if a payment's money is still set aside although its saga has ended.
fn left_set_aside(payment: &PaymentId, there: AtGateway) -> Option<String> {
    let minor = there.before.authorised_minor.min(there.after.authorised_minor);
    (minor > 0).then(|| {
        format!(
            "payment {payment}: its saga has ended, and the gateway has still set {minor} aside"
        )
    })
}

/// Money that the gateway took for a payment that the ledger has not; `None` if it may come to know
/// of it yet.
pub(super) fn judge_unknown(
    payment: &PaymentId,
    there: AtGateway,
    sold: Option<&Sold>,
    saga: SagaPlace,
) -> Option<String> {
    if saga == SagaPlace::Ended
        && let Some(why) = left_set_aside(payment, there)
    {
        return Some(why);
    }
    // What was taken before the journal was read was held before.
    let taken = there.before.captured_minor;
    if taken == 0 {
        return None;
    }
    let why = match (sold, saga) {
        (None, _) => "a booking that nobody knows",
        // Only sagas that go on begin payments.
        (Some(_), SagaPlace::Ended) => "a booking whose saga has ended without this payment",
        // What an older ledger does not learn from files is counted, and no more.
        (Some(sold), SagaPlace::Missing { .. }) if sold.is_filed => return None,
        (Some(sold), SagaPlace::Missing { followed }) if sold.placed <= followed => {
            "a booking that the ledger has lost"
        }
        (Some(_), SagaPlace::Missing { .. } | SagaPlace::Open) => return None,
    };
    Some(format!("payment {payment}: the gateway took {taken} for {why}"))
}

fn is_by_hand(refund: &Refund) -> bool {
    refund.cause == RefundCause::ByHand
}

/// What went back, for one payment or all, in whatever way.
pub(super) fn given_back(record: &SagaRecord, payment: Option<&PaymentId>) -> i64 {
    let of = record.refunds.iter().filter(|refund| payment.is_none_or(|id| refund.payment == *id));
    let done = of.filter(|refund| refund.status == RefundStatus::Done || is_by_hand(refund));
    done.map(|refund| refund.amount_minor).sum()
}

/// What the gateway gave back because it was asked to.
fn through_gateway(record: &SagaRecord, payment: &PaymentId) -> i64 {
    done_minor(record, payment, |refund| refund.cause.is_asked_for())
}

/// What its desk gave back, as far as that counts for a cancellation.
fn at_desk(record: &SagaRecord, payment: &PaymentId) -> i64 {
    done_minor(record, payment, |refund| refund.cause == RefundCause::AtDesk)
}

fn done_minor(record: &SagaRecord, payment: &PaymentId, is_it: impl Fn(&Refund) -> bool) -> i64 {
    let of = record.refunds.iter().filter(|refund| refund.payment == *payment && is_it(refund));
    let done = of.filter(|refund| refund.status == RefundStatus::Done);
    done.map(|refund| refund.amount_minor).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::Time;
    use onrush_core::hold::OnDecline;
    use onrush_core::ids::BookingId;
    use onrush_core::saga::Stage;
    use onrush_ledger::money::Capture;
    use onrush_ledger::saga::Saga;

    const PRICE: i64 = 5_000;

    fn booking() -> BookingId {
        "e.00112233445566778899aabbccddeeff".parse().unwrap()
    }

    fn payment(number: u32) -> PaymentId {
        format!("{}.{number:012}", booking()).parse().unwrap()
    }

    /// A saga that is at `step`, with money taken for each of its payments.
    fn record(step: Step, captured_minor: &[i64]) -> SagaRecord {
        let at = Time(1);
        let row = |(index, captured_minor): (usize, &i64)| Payment {
            payment: payment(u32::try_from(index).unwrap() + 1),
            booking: booking(),
            gateway: "sandbox".into(),
            reference: None,
            url: None,
            client_secret: None,
            amount_minor: PRICE,
            currency: "EUR".parse().unwrap(),
            stage: if *captured_minor > 0 { Stage::Captured } else { Stage::Void },
            capture: Capture::AtOnce,
            captured_minor: *captured_minor,
            why: None,
            flagged: false,
            on_decline: OnDecline::Keep,
            created_at: at,
            updated_at: at,
        };
        let saga = Saga {
            saga_id: "saga-1".into(),
            booking: booking(),
            event: "e".parse().unwrap(),
            user: "u".parse().unwrap(),
            amount_minor: PRICE,
            currency: "EUR".parse().unwrap(),
            step,
            reserve_completed_at: None,
            payment_completed_at: None,
            updated_at: at,
            version: 1,
            payment: None,
            next_at: None,
            tries: 0,
            stuck: None,
        };
        SagaRecord {
            saga,
            payments: captured_minor.iter().enumerate().map(row).collect(),
            refunds: Vec::new(),
        }
    }

    fn refunded(
        mut record: SagaRecord,
        number: u32,
        amount_minor: i64,
        status: RefundStatus,
        cause: RefundCause,
    ) -> SagaRecord {
        record.refunds.push(Refund {
            refund: format!("refund:{}:{}", booking(), record.refunds.len() + 1),
            booking: booking(),
            payment: payment(number),
            amount_minor,
            currency: "EUR".parse().unwrap(),
            status,
            cause,
            decided_by: None,
            why: String::new(),
            reference: None,
            created_at: Time(1),
            updated_at: Time(1),
        });
        record
    }

    fn sold(state: State) -> Sold {
        Sold { state, ..Sold::held(PRICE, 7) }
    }

    fn confirmed(number: u32) -> Sold {
        sold(State::Confirmed(Some(payment(number))))
    }

    fn cancelled(number: u32, refund_minor: i64) -> Sold {
        sold(State::Cancelled { payment: Some(payment(number)), refund_minor })
    }

    fn sums((captured_minor, refunded_minor): (i64, i64)) -> Sums {
        Sums { authorised_minor: 0, captured_minor, refunded_minor }
    }

    /// The gateway's book about the first payment, before and after.
    fn book(before: (i64, i64), after: (i64, i64)) -> HashMap<PaymentId, AtGateway> {
        let there = AtGateway { before: sums(before), after: sums(after) };
        HashMap::from([(payment(1), there)])
    }

    fn clean(
        record: &SagaRecord,
        sold: &Sold,
        gateway: Option<HashMap<PaymentId, AtGateway>>,
    ) -> (i64, i64) {
        let verdict = judge(record, Some(sold), gateway.as_ref());
        assert_eq!(verdict.violations, Vec::<String>::new());
        assert!(!verdict.paid_twice);
        (verdict.confirmed_minor, verdict.kept_minor)
    }

    /// The one violation, which must say this.
    fn caught(
        record: &SagaRecord,
        sold: Option<&Sold>,
        gateway: Option<HashMap<PaymentId, AtGateway>>,
        said: &str,
    ) {
        let found = judge(record, sold, gateway.as_ref()).violations;
        assert!(found.iter().any(|why| why.contains(said)), "{said}: {found:?}");
    }

    #[test]
    fn money_that_is_where_it_should_be_is_left_alone() {
        let paid = record(Step::Confirmed, &[0, PRICE]);
        assert_eq!(clean(&paid, &confirmed(2), None), (PRICE, 0));
        let till = sold(State::Confirmed(Some("till-7".parse().unwrap())));
        assert_eq!(clean(&record(Step::Confirmed, &[]), &till, None), (0, 0));
        assert_eq!(clean(&record(Step::Failed, &[0]), &sold(State::NotSold), None), (0, 0));
        let back = refunded(
            record(Step::Failed, &[PRICE]),
            1,
            3_000,
            RefundStatus::Done,
            RefundCause::Cancelled,
        );
        assert_eq!(clean(&back, &cancelled(1, 3_000), None), (0, 2_000));
        let book = book((PRICE, 3_000), (PRICE, 3_000));
        assert_eq!(clean(&back, &cancelled(1, 3_000), Some(book)), (0, 2_000));
    }

    #[test]
    fn money_that_stays_set_aside_after_the_end_is_found_and_what_is_being_set_free_is_not() {
        let failed = record(Step::Failed, &[0]);
        let aside = |before, after| {
            let sums = |authorised_minor| Sums { authorised_minor, ..Sums::default() };
            AtGateway { before: sums(before), after: sums(after) }
        };
        let book = |there| HashMap::from([(payment(1), there)]);
        let not_sold = sold(State::NotSold);
        caught(&failed, Some(&not_sold), Some(book(aside(PRICE, PRICE))), "still set 5000 aside");
        for there in [aside(PRICE, 0), aside(0, PRICE)] {
            assert_eq!(clean(&failed, &not_sold, Some(book(there))), (0, 0));
            let unknown = judge_unknown(&payment(1), there, Some(&not_sold), SagaPlace::Ended);
            assert_eq!(unknown, None);
        }
        let left = aside(PRICE, PRICE);
        let unknown = judge_unknown(&payment(1), left, Some(&not_sold), SagaPlace::Ended);
        assert!(unknown.is_some());
        assert_eq!(judge_unknown(&payment(1), left, Some(&not_sold), SagaPlace::Open), None);
    }

    #[test]
    fn a_booking_that_only_the_ledger_has_is_found() {
        caught(&record(Step::Failed, &[]), None, None, "the journal has not");
    }

    #[test]
    fn money_that_bought_nothing_and_stayed_is_found() {
        caught(
            &record(Step::Failed, &[PRICE]),
            Some(&sold(State::NotSold)),
            None,
            "5000 minor units are left",
        );
        let failed = refunded(
            record(Step::Failed, &[PRICE]),
            1,
            PRICE,
            RefundStatus::Failed,
            RefundCause::Cancelled,
        );
        caught(&failed, Some(&sold(State::NotSold)), None, "5000 minor units are left");
    }

    #[test]
    fn a_booking_that_is_paid_twice_is_found() {
        let twice = record(Step::Confirmed, &[PRICE, PRICE]);
        let verdict = judge(&twice, Some(&confirmed(1)), None);
        assert!(verdict.paid_twice);
        assert_eq!(verdict.violations.len(), 1, "{verdict:?}");
    }

    #[test]
    fn money_on_another_payment_than_the_one_that_confirmed_is_found() {
        let found =
            judge(&record(Step::Confirmed, &[0, PRICE]), Some(&confirmed(1)), None).violations;
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("0 minor units are left of payment"), "{found:?}");
        assert!(found[1].contains("5000 minor units are left of payment"), "{found:?}");
    }

    #[test]
    fn a_confirmed_booking_whose_payment_row_is_lost_is_found() {
        caught(&record(Step::Confirmed, &[]), Some(&confirmed(1)), None, "no such payment");
    }

    #[test]
    fn a_refund_that_a_finished_saga_left_under_way_is_found() {
        for status in [RefundStatus::Requested, RefundStatus::Sent] {
            let done = refunded(
                record(Step::Failed, &[PRICE]),
                1,
                PRICE,
                RefundStatus::Done,
                RefundCause::Cancelled,
            );
            let open = refunded(done, 1, PRICE, status, RefundCause::Cancelled);
            caught(&open, Some(&sold(State::NotSold)), None, "is still");
        }
    }

    #[test]
    fn steps_that_contradict_the_journal_are_found() {
        caught(&record(Step::Confirmed, &[]), Some(&sold(State::NotSold)), None, "has not sold it");
        caught(
            &record(Step::Failed, &[]),
            Some(&sold(State::Confirmed(None))),
            None,
            "its saga has failed",
        );
    }

    #[test]
    fn money_that_an_operator_gave_back_by_hand_is_given_back() {
        for status in [RefundStatus::Requested, RefundStatus::Done] {
            let released =
                refunded(record(Step::Failed, &[PRICE]), 1, PRICE, status, RefundCause::ByHand);
            // At the gateway's own desk, or in cash.
            for refunded_minor in [0, PRICE] {
                let there = (PRICE, refunded_minor);
                let book = book(there, there);
                assert_eq!(clean(&released, &sold(State::NotSold), Some(book)), (0, 0));
            }
            assert_eq!(given_back(&released, None), PRICE);
        }
    }

    #[test]
    fn what_the_desk_gave_back_counts_for_a_cancellation_and_is_asked_for_of_nobody() {
        let failed = record(Step::Failed, &[PRICE]);
        let part = refunded(failed, 1, 2_000, RefundStatus::Done, RefundCause::AtDesk);
        let all = refunded(part, 1, 3_000, RefundStatus::Done, RefundCause::Cancelled);
        let there = (PRICE, 3_000);
        assert_eq!(clean(&all, &cancelled(1, PRICE), Some(book(there, there))), (0, 0));
        let twice = (PRICE, PRICE);
        let book = book(twice, twice);
        caught(&all, Some(&cancelled(1, PRICE)), Some(book), "gave back 5000");
    }

    #[test]
    fn a_gateway_that_says_otherwise_is_found() {
        let paid = record(Step::Confirmed, &[PRICE]);
        for there in [(0, 0), (PRICE - 1, 0), (PRICE, 1), (PRICE, PRICE)] {
            caught(&paid, Some(&confirmed(1)), Some(book(there, there)), "the gateway took");
        }
        caught(&paid, Some(&confirmed(1)), Some(HashMap::new()), "the gateway took 0");
        let late = record(Step::Failed, &[0]);
        let there = (PRICE, 0);
        caught(
            &late,
            Some(&sold(State::NotSold)),
            Some(book(there, there)),
            "the gateway took 5000",
        );
        let back = refunded(
            record(Step::Failed, &[PRICE]),
            1,
            PRICE,
            RefundStatus::Done,
            RefundCause::Cancelled,
        );
        caught(&back, Some(&cancelled(1, PRICE)), Some(book(there, there)), "gave back 0");
    }

    #[test]
    fn what_happened_after_the_ledger_was_read_is_no_contradiction() {
        let paid = record(Step::Confirmed, &[PRICE]);
        // Cancelled since, and the money went back.
        for sold in [confirmed(1), cancelled(1, PRICE)] {
            let book = book((PRICE, 0), (PRICE, PRICE));
            assert_eq!(clean(&paid, &sold, Some(book)), (PRICE, 0));
        }
        // Taken since, for a payment that had ended.
        let ended = record(Step::Failed, &[0]);
        assert_eq!(clean(&ended, &sold(State::NotSold), Some(book((0, 0), (PRICE, 0)))), (0, 0));
    }

    #[test]
    fn what_happened_while_the_books_were_opened_is_no_contradiction() {
        let back = refunded(
            record(Step::Failed, &[PRICE]),
            1,
            PRICE,
            RefundStatus::Done,
            RefundCause::Cancelled,
        );
        for before in [(0, 0), (PRICE, 0)] {
            let book = book(before, (PRICE, PRICE));
            assert_eq!(clean(&back, &cancelled(1, PRICE), Some(book)), (0, 0));
        }
    }

    #[test]
    fn money_for_a_payment_that_the_ledger_has_not_is_found_once_nothing_can_explain_it() {
        let taken = AtGateway { before: sums((PRICE, 0)), after: sums((PRICE, 0)) };
        let since = AtGateway { before: sums((0, 0)), ..taken };
        let sold = sold(State::NotSold);
        let missing = |followed| SagaPlace::Missing { followed };
        for (there, sold, saga, said) in [
            (taken, None, missing(9), Some("nobody knows")),
            (taken, Some(&sold), SagaPlace::Ended, Some("has ended without")),
            (taken, Some(&sold), missing(7), Some("has lost")),
            (taken, Some(&sold), missing(6), None),
            (taken, Some(&sold), SagaPlace::Open, None),
            (since, None, missing(9), None),
            (since, Some(&sold), SagaPlace::Ended, None),
        ] {
            let found = judge_unknown(&payment(1), there, sold, saga);
            match said {
                Some(said) => {
                    assert!(found.as_ref().is_some_and(|why| why.contains(said)), "{found:?}")
                }
                None => assert_eq!(found, None, "{saga:?}"),
            }
        }
    }

    #[test]
    fn only_what_nothing_more_happens_to_is_at_its_end() {
        assert!(is_at_its_end(&record(Step::Failed, &[0])));
        // Money of a payment beside the present one has to go back first.
        assert!(!is_at_its_end(&record(Step::Failed, &[PRICE])));
        let mut stuck = record(Step::Confirmed, &[]);
        stuck.saga.stuck = Some("why".into());
        assert!(!is_at_its_end(&stuck));
        assert!(!is_at_its_end(&record(Step::PaymentSent, &[])));
    }
}
