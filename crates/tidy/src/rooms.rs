//! Which room may import which within the crates that have several: the table of ARCHITECTURE.md,
//! "Who imports whom", and the code have the same arrows.
//!
//! A room is a folder or file directly in the `src` of such a crate. The rows stand from the top to
//! the ground: a room imports only rooms that stand below it.

use crate::imports::{self, Arrows};
use crate::markdown::{quoted, tables};
use crate::repository::Repository;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Where the table is.
pub const PAGE: &str = "ARCHITECTURE.md";
/// The table's heading.
pub const HEADING: &str = "Who imports whom";
/// Where the rooms are.
const ROOMED: [&str; 2] = ["crates/api/src/", "crates/base/src/"];

/// For each room the rooms that it imports, each with a file that does.
pub type Rooms = BTreeMap<String, BTreeMap<String, String>>;

/// The rooms and their arrows, as the code has them.
#[must_use]
pub fn in_code(arrows: &Arrows) -> Rooms {
    let mut rooms = Rooms::new();
    for (file, imported) in arrows {
        let Some(from) = room_of(file) else { continue };
        let room = rooms.entry(from.to_owned()).or_default();
        for to in imported.iter().filter_map(|file| room_of(file)).filter(|to| *to != from) {
            room.entry(to.to_owned()).or_insert_with(|| file.clone());
        }
    }
    rooms
}

/// The room of a file; the crate's root is in none.
fn room_of(file: &str) -> Option<&str> {
    let below = ROOMED.iter().find_map(|crate_of| file.strip_prefix(crate_of))?;
    let room = below.split('/').next()?;
    let room = room.strip_suffix(".rs").unwrap_or(room);
    (room != "lib").then_some(room)
}

/// A sentence for each arrow that only one side has, or that leads upwards.
#[must_use]
pub fn findings(repository: &Repository) -> Vec<String> {
    let (arrows, mut found) = imports::of(repository);
    let rooms = in_code(&arrows);
    let page = repository.text(PAGE).unwrap_or_default();
    let Some(table) = tables(page).into_iter().find(|table| table.heading == HEADING) else {
        found.push(format!(
            "{PAGE}: there is no table under \"{HEADING}\"; `cargo run -p tidy --example rooms` prints it.",
        ));
        return found;
    };
    let name = |cell: &str| {
        quoted(cell)
            .next()
            .map(|name| name.trim_end_matches('/').trim_end_matches(".rs").to_owned())
    };
    let rows: Vec<(usize, String, BTreeSet<String>)> = table
        .rows
        .iter()
        .filter_map(|(line, cells)| {
            let says = cells.get(1).map_or("", String::as_str).split(',').map(str::trim);
            let says = says.filter(|says| !says.is_empty() && *says != "–").map(str::to_owned);
            Some((*line, name(cells.first()?)?, says.collect()))
        })
        .collect();
    let places: BTreeMap<&str, usize> =
        rows.iter().enumerate().map(|(place, (_, room, _))| (room.as_str(), place)).collect();
    for (place, (line, room, says)) in rows.iter().enumerate() {
        if places[room.as_str()] != place {
            found.push(format!("{PAGE}:{line}: {room} has two rows; make them one."));
        }
        let Some(imported) = rooms.get(room) else {
            found.push(format!("{PAGE}:{line}: there is no room {room}; take its row out."));
            continue;
        };
        for (to, file) in imported.iter().filter(|(to, _)| !says.contains(*to)) {
            found.push(format!(
                "{file}: {room} imports {to}, which {PAGE} does not allow (\"{HEADING}\"); turn the \
                 import round, or say there why it may be.",
            ));
        }
        for to in says {
            if !imported.contains_key(to) {
                found.push(format!("{PAGE}:{line}: {room} does not import {to}; take it out."));
            } else if places.get(to.as_str()).is_some_and(|below| *below < place) {
                found.push(format!(
                    "{PAGE}:{line}: {room} imports {to}, which stands above it; turn the import \
                     round, or move the row.",
                ));
            }
        }
    }
    for room in rooms.keys().filter(|room| !places.contains_key(room.as_str())) {
        found.push(format!("{PAGE}: the table under \"{HEADING}\" lacks {room}; give it a row."));
    }
    found
}

/// The table as the code has it today: each room above those that it imports, as far as that can
/// be.
#[must_use]
pub fn table(repository: &Repository) -> String {
    let (arrows, _) = imports::of(repository);
    let rooms = in_code(&arrows);
    let is_folder = |room: &str| {
        ROOMED.iter().any(|crate_of| {
            let inside = format!("{crate_of}{room}/");
            arrows.keys().any(|file| file.starts_with(&inside))
        })
    };
    let mut left: BTreeSet<&str> = rooms.keys().map(String::as_str).collect();
    let mut printed = String::from("| room | imports |\n|---|---|\n");
    while !left.is_empty() {
        // Whom nobody imports who is left; where there is none, the first of those in the circle
        // that is imported least.
        let importers =
            |room: &str| left.iter().filter(|from| rooms[**from].contains_key(room)).count();
        let Some(next) = left.iter().copied().min_by_key(|room| importers(room)) else { break };
        left.remove(next);
        let imported: Vec<&str> = rooms[next].keys().map(String::as_str).collect();
        let imported = if imported.is_empty() { "–".to_owned() } else { imported.join(", ") };
        let end = if is_folder(next) { "/" } else { ".rs" };
        let _ = writeln!(printed, "| `{next}{end}` | {imported} |");
    }
    printed
}
