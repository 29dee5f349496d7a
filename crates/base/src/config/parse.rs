//! What is wrong with a configuration file, without what stands in it: a secret may be on any of its lines.

use super::secrets::is_stripes;
use super::template::TEMPLATE;
use super::variables::variable_of;
use serde_path_to_error::{Path, Segment};

/// The sentence for a file that is no configuration: where, and what was expected there.
pub(super) fn complaint(text: &str, error: &toml::de::Error) -> String {
    let place = error.span().map(|span| {
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("line {line}, column {column}: ")
    });
    // One key twice is no TOML; one field twice has been set by both of its names.
    let why = match error.message() {
        "duplicate field `booking_paths`" => {
            "booking_paths: s3_paths is its old name; set one of the two".to_owned()
        }
        message => without_values(message),
    };
    format!("{}{why}", place.unwrap_or_default())
}

/// A place in the file, part by part.
pub(super) fn path_of(path: &Path) -> Vec<String> {
    let part = |segment: &Segment| match segment {
        Segment::Seq { index } => index.to_string(),
        Segment::Map { key } => key.clone(),
        Segment::Enum { variant } => variant.clone(),
        Segment::Unknown => String::new(),
    };
    path.iter().map(part).collect()
}

/// The sentence for what is missing at a place, or wrong there in a way that is not a variable's doing.
pub(super) fn missing(path: &[String], why: &str) -> String {
    let place = path.join(".");
    let begin = if place.is_empty() { String::new() } else { format!("{place}: ") };
    match why.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        Some(field) => {
            let mut path = path.to_vec();
            path.push(field.to_owned());
            format!("{begin}{why}; set it in the file or as {}", variable_of(&path))
        }
        None => format!("{begin}{why}"),
    }
}

/// A message without the values that it repeats. What stands in back quotes is shown if it is a
/// word of the template, a sign, or looks like the name of a setting: a secret does not.
pub(super) fn without_values(message: &str) -> String {
    // Only there a word stands that was written as a name.
    let names = message.starts_with("unknown field");
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find(['"', '`']) {
        let quote = &rest[at..=at];
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest.rfind(quote).filter(|_| quote == "\"").or_else(|| rest.find(quote));
        let Some(end) = end else { break };
        let inner = &rest[..end];
        if quote == "`" && is_harmless(inner, names) {
            out.push('`');
            out.push_str(inner);
            out.push('`');
        } else {
            out.push_str("(what stands there)");
        }
        rest = &rest[end + 1..];
    }
    // After an open quotation everything may belong to a value.
    if !rest.contains(['"', '`']) {
        out.push_str(rest);
    }
    out
}

fn is_harmless(word: &str, names: bool) -> bool {
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let sign = word.len() <= 4 && !word.bytes().any(|byte| byte.is_ascii_alphanumeric());
    let name = names && word.len() <= 24 && word.bytes().all(is_name) && !is_stripes(word);
    let known = TEMPLATE.split(|c: char| !c.is_ascii() || !is_word(c as u8)).any(|it| it == word);
    sign || name || known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_file_that_is_wrong_is_told_without_what_stands_in_it() {
        const SECRET: &str = "sk_live_51Hxyz";
        for (text, said) in [
            ("admin_key = 's'\n[stripe]\nsecret_key = \"SECRET\n", "line 3, column"),
            ("[stripe]\nsecret_key \"SECRET\"\n", "line 2, column"),
            ("[stripe]\nsecret_key = SECRET\n", "line 2, column"),
            ("gateway = \"SECRET\"", "expected one of `none`, `sandbox`, `stripe`"),
            ("guest_tokens = \"SECRET\"", "expected a boolean"),
            ("listen = \"SECRET\"", "line 1"),
            ("SECRET = \"secret_key\"", "unknown field"),
            ("[stripe]\nsecret_key = [\"SECRET\"]", "expected a string"),
            ("lissen = 'SECRET'", "unknown field `lissen`, expected one of `data`"),
        ] {
            let text = text.replace("SECRET", SECRET);
            let error = toml::from_str::<Config>(&text).unwrap_err();
            let why = complaint(&text, &error);
            assert!(!why.contains(SECRET) && !why.contains("51Hxyz"), "{why}");
            assert!(why.contains(said), "{said}: {why}");
        }
        let error = toml::from_str::<Config>("[shop_tokens]\nsecret = 8412\n").unwrap_err();
        assert!(!complaint("", &error).contains("8412"));
    }
}
