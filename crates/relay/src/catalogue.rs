//! What mails say, in the languages there are.

use serde::Deserialize;
use std::sync::LazyLock;

/// The texts of one language. `{…}` stands for what is filled in.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Catalogue {
    pub(crate) greeting: String,
    pub(crate) greeting_without_name: String,
    pub(crate) event: String,
    pub(crate) venue: String,
    pub(crate) booking: String,
    pub(crate) contents: String,
    pub(crate) seat: String,
    pub(crate) amount: String,
    pub(crate) fee: String,
    pub(crate) tax: String,
    pub(crate) refund: String,
    pub(crate) why: String,
    pub(crate) ticket: String,
    pub(crate) bring_proof: String,
    pub(crate) tickets_here: String,
    pub(crate) tickets_elsewhere: String,
    pub(crate) open_booking: String,
    pub(crate) open_booking_secret: String,
    /// What follows where money goes back to a bank.
    pub(crate) takes_days: String,
    pub(crate) booking_confirmed: Wording,
    pub(crate) booking_confirmed_late: Wording,
    pub(crate) booking_expired: Wording,
    pub(crate) booking_cancelled: Wording,
    pub(crate) booking_refunded: Wording,
    pub(crate) payment_late_refunded: Wording,
    pub(crate) payment_sent_back: Wording,
}

/// What one kind of mail says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wording {
    pub(crate) subject: String,
    pub(crate) text: String,
}

/// The languages there are; the first one is for everybody else.
static LANGUAGES: LazyLock<Vec<(&str, Catalogue)>> = LazyLock::new(|| {
    [
        ("en", include_str!("texts/en.json")),
        ("th", include_str!("texts/th.json")),
        ("vi", include_str!("texts/vi.json")),
        ("ko", include_str!("texts/ko.json")),
        ("id", include_str!("texts/id.json")),
    ]
    .map(|(language, text)| {
        // They are in the binary, and a test reads all of them.
        (language, serde_json::from_str(text).expect("a catalogue has every text"))
    })
    .into()
});

/// The language that comes closest to a tag such as `th-TH`, and its texts.
pub(crate) fn closest(tag: &str) -> (&'static str, &'static Catalogue) {
    let primary = tag.split(['-', '_']).next().unwrap_or_default();
    let found = LANGUAGES.iter().find(|(language, _)| language.eq_ignore_ascii_case(primary));
    let (language, catalogue) = found.unwrap_or(&LANGUAGES[0]);
    (language, catalogue)
}

/// Fills in each `{name}`. What is filled in is never looked at again, whatever it says.
pub(crate) fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let known = after.split_once('}').and_then(|(name, tail)| {
            let (_, value) = values.iter().find(|(other, _)| *other == name)?;
            Some((value, tail))
        });
        rest = match known {
            Some((value, tail)) => {
                out.push_str(value);
                tail
            }
            None => {
                out.push('{');
                after
            }
        };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_every_text_with_the_same_gaps() {
        assert_eq!(LANGUAGES.len(), 5);
        let gaps = |text: &str| text.matches('{').count();
        for (language, texts) in &*LANGUAGES {
            for (text, count) in [
                (&texts.greeting, 1),
                (&texts.seat, 1),
                (&texts.ticket, 1),
                (&texts.tickets_elsewhere, 1),
                (&texts.bring_proof, 0),
                (&texts.tickets_here, 0),
                (&texts.open_booking_secret, 0),
                (&texts.takes_days, 0),
                (&texts.greeting_without_name, 0),
            ] {
                assert_eq!(gaps(text), count, "{language}: {text}");
            }
            for wording in [
                &texts.booking_confirmed,
                &texts.booking_confirmed_late,
                &texts.booking_expired,
                &texts.booking_cancelled,
                &texts.booking_refunded,
                &texts.payment_late_refunded,
                &texts.payment_sent_back,
            ] {
                assert!(wording.subject.contains("{title}"), "{language}: {}", wording.subject);
                assert_eq!(gaps(&wording.text), 0, "{language}: {}", wording.text);
            }
        }
    }

    #[test]
    fn the_closest_language_is_taken_and_english_for_the_rest() {
        for (tag, language) in
            [("th", "th"), ("th-TH", "th"), ("ID_id", "id"), ("KO", "ko"), ("de", "en"), ("", "en")]
        {
            assert_eq!(closest(tag).0, language, "{tag}");
        }
    }

    #[test]
    fn what_is_filled_in_is_not_filled_in_again() {
        let values = [("name", "{title}"), ("title", "T")];
        assert_eq!(fill("a {name} {title} {other} {", &values), "a {title} T {other} {");
    }
}
