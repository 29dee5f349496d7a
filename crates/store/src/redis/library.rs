//! A script as a function of a library, which Redis keeps: what it includes is made once and not at
//! each call, which is a quarter of the time of a hold.
//!
//! ```text
//! local KEYS, ARGV                  what each call is given
//! local now, seq                    what a script begins with stands here without its value,
//! local function f(…) … end         functions and constants as they are,
//! local function begin() … end      the values, assigned anew at each call,
//! local function run() … end        and the script's own lines
//! redis.register_function{…}
//! ```
//!
//! What a script leaves behind would be there for the next: whatever is no function, no constant and
//! no table of functions is begun anew. Constants are never changed.

use super::prune::{Item, Pruned, text};
use redis::Script as Hashed;
use std::fmt::Write;

/// A library of one function, which has its name.
#[derive(Debug)]
pub(super) struct Library {
    pub(super) name: String,
    pub(super) text: String,
}

/// What Redis lets a script do when it has no memory left. While it takes no writes at all, as where
/// too few replicas follow it (`hindrance.rs`), it does nothing but what only reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// It only reads, which is always done.
    Reads,
    /// It needs no space to begin anything, and is always done.
    GoesOn,
    /// It begins something that needs space, which is refused.
    Begins,
}

impl Leave {
    fn flags(self) -> &'static str {
        match self {
            Self::Reads => "'no-writes'",
            Self::GoesOn => "'allow-oom'",
            Self::Begins => "",
        }
    }

    /// How the text of a script begins that is called without a function. Without this line Redis would
    /// have a script begin, and refuse it in its midst.
    pub(super) fn first_line(self) -> &'static str {
        match self {
            Self::Reads => "#!lua flags=no-writes\n",
            Self::GoesOn => "#!lua flags=allow-oom\n",
            Self::Begins => "#!lua\n",
        }
    }
}

impl Library {
    pub(super) fn new(script: &Pruned<'_>, leave: Leave) -> Self {
        let (mut made, mut begun) = (String::new(), String::new());
        for item in &script.shared {
            match state(item, &script.shared) {
                Some((names, values)) => {
                    if !names.is_empty() {
                        writeln!(made, "local {names}").expect("memory can be written to");
                    }
                    begun.push_str(&values);
                }
                None => made.push_str(&text([*item])),
            }
        }
        let own = text(&script.own);
        let flags = leave.flags();
        let body = format!(
            "local KEYS, ARGV\n{made}local function begin()\n{begun}end\n\
             local function run()\n{own}end\n\
             local function call(keys, args)\n  KEYS, ARGV = keys, args\n  begin()\n  return run()\nend\n"
        );
        let name = format!("onrush_{}", Hashed::new(&format!("{flags}{body}")).get_hash());
        let text = format!(
            "#!lua name={name}\n{body}redis.register_function{{function_name='{name}', callback=call, \
             flags={{{flags}}}}}\n"
        );
        Self { name, text }
    }
}

/// The names that an item declares, and what gives them their values, if that is done at each call;
/// no names if it declares none.
fn state(item: &Item<'_>, among: &[&Item<'_>]) -> Option<(String, String)> {
    let first = item.lines.first().expect("an item has a line");
    if first.starts_with("local function ") || first.starts_with("function ") {
        return None;
    }
    let Some(declared) = first.strip_prefix("local ") else {
        return Some((String::new(), text([item])));
    };
    let (names, value) = declared.split_once(" = ").expect("a local has a value");
    if value == "{}" && has_functions(names, among) {
        return None;
    }
    let is_constant = names.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let lines = || item.lines.iter().flat_map(|line| line.split(|c: char| !is_of_name(c)));
    if is_constant && !lines().any(|word| ["KEYS", "ARGV", "K", "M"].contains(&word)) {
        return None;
    }
    let values = text([item]).strip_prefix("local ").expect("it is a local").to_owned();
    Some((names.to_owned(), values))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether there are functions in this table.
fn has_functions(table: &str, among: &[&Item<'_>]) -> bool {
    let of_table = |name: &str| name.split_once('.').is_some_and(|(of, _)| of == table);
    among.iter().filter_map(|item| item.name).any(of_table)
}

#[cfg(test)]
mod tests {
    use super::super::prune::Parts;
    use super::*;

    #[test]
    fn what_a_call_begins_with_is_begun_anew() {
        let shared = "local K = {\n  meta = KEYS[1],\n}\nlocal LIMIT = 5\nlocal now, seq = 0, 0\n\
                      local users = {}\nlocal seen = {}\nlocal EVENT = string.match(K.meta, 'x')\n\
                      function users.get(u)\n  seen[u] = now + seq + LIMIT\n  return EVENT\nend\n\
                      users.moved = false\n";
        let parts = Parts::new(&[("part", shared)]);
        let script = Pruned::new(&parts, "--#include part\nreturn users.get(ARGV[1])\n");
        let library = Library::new(&script, Leave::GoesOn);
        let name = &library.name;
        let wanted = format!(
            "#!lua name={name}\nlocal KEYS, ARGV\nlocal K\nlocal LIMIT = 5\nlocal now, seq\n\
             local users = {{}}\nlocal seen\nlocal EVENT\n\
             function users.get(u)\n  seen[u] = now + seq + LIMIT\n  return EVENT\nend\n\
             local function begin()\nK = {{\n  meta = KEYS[1],\n}}\nnow, seq = 0, 0\nseen = {{}}\n\
             EVENT = string.match(K.meta, 'x')\nusers.moved = false\nend\n\
             local function run()\nreturn users.get(ARGV[1])\nend\n\
             local function call(keys, args)\n  KEYS, ARGV = keys, args\n  begin()\n  return run()\nend\n\
             redis.register_function{{function_name='{name}', callback=call, flags={{'allow-oom'}}}}\n"
        );
        assert_eq!(library.text, wanted);
    }
}
