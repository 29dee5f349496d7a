//! A state as a list of rows, to be written beside the journal and read back.
//!
//! Rows hold what cannot be derived; indexes, counts and deadlines follow from them. Equal states
//! give equal rows.

use crate::channels::ChannelView;
use crate::event::Event;
use crate::gaps::Gaps;
use crate::hold::{CheckIn, HoldState, HoldTerms};
use crate::ids::{ChannelId, EventId, ExtensionId, PlaceId, UserId};
use crate::payers::NamedPayers;
use crate::phase::Phase;
use crate::prices::{Ladder, Prices};
use crate::seats::SeatState;
use crate::settings::Settings;
use crate::spec::{CategorySpec, PoolSpec, SeatSpec};
use crate::time::Time;
use crate::types::TypeList;
use crate::view::{BanView, ClaimState, ClaimView};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;

pub use crate::waiting_room::session::SessionState;
pub use crate::waiting_room::{Entrants, Revealed};

/// One row of a snapshot of one event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotRow {
    /// The event itself; the first row.
    Event(Box<EventRow>),
    /// A channel, in the order they were added.
    Channel(ChannelView),
    /// A pool, in the order they were added.
    Pool(PoolRow),
    /// A price category, in the order they were added.
    Category(CategorySpec),
    /// The ticket types of a pool or category, categories' first, each by name.
    Types(TypeList),
    /// A seat, in the order they were added.
    Seat(SeatRow),
    /// A waiting place, in the order of the line.
    Place(PlaceRow),
    /// A booking, in the order they were held, ties by id.
    Hold(HoldRow),
    /// A session, by its place's number.
    Session(SessionRow),
    /// A claim or adjustment, by id.
    Claim(ClaimView),
    /// Somebody who is banned, by user id.
    Ban(BanView),
    /// A place that is gone and still known, in the order in which they are forgotten, ties by id.
    Gone(GoneRow),
    /// That the event was archived; the only row of one that was.
    Archived(ArchivedRow),
}

/// What is left of an event that was archived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedRow {
    /// When.
    pub at: Time,
}

/// An event without its parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRow {
    /// Its settings.
    pub settings: Settings,
    /// Its phase.
    pub phase: Phase,
    /// The time of its last change.
    pub at: Time,
    /// Whether the sale was ever opened.
    pub opened: bool,
    /// Places taken so far.
    pub taken: u32,
    /// The outflow's clock, in nanoseconds: how far admissions have used up the time they may use.
    pub outflow_clock_ns: i64,
    /// The list of those who take part in the draw, once it is fixed.
    pub entrants: Option<Entrants>,
    /// What became known when the sale opened.
    pub revealed: Option<Revealed>,
    /// The prices of what ever changed its price, by what it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<Ladder>,
    /// When the engine was away.
    #[serde(default, skip_serializing_if = "Gaps::is_empty")]
    pub gaps: Gaps,
}

/// A pool without what bookings and claims tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolRow {
    /// The pool as it was added, with its present capacity.
    pub spec: PoolSpec,
    /// Units that services claimed.
    pub claimed_by_services: u32,
    /// Blocked units by reason.
    pub blocked_why: Vec<(Box<str>, u32)>,
    /// Units that are free in a channel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allotted: Vec<(ChannelId, u32)>,
}

/// A seat without what bookings tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatRow {
    /// The seat as it was added.
    pub spec: SeatSpec,
    /// Why it is blocked, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_why: Option<Box<str>>,
    /// The channel that it is free in, if it is for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<ChannelId>,
}

/// A waiting place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceRow {
    /// The place.
    pub place: PlaceId,
    /// Whose.
    pub user: UserId,
    /// Its number in the order taken, from 1.
    pub number: u32,
    /// When it was last seen; `None` before the sale opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen: Option<Time>,
}

/// A booking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldRow {
    /// What never changes about it.
    pub terms: Arc<HoldTerms>,
    /// Where it stands.
    pub state: HoldState,
    /// Payments started so far.
    pub payments: u8,
    /// Extensions so far.
    pub extensions: u8,
    /// Those of them that had a name, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extensions_named: Vec<ExtensionId>,
    /// Tickets that were let in, by their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checked_in: Vec<CheckIn>,
    /// Who pays, as far as that was named.
    #[serde(default, skip_serializing_if = "NamedPayers::are_none")]
    pub payers: NamedPayers,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// The place it began with.
    pub place: PlaceId,
    /// Whose.
    pub user: UserId,
    /// The place's number in the order taken.
    pub number: u32,
    /// Where it stands.
    pub state: SessionState,
}

/// A place that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoneRow {
    /// The place.
    pub place: PlaceId,
    /// Until when it is known.
    pub until: Time,
}

/// Whether rows that were kept are those of the state that they should be.
///
/// Rows that an older version kept know nothing of places that are gone, not what claims were
/// first told, not in which order a user held what they held within one millisecond, not when the
/// engine was away, not when a draw's list was fixed, and not what extensions were called: what they
/// lack is not held against them.
#[must_use]
pub fn agree(
    kept: impl IntoIterator<Item = SnapshotRow>,
    expected: impl IntoIterator<Item = SnapshotRow>,
) -> bool {
    let untold = |mut row: SnapshotRow| {
        if let SnapshotRow::Claim(claim) = &mut row {
            claim.first_until = None;
        }
        row
    };
    let is_gone = |row: &SnapshotRow| matches!(row, SnapshotRow::Gone(_));
    let mut expected = ties_by_id(expected.into_iter().map(untold));
    for row in ties_by_id(kept.into_iter().map(untold)) {
        loop {
            match expected.next() {
                Some(other) if is_kept(&row, &other) => break,
                Some(other) if is_gone(&row) && is_gone(&other) => {}
                Some(_) | None => return false,
            }
        }
    }
    expected.all(|row| is_gone(&row))
}

fn is_kept(row: &SnapshotRow, expected: &SnapshotRow) -> bool {
    match (row, expected) {
        (SnapshotRow::Event(row), SnapshotRow::Event(expected)) => {
            let mut told = (**expected).clone();
            told.gaps = row.gaps.clone();
            if let (Some(kept), Some(entrants)) = (&row.entrants, &mut told.entrants)
                && kept.fixed_at.is_none()
            {
                entrants.fixed_at = None;
            }
            told.gaps.are_among(&expected.gaps) && **row == told
        }
        (SnapshotRow::Hold(row), SnapshotRow::Hold(expected))
            if row.extensions_named != expected.extensions_named =>
        {
            let names = &row.extensions_named;
            let told = HoldRow { extensions_named: names.clone(), ..expected.clone() };
            names.iter().all(|name| expected.extensions_named.contains(name)) && *row == told
        }
        (row, expected) => row == expected,
    }
}

/// The same rows, with bookings of one millisecond in the order of their ids.
fn ties_by_id(rows: impl Iterator<Item = SnapshotRow>) -> impl Iterator<Item = SnapshotRow> {
    let mut rows = rows.peekable();
    let mut ties = VecDeque::new();
    std::iter::from_fn(move || {
        if let Some(row) = ties.pop_front() {
            return Some(SnapshotRow::Hold(row));
        }
        let first = rows.next()?;
        let SnapshotRow::Hold(first) = first else { return Some(first) };
        let at = first.terms.created_at;
        ties.push_back(first);
        let is_tie =
            |row: &SnapshotRow| matches!(row, SnapshotRow::Hold(row) if row.terms.created_at == at);
        while let Some(SnapshotRow::Hold(row)) = rows.next_if(is_tie) {
            ties.push_back(row);
        }
        ties.make_contiguous().sort_by(|one, other| one.terms.booking.cmp(&other.terms.booking));
        ties.pop_front().map(SnapshotRow::Hold)
    })
}

impl Event {
    /// The state as rows, in one fixed order; nothing for an event that was never created.
    pub fn snapshot(&self) -> impl Iterator<Item = SnapshotRow> + '_ {
        let mut holds: Vec<_> = self.bookings.each_users_in_order().collect();
        // Stable: what one user held within one millisecond stays in the order they held it.
        holds.sort_by_key(|(_, hold)| (hold.terms.created_at, &hold.terms.user));
        let mut sessions: Vec<_> = self.room.sessions.iter().collect();
        sessions.sort_unstable_by_key(|session| session.number);
        let mut claims: Vec<_> = self.claims.iter().collect();
        claims.sort_unstable_by_key(|claim| &claim.claim);

        let event = self
            .settings
            .as_ref()
            .map(|settings| SnapshotRow::Event(Box::new(self.event_row(settings))));
        let channels = self.channels.iter().cloned().map(SnapshotRow::Channel);
        let pools = self.stock.iter().map(|pool| {
            let view = pool.view(None);
            SnapshotRow::Pool(PoolRow {
                spec: pool.spec.clone(),
                claimed_by_services: pool.claimed_by_services,
                blocked_why: view.blocked_why,
                allotted: view.allotted,
            })
        });
        let categories = self.seats.categories().map(|category| {
            let name = category.name.as_ref().into();
            SnapshotRow::Category(CategorySpec { name, price_minor: category.price_minor })
        });
        let types = self.types.lists().map(SnapshotRow::Types);
        let seats = self.seats.iter().map(|seat| {
            let row = SeatRow { spec: seat.spec.clone(), blocked_why: None, channel: None };
            SnapshotRow::Seat(match &seat.state {
                SeatState::Blocked(why) => SeatRow { blocked_why: Some(why.clone()), ..row },
                SeatState::Allotted(number) => {
                    SeatRow { channel: Some(self.channels.id(*number)), ..row }
                }
                SeatState::Free | SeatState::Held(_) | SeatState::Sold(_) => row,
            })
        });
        let places = self.room.in_order().map(|place| {
            SnapshotRow::Place(PlaceRow {
                place: place.id,
                user: self.users[place.user].id.clone(),
                number: place.number,
                last_seen: self.room.last_seen(place),
            })
        });
        let holds = holds.into_iter().map(|(idx, hold)| {
            SnapshotRow::Hold(HoldRow {
                terms: Arc::clone(&hold.terms),
                state: hold.state.clone(),
                payments: hold.payments,
                extensions: hold.extensions,
                extensions_named: self.bookings.extensions_named(idx).to_vec(),
                checked_in: hold.checked_in.clone(),
                payers: self.payers.of(idx),
            })
        });
        let sessions = sessions.into_iter().map(|session| {
            SnapshotRow::Session(SessionRow {
                place: session.place,
                user: self.users[session.user].id.clone(),
                number: session.number,
                state: session.state,
            })
        });
        let claims = claims.into_iter().cloned().map(SnapshotRow::Claim);
        let bans = self.bans.after(None).map(SnapshotRow::Ban);
        let gone = self.room.gone.known(self.at);
        let gone = gone.map(|(until, place)| SnapshotRow::Gone(GoneRow { place, until }));
        event
            .into_iter()
            .chain(channels)
            .chain(pools)
            .chain(categories)
            .chain(types)
            .chain(seats)
            .chain(places)
            .chain(holds)
            .chain(sessions)
            .chain(claims)
            .chain(bans)
            .chain(gone)
            .chain(self.archived.map(|at| SnapshotRow::Archived(ArchivedRow { at })))
    }

    /// The state that these rows describe.
    ///
    /// # Errors
    /// If the rows do not begin with the event's own.
    ///
    /// # Panics
    /// If the rows contradict each other, as no rows of [`snapshot`](Self::snapshot) do; a checksum
    /// keeps others out.
    pub fn restore(
        id: EventId,
        rows: impl IntoIterator<Item = SnapshotRow>,
    ) -> Result<Self, String> {
        let mut event = Self::new(id);
        for row in rows {
            let is_first = event.settings.is_none() && event.archived.is_none();
            if is_first != matches!(row, SnapshotRow::Event(_) | SnapshotRow::Archived(_)) {
                return Err(format!("event {}: its own row must come first, and once", event.id));
            }
            event.restore_row(row);
        }
        Ok(event)
    }

    fn event_row(&self, settings: &Settings) -> EventRow {
        EventRow {
            settings: settings.clone(),
            phase: self.phase,
            at: self.at,
            opened: self.opened,
            taken: self.room.taken,
            outflow_clock_ns: self.room.outflow_clock_ns,
            entrants: self.room.entrants.clone(),
            revealed: self.room.revealed.clone(),
            prices: self.prices.ladders().cloned().collect(),
            gaps: self.gaps.clone(),
        }
    }

    fn restore_row(&mut self, row: SnapshotRow) {
        match row {
            SnapshotRow::Event(row) => {
                self.settings = Some(row.settings);
                self.phase = row.phase;
                self.at = row.at;
                self.opened = row.opened;
                self.room.taken = row.taken;
                self.room.outflow_clock_ns = row.outflow_clock_ns;
                self.room.entrants = row.entrants;
                self.room.revealed = row.revealed;
                self.prices = Prices::restore(row.prices);
                self.gaps = row.gaps;
            }
            // What is taken follows from the bookings.
            SnapshotRow::Channel(row) => self.channels.restore(ChannelView { taken: 0, ..row }),
            SnapshotRow::Pool(row) => {
                let id = row.spec.pool.clone();
                self.stock.add(row.spec);
                self.stock.change(&id, |pool| {
                    if row.claimed_by_services > 0 {
                        pool.adjust_claimed(i64::from(row.claimed_by_services));
                    }
                    row.blocked_why.iter().for_each(|(why, count)| pool.block(*count, why));
                });
                for (channel, count) in &row.allotted {
                    self.stock.set_aside(&id, *count, Some(channel));
                }
            }
            SnapshotRow::Category(spec) => self.seats.add_category(&spec),
            SnapshotRow::Types(list) => self.types.set(&list.of, &list.types),
            SnapshotRow::Seat(row) => {
                self.seats.add(&row.spec);
                if let Some(why) = row.blocked_why {
                    self.seats.set(&row.spec.seat, SeatState::Blocked(why));
                }
                if let Some(channel) = row.channel {
                    let allotted = SeatState::Allotted(self.channels.number(&channel));
                    self.seats.set(&row.spec.seat, allotted);
                }
            }
            SnapshotRow::Place(row) => {
                let user = self.users.find_or_add(&row.user);
                self.room.take(row.last_seen, row.place, row.number, user, &mut self.users);
            }
            SnapshotRow::Hold(row) => self.restore_hold(row),
            SnapshotRow::Session(row) => {
                let user = self.users.find_or_add(&row.user);
                self.start_session(row.place, row.number, user, row.state);
            }
            SnapshotRow::Claim(mut claim) => {
                if let ClaimState::Claimed { until } = claim.state {
                    // An older version did not keep what was told first.
                    claim.first_until = claim.first_until.or(until);
                }
                if let (Some(owner), ClaimState::Claimed { .. }) = (&claim.user, claim.state) {
                    let quantity =
                        u32::try_from(claim.amount).expect("a visitor's claim is positive");
                    self.stock.change(&claim.pool, |pool| pool.claim(quantity));
                    let user = self.users.find_or_add(owner);
                    self.users[user].units += quantity;
                }
                self.claims.insert(claim);
            }
            SnapshotRow::Ban(ban) => self.bans.add(ban),
            SnapshotRow::Gone(row) => self.room.gone.restore(row.until, row.place),
            SnapshotRow::Archived(row) => (self.archived, self.at) = (Some(row.at), row.at),
        }
    }

    fn restore_hold(&mut self, row: HoldRow) {
        let user = self.users.find_or_add(&row.terms.user);
        let idx = self.bookings.insert(Arc::clone(&row.terms), row.state, user, &mut self.users);
        let extended = (row.extensions, row.extensions_named);
        self.bookings.restore_counts(idx, row.payments, extended, row.checked_in);
        let (live, confirmed) = match self.bookings[idx].state {
            HoldState::Held { .. } | HoldState::Paying { .. } => (true, false),
            HoldState::Confirmed { .. } => (true, true),
            HoldState::Released { .. }
            | HoldState::Expired { .. }
            | HoldState::Cancelled { .. } => (false, false),
        };
        if live {
            self.occupy(&row.terms.lines, idx);
            self.channels.take(&row.terms.lines, &row.terms.sources);
            self.users[user].units += row.terms.lines.units();
        }
        let units = if live { row.terms.lines.units() } else { 0 };
        row.payers.iter().for_each(|(by, payer)| self.payers.name(idx, units, by, payer));
        if confirmed {
            self.sell(&row.terms.lines, idx);
        }
    }
}
