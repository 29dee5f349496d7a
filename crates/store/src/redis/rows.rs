//! From what is in Redis back to the rows of a snapshot, and where the two differ.

use super::counts::Counts;
use super::head::Head;
use super::ladders::{self, More};
use super::layout::{Layout, Texts};
use super::records::{AccessText, SeatText, SegmentText, SessionText, UserText};
use super::records::{BanText, CategoryText, ChannelText, ClaimText, HoldText, PoolText};
use super::types;
use crate::engine::Seq;
use onrush_core::Time;
use onrush_core::channels::{ChannelView, Released};
use onrush_core::gaps::Gaps;
use onrush_core::hold::{CheckIn, HoldState, HoldTerms};
use onrush_core::ids::{PlaceId, SeatId, UserId};
use onrush_core::payers::NamedPayers;
use onrush_core::snapshot::{
    ArchivedRow, Entrants, EventRow, GoneRow, HoldRow, PlaceRow, PoolRow, Revealed, SeatRow,
    SessionRow, SessionState, SnapshotRow,
};
use onrush_core::spec::{CategorySpec, PoolSpec, SeatSpec};
use onrush_core::view::{BanView, ClaimState, ClaimView};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::str::FromStr;
use std::sync::Arc;

/// The sections, rows and numbers of seats: Redis keeps the states alone.
pub type SeatSpecs = BTreeMap<SeatId, SeatSpec>;

fn read<T: FromStr<Err: Debug>>(text: &str, what: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("{what}: {text:?} cannot be read: {error:?}"))
}

fn read_optional<T: FromStr<Err: Debug>>(text: &str, what: &str) -> Result<Option<T>, String> {
    if text.is_empty() { Ok(None) } else { read(text, what).map(Some) }
}

fn time(text: &str, what: &str) -> Result<Time, String> {
    read(text, what).map(Time)
}

fn time_or_none(text: &str, what: &str) -> Result<Option<Time>, String> {
    Ok(read_optional(text, what)?.map(Time))
}

/// Exactly this many parts between bars.
fn parts<'a, const COUNT: usize>(
    text: &'a str,
    between: char,
    what: &str,
) -> Result<[&'a str; COUNT], String> {
    let parts: Vec<_> = text.splitn(COUNT, between).collect();
    parts.try_into().map_err(|_| format!("{what}: {text:?} has too few parts"))
}

/// When the engine was away: `at:gap_ms,…`.
pub(super) fn gaps(text: &str) -> Result<Gaps, String> {
    let gap = |text: &str| {
        let [at, gap_ms] = parts(text, ':', "gaps")?;
        Ok((time(at, "gaps")?, read(gap_ms, "gaps")?))
    };
    let gaps = text.split(',').filter(|text| !text.is_empty());
    Ok(Gaps::restore(gaps.map(gap).collect::<Result<_, String>>()?))
}

/// A member of the line or of a session's deadline: number and user.
fn who(member: &str) -> Result<(u32, UserId), String> {
    let [number, user] = parts(member, ':', "a place")?;
    Ok((read(number, member)?, read(user, member)?))
}

impl Layout {
    /// The rows of a snapshot that this is the state of.
    ///
    /// # Errors
    /// What cannot be read, as a sentence.
    pub(super) fn rows(&self, seats: &SeatSpecs) -> Result<Vec<SnapshotRow>, String> {
        if self.is_archived() {
            let at = self.meta.get("at").map(String::as_str).unwrap_or_default();
            return Ok(vec![SnapshotRow::Archived(ArchivedRow { at: time(at, "at")? })]);
        }
        let event = self.event_row()?;
        let opened = event.opened;
        self.check_segments()?;
        self.check_access()?;
        Counts::of(self)?.check(&self.meta)?;
        let mut rows = vec![SnapshotRow::Event(Box::new(event))];
        rows.extend(channel_views(&self.channels)?.into_iter().map(SnapshotRow::Channel));
        rows.extend(self.pool_rows()?);
        let categories = self.category_specs()?;
        let seat_rows = self.seat_rows(seats)?;
        rows.extend(categories.into_iter().map(SnapshotRow::Category));
        let lists = types::lists(self.meta_texts())?;
        rows.extend(lists.into_values().map(SnapshotRow::Types));
        rows.extend(seat_rows.into_iter().map(SnapshotRow::Seat));
        rows.extend(self.place_rows(opened)?);
        rows.extend(self.hold_rows()?.into_iter().map(SnapshotRow::Hold));
        let mut sessions: Vec<_> = self
            .sessions
            .iter()
            .map(|(user, text)| session_row(user, text))
            .collect::<Result<_, _>>()?;
        sessions.sort_by_key(|row| row.number);
        rows.extend(sessions.into_iter().map(SnapshotRow::Session));
        for (id, text) in &self.claims {
            rows.push(SnapshotRow::Claim(claim_view(id, text)?));
        }
        for (user, text) in &self.bans {
            rows.push(SnapshotRow::Ban(ban_view(user, text)?));
        }
        rows.extend(self.gone_rows()?.into_iter().map(SnapshotRow::Gone));
        Ok(rows)
    }

    /// By time and user; what one user held within one millisecond, in the order they held it.
    fn hold_rows(&self) -> Result<Vec<HoldRow>, String> {
        let mut rank = HashMap::new();
        for (user, text) in &self.users {
            rank.extend(UserText::read(text, user)?.bookings.split(',').zip(0_u32..));
        }
        let row = |(id, text): (&String, &String)| {
            hold_row(id, text, self.extended.get(id).map_or("", String::as_str))
        };
        let mut holds: Vec<_> = self.holds.iter().map(row).collect::<Result<_, _>>()?;
        holds.sort_by_cached_key(|row: &HoldRow| {
            let terms = &row.terms;
            (terms.created_at, terms.user.clone(), rank.get(terms.booking.as_str()).copied())
        });
        Ok(holds)
    }

    /// How far the event has come.
    pub(super) fn head(&self) -> Option<Head> {
        let number = |field: &str| self.meta.get(field)?.parse().ok();
        let mark = self.meta.get("mark").and_then(|mark| mark.parse().ok());
        Some(Head { epoch: number("epoch")?, seq: Seq(number("seq")?), mark })
    }

    fn meta(&self, field: &str) -> Result<&str, String> {
        self.meta.get(field).map(String::as_str).ok_or_else(|| format!("meta has no {field}"))
    }

    fn meta_or_empty(&self, field: &str) -> &str {
        self.meta.get(field).map_or("", String::as_str)
    }

    fn meta_texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.meta.iter().map(|(field, text)| (field.as_str(), text.as_str()))
    }

    fn event_row(&self) -> Result<EventRow, String> {
        let settings = serde_json::from_str(self.meta("settings")?)
            .map_err(|error| format!("settings: {error}"))?;
        let phase = serde_json::from_value(self.meta("phase")?.into())
            .map_err(|error| format!("phase: {error}"))?;
        let opened = self.meta("opened")? == "1";
        let entrants = match read_optional(self.meta_or_empty("entrants"), "entrants")? {
            None => None,
            Some(count) => Some(Entrants {
                count,
                hash: read(self.meta("entrants_hash")?, "entrants_hash")?,
                last_number: read(self.meta("entrants_last")?, "entrants_last")?,
                fixed_at: read_optional(self.meta_or_empty("entrants_at"), "entrants_at")?
                    .map(Time),
            }),
        };
        let revealed = Revealed {
            seed: read_optional(self.meta_or_empty("seed"), "seed")?,
            public_value: self.meta.get("public_value").map(|value| value.as_str().into()),
        };
        Ok(EventRow {
            settings,
            phase,
            at: time(self.meta("at")?, "at")?,
            opened,
            taken: read(self.meta("taken")?, "taken")?,
            outflow_clock_ns: self.outflow_clock_ns()?,
            entrants,
            revealed: opened.then_some(revealed),
            prices: ladders::ladders(self.meta_texts())?.into_values().collect(),
            gaps: gaps(self.meta_or_empty("gaps"))?,
        })
    }

    /// The outflow's clock, which Lua's numbers hold in two parts only.
    fn outflow_clock_ns(&self) -> Result<i64, String> {
        let part = |field| read_optional::<i64>(self.meta_or_empty(field), field);
        let (ms, ns) = (part("outflow_ms")?.unwrap_or(0), part("outflow_ns")?.unwrap_or(0));
        let clock_ns = ms.checked_mul(1_000_000).and_then(|clock_ns| clock_ns.checked_add(ns));
        clock_ns.ok_or_else(|| format!("outflow_ms: {ms} is no time that a sale comes to"))
    }

    fn pool_rows(&self) -> Result<Vec<SnapshotRow>, String> {
        let mut rows = Vec::new();
        for (id, text) in &self.pools {
            let text = PoolText::read(text, id)?;
            let blocked_why = self.blocked_by(&format!("{id}:"))?;
            let allotted = self.blocked_by(&format!("{id}@"))?;
            let allotted = allotted.iter().map(|(name, count)| Ok((read(name, id)?, *count)));
            let allotted = allotted.collect::<Result<_, String>>()?;
            let spec = PoolSpec {
                pool: read(id, "a pool")?,
                capacity: read(text.capacity, id)?,
                price_minor: read(text.price, id)?,
            };
            let claimed_by_services = read(text.claimed_by_services, id)?;
            let row = PoolRow { spec, claimed_by_services, blocked_why, allotted };
            rows.push((read::<usize>(text.index, id)?, SnapshotRow::Pool(row)));
        }
        rows.sort_by_key(|(index, _)| *index);
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    /// Counts of blocked units, by what follows in their keys.
    fn blocked_by(&self, begin: &str) -> Result<Vec<(Box<str>, u32)>, String> {
        let blocked = self.blocked.range(begin.to_owned()..);
        let blocked = blocked.take_while(|(key, _)| key.starts_with(begin));
        blocked.map(|(key, count)| Ok((key[begin.len()..].into(), read(count, key)?))).collect()
    }

    fn category_specs(&self) -> Result<Vec<CategorySpec>, String> {
        let mut specs = Vec::new();
        for (name, text) in &self.categories {
            let text = CategoryText::read(text, name)?;
            let price_minor = read(text.price, name)?;
            let spec = CategorySpec { name: name.as_str().into(), price_minor };
            specs.push((read::<usize>(text.index, name)?, spec));
        }
        specs.sort_by_key(|(index, _)| *index);
        Ok(specs.into_iter().map(|(_, spec)| spec).collect())
    }

    fn seat_rows(&self, seats: &SeatSpecs) -> Result<Vec<SeatRow>, String> {
        let categories = self.category_specs()?;
        let mut rows = Vec::new();
        for (id, text) in &self.seats {
            let text = SeatText::read(text, id)?;
            let category = categories
                .get(read::<usize>(text.category, id)?)
                .ok_or_else(|| format!("seat {id}: it has no price category"))?;
            let known = seats.get(id.as_str()).filter(|spec| spec.category == category.name);
            let spec = known.cloned().ok_or_else(|| {
                format!("seat {id}: it is not known in category {}", category.name)
            })?;
            let blocked_why = (text.state == "B").then(|| text.of.into());
            let channel = (text.state == "A").then(|| read(text.of, id)).transpose()?;
            rows.push((read::<usize>(text.index, id)?, SeatRow { spec, blocked_why, channel }));
        }
        rows.sort_by_key(|(index, _)| *index);
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    /// Whether each segment is read, and known to be free or not seat by seat.
    fn check_segments(&self) -> Result<(), String> {
        for text in self.segments.keys() {
            let segment = SegmentText::read(text, "a segment")?;
            let seats = segment.ids.split(',').count();
            let free = self.segments_free.get(segment.first).map_or(0, String::len);
            if seats != free {
                return Err(format!(
                    "segment {}: {free} of {seats} seats have a sign",
                    segment.first
                ));
            }
        }
        Ok(())
    }

    /// Whether it is read whom seats are kept for.
    fn check_access(&self) -> Result<(), String> {
        for (id, text) in &self.access {
            let access = AccessText::read(text, id)?;
            if !self.seats.contains_key(id) || !["W", "C"].contains(&access.kind) {
                return Err(format!("seat {id}: {text:?} does not tell whom it is kept for"));
            }
        }
        Ok(())
    }

    /// Places that are gone and still known.
    fn gone_rows(&self) -> Result<Vec<GoneRow>, String> {
        let at = time(self.meta("at")?, "at")?;
        let row = |(place, until): (&String, &String)| {
            Ok(GoneRow { place: read(place, "a place")?, until: time(until, place)? })
        };
        let rows = self.gone.iter().map(row).collect::<Result<Vec<_>, String>>()?;
        let mut known: Vec<_> = rows.into_iter().filter(|row| at < row.until).collect();
        known.sort_unstable_by_key(|row| (row.until, row.place));
        Ok(known)
    }

    /// Everybody who waits, in the order of the line.
    fn in_line(&self) -> Vec<&(String, i64)> {
        let mut line: Vec<_> = self.queue.iter().chain(&self.parked).collect();
        line.sort_by_key(|(member, score)| (*score, member));
        line
    }

    fn last_seen(&self, member: &str, opened: bool) -> Result<Option<Time>, String> {
        if !opened {
            return Ok(None);
        }
        let moved_ms = read_optional::<i64>(self.meta_or_empty("moved_ms"), "moved_ms")?;
        let seen = match self.lapses.get(member) {
            Some(seen) => seen,
            None => self.meta("opened_at")?,
        };
        Ok(Some(time(seen, member)?.plus_ms(moved_ms.unwrap_or(0))))
    }

    fn place_rows(&self, opened: bool) -> Result<Vec<SnapshotRow>, String> {
        let mut rows = Vec::new();
        for (member, _) in self.in_line() {
            let (number, user) = who(member)?;
            let text =
                self.users.get(user.as_str()).map(|text| UserText::read(text, user.as_str()));
            let places = text.transpose()?.map(|text| text.places);
            let ours = |place: &str| {
                let (id, its_number) = place.split_once(':')?;
                (its_number == number.to_string()).then(|| id.to_owned())
            };
            let place = places.unwrap_or_default().split(',').find_map(ours);
            let place =
                place.ok_or_else(|| format!("place {member}: its user does not know it"))?;
            let last_seen = self.last_seen(member, opened)?;
            let place = read::<PlaceId>(&place, member)?;
            rows.push(SnapshotRow::Place(PlaceRow { place, user, number, last_seen }));
        }
        Ok(rows)
    }
}

fn hold_row(id: &str, text: &str, extended: &str) -> Result<HoldRow, String> {
    let text = HoldText::read(text, id)?;
    let at = time(text.time, id)?;
    let payment = read_optional(text.payment, id)?;
    let state = match (text.state, payment) {
        ("held", None) => HoldState::Held { until: at },
        ("paying", Some(payment)) => {
            HoldState::Paying { until: at, before: time(text.before, id)?, payment }
        }
        ("confirmed", payment) => HoldState::Confirmed { at, payment },
        ("released", None) => HoldState::Released { at },
        ("expired", payment) => HoldState::Expired { at, payment },
        ("cancelled", None) => HoldState::Cancelled { at, refund_minor: read(text.refund, id)? },
        (state, _) => return Err(format!("booking {id}: it cannot be {state}")),
    };
    let check_in = |text: &str| {
        let (ticket, more) = text.split_once(':').ok_or_else(|| format!("booking {id}: {text}"))?;
        let (at, scan) = more.split_once(':').unwrap_or((more, ""));
        Ok(CheckIn { ticket: read(ticket, id)?, at: time(at, id)?, scan: read_optional(scan, id)? })
    };
    let check_ins = text.checkins.split(',').filter(|check_in| !check_in.is_empty());
    let More { prices, sources, types, payers, asked } = More::read(text.more);
    let [email, card] = payers;
    let source = |source: &&str| read_optional(source, id);
    // A booking that was not extended yet may have the names of an earlier one (`extend.lua`).
    let extended = if text.extensions == "0" { "" } else { extended };
    let named = extended.split(',').filter(|name| !name.is_empty());
    let terms = HoldTerms {
        booking: read(id, "a booking")?,
        user: read(text.user, id)?,
        lines: serde_json::from_str(text.lines)
            .map_err(|error| format!("booking {id}: {error}"))?,
        asked: match asked {
            "" => None,
            asked => Some(
                serde_json::from_str(asked).map_err(|error| format!("booking {id}: {error}"))?,
            ),
        },
        prices_minor: prices.iter().map(|price| read(price, id)).collect::<Result<_, _>>()?,
        sources: sources.iter().map(source).collect::<Result<_, _>>()?,
        types: match types {
            "" => None,
            types => Some(
                types::held_types(types)
                    .map(Box::new)
                    .map_err(|why| format!("booking {id}: {why}"))?,
            ),
        },
        amount_minor: read(text.amount, id)?,
        fee_minor: read(text.fee, id)?,
        created_at: time(text.created, id)?,
    };
    Ok(HoldRow {
        terms: Arc::new(terms),
        state,
        payments: read(text.payments, id)?,
        extensions: read(text.extensions, id)?,
        extensions_named: named.map(|name| read(name, id)).collect::<Result<_, _>>()?,
        checked_in: check_ins.map(check_in).collect::<Result<_, String>>()?,
        payers: NamedPayers { email: read_optional(email, id)?, card: read_optional(card, id)? },
    })
}

/// All channels, in the order in which they were added.
pub(super) fn channel_views<'a>(
    texts: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Result<Vec<ChannelView>, String> {
    let mut views = Vec::new();
    for (id, text) in texts {
        let ChannelText { index, taken, state, at, into, spec } = ChannelText::read(text, id)?;
        let spec = serde_json::from_str(spec).map_err(|error| format!("channel {id}: {error}"))?;
        let released = match state {
            "open" => None,
            "released" => Some(Released { at: time(at, id)?, into: read_optional(into, id)? }),
            _ => return Err(format!("channel {id}: {state} is no state of a channel")),
        };
        let view = ChannelView { spec, taken: read(taken, id)?, released };
        views.push((read::<usize>(index, id)?, view));
    }
    views.sort_by_key(|(index, _)| *index);
    Ok(views.into_iter().map(|(_, view)| view).collect())
}

fn session_row(user: &str, text: &str) -> Result<SessionRow, String> {
    let SessionText { place, number, state, until_at, arrive_by, .. } =
        SessionText::read(text, user)?;
    let state = match (state, time_or_none(until_at, user)?, time_or_none(arrive_by, user)?) {
        ("invited", Some(until), Some(arrive_by)) => SessionState::Invited { until, arrive_by },
        ("active", Some(until), None) => SessionState::Active { until },
        ("ended", None, None) => SessionState::Ended,
        _ => return Err(format!("session of {user}: it cannot be {text}")),
    };
    let (place, number) = (read(place, user)?, read(number, user)?);
    Ok(SessionRow { place, user: read(user, "a session")?, number, state })
}

fn claim_view(id: &str, text: &str) -> Result<ClaimView, String> {
    let text = ClaimText::read(text, id)?;
    let state = match (text.state, time_or_none(text.time, id)?) {
        ("claimed", until) => ClaimState::Claimed { until },
        ("returned", Some(at)) => ClaimState::Returned { at },
        ("expired", Some(at)) => ClaimState::Expired { at },
        ("adjusted", Some(at)) => ClaimState::Adjusted { at },
        (state, _) => return Err(format!("claim {id}: it cannot be {state}")),
    };
    let told = match state {
        ClaimState::Claimed { until } => until,
        ClaimState::Returned { .. } | ClaimState::Expired { .. } | ClaimState::Adjusted { .. } => {
            None
        }
    };
    let first_until = time_or_none(text.first, id)?.or(told);
    Ok(ClaimView {
        claim: read(id, "a claim")?,
        user: read_optional(text.user, id)?,
        pool: read(text.pool, id)?,
        amount: read(text.amount, id)?,
        before: read(text.before, id)?,
        after: read(text.after, id)?,
        first_until,
        state,
    })
}

/// A ban, as its hash has it.
pub(super) fn ban_view(user: &str, text: &str) -> Result<BanView, String> {
    let BanText { at, reason } = BanText::read(text, user)?;
    let reason = serde_json::from_str(reason).map_err(|error| format!("ban of {user}: {error}"))?;
    Ok(BanView { user: read(user, "a ban")?, reason, at: time(at, user)? })
}

impl Layout {
    /// Where this is not what it should be, one sentence each: every count, index and deadline, not
    /// only what a snapshot has. Scores may differ, as long as the order is the same. Names of extensions
    /// are left to the snapshot's rows: an older version keeps none, and leaves those of a booking that it
    /// forgets.
    pub(super) fn differences(&self, expected: &Self) -> Vec<String> {
        let mut found = Vec::new();
        let texts = [
            ("pools", &self.pools, &expected.pools),
            ("blocked", &self.blocked, &expected.blocked),
            ("seats", &self.seats, &expected.seats),
            ("categories", &self.categories, &expected.categories),
            ("holds", &self.holds, &expected.holds),
            ("users", &self.users, &expected.users),
            ("sessions", &self.sessions, &expected.sessions),
            ("deadlines", &self.deadlines, &expected.deadlines),
            ("claims", &self.claims, &expected.claims),
            ("bans", &self.bans, &expected.bans),
            ("segments", &self.segments, &expected.segments),
            ("segments_free", &self.segments_free, &expected.segments_free),
            ("segments_open", &self.segments_open, &expected.segments_open),
            ("access", &self.access, &expected.access),
            ("channels", &self.channels, &expected.channels),
            ("payers", &self.payers, &expected.payers),
            ("settings", &self.settings_meta(), &expected.settings_meta()),
        ];
        // An older version did not know which seats are side by side: whoever asks has it rebuilt.
        let is_older = self.segments.is_empty() && !self.seats.is_empty();
        for (key, ours, theirs) in texts {
            if is_older && key.starts_with("segments") {
                continue;
            }
            let fields =
                ours.keys().chain(theirs.keys().filter(|field| !ours.contains_key(*field)));
            for field in fields {
                let (ours, theirs) = (ours.get(field), theirs.get(field));
                // An older version did not keep what claims were first told, nor whose units of which
                // pool they are: for a limit that counts those all claims are looked at.
                let lacks = ours.zip(theirs).and_then(|(ours, theirs)| {
                    theirs.strip_prefix(ours.as_str())?.strip_prefix('|')
                });
                let is_older = match key {
                    "claims" => lacks.is_some(),
                    "users" => lacks.is_some_and(|lacks| lacks.contains(':')),
                    _ => false,
                };
                if ours != theirs && !is_older {
                    found.push(format!("{key} {field}: is {ours:?}, should be {theirs:?}"));
                }
            }
        }
        let members = |line: &[(String, i64)]| -> Vec<String> {
            line.iter().map(|(member, _)| member.clone()).collect()
        };
        let lines =
            [("queue", &self.queue, &expected.queue), ("parked", &self.parked, &expected.parked)];
        for (key, ours, theirs) in lines {
            let (ours, theirs) = (members(ours), members(theirs));
            if ours != theirs {
                found.push(format!("{key}: is {ours:?}, should be {theirs:?}"));
            }
        }
        // Whoever waits may have an entry, also one that is not needed.
        let waiting = expected.queue.iter().chain(&expected.parked);
        let waiting = waiting.filter(|_| expected.meta_or_empty("opened") == "1");
        let waiting: BTreeSet<_> = waiting.map(|(member, _)| member).collect();
        for member in self.lapses.keys().filter(|member| !waiting.contains(member)) {
            found.push(format!("lapses {member}: nobody waits there, or places do not lapse yet"));
        }
        found
    }

    /// The settings as scripts read them.
    fn settings_meta(&self) -> Texts {
        let names = super::wire::settings_fields(&onrush_core::settings::Settings::new(
            "-",
            "XXX".parse().expect("three capital letters"),
        ));
        let of = |(name, _): (&'static str, String)| {
            self.meta.get(name).map(|text| (name.to_owned(), text.clone()))
        };
        // Beside the settings, how many are banned or have types: scripts look no further if none is.
        let others = ["bans", "sections", "types"].map(|name| (name, String::new()));
        names.into_iter().chain(others).filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Layout;

    #[test]
    fn outflow_clock_beyond_its_range_is_an_error_and_not_a_panic() {
        let clock = |ms: &str, ns: &str| {
            let mut layout = Layout::default();
            layout.meta.insert("outflow_ms".to_owned(), ms.to_owned());
            layout.meta.insert("outflow_ns".to_owned(), ns.to_owned());
            layout.outflow_clock_ns()
        };
        assert_eq!(clock("2", "5"), Ok(2_000_005));
        for (ms, ns) in [("9223372036854775807", "0"), ("9223372036854", "999999999")] {
            assert!(clock(ms, ns).is_err_and(|why| why.starts_with("outflow_ms: ")), "{ms} {ns}");
        }
    }
}
