//! Leaves out of a script what nothing in it uses.
//!
//! Redis runs a script from its first line each time, so every function of an included part costs
//! its making, called or not: for a hold that was a third of its time. Parts stay whole for their
//! readers, and scripts get what they call. (`library.rs` has functions made once, where it can.)

use std::collections::HashMap;
use std::mem;

/// A function or constant of a script's outermost level, or a line of something else.
#[derive(Debug)]
pub(super) struct Item<'a> {
    /// `None` for what is always run.
    pub(super) name: Option<&'a str>,
    pub(super) lines: Vec<&'a str>,
}

/// What scripts share, taken apart once: a node begins with some fifty scripts, and most of each is
/// shared.
#[derive(Debug)]
pub(super) struct Parts<'a> {
    parts: HashMap<&'a str, Vec<Piece<'a>>>,
    items: Vec<Item<'a>>,
    /// Which items each of them names.
    uses: Vec<Vec<usize>>,
    by_name: HashMap<&'a str, Vec<usize>>,
}

/// What a part is made of, in its order.
#[derive(Clone, Copy, Debug)]
enum Piece<'a> {
    Item(usize),
    Include(&'a str),
}

impl<'a> Parts<'a> {
    /// Parts by their names, and their texts.
    pub(super) fn new(texts: &[(&'a str, &'a str)]) -> Self {
        let mut items = Vec::new();
        let parts = texts.iter().map(|&(name, text)| {
            let pieces = lines_of(text).map(|line| match line {
                Line::Include(wanted) => Piece::Include(wanted),
                Line::Item(item) => {
                    items.push(item);
                    Piece::Item(items.len() - 1)
                }
            });
            (name, pieces.collect())
        });
        let parts = parts.collect();
        let by_name = by_name(&items);
        let uses = items.iter().map(|item| named(item, &by_name)).collect();
        Self { parts, items, uses, by_name }
    }

    /// Which items a part has with what it includes, each part once.
    fn include(&self, wanted: &'a str, included: &mut Vec<&'a str>, positions: &mut Vec<usize>) {
        if included.contains(&wanted) {
            return;
        }
        included.push(wanted);
        let pieces = self.parts.get(wanted);
        for piece in pieces.unwrap_or_else(|| panic!("there is no include {wanted}")) {
            match *piece {
                Piece::Item(position) => positions.push(position),
                Piece::Include(wanted) => self.include(wanted, included, positions),
            }
        }
    }
}

/// A script's included parts and its own lines, without the functions and constants of the outermost
/// level that nothing it runs names.
///
/// These begin at the start of a line, as `local function f(`, `function table.f(` or
/// `local name = `, and end with it or with an `end` or `}` that stands alone at the start of a
/// line.
pub(super) struct Pruned<'a> {
    pub(super) shared: Vec<&'a Item<'a>>,
    pub(super) own: Vec<Item<'a>>,
}

impl<'a> Pruned<'a> {
    /// `--#include name` in `text` stands for a part.
    ///
    /// # Panics
    ///
    /// If there is no such part.
    pub(super) fn new(parts: &'a Parts<'a>, text: &'a str) -> Self {
        let (mut included, mut positions, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for line in lines_of(text) {
            match line {
                Line::Include(wanted) => parts.include(wanted, &mut included, &mut positions),
                Line::Item(item) => own.push(item),
            }
        }
        let own_names = by_name(&own);
        let mut own_used = vec![false; own.len()];
        let mut own_next: Vec<_> = (0..own.len()).filter(|at| own[*at].name.is_none()).collect();
        // Only what is included can be used, and it stands before the script: none of it names what
        // the script itself declares.
        let mut unused = vec![false; parts.items.len()];
        positions.iter().for_each(|position| unused[*position] = true);
        let mut next = positions.clone();
        next.retain(|position| parts.items[*position].name.is_none());
        while let Some(position) = own_next.pop() {
            if !mem::replace(&mut own_used[position], true) {
                own_next.extend(named(&own[position], &own_names));
                next.extend(named(&own[position], &parts.by_name));
            }
        }
        while let Some(position) = next.pop() {
            if mem::take(&mut unused[position]) {
                next.extend(&parts.uses[position]);
            }
        }
        positions.retain(|position| !unused[*position]);
        let mut own_used = own_used.into_iter();
        own.retain(|_| own_used.next().expect("each item has an answer"));
        Self { shared: positions.iter().map(|position| &parts.items[*position]).collect(), own }
    }

    /// All of it, as one script.
    pub(super) fn text(&self) -> String {
        text(self.shared.iter().copied().chain(&self.own))
    }
}

/// Items one after the other.
pub(super) fn text<'i, 'a: 'i>(items: impl IntoIterator<Item = &'i Item<'a>>) -> String {
    items.into_iter().flat_map(|item| &item.lines).flat_map(|line| [line, "\n"]).collect()
}

/// Where items with a name stand.
fn by_name<'a>(items: &[Item<'a>]) -> HashMap<&'a str, Vec<usize>> {
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (position, item) in items.iter().enumerate() {
        if let Some(name) = item.name {
            by_name.entry(name).or_default().push(position);
        }
    }
    by_name
}

/// Which of these items one of them names, some of them more than once.
fn named(item: &Item<'_>, by_name: &HashMap<&str, Vec<usize>>) -> Vec<usize> {
    let names = item.lines.iter().flat_map(|line| names(line));
    names.filter_map(|name| by_name.get(name)).flatten().copied().collect()
}

enum Line<'a> {
    Item(Item<'a>),
    Include(&'a str),
}

/// The items and includes of a text, without what is for its readers: Redis keeps and hashes the rest.
fn lines_of(text: &str) -> impl Iterator<Item = Line<'_>> {
    let is_code = |line: &str| {
        let line = line.trim_start();
        !line.is_empty() && (!line.starts_with("--") || line.starts_with(INCLUDE))
    };
    let mut lines = text.lines().filter(move |line| is_code(line));
    std::iter::from_fn(move || {
        let first = lines.next()?;
        if let Some(wanted) = first.strip_prefix(INCLUDE) {
            return Some(Line::Include(wanted.trim()));
        }
        let (name, last) = declared(first);
        let mut item = Item { name, lines: vec![first] };
        while last.is_some_and(|last| item.lines.last() != Some(&last)) {
            item.lines.extend(Some(lines.next().expect("what a script declares has an end")));
        }
        Some(Line::Item(item))
    })
}

const INCLUDE: &str = "--#include ";

/// The name that a line declares, and the line that ends the declaration if there are more.
fn declared(line: &str) -> (Option<&str>, Option<&'static str>) {
    let function = line.strip_prefix("local function ").or_else(|| line.strip_prefix("function "));
    if let Some((name, _)) = function.and_then(|rest| rest.split_once('(')) {
        return (Some(name), (!line.ends_with(" end")).then_some("end"));
    }
    match line.strip_prefix("local ").and_then(|rest| rest.split_once(" = ")) {
        Some((name, "{")) => (Some(name), Some("}")),
        // What is made by a call may do more than be there, and several at once are no matter.
        Some((name, value)) if !value.contains('(') && !name.contains(',') => (Some(name), None),
        Some(_) | None => (None, None),
    }
}

/// All names in a line: of `users.get` both the table and the function in it.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let words = line.split("..").flat_map(move |part| part.split(move |c| !is_part(c)));
    words.flat_map(|word| [word, word.split('.').next().unwrap_or(word)])
}

#[cfg(test)]
mod tests {
    use super::{Parts, Pruned};

    const USED: &str = "local function inner(n)\n  return 'x'..LIMIT\nend\n\
                        function t.used()\n  return inner(1)\nend\n";
    const UNUSED: &str = "function t.unused()\n  return OTHER\nend\n\
                          local TABLE = {\n  1,\n}\n\
                          local function one() return 1 end\n";

    #[test]
    fn what_nothing_names_is_left_out() {
        let text = format!(
            "local LIMIT = 5\nlocal OTHER = 6\nlocal t = {{}}\n{USED}{UNUSED}return t.used()\n"
        );
        let kept = format!("local LIMIT = 5\nlocal t = {{}}\n{USED}return t.used()\n");
        assert_eq!(Pruned::new(&Parts::new(&[]), &text).text(), kept);
    }

    #[test]
    fn parts_stand_before_the_script_once_and_without_what_it_does_not_use() {
        let first = format!("-- For readers.\nlocal t = {{}}\n--#include limits\n{USED}{UNUSED}");
        let limits = "local LIMIT = 5\nlocal OTHER = 6\n";
        // One that is not included, with a function of the same name, has no say.
        let other = "function t.used()\n  return OTHER\nend\n";
        let parts = [("first", &*first), ("limits", limits), ("other", other)];
        let text = "--#include first\n\n  -- Why.\nreturn t.used()\n--#include limits\n";
        let kept = format!("local t = {{}}\nlocal LIMIT = 5\n{USED}return t.used()\n");
        assert_eq!(Pruned::new(&Parts::new(&parts), text).text(), kept);
    }

    #[test]
    fn a_call_at_the_outermost_level_stays() {
        let text = "local function f()\n  return 1\nend\nlocal out = f()\nif out then\n  return out\nend\n";
        let parts = Parts::new(&[("part", text)]);
        assert_eq!(Pruned::new(&parts, text).text(), text);
        assert_eq!(Pruned::new(&parts, "--#include part\n").text(), text);
    }
}
