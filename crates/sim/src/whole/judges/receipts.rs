//! The judge of receipts: whatever was paid for has one, what went back of it a credit note; numbers
//! have no gap, amounts and taxes add up, and nothing that was issued ever changes.

use super::super::client::{Asking, Client};
use super::super::noted::Shown;
use super::{Facts, Known};
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, SeatId};
use onrush_core::tax::Tax;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Documents read at a time.
const PAGE: usize = 1_000;
const WHOLE_BP: i64 = 10_000;

/// What documents are held against, beside the journal.
pub(in super::super) struct Books<'a> {
    pub(in super::super) tax: Option<&'a Tax>,
    /// What buyers were shown.
    pub(in super::super) shown: &'a [Shown],
    /// How often a ledger was lost or put back.
    pub(in super::super) losses: u64,
    /// Bookings whose money went back in decisions that are lost.
    pub(in super::super) forgotten: &'a BTreeSet<BookingId>,
}

/// All documents, the first number first, as the organiser is told them.
pub(in super::super) async fn documents(client: &mut Client) -> Result<Vec<Value>, String> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/admin/receipts?limit={PAGE}{after}");
        let page = client.insist(&Asking::get(path)).await;
        let Some(rows) = page.body["receipts"].as_array().filter(|_| page.is_done()) else {
            return Err(format!("receipts cannot be listed: {page:?}"));
        };
        all.extend(rows.iter().cloned());
        let Some(next) = page.body["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    all.reverse();
    Ok(all)
}

pub(in super::super) fn judge(
    documents: &[Value],
    facts: &Facts,
    books: &Books<'_>,
    violations: &mut Vec<String>,
) {
    numbers(documents, violations);
    let mut of = BTreeMap::<BookingId, Vec<&Value>>::new();
    for document in documents {
        if let Err(why) = adds_up(document, books.tax) {
            violations.push(format!("{why}: {document}"));
        }
        match text(document, "booking").parse() {
            Ok(booking) => of.entry(booking).or_default().push(document),
            Err(error) => violations.push(format!("{error}: {document}")),
        }
    }
    for booking in of.keys().filter(|booking| !facts.bookings.contains_key(*booking)) {
        violations.push(format!("{booking} has a receipt, and is nowhere"));
    }
    for (booking, known) in &facts.bookings {
        let documents = of.get(booking).map_or(&[][..], Vec::as_slice);
        let is_forgotten = books.forgotten.contains(booking);
        if let Err(why) = fits(known, documents, books.tax, is_forgotten) {
            violations.push(format!("{booking}: {why}; it is {known:?}, with {documents:?}"));
        }
    }
    stays(documents, books, violations);
}

fn text<'a>(document: &'a Value, member: &str) -> &'a str {
    document[member].as_str().unwrap_or_default()
}

fn minor(value: &Value, member: &str) -> i64 {
    value[member].as_i64().unwrap_or(i64::MIN / 4)
}

fn lines(document: &Value) -> impl Iterator<Item = &Value> {
    document["lines"].as_array().into_iter().flatten()
}

/// Each series counts from 1, and time never goes back in it.
fn numbers(documents: &[Value], violations: &mut Vec<String>) {
    let mut series = BTreeMap::<&str, BTreeMap<u32, i64>>::new();
    for document in documents {
        let number = text(document, "number");
        let parts = number.split_once('-');
        let parts = parts.and_then(|(of, count)| Some((of, count.parse().ok()?)));
        let Some((of, count)) = parts else {
            violations.push(format!("{number:?} is no number of a receipt"));
            continue;
        };
        let issued_at = minor(document, "issued_at");
        if series.entry(of).or_default().insert(count, issued_at).is_some() {
            violations.push(format!("{number} is there twice"));
        }
    }
    for (of, known) in series {
        let mut before = i64::MIN;
        for (due, (count, issued_at)) in (1..).zip(known) {
            if count != due || issued_at < before {
                violations.push(format!("{of}-{count} comes in the place of {of}-{due}"));
                break;
            }
            before = issued_at;
        }
    }
}

/// Lines come to the amount, and taxes are those of the amounts.
fn adds_up(document: &Value, tax: Option<&Tax>) -> Result<(), String> {
    let amount_minor = minor(document, "amount_minor");
    let (mut sum_minor, mut tax_minor) = (0, 0);
    for line in lines(document) {
        let [all, net, of_it] =
            ["amount_minor", "net_minor", "tax_minor"].map(|it| minor(line, it));
        if net + of_it != all || all < 0 || of_it < 0 {
            return Err(format!("{line} does not add up"));
        }
        if let (Some(price_minor), Some(quantity)) =
            (line["price_minor"].as_i64(), line["quantity"].as_i64())
            && price_minor * quantity != all
        {
            return Err(format!("{line} costs something else"));
        }
        (sum_minor, tax_minor) = (sum_minor + all, tax_minor + of_it);
    }
    let told = &document["tax"];
    let is_told = match tax {
        None => told.is_null() && tax_minor == 0,
        Some(tax) => {
            minor(told, "tax_minor") == tax_minor
                && minor(told, "net_minor") == amount_minor - tax_minor
                && told["rate_bp"].as_u64() == Some(tax.rate_bp.into())
        }
    };
    match amount_minor > 0 && sum_minor == amount_minor && is_told {
        true => Ok(()),
        false => Err(format!("lines come to {sum_minor} with a tax of {tax_minor}")),
    }
}

/// The tax in an amount, to the nearest minor unit.
fn tax_in(amount_minor: i64, tax: Option<&Tax>) -> i64 {
    let Some(tax) = tax else { return 0 };
    let (rate, whole) = (i64::from(tax.rate_bp), WHOLE_BP + i64::from(tax.rate_bp));
    (2 * amount_minor * rate + whole) / (2 * whole)
}

/// What a booking has is what is due for what became of it.
fn fits(
    known: &Known,
    documents: &[&Value],
    tax: Option<&Tax>,
    is_forgotten: bool,
) -> Result<(), String> {
    let is = |kind: &'static str| {
        documents.iter().copied().filter(move |document| text(document, "kind") == kind)
    };
    let (receipts, notes): (Vec<_>, Vec<_>) =
        (is("receipt").collect(), is("credit_note").collect());
    let is_due = known.was_sold() && known.is_paid_at_bank();
    let receipt = match (&*receipts, is_due) {
        ([], false) if notes.is_empty() => return Ok(()),
        ([receipt], true) => *receipt,
        _ => return Err(format!("{} receipts", receipts.len())),
    };
    if minor(receipt, "amount_minor") != known.amount_minor {
        return Err("another amount was paid".into());
    }
    has_units(known, receipt)?;
    let noted_minor: i64 = notes.iter().map(|note| minor(note, "amount_minor")).sum();
    let back_minor = if known.end == HoldStatus::Cancelled { known.refund_minor } else { 0 };
    if noted_minor != back_minor && !is_forgotten {
        return Err(format!("credit notes come to {noted_minor}, and {back_minor} went back"));
    }
    let refunds: BTreeSet<_> = notes.iter().map(|note| text(note, "refund")).collect();
    let corrects = |note: &&Value| text(note, "corrects") == text(receipt, "number");
    if refunds.len() != notes.len() || !notes.iter().all(corrects) {
        return Err("a credit note is for something else".into());
    }
    let taxes = |documents: &[&Value]| -> i64 {
        documents.iter().flat_map(|document| lines(document)).map(|it| minor(it, "tax_minor")).sum()
    };
    let due_minor = [known.amount_minor, noted_minor].map(|minor| tax_in(minor, tax));
    let taxes_minor = [taxes(&receipts), taxes(&notes)];
    match taxes_minor == due_minor {
        true => Ok(()),
        false => Err(format!("taxes are {taxes_minor:?}, and {due_minor:?} are due")),
    }
}

/// A receipt names the units that were held, and the fee.
fn has_units(known: &Known, receipt: &Value) -> Result<(), String> {
    let (mut pools, mut seats) = (BTreeMap::<&str, u64>::new(), BTreeSet::new());
    let mut fee_minor = 0;
    for line in lines(receipt) {
        let quantity = line["quantity"].as_u64().unwrap_or_default();
        match (line["pool"].as_str(), line["seat"].as_str()) {
            (Some(pool), None) => *pools.entry(pool).or_default() += quantity,
            (None, Some(seat)) if quantity == 1 && seats.insert(seat) => {}
            (None, None) if line["purpose"] == "fees" => fee_minor += minor(line, "amount_minor"),
            _ => return Err(format!("{line} is for nothing")),
        }
    }
    let held = known.lines.pools().iter().map(|line| (line.pool.as_str(), line.quantity.into()));
    let is_right = pools == held.collect()
        && seats == known.lines.seats().iter().map(SeatId::as_str).collect()
        && fee_minor == known.fee_minor;
    if is_right { Ok(()) } else { Err("the receipt is for something else".into()) }
}

/// What a buyer was shown is there as it was. One that was lost with the ledger is not there any more,
/// and its number is nobody else's.
fn stays(documents: &[Value], books: &Books<'_>, violations: &mut Vec<String>) {
    let by_number: BTreeMap<_, _> =
        documents.iter().map(|document| (text(document, "number"), document)).collect();
    for Shown { document, losses } in books.shown {
        let number = text(document, "number");
        match by_number.get(number) {
            Some(now) if **now == *document => {}
            None if *losses < books.losses => {}
            now => violations.push(format!("{number} was {document}, and is {now:?}")),
        }
    }
}
