//! An event's state as it is in Redis.

use super::client::{Client, ClientError};
use super::keys::EventKeys;
use super::layout::{ARCHIVED, Layout, Texts};

impl Layout {
    /// What is in Redis, all of one moment; `None` if the event is not there.
    ///
    /// # Errors
    /// What Redis or the connection says.
    pub(super) async fn read(
        client: &Client,
        keys: &EventKeys,
    ) -> Result<Option<Self>, ClientError> {
        let hashes = [
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
        ];
        let sets = [
            keys.queue(),
            keys.parked(),
            keys.lapses(),
            keys.deadlines(),
            keys.gone(),
            keys.segments(),
            keys.segments_open(),
        ];
        let mut pipe = redis::pipe();
        pipe.atomic();
        for key in hashes {
            pipe.hgetall(key);
        }
        for key in sets {
            pipe.cmd("ZRANGE").arg(key).arg(0).arg(-1).arg("WITHSCORES");
        }
        let mut answers = client.pipeline(&pipe).await?;
        let lines = answers.split_off(hashes.len());
        let strange = |error: redis::ParsingError| ClientError::Answered(error.to_string());
        let texts: Vec<Texts> = answers
            .into_iter()
            .map(redis::from_redis_value)
            .collect::<Result<_, _>>()
            .map_err(strange)?;
        let lines: Vec<Vec<(String, f64)>> = lines
            .into_iter()
            .map(redis::from_redis_value)
            .collect::<Result<_, _>>()
            .map_err(strange)?;
        let texts = <[Texts; 15]>::try_from(texts).expect("an answer a question");
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
        let whole = |line: Vec<(String, f64)>| -> Vec<(String, i64)> {
            line.into_iter().map(|(member, score)| (member, score as i64)).collect()
        };
        let [queue, parked, lapses, deadlines, gone, segments, open] =
            <[Vec<(String, f64)>; 7]>::try_from(lines).expect("an answer a question").map(whole);
        let scored = |line: Vec<(String, i64)>| {
            line.into_iter().map(|(member, score)| (member, score.to_string())).collect()
        };
        let is_there = meta.contains_key("settings")
            || meta.get("phase").is_some_and(|phase| phase == ARCHIVED);
        Ok(is_there.then(|| Self {
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
        }))
    }
}
