//! An event's state as it is in Redis.
//!
//! ```text
//! how large is it? ─► small: all keys in one transaction
//!                  └► large: page by page; all of one moment if nothing is decided meanwhile, else anew
//! ```
//!
//! Redis does one thing at a time, and a sale would stand still while a million who wait are read at once.

use super::client::Client;
use super::keys::EventKeys;
use super::layout::{ARCHIVED, Layout, Texts};
use redis::{FromRedisValue, Value};
use std::collections::BTreeMap;
use std::fmt::Display;

/// Fields and members of an event that is read at once.
const SMALL: usize = 20_000;
/// Fields and members of one that is read at once if it changes whenever it is read page by page: a sale
/// stands still for some tenths of a second.
const LARGE: usize = 200_000;
/// Fields or members in one page.
const PAGE: usize = 1_000;
/// How often an event is read page by page that changes meanwhile.
const TRIES: usize = 5;

/// Members with their scores, in order.
type Line = Vec<(String, f64)>;

/// What says whether anything was decided meanwhile: an event's epoch, number and mark.
type Moment = Vec<Option<String>>;

impl Layout {
    /// What is in Redis, all of one moment; `None` if the event is not there.
    ///
    /// # Errors
    /// What Redis or the connection says, or that the event changes too fast, as a sentence.
    pub(super) async fn read(client: &Client, keys: &EventKeys) -> Result<Option<Self>, String> {
        let size = size(client, keys).await?;
        if size > SMALL {
            for _ in 0..TRIES {
                if let Some(found) = by_pages(client, keys).await? {
                    return Ok(found.layout());
                }
            }
        }
        if size > LARGE {
            return Err(format!(
                "it has {size} fields and members, too many to be read at once, and changed whenever they \
                 were read page by page: look again while less goes on"
            ));
        }
        at_once(client, keys).await.map(Found::layout)
    }
}

/// The hashes of an event, in the order in which [`Found::layout`] takes them.
fn hashes(keys: &EventKeys) -> [&str; 15] {
    [
        keys.meta(),
        keys.pools(),
        keys.blocked(),
        keys.seats(),
        keys.categories(),
        keys.holds(),
        keys.users(),
        keys.sessions(),
        keys.claims(),
        keys.bans(),
        keys.segments_free(),
        keys.access(),
        keys.channels(),
        keys.payers(),
        keys.extended(),
    ]
}

/// The same of its sorted sets.
fn sets(keys: &EventKeys) -> [&str; 7] {
    [
        keys.queue(),
        keys.parked(),
        keys.lapses(),
        keys.deadlines(),
        keys.gone(),
        keys.segments(),
        keys.segments_open(),
    ]
}

fn told(error: impl Display) -> String {
    error.to_string()
}

/// How many fields and members an event has.
async fn size(client: &Client, keys: &EventKeys) -> Result<usize, String> {
    let mut pipe = redis::pipe();
    for key in hashes(keys) {
        pipe.hlen(key);
    }
    for key in sets(keys) {
        pipe.zcard(key);
    }
    let answers = client.pipeline(&pipe).await.map_err(told)?;
    answers.into_iter().map(redis::from_redis_value::<usize>).sum::<Result<_, _>>().map_err(told)
}

/// Reads all of an event in one transaction.
async fn at_once(client: &Client, keys: &EventKeys) -> Result<Found, String> {
    let mut pipe = redis::pipe();
    pipe.atomic();
    for key in hashes(keys) {
        pipe.hgetall(key);
    }
    for key in sets(keys) {
        pipe.cmd("ZRANGE").arg(key).arg(0).arg(-1).arg("WITHSCORES");
    }
    let mut answers = client.pipeline_at_length(&pipe).await.map_err(told)?;
    let lines = answers.split_off(hashes(keys).len());
    let texts = answers.into_iter().map(redis::from_redis_value);
    let lines = lines.into_iter().map(redis::from_redis_value);
    Ok(Found {
        texts: texts.collect::<Result<_, _>>().map_err(told)?,
        lines: lines.collect::<Result<_, _>>().map_err(told)?,
    })
}

/// Reads all of an event page by page; `None` if anything was decided meanwhile.
async fn by_pages(client: &Client, keys: &EventKeys) -> Result<Option<Found>, String> {
    let answers = client.pipeline_at_length(&look(keys, redis::pipe())).await.map_err(told)?;
    let [moment] = <[Value; 1]>::try_from(answers).expect("an answer a question");
    let moment = redis::from_redis_value(moment).map_err(told)?;
    let pages = Pages { client, keys, moment };
    let mut found = Found::default();
    for key in hashes(keys) {
        let Some(texts) = pages.all("HSCAN", key).await? else { return Ok(None) };
        found.texts.push(texts);
    }
    for key in sets(keys) {
        let Some(members) = pages.all::<f64>("ZSCAN", key).await? else { return Ok(None) };
        // Those of one score are in order already.
        let mut line: Line = members.into_iter().collect();
        line.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        found.lines.push(line);
    }
    Ok(Some(found))
}

/// Asks for the moment as well.
fn look(keys: &EventKeys, mut pipe: redis::Pipeline) -> redis::Pipeline {
    pipe.cmd("HMGET").arg(keys.meta()).arg("epoch").arg("seq").arg("mark");
    pipe
}

/// Pages of one moment.
struct Pages<'a> {
    client: &'a Client,
    keys: &'a EventKeys,
    moment: Moment,
}

impl Pages<'_> {
    /// All of one key; `None` if it is another moment by now. What comes twice, as it may while Redis makes
    /// room, is the same.
    async fn all<T: FromRedisValue>(
        &self,
        scan: &str,
        key: &str,
    ) -> Result<Option<BTreeMap<String, T>>, String> {
        let (mut found, mut cursor) = (BTreeMap::new(), 0_u64);
        loop {
            let mut pipe = redis::pipe();
            pipe.cmd(scan).arg(key).arg(cursor).arg("COUNT").arg(PAGE);
            let pipe = look(self.keys, pipe);
            let answers = self.client.pipeline_at_length(&pipe).await.map_err(told)?;
            let [page, moment] = <[Value; 2]>::try_from(answers).expect("an answer a question");
            let moment: Moment = redis::from_redis_value(moment).map_err(told)?;
            if moment != self.moment {
                return Ok(None);
            }
            let (next, page): (u64, BTreeMap<String, T>) =
                redis::from_redis_value(page).map_err(told)?;
            found.extend(page);
            if next == 0 {
                return Ok(Some(found));
            }
            cursor = next;
        }
    }
}

/// What was read, key by key in their order.
#[derive(Default)]
struct Found {
    texts: Vec<Texts>,
    lines: Vec<Line>,
}

impl Found {
    /// What it says; `None` if the event is not there.
    fn layout(self) -> Option<Layout> {
        let texts = <[Texts; 15]>::try_from(self.texts).expect("an answer a question");
        let [
            meta,
            pools,
            blocked,
            seats,
            categories,
            holds,
            users,
            sessions,
            claims,
            bans,
            free,
            access,
            channels,
            payers,
            extended,
        ] = texts;
        // Scores are whole numbers of at most 53 bits, which a double holds exactly.
        let whole = |line: Line| -> Vec<(String, i64)> {
            line.into_iter().map(|(member, score)| (member, score as i64)).collect()
        };
        let [queue, parked, lapses, deadlines, gone, segments, open] =
            <[Line; 7]>::try_from(self.lines).expect("an answer a question").map(whole);
        let scored = |line: Vec<(String, i64)>| {
            line.into_iter().map(|(member, score)| (member, score.to_string())).collect()
        };
        let is_there = meta.contains_key("settings")
            || meta.get("phase").is_some_and(|phase| phase == ARCHIVED);
        is_there.then(|| Layout {
            meta,
            pools,
            blocked,
            seats,
            categories,
            holds,
            users,
            sessions,
            queue,
            parked,
            lapses: scored(lapses),
            deadlines: scored(deadlines),
            claims,
            bans,
            gone: scored(gone),
            segments: scored(segments),
            segments_free: free,
            segments_open: scored(open),
            access,
            channels,
            payers,
            extended,
        })
    }
}
