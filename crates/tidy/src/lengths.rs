//! How long lines and files may be.

use crate::markdown::outside_code;
use crate::repository::Repository;

/// Columns of a line, at most: characters, not bytes.
pub const COLUMNS: usize = 110;
/// Lines of a file, at most.
pub const LINES: usize = 600;
/// What the limits are for, beside Markdown.
const CODE: [&str; 4] = [".rs", ".lua", ".ts", ".svelte"];

fn is_code(path: &str) -> bool {
    CODE.iter().any(|end| path.ends_with(end))
}

/// A sentence for each line of code that is too long.
#[must_use]
pub fn wide_lines(repository: &Repository) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in repository.written().filter(|(path, _)| is_code(path)) {
        for (index, line) in text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > COLUMNS {
                let number = index + 1;
                found.push(format!(
                    "{path}:{number}: {columns} columns, {COLUMNS} may be; break the line.",
                ));
            }
        }
    }
    found
}

/// A sentence for each file of code that is too long.
#[must_use]
pub fn long_files(repository: &Repository) -> Vec<String> {
    let code = repository.written().filter(|(path, _)| is_code(path));
    let lengths = code.map(|(path, text)| (path, text.lines().count()));
    let long = lengths.filter(|(_, lines)| *lines > LINES);
    long.map(|(path, lines)| {
        format!("{path}: {lines} lines, {LINES} may be; divide it by its nouns.")
    })
    .collect()
}

/// A sentence for each line of a document that is too long, without tables, blocks of code and what
/// links lead to.
#[must_use]
pub fn wide_prose(repository: &Repository) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in repository.written().filter(|(path, _)| path.ends_with(".md")) {
        for (number, line) in outside_code(text) {
            let columns = without_addresses(line).chars().count();
            if columns > COLUMNS && !line.trim_start().starts_with('|') {
                found.push(format!(
                    "{path}:{number}: {columns} columns, {COLUMNS} may be; wrap the paragraph at 100.",
                ));
            }
        }
    }
    found
}

/// The line without the addresses of its links.
fn without_addresses(line: &str) -> String {
    let mut left = String::new();
    for (index, part) in line.split("](").enumerate() {
        let shown = if index == 0 {
            part
        } else {
            left.push(']');
            part.split_once(')').map_or("", |(_, after)| after)
        };
        left.push_str(shown);
    }
    let words = left.split(' ').filter(|word| !word.contains("://"));
    words.collect::<Vec<_>>().join(" ")
}
