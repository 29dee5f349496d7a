//! Sessions of browsers whose users signed in with a key.

use onrush_core::Time;

/// A session's row is brought up to date that often, in milliseconds, while it is used.
pub const SEEN_EVERY_MS: i64 = 60_000;
/// Sessions of one key that live at once; with one more the longest unused ends.
pub const MAX_PER_KEY: u32 = 100;

/// A session that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserSession {
    /// Its public id; not what the cookie has.
    pub id: String,
    /// Whose key.
    pub name: String,
    /// From which address they signed in.
    pub address: String,
    /// When.
    pub begun_at: Time,
    /// When it was used last, to the minute.
    pub seen_at: Time,
    /// It is over from then on, however much it is used.
    pub ends_at: Time,
}

/// Which sessions to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionsOf {
    /// One.
    Id(String),
    /// Those of one key.
    Key(String),
    /// All of them.
    Everybody,
}
