//! Examples in documentation are tests; a crate without any says so, as finding none takes seconds.

use crate::repository::Repository;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// What a fence says that is not Rust to be run.
const NO_TESTS: [&str; 2] = ["text", "ignore"];

/// A sentence for each library that switches its examples off though it has some, or on without any.
#[must_use]
pub fn findings(repository: &Repository) -> Vec<String> {
    let mut examples: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for (path, text) in repository.files() {
        let Some((name, file)) =
            path.strip_prefix("crates/").and_then(|rest| rest.split_once("/src/"))
        else {
            continue;
        };
        let of_crate = examples.entry(name).or_default();
        if file.ends_with(".rs") && of_crate.is_none() {
            *of_crate = example(text).map(|line| format!("{path}:{line}"));
        }
    }
    let sentence = |(name, example): (&str, Option<String>)| {
        repository.text(&format!("crates/{name}/src/lib.rs"))?;
        let manifest = format!("crates/{name}/Cargo.toml");
        match (example, runs(repository.text(&manifest)?)) {
            (Some(place), false) => Some(format!(
                "{place}: the example is not run; take `doctest = false` out of {manifest}.",
            )),
            (None, true) => Some(format!(
                "{manifest}: there are no examples to run; say `doctest = false` under `[lib]`.",
            )),
            (Some(_), true) | (None, false) => None,
        }
    };
    examples.into_iter().filter_map(sentence).collect()
}

/// Whether the examples of this library are run.
fn runs(manifest: &str) -> bool {
    let manifest: Table = manifest.parse().unwrap_or_default();
    let said = manifest.get("lib").and_then(|lib| lib.get("doctest"));
    said.and_then(Value::as_bool).unwrap_or(true)
}

/// The line of the first example.
fn example(text: &str) -> Option<usize> {
    let comments = text.lines().zip(1..).filter_map(|(line, number)| {
        let line = line.trim_start();
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
        Some((comment.trim().strip_prefix("```")?, number))
    });
    // Every other fence ends what the one before began.
    let mut begins = comments.step_by(2);
    begins.find(|(says, _)| !NO_TESTS.contains(says)).map(|(_, number)| number)
}
