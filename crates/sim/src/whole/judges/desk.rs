//! The judge of what went back at the bank's own desk, payment by payment and by the bank's book: more
//! never goes back than was taken, what a cancellation gives back is all that goes back as far as the
//! server knew of it, and nothing goes back for what somebody has.

use super::super::bank::{AtDesk, Bank, FirstAsk, Paid};
use super::super::world::World;
use super::{Facts, Known};
use onrush_core::hold::HoldStatus;
use onrush_core::ids::BookingId;
use std::collections::BTreeSet;
use tokio::time::Instant;

/// `upgrades` is how often the server's files have been made those of a version before: of what it had
/// heard by then it does not know any more which payment it was about.
pub(super) fn judge(
    world: &World,
    bank: &Bank,
    facts: &Facts,
    upgrades: usize,
    violations: &mut Vec<String>,
) {
    let (payments, called_off) = (bank.payments(), world.called_off());
    let at_desk = payments.iter().filter(|paid| !paid.desk.is_empty());
    let at_desk: BTreeSet<&BookingId> = at_desk.map(|paid| &paid.booking).collect();
    for paid in payments.iter().filter(|paid| at_desk.contains(&paid.booking)) {
        let known = facts.bookings.get(&paid.booking);
        let since = called_off.get(&paid.booking).copied();
        if let Err(why) = check(paid, known, |made| is_sure(made, since, upgrades)) {
            violations.push(format!("{why}: {paid:?} is for {known:?}"));
        }
    }
}

/// Whether the server surely counted it when the booking was cancelled that it is for.
fn is_sure(made: &AtDesk, called_off: Option<Instant>, upgrades: usize) -> bool {
    !made.has_stayed() && called_off.is_some_and(|since| made.was_known(since, upgrades))
}

fn check(
    paid: &Paid,
    known: Option<&Known>,
    is_sure: impl Fn(&AtDesk) -> bool,
) -> Result<(), String> {
    let taken_minor = if paid.is_captured { paid.amount_minor } else { 0 };
    let asked_minor = paid.refunds_minor.iter().sum::<i64>() + paid.elsewhere_minor;
    let desk_minor = paid.at_desk_minor();
    let back_minor = asked_minor + desk_minor;
    if back_minor > taken_minor {
        return Err(format!("{back_minor} went back of {taken_minor}"));
    }
    let is_its = |known: &&Known| known.was_sold() && known.payment.as_ref() == Some(&paid.payment);
    let Some(known) = known.filter(is_its) else {
        return match back_minor == taken_minor {
            true => Ok(()),
            false => Err(format!("{back_minor} went back of {taken_minor}, which bought nothing")),
        };
    };
    if known.end == HoldStatus::Confirmed {
        return match asked_minor {
            0 => Ok(()),
            _ => Err(format!("{asked_minor} went back of what somebody has")),
        };
    }
    let sure_minor: i64 =
        paid.desk.iter().filter(|made| is_sure(made)).map(|made| made.amount_minor).sum();
    let owed_minor = known.refund_minor;
    let least_minor = (owed_minor - desk_minor).max(0);
    let most_minor = owed_minor - owed_minor.min(sure_minor);
    if !(least_minor..=most_minor).contains(&asked_minor) {
        return Err(format!(
            "{owed_minor} were to go back, {desk_minor} went at the desk, {sure_minor} of that surely \
             known, and {asked_minor} were asked for"
        ));
    }
    // How it stands in the end excuses nothing: what was still open then, or is made since, was no part.
    if let Some(FirstAsk { amount_minor, moved_minor }) = paid.first_ask
        && amount_minor + moved_minor + paid.elsewhere_minor < owed_minor
    {
        return Err(format!(
            "{owed_minor} were to go back, {amount_minor} were asked for first, and {moved_minor} had \
             gone back at the desk by then"
        ));
    }
    if paid.asked_beside_desk && paid.desk.iter().all(is_sure) {
        return Err("what had gone back at the desk was asked for once more".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::ids::PaymentId;
    use onrush_core::lines::{Lines, PoolLine};
    use onrush_ledger::desk::DeskStatus;

    fn payment() -> PaymentId {
        "sale.1.000000000001".parse().expect("an id")
    }

    /// 25.00 that were paid, of which so much went back because the bank was asked to, and at its desk.
    fn paid(asked_minor: i64, desk_minor: i64) -> Paid {
        let booking: BookingId = "sale.1".parse().expect("an id");
        let made = AtDesk {
            reference: "desk-1".into(),
            payment: payment(),
            booking: booking.clone(),
            amount_minor: desk_minor,
            stood: vec![DeskStatus::Moved],
            heard: Vec::new(),
        };
        Paid {
            payment: payment(),
            booking,
            amount_minor: 2_500,
            is_captured: true,
            is_set_aside: false,
            card: None,
            refunds_minor: vec![asked_minor],
            desk: vec![made],
            elsewhere_minor: 0,
            left_minor: 2_500 - asked_minor - desk_minor,
            asked_beside_desk: false,
            first_ask: None,
            is_of_before: false,
        }
    }

    /// What it was for, and how that ended.
    fn known(end: HoldStatus, refund_minor: i64) -> Known {
        let line = PoolLine { pool: "ga".parse().expect("an id"), quantity: 1 };
        Known {
            event: "sale".parse().expect("an id"),
            lines: Lines::new(vec![line], vec![]).expect("lines"),
            amount_minor: 2_500,
            fee_minor: 0,
            refund_minor,
            is_given_back: false,
            payment: Some(payment()),
            expired_at: None,
            is_used: false,
            end,
        }
    }

    #[test]
    fn what_the_server_knew_of_is_a_part_of_what_goes_back() {
        let cancelled = known(HoldStatus::Cancelled, 2_000);
        let fits = |asked_minor, is_sure: bool| {
            check(&paid(asked_minor, 500), Some(&cancelled), |_| is_sure).is_ok()
        };
        assert!(fits(1_500, true) && fits(1_500, false));
        // It could not know, and asked for all of it.
        assert!(fits(2_000, false) && !fits(2_000, true));
        assert!(!fits(1_499, true) && !fits(1_499, false) && !fits(2_001, false));
        let mut refused = paid(1_500, 500);
        refused.asked_beside_desk = true;
        assert!(check(&refused, Some(&cancelled), |_| true).is_err());
        assert!(check(&refused, Some(&cancelled), |_| false).is_ok());
    }

    #[test]
    fn what_moves_at_the_desk_later_is_no_part_of_what_was_asked_for_before() {
        let cancelled = known(HoldStatus::Cancelled, 2_000);
        let fits = |amount_minor, moved_minor, elsewhere_minor| {
            let mut asked = paid(1_500 - elsewhere_minor, 500);
            asked.elsewhere_minor = elsewhere_minor;
            asked.first_ask = Some(FirstAsk { amount_minor, moved_minor });
            check(&asked, Some(&cancelled), |_| false).is_ok()
        };
        assert!(fits(1_500, 500, 0) && fits(2_000, 0, 0) && fits(1_500, 700, 0));
        assert!(!fits(1_500, 0, 0) && !fits(1_500, 499, 0));
        // An operator gave a part back by other means before.
        assert!(fits(1_300, 500, 200) && !fits(1_299, 500, 200));
    }

    #[test]
    fn what_goes_back_at_the_desk_of_a_booking_that_stands_is_nobodys_to_ask_for() {
        let confirmed = known(HoldStatus::Confirmed, 0);
        assert!(check(&paid(0, 500), Some(&confirmed), |_| true).is_ok());
        assert!(check(&paid(1, 500), Some(&confirmed), |_| true).is_err());
        let nothing = known(HoldStatus::Expired, 0);
        for known in [Some(&nothing), None] {
            assert!(check(&paid(2_000, 500), known, |_| false).is_ok());
            assert!(check(&paid(1_999, 500), known, |_| false).is_err());
        }
        assert!(check(&paid(2_001, 500), None, |_| false).is_err());
    }
}
