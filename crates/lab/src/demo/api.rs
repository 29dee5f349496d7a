//! What fans and the organiser say to the server, over real HTTP.

use super::house::SeatMap;
use crate::load::{Latency, Pool, Request};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a fan waits after being told that too much is asked at once.
const BUSY_WAIT: Duration = Duration::from_secs(1);
/// How often a fan tries then.
const BUSY_TRIES: usize = 30;

/// The ticket type at half the price. Whoever names none is an adult.
pub(super) const CHILD: &str = "child";

/// What the server said.
pub(super) enum Said<T> {
    /// It did what was asked.
    Yes(T),
    /// The rules said no.
    No(Problem),
}

/// Something that must not happen in a demo: a lost connection, a server error, an answer nobody understands.
pub(super) type Obstacle = String;

/// A refusal, as far as a fan cares.
#[derive(Deserialize)]
pub(super) struct Problem {
    /// The stable code.
    pub(super) code: String,
}

/// The answer of `POST /visitors`.
#[derive(Deserialize)]
pub(super) struct Visitor {
    /// Who one is from now on.
    user: String,
    /// Proves it.
    pub(super) token: String,
}

/// A visitor's place, as every path of the queue answers it.
#[derive(Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub(super) enum Place {
    /// Waiting.
    Queued {
        /// The place.
        place: String,
        /// Its number in the order taken.
        number: u32,
        /// How many are served before, plus one.
        position: Option<u32>,
    },
    /// Admitted.
    Active {
        /// The place.
        place: String,
        /// Its number in the order taken.
        number: u32,
    },
    /// Neither.
    NotFound,
}

/// A booking, as every path of bookings answers it: the fan's receipt once its status is `confirmed`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Booking {
    /// Its id.
    pub(super) booking: String,
    /// Where it stands.
    pub(super) status: String,
    /// What it is for.
    pub(super) lines: Lines,
    /// The ticket types of its units.
    #[serde(default)]
    types: Vec<UnitsOfType>,
    /// What it costs, fees included.
    pub(super) amount_minor: i64,
}

impl Booking {
    /// Units of it that were bought as a child's.
    pub(super) fn children(&self) -> u64 {
        let of_children = self.types.iter().filter(|it| it.of.id == CHILD);
        let units = |it: &UnitsOfType| {
            it.units.pools.values().map(|units| u64::from(*units)).sum::<u64>()
                + it.units.seats.len() as u64
        };
        of_children.map(units).sum()
    }
}

/// Units of one ticket type.
#[derive(Clone, PartialEq, Eq, Deserialize)]
struct UnitsOfType {
    #[serde(rename = "type")]
    of: TypeOfUnit,
    #[serde(flatten)]
    units: Lines,
}

#[derive(Clone, PartialEq, Eq, Deserialize)]
struct TypeOfUnit {
    id: String,
}

/// A payment, as its buyer sees it.
#[derive(Deserialize)]
pub(super) struct Payment {
    /// Its id.
    pub(super) payment: String,
    /// `open`, `captured`, `failed` or `refunded`.
    pub(super) status: String,
    /// Where the buyer pays.
    pub(super) url: Option<String>,
}

/// What the sandbox says to a buyer.
#[derive(Deserialize)]
struct AtSandbox {
    status: String,
}

/// Seats and units of pools.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Lines {
    /// Units by pool.
    #[serde(default)]
    pub(super) pools: BTreeMap<String, u32>,
    /// Seats.
    #[serde(default)]
    pub(super) seats: Vec<String>,
}

/// An event, as far as the demo shows it.
#[derive(Deserialize)]
pub(super) struct EventNow {
    /// Where its sale stands.
    pub(super) phase: String,
    /// People waiting.
    pub(super) waiting: u32,
    /// Slots of the room in use.
    pub(super) active: u32,
    /// How the units divide.
    pub(super) units: Units,
}

/// How units divide.
#[derive(Deserialize)]
pub(super) struct Units {
    /// On sale.
    pub(super) free: u32,
    /// In holds.
    pub(super) held: u32,
    /// Confirmed.
    pub(super) sold: u32,
}

#[derive(Deserialize)]
pub(super) struct Availability {
    pools: Vec<PoolNow>,
    /// The seats by price category, the best first.
    pub(super) categories: Vec<CategoryNow>,
}

impl Availability {
    /// Standing places that are free.
    pub(super) fn standing(&self) -> u32 {
        self.pools.first().map_or(0, |pool| pool.free)
    }
}

#[derive(Deserialize)]
struct PoolNow {
    free: u32,
}

/// Seats of one price category.
#[derive(Deserialize)]
pub(super) struct CategoryNow {
    /// What one of them costs.
    pub(super) price_minor: i64,
    /// Seats that are free.
    pub(super) free: u32,
}

#[derive(Deserialize)]
struct SeatLetters {
    status: String,
}

/// What is asked, for the figures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ask {
    /// A token, and a place in the queue.
    Join,
    /// A position.
    Position,
    /// What is still free.
    Look,
    /// A hold.
    Hold,
    /// A payment to be begun.
    Pay,
    /// A card on the gateway's page.
    Card,
    /// How a booking or its payment stands.
    Standing,
    /// Everything else.
    Other,
}

/// Figures of one kind of request.
pub(super) struct Figures {
    /// From the moment the request was meant to be sent to its answer.
    pub(super) latency: Latency,
    /// Answers that were not refusals.
    pub(super) accepted: u64,
    /// Answers in each second of the demo.
    pub(super) by_second: Vec<u64>,
}

impl Figures {
    fn new() -> Self {
        Self { latency: Latency::new(), accepted: 0, by_second: Vec::new() }
    }
}

/// The server, from outside.
pub(super) struct Api {
    pool: Pool,
    /// The payment gateway's pages.
    gateway: Pool,
    event: String,
    begun: Instant,
    /// Who asked for a token here: everybody else is a visitor from outside.
    crowd: Mutex<BTreeSet<String>>,
    figures: Mutex<BTreeMap<Ask, Figures>>,
    refusals: Mutex<BTreeMap<String, u64>>,
}

impl Api {
    /// Speaks to the server behind `pool` about `event`.
    pub(super) fn new(pool: Pool, gateway: Pool, event: &str) -> Self {
        Self {
            pool,
            gateway,
            event: event.to_owned(),
            begun: Instant::now(),
            crowd: Mutex::default(),
            figures: Mutex::default(),
            refusals: Mutex::default(),
        }
    }

    /// Where the server is.
    pub(super) fn address(&self) -> std::net::SocketAddr {
        self.pool.address()
    }

    /// The figures so far, and the refusals by code.
    pub(super) fn into_figures(self) -> (BTreeMap<Ask, Figures>, BTreeMap<String, u64>) {
        let figures = self.figures.into_inner().unwrap_or_else(PoisonError::into_inner);
        (figures, self.refusals.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Everybody who came with the crowd.
    pub(super) fn crowd(&self) -> BTreeSet<String> {
        self.crowd.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The event.
    pub(super) fn event_id(&self) -> &str {
        &self.event
    }

    /// A path below the event.
    pub(super) fn path(&self, rest: &str) -> String {
        format!("/api/v1/events/{}{rest}", self.event)
    }

    /// `POST /visitors`.
    pub(super) async fn visitor(&self, due: Instant) -> Result<Visitor, Obstacle> {
        let request = Request::to("POST", "/api/v1/visitors").bare();
        let visitor: Visitor = self.must(Ask::Join, due, request).await?;
        let mut crowd = self.crowd.lock().unwrap_or_else(PoisonError::into_inner);
        crowd.insert(visitor.user.clone());
        drop(crowd);
        Ok(visitor)
    }

    /// `POST …/queue`.
    pub(super) async fn join(
        &self,
        due: Instant,
        token: &str,
        key: &str,
    ) -> Result<Said<Place>, Obstacle> {
        let request = Request::to("POST", &self.path("/queue")).token(token).key(key).bare();
        self.ask(Ask::Join, due, request).await
    }

    /// `GET …/queue`.
    pub(super) async fn position(&self, due: Instant, token: &str) -> Result<Place, Obstacle> {
        self.must(Ask::Position, due, Request::to("GET", &self.path("/queue")).token(token).bare())
            .await
    }

    /// `DELETE …/queue`.
    pub(super) async fn leave(
        &self,
        due: Instant,
        token: &str,
    ) -> Result<Said<serde_json::Value>, Obstacle> {
        let request = Request::to("DELETE", &self.path("/queue")).token(token).bare();
        self.ask(Ask::Other, due, request).await
    }

    /// `POST …/queue/arrive`.
    pub(super) async fn arrive(&self, due: Instant, token: &str) -> Result<Said<Place>, Obstacle> {
        let request = Request::to("POST", &self.path("/queue/arrive")).token(token).bare();
        self.ask(Ask::Other, due, request).await
    }

    /// `GET …/seats`.
    pub(super) async fn seats(&self, due: Instant) -> Result<SeatMap, Obstacle> {
        self.must(Ask::Other, due, Request::to("GET", &self.path("/seats")).bare()).await
    }

    /// `GET …/seats/status`: a letter for each seat.
    pub(super) async fn look(&self, due: Instant) -> Result<Vec<u8>, Obstacle> {
        let request = Request::to("GET", &self.path("/seats/status")).bare();
        let letters: SeatLetters = self.must(Ask::Look, due, request).await?;
        Ok(letters.status.into_bytes())
    }

    /// `GET …/availability`: standing places that are free.
    pub(super) async fn availability(&self, due: Instant) -> Result<Availability, Obstacle> {
        let request = Request::to("GET", &self.path("/availability")).bare();
        self.must(Ask::Look, due, request).await
    }

    /// `GET /events/{event}`.
    pub(super) async fn event(&self, due: Instant) -> Result<EventNow, Obstacle> {
        self.must(Ask::Other, due, Request::to("GET", &self.path("")).bare()).await
    }

    /// `POST …/bookings`.
    pub(super) async fn hold(
        &self,
        due: Instant,
        token: &str,
        key: &str,
        lines: &str,
    ) -> Result<Said<Booking>, Obstacle> {
        let request =
            Request::to("POST", &self.path("/bookings")).token(token).key(key).json(lines);
        self.ask(Ask::Hold, due, request).await
    }

    /// `POST /bookings/{booking}/payment`.
    pub(super) async fn pay(
        &self,
        due: Instant,
        token: &str,
        booking: &str,
        key: &str,
    ) -> Result<Said<Payment>, Obstacle> {
        let path = format!("/api/v1/bookings/{booking}/payment");
        self.ask(Ask::Pay, due, Request::to("POST", &path).token(token).key(key).bare()).await
    }

    /// `GET /bookings/{booking}/payment`.
    pub(super) async fn payment(
        &self,
        due: Instant,
        token: &str,
        booking: &str,
    ) -> Result<Payment, Obstacle> {
        let path = format!("/api/v1/bookings/{booking}/payment");
        self.must(Ask::Standing, due, Request::to("GET", &path).token(token).bare()).await
    }

    /// `GET /bookings/{booking}`.
    pub(super) async fn standing(
        &self,
        due: Instant,
        token: &str,
        booking: &str,
    ) -> Result<Booking, Obstacle> {
        let path = format!("/api/v1/bookings/{booking}");
        self.must(Ask::Standing, due, Request::to("GET", &path).token(token).bare()).await
    }

    /// A card and "pay" on the gateway's page: whether the money was taken. A page that does not
    /// answer leaves that open.
    pub(super) async fn use_card(&self, url: &str) -> Result<Option<bool>, Obstacle> {
        let due = Instant::now();
        let path = url.splitn(4, '/').nth(3).ok_or_else(|| format!("an odd pay page: {url}"))?;
        let request =
            Request::to("POST", &format!("/{path}")).form("card=4242424242424242&action=pay");
        let read = |answer: crate::load::Answer<'_>| match answer.status {
            200..=299 => serde_json::from_slice::<AtSandbox>(answer.body)
                .map(|said| Some(said.status == "captured"))
                .map_err(|error| format!("unreadable answer of the gateway: {error}")),
            // The hold ran out and the payment was called off, or the page stumbled.
            _ => Ok(None),
        };
        match self.gateway.exchange(&request, read).await {
            Ok(said) => {
                self.count(Ask::Card, due, matches!(said, Ok(Some(true))));
                said
            }
            Err(_) => Ok(None),
        }
    }

    /// `POST /bookings/{booking}/cancel`.
    pub(super) async fn booking(
        &self,
        ask: Ask,
        due: Instant,
        token: &str,
        booking: &str,
        what: &str,
    ) -> Result<Said<Booking>, Obstacle> {
        let path = format!("/api/v1/bookings/{booking}/{what}");
        self.ask(ask, due, Request::to("POST", &path).token(token).bare()).await
    }

    /// A path below `/admin`, where a refusal is trouble too.
    pub(super) async fn admin(
        &self,
        method: &str,
        rest: &str,
        key: &str,
        body: &str,
    ) -> Result<(), Obstacle> {
        let path = format!("/api/v1/admin/events{rest}");
        let request = Request::to(method, &path).token(key).json(body);
        self.must::<serde_json::Value>(Ask::Other, Instant::now(), request).await.map(drop)
    }

    /// Asks what cannot be refused.
    async fn must<T: DeserializeOwned>(
        &self,
        ask: Ask,
        due: Instant,
        request: Request,
    ) -> Result<T, Obstacle> {
        match self.ask(ask, due, request).await? {
            Said::Yes(value) => Ok(value),
            Said::No(problem) => Err(format!("unexpectedly refused: {}", problem.code)),
        }
    }

    /// Sends a request that was meant to be sent at `due`, and counts it.
    async fn ask<T: DeserializeOwned>(
        &self,
        ask: Ask,
        mut due: Instant,
        request: Request,
    ) -> Result<Said<T>, Obstacle> {
        for _ in 0..BUSY_TRIES {
            let read = |answer: crate::load::Answer<'_>| {
                let text = || String::from_utf8_lossy(answer.body).into_owned();
                match answer.status {
                    200..=299 => serde_json::from_slice(answer.body)
                        .map(Said::Yes)
                        .map_err(|error| format!("unreadable answer ({error}): {}", text())),
                    400..=499 | 503 => serde_json::from_slice(answer.body)
                        .map(Said::No)
                        .map_err(|error| format!("unreadable problem ({error}): {}", text())),
                    status => Err(format!("status {status}: {}", text())),
                }
                .map(|said| (answer.status, said))
            };
            let (status, said) =
                self.pool.exchange(&request, read).await.map_err(|e| e.to_string())??;
            self.count(ask, due, matches!(said, Said::Yes(_)));
            if let Said::No(problem) = &said {
                let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
                *refusals.entry(problem.code.clone()).or_default() += 1;
            }
            if !matches!(status, 429 | 503) {
                return Ok(said);
            }
            tokio::time::sleep(BUSY_WAIT).await;
            due = Instant::now();
        }
        Err("the server stayed busy".to_owned())
    }

    fn count(&self, ask: Ask, due: Instant, accepted: bool) {
        let second = usize::try_from(self.begun.elapsed().as_secs()).unwrap_or(usize::MAX);
        let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        let figures = figures.entry(ask).or_insert_with(Figures::new);
        figures.latency.record(due.elapsed());
        figures.accepted += u64::from(accepted);
        if figures.by_second.len() <= second {
            figures.by_second.resize(second + 1, 0);
        }
        figures.by_second[second] += 1;
    }
}
