//! Documents that name what the code names: keys of Redis, settings, words of the glossary.
//!
//! Other tests hold docs/errors.md, docs/design/journal.md and docs/design/ledger.md against the
//! code, by running it.

use crate::markdown::{code, quoted, tables};
use crate::repository::{Repository, folder_of, joined};
use crate::tokens::{Token, of_source, text};
use std::collections::{BTreeMap, BTreeSet};

const KEYS_PAGE: &str = "docs/design/redis-keys.md";
const KEYS: &str = "crates/store/src/redis/keys.rs";
const LUA: &str = "crates/store/lua/";
const GLOSSARY: &str = "docs/glossary.md";
const TEMPLATE: &str = "crates/base/src/config/template.toml";
const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// A sentence for each key of an event that only the code or only the document has, and for the
/// first that stands in another place.
#[must_use]
pub fn redis_keys(repository: &Repository) -> Vec<String> {
    let page = repository.text(KEYS_PAGE).unwrap_or_default();
    let source = repository.text(KEYS).unwrap_or_default();
    let tokens = of_source(source).unwrap_or_default();
    let parts: Vec<&str> = tokens
        .iter()
        .skip_while(|token| **token != Token::Word("PARTS".to_owned()))
        .skip_while(|token| **token != Token::Sign('='))
        .take_while(|token| **token != Token::Sign(';'))
        .filter_map(text)
        .collect();
    let drawn: Vec<(usize, &str)> = code(page, "")
        .skip_while(|(_, line)| !line.starts_with("onrush:{"))
        .skip(1)
        .take_while(|(_, line)| line.starts_with("  "))
        .filter_map(|(number, line)| Some((number, line.split_whitespace().next()?)))
        .collect();
    let mut found = Vec::new();
    if parts.is_empty() || drawn.is_empty() {
        found.push(format!(
            "{KEYS_PAGE}: its keys or PARTS of {KEYS} are not found; mend this rule."
        ));
        return found;
    }
    for part in parts.iter().filter(|part| !drawn.iter().any(|(_, name)| name == *part)) {
        found.push(format!("{KEYS_PAGE}: lacks the key {part} of {KEYS}; say what is in it."));
    }
    for (line, name) in drawn.iter().filter(|(_, name)| !parts.contains(name)) {
        found.push(format!("{KEYS_PAGE}:{line}: there is no key {name}; take it out."));
    }
    let moved = parts.iter().zip(&drawn).find(|(part, (_, name))| *part != name);
    if let Some((part, (line, name))) = moved.filter(|_| found.is_empty()) {
        found.push(format!(
            "{KEYS_PAGE}:{line}: scripts are given {part} here, not {name}; draw the keys in their \
             order.",
        ));
    }
    found
}

/// A sentence for each field of `meta` that the scripts use and the document lacks, or the other
/// way round.
#[must_use]
pub fn fields_of_meta(repository: &Repository) -> Vec<String> {
    let page = repository.text(KEYS_PAGE).unwrap_or_default();
    let Some(paragraph) = page.split("\n\n").find(|part| part.starts_with("**meta.**")) else {
        return vec![format!("{KEYS_PAGE}: no paragraph begins with \"**meta.**\"; put it there.")];
    };
    let is_name = |name: &&str| name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let told: BTreeSet<&str> = quoted(paragraph).filter(is_name).collect();
    let mut used: BTreeMap<&str, &str> = BTreeMap::new();
    let mut written = String::new();
    for (path, source) in repository.files() {
        let lua = path.starts_with(LUA) && !path.starts_with("crates/store/lua/kit/");
        if lua {
            for line in source.lines().map(|line| line.split("--").next().unwrap_or_default()) {
                for field in fields(line) {
                    used.entry(field).or_insert(path);
                }
            }
        }
        if lua || (path.starts_with(folder_of(KEYS)) && path.ends_with(".rs")) {
            written.push_str(source);
        }
    }
    let mut found = Vec::new();
    for (field, path) in used.iter().filter(|(field, _)| !told.contains(*field)) {
        found.push(format!(
            "{path}: meta has {field}, and {KEYS_PAGE} does not say so; add it there."
        ));
    }
    for field in told {
        let somewhere = [format!("'{field}'"), format!("\"{field}\"")];
        if !used.contains_key(field) && !somewhere.iter().any(|name| written.contains(name)) {
            found.push(format!(
                "{KEYS_PAGE}: no script and no code has meta's {field}; take it out."
            ));
        }
    }
    found
}

/// The fields that a line of Lua takes of `M`.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("M.").filter_map(|(at, sign)| {
        let alone = !line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let rest = &line[at + sign.len()..];
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_');
        Some(&rest[..end.unwrap_or(rest.len())]).filter(|name| alone && !name.is_empty())
    })
}

/// A sentence for each setting in a document's TOML, and each variable, that the template of the
/// configuration does not have.
#[must_use]
pub fn settings(repository: &Repository) -> Vec<String> {
    let template = repository.text(TEMPLATE).unwrap_or_default();
    let known: BTreeSet<String> = settings_of(template.lines().map(|line| {
        let commented = line.strip_prefix("# ").unwrap_or(line);
        if is_setting(commented) { commented } else { "" }
    }))
    .map(|(_, setting)| setting)
    .collect();
    if known.is_empty() {
        return vec![format!("{TEMPLATE}: it has no settings; mend this rule.")];
    }
    let mut variables: BTreeSet<String> = ["ONRUSH_CONFIG", "ONRUSH_LOG"].map(str::to_owned).into();
    for setting in &known {
        let variable = format!("ONRUSH_{}", setting.to_uppercase().replace('.', "__"));
        variables.insert(format!("{variable}_FILE"));
        variables.insert(variable);
        let (section, key) = setting.rsplit_once('.').unwrap_or(("", setting));
        let section = section.to_uppercase().replace('.', "_");
        variables.insert(format!("ONRUSH_{}", key.to_uppercase()));
        if !section.is_empty() {
            variables.insert(format!("ONRUSH_{section}_{}", key.to_uppercase()));
            variables.insert(format!("ONRUSH_{section}"));
        }
    }
    let mut found = Vec::new();
    let pages = repository.files().filter(|(path, _)| is_for_operators(path));
    for (path, page) in pages {
        let lines: Vec<(usize, &str)> = code(page, "toml").collect();
        // Each block begins without a section.
        for block in lines.chunk_by(|(before, _), (line, _)| before + 1 == *line) {
            for (index, setting) in settings_of(block.iter().map(|(_, line)| *line)) {
                if !known.contains(&setting) {
                    let line = block[index].0;
                    found.push(format!(
                        "{path}:{line}: there is no setting {setting}; name it as `onrush config \
                         --template` does.",
                    ));
                }
            }
        }
        for (index, line) in page.lines().enumerate() {
            for variable in variables_in(line).filter(|name| !variables.contains(&whole(name))) {
                let line = index + 1;
                found.push(format!(
                    "{path}:{line}: no setting has the variable {variable}; name one that is there.",
                ));
            }
        }
    }
    found
}

/// A variable's name as the template has it: without the first of a list's numbers, and for all of
/// librdkafka's options together.
fn whole(name: &str) -> String {
    match name.split_once("__OPTIONS__") {
        Some((kafka, _)) => format!("{kafka}__OPTIONS"),
        None => name.replace("__0__", "__"),
    }
}

/// What was so once may name what is no more, and tests have variables of their own.
fn is_for_operators(path: &str) -> bool {
    let page = path == "README.md" || path.starts_with("docs/") || path.starts_with("deploy/");
    page && path.ends_with(".md") && !path.starts_with("docs/decisions/")
}

/// `[section]`, `[[section]]` or `key = value`.
fn is_setting(line: &str) -> bool {
    let name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c))
    };
    let section = line.trim().trim_start_matches('[').trim_end_matches(']');
    match line.split_once(" = ") {
        Some((key, _)) => name(key),
        None => line.starts_with('[') && name(section),
    }
}

/// Each line's setting with its section, `mail.from`, and the line's place.
fn settings_of<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = (usize, String)> {
    let mut section = String::new();
    lines.enumerate().filter_map(move |(index, line)| {
        let line = line.split(" #").next().unwrap_or_default().trim_end();
        if !is_setting(line) {
            return None;
        }
        let Some((key, _)) = line.split_once(" = ") else {
            section = line.trim_start_matches('[').trim_end_matches(']').to_owned();
            return None;
        };
        let setting = if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") };
        Some((index, setting))
    })
}

/// Whole names that begin with `ONRUSH_`; `ONRUSH_…` and `ONRUSH_<X>` stand for many.
fn variables_in(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("ONRUSH_").filter_map(|(at, sign)| {
        let rest = &line[at..];
        let name_ends = |c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_';
        let name = &rest[..rest.find(name_ends).unwrap_or(rest.len())];
        (name.len() > sign.len() && !name.ends_with('_')).then_some(name)
    })
}

/// A sentence for each word that the glossary explains twice.
#[must_use]
pub fn glossary(repository: &Repository) -> Vec<String> {
    let page = repository.text(GLOSSARY).unwrap_or_default();
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for table in tables(page) {
        for (line, cells) in &table.rows {
            let words = cells.iter().flat_map(|cell| cell.split("**").skip(1).step_by(2));
            for word in words {
                if let Some(before) = first.get(&word.to_lowercase()) {
                    found.push(format!(
                        "{GLOSSARY}:{line}: line {before} explains {word} too; say it once.",
                    ));
                }
                first.entry(word.to_lowercase()).or_insert(*line);
            }
        }
    }
    if first.is_empty() {
        found.push(format!("{GLOSSARY}: it explains no word; mend this rule."));
    }
    found
}

/// A sentence for each file or folder of ARCHITECTURE.md's rooms that is not there.
///
/// A table stands under the heading of its crate, and its head may name a folder of it. `gone.rs`
/// after `waiting_room/draw.rs` stands in the same folder; a star is for what differs.
#[must_use]
pub fn rooms(repository: &Repository) -> Vec<String> {
    let mut found = Vec::new();
    for table in tables(repository.text(ARCHITECTURE).unwrap_or_default()) {
        let name = table.heading.split(':').next().unwrap_or_default();
        let mut base = format!("crates/{name}/src");
        if repository.text(&format!("{base}/lib.rs")).is_none() {
            continue;
        }
        let head = table.head.first().map_or("", String::as_str);
        if let Some(folder) = quoted(head).next() {
            let lua = format!("crates/{name}");
            base = joined(if folder == "lua/" { &lua } else { &base }, folder);
        }
        for (line, cells) in &table.rows {
            let mut folder = base.clone();
            for path in quoted(cells.first().map_or("", String::as_str)) {
                let is_there = |place: &str| {
                    let (start, end) = place.split_once('*').unwrap_or((place, ""));
                    repository.files().any(|(file, _)| {
                        file.starts_with(start)
                            && (file == place
                                || file.ends_with(end) && place.contains('*')
                                || file[start.len()..].starts_with('/'))
                    })
                };
                let place =
                    [joined(&base, path), joined(&folder, path)].into_iter().find(|p| is_there(p));
                match place {
                    Some(place) if path.trim_end_matches('/').contains('/') => {
                        folder = folder_of(&place).to_owned();
                    }
                    Some(_) => {}
                    None => found.push(format!(
                        "{ARCHITECTURE}:{line}: there is no {path} in {base}; say where it is now.",
                    )),
                }
            }
        }
    }
    found
}
