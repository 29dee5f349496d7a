//! What stands where on a receipt or credit note.

use super::letters::Weight::{Bold, Regular};
use super::sheet::{MARGIN, Sheets, Style, WIDTH};
use super::words::{Language, Words};
use onrush_base::amount;
use onrush_core::Time;
use onrush_core::money::Currency;
use onrush_core::tax::Tax;
use onrush_ledger::receipt::{Document, Purpose, Receipt, ReceiptLine};

const RIGHT: f32 = WIDTH - MARGIN;
/// Where the columns end: how many, the price of one, and what all cost.
const QUANTITY: f32 = RIGHT - 190.0;
const PRICE: f32 = RIGHT - 95.0;
/// How wide a description is at most.
const WHAT: f32 = QUANTITY - 50.0 - MARGIN;
/// Where values begin that have a name before them.
const VALUE: f32 = MARGIN + 120.0;
const TEXT: Style = Style::left(10.0, Regular);
const FIGURE: Style = Style::right(10.0, Regular);
const SMALL: Style = Style::left(9.0, Regular);

pub(super) fn lay_out(receipt: &Receipt, language: Language) -> Sheets {
    let words = language.words();
    let is_note = receipt.corrects.is_some();
    let title = if is_note { &words.credit_note } else { &words.receipt };
    let name = format!("{title} {}", receipt.number);
    let footer = format!("{} · {}", receipt.number, words.page);
    let mut sheets = Sheets::new(name, language.into(), footer);
    seller(&mut sheets, &receipt.document, &words);
    sheets.put(MARGIN, Style::left(20.0, Bold), title);
    sheets.put(RIGHT, Style::right(20.0, Bold), &receipt.number.to_string());
    sheets.skip(40.0);
    for (name, value) in facts(receipt, &words) {
        let lines = sheets.letters.wrap(&value, TEXT.weight, TEXT.size, RIGHT - VALUE);
        sheets.put(MARGIN, Style::left(10.0, Bold), name);
        sheets.put_lines(VALUE, TEXT, &lines);
    }
    sheets.skip(16.0);
    head(&mut sheets, &words);
    for line in &receipt.document.lines {
        put_line(&mut sheets, line, receipt, &words);
    }
    totals(&mut sheets, receipt, &words);
    sheets
}

fn seller(sheets: &mut Sheets, document: &Document, words: &Words) {
    let seller = &document.seller;
    let bold = Style::left(12.0, Bold);
    let name = sheets.letters.wrap(&seller.name, bold.weight, bold.size, RIGHT - MARGIN);
    sheets.put_lines(MARGIN, bold, &name);
    let tax_id = seller.tax_id.iter().map(|id| format!("{}: {id}", words.tax_id));
    for line in seller.address.iter().cloned().chain(tax_id) {
        let lines = sheets.letters.wrap(&line, SMALL.weight, SMALL.size, RIGHT - MARGIN);
        sheets.put_lines(MARGIN, SMALL, &lines);
    }
    sheets.skip(28.0);
}

/// What there is to say before the lines, each with its name.
fn facts<'a>(receipt: &Receipt, words: &'a Words) -> Vec<(&'a str, String)> {
    let document = &receipt.document;
    let mut facts = vec![(&*words.issued, day(receipt.issued_at))];
    match &receipt.corrects {
        None => facts.push((&words.paid, day(document.moved_at))),
        Some(corrects) => {
            facts.push((&words.given_back, day(document.moved_at)));
            facts.push((&words.corrects, corrects.receipt.to_string()));
        }
    }
    facts.push((&words.event, document.title.clone()));
    facts.push((&words.booking, receipt.booking.to_string()));
    facts.extend(receipt.buyer_name.iter().map(|name| (&*words.buyer, name.clone())));
    facts
}

/// The names of the columns.
fn head(sheets: &mut Sheets, words: &Words) {
    let (left, right) = (Style::left(9.0, Bold), Style::right(9.0, Bold));
    sheets.put(MARGIN, left, &words.what);
    sheets.put(QUANTITY, right, &words.quantity);
    sheets.put(PRICE, right, &words.price);
    sheets.put(RIGHT, right, &words.amount);
    sheets.skip(16.0);
    sheets.rule();
}

fn put_line(sheets: &mut Sheets, line: &ReceiptLine, receipt: &Receipt, words: &Words) {
    let (currency, what) = (receipt.currency, what(line, &receipt.document, words));
    let what = sheets.letters.wrap(&what, TEXT.weight, TEXT.size, WHAT);
    #[expect(clippy::cast_precision_loss, reason = "there are a few lines")]
    let height = TEXT.leading() * what.len() as f32;
    if sheets.make_room(height) {
        head(sheets, words);
    }
    if let Some(quantity) = line.quantity {
        sheets.put(QUANTITY, FIGURE, &quantity.to_string());
    }
    if let Some(price_minor) = line.price_minor {
        sheets.put(PRICE, FIGURE, &figure(price_minor, currency));
    }
    sheets.put(RIGHT, FIGURE, &figure(line.amount_minor, currency));
    sheets.put_lines(MARGIN, TEXT, &what);
}

fn what(line: &ReceiptLine, document: &Document, words: &Words) -> String {
    // Only a part of what was paid has no units at all.
    let is_part = document.lines.iter().all(|line| line.quantity.is_none());
    let unit = line.pool.as_ref().map(ToString::to_string);
    let unit = unit.or_else(|| line.seat.as_ref().map(ToString::to_string));
    match (unit, &line.type_name, line.purpose) {
        (Some(unit), Some(name), _) => format!("{unit} · {name}"),
        (Some(unit), None, _) => unit,
        (None, _, Purpose::Sales) => words.part_of_price.clone(),
        (None, _, Purpose::Fees) if is_part => words.part_of_fees.clone(),
        (None, _, Purpose::Fees) => words.fees.clone(),
    }
}

fn totals(sheets: &mut Sheets, receipt: &Receipt, words: &Words) {
    let Receipt { amount_minor, currency, document, .. } = receipt;
    sheets.make_room(80.0);
    sheets.skip(4.0);
    sheets.rule();
    if let Some(tax) = &document.tax {
        let tax_minor = document.tax_minor();
        for (name, minor) in [(&words.net, amount_minor - tax_minor), (&rate(tax), tax_minor)] {
            sheets.put(PRICE, FIGURE, name);
            sheets.put(RIGHT, FIGURE, &figure(minor, *currency));
            sheets.skip(FIGURE.leading());
        }
    }
    let bold = Style::right(12.0, Bold);
    sheets.skip(4.0);
    sheets.put(PRICE, bold, &words.total);
    sheets.put(RIGHT, bold, &amount::readable(*amount_minor, *currency));
}

/// A tax with its rate, such as `VAT 19 %`.
fn rate(tax: &Tax) -> String {
    let (whole, rest) = (tax.rate_bp / 100, tax.rate_bp % 100);
    let rest = if rest == 0 { String::new() } else { format!(".{rest:02}") };
    format!("{} {whole}{} %", tax.name, rest.trim_end_matches('0'))
}

/// An amount without its currency, which stands with the total.
fn figure(minor: i64, currency: Currency) -> String {
    let text = amount::readable(minor, currency);
    text.split_once(' ').map_or_else(|| text.clone(), |(figure, _)| figure.to_owned())
}

/// The day of a time, in UTC.
fn day(at: Time) -> String {
    let time = jiff::Timestamp::from_millisecond(at.0);
    let text = time.map_or_else(|_| at.to_string(), |time| time.to_string());
    text.split_once('T').map_or_else(|| text.clone(), |(day, _)| format!("{day} (UTC)"))
}
