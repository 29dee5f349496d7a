//! Leaves out of a script what nothing in it uses.
//!
//! Redis runs a script from its first line each time, so every function of an included part costs
//! its making, called or not: for a hold that was a third of its time. Parts stay whole for their
//! readers, and scripts get what they call. (`library.rs` has functions made once, where it can.)

use std::collections::{HashMap, HashSet};

/// A function or constant of a script's outermost level, or a line of something else.
pub(super) struct Item<'a> {
    /// `None` for what is always run.
    pub(super) name: Option<&'a str>,
    pub(super) lines: Vec<&'a str>,
}

/// A script's included parts and its own lines, without the functions and constants of the outermost
/// level that nothing it runs names.
///
/// These begin at the start of a line, as `local function f(`, `function table.f(` or
/// `local name = `, and end with it or with an `end` or `}` that stands alone at the start of a
/// line.
pub(super) struct Pruned<'a> {
    pub(super) shared: Vec<Item<'a>>,
    pub(super) own: Vec<Item<'a>>,
}

impl<'a> Pruned<'a> {
    pub(super) fn new(shared: &'a str, own: &'a str) -> Self {
        let (mut items, own) = (items(shared), items(own));
        let shared = items.len();
        items.extend(own);
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut next = Vec::new();
        for (position, item) in items.iter().enumerate() {
            match item.name {
                Some(name) => by_name.entry(name).or_default().push(position),
                None => next.push(position),
            }
        }
        let mut used = HashSet::new();
        while let Some(position) = next.pop() {
            if used.insert(position) {
                let names = items[position].lines.iter().flat_map(|line| names(line));
                next.extend(names.filter_map(|name| by_name.get(name)).flatten());
            }
        }
        let mut kept = Self { shared: Vec::new(), own: Vec::new() };
        for (position, item) in items.into_iter().enumerate() {
            if used.contains(&position) {
                let part = if position < shared { &mut kept.shared } else { &mut kept.own };
                part.push(item);
            }
        }
        kept
    }

    /// All of it, as one script.
    pub(super) fn text(&self) -> String {
        text(self.shared.iter().chain(&self.own))
    }
}

/// Items one after the other.
pub(super) fn text<'i, 'a: 'i>(items: impl IntoIterator<Item = &'i Item<'a>>) -> String {
    items.into_iter().flat_map(|item| &item.lines).flat_map(|line| [line, "\n"]).collect()
}

fn items(text: &str) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    while let Some(first) = lines.next() {
        let (name, last) = declared(first);
        let mut item = Item { name, lines: vec![first] };
        while last.is_some_and(|last| item.lines.last() != Some(&last)) {
            item.lines.extend(Some(lines.next().expect("what a script declares has an end")));
        }
        items.push(item);
    }
    items
}

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
    use super::Pruned;

    #[test]
    fn what_nothing_names_is_left_out() {
        let text = "local LIMIT = 5\nlocal OTHER = 6\nlocal t = {}\n\
                    local function inner(n)\n  return 'x'..LIMIT\nend\n\
                    function t.used()\n  return inner(1)\nend\n\
                    function t.unused()\n  return OTHER\nend\n\
                    local TABLE = {\n  1,\n}\n\
                    local function one() return 1 end\n\
                    return t.used()\n";
        let kept = "local LIMIT = 5\nlocal t = {}\n\
                    local function inner(n)\n  return 'x'..LIMIT\nend\n\
                    function t.used()\n  return inner(1)\nend\n\
                    return t.used()\n";
        assert_eq!(Pruned::new("", text).text(), kept);
    }

    #[test]
    fn a_call_at_the_outermost_level_stays() {
        let text = "local function f()\n  return 1\nend\nlocal out = f()\nif out then\n  return out\nend\n";
        assert_eq!(Pruned::new(text, "").text(), text);
    }
}
