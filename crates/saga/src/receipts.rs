//! Receipts and credit notes of one booking, drafted from what the ledger has of it.
//!
//! A receipt is for the payment that a booking was confirmed with, and a credit note for each refund
//! of it that was done, up to what was owed. Money of other payments, and of bookings that were
//! never confirmed, bought nothing: it has neither.

use onrush_core::costs::{Cost, costs};
use onrush_core::hold::HoldStatus;
use onrush_core::money::Currency;
use onrush_core::settings::Settings;
use onrush_core::tax::{Tax, Taxed};
use onrush_core::types::{Part, parts};
use onrush_ledger::booking::Booking;
use onrush_ledger::money::{Payment, Refund, RefundStatus};
use onrush_ledger::receipt::{
    Document, Purpose, ReceiptBasis, ReceiptDraft, ReceiptLine, ReceiptRule, Seller, owed_minor,
    taken_at,
};

/// Whether the receipt of a booking was issued.
pub(super) fn is_receipted(basis: &ReceiptBasis) -> bool {
    basis.issued.iter().any(|known| known.corrects.is_none())
}

/// The payment that a booking was confirmed with, if there was one of ours that took money, and it has
/// documents: by the rule, or because its receipt was issued.
pub(super) fn paid_with(basis: &ReceiptBasis, rule: ReceiptRule) -> Option<&Payment> {
    let Booking { status, payment, .. } = &basis.booking;
    let was_confirmed = match status {
        HoldStatus::Confirmed | HoldStatus::Cancelled => true,
        HoldStatus::Held | HoldStatus::Paying | HoldStatus::Released | HoldStatus::Expired => false,
    };
    let payment = payment.as_ref().filter(|_| was_confirmed)?;
    let ours = |row: &&Payment| row.payment == *payment && row.captured_minor > 0;
    let payment = basis.record.payments.iter().find(ours)?;
    let has_documents = is_receipted(basis) || rule.covers(&basis.record.saga, payment);
    has_documents.then_some(payment)
}

/// What is missing of a booking's documents, in the order in which it is to be issued.
/// `prices_minor` are those of one unit of each line.
///
/// # Errors
/// Why they cannot be made, as a sentence: amounts do not add up.
pub(super) fn missing(
    basis: &ReceiptBasis,
    rule: ReceiptRule,
    seller: &Seller,
    sold: Option<(&Settings, &[i64])>,
) -> Result<Vec<ReceiptDraft>, String> {
    let Some(payment) = paid_with(basis, rule) else { return Ok(Vec::new()) };
    let mut drafts = Vec::new();
    let paid = match basis.issued.iter().find(|known| known.corrects.is_none()) {
        Some(receipt) => receipt.document.clone(),
        None => {
            let (settings, prices_minor) =
                sold.ok_or("its receipt is missing, and what its event sold is not known")?;
            let document = receipt_of(basis, payment, seller, settings, prices_minor)?;
            drafts.push(draft(basis, None, payment.captured_minor, 0, document.clone()));
            document
        }
    };
    let notes = || basis.issued.iter().filter(|known| known.corrects.is_some());
    let is_issued = |refund: &str| {
        let mut corrected = notes().filter_map(|note| note.corrects.as_ref());
        corrected.any(|corrects| corrects.refund == refund)
    };
    let done =
        |refund: &&Refund| refund.payment == payment.payment && refund.status == RefundStatus::Done;
    let done: Vec<&Refund> = basis.record.refunds.iter().filter(done).collect();
    let amounts = || done.iter().map(|refund| refund.amount_minor);
    let Booking { status, refund_minor, .. } = &basis.booking;
    let cancelled_minor = (*status == HoldStatus::Cancelled).then_some(*refund_minor);
    // What went back twice, by hand and by the gateway after all, was owed once.
    let owed_minor = owed_minor(payment.captured_minor, cancelled_minor, amounts());
    let due_minor = owed_minor.min(amounts().sum());
    let mut before_minor: i64 = notes().map(|note| note.amount_minor).sum();
    for &refund in &done {
        // A refund that bounced after its note was issued was done again since, under another key:
        // the note stands for both.
        let amount_minor = refund.amount_minor.min(due_minor - before_minor);
        if amount_minor <= 0 || is_issued(&refund.refund) {
            continue;
        }
        let lines = given_back(&paid, before_minor, amount_minor, refund.currency)?;
        let moved_at = refund.updated_at;
        // Of the seller who gave the receipt, whoever sells today.
        let document = Document { lines, moved_at, ..paid.clone() };
        let refund = Some(refund.refund.clone());
        drafts.push(draft(basis, refund, amount_minor, before_minor, document));
        before_minor += amount_minor;
    }
    Ok(drafts)
}

/// The price of one unit of each line, worked out from what the booking costs: what the units of types
/// leave is the price of the one line that has none. `None` where several lines share what is left, as
/// nothing says how. Lines whose units have types are told as 0: the types have the prices.
pub(super) fn prices_by_amount(booking: &Booking) -> Option<Vec<i64>> {
    let Booking { lines, types, amount_minor, fee_minor, .. } = booking;
    let mut left_minor = amount_minor - fee_minor;
    let mut untyped = None;
    for Part { line, held, quantity } in parts(lines, types.as_deref()) {
        match (held, untyped) {
            (Some(held), _) => left_minor -= held.price_minor * i64::from(quantity),
            (None, None) => untyped = Some((line as usize, i64::from(quantity))),
            (None, Some(_)) => return None,
        }
    }
    let mut prices_minor = vec![0; lines.pools().len() + lines.seats().len()];
    if let Some((line, quantity)) = untyped {
        if left_minor < 0 || left_minor % quantity != 0 {
            return None;
        }
        prices_minor[line] = left_minor / quantity;
    }
    Some(prices_minor)
}

fn draft(
    basis: &ReceiptBasis,
    refund: Option<String>,
    amount_minor: i64,
    noted_minor: i64,
    document: Document,
) -> ReceiptDraft {
    ReceiptDraft {
        booking: basis.booking.booking.clone(),
        event: basis.booking.event.clone(),
        refund,
        currency: basis.booking.currency,
        amount_minor,
        noted_minor,
        document,
    }
}

/// What the receipt of a booking says.
fn receipt_of(
    basis: &ReceiptBasis,
    payment: &Payment,
    seller: &Seller,
    settings: &Settings,
    prices_minor: &[i64],
) -> Result<Document, String> {
    let Booking { lines, types, amount_minor, fee_minor, .. } = &basis.booking;
    let (amount_minor, captured_minor) = (*amount_minor, payment.captured_minor);
    if captured_minor != amount_minor {
        return Err(format!("{captured_minor} was taken for a booking of {amount_minor}"));
    }
    let costs = costs(settings, lines, types.as_deref(), prices_minor, *fee_minor);
    let document = Document {
        seller: seller.clone(),
        title: settings.title.to_string(),
        tax: settings.tax.clone(),
        lines: costs.into_iter().map(line).collect(),
        moved_at: taken_at(&basis.record.saga, payment),
    };
    if !document.comes_to(amount_minor) {
        let sum_minor: i64 = document.lines.iter().map(|line| line.amount_minor).sum();
        return Err(format!("its lines come to {sum_minor}, and it was paid with {amount_minor}"));
    }
    Ok(document)
}

fn line(Cost { units, taxed }: Cost<'_>) -> ReceiptLine {
    let part = part(if units.is_some() { Purpose::Sales } else { Purpose::Fees }, taxed);
    let Some(units) = units else { return part };
    ReceiptLine {
        pool: units.pool.cloned(),
        seat: units.seat.cloned(),
        type_name: units.held.map(|held| held.name.to_string()),
        quantity: Some(units.quantity),
        price_minor: Some(units.price_minor),
        ..part
    }
}

/// A line of nothing in particular.
fn part(purpose: Purpose, taxed: Taxed) -> ReceiptLine {
    let Taxed { gross_minor, net_minor, tax_minor } = taxed;
    ReceiptLine {
        purpose,
        pool: None,
        seat: None,
        type_name: None,
        quantity: None,
        price_minor: None,
        amount_minor: gross_minor,
        net_minor,
        tax_minor,
    }
}

/// The lines of a credit note over `amount_minor`, after others over `before_minor`.
///
/// All at once is what the receipt says. A part is of the units first, and of the fees when all the
/// units are paid back, as refunds are of the units' price. Taxes are those of all that went back
/// so far without those that were told before: once everything went back, so did all of the tax.
fn given_back(
    paid: &Document,
    before_minor: i64,
    amount_minor: i64,
    currency: Currency,
) -> Result<Vec<ReceiptLine>, String> {
    let minor_of = |purpose| {
        let lines = paid.lines.iter().filter(|line| line.purpose == purpose);
        lines.map(|line| line.amount_minor).sum::<i64>()
    };
    let (sales_minor, fees_minor) = (minor_of(Purpose::Sales), minor_of(Purpose::Fees));
    let paid_minor = sales_minor + fees_minor;
    if before_minor + amount_minor > paid_minor {
        return Err(format!(
            "{amount_minor} went back after {before_minor}, and it was paid with {paid_minor}"
        ));
    }
    if amount_minor == paid_minor {
        return Ok(paid.lines.clone());
    }
    let of_sales = |minor: i64| minor.min(sales_minor);
    let sales_back = of_sales(before_minor + amount_minor) - of_sales(before_minor);
    let parts = [(Purpose::Sales, sales_back), (Purpose::Fees, amount_minor - sales_back)];
    let amounts = [before_minor, parts[0].1, parts[1].1];
    let taxed = split(paid.tax.as_ref(), amounts, currency);
    let lines = parts.into_iter().zip(taxed.into_iter().skip(1));
    let lines = lines.filter(|((_, amount_minor), _)| *amount_minor > 0);
    Ok(lines.map(|((purpose, _), taxed)| part(purpose, taxed)).collect())
}

fn split(tax: Option<&Tax>, amounts: [i64; 3], currency: Currency) -> Vec<Taxed> {
    match tax {
        Some(tax) => tax.split_all(amounts, currency).collect(),
        None => {
            let net = |minor| Taxed { gross_minor: minor, net_minor: minor, tax_minor: 0 };
            amounts.into_iter().map(net).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::Time;
    use onrush_core::lines::{Lines, PoolLine};
    use onrush_core::saga::{Stage, Step};
    use onrush_core::types::{AskedTypes, HeldType, HeldTypes};
    use onrush_ledger::money::{Capture, OnDecline, RefundCause};
    use onrush_ledger::receipt::{Corrects, Receipt, ReceiptNumber};
    use onrush_ledger::saga::{Saga, SagaRecord};

    fn settings(rate_bp: Option<u32>) -> Settings {
        let tax = rate_bp.map(|rate_bp| Tax { name: "VAT".into(), rate_bp });
        Settings { tax, ..Settings::new("Gala", "EUR".parse().unwrap()) }
    }

    fn seller() -> Seller {
        Seller { name: "Hall".into(), address: vec!["1 Lane".into()], tax_id: None }
    }

    /// A confirmed booking of two units at 1,000 each, with fees of 90.
    fn basis(refunds_minor: &[i64]) -> ReceiptBasis {
        let (id, payment) = ("gala.1", "gala.1.000000000001");
        let currency = "EUR".parse().unwrap();
        let line = PoolLine { pool: "ga".parse().unwrap(), quantity: 2 };
        let booking = Booking {
            booking: id.parse().unwrap(),
            event: "gala".parse().unwrap(),
            user: "ann".parse().unwrap(),
            status: HoldStatus::Confirmed,
            lines: Lines::new(vec![line], vec![]).unwrap(),
            prices_minor: vec![],
            types: None,
            amount_minor: 2_090,
            fee_minor: 90,
            currency,
            payment: Some(payment.parse().unwrap()),
            refund_minor: 0,
            checked_in: 0,
            created_at: Time(1),
            confirmed_at: Some(Time(1)),
            updated_at: Time(1),
        };
        let saga = Saga {
            saga_id: "saga-1".into(),
            booking: booking.booking.clone(),
            event: booking.event.clone(),
            user: booking.user.clone(),
            amount_minor: 2_090,
            currency,
            step: Step::Confirmed,
            reserve_completed_at: Some(Time(1)),
            payment_completed_at: Some(Time(7)),
            updated_at: Time(7),
            version: 4,
            payment: booking.payment.clone(),
            next_at: None,
            tries: 0,
            stuck: None,
        };
        let paid = Payment {
            payment: payment.parse().unwrap(),
            booking: booking.booking.clone(),
            gateway: "sandbox".into(),
            reference: None,
            url: None,
            client_secret: None,
            amount_minor: 2_090,
            currency,
            stage: Stage::Captured,
            capture: Capture::AtOnce,
            captured_minor: 2_090,
            why: None,
            flagged: false,
            on_decline: OnDecline::Keep,
            created_at: Time(5),
            updated_at: Time(7),
        };
        let refunds = (1..).zip(refunds_minor).map(|(nth, &amount_minor)| Refund {
            refund: format!("refund:gala.1:{nth}"),
            booking: booking.booking.clone(),
            payment: paid.payment.clone(),
            amount_minor,
            currency,
            status: RefundStatus::Done,
            cause: RefundCause::Cancelled,
            decided_by: None,
            why: String::new(),
            reference: None,
            created_at: Time(8),
            updated_at: Time(9),
        });
        let record = SagaRecord { saga, refunds: refunds.collect(), payments: vec![paid] };
        ReceiptBasis { booking, record, issued: vec![] }
    }

    fn drafts(basis: &ReceiptBasis, rate_bp: Option<u32>) -> Result<Vec<ReceiptDraft>, String> {
        missing(basis, ReceiptRule::EVERY, &seller(), Some((&settings(rate_bp), &[1_000])))
    }

    /// The drafts with numbers.
    fn issued(drafts: Vec<ReceiptDraft>) -> Vec<Receipt> {
        let number = |number| ReceiptNumber { series: "R".parse().unwrap(), number };
        let numbered = (1..).zip(drafts).map(|(nth, draft)| Receipt {
            number: number(nth),
            corrects: draft.refund.map(|refund| Corrects { refund, receipt: number(1) }),
            booking: draft.booking,
            event: draft.event,
            issued_at: Time(9),
            currency: draft.currency,
            amount_minor: draft.amount_minor,
            buyer_name: None,
            buyer_email_lower: None,
            document: draft.document,
        });
        numbered.collect()
    }

    /// Purpose, amount and tax of each line.
    fn amounts(draft: &ReceiptDraft) -> Vec<(Purpose, i64, i64)> {
        let lines = draft.document.lines.iter();
        lines.map(|line| (line.purpose, line.amount_minor, line.tax_minor)).collect()
    }

    #[test]
    fn a_confirmed_booking_lacks_a_receipt_whose_lines_come_to_what_was_paid() {
        let drafts = drafts(&basis(&[]), Some(1_900)).unwrap();
        let [receipt] = &*drafts else { panic!("{drafts:?}") };
        assert_eq!((receipt.amount_minor, &receipt.refund), (2_090, &None));
        assert_eq!(amounts(receipt), [(Purpose::Sales, 2_000, 319), (Purpose::Fees, 90, 15)]);
        let line = &receipt.document.lines[0];
        assert_eq!((line.quantity, line.price_minor), (Some(2), Some(1_000)));
        assert_eq!((receipt.document.moved_at, receipt.document.tax_minor()), (Time(7), 334));
    }

    #[test]
    fn an_amount_tells_the_prices_unless_lines_share_it() {
        let held = |price_minor, units: &[(u32, u32)]| HeldType {
            id: "child".parse().unwrap(),
            name: "Child".into(),
            proof: false,
            price_minor,
            units: units.to_vec(),
        };
        let none: &[&str] = &[];
        // Quantities of pools, seats, types, what the units cost, and the prices.
        let two_types = vec![held(300, &[(0, 1), (1, 1)]), held(500, &[(0, 1)])];
        for (pools, seats, types, units_minor, prices_minor) in [
            (&[2][..], none, vec![], 2_000, Some(&[1_000][..])),
            (&[2], &[], vec![], 0, Some(&[0])),
            (&[], &["A-1"], vec![], 700, Some(&[700])),
            (&[1, 1], &[], vec![], 2_000, None),
            (&[], &["A-1", "A-2"], vec![], 2_000, None),
            (&[1], &["A-1"], vec![], 2_000, None),
            (&[2, 1], &[], two_types.clone(), 1_100, Some(&[0, 0])),
            (&[2, 1], &["A-1"], two_types.clone(), 1_900, Some(&[0, 0, 800])),
            (&[2, 1], &["A-1", "A-2"], two_types, 2_700, None),
            // It is no number of units at one price.
            (&[2], &[], vec![], 2_001, None),
            (&[1, 1], &[], vec![held(300, &[(0, 1)])], 299, None),
        ] {
            let pools = (1..).zip(pools).map(|(nth, &quantity)| PoolLine {
                pool: format!("p{nth}").parse().unwrap(),
                quantity,
            });
            let seats = seats.iter().map(|seat| seat.parse().unwrap());
            let lines = Lines::new(pools.collect(), seats.collect()).unwrap();
            let held = HeldTypes { asked: AskedTypes::default(), held: types };
            let types = (!held.held.is_empty()).then(|| Box::new(held));
            let amount_minor = units_minor + 90;
            let booking = Booking { lines, types, amount_minor, ..basis(&[]).booking };
            assert_eq!(prices_by_amount(&booking).as_deref(), prices_minor, "{booking:?}");
        }
    }

    #[test]
    fn what_was_issued_is_not_drafted_again() {
        let mut basis = basis(&[400]);
        let all = drafts(&basis, None).unwrap();
        assert_eq!(
            all.iter().map(|draft| draft.refund.is_some()).collect::<Vec<_>>(),
            [false, true]
        );
        basis.issued = issued(all);
        assert_eq!(drafts(&basis, None), Ok(vec![]));
        basis.issued.pop();
        assert_eq!(drafts(&basis, None).unwrap().len(), 1);
    }

    #[test]
    fn a_booking_that_was_not_confirmed_and_paid_here_has_no_documents() {
        let refunded = basis(&[2_090]);
        let mut never = refunded.clone();
        never.booking.status = HoldStatus::Expired;
        let mut elsewhere = refunded.clone();
        elsewhere.booking.payment = Some("till-7".parse().unwrap());
        let mut unpaid = refunded;
        unpaid.record.payments[0].captured_minor = 0;
        for basis in [never, elsewhere, unpaid] {
            assert_eq!(drafts(&basis, None), Ok(vec![]));
        }
    }

    #[test]
    fn money_that_the_rule_leaves_out_has_no_documents_unless_its_receipt_was_issued() {
        let rule =
            |with_sandbox, from: Option<i64>| ReceiptRule { with_sandbox, from: from.map(Time) };
        let refunded = basis(&[400]);
        let mut real = refunded.clone();
        real.record.payments[0].gateway = "stripe".into();
        let count = |basis: &ReceiptBasis, rule| {
            let settings = settings(None);
            missing(basis, rule, &seller(), Some((&settings, &[1_000]))).unwrap().len()
        };
        // It was taken at 7.
        for (basis, rule, drafts) in [
            (&refunded, rule(true, None), 2),
            (&refunded, rule(false, None), 0),
            (&real, rule(false, None), 2),
            (&real, rule(false, Some(7)), 2),
            (&real, rule(false, Some(8)), 0),
        ] {
            assert_eq!(count(basis, rule), drafts, "{rule:?}");
        }
        let mut receipted = refunded;
        receipted.issued = issued(drafts(&basis(&[]), None).unwrap());
        assert_eq!(count(&receipted, rule(false, Some(8))), 1, "the credit note of its receipt");
    }

    #[test]
    fn a_refund_of_everything_takes_back_each_line() {
        let all = drafts(&basis(&[2_090]), Some(1_900)).unwrap();
        let [receipt, note] = &*all else { panic!("{all:?}") };
        assert_eq!(receipt.document.lines, note.document.lines);
        assert_eq!(
            (note.refund.as_deref(), note.document.moved_at),
            (Some("refund:gala.1:1"), Time(9))
        );
    }

    #[test]
    fn a_credit_note_names_the_seller_of_the_receipt_that_it_takes_back() {
        let mut later = basis(&[400]);
        later.issued = issued(drafts(&basis(&[]), None).unwrap());
        let today = Seller { name: "Hall and Partners".into(), ..seller() };
        let notes = missing(&later, ReceiptRule::EVERY, &today, None).unwrap();
        let [note] = &*notes else { panic!("{notes:?}") };
        assert_eq!((note.amount_minor, &note.document.seller), (400, &seller()));
    }

    #[test]
    fn parts_that_went_back_are_of_units_first_and_their_taxes_add_up_to_the_whole() {
        let all = drafts(&basis(&[333, 1_700, 57]), Some(1_900)).unwrap();
        let [receipt, notes @ ..] = &*all else { panic!("{all:?}") };
        let parts: Vec<_> = notes.iter().map(amounts).collect();
        assert_eq!(parts[0], [(Purpose::Sales, 333, 53)]);
        assert_eq!(parts[1], [(Purpose::Sales, 1_667, 266), (Purpose::Fees, 33, 6)]);
        assert_eq!(parts[2], [(Purpose::Fees, 57, 9)]);
        let tax_minor: i64 = notes.iter().map(|note| note.document.tax_minor()).sum();
        assert_eq!(tax_minor, receipt.document.tax_minor());
        // The same if the notes were issued one after the other.
        let mut later = basis(&[333, 1_700, 57]);
        later.issued = issued(all[..3].to_vec());
        assert_eq!(drafts(&later, Some(700)).unwrap(), all[3..]);
    }

    #[test]
    fn a_note_whose_refund_bounced_stands_for_the_refund_that_repeats_it() {
        for amount_minor in [900, 2_090] {
            let mut basis = basis(&[amount_minor]);
            basis.issued = issued(drafts(&basis, Some(1_900)).unwrap());
            basis.record.refunds[0].status = RefundStatus::Failed;
            assert_eq!(drafts(&basis, None), Ok(vec![]));
            let refund = "refund:gala.1:2".to_owned();
            let status = RefundStatus::Done;
            let again = Refund { refund, status, ..basis.record.refunds[0].clone() };
            basis.record.refunds.push(again);
            assert_eq!(drafts(&basis, None), Ok(vec![]), "{amount_minor}");
        }
    }

    #[test]
    fn what_does_not_add_up_is_not_issued() {
        let settings = settings(None);
        let sold = Some((&settings, &[999][..]));
        let why = missing(&basis(&[]), ReceiptRule::EVERY, &seller(), sold).unwrap_err();
        assert_eq!(why, "its lines come to 2088, and it was paid with 2090");
        let mut less = basis(&[]);
        less.record.payments[0].captured_minor = 2_000;
        assert_eq!(drafts(&less, None).unwrap_err(), "2000 was taken for a booking of 2090");
        let mut more = basis(&[2_091]);
        more.issued = issued(drafts(&basis(&[]), None).unwrap());
        more.record.payments[0].captured_minor = 2_091;
        let why = drafts(&more, None).unwrap_err();
        assert_eq!(why, "2091 went back after 0, and it was paid with 2090");
    }

    #[test]
    fn notes_stop_at_what_was_owed_although_more_went_back() {
        // What a cancellation gave back, the refunds that were done, and the notes.
        for (cancelled_minor, refunds_minor, notes_minor) in [
            (None, &[2_090, 2_090][..], &[2_090][..]),
            (None, &[2_000, 91], &[2_000, 90]),
            (None, &[500, 500, 2_090], &[500, 500, 1_090]),
            (Some(2_090), &[2_090, 2_090], &[2_090]),
            (Some(1_500), &[1_500, 1_500], &[1_500]),
            (Some(1_500), &[1_000, 1_000], &[1_000, 500]),
            // An operator had given back all of it before that.
            (Some(0), &[2_090, 2_090], &[2_090]),
        ] {
            let mut basis = basis(refunds_minor);
            if let Some(refund_minor) = cancelled_minor {
                basis.booking.status = HoldStatus::Cancelled;
                basis.booking.refund_minor = refund_minor;
            }
            let all = drafts(&basis, Some(1_900)).unwrap();
            let [receipt, notes @ ..] = &*all else { panic!("{all:?}") };
            let amounts: Vec<_> = notes.iter().map(|note| note.amount_minor).collect();
            assert_eq!((receipt.amount_minor, &*amounts), (2_090, notes_minor));
            let tax_minor: i64 = notes.iter().map(|note| note.document.tax_minor()).sum();
            let is_all = amounts.iter().sum::<i64>() == receipt.amount_minor;
            assert_eq!(tax_minor == receipt.document.tax_minor(), is_all);
            basis.issued = issued(all);
            assert_eq!(drafts(&basis, None), Ok(vec![]));
        }
    }
}
