//! An event with prices, and what a buyer asks for.

use super::super::server::Served;
use crate::load::{Pool, Request};
use serde::Deserialize;
use std::net::SocketAddr;
use std::time::Duration;

pub(crate) const EVENT: &str = "paid";
/// How often a buyer asks for the place, and for the paid booking: oftener than people do.
const POLL: Duration = Duration::from_millis(50);
/// How often it is asked where the pause would be a part of what is measured.
pub(crate) const LOOK: Duration = Duration::from_millis(1);

/// Creates the event and opens it. With a room everyone queues first.
pub(crate) async fn set_up(pool: &Pool, room: bool) -> Result<(), String> {
    let room = if room { r#"{"capacity":5000}"# } else { "null" };
    let event = format!(
        r#"{{"event":"{EVENT}","title":"Benchmark","currency":"EUR","room":{room},
            "max_per_user":null,"fees":{{"percent_bp":250}}}}"#
    );
    Served::admin(pool, "POST", "/events", &event).await?;
    let stock = r#"{"pool":"ga","capacity":100000000,"price_minor":4900}"#;
    Served::admin(pool, "POST", &format!("/events/{EVENT}/pools"), stock).await?;
    Served::admin(pool, "POST", &format!("/events/{EVENT}/open"), "{}").await
}

/// A place, a booking or a payment: what matters of it.
#[derive(Deserialize)]
pub(crate) struct PlaceBody {
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) booking: String,
    #[serde(default)]
    pub(crate) payment: String,
    #[serde(default)]
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) amount_minor: i64,
}

/// One buyer.
pub(crate) struct Buyer<'a> {
    pool: &'a Pool,
    token: String,
}

impl<'a> Buyer<'a> {
    pub(crate) async fn new(pool: &'a Pool) -> Result<Self, String> {
        Ok(Self { pool, token: Served::visitor(pool).await? })
    }

    /// Somebody whose token is known.
    pub(crate) fn known(pool: &'a Pool, token: String) -> Self {
        Self { pool, token }
    }

    /// Their token.
    pub(crate) fn into_token(self) -> String {
        self.token
    }

    async fn ask(
        &self,
        method: &str,
        path: &str,
        key: &str,
        body: &str,
    ) -> Result<PlaceBody, String> {
        let head = Request::to(method, path).token(&self.token);
        let head = if key.is_empty() { head } else { head.key(key) };
        let request = if body.is_empty() { head.bare() } else { head.json(body) };
        Served::ask(self.pool, request).await
    }

    /// Joins the queue and waits for admission.
    pub(crate) async fn queue(&self) -> Result<(), String> {
        let path = format!("/api/v1/events/{EVENT}/queue");
        let mut place = self.ask("POST", &path, "", "").await?;
        while place.status != "active" {
            tokio::time::sleep(POLL).await;
            place = self.ask("GET", &path, "", "").await?;
        }
        Ok(())
    }

    /// Holds one unit; says the booking.
    pub(crate) async fn hold(&self) -> Result<String, String> {
        let path = format!("/api/v1/events/{EVENT}/bookings");
        Ok(self.ask("POST", &path, "h", r#"{"pools":{"ga":1}}"#).await?.booking)
    }

    /// Begins the payment.
    pub(crate) async fn pay(&self, booking: &str) -> Result<PlaceBody, String> {
        self.ask("POST", &format!("/api/v1/bookings/{booking}/payment"), "p", "").await
    }

    /// Asks now and then until the booking is confirmed, as somebody who waits for it does.
    pub(crate) async fn confirmed(&self, booking: &str) -> Result<(), String> {
        tokio::time::sleep(POLL).await;
        let path = format!("/api/v1/bookings/{booking}");
        until_confirmed(POLL, || self.ask("GET", &path, "", "")).await
    }

    /// Asks all the time until the booking is confirmed, so that the end is known to the millisecond.
    pub(crate) async fn watch_confirmed(&self, booking: &str) -> Result<(), String> {
        let path = format!("/api/v1/bookings/{booking}");
        until_confirmed(LOOK, || self.ask("GET", &path, "", "")).await
    }
}

/// Asks at once, and again after each pause, until the booking is confirmed.
pub(crate) async fn until_confirmed<A>(
    pause: Duration,
    mut ask: impl FnMut() -> A,
) -> Result<(), String>
where
    A: Future<Output = Result<PlaceBody, String>>,
{
    loop {
        let now = ask().await?;
        match now.status.as_str() {
            "confirmed" => return Ok(()),
            "paying" => tokio::time::sleep(pause).await,
            status => return Err(format!("{} is {status}", now.booking)),
        }
    }
}

/// Types a card into the gateway's page.
pub(crate) async fn use_card(pages: &Pool, payment: &PlaceBody) -> Result<(), String> {
    let path = payment.url.splitn(4, '/').nth(3).unwrap_or_default();
    let request = Request::to("POST", &format!("/{path}")).form("card=4242424242424242&action=pay");
    let said: PlaceBody = Served::ask(pages, request).await?;
    if said.status == "captured" { Ok(()) } else { Err(format!("the card is {}", said.status)) }
}

/// Where the gateway's pages are, from the address of one of them.
pub(crate) fn host_of(url: &str) -> Result<SocketAddr, String> {
    let host = url.split('/').nth(2).and_then(|host| host.parse().ok());
    host.ok_or_else(|| format!("an odd pay page: {url}"))
}
