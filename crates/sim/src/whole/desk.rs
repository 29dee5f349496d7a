//! The people at the bank's own desk, who give money back that nobody has asked the bank for: at a rate
//! of its own in each sale, all of it or a part, before and after its booking is cancelled. Some of it
//! takes its time, and some comes back.

use super::bank::{Bank, Paid};
use super::world::World;
use crate::chance::Chance;
use onrush_ledger::desk::DeskStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Of how many payments in a hundred something goes back here at most.
const MOST_PERCENT: usize = 35;

/// What is to become of something that was done.
struct Next {
    at: Instant,
    reference: String,
    /// How it stands then, and one after the other.
    stands: Vec<DeskStatus>,
}

/// Gives money back now and then, without end.
pub(super) async fn give_back(world: Arc<World>, bank: Arc<Bank>, seed: u64) {
    let mut chance = Chance::of(seed, "the desk", 0);
    let longest_ms = *chance.pick(&[8_000, 20_000, 60_000]);
    let mut under_way: Vec<Next> = Vec::new();
    loop {
        sleep(Duration::from_millis(chance.within(500, longest_ms).unsigned_abs())).await;
        under_way = go_on(&bank, under_way, &mut chance);
        let Some(paid) = choose(&world, &bank, &mut chance) else { continue };
        let left_minor = paid.left_minor;
        let amount_minor = match chance.below(10) {
            0..=3 => left_minor,
            4..=6 => (left_minor / 2).max(1),
            7 => (left_minor - 1).max(1),
            _ => left_minor.min(*chance.pick(&[1, 500, 999])),
        };
        let stands = match chance.below(10) {
            0 => vec![DeskStatus::Open, DeskStatus::Moved],
            1 => vec![DeskStatus::Open, DeskStatus::Stayed],
            2 => vec![DeskStatus::Moved, DeskStatus::Stayed],
            3 => vec![DeskStatus::Open, DeskStatus::Moved, DeskStatus::Stayed],
            _ => vec![DeskStatus::Moved],
        };
        let first = stands[0];
        let Some(reference) = bank.give_back_at_desk(&paid.payment, amount_minor, first) else {
            continue;
        };
        world.note_back_at_desk(&paid.booking, amount_minor);
        under_way.extend(Next::of(reference, &stands[1..], &mut chance));
    }
}

impl Next {
    /// `None` if it stays as it is.
    fn of(reference: String, stands: &[DeskStatus], chance: &mut Chance) -> Option<Self> {
        let after_ms = chance.within(1_000, 400_000).unsigned_abs();
        let at = Instant::now() + Duration::from_millis(after_ms);
        (!stands.is_empty()).then(|| Self { at, reference, stands: stands.to_vec() })
    }
}

/// Has what is due come to its next standing; gives back what is still under way.
fn go_on(bank: &Bank, under_way: Vec<Next>, chance: &mut Chance) -> Vec<Next> {
    let now = Instant::now();
    let (due, mut later): (Vec<_>, Vec<_>) = under_way.into_iter().partition(|one| one.at <= now);
    for Next { reference, stands, .. } in due {
        bank.go_on_at_desk(&reference, stands[0]);
        later.extend(Next::of(reference, &stands[1..], chance));
    }
    later
}

/// A payment of which something is left: of a booking that somebody wants to be cancelled, of a young one,
/// or any. Most of them have nothing to do with the desk, and some have it several times.
fn choose(world: &World, bank: &Bank, chance: &mut Chance) -> Option<Paid> {
    let wanted = match chance.below(4) {
        0 => chance.any_of(&world.called_off().into_keys().collect::<Vec<_>>()).cloned(),
        1 => world.young_booking(chance),
        _ => None,
    };
    let payments = bank.payments();
    let taken = payments.iter().filter(|paid| paid.is_captured);
    let at_desk = taken.clone().filter(|paid| !paid.desk.is_empty()).count();
    let again = at_desk * 100 >= taken.clone().count() * MOST_PERCENT || chance.percent(15);
    let fits = |paid: &&Paid| {
        paid.left_minor > 0
            && paid.desk.is_empty() != again
            && wanted.as_ref().is_none_or(|booking| paid.booking == *booking)
    };
    let fitting: Vec<_> = taken.filter(fits).collect();
    chance.any_of(&fitting).map(|paid| (*paid).clone())
}
