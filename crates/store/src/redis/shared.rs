//! What Rust and Lua share, rendered as Lua: limits, the order of keys, stored records.
//!
//! The text is kept in `lua/include/shared.lua`, which every script begins with; `prune.rs` leaves
//! out what a script does not use. The test here fails when the file is stale, and writes it anew
//! with `ONRUSH_WRITE_GOLDEN=1`.

use super::keys::PARTS;
use super::layout::{FIRST_SCORE_MS, NUMBER_DIGITS};
use super::records::{Kind, RECORDS, Record};
use onrush_core::{limits, score};
use onrush_testkit::golden;
use std::fmt::{Arguments, Write};

const HEAD: &str = "\
-- What Rust and Lua share. Generated: change the Rust it names, then run the store's tests with
-- ONRUSH_WRITE_GOLDEN=1 (crates/store/src/redis/shared.rs).
--
--   K                   the event's keys (keys.rs); KEYS[FIRST_STREAM] and on: streams of places
--   limits              under their names (core/src/limits.rs)
--   SCORE_…             composite scores (core/src/score.rs, layout.rs)
--   NUMBER              how a place's number is written in a member of the line (layout.rs)
--   read_pool(id, text), pool_text(pool), …
--                       a record from its text and back (records.rs); a writer's `tail` is the last
--                       field, '' to leave it out
";

/// How long a line may be.
const MAX_WIDTH: usize = 100;

/// The limits that scripts check, by their names.
macro_rules! limits {
    ($($name:ident),+ $(,)?) => {
        [$((stringify!($name), limits::$name.to_string())),+]
    };
}

fn rendered() -> String {
    let mut lua = HEAD.to_owned();
    lua.push_str("\nlocal K = {\n");
    for (part, position) in PARTS.iter().zip(1..) {
        line(&mut lua, format_args!("  {part} = KEYS[{position}],"));
    }
    lua.push_str("}\n");
    line(&mut lua, format_args!("local FIRST_STREAM = {}\n", PARTS.len() + 1));
    let limits = limits![
        MAX_POOLS_PER_EVENT,
        MAX_SEATS_PER_EVENT,
        MAX_CATEGORIES_PER_EVENT,
        MAX_CHANNELS_PER_EVENT,
        MAX_PLACES_EVER,
        SEEN_INTERVAL_MS,
        MIN_CUT_PLACE_TTL_MS,
        ENDED_KNOWN_MS,
        MAX_ENDED_PER_USER,
        MAX_BANS_PER_EVENT,
        MAX_GONE_PLACES,
        AFTER_FAILED_PAYMENT_MS,
        MAX_BEST_QUANTITY,
        MAX_SEATS_PER_SEGMENT,
        MAX_SEAT_RANK,
    ];
    for (name, limit) in limits {
        line(&mut lua, format_args!("local {name} = {limit}"));
    }
    lua.push('\n');
    let scores = [
        ("EPOCH_MS", score::EPOCH_MS),
        ("COUNTER", 1 << score::COUNTER_BITS),
        ("FIRST_MS", FIRST_SCORE_MS),
        ("LAST_MS", i64::try_from(score::MAX_MS).expect("it has 39 bits")),
    ];
    for (name, number) in scores {
        line(&mut lua, format_args!("local SCORE_{name} = {number}"));
    }
    lua.push('\n');
    line(&mut lua, format_args!("local NUMBER = '%0{NUMBER_DIGITS}.0f'"));
    line(&mut lua, format_args!("local NUMBER_DIGITS = {NUMBER_DIGITS}"));
    for record in RECORDS {
        lua.push('\n');
        read_function(&mut lua, record);
        lua.push('\n');
        text_function(&mut lua, record);
    }
    lua
}

fn line(lua: &mut String, text: Arguments<'_>) {
    writeln!(lua, "{text}").expect("memory can be written to");
}

/// `read_pool(id, text)`: the record as a table.
fn read_function(lua: &mut String, record: &Record) {
    let Record { name, key, between, fields } = record;
    let pattern: Vec<String> = fields.iter().map(|(_, kind)| pattern(*kind, *between)).collect();
    let mut pattern = pattern.join(&between.to_string());
    if let Some((_, Kind::Tail)) = fields.last() {
        let tail = pattern.rfind(*between).expect("a tail is not alone");
        pattern.insert(tail + 1, '?');
    }
    let names: Vec<String> = fields.iter().map(|(field, _)| (*field).to_owned()).collect();
    let values = fields.iter().map(|(field, kind)| match kind {
        Kind::Number | Kind::NumberOrNone => format!("{field} = tonumber({field})"),
        Kind::Word | Kind::Text | Kind::Digits | Kind::Rest | Kind::Tail => {
            format!("{field} = {field}")
        }
    });
    let key_value = key.map(|key| format!("{key} = {key}"));
    let values: Vec<String> = key_value.into_iter().chain(values).collect();
    let key = key.map(|key| format!("{key}, ")).unwrap_or_default();
    line(lua, format_args!("local function read_{name}({key}text)"));
    line(lua, format_args!("{} = string.match(text,", list("  local ", &names)));
    line(lua, format_args!("    '^{pattern}$')"));
    lua.push_str("  return {\n");
    line(lua, format_args!("{},", list("    ", &values)));
    lua.push_str("  }\nend\n");
}

/// `pool_text(pool)`: the text of a table.
fn text_function(lua: &mut String, record: &Record) {
    let Record { name, between, .. } = record;
    let (fields, has_tail) = match record.fields {
        [fields @ .., (_, Kind::Tail)] => (fields, true),
        fields => (fields, false),
    };
    let is_plain = |kind: &Kind| matches!(kind, Kind::Number | Kind::Word);
    let begin = if has_tail { "  local text = " } else { "  return " };
    let text = if fields.iter().all(|(_, kind)| is_plain(kind)) {
        // One call for all of them costs less than one each.
        let format: Vec<&str> =
            fields.iter().map(|(_, kind)| if *kind == Kind::Word { "%s" } else { "%d" }).collect();
        let format = format.join(&between.to_string());
        let values: Vec<String> =
            fields.iter().map(|(field, _)| format!("{name}.{field}")).collect();
        format!("{begin}string.format('{format}',\n{})", list("    ", &values))
    } else {
        let mut values: Vec<String> = Vec::new();
        for (field, kind) in fields {
            let value = match kind {
                Kind::Number => format!("int({name}.{field})"),
                Kind::NumberOrNone => format!("({name}.{field} and int({name}.{field}) or '')"),
                Kind::Word | Kind::Text | Kind::Digits | Kind::Rest | Kind::Tail => {
                    format!("{name}.{field}")
                }
            };
            let is_first = values.is_empty();
            values.push(if is_first { value } else { format!("'{between}' .. {value}") });
        }
        wrapped(begin, &values, " .. ", "\n    .. ")
    };
    let tail = if has_tail { ", tail" } else { "" };
    line(lua, format_args!("local function {name}_text({name}{tail})"));
    line(lua, format_args!("{text}"));
    if has_tail {
        line(lua, format_args!("  return tail == '' and text or text .. '{between}' .. tail"));
    }
    lua.push_str("end\n");
}

fn pattern(kind: Kind, between: char) -> String {
    match kind {
        Kind::Word => "(%a+)".to_owned(),
        Kind::Text => format!("([^{between}]*)"),
        Kind::Digits => "(%d+)".to_owned(),
        Kind::Number => "(%-?%d+)".to_owned(),
        Kind::NumberOrNone => "(%-?%d*)".to_owned(),
        Kind::Rest | Kind::Tail => "(.*)".to_owned(),
    }
}

/// The words after `begin`, with commas.
fn list(begin: &str, words: &[String]) -> String {
    wrapped(begin, words, ", ", ",\n    ")
}

/// The words after `begin`, with `between` them, or with `turn` where a line would be too long.
fn wrapped(begin: &str, words: &[String], between: &str, turn: &str) -> String {
    let mut text = begin.to_owned();
    let mut length = begin.len();
    for (position, word) in words.iter().enumerate() {
        if position == 0 {
            text.push_str(word);
        } else if length + between.len() + word.len() < MAX_WIDTH {
            text.push_str(between);
            text.push_str(word);
            length += between.len();
        } else {
            text.push_str(turn);
            text.push_str(word);
            length = turn.len();
        }
        length += word.len();
    }
    text
}

#[test]
fn lua_has_what_rust_has() {
    golden(concat!(env!("CARGO_MANIFEST_DIR"), "/lua/include/shared.lua"), &rendered());
}
