//! What a mail says: a pure function from facts to text, HTML and pictures.

use crate::catalogue::{Catalogue, Wording, closest, fill};
use onrush_base::amount::readable;
use onrush_base::config::kinds::{
    BOOKING_CANCELLED, BOOKING_CONFIRMED, BOOKING_EXPIRED, BOOKING_REFUNDED, PAYMENT_LATE_REFUNDED,
};
use onrush_base::tickets::{Kind, Ticket, Unit, qr};
use onrush_core::lines::Lines;
use onrush_core::money::Currency;
use onrush_core::tax::Tax;
use std::fmt::Write;

/// Tickets whose codes stand in the mail itself; with more, the mail says where they are.
pub const MAX_INLINE: usize = 10;

/// Characters of a buyer's name that a mail repeats; a longer one is more than a name.
const MAX_NAME_CHARS: usize = 60;

/// What a mail is made of.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// What it is about: a message's kind.
    pub kind: &'a str,
    /// The buyer's language tag.
    pub language: &'a str,
    /// The buyer's name, or nothing.
    pub name: &'a str,
    /// The event's title.
    pub title: &'a str,
    /// Where it takes place, or nothing.
    pub venue: &'a str,
    /// The booking.
    pub booking: &'a str,
    /// What it is about.
    pub lines: &'a Lines,
    /// What it costs, fees included.
    pub amount_minor: i64,
    /// How much of that is fees.
    pub fee_minor: i64,
    /// The tax that it includes, if the event tells of one.
    pub tax: Option<Tax>,
    /// In which currency.
    pub currency: Currency,
    /// What goes back.
    pub refund_minor: i64,
    /// How that goes back.
    pub refund_by: RefundBy,
    /// Why it was cancelled, or nothing.
    pub why: &'a str,
    /// Whether it was confirmed after its hold had run out.
    pub late: bool,
    /// Whether the booking is confirmed, whatever became of one of its payments.
    pub booked: bool,
    /// The tickets, if it is confirmed.
    pub tickets: &'a [Ticket],
    /// The booking's page.
    pub url: Option<&'a str>,
    /// Whether that address opens the booking to whoever has it.
    pub url_is_secret: bool,
}

/// How money goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefundBy {
    /// The gateway gives it back, to where it came from.
    Gateway,
    /// An operator did, by other means.
    Hand,
}

/// A mail without its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// One line.
    pub subject: String,
    /// For programs that show text.
    pub text: String,
    /// For those that show HTML.
    pub html: String,
    /// What the HTML shows: a name for each picture, and its PNG.
    pub pictures: Vec<(String, Vec<u8>)>,
}

/// Writes the mail; `None` if there is none of this kind.
#[must_use]
pub fn compose(facts: &Facts<'_>) -> Option<Letter> {
    let (language, texts) = closest(facts.language);
    let wording = wording(texts, facts)?;
    let greeting = match addressable(facts.name) {
        None => texts.greeting_without_name.clone(),
        Some(name) => fill(&texts.greeting, &[("name", &name)]),
    };
    let said = said(texts, wording, facts);
    let rows = rows(texts, facts);
    let tickets = Tickets::new(texts, facts);

    let mut text = format!("{greeting}\n\n{said}\n\n");
    for (label, value) in &rows {
        line(&mut text, &format!("{label}: {value}"));
    }
    text.push('\n');
    if let Some(explained) = &tickets.explained {
        line(&mut text, explained);
    }
    for label in &tickets.types {
        line(&mut text, &format!("- {label}"));
    }
    for (label, _) in &tickets.shown {
        line(&mut text, &format!("- {label}"));
    }
    if let Some(url) = facts.url {
        line(&mut text, &format!("{}: {url}", texts.open_booking));
        if facts.url_is_secret {
            line(&mut text, &texts.open_booking_secret);
        }
    }

    let mut html = format!(
        "<!DOCTYPE html><html lang=\"{language}\"><head><meta charset=\"utf-8\"></head>\
         <body style=\"font-family:sans-serif\"><p>{}</p><p>{}</p><table>",
        escaped(&greeting),
        escaped(&said)
    );
    for (label, value) in &rows {
        let (label, value) = (escaped(label), escaped(value));
        let row = "<tr><th align=\"left\" valign=\"top\" style=\"padding-right:1em\">";
        html.push_str(&format!("{row}{label}</th><td>{value}</td></tr>"));
    }
    html.push_str("</table>");
    if let Some(explained) = &tickets.explained {
        html.push_str(&format!("<p>{}</p>", escaped(explained)));
    }
    for label in &tickets.types {
        html.push_str(&format!("<p>{}</p>", escaped(label)));
    }
    for (index, (label, _)) in tickets.shown.iter().enumerate() {
        let (label, name) = (escaped(label), picture_name(index));
        html.push_str(&format!("<p>{label}<br><img src=\"cid:{name}\" alt=\"{label}\"></p>"));
    }
    if let Some(url) = facts.url {
        let (url, label) = (escaped(url), escaped(&texts.open_booking));
        // Mail programs that show pages of others shall not tell them where their reader comes from.
        html.push_str(&format!("<p><a href=\"{url}\" rel=\"noreferrer\">{label}</a>"));
        if facts.url_is_secret {
            html.push_str(&format!("<br>{}", escaped(&texts.open_booking_secret)));
        }
        html.push_str("</p>");
    }
    html.push_str("</body></html>");

    let shown = tickets.shown.into_iter().enumerate();
    let pictures = shown.map(|(index, (_, png))| (picture_name(index), png)).collect();
    let subject = one_line(&fill(&wording.subject, &[("title", facts.title)]));
    Some(Letter { subject, text, html, pictures })
}

fn wording<'t>(texts: &'t Catalogue, facts: &Facts<'_>) -> Option<&'t Wording> {
    match facts.kind {
        BOOKING_CONFIRMED if facts.late => Some(&texts.booking_confirmed_late),
        BOOKING_CONFIRMED => Some(&texts.booking_confirmed),
        BOOKING_EXPIRED => Some(&texts.booking_expired),
        BOOKING_CANCELLED => Some(&texts.booking_cancelled),
        BOOKING_REFUNDED => Some(&texts.booking_refunded),
        PAYMENT_LATE_REFUNDED if facts.booked => Some(&texts.payment_sent_back),
        PAYMENT_LATE_REFUNDED => Some(&texts.payment_late_refunded),
        _ => None,
    }
}

/// What a mail says first. Money that goes back takes its time at the buyer's bank, unless it was given
/// back by hand.
fn said(texts: &Catalogue, wording: &Wording, facts: &Facts<'_>) -> String {
    let goes_back = [BOOKING_REFUNDED, PAYMENT_LATE_REFUNDED].contains(&facts.kind);
    match facts.refund_by {
        RefundBy::Gateway if goes_back => format!("{} {}", wording.text, texts.takes_days),
        RefundBy::Gateway | RefundBy::Hand => wording.text.clone(),
    }
}

/// What is known of the booking, line by line.
fn rows(texts: &Catalogue, facts: &Facts<'_>) -> Vec<(String, String)> {
    let pools = facts.lines.pools().iter().map(|line| format!("{} × {}", line.quantity, line.pool));
    let seats = facts.lines.seats().iter();
    let seats = seats.map(|seat| fill(&texts.seat, &[("seat", seat.as_str())]));
    let contents = pools.chain(seats).collect::<Vec<_>>().join(", ");
    let money = |amount_minor| readable(amount_minor, facts.currency);
    let mut amount = money(facts.amount_minor);
    if facts.fee_minor > 0 {
        // Writing to memory does not fail.
        let _ = write!(amount, " ({} {})", texts.fee, money(facts.fee_minor));
    }
    let (tax_name, tax) =
        facts.tax.as_ref().map(|tax| tax_row(texts, facts, tax)).unwrap_or_default();
    let refund = if facts.refund_minor > 0 { money(facts.refund_minor) } else { String::new() };
    [
        (&texts.event, facts.title.to_owned()),
        (&texts.venue, facts.venue.to_owned()),
        (&texts.booking, facts.booking.to_owned()),
        (&texts.contents, contents),
        (&texts.amount, amount),
        (&tax_name, tax),
        (&texts.refund, refund),
        (&texts.why, facts.why.to_owned()),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(label, value)| (label.clone(), one_line(&value)))
    .collect()
}

/// What the tax is called, and how much of the amount it is; nothing of what is free of charge.
fn tax_row(texts: &Catalogue, facts: &Facts<'_>, tax: &Tax) -> (String, String) {
    if facts.amount_minor == 0 {
        return Default::default();
    }
    let split = tax.split(facts.amount_minor, facts.currency);
    let money = |amount_minor| readable(amount_minor, facts.currency);
    let (tax_told, net) = (money(split.tax_minor), money(split.net_minor));
    let told = fill(&texts.tax, &[("tax", &tax_told), ("net", &net)]);
    (format!("{} {}%", tax.name, hundredths(tax.rate_bp)), told)
}

/// Basis points as percent: 1900 is 19, 725 is 7.25.
fn hundredths(rate_bp: u32) -> String {
    let told = format!("{}.{:02}", rate_bp / 100, rate_bp % 100);
    told.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What a mail says of tickets.
struct Tickets {
    explained: Option<String>,
    /// A label for each type, if no codes are shown.
    types: Vec<String>,
    /// A label for each code that is shown, and its picture.
    shown: Vec<(String, Vec<u8>)>,
}

impl Tickets {
    fn new(texts: &Catalogue, facts: &Facts<'_>) -> Self {
        let count = facts.tickets.len();
        if count == 0 {
            return Self { explained: None, types: Vec::new(), shown: Vec::new() };
        }
        let shown = (count <= MAX_INLINE)
            .then(|| facts.tickets.iter().map(|ticket| shown(texts, ticket)).collect())
            .and_then(|shown: Vec<Option<_>>| shown.into_iter().collect::<Option<Vec<_>>>());
        match shown {
            Some(shown) => {
                Self { explained: Some(texts.tickets_here.clone()), types: Vec::new(), shown }
            }
            None => {
                let count = count.to_string();
                let elsewhere = fill(&texts.tickets_elsewhere, &[("count", &count)]);
                let types = types(texts, facts.tickets);
                Self { explained: Some(elsewhere), types, shown: Vec::new() }
            }
        }
    }
}

fn shown(texts: &Catalogue, ticket: &Ticket) -> Option<(String, Vec<u8>)> {
    let unit = match &ticket.unit {
        Unit::Pool(pool) => pool.to_string(),
        Unit::Seat(seat) => fill(&texts.seat, &[("seat", seat.as_str())]),
    };
    let number = fill(&texts.ticket, &[("number", &ticket.number.to_string())]);
    let mut label = format!("{number}: {unit}");
    if let Some(kind) = &ticket.kind {
        label.extend([" · ", &with_proof(texts, kind)]);
    }
    Some((one_line(&label), qr::png(&ticket.code).ok()?))
}

/// How many tickets are of each type, in the order in which the types come first.
fn types(texts: &Catalogue, tickets: &[Ticket]) -> Vec<String> {
    let mut counts: Vec<(&Kind, usize)> = Vec::new();
    for kind in tickets.iter().filter_map(|ticket| ticket.kind.as_ref()) {
        match counts.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, count)) => *count += 1,
            None => counts.push((kind, 1)),
        }
    }
    counts
        .into_iter()
        .map(|(kind, count)| one_line(&format!("{count} × {}", with_proof(texts, kind))))
        .collect()
}

/// A type's name, and that a proof is to be brought if it asks for one.
fn with_proof(texts: &Catalogue, kind: &Kind) -> String {
    if kind.proof {
        format!("{} · {}", kind.name, texts.bring_proof)
    } else {
        kind.name.to_string()
    }
}

fn picture_name(index: usize) -> String {
    format!("ticket-{}", index + 1)
}

fn line(text: &mut String, content: &str) {
    text.push_str(content);
    text.push('\n');
}

/// The name as a mail may use it. Anyone can have mail sent to anyone under a name of their choice,
/// so what looks like a message or an address is not repeated: mail programs make links even of
/// `shop.example/win`.
#[must_use]
pub fn addressable(name: &str) -> Option<String> {
    let name = one_line(name);
    let fits = !name.is_empty() && name.chars().count() <= MAX_NAME_CHARS;
    (fits && !name.contains(['/', '\\', '@', ':']) && !names_a_host(&name)).then_some(name)
}

/// Whether two letters or more follow a dot within a word, as in `shop.example` but not in `J.R. Lee`.
fn names_a_host(name: &str) -> bool {
    let words = name.split(char::is_whitespace);
    words.into_iter().any(|word| {
        // These are dots for browsers too (UTS 46).
        let mut parts = word.split(['.', '．', '。', '｡']);
        let begins = parts.next().is_some_and(|part| !part.is_empty());
        let is_long = |part: &str| part.chars().filter(|c| c.is_alphanumeric()).count() > 1;
        begins && parts.any(is_long)
    })
}

/// The text on one line: no break, no other control character.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().trim().to_owned()
}

/// The text as HTML shows it, inside an element or a quoted attribute.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::lines::PoolLine;

    fn letter(change: impl FnOnce(&mut Facts<'_>)) -> Option<Letter> {
        letter_with(&[], change)
    }

    fn letter_with(tickets: &[Ticket], change: impl FnOnce(&mut Facts<'_>)) -> Option<Letter> {
        let pools = vec![PoolLine { pool: "ga".parse().unwrap(), quantity: 2 }];
        let lines = Lines::new(pools, vec!["A-1".parse().unwrap()]).unwrap();
        let mut facts = Facts {
            kind: BOOKING_CONFIRMED,
            language: "en",
            name: "Ann",
            title: "Winter tour",
            venue: "",
            booking: "e.1",
            lines: &lines,
            amount_minor: 12_500,
            fee_minor: 500,
            tax: None,
            currency: "EUR".parse().unwrap(),
            refund_minor: 0,
            refund_by: RefundBy::Gateway,
            why: "",
            late: false,
            booked: false,
            tickets,
            url: None,
            url_is_secret: false,
        };
        change(&mut facts);
        compose(&facts)
    }

    #[test]
    fn a_letter_says_what_was_bought_and_for_how_much() {
        let letter = letter(|_| {}).unwrap();
        assert_eq!(letter.subject, "Your tickets: Winter tour");
        for part in [
            "Hello Ann,",
            "Booking: e.1",
            "2 × ga, Seat A-1",
            "125.00 EUR (including fees of 5.00 EUR)",
        ] {
            assert!(letter.text.contains(part), "{part}: {}", letter.text);
        }
        assert!(!letter.text.contains("Refund") && !letter.text.contains("Reason"));
    }

    #[test]
    fn a_letter_says_how_much_of_the_total_is_tax() {
        for (rate_bp, label, told) in [
            (1_900, "VAT 19%", "19.96 EUR, included in the total (without it 105.04 EUR)"),
            (725, "VAT 7.25%", "8.45 EUR"),
            (50, "VAT 0.5%", "0.62 EUR"),
            (0, "VAT 0%", "0.00 EUR"),
            (10_000, "VAT 100%", "62.50 EUR"),
        ] {
            let tax = Tax { name: "VAT".into(), rate_bp };
            let letter = letter(|facts| facts.tax = Some(tax)).unwrap();
            assert!(letter.text.contains(&format!("{label}: {told}")), "{}", letter.text);
            assert!(letter.html.contains(label), "{}", letter.html);
        }
        let tax = Tax { name: "VAT".into(), rate_bp: 1_900 };
        let free =
            letter(|facts| (facts.amount_minor, facts.fee_minor, facts.tax) = (0, 0, Some(tax)));
        assert!(!free.unwrap().text.contains("VAT"));
    }

    #[test]
    fn currencies_without_decimals_and_languages_are_minded() {
        let letter = letter(|facts| {
            facts.currency = "VND".parse().unwrap();
            facts.language = "vi-VN";
            facts.fee_minor = 0;
        });
        let letter = letter.unwrap();
        assert!(letter.text.contains("Xin chào Ann,") && letter.text.contains("12500 VND"));
        assert!(letter.html.contains("lang=\"vi\""), "{}", letter.html);
    }

    #[test]
    fn whatever_people_call_themselves_stays_text() {
        let letter = letter(|facts| {
            facts.name = "<script>alert('x')";
            facts.title = "A & B\r\nBcc: all@shop.example";
            facts.why = "\"<b>\"";
            facts.url = Some("https://shop.example/?a=1&b=\"");
        });
        let letter = letter.unwrap();
        assert!(!letter.html.contains("<script") && !letter.html.contains("<b>"));
        assert!(letter.html.contains("&lt;script&gt;") && letter.html.contains("a=1&amp;b=&quot;"));
        assert!(!letter.subject.contains(['\r', '\n']), "{}", letter.subject);
    }

    #[test]
    fn names_that_are_messages_are_not_repeated() {
        const LONGEST: &str = "éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé";
        const TOO_LONG: &str = "ééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé";
        for (name, greeted) in [
            ("Ann", Some("Ann")),
            (" Ann\r\nLee ", Some("Ann  Lee")),
            (LONGEST, Some(LONGEST)),
            (TOO_LONG, None),
            ("Win at HTTPS://bad.example", None),
            ("see WWW.bad.example", None),
            ("claim your prize: bad.example/win", None),
            ("bad.example", None),
            ("your prize at bad。example", None),
            ("prize (bad.example)", None),
            ("ann@bad.example", None),
            ("bad.example:80", None),
            ("J.R. Lee", Some("J.R. Lee")),
            ("Ann Lee Jr.", Some("Ann Lee Jr.")),
            ("Dr. Ann O'Lee-Smith", Some("Dr. Ann O'Lee-Smith")),
            ("", None),
        ] {
            assert_eq!(addressable(name).as_deref(), greeted, "{name}");
            let letter = letter(|facts| facts.name = name).unwrap();
            let neutral = letter.text.starts_with("Hello,\n");
            assert_eq!(neutral, greeted.is_none(), "{name}: {}", letter.text);
            assert!(
                !letter.subject.contains("bad.example") && !letter.html.contains("bad.example")
            );
        }
    }

    #[test]
    fn a_link_that_opens_the_booking_is_said_to_be_one() {
        let url = "https://shop.example/bookings/e.1#b1.e.1.0.aa.bb";
        for secret in [false, true] {
            let letter = letter(|facts| (facts.url, facts.url_is_secret) = (Some(url), secret));
            let letter = letter.unwrap();
            for content in [&letter.text, &letter.html] {
                assert!(content.contains(url), "{content}");
                assert_eq!(content.contains("without an account"), secret, "{content}");
            }
        }
        let without = letter(|facts| facts.url_is_secret = true).unwrap();
        assert!(!without.text.contains("without an account"), "{}", without.text);
    }

    #[test]
    fn up_to_ten_tickets_are_shown_and_more_are_elsewhere() {
        let unit = Unit::Seat("A-1".parse().unwrap());
        let ticket = |number| {
            let kind = (number < 3).then(|| Kind { name: "Child".into(), proof: number == 2 });
            Ticket { number, unit: unit.clone(), kind, code: format!("c{number}") }
        };
        let tickets: Vec<_> = (1..=11).map(ticket).collect();
        let ten = letter_with(&tickets[..10], |_| {}).unwrap();
        assert_eq!(ten.pictures.len(), 10);
        assert_eq!(ten.pictures[9], ("ticket-10".into(), qr::png("c10").unwrap()));
        assert!(ten.html.contains("cid:ticket-10") && ten.text.contains("Ticket 10: Seat A-1"));
        for content in [&ten.text, &ten.html] {
            for label in
                ["Ticket 1: Seat A-1 · Child", "Seat A-1 · Child · Bring proof to the door"]
            {
                assert!(content.contains(label), "{content}");
            }
        }
        assert_eq!(ten.text.matches("Child").count(), 2, "{}", ten.text);
        assert_eq!(ten.text.matches("Bring proof").count(), 1, "{}", ten.text);
        let eleven = letter_with(&tickets, |_| {}).unwrap();
        assert!(eleven.pictures.is_empty() && !eleven.html.contains("cid:"));
        assert!(eleven.text.contains("your 11 tickets"), "{}", eleven.text);
    }

    #[test]
    fn more_than_ten_tickets_are_counted_by_type_and_say_which_ask_for_proof() {
        let kind = |name: &str, proof| Some(Kind { name: name.into(), proof });
        let ticket = |number: u32| {
            let kind = match number {
                1..=7 | 12 => kind("Adult", false),
                8..=10 => kind("Child", true),
                _ => None,
            };
            let unit = Unit::Pool("ga".parse().unwrap());
            Ticket { number, unit, kind, code: format!("c{number}") }
        };
        let tickets: Vec<_> = (1..=12).map(ticket).collect();
        let letter = letter_with(&tickets, |_| {}).unwrap();
        let told = "with your booking.\n- 8 × Adult\n- 3 × Child · Bring proof to the door\n";
        assert!(letter.text.contains(told), "{}", letter.text);
        let told = "<p>8 × Adult</p><p>3 × Child · Bring proof to the door</p></body>";
        assert!(letter.html.contains(told), "{}", letter.html);
        let untyped: Vec<_> = tickets.into_iter().map(|it| Ticket { kind: None, ..it }).collect();
        let letter = letter_with(&untyped, |_| {}).unwrap();
        assert!(letter.text.ends_with("with your booking.\n"), "{}", letter.text);
    }

    #[test]
    fn name_of_a_type_stays_on_its_line() {
        let kind = Some(Kind { name: "Child\r\n- Ticket 9: <b>".into(), proof: false });
        let unit = Unit::Seat("A-1".parse().unwrap());
        let ticket = Ticket { number: 1, unit, kind, code: "c".into() };
        for count in [1, MAX_INLINE + 1] {
            let letter = letter_with(&vec![ticket.clone(); count], |_| {}).unwrap();
            let mut labels = letter.text.lines().filter(|line| line.starts_with("- "));
            assert!(labels.next().is_some_and(|label| label.ends_with("Child  - Ticket 9: <b>")));
            assert_eq!(labels.next(), None, "{}", letter.text);
            assert!(letter.html.contains("Child  - Ticket 9: &lt;b&gt;"), "{}", letter.html);
        }
    }

    #[test]
    fn money_that_was_given_back_by_hand_is_at_no_bank() {
        for language in ["en", "th", "vi", "ko", "id"] {
            let takes_days = &closest(language).1.takes_days;
            for (kind, booked) in [
                (BOOKING_REFUNDED, false),
                (PAYMENT_LATE_REFUNDED, false),
                (PAYMENT_LATE_REFUNDED, true),
            ] {
                for refund_by in [RefundBy::Gateway, RefundBy::Hand] {
                    let letter = letter(|facts| {
                        (facts.language, facts.kind) = (language, kind);
                        (facts.booked, facts.refund_by) = (booked, refund_by);
                    });
                    let letter = letter.unwrap();
                    for content in [&letter.text, &letter.html] {
                        let by_gateway = refund_by == RefundBy::Gateway;
                        assert_eq!(content.contains(takes_days), by_gateway, "{content}");
                    }
                }
            }
            let confirmed = letter(|facts| facts.language = language).unwrap();
            assert!(!confirmed.text.contains(takes_days), "{}", confirmed.text);
        }
    }

    #[test]
    fn kinds_without_a_wording_have_no_letter() {
        assert_eq!(letter(|facts| facts.kind = "ticket_checked_in"), None);
    }
}
