//! The organiser, who asks over HTTP with the operator's key: opens sales, pauses them, changes
//! capacity and settings, takes units off sale and bookings back, and keeps visitors out.

use super::client::{Answer, Asking, Client};
use super::clocks::START;
use super::noted::{Act, Came, What};
use super::server::{ADMIN_KEY, Server};
use super::types;
use super::world::{World, event_of};
use crate::chance::Chance;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::settings::Fees;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Where the organiser sits.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
/// How often something is asked again that was not answered.
const TRIES: u32 = 3;

/// The organiser.
pub(super) struct Organiser {
    world: Arc<World>,
    server: Arc<Server>,
    client: Client,
    chance: Chance,
    /// What is drawn about ticket types.
    types: Chance,
    /// What is drawn about what goes back at the bank's desk.
    desk: Chance,
    /// How many words have been used.
    words: u32,
    /// What was taken off sale, and under which word.
    blocked: Vec<(EventId, Value, String)>,
    banned: Vec<(EventId, String)>,
    /// Losses that were accepted and after which all sales have been resumed.
    losses: u64,
}

impl Organiser {
    pub(super) fn new(seed: u64, world: Arc<World>, server: Arc<Server>) -> Self {
        let device = Chance::of(seed, "organiser's device", 0);
        let mut client = Client::new(server.net().clone(), ADDRESS.into(), device);
        client.token = Some(ADMIN_KEY.to_owned());
        let chance = Chance::of(seed, "organiser", 0);
        let types = Chance::of(seed, "organiser's types", 0);
        let desk = Chance::of(seed, "organiser's desk", 0);
        let (blocked, banned) = (Vec::new(), Vec::new());
        Self { world, server, client, chance, types, desk, words: 0, blocked, banned, losses: 0 }
    }

    fn tell(&self, what: impl AsRef<str>) {
        self.server.story().tell("the organiser", what);
    }

    async fn wait(&mut self, from_ms: i64, to_ms: i64) {
        let ms = self.chance.within(from_ms, to_ms);
        sleep(Duration::from_millis(ms.unsigned_abs())).await;
    }

    fn word(&mut self) -> String {
        self.words += 1;
        format!("word {}", self.words)
    }

    /// Makes the events with all there is to sell, and opens those that have no draw.
    ///
    /// # Errors
    /// What the server does not let be done; there is no sale then.
    pub(super) async fn set_up(&mut self) -> Result<(), String> {
        for event in self.world.events.clone() {
            self.insist("/admin/events", self.event_body(&event), "EVENT_EXISTS").await?;
            let pool = json!({
                "pool": self.world.pool.as_str(), "capacity": self.world.capacity,
                "price_minor": self.world.price_minor,
            });
            let path = format!("/admin/events/{event}");
            self.insist(&format!("{path}/pools"), pool, "POOL_EXISTS").await?;
            self.world.add_seats(&self.server, &event).await?;
            if self.world.has_types {
                for of in types::all_of(&self.world) {
                    self.set_types(&event, &of).await;
                }
            }
            if self.world.settings.room.is_some() {
                self.insist(&format!("{path}/prequeue"), json!({}), "ALREADY_IN_PHASE").await?;
            }
            if !self.world.is_drawn {
                self.insist(&format!("{path}/open"), json!({}), "ALREADY_IN_PHASE").await?;
            }
        }
        Ok(())
    }

    /// Has something done that must be done; `again` is what is said if an answer was lost.
    async fn insist(&mut self, path: &str, body: Value, again: &str) -> Result<(), String> {
        let answer = self.client.insist(&Asking::post(path).body(body)).await;
        let is_done = answer.is_done() || answer.code() == again;
        is_done.then_some(()).ok_or_else(|| format!("{path} was answered {answer:?}"))
    }

    /// An event as organisers make it.
    fn event_body(&self, event: &EventId) -> Value {
        let World { settings, is_drawn, .. } = &*self.world;
        let Fees { fixed_minor, percent_bp } = settings.fees;
        let mut body = json!({
            "event": event.as_str(), "title": &*settings.title, "currency": "EUR",
            "hold_ttl_ms": settings.hold_ttl_ms, "hold_max_ms": settings.hold_max_ms,
            "payment_window_ms": settings.payment_window_ms,
            "payment_attempts": settings.payment_attempts, "max_per_user": settings.max_per_user,
            "max_per_email": settings.max_per_email,
            "fees": { "fixed_minor": fixed_minor, "percent_bp": percent_bp },
        });
        if let Some(percent) = self.world.refund_percent {
            body["starts_at"] = START.plus_ms(30 * 24 * 3_600_000).0.into();
            body["refunds"] = json!([{ "days_before": 1, "percent": percent }]);
        }
        if let Some(tax) = &settings.tax {
            body["tax"] = json!({ "name": &*tax.name, "rate_bp": tax.rate_bp });
        }
        if let Some(limit) = settings.max_per_card {
            body["max_per_card"] = limit.into();
        }
        if let Some(room) = &settings.room {
            let order = if *is_drawn { "draw" } else { "fifo" };
            body["room"] =
                json!({ "capacity": room.capacity, "session_ms": room.session_ms, "order": order });
            if let Some(source) = self.world.promised() {
                body["room"]["public_value_source"] = source.into();
            }
        }
        body
    }

    /// Does what organisers do, now and then, without end.
    pub(super) async fn organise(mut self) {
        if self.world.is_drawn {
            self.wait(20_000, 90_000).await;
            for event in self.world.events.clone() {
                self.open_drawn(&event).await;
            }
        }
        loop {
            self.wait(500, 60_000).await;
            self.go_on_after_losses().await;
            let event = self.chance.pick(&self.world.events).clone();
            if self.world.has_desk && self.desk.percent(40) {
                self.cancel_at_desk().await;
                continue;
            }
            if self.world.has_types && self.types.percent(10) {
                let of = self.types.pick(&types::all_of(&self.world)).clone();
                self.set_types(&event, &of).await;
                continue;
            }
            match self.chance.below(12) {
                0 => self.pause(&event).await,
                1 => drop(self.phase(&event, What::Resumes).await),
                2 => self.change_capacity(&event).await,
                3 => self.change_title(&event).await,
                4..=5 => self.block(&event).await,
                6 => self.unblock().await,
                7 => self.ban(&event).await,
                8 => self.unban().await,
                9 => self.change_price(&event).await,
                _ => self.cancel().await,
            }
        }
    }

    /// Fixes who takes part, and opens, with a public value or without; where one was promised, first
    /// without, which is refused.
    async fn open_drawn(&mut self, event: &EventId) {
        let path = format!("/admin/events/{event}");
        let closed = self.client.insist(&Asking::post(format!("{path}/prequeue/close"))).await;
        self.tell(format!("closes the prequeue of {event}: {} {}", closed.status, closed.code()));
        self.wait(500, 20_000).await;
        let is_promised = self.world.promised().is_some();
        if is_promised {
            let early = self.client.insist(&Asking::post(format!("{path}/open"))).await;
            self.tell(format!("draws for {event} without: {} {}", early.status, early.code()));
        }
        let mut body = json!({});
        if self.chance.percent(60) || is_promised {
            let value = format!("beacon {}", self.chance.any());
            body["public_value"] = value.as_str().into();
            self.world.note_public_value(event, value);
        }
        let opened = self.client.insist(&Asking::post(format!("{path}/open")).body(body)).await;
        self.tell(format!("draws for {event}: {} {}", opened.status, opened.code()));
    }

    /// Asks once, and remembers what came of it; `None` if it was not answered.
    async fn act(
        &mut self,
        event: &EventId,
        (what, whom): (What, &str),
        word: &str,
        asking: &Asking,
    ) -> Option<Answer> {
        let act = Act {
            event: event.clone(),
            what,
            word: word.to_owned(),
            whom: whom.to_owned(),
            wanted: asking.wanted(),
            at: Instant::now(),
            restores: self.server.restores(),
            came: Came::Unknown,
        };
        // The sale may be over while this waits, and the server still at it.
        let act = self.world.note_act(act);
        let answer = self.client.ask(asking).await.filter(|answer| !answer.is_put_off());
        let came = match &answer {
            Some(answer) if answer.is_done() => Came::Done,
            Some(answer) if answer.status < 500 => Came::Refused,
            Some(_) | None => Came::Unknown,
        };
        let said = answer.as_ref().map(|answer| format!("{} {}", answer.status, answer.code()));
        self.tell(format!(
            "{what:?} {event}, {word}: {}",
            said.unwrap_or_else(|| "no answer".into())
        ));
        self.world.note_outcome(act, came);
        answer
    }

    /// Asks under a new word each time, until somebody answers.
    async fn act_until_answered(
        &mut self,
        event: &EventId,
        about: (What, &str),
        asking: impl Fn(&str) -> Asking,
    ) -> Option<(String, Answer)> {
        for _ in 0..TRIES {
            let word = self.word();
            if let Some(answer) = self.act(event, about, &word, &asking(&word)).await {
                return Some((word, answer));
            }
            self.wait(200, 3_000).await;
        }
        None
    }

    async fn phase(&mut self, event: &EventId, what: What) -> Option<Answer> {
        let step = if what == What::Pauses { "pause" } else { "resume" };
        let asking = Asking::post(format!("/admin/events/{event}/{step}"));
        self.act(event, (what, ""), "", &asking).await
    }

    /// A pause that nobody ends would keep everybody waiting.
    async fn pause(&mut self, event: &EventId) {
        self.phase(event, What::Pauses).await;
        self.wait(1_000, 20_000).await;
        while self.phase(event, What::Resumes).await.is_none() {
            self.wait(500, 3_000).await;
        }
    }

    /// A start that accepts what is lost pauses all sales.
    async fn go_on_after_losses(&mut self) {
        let losses = self.server.accepted();
        if losses == self.losses {
            return;
        }
        self.losses = losses;
        for event in self.world.events.clone() {
            while self.phase(&event, What::Resumes).await.is_none() {
                self.wait(500, 3_000).await;
            }
        }
    }

    async fn change_capacity(&mut self, event: &EventId) {
        let capacity = self.world.capacity + self.chance.below(5);
        let path = format!("/admin/events/{event}/pools/{}/capacity", self.world.pool);
        let asking = |word: &str| {
            let body = json!({ "capacity": capacity, "by": "Ann", "why": word });
            Asking::put(&path).body(body)
        };
        self.act_until_answered(event, (What::ChangesCapacity, ""), asking).await;
    }

    /// A price, and another one later, in a few seconds or minutes.
    async fn change_price(&mut self, event: &EventId) {
        let path = format!("/admin/events/{event}/prices");
        let price_minor = *self.chance.pick(&[2_500, 999, 7_000]);
        let from = START.plus_ms(self.chance.within(0, 600_000));
        let later = match self.chance.percent(50) {
            true => json!([{ "from": from, "price_minor": price_minor + 500 }]),
            false => json!([]),
        };
        let (of, name) = match self.world.seats > 0 && self.chance.percent(50) {
            true => ("category", "stalls"),
            false => ("pool", self.world.pool.as_str()),
        };
        let mut wanted = json!({ "price_minor": price_minor, "later": later, "by": "Ann" });
        wanted[of] = name.into();
        let asking = |word: &str| {
            let mut body = wanted.clone();
            body["why"] = word.into();
            Asking::put(&path).body(body)
        };
        self.act_until_answered(event, (What::ChangesPrice, ""), asking).await;
    }

    /// Other ticket types of the pool or the seats, all of them at once.
    async fn set_types(&mut self, event: &EventId, of: &Value) {
        let path = format!("/admin/events/{event}/types");
        let types = types::list(&mut self.types);
        let asking = |word: &str| Asking::put(&path).body(types::body(of, &types, word));
        self.act_until_answered(event, (What::SetsTypes, ""), asking).await;
    }

    async fn change_title(&mut self, event: &EventId) {
        let path = format!("/admin/events/{event}");
        let asking = |word: &str| Asking::patch(&path).body(json!({ "title": word }));
        let changed = self.act_until_answered(event, (What::ChangesTitle, ""), asking).await;
        if let Some((word, answer)) = changed
            && answer.is_done()
            && answer.body["title"] != word.as_str()
        {
            self.world.complain(format!("a title was changed to {word}: {}", answer.body));
        }
    }

    async fn block(&mut self, event: &EventId) {
        let units = if self.world.seats > 0 && self.chance.percent(50) {
            let seat = World::seat(1 + self.chance.below(self.world.seats));
            json!({ "seats": [seat] })
        } else {
            json!({ "pools": { (self.world.pool.as_str()): 1 + self.chance.below(3) } })
        };
        let path = format!("/admin/events/{event}/block");
        let asking = |word: &str| Asking::post(&path).body(with_reason(&units, word));
        let blocked = self.act_until_answered(event, (What::Blocks, ""), asking).await;
        if let Some((word, answer)) = blocked
            && answer.is_done()
        {
            self.blocked.push((event.clone(), units.clone(), word));
        }
    }

    /// Puts on sale again what was blocked under the same word.
    async fn unblock(&mut self) {
        let Some((event, units, word)) = self.blocked.pop() else { return };
        let path = format!("/admin/events/{event}/unblock");
        let asking = Asking::post(path).body(with_reason(&units, &word));
        for _ in 0..TRIES {
            if self.act(&event, (What::Unblocks, ""), &word, &asking).await.is_some() {
                return;
            }
        }
    }

    async fn ban(&mut self, event: &EventId) {
        let Some(user) = self.world.any_visitor(&mut self.chance) else { return };
        let path = format!("/admin/events/{event}/visitors/{user}/remove");
        for _ in 0..TRIES {
            let word = self.word();
            let body = json!({ "by": "Ann", "why": &word, "ban": true });
            let asking = Asking::post(&path).body(body);
            // Who is banned already and has nothing is not removed again, and that is no refusal.
            let answer = self.act(event, (What::Bans, &user), &word, &asking).await;
            if answer.is_some_and(|answer| answer.is_done()) {
                self.banned.push((event.clone(), user.clone()));
                return;
            }
        }
    }

    async fn unban(&mut self) {
        let Some((event, user)) = self.banned.pop() else { return };
        let path = format!("/admin/events/{event}/visitors/{user}/unban");
        let asking = |word: &str| Asking::post(&path).body(json!({ "by": "Ann", "why": word }));
        self.act_until_answered(&event, (What::Unbans, &user), asking).await;
    }

    async fn cancel(&mut self) {
        let Some(booking) = self.world.any_booking(&mut self.chance) else { return };
        // Mostly all of it goes back.
        let refund = self.chance.percent(30).then(|| *self.chance.pick(&[0, 1, 999, 2_500]));
        self.take_back(&booking, refund).await;
    }

    /// Takes a booking back of which something went back at the bank's desk: mostly with as much as that, or
    /// with all there was.
    async fn cancel_at_desk(&mut self) {
        let Some((booking, back_minor)) = self.world.any_back_at_desk(&mut self.desk) else {
            return;
        };
        let refund = match self.desk.below(10) {
            0..=3 => Some(back_minor),
            4..=7 => None,
            8 => Some(back_minor + 1),
            _ => Some(*self.desk.pick(&[0, 1, 500])),
        };
        self.take_back(&booking, refund).await;
    }

    /// Has all of it go back, or as much as is said.
    async fn take_back(&mut self, booking: &BookingId, refund: Option<i64>) {
        let event = event_of(booking);
        let path = format!("/admin/events/{event}/bookings/{booking}/cancel");
        let asking = |word: &str| {
            let mut body = json!({ "by": "Ann", "why": word });
            if let Some(refund_minor) = refund {
                body["refund_minor"] = refund_minor.into();
            }
            Asking::post(&path).body(body)
        };
        self.act_until_answered(&event, (What::Cancels, booking.as_str()), asking).await;
    }
}

/// Units, and who wants something with them.
fn with_reason(units: &Value, word: &str) -> Value {
    let mut body = units.clone();
    body["by"] = "Ann".into();
    body["why"] = word.into();
    body
}
