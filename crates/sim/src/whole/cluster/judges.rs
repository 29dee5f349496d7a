//! The judges of a cluster: the archive's bare facts, counted anew, held against the bank's book,
//! what every node tells, the ledger's lists, and what buyers and the organiser were told.

use super::http::ToBank;
use super::organiser::{Organiser, client};
use super::shop::{KeptAnswer, Streets};
use super::site::{BANK_SECRET, Site};
use crate::chance::Chance;
use crate::whole::bank::Account;
use crate::whole::buyer::Told;
use crate::whole::client::{Asking, Client};
use crate::whole::judges::receipts::{self, Books};
use crate::whole::judges::{Facts, compare};
use crate::whole::world::{Kept, World};
use onrush_core::change::BookingChange;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::{Change, Time};
use onrush_store::Seq;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

/// How long what is left to do may take once nothing goes wrong any more.
const SETTLES: Duration = Duration::from_secs(150);
/// Between two looks at it.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
/// How often everything is looked at anew because something was decided meanwhile: holds run out.
const LOOKS: u32 = 20;
/// How long one look may take.
const LOOKS_WITHIN: Duration = Duration::from_secs(60);
/// Payments and bookings read at a time.
const PAGE: usize = 1_000;

/// What is left to do, by the ledger's tables and the archive's.
const LEFT: &str = "SELECT \
    (SELECT count(*) FROM sagas WHERE current_step NOT IN ('CONFIRMED', 'FAILED')) \
    || '|' || (SELECT count(*) FROM sagas WHERE stuck IS NOT NULL) \
    || '|' || (SELECT count(*) FROM refunds WHERE status IN ('requested', 'sent')) \
    || '|' || (SELECT count(*) FROM bookings WHERE status = 'paying') \
    || '|' || (SELECT number FROM feed_head) - (SELECT seq FROM feed_cursor)";
/// Documents that are still to be issued; all money of a cluster's sale is the bank's.
const UNISSUED: &str = " \
    || '|' || (SELECT count(*) FROM bookings b WHERE b.amount_minor > 0 \
        AND b.status IN ('confirmed', 'cancelled') AND NOT EXISTS (SELECT FROM receipts r \
        WHERE r.booking_id = b.booking_id AND r.kind = 'receipt')) \
    || '|' || (SELECT count(*) FROM bookings b JOIN refunds f USING (booking_id, payment_id) \
        WHERE b.status = 'cancelled' AND f.status = 'done' AND NOT EXISTS \
        (SELECT FROM receipts r WHERE r.refund_id = f.refund_id))";
const HEAD: &str = "SELECT number FROM feed_head";
/// Every decision that is in force, a line of JSON each.
const DECISIONS: &str = "SELECT json_build_object('number', number, 'event', event, 'seq', seq, \
    'at', at, 'changes', changes::json) FROM feed WHERE NOT lost ORDER BY number";

/// A decision, as the archive has it.
#[derive(Deserialize)]
struct Row {
    number: u64,
    event: EventId,
    seq: u64,
    at: Time,
    changes: Vec<Change>,
}

/// A booking as the ledger lists it.
#[derive(Deserialize)]
struct Listed {
    booking: BookingId,
    status: HoldStatus,
    amount_minor: i64,
    confirmed_at: Option<Time>,
}

/// What was there to be seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    pub(super) decisions: u64,
    pub(super) confirmed: u64,
    pub(super) captures: u64,
    pub(super) refunds: u64,
    pub(super) keys: u64,
}

/// All that judges look at.
pub(super) struct Judges {
    pub(super) site: Arc<Site>,
    pub(super) world: Arc<World>,
    pub(super) told: Vec<Vec<Told>>,
    pub(super) answers: Vec<KeptAnswer>,
    pub(super) organiser: Arc<Organiser>,
}

type Found = Vec<String>;
/// When bookings were confirmed.
type Confirmed = BTreeMap<BookingId, Time>;

impl Judges {
    /// Waits until no money is under way any more and everything is archived and followed.
    pub(super) async fn wait_for_rest(&self) -> Result<(), String> {
        let begun = Instant::now();
        let mut last = String::new();
        while begun.elapsed() < SETTLES {
            let left = match self.world.has_receipts {
                true => self.site.sql(&format!("{LEFT}{UNISSUED}")),
                false => self.site.sql(&format!("{LEFT} || '|0|0'")),
            };
            let waiting = match self.bank("/v1/totals").await {
                Ok(totals) => totals["messages_waiting"].to_string(),
                Err(why) => why,
            };
            let now = format!("{}|{waiting}", left.unwrap_or_else(|why| why));
            // Twice the same: what was decided last has to reach the archive first.
            if now == "0|0|0|0|0|0|0|0" && last == now {
                return Ok(());
            }
            last = now;
            sleep(BETWEEN_LOOKS).await;
        }
        Err(format!(
            "no rest {SETTLES:?} after everything works: open sagas|stuck ones|refunds under way|\
             bookings being paid|decisions not followed|receipts and credit notes not issued|\
             messages of the bank: {last}"
        ))
    }

    async fn bank(&self, path: &str) -> Result<Value, String> {
        let bank = self.site.bank_at().ok_or("the bank is away")?;
        match ToBank::get(path).ask(bank, BANK_SECRET).await {
            Some((200, answer)) => Ok(answer),
            other => Err(format!("the bank answers {path} with {other:?}")),
        }
    }

    /// Looks at everything there is, as often as it takes to see it at one moment.
    ///
    /// # Errors
    /// If something cannot be read.
    pub(super) async fn look(&self) -> Result<(Seen, Found), String> {
        for _ in 0..LOOKS {
            let before = self.site.sql(HEAD)?;
            let looked = timeout(LOOKS_WITHIN, self.look_once()).await;
            let looked = looked.map_err(|_| format!("no answers within {LOOKS_WITHIN:?}"))??;
            if self.site.sql(HEAD)? == before {
                return Ok(looked);
            }
        }
        Err("there are decisions all the time".into())
    }

    async fn look_once(&self) -> Result<(Seen, Found), String> {
        let mut found = self.world.complaints();
        // They stay true however often it is looked.
        found.iter().for_each(|complaint| self.world.complain(complaint.clone()));
        let (facts, confirmed, decisions) = self.facts(&mut found)?;
        let (accounts, mut seen) = self.book(&mut found).await?;
        compare(&facts, &accounts, &self.told, &self.world, &mut found);
        self.compare_cancelled(&facts, &mut found);
        for front in self.site.fronts() {
            let streets = Streets::to(vec![front]);
            let mut node = client(streets, Chance::of(0, "judges", 0));
            self.compare_ledger(&mut node, &facts, &confirmed, &mut found).await?;
            self.compare_receipts(&mut node, &facts, &mut found).await?;
            for event in &self.world.events {
                self.compare_seats(&mut node, event, &facts, &mut found).await?;
                self.compare_stock(&mut node, event, &facts, &mut found).await?;
            }
        }
        seen.keys = self.compare_keys(&facts, &mut found).await;
        found.extend(self.site.audit().await?);
        let confirmed = facts.bookings.values().filter(|known| known.end == HoldStatus::Confirmed);
        (seen.decisions, seen.confirmed) = (decisions, confirmed.count() as u64);
        Ok((seen, found))
    }

    /// The archive, counted anew; each event's decisions are in order and none is missing.
    fn facts(&self, found: &mut Found) -> Result<(Facts, Confirmed, u64), String> {
        let (mut facts, mut confirmed, mut decisions) = (Facts::default(), Confirmed::new(), 0);
        let mut last: BTreeMap<EventId, (u64, Time)> = BTreeMap::new();
        for line in self.site.sql(DECISIONS)?.lines() {
            let row: Row =
                serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
            let Row { number, event, seq, at, changes } = row;
            let (before, at_before) = last.get(&event).copied().unwrap_or((0, at));
            if seq != before + 1 || at < at_before {
                found.push(format!(
                    "{event}: decision {seq} at {at:?} follows {before} at {at_before:?}"
                ));
            }
            last.insert(event.clone(), (seq, at));
            for change in &changes {
                facts.add(&event, change, Seq(number), found);
                if let Change::Booking(
                    BookingChange::HoldConfirmed { booking, .. }
                    | BookingChange::HoldConfirmedLate { booking, .. },
                ) = change
                {
                    confirmed.insert(booking.clone(), at);
                }
            }
            decisions += 1;
        }
        Ok((facts, confirmed, decisions))
    }

    /// The bank's book, by booking.
    async fn book(
        &self,
        found: &mut Found,
    ) -> Result<(BTreeMap<BookingId, Account>, Seen), String> {
        let (mut accounts, mut seen) = (BTreeMap::<BookingId, Account>::new(), Seen::default());
        let mut after = String::new();
        loop {
            let list = self.bank(&format!("/v1/payments?limit={PAGE}{after}")).await?;
            for payment in list["payments"].as_array().into_iter().flatten() {
                // One that was called off before it was asked for is of no booking.
                let Some(booking) = payment["booking"].as_str() else { continue };
                let booking = booking.parse().map_err(|error| format!("{payment}: {error}"))?;
                let minor = |what: &str| payment[what].as_i64().unwrap_or_default();
                let (taken_minor, back_minor) = (minor("captured_minor"), minor("refunded_minor"));
                if back_minor > taken_minor {
                    found.push(format!("more went back than was taken: {payment}"));
                }
                let account = accounts.entry(booking).or_default();
                account.captures += u32::from(taken_minor > 0);
                account.captured_minor += taken_minor;
                account.returned_minor += back_minor;
                seen.captures += u64::from(taken_minor > 0);
                seen.refunds += payment["refunds"].as_array().map_or(0, Vec::len) as u64;
            }
            let Some(next) = list["next"].as_str() else { return Ok((accounts, seen)) };
            after = format!("&after={next}");
        }
    }

    /// What the organiser was told is cancelled, is.
    fn compare_cancelled(&self, facts: &Facts, found: &mut Found) {
        for booking in self.organiser.cancelled() {
            let end = facts.bookings.get(&booking).map(|known| known.end);
            if end != Some(HoldStatus::Cancelled) {
                found.push(format!("{booking} was said to be cancelled, and is {end:?}"));
            }
        }
    }

    /// The ledger's list of bookings is what the archive says.
    async fn compare_ledger(
        &self,
        node: &mut Client,
        facts: &Facts,
        confirmed: &Confirmed,
        found: &mut Found,
    ) -> Result<(), String> {
        let mut known: BTreeSet<&BookingId> = facts.bookings.keys().collect();
        let mut after = String::new();
        loop {
            let path = format!("/admin/bookings?limit={PAGE}{after}");
            let page = fetch(node, path).await?;
            let rows: Vec<Listed> = serde_json::from_value(page["bookings"].clone())
                .map_err(|error| format!("{error}: {page}"))?;
            for Listed { booking, status, amount_minor, confirmed_at } in rows {
                known.remove(&booking);
                let fact = facts.bookings.get(&booking);
                let sold_at = confirmed.get(&booking).copied();
                let fact = fact.map(|known| (known.end, known.amount_minor, sold_at));
                let listed = (status, amount_minor, confirmed_at);
                if fact != Some(listed) {
                    found.push(format!(
                        "{booking} is {listed:?} by the ledger, and {fact:?} by the archive"
                    ));
                }
            }
            let Some(next) = page["next"].as_str() else { break };
            after = format!("&after={next}");
        }
        found.extend(known.iter().map(|booking| format!("the ledger does not list {booking}")));
        Ok(())
    }

    /// Whatever was paid for has a receipt, at each node.
    async fn compare_receipts(
        &self,
        node: &mut Client,
        facts: &Facts,
        found: &mut Found,
    ) -> Result<(), String> {
        if self.world.has_receipts {
            let tax = self.world.settings.tax.as_ref();
            let (shown, forgotten) = (self.world.shown(), BTreeSet::new());
            let books = Books { tax, shown: &shown, losses: 0, forgotten: &forgotten };
            receipts::judge(&receipts::documents(node).await?, facts, &books, found);
        }
        Ok(())
    }

    /// Seats have the owners that the archive says, and no others.
    async fn compare_seats(
        &self,
        node: &mut Client,
        event: &EventId,
        facts: &Facts,
        found: &mut Found,
    ) -> Result<(), String> {
        let map = fetch(node, format!("/admin/events/{event}/seats")).await?;
        let seats = map["seats"].as_array().ok_or_else(|| map.to_string())?;
        let owners = facts.stock.get(event).map(|stock| &stock.owners);
        for seat in seats {
            let id = seat["id"].as_str().unwrap_or_default();
            let owner = owners.and_then(|owners| owners.get(id));
            if seat["booking"].as_str() != owner.map(BookingId::as_str) {
                found.push(format!(
                    "{event}: seat {id} is {} of {}, and {owner:?}'s by the archive",
                    seat["status"], seat["booking"]
                ));
            }
        }
        if u32::try_from(seats.len()) != Ok(self.world.seats) {
            found.push(format!("{event}: {} of {} seats are there", seats.len(), self.world.seats));
        }
        Ok(())
    }

    /// As many units are taken as the archive says.
    async fn compare_stock(
        &self,
        node: &mut Client,
        event: &EventId,
        facts: &Facts,
        found: &mut Found,
    ) -> Result<(), String> {
        let pool = &self.world.pool;
        let told = fetch(node, format!("/admin/events/{event}/pools/{pool}")).await?;
        let units = |what: &str| told[what].as_u64().unwrap_or_default();
        let Some(stock) = facts.stock.get(event) else {
            return Err(format!("the archive does not know {event}"));
        };
        let taken = units("held") + units("sold");
        let known = (u64::from(stock.capacity), u64::from(stock.taken));
        if (units("capacity"), taken) != known || units("free") + taken != known.0 {
            found.push(format!("{event}: {told}, and by the archive (there, taken) is {known:?}"));
        }
        Ok(())
    }

    /// Keys mean what they meant, at any node, and whoever holds something finds it as it is.
    async fn compare_keys(&self, facts: &Facts, found: &mut Found) -> u64 {
        let streets = Streets::to(self.site.fronts());
        for (number, one) in (0..).zip(&self.answers) {
            let KeptAnswer { token, asking, answer, kept } = one;
            let chance = Chance::of(0, "keys", number);
            let mut visitor = Client::new(streets.clone(), Ipv4Addr::LOCALHOST.into(), chance);
            visitor.token = Some(token.clone());
            let again = visitor.insist(asking).await;
            if !kept.is_same(answer, &again) {
                found.push(format!("{asking:?} was answered {answer:?}, and again {again:?}"));
            }
            if *kept == Kept::Booking
                && let Some(booking) = answer.body["booking"].as_str()
            {
                let looked = visitor.insist(&Asking::get(format!("/bookings/{booking}"))).await;
                let known = booking.parse().ok().and_then(|id: BookingId| facts.bookings.get(&id));
                let known = known.and_then(|known| serde_json::to_value(known.end).ok());
                if known.is_none() || known.as_ref() != Some(&looked.body["status"]) {
                    found.push(format!(
                        "{booking} is {known:?} by the archive, {looked:?} if asked"
                    ));
                }
            }
        }
        self.answers.len() as u64
    }
}

/// What a node answers the organiser.
async fn fetch(node: &mut Client, path: String) -> Result<Value, String> {
    let answer = node.insist(&Asking::get(path.clone())).await;
    if answer.is_done() { Ok(answer.body) } else { Err(format!("{path}: {answer:?}")) }
}
