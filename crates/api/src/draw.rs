//! Draws at the edge: the seeds, which stay out of journal, feed and logs until they are revealed,
//! and the list of entrants.

use crate::broken::Broken;
use crate::feed_page::next_page_to_come;
use bytes::Bytes;
use futures_util::future::join_all;
use onrush_base::auth::keys::KeyDir;
use onrush_base::beside::beside;
use onrush_base::cluster_store::ClusterStore;
use onrush_base::shared_files;
use onrush_core::change::QueueChange;
use onrush_core::ids::{EventId, PlaceId};
use onrush_core::question::EventNow;
use onrush_core::settings::Digest;
use onrush_core::view::EventView;
use onrush_core::{Change, Command, Phase, Time};
use onrush_store::{Answer, Ask, Engine, Failure, Feed, Seq};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// How long to wait before a sale that could not be opened is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(10);

/// How often it is looked whether there is a sale to open: another node may have made it or moved its
/// time, and be gone, and clocks are set. To follow the feed for that would cost every sale.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// Why something about a draw cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// The engine refuses or fails.
    #[error(transparent)]
    Ask(#[from] Failure),
    /// The event has no draw.
    #[error("this event has no draw; its order is first come, first served")]
    NoDraw,
    /// The list of entrants is not fixed yet.
    #[error("the list of entrants is fixed when the prequeue closes; come back then")]
    PrequeueNotClosed,
    /// The seed is not where it was kept.
    #[error(
        "the draw's seed is missing; restore keys/, or the table of shared files, from a backup"
    )]
    SeedMissing,
    /// The feed has other entrants than were published.
    #[error("the feed's entrants are not the published ones; audit the data directory")]
    OtherEntrants,
    /// The engine has stopped.
    #[error("the engine has stopped; try again")]
    Stopped,
    /// A disk, a database or the journal does not work.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// What draws need beside the rules.
pub struct Draws {
    engine: Arc<dyn Engine>,
    keys: KeyDir,
    /// What all nodes share, if there are several.
    cluster: Option<Arc<dyn ClusterStore>>,
    lists: PathBuf,
    /// Held while a list of entrants is read or written.
    listed: tokio::sync::Mutex<Lists>,
    changed: Notify,
    stopped: Notify,
}

impl Draws {
    /// The draws of the events in this data directory.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn open(
        data: &Path,
        engine: Arc<dyn Engine>,
        keys: KeyDir,
        cluster: Option<Arc<dyn ClusterStore>>,
    ) -> io::Result<Self> {
        let lists = data.join("draws");
        std::fs::create_dir_all(&lists)?;
        let listed = tokio::sync::Mutex::default();
        let (changed, stopped) = (Notify::new(), Notify::new());
        Ok(Self { engine, keys, cluster, lists, listed, changed, stopped })
    }

    /// The hash of an event's seed. The seed is drawn now, unless that was done before.
    ///
    /// # Errors
    /// The seed cannot be kept.
    pub async fn commit(&self, event: &EventId) -> Result<Digest, Broken> {
        let kept = match &self.cluster {
            None => self.keys.load_or_draw(&file_name(event)),
            Some(cluster) => shared_files::keep_drawn(&**cluster, &file_name(event)).await,
        };
        let seed = kept.map_err(|error| Broken::log("keeping the draw's seed", &error))?;
        Ok(Digest(Sha256::digest(seed).into()))
    }

    async fn seed(&self, event: &EventId) -> Result<Digest, DrawError> {
        let seed = match &self.cluster {
            None => self.keys.load(&file_name(event)),
            Some(cluster) => shared_files::fetch_drawn(&**cluster, &file_name(event)).await,
        };
        let seed = seed.map_err(|error| Broken::log("reading the draw's seed", &error))?;
        seed.map(Digest).ok_or(DrawError::SeedMissing)
    }

    /// Says that an event was made or changed.
    pub fn settings_changed(&self) {
        self.changed.notify_one();
    }

    /// Ends [`Self::open_drawn_sales`].
    pub fn stop(&self) {
        self.stopped.notify_one();
    }

    /// Opens a sale; with a draw, reveals its seed.
    ///
    /// # Errors
    /// See [`DrawError`].
    pub async fn open_sale(
        &self,
        event: &EventId,
        public_value: Option<Box<str>>,
    ) -> Result<(), DrawError> {
        let view = self.engine.ask(event.clone(), EventNow).await?.value;
        let seed = match view.draw {
            None => None,
            // A seed that is revealed already is no secret; the rules say what is wrong then.
            Some(draw) => match draw.seed {
                Some(revealed) => Some(revealed),
                None => Some(self.seed(event).await?),
            },
        };
        self.engine.execute(event.clone(), Command::OpenSale { seed, public_value }).await?;
        Ok(())
    }

    /// Opens sales with a draw at their `opens_at`: the rules close the prequeue then, and only we
    /// have the seed.
    ///
    /// No public value can be mixed in that way: who wants one promises it, and the sale is left to them,
    /// or leaves `opens_at` out.
    pub async fn open_drawn_sales(self: Arc<Self>) {
        loop {
            // The feed begins before the events are looked at, so that nothing falls in between.
            let mut feed = self.engine.subscribe(self.engine.committed());
            let wait = self.open_what_is_due().await;
            tokio::select! {
                biased;
                () = self.stopped.notified() => return,
                () = self.changed.notified() => {}
                goes_on = until_prequeue_closes(&mut *feed), if wait != Wait::Nothing => {
                    if !goes_on {
                        return;
                    }
                }
                () = sleep(wait) => {}
            }
        }
    }

    /// Opens, once, those sales with a draw whose time has come.
    pub async fn open_due(&self) {
        self.open_what_is_due().await;
    }

    async fn open_what_is_due(&self) -> Wait {
        let Ok(events) = self.engine.events().await else { return Wait::For(TRY_AGAIN) };
        let mut wait = Wait::Nothing;
        let mut due = Vec::new();
        for event in events.value {
            let next = match self.engine.ask(event.clone(), EventNow).await {
                Ok(Answer { at, value: view, .. }) => match opening(at, &view) {
                    Opening::NotOurs => Wait::Nothing,
                    Opening::PrequeueFirst => Wait::Feed,
                    Opening::In(ms @ 1..) => Wait::For(Duration::from_millis(ms)),
                    Opening::In(0) => {
                        due.push(event);
                        Wait::Nothing
                    }
                },
                Err(Failure::Refused(_)) => Wait::Nothing,
                // Nobody else tells that its time has come.
                Err(_) => Wait::For(TRY_AGAIN),
            };
            wait = wait.sooner(next);
        }
        // An opening waits for the archive, and no sale for the opening of another.
        let opening: Vec<_> = due.iter().map(|event| self.open_drawn(event)).collect();
        join_all(opening).await.into_iter().fold(wait, Wait::sooner)
    }

    /// Opens a sale whose time has come; what is to be waited for then.
    async fn open_drawn(&self, event: &EventId) -> Wait {
        match self.open_sale(event, None).await {
            Ok(()) => return Wait::Nothing,
            Err(DrawError::Ask(error @ Failure::Unreachable)) => {
                tracing::error!(%event, %error, "the drawn sale may be open, and not be archived yet");
            }
            Err(error) => tracing::error!(%event, %error, "the drawn sale cannot be opened"),
        }
        Wait::For(TRY_AGAIN)
    }

    /// The published hash of the list of those who take part.
    ///
    /// # Errors
    /// See [`DrawError`].
    pub async fn entrants_hash(&self, event: &EventId) -> Result<Digest, DrawError> {
        let view = self.engine.ask(event.clone(), EventNow).await?.value;
        let draw = view.draw.ok_or(DrawError::NoDraw)?;
        draw.entrants_hash.ok_or(DrawError::PrequeueNotClosed)
    }

    /// The list with this hash: the place ids of those who take part, in the order taken, each
    /// followed by a newline.
    ///
    /// Read from the feed once, checked against the hash, and kept in a file; however many read it
    /// at a time, it is in memory once.
    ///
    /// # Errors
    /// See [`DrawError`].
    pub async fn entrants(&self, event: &EventId, hash: Digest) -> Result<Bytes, DrawError> {
        let mut listed = self.listed.lock().await;
        if let Some(list) = listed.get(event) {
            return Ok(list);
        }
        let path = self.lists.join(format!("entrants-{event}.txt"));
        let kept = path.clone();
        // Millions of lines take their time, which nobody else is to wait for.
        let checked = move |list: Vec<u8>| {
            (Digest(Sha256::digest(&list).into()) == hash).then(|| Arc::<[u8]>::from(list))
        };
        let read = beside(move || std::fs::read(kept).ok().and_then(checked)).await;
        if let Some(list) = read.ok().flatten() {
            return Ok(listed.keep(event, list));
        }
        let list = self.read_entrants(event).await?.into_bytes();
        let list = beside(move || checked(list)).await;
        let list = list.map_err(|error| Broken::log("checking the list of entrants", &error))?;
        let list = listed.keep(event, list.ok_or(DrawError::OtherEntrants)?);
        let copy = list.clone();
        let written = beside(move || std::fs::write(path, copy)).await.map_err(io::Error::other);
        if let Err(error) = written.flatten() {
            tracing::warn!(%error, "the list of entrants could not be kept; it is read again next time");
        }
        Ok(list)
    }

    async fn read_entrants(&self, event: &EventId) -> Result<String, DrawError> {
        let mut feed = self.engine.subscribe(Seq::default());
        let mut taken: Vec<Option<PlaceId>> = Vec::new();
        let mut index: HashMap<PlaceId, usize> = HashMap::new();
        loop {
            // The end of the list may be on its way to the archive yet.
            let Some(page) = next_page_to_come(&mut *feed).await? else {
                return Err(DrawError::Stopped);
            };
            for change in page.iter().filter(|entry| entry.event == *event).flat_map(|e| &e.changes)
            {
                if let Change::Queue(QueueChange::PlaceTaken { place, .. }) = change {
                    index.insert(*place, taken.len());
                    taken.push(Some(*place));
                } else if let Change::Queue(QueueChange::PlaceLeft { place, .. }) = change {
                    if let Some(index) = index.remove(place) {
                        taken[index] = None;
                    }
                } else if let Change::Queue(QueueChange::PrequeueClosed { .. }) = change {
                    let mut list = String::with_capacity(index.len() * 33);
                    for place in taken.iter().flatten() {
                        writeln!(list, "{place}").expect("memory is writable");
                    }
                    return Ok(list);
                }
            }
        }
    }
}

/// Lists of entrants that are in memory: those that somebody reads, and the last one unless it is long.
#[derive(Default)]
struct Lists {
    read: HashMap<EventId, Weak<[u8]>>,
    last: Option<Arc<[u8]>>,
}

impl Lists {
    /// The longest list that stays when nobody reads it: of two million entrants.
    const STAYS_BYTES: usize = 64 << 20;

    fn get(&mut self, event: &EventId) -> Option<Bytes> {
        let list = self.read.get(event)?.upgrade()?;
        Some(self.keep(event, list))
    }

    fn keep(&mut self, event: &EventId, list: Arc<[u8]>) -> Bytes {
        self.read.retain(|_, list| list.strong_count() > 0);
        self.read.insert(event.clone(), Arc::downgrade(&list));
        self.last = (list.len() <= Self::STAYS_BYTES).then(|| Arc::clone(&list));
        Bytes::from_owner(list)
    }
}

fn file_name(event: &EventId) -> String {
    format!("seed-{event}")
}

/// What is to be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// No event's sale is to be opened by us.
    Nothing,
    /// A prequeue has to close first.
    Feed,
    /// A closed prequeue's sale is to be opened then.
    For(Duration),
}

impl Wait {
    /// What is to be waited for if there are two such things.
    fn sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::For(one), Self::For(other)) => Self::For(one.min(other)),
            (Self::For(time), Self::Nothing | Self::Feed)
            | (Self::Nothing | Self::Feed, Self::For(time)) => Self::For(time),
            (Self::Feed, _) | (_, Self::Feed) => Self::Feed,
            (Self::Nothing, Self::Nothing) => Self::Nothing,
        }
    }
}

async fn sleep(wait: Wait) {
    match wait {
        Wait::For(time) => tokio::time::sleep(time.min(LOOK_AGAIN)).await,
        Wait::Nothing | Wait::Feed => tokio::time::sleep(LOOK_AGAIN).await,
    }
}

/// When we are to open an event's sale.
enum Opening {
    NotOurs,
    PrequeueFirst,
    In(u64),
}

/// Whether the organiser alone opens this event's sale: of a draw that was promised a public value,
/// which nobody else can tell. The rules refuse to open it without one.
pub(crate) fn is_left_to_the_organiser(view: &EventView) -> bool {
    view.draw.is_some() && view.settings.public_value_source().is_some()
}

fn opening(at: Time, view: &EventView) -> Opening {
    let before = matches!(view.phase, Phase::Scheduled | Phase::Prequeue);
    match (&view.draw, view.settings.opens_at) {
        (Some(draw), Some(opens_at)) if before && !is_left_to_the_organiser(view) => {
            if draw.entrants_hash.is_some() {
                Opening::In(u64::try_from(opens_at.since_ms(at)).unwrap_or(0))
            } else {
                Opening::PrequeueFirst
            }
        }
        (Some(_), Some(_)) | (None, _) | (_, None) => Opening::NotOurs,
    }
}

/// Reads on until some prequeue closes; whether there is more to come.
async fn until_prequeue_closes(feed: &mut dyn Feed) -> bool {
    loop {
        match feed.next().await {
            Ok(Some(page)) => {
                let mut changes = page.iter().flat_map(|entry| &entry.changes);
                if changes.any(|change| {
                    matches!(change, Change::Queue(QueueChange::PrequeueClosed { .. }))
                }) {
                    return true;
                }
            }
            Ok(None) => return false,
            Err(error) => {
                tracing::error!(error, "the feed cannot be read");
                tokio::time::sleep(TRY_AGAIN).await;
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine_stub::EngineStub;
    use crate::live::samples;
    use onrush_core::view::DrawView;
    use onrush_core::{Refusal, View};
    use std::sync::Mutex;

    #[test]
    fn a_list_is_in_memory_once_however_many_read_it_and_long_ones_not_for_longer() {
        let (one, other): (EventId, EventId) = ("one".parse().unwrap(), "other".parse().unwrap());
        let mut lists = Lists::default();
        let list = lists.keep(&one, vec![7; Lists::STAYS_BYTES].into());
        assert_eq!(lists.get(&one).unwrap().as_ptr(), list.as_ptr());
        drop(list);
        assert!(lists.get(&one).is_some(), "the last one stays");

        let long = lists.keep(&other, vec![8; Lists::STAYS_BYTES + 1].into());
        assert!(lists.get(&one).is_none(), "another one was asked for");
        assert_eq!(lists.get(&other).unwrap().as_ptr(), long.as_ptr());
        drop(long);
        assert!(lists.get(&other).is_none(), "nobody reads it");
    }

    #[tokio::test]
    async fn a_sale_that_cannot_be_looked_at_is_looked_at_again() {
        let dir = tempfile::tempdir().unwrap();
        let event: EventId = "show".parse().unwrap();
        for (failure, wait) in [
            (Failure::Unreachable, Wait::For(TRY_AGAIN)),
            (Failure::Busy { retry_after_ms: 1 }, Wait::For(TRY_AGAIN)),
            (Failure::Refused(Refusal::EventNotFound), Wait::Nothing),
        ] {
            let told = move |_: &EventId, _: &_| Some(Err(failure.clone()));
            let engine =
                Arc::new(EngineStub { events: vec![event.clone()], ..EngineStub::telling(told) });
            let keys = KeyDir::open(dir.path()).unwrap();
            let draws = Draws::open(dir.path(), engine, keys, None).unwrap();
            assert_eq!(draws.open_what_is_due().await, wait);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_sale_waits_for_the_opening_of_another() {
        let dir = tempfile::tempdir().unwrap();
        let events = ["one", "other"].map(|event| event.parse::<EventId>().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        // Each is due, and when it is to be opened there is no answer.
        let told = move |event: &EventId, _: &_| {
            let mut seen = seen.lock().unwrap();
            let is_first = !seen.contains(event);
            seen.push(event.clone());
            is_first.then(|| Ok(View::Event(Box::new(due(event)))))
        };
        let engine = EngineStub { events: events.to_vec(), ..EngineStub::telling(told) };
        let keys = KeyDir::open(dir.path()).unwrap();
        let draws = Draws::open(dir.path(), Arc::new(engine), keys, None).unwrap();
        let opened = tokio::time::timeout(Duration::from_secs(1), draws.open_what_is_due()).await;
        assert!(opened.is_err(), "they are being opened");
        let [one, other] = events;
        assert_eq!(*asked.lock().unwrap(), [one.clone(), other.clone(), one, other]);
    }

    /// An event whose prequeue is closed, and whose sale is to be opened now.
    fn due(event: &EventId) -> EventView {
        let mut view = samples::tests::view(event.as_str());
        view.phase = Phase::Prequeue;
        view.settings.opens_at = Some(Time(0));
        view.draw = Some(DrawView {
            seed_hash: Digest([1; 32]),
            entrants: Some(0),
            entrants_hash: Some(Digest([2; 32])),
            list_fixed_at: None,
            seed: None,
            public_value: None,
        });
        view
    }
}
