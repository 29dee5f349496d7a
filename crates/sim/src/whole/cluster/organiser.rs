//! The organiser of a cluster's sale, over HTTP like everybody else.

use super::site::ADMIN_KEY;
use crate::chance::Chance;
use crate::whole::client::{Answer, Asking, Client, Ways};
use crate::whole::story::Story;
use crate::whole::types;
use crate::whole::world::{World, event_of};
use onrush_core::ids::{BookingId, EventId};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// Who sets the sale up, and changes it now and then.
pub(super) struct Organiser {
    seed: u64,
    world: Arc<World>,
    ways: Arc<dyn Ways>,
    story: Story,
    /// Bookings that they were told are cancelled.
    cancelled: Mutex<Vec<BookingId>>,
}

impl Organiser {
    pub(super) fn new(
        seed: u64,
        world: Arc<World>,
        ways: Arc<dyn Ways>,
        story: Story,
    ) -> Arc<Self> {
        Arc::new(Self { seed, world, ways, story, cancelled: Mutex::default() })
    }

    /// Bookings that they were told are cancelled.
    pub(super) fn cancelled(&self) -> Vec<BookingId> {
        self.cancelled.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn client(&self, name: &str) -> Client {
        client(self.ways.clone(), Chance::of(self.seed, name, 0))
    }

    /// Opens the sale.
    pub(super) async fn set_up(&self) -> Result<(), String> {
        let mut client = self.client("set-up");
        for event in &self.world.events {
            for asking in self.beginnings(event)? {
                let answer = client.insist(&asking).await;
                if !answer.is_done() {
                    return Err(format!("{asking:?} was answered {answer:?}"));
                }
            }
        }
        Ok(())
    }

    fn beginnings(&self, event: &EventId) -> Result<Vec<Asking>, String> {
        let World { settings, pool, capacity, price_minor, seats, .. } = &*self.world;
        let path = format!("/admin/events/{event}");
        let mut create = serde_json::to_value(settings).map_err(|error| error.to_string())?;
        create["event"] = json!(event);
        let pool = json!({"pool": pool, "capacity": capacity, "price_minor": price_minor});
        let mut all = vec![
            Asking::post("/admin/events").body(create),
            Asking::post(format!("{path}/pools")).body(pool),
        ];
        if *seats > 0 {
            let plan = json!({"plan": plan(*seats), "prices": {"stalls": price_minor}});
            all.push(Asking::put(format!("{path}/seat-map")).body(plan));
        }
        if self.world.has_types {
            let mut chance = Chance::of(self.seed, "organiser's types", 0);
            for of in types::all_of(&self.world) {
                let types = types::body(&of, &types::list(&mut chance), "the beginning");
                all.push(Asking::put(format!("{path}/types")).body(types));
            }
        }
        if settings.room.is_some() {
            all.push(Asking::post(format!("{path}/prequeue")));
        }
        all.push(Asking::post(format!("{path}/open")));
        Ok(all)
    }

    /// Takes bookings back, pauses, and changes capacity now and then, without end.
    pub(super) async fn organise(self: Arc<Self>) {
        let mut chance = Chance::of(self.seed, "organiser", 0);
        let mut client = self.client("organiser's device");
        loop {
            self.wait(&mut chance, 500, 60_000).await;
            let event = chance.pick(&self.world.events).clone();
            match chance.below(6) {
                0 => {
                    self.phase(&mut client, &event, "pause").await;
                    self.wait(&mut chance, 1_000, 20_000).await;
                    // A pause that nobody ends would keep everybody waiting.
                    self.phase(&mut client, &event, "resume").await;
                }
                1..=2 => {
                    let capacity = self.world.capacity + chance.below(5);
                    let pool = &self.world.pool;
                    let path = format!("/admin/events/{event}/pools/{pool}/capacity");
                    let body = json!({"capacity": capacity, "by": "Ann", "why": "as it happens"});
                    let answer = client.insist(&Asking::put(path).body(body)).await;
                    self.tell(&event, "changes the capacity", &answer);
                }
                _ => {
                    let Some(booking) = self.world.any_booking(&mut chance) else { continue };
                    self.cancel(&mut client, booking).await;
                }
            }
        }
    }

    /// Ends a pause that may be left.
    pub(super) async fn calm(&self) {
        let mut client = self.client("calm");
        for event in &self.world.events {
            self.phase(&mut client, event, "resume").await;
        }
    }

    async fn phase(&self, client: &mut Client, event: &EventId, what: &str) {
        let answer = client.insist(&Asking::post(format!("/admin/events/{event}/{what}"))).await;
        self.tell(event, what, &answer);
    }

    async fn cancel(&self, client: &mut Client, booking: BookingId) {
        let event = event_of(&booking);
        let path = format!("/admin/events/{event}/bookings/{booking}/cancel");
        let body = json!({"by": "Ann", "why": "as it happens"});
        let answer = client.insist(&Asking::post(path).body(body)).await;
        self.tell(&event, &format!("cancels {booking}"), &answer);
        if answer.is_done() {
            self.cancelled.lock().unwrap_or_else(PoisonError::into_inner).push(booking);
        }
    }

    fn tell(&self, event: &EventId, what: &str, answer: &Answer) {
        let told = format!("{event}: {what}: {} {}", answer.status, answer.code());
        self.story.tell("the organiser", told);
    }

    async fn wait(&self, chance: &mut Chance, from_ms: i64, to_ms: i64) {
        let ms = chance.within(from_ms, to_ms).unsigned_abs();
        sleep(Duration::from_millis(ms) / self.ways.pace()).await;
    }
}

/// A device with the organiser's key.
pub(super) fn client(ways: Arc<dyn Ways>, chance: Chance) -> Client {
    let mut client = Client::new(ways, Ipv4Addr::LOCALHOST.into(), chance);
    client.token = Some(ADMIN_KEY.to_owned());
    client
}

/// A seating plan of one row.
fn plan(seats: u32) -> Value {
    let seat = |number: u32| {
        json!({"seat_guid": World::seat(number), "seat_number": number.to_string(),
            "position": {"x": 10 * number, "y": 0}, "category": "stalls"})
    };
    let seats: Vec<Value> = (1..=seats).map(seat).collect();
    json!({
        "name": "The house", "size": {"width": 1000, "height": 20},
        "categories": [{"name": "stalls", "color": "#aa3333"}],
        "zones": [{"name": "stalls", "position": {"x": 1, "y": 2}, "zone_id": "z", "rows": [
            {"row_number": "A", "position": {"x": 0, "y": 5}, "seats": seats}]}]
    })
}
