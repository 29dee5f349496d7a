//! What every script of the kit has in common.

use crate::{kit, scripts, text_of};
use onrush_store::redis::kit::Script;
use std::fs;

pub(crate) fn names() -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(scripts())
        .expect("the kit is here")
        .map(|entry| {
            entry
                .expect("a file")
                .path()
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn crate_has_the_scripts_of_the_folder() {
    let mut known: Vec<_> = Script::ALL.iter().map(|script| script.name().to_owned()).collect();
    known.sort();
    assert_eq!(known, names());
    for script in Script::ALL {
        assert_eq!(script.text(), text_of(script.name()), "{}", script.name());
    }
}

#[test]
fn every_script_says_its_keys_args_reply_and_refusals() {
    for name in names() {
        let text = text_of(&name);
        let header: Vec<_> = text.lines().take_while(|line| line.starts_with("--")).collect();
        for part in ["-- Keys: ", "-- Args: ", "-- Reply: ", "-- Refusals: "] {
            assert!(header.iter().any(|line| line.starts_with(part)), "{name} lacks {part}");
        }
        let says = header[0].strip_prefix("-- ").unwrap_or_default();
        let is_sentence = says.starts_with(char::is_uppercase) && says.contains(' ');
        assert!(is_sentence, "{name} does not begin by what it does");
    }
}

#[test]
fn every_script_is_in_the_document() {
    let document =
        fs::read_to_string(scripts().join("../../../../docs/script-kit.md")).expect("the document");
    for name in names() {
        assert!(document.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn no_script_looks_for_keys() {
    for name in names() {
        let text = text_of(&name).to_uppercase();
        for command in ["'KEYS'", "'SCAN'", "'HGETALL'", "'SMEMBERS'"] {
            assert!(!text.contains(command), "{name} uses {command}");
        }
    }
}

#[test]
fn script_without_its_keys_is_an_error_and_writes_nothing() {
    let Some(mut kit) = kit() else { return };
    for name in names() {
        let error = kit.error(&name, &[], &[]);
        assert!(error.contains(" takes "), "{name}: {error}");
    }
    assert_eq!(kit.redis(&["KEYS", "*"]), [""; 0]);
}
