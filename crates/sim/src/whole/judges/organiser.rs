//! The judge of the organiser: what was said to be done was done once and as it was asked for, what
//! was refused was not, and nothing was done that nobody asked for.

use super::super::noted::{Came, What};
use super::super::world::World;
use super::Facts;
use onrush_core::Change;
use onrush_core::change::{BookingChange, SaleChange, SetupChange, VisitorChange};
use onrush_core::ids::EventId;
use onrush_core::prices::Priced;
use onrush_relay::messages::CANCELLED_BY_BUYER;
use onrush_store::FeedEntry;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often something was done, by the journal and by what was answered.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    in_journal: u32,
    done: u32,
    unknown: u32,
}

/// An operator has accepted `losses` times that something is lost, and each time every open sale was
/// paused; `restores` of them took decisions away.
pub(super) fn judge(
    world: &World,
    (losses, restores): (u64, u64),
    facts: &Facts,
    entries: &[Arc<FeedEntry>],
    violations: &mut Vec<String>,
) {
    let mut is_so = Vec::new();
    let mut all = BTreeMap::<(EventId, What, String), Times>::new();
    for act in world.acts() {
        let times = all.entry((act.event.clone(), act.what, act.word)).or_default();
        match act.came {
            // It may be among what got lost.
            Came::Done if act.restores < restores => times.unknown += 1,
            // What is so already is not done again, and said to be done.
            Came::Done if matches!(act.what, What::Bans | What::Unbans | What::Cancels) => {
                times.unknown += 1;
                is_so.push((act.event, act.what, act.whom));
            }
            Came::Done => times.done += 1,
            Came::Refused => {}
            Came::Unknown => times.unknown += 1,
        }
    }
    for (event, what, whom) in is_so {
        // Nobody is banned to begin with.
        if what != What::Unbans && !was_done(entries, &event, what, &whom) {
            violations.push(format!("the organiser {what:?} {whom} of {event}, and it is not so"));
        }
    }
    let wanted: BTreeMap<_, _> =
        world.acts().into_iter().map(|act| ((act.event, act.what, act.word), act.wanted)).collect();
    for entry in entries {
        for change in &entry.changes {
            let Some((what, word)) = done(change) else { continue };
            let wanted = wanted.get(&(entry.event.clone(), what, word.clone()));
            if wanted.is_some_and(|wanted| !is_as_wanted(change, wanted, facts)) {
                violations
                    .push(format!("the organiser {what:?} {word}: {wanted:?} was {change:?}"));
            }
            let about = (entry.event.clone(), what, word);
            all.entry(about).or_default().in_journal += 1;
        }
    }
    for ((event, what, word), times) in all {
        let Times { in_journal, done, mut unknown } = times;
        if what == What::Pauses {
            unknown += u32::try_from(losses).unwrap_or_default();
        }
        if in_journal < done || in_journal > done + unknown {
            violations.push(format!(
                "the organiser {what:?} {event} ({word}): done {in_journal} times, answered \
                 {done} times as done and {unknown} times not at all"
            ));
        }
    }
}

/// Whether a booking was taken back, or a visitor banned.
fn was_done(entries: &[Arc<FeedEntry>], event: &EventId, what: What, whom: &str) -> bool {
    let entries = entries.iter().filter(|entry| entry.event == *event);
    entries.flat_map(|entry| &entry.changes).any(|change| match change {
        Change::Visitor(VisitorChange::VisitorRemoved { user, banned: true, .. }) => {
            what == What::Bans && user.as_str() == whom
        }
        Change::Booking(BookingChange::ConfirmedCancelled { booking, .. }) => {
            what == What::Cancels && booking.as_str() == whom
        }
        Change::Setup(_)
        | Change::Sale(_)
        | Change::Queue(_)
        | Change::Visitor(_)
        | Change::Hold(_)
        | Change::Booking(_)
        | Change::Claim(_) => false,
    })
}

/// Whether a change is what the organiser asked for, number by number.
fn is_as_wanted(change: &Change, wanted: &Value, facts: &Facts) -> bool {
    match change {
        Change::Setup(SetupChange::CapacityAdjusted { after, .. }) => wanted["capacity"] == *after,
        Change::Setup(SetupChange::PriceChanged { of, price_minor, later, .. }) => {
            let is_it = match of {
                Priced::Category(name) => wanted["category"] == **name,
                Priced::Pool(pool) => wanted["pool"] == pool.as_str(),
            };
            let steps = wanted["later"].as_array().into_iter().flatten();
            let steps = steps.map(|step| (step["from"].as_i64(), step["price_minor"].as_i64()));
            let later = later.iter().map(|step| (Some(step.from.0), Some(step.price_minor)));
            is_it && wanted["price_minor"] == *price_minor && later.eq(steps)
        }
        Change::Setup(SetupChange::TypesSet { types, .. }) => {
            let wanted = wanted["types"].as_array().into_iter().flatten();
            let wanted = wanted.map(|it| it["id"].as_str());
            types.iter().map(|it| Some(it.id.as_str())).eq(wanted)
        }
        Change::Setup(
            SetupChange::UnitsBlocked { lines, .. } | SetupChange::UnitsUnblocked { lines, .. },
        ) => {
            let pools = lines.pools().iter();
            let pools = pools.map(|line| (line.pool.as_str().to_owned(), line.quantity.into()));
            let asked = wanted["pools"].as_object().cloned().unwrap_or_default();
            let seats = wanted["seats"].as_array().into_iter().flatten().map(Value::as_str);
            pools.collect::<Map<_, _>>() == asked
                && lines.seats().iter().map(|seat| Some(seat.as_str())).eq(seats)
        }
        Change::Booking(BookingChange::ConfirmedCancelled { booking, refund_minor, .. }) => {
            let all_minor = facts.bookings.get(booking).map(|known| known.amount_minor);
            let wanted_minor = wanted["refund_minor"].as_i64().or(all_minor);
            wanted_minor == Some(*refund_minor)
        }
        Change::Setup(_)
        | Change::Sale(_)
        | Change::Queue(_)
        | Change::Visitor(_)
        | Change::Hold(_)
        | Change::Booking(_)
        | Change::Claim(_) => true,
    }
}

/// What a change has to do with the organiser, and under which word.
fn done(change: &Change) -> Option<(What, String)> {
    let (what, word) = match change {
        Change::Setup(change) => match change {
            SetupChange::SettingsChanged { settings } => (What::ChangesTitle, &*settings.title),
            SetupChange::CapacityAdjusted { reason, .. } => (What::ChangesCapacity, &*reason.why),
            SetupChange::PriceChanged { reason: Some(reason), .. } => {
                (What::ChangesPrice, &*reason.why)
            }
            SetupChange::TypesSet { reason, .. } => (What::SetsTypes, &*reason.why),
            SetupChange::UnitsBlocked { reason, .. } => (What::Blocks, &*reason.why),
            SetupChange::UnitsUnblocked { reason, .. } => (What::Unblocks, &*reason.why),
            SetupChange::EventCreated { .. }
            | SetupChange::PoolAdded { .. }
            | SetupChange::PriceChanged { reason: None, .. }
            | SetupChange::ChannelSet { .. }
            | SetupChange::UnitsAllotted { .. }
            | SetupChange::ChannelReleased { .. }
            | SetupChange::SeatsAdded { .. } => return None,
        },
        Change::Sale(change) => match change {
            SaleChange::SalePaused => (What::Pauses, ""),
            SaleChange::SaleResumed => (What::Resumes, ""),
            SaleChange::PrequeueOpened
            | SaleChange::SaleOpened { .. }
            | SaleChange::SaleClosed
            | SaleChange::EventArchived { .. }
            | SaleChange::Resumed { .. } => return None,
        },
        Change::Visitor(change) => match change {
            VisitorChange::VisitorRemoved { reason, .. } => (What::Bans, &*reason.why),
            VisitorChange::VisitorUnbanned { reason, .. } => (What::Unbans, &*reason.why),
            VisitorChange::Arrived { .. }
            | VisitorChange::SessionEnded { .. }
            | VisitorChange::SlotFreed { .. } => return None,
        },
        Change::Booking(BookingChange::ConfirmedCancelled { reason, .. })
            if &*reason.why != CANCELLED_BY_BUYER =>
        {
            (What::Cancels, &*reason.why)
        }
        Change::Booking(_) | Change::Queue(_) | Change::Hold(_) | Change::Claim(_) => return None,
    };
    Some((what, word.to_owned()))
}
