//! Whether the files of a data directory belong together: the journal, the ledger that followed it,
//! and the keys.
//!
//! Each remembers something of the others. What is older than the others remember it has lost
//! something, and nobody sells from it before an operator has said so (`--accept-restored`).

use onrush_base::auth::hex;
use onrush_base::auth::keys::KeyDir;
use onrush_core::Time;
use onrush_ledger::Ledger;
use onrush_ledger::projection::FeedPosition;
use onrush_store::embedded::{
    Embedded, JournalReader, OpenError, ReadError, WAY_OUT, look_before_start,
};
use onrush_store::{Engine, Seq};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Where the journal remembers which keys there were.
const KEYS: &str = "keys";
/// Keys without which what was given out before is worth nothing: tokens, and the ids of bookings.
const LASTING: [&str; 2] = ["token.key", "ids.key"];
/// How the names of keys begin of which there may be several; of those that are known and not retired
/// one must be left.
const ROTATING: [&str; 2] = ["pass-", "ticket-"];

/// What a journal says about itself.
struct Journal {
    identity: Option<String>,
    last: Seq,
    /// How far a ledger had followed it, as it remembers.
    ledger: Option<Seq>,
}

/// The journal of a directory, looked at before an engine is opened on it and writes.
pub struct Before {
    journal: Journal,
    reader: Option<JournalReader>,
}

impl Before {
    /// Looks at the journal in the directory `data`; there may be none yet. With `accept`, it may
    /// have lost its end.
    ///
    /// # Errors
    /// As an engine that is opened on it.
    pub fn look(data: &Path, accept: bool) -> Result<Self, OpenError> {
        let reader = match look_before_start(data, accept) {
            Ok(reader) => reader,
            Err(OpenError::Missing { .. }) => {
                let journal = Journal { identity: None, last: Seq::default(), ledger: None };
                return Ok(Self { journal, reader: None });
            }
            Err(error) => return Err(error),
        };
        let unread = |error: ReadError| OpenError::Sqlite {
            path: reader.path().to_owned(),
            why: error.to_string(),
        };
        let journal = Journal {
            identity: reader.identity().map_err(unread)?,
            last: reader.last().map_err(unread)?,
            ledger: reader.ledger_followed(),
        };
        Ok(Self { journal, reader: Some(reader) })
    }

    /// The last decision of the journal.
    #[must_use]
    pub fn last(&self) -> Seq {
        self.journal.last
    }

    /// Whether anything was ever decided.
    fn has_decisions(&self) -> bool {
        self.journal.last > Seq::default()
    }

    /// Says no to a ledger that does not belong to the journal, unless that is accepted: before it
    /// is opened, which may bring its tables up to date. `followed` is how far the ledger of the
    /// directory `data` has come, if there is one.
    ///
    /// # Errors
    /// Why not, as a sentence with the way out.
    pub fn check_ledger(
        &self,
        data: &Path,
        followed: Option<FeedPosition>,
        accept: bool,
    ) -> Result<(), String> {
        match followed {
            _ if accept => Ok(()),
            Some(position) => self.position(position, false).map(drop),
            None if self.has_decisions() => Err(ledger_is_missing(data)),
            None => Ok(()),
        }
    }

    /// Whether a ledger that has come this far belongs to the journal.
    ///
    /// # Errors
    /// Why not, as a sentence.
    fn check(&self, position: &FeedPosition) -> Result<(), String> {
        let made_at = |seq| match &self.reader {
            Some(reader) => reader.made_at(seq).map_err(|error| error.to_string()),
            None => Ok(None),
        };
        self.journal.check(position, made_at)
    }

    /// The same with the way out, and from where on the ledger is to follow: where it is, or, if
    /// what does not fit is accepted, not beyond the journal's end.
    ///
    /// # Errors
    /// Why it does not belong to it, as a sentence.
    pub fn position(&self, position: FeedPosition, accept: bool) -> Result<FeedPosition, String> {
        match self.check(&position) {
            Ok(()) => Ok(position),
            Err(why) if !accept => Err(format!("{why}. {WAY_OUT}")),
            Err(why) => {
                let seq = position.seq.min(self.journal.last.0);
                tracing::warn!(why, seq, "accepted: the ledger follows from this decision on");
                Ok(FeedPosition { seq, at: None, journal: None })
            }
        }
    }

    /// Holds the keys against those that the journal remembers; asked before any is drawn.
    ///
    /// # Errors
    /// Which are missing or others, in a sentence with the way out; or whatever the file system says.
    pub fn check_keys(&self, data: &Path) -> Result<(), String> {
        let Some(reader) = self.reader.as_ref().filter(|_| self.has_decisions()) else {
            return Ok(());
        };
        let remembered = reader.memo(KEYS).map_err(|error| error.to_string())?;
        let mut known: BTreeMap<String, String> = match &remembered {
            Some(text) => serde_json::from_str(text)
                .map_err(|error| format!("engine.db does not remember its keys ({error})"))?,
            // Earlier versions remembered none, and had these.
            None => LASTING.iter().map(|name| ((*name).to_owned(), String::new())).collect(),
        };
        let there = if data.join("keys").is_dir() {
            let look = |keys: KeyDir| {
                // Whoever retires a key lets go of it on purpose, also of the last of its kind.
                let let_go = retired(&keys)?;
                known.retain(|name, hash| let_go.get(name) != Some(&*hash));
                hashes(&keys)
            };
            KeyDir::open(data).and_then(look).map_err(|error| error.to_string())?
        } else {
            BTreeMap::new()
        };
        wrong_key(&known, &there).map_or(Ok(()), |(name, what)| {
            let path = data.join("keys").join(name);
            Err(format!(
                "{}: this key {what}: without it every token, pass or ticket that was given out is \
                 void. {WAY_OUT}",
                path.display()
            ))
        })
    }
}

impl Journal {
    fn check(
        &self,
        position: &FeedPosition,
        made_at: impl FnOnce(Seq) -> Result<Option<Time>, String>,
    ) -> Result<(), String> {
        let FeedPosition { seq, at, journal } = position;
        match journal {
            Some(_) if *journal != self.identity => {
                return Err("the ledger is not of this journal: it has followed another one".into());
            }
            None if self.ledger.is_some() => {
                return Err(
                    "the ledger is a new one, and the one that has followed this journal is \
                            missing"
                        .into(),
                );
            }
            Some(_) | None => {}
        }
        let Seq(last) = self.last;
        if *seq > last {
            return Err(shorter(last, *seq));
        }
        if let Some(Seq(known)) = self.ledger.filter(|known| known.0 > *seq) {
            return Err(older_ledger(*seq, known));
        }
        match (at, made_at(Seq(*seq))?) {
            (Some(at), Some(made_at)) if *at != made_at => Err(another_past(*seq, *at, made_at)),
            (Some(_) | None, Some(_) | None) => Ok(()),
        }
    }
}

/// An embedded engine, as the ledger's follower knows it.
#[derive(Clone)]
pub struct Pairing {
    engine: Arc<Embedded>,
}

impl Pairing {
    /// Has engine and ledger know each other from now on.
    ///
    /// # Errors
    /// If the ledger cannot be written.
    pub async fn begin(
        engine: Arc<Embedded>,
        ledger: &dyn Ledger,
        position: FeedPosition,
    ) -> Result<Self, String> {
        let journal = Some(engine.identity().to_owned());
        if position.journal != journal {
            let bound = FeedPosition { journal, ..position.clone() };
            ledger.follow(bound).await.map_err(|error| error.to_string())?;
        }
        engine.set_ledger_followed(Seq(position.seq));
        Ok(Self { engine })
    }

    /// Says how far the ledger has followed.
    pub(crate) fn followed(&self, seq: u64) {
        self.engine.set_ledger_followed(Seq(seq));
    }

    /// Whether a ledger that has come this far has followed this journal. Reads the journal's file,
    /// beside the runtime unless the engine has no threads either.
    ///
    /// # Errors
    /// Why not, as a sentence.
    pub(crate) async fn check(&self, position: FeedPosition) -> Result<(), String> {
        if self.engine.is_stepped() {
            return self.look(&position);
        }
        let pairing = self.clone();
        let looked = tokio::task::spawn_blocking(move || pairing.look(&position)).await;
        looked.map_err(|error| error.to_string())?
    }

    fn look(&self, position: &FeedPosition) -> Result<(), String> {
        let journal = Journal {
            identity: Some(self.engine.identity().to_owned()),
            last: self.engine.committed(),
            ledger: self.engine.ledger_followed(),
        };
        journal.check(position, |seq| self.engine.made_at(seq))
    }
}

/// The sentence about a journal that ends before what the ledger knows of it.
#[must_use]
pub fn shorter(last: u64, followed: u64) -> String {
    format!(
        "the journal ends at decision {last}, and the ledger has followed it to decision \
         {followed}: the journal is an older copy, or lost its end with its log (engine.db-wal)"
    )
}

/// The sentence about a ledger that has not come as far as it had.
#[must_use]
pub fn older_ledger(followed: u64, known: u64) -> String {
    format!(
        "the ledger has followed the journal to decision {followed}, and had followed it to \
         decision {known} before: the ledger is an older copy, or lost its end with its log \
         (ledger.db-wal), and with it payments and refunds"
    )
}

/// The sentence about a decision that is not the one that was followed.
#[must_use]
pub fn another_past(seq: u64, followed: Time, made_at: Time) -> String {
    format!(
        "decision {seq} of the journal was made at {} and the ledger has followed one that was \
         made at {}: the journal knows another past than the ledger",
        made_at.0, followed.0
    )
}

/// The sentence about a journal that has decisions and no ledger beside it.
fn ledger_is_missing(data: &Path) -> String {
    format!(
        "{}: the ledger is missing beside a journal that has decisions: bookings could be made anew from the \
         journal, payments and refunds could not. {WAY_OUT}",
        data.join("ledger.db").display()
    )
}

/// The keys there are, by name, each with a hash.
fn hashes(keys: &KeyDir) -> io::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let is_watched = |name: &str| {
        LASTING.contains(&name) || ROTATING.iter().any(|prefix| name.starts_with(prefix))
    };
    for name in keys.names("")?.into_iter().filter(|name| is_watched(name)) {
        if let Some(key) = keys.load(&name)? {
            found.insert(name, hash(key));
        }
    }
    Ok(found)
}

/// The keys that are retired, the same way.
fn retired(keys: &KeyDir) -> io::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for name in keys.retired()? {
        if let Some(key) = keys.load_retired(&name)? {
            found.insert(name, hash(key));
        }
    }
    Ok(found)
}

fn hash(key: [u8; 32]) -> String {
    hex(&Sha256::digest(key))
}

/// The first key that is not as it was, and what is wrong with it.
fn wrong_key<'a>(
    known: &'a BTreeMap<String, String>,
    there: &BTreeMap<String, String>,
) -> Option<(&'a str, &'static str)> {
    for name in LASTING {
        let Some((name, hash)) = known.get_key_value(name) else { continue };
        match there.get(name) {
            None => return Some((name, "is missing")),
            Some(other) if !hash.is_empty() && hash != other => {
                return Some((name, "is not the one that was here"));
            }
            Some(_) => {}
        }
    }
    ROTATING.iter().find_map(|prefix| {
        // Old ones may go once new ones have come; all of them at once may not.
        let mut of_kind = known.iter().filter(|(name, _)| name.starts_with(prefix)).peekable();
        let (first, _) = of_kind.peek().copied()?;
        let is_left = of_kind.any(|(name, hash)| there.get(name) == Some(hash));
        (!is_left).then_some((first.as_str(), "is missing, and so are all others of its kind"))
    })
}

/// Has the journal remember the keys there are by now.
///
/// # Errors
/// Whatever stands in the way, as a sentence.
pub fn remember_keys(engine: &Embedded, keys: &KeyDir) -> Result<(), String> {
    let found = hashes(keys).map_err(|error| error.to_string())?;
    let text = serde_json::to_string(&found).map_err(|error| error.to_string())?;
    engine.set_memo(KEYS, &text)
}
