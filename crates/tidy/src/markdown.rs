//! What the documents say: their tables, and their blocks of code.

/// One table under its heading.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    /// The heading that it stands under, without its `#`.
    pub heading: String,
    /// The cells of its first row.
    pub head: Vec<String>,
    /// The cells of the others, each with the number of its line, from 1.
    pub rows: Vec<(usize, Vec<String>)>,
}

/// All tables of a page; a row of dashes under the first is no row.
#[must_use]
pub fn tables(page: &str) -> Vec<Table> {
    let mut found: Vec<Table> = Vec::new();
    let (mut heading, mut open) = (String::new(), false);
    for (number, line) in outside_code(page) {
        if let Some(title) = line.strip_prefix('#') {
            heading = title.trim_start_matches('#').trim().to_owned();
        }
        let Some(cells) = cells(line) else {
            open = false;
            continue;
        };
        if !open {
            found.push(Table { heading: heading.clone(), head: cells, rows: Vec::new() });
            open = true;
        } else if !cells
            .iter()
            .all(|cell| !cell.is_empty() && cell.chars().all(|c| "-:".contains(c)))
            && let Some(table) = found.last_mut()
        {
            table.rows.push((number, cells));
        }
    }
    found
}

/// The cells of a row, with `\|` for a bar in one of them.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let inner = inner.replace("\\|", "\u{0}");
    Some(inner.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect())
}

/// The lines that are not in a block of code, with their numbers from 1.
pub fn outside_code(page: &str) -> impl Iterator<Item = (usize, &str)> {
    lines(page).filter(|(_, _, block)| block.is_none()).map(|(number, line, _)| (number, line))
}

/// The lines of all blocks of code in a language, with their numbers from 1.
pub fn code<'a>(page: &'a str, language: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    lines(page)
        .filter(move |(_, line, block)| *block == Some(language) && !is_fence(line))
        .map(|(number, line, _)| (number, line))
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// Each line with the language of the block it is in; fences belong to their block.
fn lines(page: &str) -> impl Iterator<Item = (usize, &str, Option<&str>)> {
    let mut block: Option<&str> = None;
    page.lines().enumerate().map(move |(index, line)| {
        let mut belongs = block;
        if is_fence(line) {
            block = match block {
                Some(_) => None,
                None => Some(line.trim_start().trim_start_matches('`').trim()),
            };
            belongs = belongs.or(block);
        }
        (index + 1, line, belongs)
    })
}

/// The words between backticks.
pub fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
