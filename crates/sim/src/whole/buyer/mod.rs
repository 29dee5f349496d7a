//! A buyer: queues, holds, pays, gives up, comes back, and remembers what they were told.

mod purchase;

use super::client::{Answer, Asking, Client};
use super::storefront::Shop;
use super::types;
use super::watch::{Heard, Watch};
use super::world::{Kept, World};
use crate::chance::Chance;
use onrush_core::Time;
use onrush_core::ids::BookingId;
use onrush_core::lines::{Lines, PoolLine};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Bookings that one buyer tries for at most.
const BOOKINGS: u32 = 2;
/// Looks at a place or a payment before a buyer goes away.
const LOOKS: u32 = 400;
/// How long those who hope that something comes back wait for it, at the pace of people.
const HOPES: Duration = Duration::from_mins(10);

/// What a buyer was told by the end, of one booking.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) booking: BookingId,
    /// What is held.
    pub(super) lines: Lines,
    /// What all of it costs.
    pub(super) amount_minor: i64,
    /// Until when it is held, unless they pay.
    pub(super) until: Option<Time>,
    /// That it is confirmed.
    pub(super) confirmed: bool,
    /// That it is released.
    pub(super) released: bool,
    /// That it is cancelled.
    pub(super) cancelled: bool,
    /// How often the server had begun again from before, when this was told.
    pub(super) restores: u64,
}

/// Until when something is held by an answer.
fn until(answer: &Answer) -> Option<Time> {
    answer.body["until"].as_i64().map(Time)
}

/// What a look at a place shows.
enum Looked {
    In,
    Waits,
    Out,
}

/// One buyer.
pub(super) struct Buyer {
    number: u32,
    chance: Chance,
    /// What is drawn about ticket types.
    types: Chance,
    /// What is drawn about cards.
    cards: Chance,
    /// What is drawn about giving back.
    refunds: Chance,
    /// What is drawn about receipts.
    receipts: Chance,
    client: Client,
    world: Arc<World>,
    shop: Arc<dyn Shop>,
    /// Where they get mail, if they tell.
    address: Option<String>,
    /// Numbers of keys.
    keys: u32,
    /// Keys under which they asked for something to be held.
    wishes: u32,
    /// Has heard that all is sold, and does not wait for somebody to change their mind.
    is_resigned: bool,
    /// Since when they wait for that, if they do.
    hopes_since: Option<Instant>,
}

impl Buyer {
    pub(super) fn new(seed: u64, number: u32, world: Arc<World>, shop: Arc<dyn Shop>) -> Self {
        let chance = Chance::of(seed, "buyer", number.into());
        let address = Ipv4Addr::from_bits(0x0a00_0001 + number).into();
        let device = Chance::of(seed, "device", number.into());
        let client = Client::new(shop.ways(), address, device);
        // Few: the pictures of tickets cost more time than everything else.
        let address = match Chance::of(seed, "address", number.into()).below(40) {
            0 => Some(format!("nobody-{number}@mail.example")),
            1..=4 => Some(format!("buyer-{number}@mail.example")),
            // Where an address is needed, families have one between them.
            _ => {
                world.settings.max_per_email.map(|_| format!("family-{}@mail.example", number / 4))
            }
        };
        Self {
            number,
            chance,
            types: Chance::of(seed, "buyer's types", number.into()),
            cards: Chance::of(seed, "buyer's cards", number.into()),
            refunds: Chance::of(seed, "buyer's refunds", number.into()),
            receipts: Chance::of(seed, "buyer's receipts", number.into()),
            client,
            world,
            shop,
            address,
            keys: 0,
            wishes: 0,
            is_resigned: false,
            hopes_since: None,
        }
    }

    fn tell(&self, what: impl AsRef<str>) {
        self.shop.story().tell(&format!("buyer {}", self.number), what);
    }

    async fn wait(&mut self, from_ms: i64, to_ms: i64) {
        let ms = self.chance.within(from_ms, to_ms);
        let pace = self.shop.ways().pace();
        sleep(Duration::from_millis(ms.unsigned_abs()) / pace).await;
    }

    fn key(&mut self) -> String {
        self.keys += 1;
        format!("{}-{}", self.number, self.keys)
    }

    /// Lives from arriving to leaving.
    pub(super) async fn live(mut self) -> Vec<Told> {
        self.wait(0, 60_000).await;
        let guest = self.client.insist(&Asking::post("/visitors")).await;
        self.client.token = guest.body["token"].as_str().map(Into::into);
        let user = guest.body["user"].as_str().unwrap_or_default().to_owned();
        self.world.note_visitor(&user);
        let mut told = Vec::new();
        for _ in 0..BOOKINGS {
            if !self.come_in().await {
                self.tell("goes home");
                break;
            }
            let Some(one) = self.hold().await else { continue };
            told.push(one.clone());
            let one = self.go_on(one).await;
            *told.last_mut().expect("it was just put there") = one;
            if self.chance.percent(70) {
                break;
            }
        }
        self.tell("has left");
        self.world.note_wishes(user, self.wishes);
        told
    }

    /// Queues until it is their turn. False if they do not come in.
    async fn come_in(&mut self) -> bool {
        if self.world.settings.room.is_none() {
            return true;
        }
        let queue = format!("/events/{}/queue", self.world.event_of(self.number));
        for _ in 0..5 {
            let join = Asking::post(&queue).key(self.key());
            let joined = self.client.insist(&join).await;
            // A place or a session of theirs is as good.
            if !joined.is_done() && !matches!(joined.code(), "DUPLICATE" | "ALREADY_IN_QUEUE") {
                self.tell(format!("cannot join: {}", joined.code()));
                if joined.code() != "EVENT_NOT_OPEN" {
                    return false;
                }
                self.wait(1_000, 20_000).await;
                continue;
            }
            let watches = self.chance.percent(50);
            let came =
                if watches { self.watch_place(&queue).await } else { self.poll(&queue).await };
            if came {
                if self.chance.percent(70) {
                    let arrived =
                        self.client.insist(&Asking::post(format!("{queue}/arrive"))).await;
                    self.tell(format!("arrives: {} {}", arrived.status, arrived.code()));
                }
                return true;
            }
            if self.is_resigned || self.chance.percent(20) {
                return false;
            }
        }
        false
    }

    /// Looks again and again, until the place is a session or gone.
    async fn poll(&mut self, queue: &str) -> bool {
        for _ in 0..LOOKS {
            match self.look(queue).await {
                Looked::In => return true,
                Looked::Waits => {}
                Looked::Out => return false,
            }
            if self.chance.percent(5) {
                let pace = format!("/events/{}/pace", self.world.event_of(self.number));
                let pace = self.client.insist(&Asking::get(pace)).await;
                self.hear_of_admission(&pace.body);
            }
            self.hope_no_longer();
            if self.is_resigned {
                return false;
            }
            self.wait(1_000, 15_000).await;
        }
        false
    }

    /// Watches the stream until it tells that the place is a session or gone. Looks as well, now
    /// and then: a stream that is alive tells what the look has shown.
    async fn watch_place(&mut self, queue: &str) -> bool {
        let planted = self.shop.planted();
        for _ in 0..LOOKS {
            let event = self.world.event_of(self.number).clone();
            let restores = self.shop.restores();
            let Some(mut stream) = Watch::open(&mut self.client, event.as_str(), planted).await
            else {
                self.wait(500, 5_000).await;
                continue;
            };
            // Since when a look has shown that it is their turn.
            let mut untold: Option<Instant> = None;
            while let Some(heard) = stream.next().await {
                match heard {
                    Heard::Message(message) => match message["type"].as_str() {
                        Some("your_turn") => {
                            return self.is_truly_in(queue, &message, restores).await;
                        }
                        Some("left" | "not_in_queue" | "session_ended" | "slot_kept") => {
                            return false;
                        }
                        Some("position") => self.check_position(&message),
                        Some("admission") => self.hear_of_admission(&message),
                        _ => {}
                    },
                    Heard::Alive => {}
                }
                // Also at a position: it is the sign of life of a line that stands still.
                self.hope_no_longer();
                if self.is_resigned {
                    return false;
                }
                if untold.is_some_and(|since| since.elapsed() > self.shop.told_within()) {
                    let who = self.number;
                    self.world.complain(format!("buyer {who}'s stream does not tell their turn"));
                    return true;
                }
                if untold.is_none() && self.chance.percent(10) {
                    untold = match self.look(queue).await {
                        Looked::In => Some(Instant::now()),
                        Looked::Waits | Looked::Out => None,
                    };
                }
            }
            // It was cut, or the server stopped.
            match self.look(queue).await {
                Looked::In => return true,
                Looked::Waits => {}
                Looked::Out => return false,
            }
        }
        false
    }

    /// Most of those who hear that all is sold go home; the others wait a while for what comes back.
    fn hear_of_admission(&mut self, body: &Value) {
        if body["admission"] != "sold_out" {
            self.hopes_since = None;
        } else if self.chance.percent(70) {
            self.tell("hears that all is sold");
            self.is_resigned = true;
        } else if self.hopes_since.is_none() {
            self.tell("hears that all is sold, and waits for what comes back");
            self.hopes_since = Some(Instant::now());
        }
    }

    /// Goes home after a while in which nothing came back: a stream tells what changed, and with
    /// all sold that may be nothing, for ever.
    fn hope_no_longer(&mut self) {
        let patience = HOPES / self.shop.ways().pace();
        if self.hopes_since.is_some_and(|since| since.elapsed() > patience) {
            self.tell("no longer waits for what comes back");
            self.is_resigned = true;
        }
    }

    async fn look(&mut self, queue: &str) -> Looked {
        let place = self.client.insist(&Asking::get(queue)).await;
        match place.body["status"].as_str() {
            Some("active") => Looked::In,
            Some("queued") => Looked::Waits,
            _ => Looked::Out,
        }
    }

    /// Whether it is their turn, as they just heard from a stream that was opened after so many
    /// `restores`. What a stream tells is committed: nobody who hears it may wait on, or have another
    /// place. One of before a restore may be read after it, by whoever asked something in between.
    async fn is_truly_in(&mut self, queue: &str, message: &Value, restores: u64) -> bool {
        self.tell("hears that it is their turn");
        let place = self.client.insist(&Asking::get(queue)).await;
        let status = place.body["status"].as_str();
        if restores != self.shop.restores() {
            return status == Some("active");
        }
        if self.shop.streams_lag() && place.body["place"] != message["place"] {
            return status == Some("active");
        }
        if status == Some("queued") {
            self.world
                .complain(format!("{message} was told, and the visitor waits: {}", place.body));
        }
        if status == Some("active") && place.body["place"] != message["place"] {
            self.world.complain(format!("{message} was told, and the place is {}", place.body));
        }
        status == Some("active")
    }

    fn check_position(&self, message: &Value) {
        let (position, total) = (message["position"].as_u64(), message["total"].as_u64());
        if position.is_some_and(|position| position == 0 || Some(position) > total) {
            self.world.complain(format!("a stream told {message}"));
        }
    }

    /// What they want this time, as they ask for it.
    fn wish(&mut self) -> (Lines, Value) {
        let wants_seats = self.world.seats > 0 && self.chance.percent(50);
        let (lines, body) = if wants_seats {
            let first = 1 + self.chance.below(self.world.seats);
            let second = 1 + self.chance.below(self.world.seats);
            let mut seats = vec![World::seat(first)];
            if second != first {
                seats.push(World::seat(second));
            }
            let body = json!({ "seats": &seats });
            (Lines::new(vec![], seats), body)
        } else {
            let quantity = 1 + self.chance.below(4);
            let pool = self.world.pool.clone();
            let body = json!({ "pools": { (pool.as_str()): quantity } });
            (Lines::new(vec![PoolLine { pool, quantity }], vec![]), body)
        };
        (lines.expect("a wish that is in order"), body)
    }

    /// Holds something, if there is anything left that they want.
    async fn hold(&mut self) -> Option<Told> {
        let path = format!("/events/{}/bookings", self.world.event_of(self.number));
        for _ in 0..5 {
            let (lines, mut body) = self.wish();
            if self.world.has_types
                && let Some(named) = types::named(&mut self.types, &lines)
            {
                body["types"] = named;
            }
            let named = body["types"].clone();
            let asking = Asking::post(&path).key(self.key()).body(body);
            self.wishes += 1;
            let restores = self.shop.restores();
            let held = self.client.insist(&asking).await;
            if held.is_done() {
                let booking: Option<BookingId> =
                    held.body["booking"].as_str().and_then(|id| id.parse().ok());
                let (Some(booking), Some(amount_minor)) =
                    (booking, held.body["amount_minor"].as_i64())
                else {
                    self.world.complain(format!("a hold was answered {}", held.body));
                    return None;
                };
                self.tell(format!("holds {booking} for {amount_minor}"));
                if let Some(complaint) = types::complaint(&named, &held.body) {
                    self.world.complain(complaint);
                }
                self.world.note(&booking);
                self.ask_twice(&asking, &held, Kept::Booking).await;
                return Some(Told {
                    booking,
                    lines,
                    amount_minor,
                    until: until(&held),
                    confirmed: false,
                    released: false,
                    cancelled: false,
                    restores,
                });
            }
            self.tell(format!("cannot hold: {}", held.code()));
            if held.code() == "BOOKING_MISMATCH" {
                self.world.complain(format!("a new key is said to be another wish's: {asking:?}"));
            }
            self.wait(500, 5_000).await;
        }
        None
    }

    /// Sends the same key again, now and then, and sees that it means the same.
    async fn ask_twice(&mut self, asking: &Asking, first: &Answer, kept: Kept) {
        self.shop.keep(self.client.token.as_deref(), asking, first, kept);
        if !self.chance.percent(25) {
            return;
        }
        let before = (self.shop.losses(), self.shop.restores());
        self.wait(0, 20_000).await;
        let again = self.client.insist(asking).await;
        let now = (self.shop.losses(), self.shop.restores());
        // The engine knows a booking whatever is lost of the ledger. What its key kept is gone then: who
        // confirms a booking that was taken back meanwhile is told so.
        let is_known = kept == Kept::Booking && before.1 == now.1;
        let is_over = again.body["booking_status"] == "cancelled" && self.is_called_off(first);
        if before == now || (is_known && !is_over) {
            self.world.compare(asking, kept, first, &again);
        }
    }

    /// Whether somebody wanted the booking of an answer to be cancelled.
    fn is_called_off(&self, answer: &Answer) -> bool {
        let booking = answer.body["booking"].as_str().and_then(|id| id.parse::<BookingId>().ok());
        booking.is_some_and(|booking| self.world.called_off().contains_key(&booking))
    }
}
