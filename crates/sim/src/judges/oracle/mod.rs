//! The oracle: the rules once more, written from the documents in the plainest way, to predict
//! every reply, refusal and change.
//!
//! It shares only the words with the rules (commands, changes, replies, refusals): no state, no
//! arithmetic, no order of deadlines. Where the rules read first and write later, it does both at
//! once; where they keep indexes, it looks everything through.

mod accessible;
mod best;
mod books;
mod channels;
mod claim;
mod hold;
mod limits;
mod money;
mod organiser;
mod payers;
mod prices;
mod settings;
mod single_seats;
mod stock;
mod tick;
mod types;
mod views;
mod visitor;

use crate::asked::{Asked, Deal};
use crate::judge::{Judge, Verdict};
use crate::rules::Rules;
use books::{Booking, Inside, Pool, Seat, Waiting};
use channels::Channel;
use onrush_core::command::CancelTerms;
use onrush_core::ids::{BookingId, ClaimId, PlaceId, UserId};
use onrush_core::settings::{Digest, RoomSettings, Settings};
use onrush_core::spec::{CategorySpec, Reason};
use onrush_core::types::TypeList;
use onrush_core::view::{ClaimView, Reply};
use onrush_core::{Change, Command, Phase, Refusal, Time};
use prices::Tariff;
use std::collections::BTreeMap;

/// An answer, as the oracle expects it.
type Answer = Result<Reply, Refusal>;

/// The oracle's event.
#[derive(Debug, Default)]
pub struct Oracle {
    settings: Option<Settings>,
    /// When it was archived.
    archived: Option<Time>,
    phase: Option<Phase>,
    /// Whether places lapse: since the opening, or since the end of a sale that never opened.
    opened: bool,
    /// When it went on after it was away, and for how long.
    away: Vec<(Time, i64)>,
    /// In the order of service.
    line: Vec<Waiting>,
    /// In the order of admission.
    inside: Vec<Inside>,
    gone: BTreeMap<PlaceId, Time>,
    taken: u32,
    /// How far admissions have used up the time they may use, in nanoseconds.
    outflow_ns: i64,
    /// How many take part in the draw, the list's hash, and the last number that does.
    entrants: Option<(u32, Digest, u32, Time)>,
    revealed: Option<(Option<Digest>, Option<Box<str>>)>,
    pools: Vec<Pool>,
    categories: Vec<CategorySpec>,
    seats: Vec<Seat>,
    channels: Vec<Channel>,
    /// Of what ever changed its price.
    tariffs: Vec<Tariff>,
    /// Of what has types, in the order they were set.
    types: Vec<TypeList>,
    /// When the present command is decided.
    now: Time,
    bookings: BTreeMap<BookingId, Booking>,
    /// Live holds, in the order they were placed.
    live: Vec<BookingId>,
    /// Ended bookings that are still known.
    ended: Vec<(Time, BookingId)>,
    /// All bookings of each user, in the order they were placed.
    of_user: BTreeMap<UserId, Vec<BookingId>>,
    claims: BTreeMap<ClaimId, ClaimView>,
    /// Units held, confirmed and claimed.
    units: BTreeMap<UserId, u32>,
    bans: BTreeMap<UserId, (Reason, Time)>,
    /// What the present command changes.
    changes: Vec<Change>,
}

impl Oracle {
    /// What must be answered to `command` at `at`, and what it changes.
    fn predict(&mut self, at: Time, command: &Command) -> Answer {
        self.now = at;
        self.changes.clear();
        if let Command::CreateEvent { settings } = command {
            return self.create(settings);
        }
        if self.settings.is_none() {
            return Err(self.nothing_there());
        }
        match command {
            Command::CreateEvent { .. } => Err(Refusal::EventExists),
            Command::ChangeSettings { settings } => self.change_settings(settings),
            Command::AddPool { spec } => self.add_pool(spec),
            Command::AdjustCapacity { pool, capacity, reason } => {
                self.adjust_capacity(pool, *capacity, reason)
            }
            Command::ChangePrice { of, price_minor, later, reason } => {
                self.change_price(of, *price_minor, later, reason)
            }
            Command::SetTypes { of, types, reason } => self.set_types(of, types, reason),
            Command::AddSeats { categories, seats } => self.add_seats(categories, seats),
            Command::Block { lines, reason } => self.block(lines, reason),
            Command::Unblock { lines, reason } => self.unblock(lines, reason),
            Command::SetChannel { spec, reason } => self.set_channel(spec, reason),
            Command::Allot { lines, from, to, reason } => {
                self.allot(lines, from.as_ref(), to.as_ref(), reason)
            }
            Command::ReleaseChannel { channel, into, reason } => {
                self.release_channel(channel, into.as_ref(), reason)
            }
            Command::OpenPrequeue => self.open_prequeue(),
            Command::ClosePrequeue => self.close_prequeue(at),
            Command::OpenSale { seed, public_value } => {
                self.open_sale(at, *seed, public_value.as_deref())
            }
            Command::Pause => self.pause(at),
            Command::Resume => self.resume(at),
            Command::Close => self.close(at),
            Command::Archive { reason } => self.archive(at, reason),
            Command::Join { place, user } => self.join(at, *place, user),
            Command::Leave { place, user } => self.leave(at, *place, user),
            Command::See { place, user } => self.see(at, *place, user),
            Command::Arrive { place, user } => self.arrive(at, *place, user),
            Command::Hold { booking, user, lines, channels, types } => {
                self.hold(at, booking, user, lines, channels, types)
            }
            Command::HoldBest { booking, user, order, channels, types } => {
                self.hold_best(at, booking, user, order, channels, types)
            }
            Command::Extend { booking, user, extension } => {
                self.extend(at, booking, user, *extension)
            }
            Command::Release { booking, user } => self.release(at, booking, user),
            Command::NamePayer { booking, user, by, payer } => {
                self.name_payer(at, booking, user, *by, *payer)
            }
            Command::BeginPayment { booking, user, payment } => {
                self.begin_payment(at, booking, user, payment)
            }
            Command::FailPayment { booking, payment, why, then } => {
                self.fail_payment(at, booking, payment, why, *then)
            }
            Command::Confirm { booking, user, payment } => {
                self.confirm(at, booking, user, payment.as_ref())
            }
            Command::CancelConfirmed { booking, reason, terms } => match terms {
                CancelTerms::Buyer { user, at_least_minor } => {
                    self.cancel(at, booking, reason, Some(user), *at_least_minor)
                }
                CancelTerms::Organiser { refund_minor } => {
                    self.cancel(at, booking, reason, None, *refund_minor)
                }
            },
            Command::CheckIn { booking, ticket, scan } => {
                self.check_in(at, booking, *ticket, *scan)
            }
            Command::Claim { claim, user, pool, quantity, ttl_ms } => {
                self.claim(at, claim, user, pool, *quantity, *ttl_ms)
            }
            Command::Declaim { claim, user } => self.declaim(at, claim, user),
            Command::AdjustClaimed { claim, pool, amount, reason } => {
                self.adjust_claimed(at, claim, pool, *amount, reason)
            }
            Command::RemoveVisitor { user, reason, ban } => self.remove(at, user, reason, *ban),
            Command::UnbanVisitor { user, reason } => self.unban(user, reason),
            Command::Tick => {
                self.tick(at);
                Ok(Reply::Done)
            }
            Command::Recover { gap_ms } => self.recover(*gap_ms),
        }
    }

    fn settings(&self) -> &Settings {
        self.settings.as_ref().expect("an event that exists has settings")
    }

    fn room(&self) -> Option<&RoomSettings> {
        self.settings.as_ref()?.room.as_ref()
    }

    fn phase(&self) -> Phase {
        self.phase.unwrap_or(Phase::Scheduled)
    }

    /// The phase, with a closing time that has come but was not dealt with.
    fn phase_at(&self, at: Time) -> Phase {
        match self.settings.as_ref().and_then(|settings| settings.closes_at) {
            Some(closes_at) if at >= closes_at => Phase::Closed,
            Some(_) | None => self.phase(),
        }
    }

    fn change(&mut self, change: impl Into<Change>) {
        self.changes.push(change.into());
    }

    fn units_of(&self, user: &UserId) -> u32 {
        self.units.get(user).copied().unwrap_or(0)
    }

    fn add_units(&mut self, user: &UserId, more: u32) {
        match self.units.get_mut(user) {
            Some(units) => *units += more,
            None => drop(self.units.insert(user.clone(), more)),
        }
    }

    fn drop_units(&mut self, user: &UserId, fewer: u32) {
        if let Some(units) = self.units.get_mut(user) {
            *units -= fewer;
            if *units == 0 {
                self.units.remove(user);
            }
        }
    }
}

fn same_answer(said: &Answer, expected: &Answer) -> bool {
    match (said, expected) {
        (Ok(said), Ok(expected)) => said == expected,
        (Err(said), Err(expected)) => same_refusal(said, expected),
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
    }
}

/// Whether two refusals say the same: their code and their fields, not their sentence.
fn same_refusal(one: &Refusal, other: &Refusal) -> bool {
    match (one, other) {
        (Refusal::InvalidSettings { field, .. }, Refusal::InvalidSettings { field: f, .. })
        | (Refusal::InvalidLines { field, .. }, Refusal::InvalidLines { field: f, .. })
        | (Refusal::SettingsFixed { field, .. }, Refusal::SettingsFixed { field: f, .. }) => {
            field == f
        }
        (Refusal::EventLimit { .. }, Refusal::EventLimit { .. })
        | (Refusal::AlreadyInPhase { .. }, Refusal::AlreadyInPhase { .. })
        | (Refusal::OtherStepFirst { .. }, Refusal::OtherStepFirst { .. }) => true,
        (one, other) => one == other,
    }
}

impl Judge for Oracle {
    fn name(&self) -> &'static str {
        "oracle"
    }

    fn committed(&mut self, asked: &Asked) -> Verdict {
        match &asked.deal {
            Deal::Command { command, said, changes } => {
                let expected = self.predict(asked.at, command);
                if !same_answer(said, &expected) {
                    return Err(format!("the answer was {said:?}, and should be {expected:?}"));
                }
                if changes.as_slice() != self.changes {
                    let expected = &self.changes;
                    return Err(format!("it changed {changes:?}, and should change {expected:?}"));
                }
                Ok(())
            }
            Deal::Look { query, shown } => {
                let expected = self.view(asked.at, query);
                if *shown == expected {
                    Ok(())
                } else {
                    Err(format!("it showed {shown:?}, and should show {expected:?}"))
                }
            }
        }
    }

    fn audited(&mut self, at: Time, rules: &Rules) -> Verdict {
        for query in self.all_queries() {
            let (shown, expected) = (rules.query(at, &query), self.view(at, &query));
            if shown != expected {
                return Err(format!(
                    "{query:?} shows {shown:?} of what is committed, and should show {expected:?}"
                ));
            }
        }
        let (due, expected) = (rules.next_deadline(), self.next_due());
        if due != expected {
            return Err(format!("the next deadline is {due:?}, and should be {expected:?}"));
        }
        Ok(())
    }
}
