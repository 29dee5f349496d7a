//! What a node does for a draw, since Lua has no SHA-256: it reads the line, hashes the list of
//! entrants, and writes the drawn order.
//!
//! ```text
//! close_prequeue ─► "entrants, version 7" ─► read the line, hash it
//!    └─► close_prequeue(list of version 7) ─► done
//! open_sale ─► "draw" ─► rank the entrants, write their ranks in parts ─► open_sale(generation) ─► done
//! ```
//!
//! Whoever joins or leaves meanwhile makes another version of the line, and the node begins again;
//! after a few times it has joins and leaves barred for as long as it needs. It begins again, too, if another
//! node draws at the same time.

use super::client::ClientError;
use super::keys::EventKeys;
use super::node::Node;
use super::records::UserText;
use super::scripts;
use super::wire::{self, Call, ListOfEntrants, Outcome, Setback};
use crate::engine::Failure;
use onrush_core::ids::{EventId, PlaceId};
use onrush_core::settings::Digest;
use onrush_core::waiting_room::draw;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Members of the line in one answer of Redis.
const PAGE: usize = 5_000;
/// Places in one part of the drawn order: the others wait for it a few milliseconds at most.
const PART: usize = 5_000;
/// How often the node begins again before it gives up for now.
const ATTEMPTS: usize = 8;
/// Races lost before joins and leaves are barred.
const RACES: usize = 3;
/// How long they are barred at least.
const BAR: Duration = Duration::from_secs(5);
/// The same at most: a node may have stood still while it read.
const LONGEST_BAR: Duration = Duration::from_secs(60);
const RETRY_AFTER_MS: u32 = 1_000;

/// Somebody in the line before the opening.
#[derive(Clone, Debug)]
struct Entrant {
    /// As it stands in the line.
    member: String,
    /// By which it stands there. Whoever came later has a higher one, until ranks are written.
    score: f64,
    place: PlaceId,
}

/// Those who wait, by their numbers: before the opening that is the order they came in.
type Line = BTreeMap<u32, Entrant>;

impl Node {
    /// Closes the prequeue.
    pub(super) async fn close_prequeue(&self, event: &EventId) -> Result<Outcome, Failure> {
        self.with_entrants(event, wire::close_prequeue).await
    }

    /// Runs a script that may want the list of entrants, and gives it that.
    pub(super) async fn with_entrants(
        &self,
        event: &EventId,
        call: impl Fn(&ListOfEntrants) -> Call,
    ) -> Result<Outcome, Failure> {
        let mut list = ListOfEntrants::default();
        for attempt in 0..ATTEMPTS {
            match self.run(event, call(&list)).await? {
                Outcome::Other(Setback::Entrants { version }) => {
                    list = self.read_list(event, version, attempt).await?.1;
                }
                outcome @ (Outcome::Ok { .. }
                | Outcome::No { .. }
                | Outcome::Other(
                    Setback::Lost
                    | Setback::Away { .. }
                    | Setback::Draw
                    | Setback::Stale
                    | Setback::Busy { .. },
                )) => return Ok(outcome),
            }
        }
        Err(Failure::Busy { retry_after_ms: RETRY_AFTER_MS })
    }

    /// Opens the sale; with a draw, draws.
    pub(super) async fn open_sale(
        &self,
        event: &EventId,
        seed: Option<Digest>,
        public_value: Option<&str>,
    ) -> Result<Outcome, Failure> {
        let mut list = ListOfEntrants::default();
        let mut read = None;
        let mut generation = String::new();
        for attempt in 0..ATTEMPTS {
            match self.run(event, wire::open_sale(seed, public_value, &list, &generation)).await? {
                Outcome::Other(Setback::Entrants { version }) => {
                    let line;
                    (line, list) = self.read_list(event, version, attempt).await?;
                    read = Some(line);
                    // An order that was written is of another list.
                    generation.clear();
                }
                Outcome::Other(Setback::Draw) => {
                    let line = match read.take() {
                        // Its order counts as long as no other list is fixed.
                        Some(line) => line,
                        None => {
                            list = ListOfEntrants::default();
                            generation.clear();
                            match self.read_entrants(event).await? {
                                Some(line) => line,
                                // Another node draws, too: the list is asked for again.
                                None => continue,
                            }
                        }
                    };
                    let Some(seed) = seed else {
                        unreachable!("only a sale that is opened with a seed is drawn");
                    };
                    let key = draw::draw_key(&seed, public_value);
                    generation = self.request_id();
                    self.write_order(event, &generation, in_drawn_order(key, line).await).await?;
                }
                outcome @ (Outcome::Ok { .. }
                | Outcome::No { .. }
                | Outcome::Other(
                    Setback::Lost | Setback::Away { .. } | Setback::Stale | Setback::Busy { .. },
                )) => return Ok(outcome),
            }
        }
        Err(Failure::Busy { retry_after_ms: RETRY_AFTER_MS })
    }

    /// Writes the drawn order; if another node draws at the same time, the later one counts.
    async fn write_order(
        &self,
        event: &EventId,
        generation: &str,
        order: Vec<String>,
    ) -> Result<(), Failure> {
        let parts = order.len().div_ceil(PART).max(1);
        for part in 0..parts {
            let from = part * PART;
            let members = &order[from..order.len().min(from + PART)];
            let mut args = vec![
                generation.to_owned(),
                part.to_string(),
                u8::from(part + 1 == parts).to_string(),
                (from + 1).to_string(),
            ];
            args.extend_from_slice(members);
            match self.run(event, Call::new(&scripts::DRAW_CHUNK, args)).await? {
                Outcome::Ok { .. } => {}
                // The sale opened meanwhile, or somebody else draws: opening it tells.
                Outcome::No { .. } | Outcome::Other(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// The list that is fixed already, without those who left and those who came too late for it; `None`
    /// while none is fixed.
    async fn read_entrants(&self, event: &EventId) -> Result<Option<Line>, Failure> {
        let mut last = redis::cmd("HGET");
        last.arg(self.keys(event).meta()).arg("entrants_last");
        let last: Option<u32> = self.ask(&last).await?;
        let Some(last) = last else { return Ok(None) };
        let mut line = self.read_line(event).await?;
        let late = line.split_off(&(last.saturating_add(1)));
        // A scan that goes on at a replica, which has become the master since, may pass some over.
        // Entrants, ranked or not, stand before whoever came too late for the list, but for those of
        // the same millisecond. Where nobody was found who did, whoever came during the scan counts
        // as passed over, and is found next time.
        let late = late.values().map(|entrant| entrant.score).min_by(f64::total_cmp);
        let mut count = redis::cmd("ZCOUNT");
        count.arg(self.keys(event).queue()).arg("-inf");
        count.arg(late.map_or("+inf".to_owned(), |score| format!("({score}")));
        let entrants: usize = self.ask(&count).await?;
        let is_before = |entrant: &&Entrant| late.is_none_or(|late| entrant.score < late);
        if line.values().filter(is_before).count() < entrants {
            return Err(Failure::Busy { retry_after_ms: RETRY_AFTER_MS });
        }
        Ok(Some(line))
    }

    /// The line of this version, if it is that still, and the list of those who stand in it.
    async fn read_list(
        &self,
        event: &EventId,
        version: String,
        attempt: usize,
    ) -> Result<(Line, ListOfEntrants), Failure> {
        let begun = Instant::now();
        let line = self.read_line(event).await?;
        let hash = draw::entrants_hash(line.values().map(|entrant| entrant.place));
        let list = ListOfEntrants {
            count: u32::try_from(line.len()).expect("places are numbered with 32 bits"),
            hash: Some(hash),
            version,
            bar_ms: bar_ms(attempt, begun.elapsed()),
        };
        Ok((line, list))
    }

    /// Everybody who waits, before the opening. It may change meanwhile: its version tells. A scan
    /// has whoever waits all the while, although others leave or another node writes its order: pages
    /// by position would pass over those who move to an earlier one.
    async fn read_line(&self, event: &EventId) -> Result<Line, Failure> {
        let keys = self.keys(event);
        let mut line = Line::new();
        let mut cursor = String::from("0");
        loop {
            let mut page = redis::cmd("ZSCAN");
            page.arg(keys.queue()).arg(&cursor).arg("COUNT").arg(PAGE);
            let found: (String, Vec<String>) = self.ask(&page).await?;
            let mut members = Vec::with_capacity(found.1.len() / 2);
            let mut words = found.1.into_iter();
            // Each member is followed by its score.
            while let (Some(member), Some(score)) = (words.next(), words.next()) {
                let score = score.parse().map_err(|_| {
                    ClientError::Answered(format!("{member} stands in the line at {score}"))
                })?;
                members.push((member, score));
            }
            if !members.is_empty() {
                self.read_places(&keys, members, &mut line).await?;
            }
            cursor = found.0;
            if cursor == "0" {
                return Ok(line);
            }
        }
    }

    /// Finds the place ids of some members of the line.
    async fn read_places(
        &self,
        keys: &EventKeys,
        members: Vec<(String, f64)>,
        line: &mut Line,
    ) -> Result<(), Failure> {
        let mut users = redis::cmd("HMGET");
        users.arg(keys.users());
        for (member, _) in &members {
            users.arg(member.split_once(':').map_or("", |(_, user)| user));
        }
        let users: Vec<Option<String>> = self.ask(&users).await?;
        for ((member, score), user) in members.into_iter().zip(users) {
            let number = member.split_once(':').and_then(|(number, _)| number.parse().ok());
            let place = number.zip(user).and_then(|(number, user)| place_of(&user, number));
            // Who has no such place has left since the page was read: then the list is asked for again.
            if let (Some(number), Some(place)) = (number, place) {
                line.insert(number, Entrant { member, score, place });
            }
        }
        Ok(())
    }

    async fn ask<T: redis::FromRedisValue>(&self, command: &redis::Cmd) -> Result<T, Failure> {
        let answer = self.client().command(command).await?;
        let value = redis::from_redis_value(answer)
            .map_err(|error| ClientError::Answered(error.to_string()))?;
        Ok(value)
    }
}

/// A user's place with this number, from their text in the hash `users`.
fn place_of(user: &str, number: u32) -> Option<PlaceId> {
    let places = UserText::read(user, "a user").ok()?.places;
    places.split(',').find_map(|place| {
        let (id, its_number) = place.split_once(':')?;
        (its_number.parse() == Ok(number)).then(|| id.parse().ok())?
    })
}

/// How long joins and leaves are barred, if the list comes too late again: the next reading takes as
/// long as the last one, and the drawn order is to be written, too.
fn bar_ms(attempt: usize, reading: Duration) -> u32 {
    if attempt + 1 < RACES {
        return 0;
    }
    let bar = (2 * reading).clamp(BAR, LONGEST_BAR);
    u32::try_from(bar.as_millis()).expect("a minute at most")
}

/// Puts entrants in the order of their ranks. A million take a second, so no other task waits for it.
async fn in_drawn_order(key: Digest, line: Line) -> Vec<String> {
    let drawn = tokio::task::spawn_blocking(move || {
        let mut order: Vec<Entrant> = line.into_values().collect();
        order.sort_by_cached_key(|entrant| (draw::rank(&key, entrant.place), entrant.place));
        order.into_iter().map(|entrant| entrant.member).collect()
    });
    drawn.await.expect("ranking does not panic")
}

#[cfg(test)]
mod tests {
    use super::{RACES, bar_ms, place_of};
    use std::time::Duration;

    #[test]
    fn joins_are_barred_for_twice_as_long_as_the_line_takes_to_read() {
        for (attempt, reading_s, expected_s) in [
            (0, 30, 0),
            (RACES - 2, 30, 0),
            (RACES - 1, 0, 5),
            (RACES - 1, 2, 5),
            (RACES, 7, 14),
            (RACES, 30, 60),
            (RACES, 3_600, 60),
        ] {
            let bar_ms = bar_ms(attempt, Duration::from_secs(reading_s));
            assert_eq!(bar_ms, expected_s * 1_000, "{attempt} {reading_s}");
        }
    }

    #[test]
    fn a_place_is_found_by_its_number_among_a_users_places() {
        let first = "00000000000000000000000000000001";
        let second = "00000000000000000000000000000002";
        let user = format!("3|{first}:7,{second}:70|b-1,b-2");
        assert_eq!(place_of(&user, 70), second.parse().ok());
        assert_eq!(place_of(&user, 7), first.parse().ok());
        assert_eq!(place_of(&user, 8), None);
        assert_eq!(place_of("0||", 7), None);
    }
}
