//! Which crate of the workspace may import which: the table of ARCHITECTURE.md, "Crates", and the
//! manifests have the same arrows.

use crate::markdown::{quoted, tables};
use crate::repository::Repository;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// Where the table is.
pub const PAGE: &str = "ARCHITECTURE.md";
/// The table's heading.
pub const HEADING: &str = "Crates";
/// Its columns of arrows, by when they hold.
const COLUMNS: [&str; 3] = ["imports", "with a feature also", "in tests also"];

/// Features that may bring crates: many processes; servers to throw away; whole servers simulated.
const FEATURES: [&str; 3] = ["cluster", "servers", "whole"];

/// For each crate, by its folder's name, what each column has.
pub type Crates = BTreeMap<String, [BTreeSet<String>; 3]>;

/// A sentence for each arrow that only one side has.
#[must_use]
pub fn findings(repository: &Repository) -> Vec<String> {
    let (code, mut found) = in_manifests(repository);
    let page = repository.text(PAGE).unwrap_or_default();
    let table = tables(page).into_iter().find(|table| {
        table.heading == HEADING && COLUMNS.iter().all(|name| table.head.iter().any(|h| h == name))
    });
    let Some(table) = table else {
        found.push(format!(
            "{PAGE}: there is no table under \"{HEADING}\" with the columns {}; put it there.",
            COLUMNS.join(", "),
        ));
        return found;
    };
    let column = |name: &str| table.head.iter().position(|head| head == name).unwrap_or_default();
    let mut told = BTreeSet::new();
    for (line, cells) in &table.rows {
        let Some(name) = cells.first().and_then(|cell| quoted(cell).next()) else { continue };
        let name = name.trim_start_matches("crates/").trim_end_matches('/');
        told.insert(name.to_owned());
        let Some(arrows) = code.get(name) else {
            found.push(format!("{PAGE}:{line}: there is no crate {name}; take its row out."));
            continue;
        };
        for (kind, have) in COLUMNS.iter().zip(arrows) {
            let cell = cells.get(column(kind)).map_or("", String::as_str);
            let says: BTreeSet<String> = words(cell);
            for only in have.difference(&says) {
                found.push(format!(
                    "crates/{name}/Cargo.toml: {only} is a dependency that {PAGE} does not allow \
                     ({HEADING}, \"{kind}\"); take it out, or say there why it may be.",
                ));
            }
            for only in says.difference(have) {
                found.push(format!(
                    "{PAGE}:{line}: {name} does not depend on {only} (\"{kind}\"); take it out.",
                ));
            }
        }
    }
    for name in code.keys().filter(|name| !told.contains(*name)) {
        found.push(format!("{PAGE}: the table under \"{HEADING}\" lacks {name}; give it a row."));
    }
    found
}

/// The names in a cell; `–` is none.
fn words(cell: &str) -> BTreeSet<String> {
    let names = cell.split(',').map(|name| name.trim().trim_matches('`').to_owned());
    names.filter(|name| !name.is_empty() && name != "–").collect()
}

/// What the manifests say, and those that cannot be read.
#[must_use]
pub fn in_manifests(repository: &Repository) -> (Crates, Vec<String>) {
    let mut found = Vec::new();
    let mut manifests: BTreeMap<String, (String, Table)> = BTreeMap::new();
    for (path, text) in repository.files() {
        let folder = path.strip_prefix("crates/").and_then(|path| path.strip_suffix("/Cargo.toml"));
        let Some(folder) = folder else { continue };
        match text.parse::<Table>() {
            Ok(manifest) => {
                let name = manifest["package"]["name"].as_str().unwrap_or(folder).to_owned();
                manifests.insert(name, (folder.to_owned(), manifest));
            }
            Err(error) => found.push(format!("{path}: no TOML ({error}); mend it.")),
        }
    }
    let mut crates = Crates::new();
    for (folder, manifest) in manifests.values() {
        let mut arrows: [BTreeSet<String>; 3] = Default::default();
        for (section, tests) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let Some(section) = manifest.get(section).and_then(Value::as_table) else { continue };
            for (name, how) in section {
                let name = how.get("package").and_then(Value::as_str).unwrap_or(name);
                let Some((to, _)) = manifests.get(name).filter(|(to, _)| to != folder) else {
                    continue;
                };
                let optional = how.get("optional").and_then(Value::as_bool) == Some(true);
                let kind = if tests { 2 } else { usize::from(optional) };
                arrows[kind].insert(to.clone());
                if optional && !FEATURES.iter().any(|feature| enabled_by(manifest, name, feature)) {
                    found.push(format!(
                        "crates/{folder}/Cargo.toml: {to} comes with another feature than \
                         {}; let one of these bring it, or say here that it may.",
                        FEATURES.join(" and "),
                    ));
                }
            }
        }
        crates.insert(folder.clone(), arrows);
    }
    (crates, found)
}

/// Whether a feature, and no other, brings an optional dependency.
fn enabled_by(manifest: &Table, dependency: &str, feature: &str) -> bool {
    let Some(features) = manifest.get("features").and_then(Value::as_table) else { return false };
    let wanted = format!("dep:{dependency}");
    features.iter().all(|(name, parts)| {
        let brings = parts
            .as_array()
            .is_some_and(|parts| parts.iter().any(|part| part.as_str() == Some(&wanted)));
        brings == (name == feature)
    })
}
