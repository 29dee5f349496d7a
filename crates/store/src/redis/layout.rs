//! An event's state as Redis keeps it, made from the rules' own state.
//!
//! The scripts' includes say what each text means; here is the same from the other side.

use super::counts::Counts;
use super::holdings::{Holdings, count_payers};
use super::ladders;
use super::records::{BanText, CategoryText, ChannelText, ClaimText, HoldText, PoolText};
use super::records::{SeatText, SessionText};
use super::segments::SegmentTexts;
use super::types;
use super::wire::settings_fields;
use onrush_core::channels::ChannelView;
use onrush_core::hold::{CheckIn, HoldState};
use onrush_core::ids::UserId;
use onrush_core::limits::{ENDED_KNOWN_MS, MAX_QUEUE_SIZE};
use onrush_core::prices::Ladder;
use onrush_core::question::{AvailabilityNow, ChannelsNow, SeatsNow};
use onrush_core::score::COUNTER_BITS;
use onrush_core::snapshot::{EventRow, HoldRow, PlaceRow, SessionRow, SessionState, SnapshotRow};
use onrush_core::view::{AvailabilityView, BanView, ClaimState, ClaimView, SeatStatus};
use onrush_core::{Event, Time};
use std::collections::{BTreeMap, HashMap};

/// No place gets a score of an earlier millisecond: ranks of a draw are below it.
pub(super) const FIRST_SCORE_MS: i64 = 4_096;
/// The score of the first in line. Any that rise will do, as long as they are above every rank of a draw.
const FIRST_SCORE: i64 = FIRST_SCORE_MS << COUNTER_BITS;
const _: () = assert!(FIRST_SCORE > MAX_QUEUE_SIZE as i64);
/// Digits of a place's number in a member of the line, so that members sort by it.
pub(super) const NUMBER_DIGITS: usize = 10;

/// A hash, or a sorted set whose scores are whole numbers; as text, field by field.
pub(super) type Texts = BTreeMap<String, String>;

/// The phase in the meta hash of an event that was archived: the rules have no such phase, for then
/// there is nothing that could be in one.
pub(super) const ARCHIVED: &str = "archived";

/// What each of an event's keys has in it, without the feed and the answers kept for a while.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) meta: Texts,
    pub(super) pools: Texts,
    pub(super) blocked: Texts,
    pub(super) seats: Texts,
    pub(super) categories: Texts,
    pub(super) holds: Texts,
    pub(super) users: Texts,
    pub(super) sessions: Texts,
    /// In order, with scores.
    pub(super) queue: Vec<(String, i64)>,
    /// In order, with scores.
    pub(super) parked: Vec<(String, i64)>,
    pub(super) lapses: Texts,
    pub(super) deadlines: Texts,
    pub(super) claims: Texts,
    pub(super) bans: Texts,
    pub(super) gone: Texts,
    pub(super) segments: Texts,
    pub(super) segments_free: Texts,
    pub(super) segments_open: Texts,
    pub(super) access: Texts,
    pub(super) channels: Texts,
    pub(super) payers: Texts,
    pub(super) extended: Texts,
}

/// A place in the queue as a member of sorted sets: it sorts by its number.
fn member(number: u32, user: &UserId) -> String {
    format!("{number:0NUMBER_DIGITS$}:{user}")
}

fn text_of_time(at: Option<Time>) -> String {
    at.map(|at| at.to_string()).unwrap_or_default()
}

impl Layout {
    /// How Redis keeps this state.
    ///
    /// # Panics
    /// If the event does not exist.
    pub(super) fn of(event: &Event) -> Self {
        if let Some(at) = event.archived_at() {
            return Self::archived(at);
        }
        let rows: Vec<_> = event.snapshot().collect();
        let Some(SnapshotRow::Event(row)) = rows.first() else { panic!("the event exists") };
        let mut layout = Self::default();
        // Ticks rely on it that nobody was last seen before, and nobody who is still to come: those who
        // waited through an outage were moved on by it, perhaps beyond now. Whoever was last seen then
        // has no entry in `lapses`: soon after the opening that is nearly everybody.
        let seen = rows
            .iter()
            .filter_map(|row| if let SnapshotRow::Place(row) = row { row.last_seen } else { None });
        let opened_at = seen.min().unwrap_or(row.at).min(row.at);
        layout.put_meta(row, opened_at);
        for Ladder { of, first_minor: _, later } in &row.prices {
            let next = later.first().map(|step| ('8', step.from));
            layout.put_deadline(next, &ladders::key(of));
        }
        layout.put_types(&rows);
        layout.put_channels(event, row.at);
        layout.put_stock(event, row.at);
        layout.put_segments(event, row.at, &rows);
        let mut users = Holdings::default();
        for row in &rows {
            match row {
                SnapshotRow::Session(row) => users.inside.extend([row.user.clone()]),
                SnapshotRow::Hold(row) => users.count_hold(row),
                SnapshotRow::Claim(claim) => users.count_claim(claim),
                SnapshotRow::Place(row) => users.places(row),
                SnapshotRow::Ban(_)
                | SnapshotRow::Gone(_)
                | SnapshotRow::Archived(_)
                | SnapshotRow::Event(_)
                | SnapshotRow::Channel(_)
                | SnapshotRow::Pool(_)
                | SnapshotRow::Category(_)
                | SnapshotRow::Types(_)
                | SnapshotRow::Seat(_) => {}
            }
        }
        let mut payers = BTreeMap::new();
        for (row, score) in rows.iter().zip(FIRST_SCORE..) {
            match row {
                SnapshotRow::Place(row) => layout.put_place(row, score, opened_at, &users),
                SnapshotRow::Hold(row) => {
                    layout.put_hold(row);
                    count_payers(row, &mut payers);
                }
                SnapshotRow::Session(row) => layout.put_session(row, &users),
                SnapshotRow::Claim(claim) => layout.put_claim(claim),
                SnapshotRow::Ban(ban) => layout.put_ban(ban),
                SnapshotRow::Gone(row) => {
                    layout.gone.insert(row.place.to_string(), row.until.to_string());
                }
                SnapshotRow::Event(_)
                | SnapshotRow::Archived(_)
                | SnapshotRow::Channel(_)
                | SnapshotRow::Pool(_)
                | SnapshotRow::Category(_)
                | SnapshotRow::Types(_)
                | SnapshotRow::Seat(_) => {}
            }
        }
        let last_score = FIRST_SCORE + rows.len() as i64;
        layout.meta.insert("last_score".to_owned(), last_score.to_string());
        layout.users = users.into_texts(event, row.at);
        layout.payers =
            payers.into_iter().map(|(payer, units)| (payer, units.to_string())).collect();
        if !layout.bans.is_empty() {
            layout.meta.insert("bans".to_owned(), layout.bans.len().to_string());
        }
        let counts = Counts::of(&layout).expect("what was just written can be read");
        counts.put_into(&mut layout.meta);
        layout
    }

    /// What is left of an event that was archived then.
    fn archived(at: Time) -> Self {
        let texts = [("phase", ARCHIVED.to_owned()), ("at", at.to_string())];
        let meta = texts.into_iter().map(|(field, text)| (field.to_owned(), text));
        Self { meta: meta.collect(), ..Self::default() }
    }

    /// Whether the event was archived.
    pub(super) fn is_archived(&self) -> bool {
        self.meta.get("phase").is_some_and(|phase| phase == ARCHIVED)
    }

    fn put_meta(&mut self, row: &EventRow, opened_at: Time) {
        let mut put = |field: &str, text: String| {
            if !text.is_empty() {
                self.meta.insert(field.to_owned(), text);
            }
        };
        for (field, text) in settings_fields(&row.settings) {
            put(field, text);
        }
        let settings = serde_json::to_string(&row.settings).expect("settings can be written");
        put("settings", settings);
        let phase = serde_json::to_value(row.phase).expect("a phase can be written");
        put("phase", phase.as_str().unwrap_or_default().to_owned());
        put("at", row.at.to_string());
        put("opened", u8::from(row.opened).to_string());
        put("taken", row.taken.to_string());
        let (ms, ns) = (
            row.outflow_clock_ns.div_euclid(1_000_000),
            row.outflow_clock_ns.rem_euclid(1_000_000),
        );
        if row.outflow_clock_ns != 0 {
            put("outflow_ms", ms.to_string());
            put("outflow_ns", ns.to_string());
        }
        if let Some(entrants) = &row.entrants {
            put("entrants", entrants.count.to_string());
            put("entrants_hash", entrants.hash.to_string());
            put("entrants_last", entrants.last_number.to_string());
            if let Some(at) = entrants.fixed_at {
                put("entrants_at", at.to_string());
            }
        }
        if let Some(revealed) = &row.revealed {
            put("seed", revealed.seed.map(|seed| seed.to_string()).unwrap_or_default());
            put("public_value", revealed.public_value.as_deref().unwrap_or_default().to_owned());
        }
        if row.settings.room.as_ref().is_some_and(|room| room.places_per_user > 1) {
            put("streams", "1".to_owned());
        }
        let gaps: Vec<_> = row.gaps.iter().map(|(at, gap_ms)| format!("{at}:{gap_ms}")).collect();
        put("gaps", gaps.join(","));
        for ladder in &row.prices {
            let (field, text) = ladders::field(ladder);
            put(&field, text);
            put("prices", "1".to_owned());
        }
        if row.opened {
            put("opened_at", opened_at.to_string());
            put("open_number", row.taken.to_string());
        }
    }

    fn put_types(&mut self, rows: &[SnapshotRow]) {
        let mut lists = 0;
        for row in rows {
            if let SnapshotRow::Types(list) = row {
                let (field, text) = types::field(list);
                self.meta.insert(field, text);
                lists += 1;
            }
        }
        if lists > 0 {
            self.meta.insert("types".to_owned(), lists.to_string());
        }
    }

    fn put_channels(&mut self, event: &Event, at: Time) {
        let channels = event.ask(at, ChannelsNow).expect("an event that exists has views");
        for (index, channel) in channels.into_iter().enumerate() {
            let ChannelView { spec, taken, released } = channel;
            let into = released.as_ref().and_then(|released| released.into.as_ref());
            let text = ChannelText {
                index: index.to_string(),
                taken: taken.to_string(),
                state: if released.is_some() { "released" } else { "open" }.to_owned(),
                at: text_of_time(released.as_ref().map(|released| released.at)),
                into: into.map(ToString::to_string).unwrap_or_default(),
                spec: serde_json::to_string(&spec).expect("a channel can be written"),
            };
            self.channels.insert(spec.channel.to_string(), text.text());
            let planned = spec.release.filter(|_| released.is_none());
            self.put_deadline(planned.map(|planned| ('9', planned.at)), spec.channel.as_str());
        }
    }

    fn put_stock(&mut self, event: &Event, at: Time) {
        let (Ok(stock), Ok(seats)) = (event.ask(at, AvailabilityNow), event.ask(at, SeatsNow))
        else {
            panic!("an event that exists has views");
        };
        let AvailabilityView { pools, categories } = *stock;
        for (index, pool) in pools.into_iter().enumerate() {
            let units = pool.units;
            let text = PoolText {
                index: index.to_string(),
                capacity: pool.capacity.to_string(),
                price: pool.price_minor.to_string(),
                held: units.held.to_string(),
                sold: units.sold.to_string(),
                blocked: units.blocked.to_string(),
                claimed: pool.claimed.to_string(),
                claimed_by_services: pool.claimed_by_services.to_string(),
            };
            self.pools.insert(pool.pool.to_string(), text.text());
            for (why, count) in pool.blocked_why {
                self.blocked.insert(format!("{}:{why}", pool.pool), count.to_string());
            }
            for (channel, count) in pool.allotted {
                self.blocked.insert(format!("{}@{channel}", pool.pool), count.to_string());
            }
        }
        let mut category_index = HashMap::new();
        for (index, category) in categories.into_iter().enumerate() {
            let units = category.units;
            let text = CategoryText {
                index: index.to_string(),
                price: category.price_minor.to_string(),
                free: units.free.to_string(),
                held: units.held.to_string(),
                sold: units.sold.to_string(),
                blocked: units.blocked.to_string(),
            };
            for (channel, count) in category.allotted {
                self.blocked.insert(format!("@{index}@{channel}"), count.to_string());
            }
            self.categories.insert(category.name.to_string(), text.text());
            category_index.insert(category.name, index);
        }
        for (index, seat) in seats.into_iter().enumerate() {
            let category = category_index[seat.category.as_ref()];
            let (state, of) = match (&seat.status, seat.booking, seat.why) {
                (SeatStatus::Held, Some(booking), _) => ("H", booking.to_string()),
                (SeatStatus::Sold, Some(booking), _) => ("S", booking.to_string()),
                (SeatStatus::Blocked, _, Some(why)) => ("B", why.to_string()),
                (SeatStatus::Blocked, ..) if let Some(channel) = seat.channel => {
                    ("A", channel.to_string())
                }
                (
                    SeatStatus::Free | SeatStatus::Held | SeatStatus::Sold | SeatStatus::Blocked,
                    ..,
                ) => ("F", String::new()),
            };
            let (index, category) = (index.to_string(), category.to_string());
            let text = SeatText { index, category, state: state.to_owned(), of };
            self.seats.insert(seat.seat.to_string(), text.text());
        }
    }

    fn put_segments(&mut self, event: &Event, at: Time, rows: &[SnapshotRow]) {
        let Ok(views) = event.ask(at, SeatsNow) else { panic!("an event that exists has views") };
        let specs: Vec<_> = rows
            .iter()
            .filter_map(|row| if let SnapshotRow::Seat(row) = row { Some(&row.spec) } else { None })
            .collect();
        let Ok(channels) = event.ask(at, ChannelsNow) else { return };
        let channels: Vec<_> = channels.into_iter().map(|view| view.spec.channel).collect();
        let texts = SegmentTexts::of(event.segments(), &specs, &views, &channels);
        self.segments = texts.segments;
        self.segments_free = texts.free;
        self.segments_open = texts.open;
        self.access = texts.access;
        if !specs.is_empty() {
            self.meta.insert("sections".to_owned(), texts.sections);
        }
    }

    fn put_place(&mut self, row: &PlaceRow, score: i64, opened_at: Time, users: &Holdings) {
        let member = member(row.number, &row.user);
        if let Some(last_seen) = row.last_seen.filter(|last_seen| *last_seen != opened_at) {
            self.lapses.insert(member.clone(), last_seen.to_string());
        }
        let is_inside = users.inside.contains(&row.user);
        let line = if is_inside { &mut self.parked } else { &mut self.queue };
        line.push((member, score));
    }

    fn put_hold(&mut self, row: &HoldRow) {
        let terms = &row.terms;
        let (time, before, payment, refund_minor) = match &row.state {
            HoldState::Held { until } => (*until, None, None, 0),
            HoldState::Paying { until, before, payment } => {
                (*until, Some(*before), Some(payment), 0)
            }
            HoldState::Confirmed { at, payment } | HoldState::Expired { at, payment } => {
                (*at, None, payment.as_ref(), 0)
            }
            HoldState::Released { at } => (*at, None, None, 0),
            HoldState::Cancelled { at, refund_minor } => (*at, None, None, *refund_minor),
        };
        let check_ins: Vec<_> = row
            .checked_in
            .iter()
            .map(|CheckIn { ticket, at, scan }| match scan {
                Some(scan) => format!("{ticket}:{at}:{scan}"),
                None => format!("{ticket}:{at}"),
            })
            .collect();
        let text = HoldText {
            state: row.state.status().to_string(),
            user: terms.user.to_string(),
            amount: terms.amount_minor.to_string(),
            fee: terms.fee_minor.to_string(),
            created: terms.created_at.to_string(),
            time: time.to_string(),
            before: text_of_time(before),
            payment: payment.map(ToString::to_string).unwrap_or_default(),
            refund: refund_minor.to_string(),
            payments: row.payments.to_string(),
            extensions: row.extensions.to_string(),
            checkins: check_ins.join(","),
            lines: serde_json::to_string(&terms.lines).expect("lines can be written"),
            more: ladders::more_text(row),
        };
        self.holds.insert(terms.booking.to_string(), text.text());
        if !row.extensions_named.is_empty() {
            let named: Vec<_> = row.extensions_named.iter().map(ToString::to_string).collect();
            self.extended.insert(terms.booking.to_string(), named.join(","));
        }
        let deadline = match &row.state {
            HoldState::Held { until } | HoldState::Paying { until, .. } => Some(('1', *until)),
            HoldState::Confirmed { .. } | HoldState::Expired { payment: Some(_), .. } => None,
            HoldState::Released { at }
            | HoldState::Expired { at, payment: None }
            | HoldState::Cancelled { at, .. } => Some(('6', at.plus_ms(ENDED_KNOWN_MS))),
        };
        self.put_deadline(deadline, terms.booking.as_str());
    }

    fn put_session(&mut self, row: &SessionRow, users: &Holdings) {
        let (state, until, arrive_by) = match row.state {
            SessionState::Invited { until, arrive_by } => ("invited", Some(until), Some(arrive_by)),
            SessionState::Active { until } => ("active", Some(until), None),
            SessionState::Ended => ("ended", None, None),
        };
        let live_holds = users.of_user.get(&row.user).map_or(0, |holdings| holdings.live_holds);
        let text = SessionText {
            place: row.place.to_string(),
            number: row.number.to_string(),
            state: state.to_owned(),
            until_at: text_of_time(until),
            arrive_by: text_of_time(arrive_by),
            live_holds: live_holds.to_string(),
        };
        self.sessions.insert(row.user.to_string(), text.text());
        let member = member(row.number, &row.user);
        self.put_deadline(arrive_by.map(|at| ('3', at)), &member);
        self.put_deadline(until.map(|at| ('4', at)), &member);
    }

    fn put_claim(&mut self, claim: &ClaimView) {
        let (state, time, deadline) = match claim.state {
            ClaimState::Claimed { until } => ("claimed", until, until.map(|until| ('2', until))),
            ClaimState::Returned { at } => ("returned", Some(at), forgotten(at)),
            ClaimState::Expired { at } => ("expired", Some(at), forgotten(at)),
            ClaimState::Adjusted { at } => ("adjusted", Some(at), forgotten(at)),
        };
        // What the state says of a claim anyway is not said twice.
        let is_told = claim.state == ClaimState::Claimed { until: claim.first_until };
        let first = claim.first_until.filter(|_| !is_told);
        let text = ClaimText {
            user: claim.user.as_ref().map(ToString::to_string).unwrap_or_default(),
            pool: claim.pool.to_string(),
            amount: claim.amount.to_string(),
            before: claim.before.to_string(),
            after: claim.after.to_string(),
            state: state.to_owned(),
            time: text_of_time(time),
            first: text_of_time(first),
        };
        self.claims.insert(claim.claim.to_string(), text.text());
        self.put_deadline(deadline, claim.claim.as_str());
    }

    fn put_ban(&mut self, ban: &BanView) {
        let reason = serde_json::to_string(&ban.reason).expect("a reason can be written");
        let text = BanText { at: ban.at.to_string(), reason };
        self.bans.insert(ban.user.to_string(), text.text());
    }

    fn put_deadline(&mut self, deadline: Option<(char, Time)>, id: &str) {
        if let Some((kind, at)) = deadline {
            self.deadlines.insert(format!("{kind}:{id}"), at.to_string());
        }
    }
}

fn forgotten(at: Time) -> Option<(char, Time)> {
    Some(('7', at.plus_ms(ENDED_KNOWN_MS)))
}
