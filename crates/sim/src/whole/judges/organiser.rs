//! The judge of the organiser: what was said to be done was done once, what was refused was not, and
//! nothing was done that nobody asked for.

use super::super::organiser::{Came, What};
use super::super::world::World;
use onrush_core::Change;
use onrush_core::change::{BookingChange, SaleChange, SetupChange, VisitorChange};
use onrush_core::ids::EventId;
use onrush_store::FeedEntry;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often something was done, by the journal and by what was answered.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    in_journal: u32,
    done: u32,
    unknown: u32,
}

pub(super) fn judge(world: &World, entries: &[Arc<FeedEntry>], violations: &mut Vec<String>) {
    let mut is_so = Vec::new();
    let mut all = BTreeMap::<(EventId, What, String), Times>::new();
    for act in world.acts() {
        let times = all.entry((act.event.clone(), act.what, act.word)).or_default();
        match act.came {
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
    for entry in entries {
        for (what, word) in entry.changes.iter().filter_map(done) {
            let about = (entry.event.clone(), what, word);
            all.entry(about).or_default().in_journal += 1;
        }
    }
    for ((event, what, word), times) in all {
        let Times { in_journal, done, unknown } = times;
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
        Change::Booking(BookingChange::ConfirmedCancelled { reason, .. }) => {
            (What::Cancels, &*reason.why)
        }
        Change::Booking(_) | Change::Queue(_) | Change::Hold(_) | Change::Claim(_) => return None,
    };
    Some((what, word.to_owned()))
}
