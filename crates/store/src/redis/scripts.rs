//! The Lua scripts: their texts with what they include, and their SHA-1.

use super::library::{Leave, Library};
use super::prune::{Parts, Pruned};
use onrush_core::Command;
use redis::Script as Hashed;
use std::sync::{LazyLock, OnceLock};

/// One script.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) name: &'static str,
    pub(super) text: String,
    pub(super) sha: String,
    /// The same as a function; `None` if it is called by its text alone.
    pub(super) library: Option<Library>,
    /// The same script, telling its writes instead of making them.
    telling: OnceLock<Box<Self>>,
}

macro_rules! includes {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../lua/include/", $name, ".lua")))),+]
    };
}

macro_rules! scripts {
    ($($name:ident = $path:literal;)+) => {
        $(pub(super) static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new($path, include_str!(concat!("../../lua/", $path, ".lua")))
        });)+

        /// All of them.
        pub(super) fn all() -> Vec<&'static Script> {
            vec![$(LazyLock::force(&$name)),+]
        }
    };
}

/// The parts that scripts share: `--#include name` is replaced by the part, the first time it
/// stands in a script.
static PARTS: LazyLock<Parts<'static>> = LazyLock::new(|| {
    Parts::new(&includes![
        "accessible",
        "bans",
        "begin",
        "change",
        "channels",
        "claims",
        "counts",
        "ended",
        "gaps",
        "gone",
        "holds",
        "joining",
        "lapses",
        "limits",
        "line",
        "best",
        "lines",
        "money",
        "outflow",
        "payers",
        "phases",
        "places",
        "pools",
        "prices",
        "queued",
        "seats",
        "segments",
        "sessions",
        "settings",
        "shared",
        "singles",
        "taking",
        "types",
        "users",
    ])
});

scripts! {
    // What organisers ask for.
    CREATE_EVENT = "engine/create_event";
    CHANGE_SETTINGS = "engine/change_settings";
    ADD_POOL = "engine/add_pool";
    ADJUST_CAPACITY = "engine/adjust_capacity";
    ADD_SEATS = "engine/add_seats";
    CHANGE_PRICE = "engine/change_price";
    SET_TYPES = "engine/set_types";
    BLOCK = "engine/block";
    UNBLOCK = "engine/unblock";
    SET_CHANNEL = "engine/set_channel";
    ALLOT = "engine/allot";
    RELEASE_CHANNEL = "engine/release_channel";
    OPEN_PREQUEUE = "engine/open_prequeue";
    CLOSE_PREQUEUE = "engine/close_prequeue";
    OPEN_SALE = "engine/open_sale";
    DRAW_CHUNK = "engine/draw_chunk";
    PAUSE = "engine/pause";
    RESUME = "engine/resume";
    CLOSE = "engine/close";
    ARCHIVE = "engine/archive";
    // What visitors ask for.
    JOIN = "engine/join";
    LEAVE = "engine/leave";
    SEE = "engine/see";
    ARRIVE = "engine/arrive";
    // Holds and their money.
    HOLD = "engine/hold";
    HOLD_POOL = "engine/hold_pool";
    HOLD_BEST = "engine/hold_best";
    EXTEND = "engine/extend";
    RELEASE = "engine/release";
    NAME_PAYER = "engine/name_payer";
    BEGIN_PAYMENT = "engine/begin_payment";
    FAIL_PAYMENT = "engine/fail_payment";
    CONFIRM = "engine/confirm";
    CANCEL_CONFIRMED = "engine/cancel_confirmed";
    CHECK_IN = "engine/check_in";
    // Claims.
    CLAIM = "engine/claim";
    DECLAIM = "engine/declaim";
    ADJUST_CLAIMED = "engine/adjust_claimed";
    // Whom the organiser wants out.
    REMOVE_VISITOR = "engine/remove_visitor";
    UNBAN_VISITOR = "engine/unban_visitor";
    // What is due.
    TICK = "engine/tick";
    RECOVER = "engine/recover";
    // What is asked without changing anything.
    QUERY_EVENT = "query/event";
    QUERY_AVAILABILITY = "query/availability";
    QUERY_SEATS = "query/seats";
    QUERY_CHANNELS = "query/channels";
    QUERY_PLACE = "query/place";
    QUERY_BOOKING = "query/booking";
    QUERY_BOOKINGS = "query/bookings";
    QUERY_CLAIM = "query/claim";
    QUERY_BANS = "query/bans";
    QUERY_SINCE = "query/since";
}

impl Script {
    fn new(name: &'static str, text: &'static str) -> Self {
        let (pruned, leave) = (Pruned::new(&PARTS, text), leave(name));
        let library = Some(Library::new(&pruned, leave));
        Self { library, ..Self::of_text(name, leave.first_line().to_owned() + &pruned.text()) }
    }

    fn of_text(name: &'static str, text: String) -> Self {
        let sha = Hashed::new(&text).get_hash().to_owned();
        Self { name, text, sha, library: None, telling: OnceLock::new() }
    }

    /// Whether it changes nothing, whatever it is asked.
    pub(super) fn only_reads(&self) -> bool {
        leave(self.name) == Leave::Reads
    }

    /// The script, telling its writes instead of making them (lua/include/told.lua).
    pub(super) fn telling(&self) -> &Self {
        const WRAP: &str = include_str!("../../lua/include/told.lua");
        self.telling.get_or_init(|| {
            // It only reads, whatever the script would do.
            let (_flags, own) = self.text.split_once('\n').expect("flags have a line of their own");
            let text = format!(
                "{WRAP}local function run()\n{own}\nend\nlocal reply = run()\nreturn {{reply, TOLD}}\n"
            );
            Box::new(Self::of_text(self.name, text))
        })
    }
}

/// What a server without memory lets a script do.
fn leave(name: &str) -> Leave {
    match name.split_once('/') {
        Some(("query", _)) => Leave::Reads,
        Some((_, script)) if !needs_space(script) => Leave::GoesOn,
        Some(_) | None => Leave::Begins,
    }
}

/// Whether the command that a script runs begins something that needs space. A full server goes on
/// with all others, as an embedded engine does whose disk is full.
fn needs_space(script: &str) -> bool {
    let command = match script {
        "hold_pool" => "Hold".to_owned(),
        "draw_chunk" => "OpenSale".to_owned(),
        _ => script.split('_').map(capitalised).collect(),
    };
    let found = Command::all_traits().find(|(name, _)| *name == command);
    let (_, traits) = found.unwrap_or_else(|| panic!("engine/{script}.lua runs no command"));
    traits.needs_space
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_ascii_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use super::all;

    #[test]
    fn a_full_server_refuses_what_needs_space_and_nothing_else() {
        let begin = ["create_event", "add_pool", "add_seats", "join", "hold", "hold_pool"];
        let begin = begin.into_iter().chain(["hold_best", "extend", "claim", "adjust_claimed"]);
        let begin: Vec<_> = begin.map(|script| format!("engine/{script}")).collect();
        for script in all() {
            let flags = script.text.lines().next().expect("a line");
            let function = &script.library.as_ref().expect("it is one").text;
            let (expected, of_function) = if begin.iter().any(|name| name == script.name) {
                ("#!lua", "flags={}}")
            } else if script.name.starts_with("query/") {
                ("#!lua flags=no-writes", "flags={'no-writes'}}")
            } else {
                ("#!lua flags=allow-oom", "flags={'allow-oom'}}")
            };
            assert_eq!(flags, expected, "{}", script.name);
            assert_eq!(script.only_reads(), flags.contains("no-writes"), "{}", script.name);
            assert!(function.trim_end().ends_with(of_function), "{}", script.name);
        }
    }

    #[test]
    fn nothing_shared_is_declared_again() {
        let shared = include_str!("../../lua/include/shared.lua").lines();
        let constants = shared.filter_map(|line| line.strip_prefix("local ")?.split_once(" = "));
        let names: Vec<_> = constants.map(|(name, _)| format!("local {name} = ")).collect();
        for script in all() {
            for name in &names {
                let count = script.text.lines().filter(|line| line.starts_with(name)).count();
                assert!(count <= 1, "{}: take {name}… from shared.lua alone", script.name);
            }
        }
    }

    #[test]
    fn every_script_has_its_parts_once() {
        for script in all() {
            assert!(!script.text.contains("--#include"), "{} includes all", script.name);
            assert_eq!(
                script.text.matches("local function read_event(").count(),
                1,
                "{} begins as every script does",
                script.name
            );
        }
    }
}
