//! Lua that nobody runs.
//!
//! Rust takes a script in by the path of its file, or by a name in a macro that puts folder and
//! ending around it; a script takes in another with `--#include name`.

use crate::repository::{Repository, folder_of, joined, name_of};
use crate::tokens::{of_source, text};
use std::collections::BTreeSet;

const ENDING: &str = ".lua";

/// A sentence for each script that no program has.
#[must_use]
pub fn findings(repository: &Repository) -> Vec<String> {
    let mut loaded = BTreeSet::new();
    let mut included = BTreeSet::new();
    for (path, source) in repository.files() {
        if path.ends_with(".rs") && path.contains("/src/") {
            let tokens = of_source(source).unwrap_or_default();
            let texts: Vec<&str> = tokens.iter().filter_map(text).collect();
            let (ends, others): (Vec<&str>, Vec<&str>) =
                texts.into_iter().partition(|text| text.ends_with(ENDING));
            loaded.extend(ends.iter().map(|file| joined(folder_of(path), file)));
            if ends.contains(&ENDING) {
                for folder in others.iter().filter(|text| text.ends_with('/')) {
                    let folder = joined(folder_of(path), folder);
                    loaded.extend(others.iter().map(|name| format!("{folder}/{name}{ENDING}")));
                }
            }
        } else if path.ends_with(ENDING) {
            let names = source.lines().filter_map(|line| line.strip_prefix("--#include "));
            included.extend(names.map(|name| format!("{}{ENDING}", name.trim())));
        }
    }
    let mut found = Vec::new();
    for (path, _) in repository.files().filter(|(path, _)| path.ends_with(ENDING)) {
        if !loaded.contains(path) {
            found.push(format!(
                "{path}: no Rust code takes it in; delete it, or say where it runs."
            ));
        } else if folder_of(path).ends_with("/include")
            && !included.contains(name_of(path))
            && !taken_in_alone(repository, path)
        {
            found.push(format!("{path}: no script includes it; delete it."));
        }
    }
    found
}

/// Whether Rust names the file itself, which then is more than a part of others.
fn taken_in_alone(repository: &Repository, lua: &str) -> bool {
    repository.files().filter(|(path, _)| path.ends_with(".rs")).any(|(path, source)| {
        source.contains(name_of(lua))
            && of_source(source).is_ok_and(|tokens| {
                tokens.iter().filter_map(text).any(|text| joined(folder_of(path), text) == lua)
            })
    })
}
