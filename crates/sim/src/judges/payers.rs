//! Payers: nobody has more than their limit, by the changes alone.

use crate::asked::{Asked, Deal};
use crate::judge::{Judge, Verdict};
use onrush_core::Change;
use onrush_core::change::{BookingChange, HoldChange, SetupChange};
use onrush_core::ids::{BookingId, PayerId};
use onrush_core::payers::PayerBy;
use onrush_core::settings::Settings;
use std::collections::BTreeMap;

/// What is known of a booking.
#[derive(Debug, Default)]
struct Sold {
    units: u32,
    has_units: bool,
    payers: BTreeMap<PayerBy, PayerId>,
}

/// Adds up what payers have, each time one has more.
#[derive(Debug, Default)]
pub(super) struct PayerJudge {
    limits: BTreeMap<PayerBy, u32>,
    bookings: BTreeMap<BookingId, Sold>,
}

impl PayerJudge {
    fn set(&mut self, settings: &Settings) {
        let limits =
            [(PayerBy::Email, settings.max_per_email), (PayerBy::Card, settings.max_per_card)];
        self.limits = limits.into_iter().filter_map(|(by, limit)| Some((by, limit?))).collect();
    }

    /// Gives a booking its units, or takes them from it.
    fn turn(&mut self, booking: &BookingId, has_units: bool) {
        if let Some(sold) = self.bookings.get_mut(booking) {
            sold.has_units = has_units;
        }
    }

    fn check(&self, by: PayerBy, payer: PayerId) -> Verdict {
        let theirs = self.bookings.values().filter(|it| it.payers.get(&by) == Some(&payer));
        let units: u32 = theirs.filter(|it| it.has_units).map(|it| it.units).sum();
        match self.limits.get(&by) {
            Some(limit) if units > *limit => {
                Err(format!("payer {payer} has {units} units, and may have {limit}"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn booking(&mut self, change: &BookingChange, ran_out_now: bool) -> Verdict {
        match change {
            BookingChange::PayerNamed { booking, by, payer } => {
                if !self.limits.contains_key(by) {
                    return Err(format!("{booking} has payer {payer}, and none is asked for"));
                }
                if let Some(sold) = self.bookings.get_mut(booking) {
                    sold.payers.insert(*by, *payer);
                }
                self.check(*by, *payer)
            }
            BookingChange::HoldConfirmedLate { booking, .. } => {
                self.turn(booking, true);
                if ran_out_now {
                    // It had its units until now: a limit that was lowered concerns it no more.
                    return Ok(());
                }
                let payers = self.bookings.get(booking).map(|sold| sold.payers.clone());
                let payers = payers.unwrap_or_default();
                payers.into_iter().try_for_each(|(by, payer)| self.check(by, payer))
            }
            BookingChange::ConfirmedCancelled { booking, .. } => {
                self.turn(booking, false);
                Ok(())
            }
            BookingChange::PaymentBegun { .. }
            | BookingChange::PaymentFailed { .. }
            | BookingChange::LatePaymentFailed { .. }
            | BookingChange::HoldConfirmed { .. }
            | BookingChange::CheckedIn { .. } => Ok(()),
        }
    }
}

impl Judge for PayerJudge {
    fn name(&self) -> &'static str {
        "payers"
    }

    fn committed(&mut self, asked: &Asked) -> Verdict {
        let Deal::Command { changes, .. } = &asked.deal else { return Ok(()) };
        let mut ran_out_now = false;
        for change in changes {
            match change {
                Change::Setup(
                    SetupChange::EventCreated { settings }
                    | SetupChange::SettingsChanged { settings },
                ) => self.set(settings),
                Change::Hold(HoldChange::HoldPlaced { terms, .. }) => {
                    let units = terms.lines.units();
                    let sold = Sold { units, has_units: true, ..Sold::default() };
                    self.bookings.insert(terms.booking.clone(), sold);
                }
                Change::Hold(HoldChange::HoldReleased { booking }) => self.turn(booking, false),
                Change::Hold(HoldChange::HoldExpired { booking }) => {
                    self.turn(booking, false);
                    ran_out_now = true;
                }
                Change::Hold(HoldChange::HoldForgotten { booking }) => {
                    self.bookings.remove(booking);
                }
                Change::Booking(change) => self.booking(change, ran_out_now)?,
                Change::Hold(HoldChange::HoldExtended { .. })
                | Change::Setup(_)
                | Change::Sale(_)
                | Change::Queue(_)
                | Change::Visitor(_)
                | Change::Claim(_) => {}
            }
        }
        Ok(())
    }
}
