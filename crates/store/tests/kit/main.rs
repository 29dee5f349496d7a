//! The script kit as any Redis client meets it: each script's contract, each trap of the earlier
//! designs, and races.

mod calls;
mod claims;
mod cluster;
mod command_line;
mod expiry;
mod failover;
mod files;
mod full;
mod gateway;
mod places;
mod room;
mod room_timeouts;
mod sequences;
mod stock;

use onrush_testkit::{Redis, RedisOptions, Shared, need};
use redis::{Connection, Value};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

const DATABASES: u32 = 1_000;

static REDIS: Shared<Redis> = Shared::new();
static NEXT_DATABASE: AtomicU32 = AtomicU32::new(0);

/// A Redis database that one test has for itself.
struct Kit {
    server: Arc<Redis>,
    database: u32,
    connection: Connection,
}

/// An empty database; `None` where Redis is not installed.
#[track_caller]
fn kit() -> Option<Kit> {
    let options =
        RedisOptions { config: vec![format!("databases {DATABASES}")], ..RedisOptions::default() };
    let server = need(REDIS.get(|| Redis::start_with(&options)))?;
    let database = NEXT_DATABASE.fetch_add(1, Ordering::Relaxed);
    assert!(database < DATABASES);
    Some(Kit { connection: connect(&server, database), server, database })
}

fn connect(server: &Redis, database: u32) -> Connection {
    let url = format!("{}/{database}", server.url());
    redis::Client::open(url).expect("the URL is one").get_connection().expect("Redis runs")
}

/// Where the scripts are: tests read them as a user of another language would, without this crate.
fn scripts() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("lua/kit")
}

fn text_of(script: &str) -> String {
    fs::read_to_string(scripts().join(format!("{script}.lua"))).expect("the kit has this script")
}

/// EVAL, as a client says it.
fn eval(script: &str, keys: &[&str], args: &[&str]) -> redis::Cmd {
    let mut command = redis::cmd("EVAL");
    command.arg(text_of(script)).arg(keys.len()).arg(keys).arg(args);
    command
}

impl Kit {
    /// Another connection to the same database.
    fn another(&self) -> Self {
        let connection = connect(&self.server, self.database);
        Self { server: Arc::clone(&self.server), database: self.database, connection }
    }

    fn url(&self) -> String {
        format!("{}/{}", self.server.url(), self.database)
    }

    /// Calls a script; the items of its reply as text.
    #[track_caller]
    fn run(&mut self, script: &str, keys: &[&str], args: &[&str]) -> Vec<String> {
        texts(&self.value(script, keys, args))
    }

    /// Calls a script that refuses; the code, after making sure that it is `{0, code, message}`.
    #[track_caller]
    fn refused(&mut self, script: &str, keys: &[&str], args: &[&str]) -> String {
        let reply = self.run(script, keys, args);
        assert_eq!(
            (reply.len(), reply[0].as_str()),
            (3, "0"),
            "a refusal is {{0, code, message}}: {reply:?}"
        );
        reply[1].clone()
    }

    /// Calls a script; its reply with its types.
    #[track_caller]
    fn value(&mut self, script: &str, keys: &[&str], args: &[&str]) -> Value {
        eval(script, keys, args).query(&mut self.connection).expect("the script answers")
    }

    /// Calls a script with what makes no sense; the error.
    #[track_caller]
    fn error(&mut self, script: &str, keys: &[&str], args: &[&str]) -> String {
        let reply: Result<Value, _> = eval(script, keys, args).query(&mut self.connection);
        reply.expect_err("this call makes no sense").to_string()
    }

    /// Any command; the items of its answer as text.
    #[track_caller]
    fn redis(&mut self, parts: &[&str]) -> Vec<String> {
        let mut command = redis::cmd(parts[0]);
        texts(&command.arg(&parts[1..]).query(&mut self.connection).expect("the command is right"))
    }

    /// Any command with one answer; empty for nil.
    #[track_caller]
    fn get(&mut self, parts: &[&str]) -> String {
        self.redis(parts).concat()
    }

    /// A key's seconds to live: -1 without limit, -2 if there is no such key.
    #[track_caller]
    fn ttl(&mut self, key: &str) -> i64 {
        self.get(&["TTL", key]).parse().expect("TTL answers a number")
    }

    /// Everything in the database, to tell that nothing has changed. TTLs are left out: they pass.
    fn everything(&mut self) -> Vec<(String, Vec<String>)> {
        let mut keys = self.redis(&["KEYS", "*"]);
        keys.sort();
        keys.into_iter()
            .map(|key| {
                let content = match self.get(&["TYPE", &key]).as_str() {
                    "string" => self.redis(&["GET", &key]),
                    "hash" => {
                        let mut fields = self.redis(&["HGETALL", &key]);
                        fields.sort();
                        fields
                    }
                    "zset" => self.redis(&["ZRANGE", &key, "0", "-1", "WITHSCORES"]),
                    "list" => self.redis(&["LRANGE", &key, "0", "-1"]),
                    "stream" => self.redis(&["XRANGE", &key, "-", "+"]),
                    other => panic!("the kit makes no {other}"),
                };
                (key, content)
            })
            .collect()
    }
}

/// The items of a reply as text; items that are arrays themselves in brackets.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items
            .iter()
            .map(|item| match item {
                Value::Array(_) => format!("[{}]", texts(item).join(" ")),
                _ => texts(item).concat(),
            })
            .collect(),
        Value::Int(number) => vec![number.to_string()],
        Value::BulkString(bytes) => vec![String::from_utf8_lossy(bytes).into_owned()],
        Value::SimpleString(text) => vec![text.clone()],
        Value::Okay => vec!["OK".to_owned()],
        Value::Nil => vec![],
        other => panic!("the kit never answers {other:?}"),
    }
}

/// Runs the same thing on so many connections at the same time; what each got.
fn race<T: Send>(kit: &Kit, racers: usize, run: impl Fn(usize, &mut Kit) -> T + Sync) -> Vec<T> {
    let line = std::sync::Barrier::new(racers);
    thread::scope(|scope| {
        let racers: Vec<_> = (0..racers)
            .map(|n| {
                let (mut own, line, run) = (kit.another(), &line, &run);
                scope.spawn(move || {
                    line.wait();
                    run(n, &mut own)
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().expect("no racer panics")).collect()
    })
}
