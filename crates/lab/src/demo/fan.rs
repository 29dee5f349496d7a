//! One fan: comes, waits, chooses, changes their mind, buys, or is gone.

use super::api::{Api, Ask, Availability, Booking, Lines, Obstacle, Place, Said};
use super::chance::Chance;
use super::house::House;
use super::wanted::{BestWish, STANDING, Wanted};
use crate::load::Request;
use crate::load::stream::EventStream;
use serde::Deserialize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Units one fan may have.
pub(super) const MAX_PER_USER: u32 = 4;
/// How many rows a fan looks at first; after each disappointment, at three times as many.
const FIRST_ROWS: usize = 6;
/// How often a fan looks again before giving up.
const MAX_LOOKS: usize = 60;
/// How long a fan waits for the end of a payment. Late money takes a while, and so does a gateway
/// that says nothing.
const LONGEST_WAIT: Duration = Duration::from_secs(90);

/// What kind of person a fan is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Nature {
    /// Does everything as it should be done.
    Steady,
    /// Cancels the first hold and chooses again.
    ChangesMind,
    /// Sends every hold twice, with the same key.
    DoubleClicks,
    /// Wants more than allowed at first.
    Greedy,
    /// Gives the place in the queue up.
    Leaves,
    /// Is not there when their turn comes.
    NeverArrives,
    /// Holds something and disappears.
    Vanishes,
}

/// What a fan would like to have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    Seats,
    Floor,
    /// One person wants to stand, the others to sit.
    Both,
}

/// How a fan's evening ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum End {
    /// With tickets.
    Bought,
    /// In the room, with nothing left that they wanted.
    SoldOut,
    /// The session or hold was over before they were done.
    TooSlow,
    /// Left the queue.
    Left,
    /// Did not come when it was their turn.
    NoShow,
    /// Disappeared with something in the basket.
    Vanished,
    /// Payments were declined until nothing was left to try.
    Declined,
    /// The money came too late and went back.
    Refunded,
    /// Still waiting when everything was sold.
    StillWaiting,
    /// Something happened that must not happen.
    Obstacle,
}

/// What a fan can prove afterwards.
pub(super) struct Record {
    /// The place and its number, from the answer to joining.
    pub(super) place: Option<(String, u32)>,
    /// The confirmed booking, as it was confirmed to the fan.
    pub(super) receipt: Option<Booking>,
    /// How the evening ended.
    pub(super) end: End,
    /// What happened that must not happen.
    pub(super) trouble: Option<Obstacle>,
}

/// What all fans share.
pub(super) struct Sale {
    /// The server.
    pub(super) api: Api,
    /// The seats.
    pub(super) house: House,
    /// Whether it is over: everything sold, or interrupted.
    pub(super) over: watch::Receiver<bool>,
}

impl Sale {
    /// Waits until `due`; `false` if it is over before.
    async fn wait_until(&self, due: Instant) -> bool {
        let mut over = self.over.clone();
        tokio::select! {
            () = tokio::time::sleep_until(due.into()) => !*self.over.borrow(),
            _ = over.wait_for(|over| *over) => false,
        }
    }
}

/// How a fan goes about it.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// Waits by an open stream instead of polling.
    pub(super) watches_stream: bool,
    /// Chooses seats in the map, and wants no others.
    pub(super) insists: bool,
}

/// One fan.
pub(super) struct Fan {
    number: u32,
    chance: Chance,
    nature: Nature,
    wish: Wish,
    party: u32,
    /// How many of them are children.
    children: u32,
    watches_stream: bool,
    /// Whether they choose their seats in the map.
    clicks: bool,
    /// Whether they insist on what they click on, however often somebody else was faster.
    insists: bool,
    /// Whether they would rather sit in two groups than not at all.
    apart: bool,
    comes_at: Instant,
    /// Holds tried so far: each new wish gets a key of its own.
    tries: u32,
}

/// What became of a payment.
enum Outcome {
    /// The booking is confirmed.
    Confirmed(Booking),
    /// No money was taken, and the hold waits for another payment.
    Declined,
    /// No money was taken, and the hold is gone.
    Gone,
    /// Money was taken too late, and went back.
    Refunded,
}

/// Why a fan stops early.
enum Stop {
    Ended(End),
    Obstacle(Obstacle),
}

impl From<Obstacle> for Stop {
    fn from(trouble: Obstacle) -> Self {
        Self::Obstacle(trouble)
    }
}

impl Fan {
    /// A fan of the crowd that `seed` makes.
    pub(super) fn new(seed: u64, number: u32, comes_at: Instant, manner: Manner) -> Self {
        let mut chance = Chance::new(seed, u64::from(number));
        let nature = chance.weighted(&[
            (Nature::Steady, 72),
            (Nature::ChangesMind, 10),
            (Nature::DoubleClicks, 3),
            (Nature::Greedy, 2),
            (Nature::Leaves, 4),
            (Nature::NeverArrives, 5),
            (Nature::Vanishes, 4),
        ]);
        let wish = chance.weighted(&[(Wish::Seats, 80), (Wish::Floor, 18), (Wish::Both, 2)]);
        let party = chance.weighted(&[(1, 18), (2, 50), (3, 12), (4, 20)]);
        // Of three or four who come together, half are a family.
        let children = if party > 2 { chance.weighted(&[(0, 1), (party - 2, 1)]) } else { 0 };
        let Manner { watches_stream, insists } = manner;
        let clicks = chance.weighted(&[(true, 10), (false, 90)]) || insists;
        // Four who come together do not mind to sit two and two.
        let (apart, tries) = (party > 3, 0);
        Self {
            number,
            chance,
            nature,
            wish,
            party,
            children,
            watches_stream,
            clicks,
            insists,
            apart,
            comes_at,
            tries,
        }
    }

    /// Lives through the sale.
    pub(super) async fn live(mut self, sale: Arc<Sale>) -> Record {
        let mut record =
            Record { place: None, receipt: None, end: End::StillWaiting, trouble: None };
        match self.try_to_buy(&sale, &mut record).await {
            Ok(end) | Err(Stop::Ended(end)) => record.end = end,
            Err(Stop::Obstacle(trouble)) => {
                record.end = End::Obstacle;
                record.trouble = Some(trouble);
            }
        }
        record
    }

    async fn try_to_buy(&mut self, sale: &Sale, record: &mut Record) -> Result<End, Stop> {
        if !sale.wait_until(self.comes_at).await {
            return Ok(End::StillWaiting);
        }
        let token = sale.api.visitor(self.comes_at).await?.token;
        let key = format!("fan-{}", self.number);
        record.place = match sale.api.join(Instant::now(), &token, &key).await? {
            Said::Yes(Place::Queued { place, number, .. } | Place::Active { place, number }) => {
                Some((place, number))
            }
            Said::Yes(Place::NotFound) => {
                return Err(Stop::Obstacle("joined, but no place".into()));
            }
            // The sale may have been closed while this fan was on the way.
            Said::No(problem) if problem.code == "EVENT_NOT_OPEN" => return Ok(End::SoldOut),
            Said::No(problem) => {
                return Err(Stop::Obstacle(format!("cannot join: {}", problem.code)));
            }
        };
        match self.nature {
            Nature::Leaves => {
                let due = Instant::now() + self.chance.between_ms(500, 6_000);
                if sale.wait_until(due).await {
                    // By now it may be their turn, or over; either way they go.
                    sale.api.leave(due, &token).await?;
                }
                return Ok(End::Left);
            }
            Nature::NeverArrives => return Ok(End::NoShow),
            Nature::Steady
            | Nature::ChangesMind
            | Nature::DoubleClicks
            | Nature::Greedy
            | Nature::Vanishes => {}
        }
        if !self.watches_stream || !self.watch_stream(sale, &token).await? {
            self.poll(sale, &token).await?;
        }
        match sale.api.arrive(Instant::now(), &token).await? {
            Said::Yes(_) => {}
            Said::No(_) => return Ok(End::TooSlow),
        }
        let receipt = self.shop(sale, &token).await?;
        record.receipt = Some(receipt);
        Ok(End::Bought)
    }

    /// Asks for the position until it is the fan's turn: the nearer, the more often.
    async fn poll(&mut self, sale: &Sale, token: &str) -> Result<(), Stop> {
        let mut due = Instant::now() + self.chance.between_ms(100, 1_500);
        loop {
            if !sale.wait_until(due).await {
                return Err(Stop::Ended(End::StillWaiting));
            }
            let interval = match sale.api.position(due, token).await? {
                Place::Active { .. } => return Ok(()),
                Place::NotFound => return Err(Stop::Ended(End::TooSlow)),
                Place::Queued { position: Some(0..=1_000), .. } => {
                    self.chance.between_ms(500, 1_000)
                }
                Place::Queued { position: Some(1_001..=6_000), .. } => {
                    self.chance.between_ms(1_000, 2_000)
                }
                Place::Queued { .. } => self.chance.between_ms(2_000, 4_000),
            };
            due += interval;
        }
    }

    /// Waits for the fan's turn by an open stream; `false` if the stream ended before.
    async fn watch_stream(&self, sale: &Sale, token: &str) -> Result<bool, Stop> {
        #[derive(Deserialize)]
        struct Message {
            r#type: String,
        }
        let request = Request::to("GET", &sale.api.path("/stream")).token(token).bare();
        let Ok(mut stream) = EventStream::open(sale.api.address(), &request).await else {
            return Ok(false);
        };
        let mut over = sale.over.clone();
        loop {
            let message = tokio::select! {
                message = stream.next() => message,
                _ = over.wait_for(|over| *over) => return Err(Stop::Ended(End::StillWaiting)),
            };
            let Ok(Some(text)) = message else { return Ok(false) };
            let message: Message = serde_json::from_str(&text)
                .map_err(|error| format!("unreadable message ({error}): {text}"))?;
            match message.r#type.as_str() {
                "your_turn" => return Ok(true),
                "bye" => return Ok(false),
                "left" | "session_ended" | "not_in_queue" => return Err(Stop::Ended(End::TooSlow)),
                _ => {}
            }
        }
    }

    /// Looks, holds and confirms until something is bought or nothing is left.
    async fn shop(&mut self, sale: &Sale, token: &str) -> Result<Booking, Stop> {
        let mut rows = FIRST_ROWS;
        let mut party = self.party;
        let mut changed_mind = false;
        if self.nature == Nature::Greedy {
            party = MAX_PER_USER + 1;
        }
        for _ in 0..MAX_LOOKS {
            // The page goes on telling what others take while they think, so what they click on is
            // as old as it takes to move a finger.
            let think = Instant::now() + self.chance.between_ms(50, 500);
            if !sale.wait_until(think).await {
                return Err(Stop::Ended(End::SoldOut));
            }
            let wanted = self.look(sale, party, rows).await?;
            let due = Instant::now() + self.chance.between_ms(100, 250);
            if !sale.wait_until(due).await {
                return Err(Stop::Ended(End::SoldOut));
            }
            // If nothing is free, somebody may still give something back.
            let Some(wanted) = wanted else { continue };
            let held = match self.hold(sale, token, due, &wanted).await? {
                Said::Yes(held) => held,
                Said::No(problem) => {
                    match problem.code.as_str() {
                        "SEAT_UNAVAILABLE" => rows = rows.saturating_mul(3),
                        "INSUFFICIENT_STOCK" | "TOO_FEW_SEATS" => {}
                        // Rather in two groups than not at all, and rather fewer than none.
                        "NOT_TOGETHER" if self.apart => party = (party - 1).max(1),
                        "NOT_TOGETHER" => self.apart = true,
                        "USER_LIMIT_EXCEEDED" => party = self.party.min(MAX_PER_USER),
                        "NOT_YOUR_TURN" | "SESSION_OVER" | "PLACE_NOT_FOUND" => {
                            return Err(Stop::Ended(End::TooSlow));
                        }
                        "EVENT_NOT_OPEN" => return Err(Stop::Ended(End::SoldOut)),
                        code => return Err(Stop::Obstacle(format!("cannot hold: {code}"))),
                    }
                    continue;
                }
            };
            if !wanted.is(&held) {
                return Err(Stop::Obstacle(format!("{}: something else was held", held.booking)));
            }
            if self.nature == Nature::Vanishes {
                return Err(Stop::Ended(End::Vanished));
            }
            let due = Instant::now() + self.chance.between_ms(150, 1_500);
            // Whoever holds something brings it to an end, also when all else is sold.
            tokio::time::sleep_until(due.into()).await;
            if self.nature == Nature::ChangesMind && !changed_mind {
                changed_mind = true;
                sale.api.booking(Ask::Other, due, token, &held.booking, "cancel").await?;
                continue;
            }
            if let Some(booking) = self.pay(sale, token, due, &held).await? {
                return Ok(booking);
            }
            // They took too long, and try again.
        }
        Err(Stop::Ended(End::SoldOut))
    }

    /// Pays, with another card where one is declined; `None` if the hold ran out before any money was taken.
    async fn pay(
        &mut self,
        sale: &Sale,
        token: &str,
        mut due: Instant,
        held: &Booking,
    ) -> Result<Option<Booking>, Stop> {
        for attempt in 1.. {
            let key = format!("fan-{}-{}-pay-{attempt}", self.number, self.tries);
            let payment = match sale.api.pay(due, token, &held.booking, &key).await? {
                Said::Yes(payment) => payment,
                Said::No(problem) => match problem.code.as_str() {
                    "HOLD_EXPIRED" => return Ok(None),
                    "TOO_MANY_ATTEMPTS" => {
                        sale.api.booking(Ask::Other, due, token, &held.booking, "cancel").await?;
                        return Err(Stop::Ended(End::Declined));
                    }
                    code => return Err(Stop::Obstacle(format!("cannot pay: {code}"))),
                },
            };
            let typed = Instant::now() + self.chance.between_ms(100, 900);
            tokio::time::sleep_until(typed.into()).await;
            let Some(url) = &payment.url else {
                return Err(Stop::Obstacle(format!("{}: no page to pay at", payment.payment)));
            };
            sale.api.use_card(url).await?;
            match self.outcome(sale, token, &held.booking, &payment.payment).await? {
                Outcome::Confirmed(booking) if booking.lines == held.lines => {
                    return Ok(Some(booking));
                }
                Outcome::Confirmed(booking) => {
                    let why = format!("{}: something else was confirmed", booking.booking);
                    return Err(Stop::Obstacle(why));
                }
                Outcome::Refunded => return Err(Stop::Ended(End::Refunded)),
                Outcome::Gone => return Ok(None),
                Outcome::Declined => due = Instant::now(),
            }
        }
        Ok(None)
    }

    /// Asks until it is clear what became of a payment.
    async fn outcome(
        &mut self,
        sale: &Sale,
        token: &str,
        booking: &str,
        payment: &str,
    ) -> Result<Outcome, Stop> {
        let begun = Instant::now();
        let mut due = begun + Duration::from_millis(40);
        while begun.elapsed() < LONGEST_WAIT {
            tokio::time::sleep_until(due.into()).await;
            let now = sale.api.standing(due, token, booking).await?;
            match now.status.as_str() {
                "confirmed" => return Ok(Outcome::Confirmed(now)),
                // Declined, and the hold waits for another card.
                "held" => return Ok(Outcome::Declined),
                "expired" => {
                    let latest = sale.api.payment(due, token, booking).await?;
                    match latest.status.as_str() {
                        "failed" => return Ok(Outcome::Gone),
                        "refunded" => return Ok(Outcome::Refunded),
                        // The gateway has not said its last word.
                        _ => {}
                    }
                }
                "paying" => {}
                status => {
                    return Err(Stop::Obstacle(format!("{booking} is {status} while paid for")));
                }
            }
            due = Instant::now() + self.chance.between_ms(80, 250);
        }
        Err(Stop::Obstacle(format!("{payment}: nobody says what became of it")))
    }

    /// Looks at what is free, and says what the fan would like of it. If it is nothing, they wish
    /// something else next time.
    async fn look(&mut self, sale: &Sale, party: u32, rows: usize) -> Result<Option<Wanted>, Stop> {
        let mut wanted = Wanted::default();
        let standing = match self.wish {
            Wish::Seats => 0,
            Wish::Floor => party,
            Wish::Both => 1,
        };
        let seats = party.saturating_sub(standing);
        let leaves_it = seats > 0 && !self.clicks;
        if standing > 0 || leaves_it {
            let now = sale.api.availability(Instant::now()).await?;
            let quantity = standing.min(now.standing());
            if quantity > 0 {
                wanted.lines.pools.insert(STANDING.to_owned(), quantity);
            }
            if leaves_it {
                wanted.best = self.best(&now, seats);
            }
        }
        if seats > 0 && !leaves_it {
            let status = sale.api.look(Instant::now()).await?;
            let chosen = sale.house.choose(&status, seats as usize, rows, &mut self.chance);
            let ids = chosen.into_iter().map(|seat| sale.house.id(seat).to_owned());
            let mut ids: Vec<String> = ids.collect();
            ids.sort_unstable();
            if self.insists {
                wanted.lines.seats = ids;
            } else if !ids.is_empty() {
                let quantity = ids.len() as u32;
                let (price_max_minor, apart) = (None, self.apart);
                wanted.best =
                    Some(BestWish { quantity, price_max_minor, apart, first_choice: ids });
            }
        }
        let Lines { pools, seats } = &wanted.lines;
        if seats.is_empty() && pools.is_empty() && wanted.best.is_none() {
            self.wish = if self.wish == Wish::Floor { Wish::Seats } else { Wish::Floor };
            return Ok(None);
        }
        // Whoever insists on seats takes these or looks again; whoever wants too much hears of it.
        if !self.insists && party <= MAX_PER_USER {
            wanted = wanted.or_others(party);
        }
        wanted.bring(self.children);
        Ok(Some(wanted))
    }

    /// So many seats up to one of the prices that still has them; fewer, if none has.
    fn best(&mut self, now: &Availability, seats: u32) -> Option<BestWish> {
        let most = now.categories.iter().map(|category| category.free).max().unwrap_or(0);
        let quantity = seats.min(most);
        let fitting: Vec<_> =
            now.categories.iter().filter(|it| it.free >= quantity.max(1)).collect();
        if fitting.is_empty() {
            return None;
        }
        let price_max_minor = Some(fitting[self.chance.below(fitting.len())].price_minor);
        let (apart, first_choice) = (self.apart, Vec::new());
        Some(BestWish { quantity, price_max_minor, apart, first_choice })
    }

    /// Holds, under a new key; whoever clicks twice must get the same booking twice.
    async fn hold(
        &mut self,
        sale: &Sale,
        token: &str,
        due: Instant,
        wanted: &Wanted,
    ) -> Result<Said<Booking>, Stop> {
        self.tries += 1;
        let key = format!("fan-{}-{}", self.number, self.tries);
        let body = wanted.to_json().to_string();
        if self.nature != Nature::DoubleClicks {
            return Ok(sale.api.hold(due, token, &key, &body).await?);
        }
        let twice = tokio::join!(
            sale.api.hold(due, token, &key, &body),
            sale.api.hold(due, token, &key, &body)
        );
        match (twice.0?, twice.1?) {
            (Said::Yes(first), Said::Yes(second)) if first.booking != second.booking => Err(
                Stop::Obstacle(format!("{} and {} from one key", first.booking, second.booking)),
            ),
            // If one was refused, the units may have become free between the two.
            (Said::Yes(held), _) | (_, Said::Yes(held)) => Ok(Said::Yes(held)),
            (no, _) => Ok(no),
        }
    }
}

/// How long fans keep coming: the crowd's share that comes after the opening.
pub(super) fn rush(fans: u32) -> Duration {
    Duration::from_millis(u64::from(fans) / 3)
}
