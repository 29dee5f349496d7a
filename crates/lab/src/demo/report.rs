//! What the demo found out, for people and for machines.

use super::api::{Ask, Figures};
use super::money::Settled;
use super::tally::Counts;
use onrush_terminal::show::{count, ms};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The result of a demo. Its JSON is one line.
#[derive(Default, Serialize)]
pub(super) struct Report {
    /// Fans that came.
    pub(super) fans: u32,
    /// Seats of the house.
    pub(super) seats: u64,
    /// Free seats without a free neighbour when 99 % of the seats were taken; missing if they never
    /// were.
    pub(super) single_seats: Option<u64>,
    /// Standing places.
    pub(super) zone_capacity: u32,
    /// Seats and standing places.
    pub(super) capacity: u64,
    /// Units sold, as the journal says.
    pub(super) sold: u64,
    /// The larger of both counts.
    pub(super) oversold: u64,
    /// The larger of both counts.
    pub(super) seats_sold_twice: u64,
    /// The larger of both counts.
    pub(super) fifo_violations: u64,
    /// Where journal and receipts differ, and what else should not have happened.
    pub(super) complaints: Vec<String>,
    /// Violations that the audit of the journal found.
    pub(super) audit_violations: u64,
    /// Counted from the journal.
    pub(super) by_journal: Counts,
    /// Counted from what the fans can prove.
    pub(super) by_receipts: Counts,
    /// Money that the gateway took, in minor units.
    pub(super) captured_minor: i64,
    /// Money that the gateway gave back.
    pub(super) refunded_minor: i64,
    /// The price of all confirmed bookings.
    pub(super) confirmed_minor: i64,
    /// Money that is neither: must be 0.
    pub(super) unexplained_minor: i64,
    /// Sagas that wait for an operator: must be 0.
    pub(super) stuck_sagas: u64,
    /// Sagas that have not come to an end: must be 0.
    pub(super) open_sagas: u64,
    /// Payments from which the gateway took money.
    pub(super) payments: u64,
    /// Confirmed bookings a second, from the opening until all fans were through.
    pub(super) paid_bookings_per_s: f64,
    /// How the fans' evenings ended.
    pub(super) ends: BTreeMap<&'static str, u64>,
    /// Refusals by code.
    pub(super) refused: BTreeMap<String, u64>,
    /// Holds placed.
    pub(super) holds: u64,
    /// Requests for a hold, refused ones too.
    pub(super) hold_requests: u64,
    /// Requests for a hold answered a second, on average from the first to the last.
    pub(super) holds_per_s: f64,
    /// The same in the busiest second.
    pub(super) holds_per_s_peak: u64,
    /// Half of the answers to hold requests came within this time of the moment they were meant to be sent.
    pub(super) hold_p50_ms: f64,
    /// 99 % of them.
    pub(super) hold_p99_ms: f64,
    /// 99.9 % of them.
    pub(super) hold_p999_ms: f64,
    /// Positions answered.
    pub(super) positions: u64,
    /// Positions answered a second, on average from the first to the last.
    pub(super) positions_per_s: f64,
    /// The same in the busiest second.
    pub(super) positions_per_s_peak: u64,
    /// Half of the positions.
    pub(super) position_p50_ms: f64,
    /// 99 % of them.
    pub(super) position_p99_ms: f64,
    /// 99.9 % of them.
    pub(super) position_p999_ms: f64,
    /// Fans that waited by an open stream; the others polled.
    pub(super) streams: u32,
    /// Connections that the others shared.
    pub(super) connections: usize,
    /// From the opening until all was sold or all fans were through.
    pub(super) sale_s: f64,
    /// The whole demo, counting included.
    pub(super) duration_s: f64,
}

impl Report {
    /// Whether anything is there that must not be.
    pub(super) fn is_clean(&self) -> bool {
        self.oversold == 0
            && self.seats_sold_twice == 0
            && self.fifo_violations == 0
            && self.audit_violations == 0
            && self.unexplained_minor == 0
            && self.stuck_sagas == 0
            && self.open_sagas == 0
            && self.complaints.is_empty()
    }

    /// Takes over what the gateway and the ledger say, once `confirmed_minor` is known.
    pub(super) fn set_money(&mut self, settled: &Settled) {
        self.captured_minor = settled.captured_minor;
        self.refunded_minor = settled.refunded_minor;
        self.unexplained_minor =
            settled.captured_minor - settled.refunded_minor - self.confirmed_minor;
        self.stuck_sagas = settled.stuck_sagas;
        self.open_sagas = settled.open_sagas;
        self.payments = settled.payments;
    }

    /// Takes over the figures of holds and positions.
    pub(super) fn set_figures(&mut self, figures: &BTreeMap<Ask, Figures>) {
        let peak = |f: &Figures| f.by_second.iter().copied().max().unwrap_or(0);
        let per_s = |f: &Figures| {
            let seconds = f.by_second.iter().skip_while(|answers| **answers == 0).count();
            round(f.latency.count() as f64 / seconds.max(1) as f64, 0)
        };
        if let Some(f) = figures.get(&Ask::Hold) {
            (self.holds, self.hold_requests) = (f.accepted, f.latency.count());
            (self.holds_per_s, self.holds_per_s_peak) = (per_s(f), peak(f));
            [self.hold_p50_ms, self.hold_p99_ms, self.hold_p999_ms] = percentiles(f);
        }
        if let Some(f) = figures.get(&Ask::Position) {
            self.positions = f.latency.count();
            (self.positions_per_s, self.positions_per_s_peak) = (per_s(f), peak(f));
            [self.position_p50_ms, self.position_p99_ms, self.position_p999_ms] = percentiles(f);
        }
    }
}

fn percentiles(figures: &Figures) -> [f64; 3] {
    [50.0, 99.0, 99.9].map(|percent| round(figures.latency.percentile_ms(percent), 3))
}

/// A number with a few decimals, so that the JSON stays readable.
pub(super) fn round(number: f64, decimals: i32) -> f64 {
    let scale = 10_f64.powi(decimals);
    (number * scale).round() / scale
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { by_journal, by_receipts, .. } = self;
        writeln!(
            f,
            "{} fans, {} seats and {} standing places: {} of {} sold, {:.1} s after the opening",
            count(self.fans.into()),
            count(self.seats),
            count(self.zone_capacity.into()),
            count(self.sold),
            count(self.capacity),
            self.sale_s
        )?;
        writeln!(f)?;
        writeln!(f, "  counted from          journal   receipts")?;
        for (name, journal, receipts) in [
            ("sold", by_journal.sold, by_receipts.sold),
            ("  to children", by_journal.children, by_receipts.children),
            ("oversold", by_journal.oversold, by_receipts.oversold),
            ("seats sold twice", by_journal.seats_sold_twice, by_receipts.seats_sold_twice),
            ("FIFO violations", by_journal.fifo_violations, by_receipts.fifo_violations),
        ] {
            writeln!(f, "  {name:<18} {:>10} {:>10}", count(journal), count(receipts))?;
        }
        writeln!(f, "  audit of the journal: {} violations", self.audit_violations)?;
        writeln!(f)?;
        writeln!(f, "  money, in minor units")?;
        for (name, minor) in [
            ("captured by the gateway", self.captured_minor),
            ("refunded by the gateway", self.refunded_minor),
            ("confirmed bookings", self.confirmed_minor),
            ("unexplained", self.unexplained_minor),
        ] {
            let sign = if minor < 0 { "-" } else { "" };
            writeln!(f, "    {name:<30} {:>12}", sign.to_owned() + &count(minor.unsigned_abs()))?;
        }
        writeln!(
            f,
            "    {} payments, {} bookings a second; {} sagas stuck, {} open",
            count(self.payments),
            count(self.paid_bookings_per_s as u64),
            self.stuck_sagas,
            self.open_sagas
        )?;
        writeln!(f)?;
        writeln!(f, "  fans")?;
        for (end, fans) in &self.ends {
            writeln!(f, "    {end:<34} {:>8}", count(*fans))?;
        }
        if let Some(single) = self.single_seats {
            let percent = 100.0 * single as f64 / self.seats.max(1) as f64;
            writeln!(
                f,
                "  {} seats stood single when 99 % were taken: {percent:.2} % of the house",
                count(single)
            )?;
        }
        writeln!(f, "  refused")?;
        for (code, times) in &self.refused {
            writeln!(f, "    {code:<34} {:>8}", count(*times))?;
        }
        writeln!(f)?;
        writeln!(
            f,
            "  holds      {}/s, {}/s in the busiest second ({} asked for, {} placed)",
            count(self.holds_per_s as u64),
            count(self.holds_per_s_peak),
            count(self.hold_requests),
            count(self.holds)
        )?;
        writeln!(
            f,
            "             p50 {}, p99 {}, p99.9 {} from the scheduled send",
            ms(self.hold_p50_ms),
            ms(self.hold_p99_ms),
            ms(self.hold_p999_ms)
        )?;
        writeln!(
            f,
            "  positions  {}/s, {}/s in the busiest second",
            count(self.positions_per_s as u64),
            count(self.positions_per_s_peak)
        )?;
        writeln!(
            f,
            "             p50 {}, p99 {}, p99.9 {} from the scheduled send",
            ms(self.position_p50_ms),
            ms(self.position_p99_ms),
            ms(self.position_p999_ms)
        )?;
        writeln!(
            f,
            "  {} fans waited by open streams, the others polled over {} connections",
            count(self.streams.into()),
            self.connections
        )?;
        writeln!(f)?;
        for complaint in &self.complaints {
            writeln!(f, "  WRONG: {complaint}")?;
        }
        let verdict = if self.is_clean() {
            "nothing sold twice, nobody overtaken, every cent explained, both counts agree"
        } else {
            "something is wrong, see above"
        };
        write!(f, "{verdict} ({:.1} s)", self.duration_s)
    }
}
