//! Follows the feed into the ledger: bookings and catalogue as rows, and sagas that have something to do.

use super::kill;
use super::reach::{Loss, Reach};
use super::rows::booking_of_hold;
use super::sagas::Sagas;
use onrush_core::change::{BookingChange, HoldChange, SetupChange};
use onrush_core::hold::{HoldStatus, HoldTerms};
use onrush_core::ids::{BookingId, EventId, PaymentId, PoolId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::money::Currency;
use onrush_core::prices::Priced;
use onrush_core::saga::{Position, Step};
use onrush_core::settings::Settings;
use onrush_core::{Change, Time};
use onrush_ledger::booking::Booking;
use onrush_ledger::projection::{Fact, Moved, Projection, room_night};
use onrush_relay::messages::of_change;
use onrush_store::{Failure, Feed, FeedEntry, FeedPage, Seq};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long to wait for a ledger or a journal that does not answer.
const PAUSE: Duration = Duration::from_secs(1);
/// How long to gather before the ledger is written: a sync for each of the engine's batches would
/// slow both down.
const GATHER: Duration = Duration::from_millis(20);
/// How long the ledger may not know how far the feed was followed if nothing concerned it.
const QUIET: Duration = Duration::from_millis(200);
/// As many facts in one write are a rush.
const RUSH_FACTS: usize = 256;
/// How long to gather in a rush. Rows that are written together share the pages of their indexes, and
/// pages are what a row costs: with ten times as many rows at once it costs half.
const GATHER_IN_RUSH: Duration = Duration::from_millis(400);
/// How far behind the ledger may fall in a rush before it is given half of the time, and not a quarter.
const MAX_LAG_MS: i64 = 5_000;
/// Pages that are gathered at once, so that a feed that never pauses is written down all the same.
const MAX_PAGES: u32 = 16;
/// Facts that are written at once in a rush, about: what concerns payments waits for such a
/// transaction.
const MAX_FACTS: usize = 8_192;
/// The same in a cluster, whose database is elsewhere and answers within its time limit, or not at all.
const MAX_FACTS_IN_CLUSTER: usize = 1_024;
/// How long to leave the ledger to others at most: a write may have waited for a database that was away.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// How long the other nodes wait for a word of the one that follows the feed.
const TURN_MS: u32 = 5_000;
/// How often that one says that it still does.
const SAY_SO_EVERY: Duration = Duration::from_secs(1);
/// What the turn is called.
const TURN: &str = "follower";

/// Follows the feed until the engine has stopped. Of several nodes one does, and another one takes
/// over if it dies.
pub(crate) async fn run(sagas: Arc<Sagas>) {
    loop {
        if !wait_for_turn(&sagas).await {
            return;
        }
        let followed = Follower::new(sagas.clone()).follow().await;
        if let Some(cluster) = &sagas.cluster {
            // If this cannot be said now, the others wait a little longer.
            drop(cluster.end_turn(TURN.into()).await);
        }
        let Err(error) = followed else { return };
        tracing::error!(error, "the feed cannot be followed into the ledger; trying again");
        tokio::select! {
            biased;
            () = sagas.stopped() => return,
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

/// Waits until no other node follows the feed; false if everything stops meanwhile.
async fn wait_for_turn(sagas: &Sagas) -> bool {
    let Some(cluster) = &sagas.cluster else { return !sagas.is_stopping() };
    while !sagas.is_stopping() {
        match cluster.take_turn(TURN.into(), TURN_MS).await {
            Ok(true) => return true,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "who follows the feed is not known just now"),
        }
        tokio::select! {
            biased;
            () = sagas.stopped() => {}
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
    false
}

/// What is remembered from page to page.
struct Follower {
    sagas: Arc<Sagas>,
    currencies: HashMap<EventId, Currency>,
    /// Holds that live and were placed meanwhile: what those free of charge are about. The ledger
    /// hears of these only if they are confirmed, so that a flash sale that costs nothing costs the
    /// ledger nothing either. The others are here only if anybody may be told of their end.
    placed: HashMap<BookingId, Option<Arc<HoldTerms>>>,
    /// Which events did not answer since the ledger was written last.
    reach: Reach,
    /// When the other nodes are to hear again that it is our turn.
    say_so_by: Instant,
}

impl Follower {
    fn new(sagas: Arc<Sagas>) -> Self {
        let say_so_by = Instant::now() + SAY_SO_EVERY;
        let (currencies, placed, reach) = Default::default();
        Self { sagas, currencies, placed, reach, say_so_by }
    }

    async fn follow(mut self) -> Result<(), String> {
        let sagas = self.sagas.clone();
        let position = sagas.ledger.position().await.map_err(|error| error.to_string())?;
        let cursor = position.seq;
        if let Some(pairing) = &sagas.pairing {
            // Files that do not belong together are noticed at the start; a ledger elsewhere may be
            // put back meanwhile.
            if let Err(why) = pairing.check(position).await {
                sagas.failure.send_replace(Some(why.clone()));
                return Err(why);
            }
        }
        let mut feed = sagas.engine.subscribe(Seq(cursor));
        let mut projection = Projection { after: cursor, ..Projection::default() };
        let mut write_by = Instant::now() + QUIET;
        let mut is_rush = false;
        loop {
            let moved = projection.cursor > 0;
            // In this order, so that a feed that never pauses keeps nothing else from its turn.
            let mut ends = tokio::select! {
                biased;
                () = sagas.stopped() => return Ok(()),
                () = tokio::time::sleep_until(self.say_so_by), if sagas.cluster.is_some() => false,
                () = tokio::time::sleep_until(write_by), if moved => false,
                page = feed.next() => self.gather(page?, &mut projection).await?,
            };
            self.keep_turn().await?;
            if !ends {
                ends = self.gather_more(&mut *feed, &mut projection, is_rush).await?;
            }
            let says_something = !projection.facts.is_empty() || !projection.messages.is_empty();
            if says_something || ends || Instant::now() >= write_by {
                let after = projection.cursor.max(projection.after);
                let next = Projection { after, ..Projection::default() };
                is_rush = projection.facts.len() >= RUSH_FACTS;
                let lag_ms = projection.at.map_or(0, |at| sagas.now().since_ms(at));
                let begun = Instant::now();
                self.write(std::mem::replace(&mut projection, next)).await?;
                if is_rush && !ends {
                    // Buyers and payments want processor and ledger, too.
                    let share = if lag_ms < MAX_LAG_MS { 3 } else { 1 };
                    tokio::select! {
                        biased;
                        () = sagas.stopped() => return Ok(()),
                        () = tokio::time::sleep((begun.elapsed() * share).min(MAX_PAUSE)) => {}
                    }
                }
                write_by = Instant::now() + QUIET;
            }
            if ends {
                return Ok(());
            }
        }
    }

    /// Adds what comes within a while; true if the feed ends.
    async fn gather_more(
        &mut self,
        feed: &mut dyn Feed,
        projection: &mut Projection,
        is_rush: bool,
    ) -> Result<bool, String> {
        if is_rush {
            let until = Instant::now() + GATHER_IN_RUSH;
            let in_cluster = self.sagas.cluster.is_some();
            let most = if in_cluster { MAX_FACTS_IN_CLUSTER } else { MAX_FACTS };
            while projection.facts.len() < most {
                match tokio::time::timeout_at(until, feed.next()).await {
                    Ok(page) => {
                        if self.gather(page?, projection).await? {
                            return Ok(true);
                        }
                    }
                    Err(_) => break,
                }
            }
            return Ok(false);
        }
        // Whoever is far behind finds the next pages at once all the same.
        tokio::time::sleep(GATHER).await;
        for _ in 0..MAX_PAGES {
            if projection.facts.len() >= RUSH_FACTS {
                break;
            }
            match tokio::time::timeout(GATHER / 4, feed.next()).await {
                Ok(page) => {
                    if self.gather(page?, projection).await? {
                        return Ok(true);
                    }
                }
                Err(_) => break,
            }
        }
        Ok(false)
    }

    /// Tells the other nodes that it is still our turn; an error if it is not.
    async fn keep_turn(&mut self) -> Result<(), String> {
        let Some(cluster) = &self.sagas.cluster else { return Ok(()) };
        if Instant::now() < self.say_so_by {
            return Ok(());
        }
        self.say_so_by = Instant::now() + SAY_SO_EVERY;
        match cluster.take_turn(TURN.into(), TURN_MS).await {
            Ok(true) => Ok(()),
            Ok(false) => Err("another node follows the feed by now".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn write(&mut self, projection: Projection) -> Result<(), String> {
        let wakes = projection.facts.iter().any(|fact| match fact {
            Fact::Moved(moved) => moved.wake,
            Fact::Event { .. }
            | Fact::Price { .. }
            | Fact::Held(_)
            | Fact::Until { .. }
            | Fact::Stock { .. }
            | Fact::CheckedIn { .. } => false,
        });
        let tells = !projection.messages.is_empty();
        let holds = projection.facts.iter().any(|fact| matches!(fact, Fact::Held(_)));
        let held = Position { step: Step::ReserveOk, stage: None };
        if holds {
            kill::point("before", held);
        }
        let confirmed = self.confirmed(&projection);
        let cursor = projection.cursor;
        self.sagas.ledger.project(projection).await.map_err(|error| error.to_string())?;
        self.reach = Reach::default();
        if let Some(pairing) = self.sagas.pairing.as_ref().filter(|_| cursor > 0) {
            pairing.followed(cursor);
        }
        if holds {
            kill::point("after", held);
        }
        if wakes {
            self.sagas.due.notify_one();
        }
        if tells {
            self.sagas.told.notify_one();
        }
        if let Some(clerk) = &self.sagas.clerk {
            clerk.tell(confirmed);
        }
        Ok(())
    }

    /// The bookings that a clerk, if there is one, may have to issue a receipt for.
    fn confirmed(&self, projection: &Projection) -> Vec<BookingId> {
        if self.sagas.clerk.is_none() {
            return Vec::new();
        }
        let confirmed = projection.facts.iter().filter_map(|fact| match fact {
            Fact::Moved(moved) => (moved.status == HoldStatus::Confirmed).then_some(&moved.booking),
            Fact::Event { .. }
            | Fact::Price { .. }
            | Fact::Held(_)
            | Fact::Until { .. }
            | Fact::Stock { .. }
            | Fact::CheckedIn { .. } => None,
        });
        confirmed.cloned().collect()
    }

    /// Adds a page; true if it was the last one.
    async fn gather(
        &mut self,
        page: Option<FeedPage>,
        projection: &mut Projection,
    ) -> Result<bool, String> {
        let Some(page) = page else { return Ok(true) };
        // An engine whose clock was set back is ahead of everyone until its clock has caught up.
        // What it decided is to be done now, and not then.
        let now = self.sagas.now();
        for entry in &page {
            // Whether an event is out of reach may take long to find out.
            self.keep_turn().await?;
            projection.cursor = entry.seq.0;
            projection.at = Some(entry.at);
            if entry.changes.is_empty() {
                // Only a ledger that was put back to before that meets one.
                tracing::warn!(
                    decision = entry.seq.0,
                    event = %entry.event,
                    "its changes are in an archive file: the ledger does not learn of them"
                );
            }
            for (index, change) in entry.changes.iter().enumerate() {
                if let Change::Setup(
                    SetupChange::EventCreated { settings }
                    | SetupChange::SettingsChanged { settings },
                ) = change
                {
                    self.currencies.insert(entry.event.clone(), settings.currency);
                }
                if let Some(terms) = self.confirmed_free(entry, change).await? {
                    let currency = self.currency(&entry.event).await?;
                    projection.facts.push(held(&entry.event, &terms, currency, entry.at));
                }
                let ended = self.ended_free(entry, change).await?;
                if !self.is_free(change) {
                    if let Change::Hold(HoldChange::HoldPlaced { terms, .. }) = change {
                        let currency = self.currency(&entry.event).await?;
                        projection.facts.push(held(&entry.event, terms, currency, entry.at));
                    }
                    add(&mut projection.facts, entry, change, now);
                }
                let (seq, at) = (entry.seq.0, entry.at.min(now));
                // What other bookings are about is added when the message is sent.
                let (about, channels) = (ended.as_ref(), &self.sagas.channels);
                let message = of_change(seq, index, at, &entry.event, change, about, channels);
                projection.messages.extend(message);
            }
        }
        Ok(false)
    }

    /// The currency of an event's prices. Where the engine does not tell, because the event was archived
    /// since or cannot be reached just now, the ledger does, which was told when it was created: all other
    /// events come behind this one.
    async fn currency(&mut self, event: &EventId) -> Result<Currency, String> {
        if let Some(currency) = self.currencies.get(event) {
            return Ok(*currency);
        }
        let currency = match self.sagas.currency(event).await {
            Ok(currency) => currency,
            Err(failure) => {
                let known = self.sagas.ledger.currency_of(event).await;
                let known = known.map_err(|error| error.to_string())?;
                known.ok_or_else(|| format!("the currency of {event}: {failure}"))?
            }
        };
        self.currencies.insert(event.clone(), currency);
        Ok(currency)
    }

    /// What a hold is about that is free of charge and confirmed. After a restart only the engine knows
    /// of those that are confirmed without a payment, as all are over HTTP.
    async fn confirmed_free(
        &mut self,
        entry: &FeedEntry,
        change: &Change,
    ) -> Result<Option<Arc<HoldTerms>>, String> {
        let Change::Booking(BookingChange::HoldConfirmed { booking, payment }) = change else {
            return Ok(None);
        };
        if let Some(terms) = self.placed.remove(booking) {
            return Ok(terms);
        }
        if payment.is_some() {
            return Ok(None);
        }
        // If it was cancelled and forgotten since, there is nobody left whom it concerns.
        match self.reach.terms(&self.sagas, &entry.event, booking, Loss::Gathered).await {
            Ok(terms) => Ok(terms),
            Err(failure) => {
                let known = self.sagas.ledger.booking(booking).await;
                match known.map_err(|error| error.to_string())? {
                    Some(_) => Ok(None),
                    // Nobody else can tell what was sold.
                    None => Err(format!("what {booking} is about: {failure}")),
                }
            }
        }
    }

    /// A hold that is free of charge and ends, if anybody may be told: the ledger has no row of it.
    /// After a restart only the engine knows of those that were placed before, and not for long. Where it
    /// does not tell, the message says less, and the other events' go on.
    async fn ended_free(
        &mut self,
        entry: &FeedEntry,
        change: &Change,
    ) -> Result<Option<Booking>, String> {
        let Change::Hold(
            HoldChange::HoldReleased { booking } | HoldChange::HoldExpired { booking },
        ) = change
        else {
            return Ok(None);
        };
        if self.sagas.channels.is_empty() {
            return Ok(None);
        }
        let terms = match self.placed.get(booking) {
            Some(terms) => terms.clone(),
            None => match self.reach.terms(&self.sagas, &entry.event, booking, Loss::Text).await {
                Ok(terms) => terms.filter(|terms| terms.amount_minor == 0),
                // Whoever follows in the next process can ask.
                Err(failure @ Failure::Stopped) => return Err(failure.to_string()),
                Err(_) => None,
            },
        };
        let Some(terms) = terms else { return Ok(None) };
        let currency = self.currency(&entry.event).await?;
        Ok(Some(booking_of_hold(&entry.event, &terms, currency, entry.at)))
    }

    /// Whether a change is about a hold free of charge, as far as the ledger need not know of it.
    fn is_free(&mut self, change: &Change) -> bool {
        if let Change::Hold(HoldChange::HoldPlaced { terms, .. }) = change {
            let is_free = terms.amount_minor == 0;
            if is_free || !self.sagas.channels.is_empty() {
                self.placed.insert(terms.booking.clone(), is_free.then(|| terms.clone()));
            }
            return is_free;
        }
        let Change::Hold(
            HoldChange::HoldReleased { booking } | HoldChange::HoldExpired { booking },
        ) = change
        else {
            return false;
        };
        self.placed.remove(booking).is_some_and(|free| free.is_some())
    }
}

/// Units are held for a booking.
fn held(event: &EventId, terms: &HoldTerms, currency: Currency, at: Time) -> Fact {
    Fact::Held(Box::new(booking_of_hold(event, terms, currency, at)))
}

/// What one change makes of the ledger's rows, once it has the booking of one that is held. Sagas that
/// have something to do because of it do it by `now`.
fn add(facts: &mut Vec<Fact>, entry: &FeedEntry, change: &Change, now: Time) {
    let (event, at) = (&entry.event, entry.at.min(now));
    let moved =
        |booking: &BookingId, status: HoldStatus, payment: Option<&PaymentId>, wake: bool| {
            Fact::Moved(Box::new(Moved {
                booking: booking.clone(),
                status,
                payment: payment.cloned(),
                refund_minor: 0,
                at,
                decided_at: entry.at,
                wake,
            }))
        };
    match change {
        Change::Setup(change) => add_setup(facts, event, change, at),
        Change::Hold(change) => match change {
            HoldChange::HoldPlaced { terms, until } => {
                if terms.lines.pools().iter().any(|line| room_night(&line.pool).is_some()) {
                    facts.push(Fact::Until { booking: terms.booking.clone(), until: *until });
                }
            }
            HoldChange::HoldExtended { booking, until, extension: _ } => {
                facts.push(Fact::Until { booking: booking.clone(), until: *until });
            }
            HoldChange::HoldReleased { booking } => {
                facts.push(moved(booking, HoldStatus::Released, None, false))
            }
            // A payment that ran has to be cancelled.
            HoldChange::HoldExpired { booking } => {
                facts.push(moved(booking, HoldStatus::Expired, None, true))
            }
            HoldChange::HoldForgotten { .. } => {}
        },
        Change::Booking(change) => match change {
            BookingChange::PaymentBegun { booking, payment, until } => {
                facts.push(moved(booking, HoldStatus::Paying, Some(payment), true));
                facts.push(Fact::Until { booking: booking.clone(), until: *until });
            }
            BookingChange::PaymentFailed { booking, until, .. } => {
                facts.push(moved(booking, HoldStatus::Held, None, false));
                facts.push(Fact::Until { booking: booking.clone(), until: *until });
            }
            BookingChange::HoldConfirmed { booking, payment } => {
                facts.push(moved(booking, HoldStatus::Confirmed, payment.as_ref(), false));
            }
            BookingChange::HoldConfirmedLate { booking, payment } => {
                facts.push(moved(booking, HoldStatus::Confirmed, Some(payment), false));
            }
            BookingChange::ConfirmedCancelled { booking, refund_minor, reason: _ } => {
                facts.push(Fact::Moved(Box::new(Moved {
                    booking: booking.clone(),
                    status: HoldStatus::Cancelled,
                    payment: None,
                    refund_minor: *refund_minor,
                    at,
                    decided_at: entry.at,
                    wake: true,
                })));
            }
            BookingChange::CheckedIn { booking, ticket: _, scan: _ } => {
                facts.push(Fact::CheckedIn { booking: booking.clone(), at });
            }
            BookingChange::PayerNamed { .. } | BookingChange::LatePaymentFailed { .. } => {}
        },
        Change::Sale(_) | Change::Queue(_) | Change::Visitor(_) | Change::Claim(_) => {}
    }
}

fn add_setup(facts: &mut Vec<Fact>, event: &EventId, change: &SetupChange, at: Time) {
    match change {
        SetupChange::EventCreated { settings } | SetupChange::SettingsChanged { settings } => {
            facts.push(catalogue(event, settings, at));
        }
        SetupChange::PoolAdded { spec } => {
            facts.push(Fact::Price {
                event: event.clone(),
                kind: "pool",
                name: spec.pool.to_string(),
                price_minor: spec.price_minor,
            });
            facts.extend(stock(event, &spec.pool, i64::from(spec.capacity)));
        }
        SetupChange::CapacityAdjusted { pool, before, after, reason: _ } => {
            facts.extend(stock(event, pool, i64::from(*after) - i64::from(*before)));
        }
        SetupChange::PriceChanged { of, price_minor, .. } => {
            let (kind, name) = match of {
                Priced::Category(name) => ("category", name.to_string()),
                Priced::Pool(pool) => ("pool", pool.to_string()),
            };
            let price_minor = *price_minor;
            facts.push(Fact::Price { event: event.clone(), kind, name, price_minor });
        }
        // What is set aside for a channel is sold as well, and types follow the price.
        SetupChange::TypesSet { .. }
        | SetupChange::ChannelSet { .. }
        | SetupChange::UnitsAllotted { .. }
        | SetupChange::ChannelReleased { .. } => {}
        SetupChange::UnitsBlocked { lines, reason: _ } => facts.extend(stocks(event, lines, -1)),
        SetupChange::UnitsUnblocked { lines, reason: _ } => facts.extend(stocks(event, lines, 1)),
        SetupChange::SeatsAdded { categories, .. } => {
            facts.extend(categories.iter().map(|category| Fact::Price {
                event: event.clone(),
                kind: "category",
                name: category.name.to_string(),
                price_minor: category.price_minor,
            }));
        }
    }
}

/// Room-nights of these lines that came on sale (`sign` 1) or went off it (-1).
fn stocks(event: &EventId, lines: &Lines, sign: i64) -> impl Iterator<Item = Fact> {
    let units = move |line: &PoolLine| stock(event, &line.pool, sign * i64::from(line.quantity));
    lines.pools().iter().filter_map(units)
}

/// Room-nights that came on sale or went off it.
fn stock(event: &EventId, pool: &PoolId, change: i64) -> Option<Fact> {
    room_night(pool)?;
    Some(Fact::Stock { event: event.clone(), pool: pool.clone(), change })
}

fn catalogue(event: &EventId, settings: &Settings, at: Time) -> Fact {
    Fact::Event {
        event: event.clone(),
        title: settings.title.to_string(),
        currency: settings.currency.to_string(),
        settings: serde_json::to_string(settings)
            .expect("settings are plain data, so they are JSON"),
        at,
    }
}

// Beside this file, and not in a folder of its own: whoever imports the follower is in this one.
#[cfg(test)]
#[path = "follower_tests.rs"]
mod tests;
