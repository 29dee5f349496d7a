//! The configuration: a file's text, and below a line `---` variables, one a line. Wherever
//! `SECRET` stands in it, a secret does.

use crate::verdict::{Verdict, assert_sentence};
use onrush_base::config::Config;

const PLACE: &str = "SECRET";
/// It has the form of one of Stripe's, so that it fits where secrets are expected.
const SECRET: &str = "sk_live_51Hxyz0123456789abcdef9876543210";
/// A part of it that no sentence has by chance.
const TELLTALE: &str = "51Hxyz";
const BETWEEN: &str = "\n---\n";

/// Reads file and variables, and checks them as a start does.
///
/// # Panics
/// If an error says nothing, or repeats a secret.
pub fn target(bytes: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(bytes);
    if text.contains(TELLTALE) {
        return Verdict::Refused;
    }
    let (file, variables) = text.split_once(BETWEEN).unwrap_or((&text, ""));
    let with_secrets = |text: &str| text.replace(PLACE, SECRET);
    let by_file = Config::parse(&with_secrets(file));
    match &by_file {
        Ok(config) => config.check().unwrap_or_else(|why| assert_discreet(&why.to_string())),
        Err(why) => assert_discreet(why),
    }
    // Nobody gives a variable a secret for a name.
    let variables = variables.lines().filter_map(|line| line.split_once('='));
    let variables = variables.map(|(name, text)| (name.to_owned(), with_secrets(text)));
    if let Err(why) = Config::load(None, variables) {
        assert_discreet(&why.to_string());
    }
    Verdict::on(&by_file)
}

fn assert_discreet(why: &str) {
    assert_sentence(why);
    assert!(!why.contains(TELLTALE), "a secret is told: {why}");
}
