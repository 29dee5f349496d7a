//! What becomes of a hold: its buyer pays for it, gives it up, or gives back what they have bought.

use super::super::client::Asking;
use super::super::noted::{Shown, Ticket};
use super::super::world::Kept;
use super::{Buyer, Told, until};
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, PaymentId};
use serde_json::json;
use std::time::Duration;
use tokio::time::sleep;

impl Buyer {
    /// Pays, or gives up in one of many ways.
    pub(super) async fn go_on(&mut self, mut told: Told) -> Told {
        self.wait(100, 30_000).await;
        let path = format!("/bookings/{}", told.booking);
        match self.chance.below(10) {
            0 => {
                let mut cancel = Asking::post(format!("{path}/cancel")).key(self.key());
                // At the box office it may have been paid for meanwhile: some do not mean that.
                if self.refunds.percent(50) {
                    cancel = cancel.body(json!({ "only": "held" }));
                } else {
                    self.world.note_given_back(&told.booking);
                }
                let released = self.client.insist(&cancel).await;
                self.tell(format!("releases: {} {}", released.status, released.code()));
                if released.is_done() {
                    told.cancelled = released.body["status"] == "cancelled";
                    told.released = !told.cancelled;
                    self.ask_twice(&cancel, &released, Kept::Answer).await;
                }
                return told;
            }
            1 => {
                self.tell("forgets about it");
                return told;
            }
            2 => {
                let extend = Asking::post(format!("{path}/extend")).key(self.key());
                let extended = self.client.insist(&extend).await;
                self.tell(format!("extends: {} {}", extended.status, extended.code()));
                if extended.is_done() {
                    told.until = told.until.max(until(&extended));
                    self.ask_twice(&extend, &extended, Kept::Answer).await;
                }
            }
            _ => {}
        }
        if told.amount_minor == 0 {
            return self.take_for_free(&path, told).await;
        }
        for _ in 0..4 {
            let Some(payment) = self.begin(&path, &told.booking).await else { break };
            self.wait(500, 60_000).await;
            let card = self.chance.below(10);
            if card == 0 {
                self.tell("leaves the bank's page");
                break;
            }
            let number = self.card();
            self.shop.pay(&payment, number, card > 2).await;
            match self.watch_booking(&path).await {
                Some(HoldStatus::Confirmed) => return self.enjoy(&path, told).await,
                Some(HoldStatus::Held) => {}
                _ => break,
            }
        }
        told
    }

    /// Confirms what costs nothing.
    async fn take_for_free(&mut self, path: &str, told: Told) -> Told {
        let confirm = Asking::post(format!("{path}/confirm")).key(self.key());
        let confirm = self.with_buyer(confirm, &told.booking);
        let losses = self.shop.losses();
        let confirmed = self.client.insist(&confirm).await;
        self.tell(format!("takes it for free: {} {}", confirmed.status, confirmed.code()));
        if !confirmed.is_done() {
            return told;
        }
        if let Some(to) = &self.address {
            self.world.note_address(&told.booking, to, Some(losses));
        }
        self.ask_twice(&confirm, &confirmed, Kept::Booking).await;
        self.enjoy(path, told).await
    }

    /// Their booking is confirmed.
    async fn enjoy(&mut self, path: &str, mut told: Told) -> Told {
        self.tell(format!("is told that {} is confirmed", told.booking));
        told.confirmed = true;
        self.fetch_tickets(path, &told).await;
        told.cancelled = self.give_back(path, &told).await;
        self.look_at_receipts(path).await;
        told
    }

    /// Who buys, if they tell.
    fn with_buyer(&self, asking: Asking, booking: &BookingId) -> Asking {
        let Some(to) = &self.address else { return asking };
        self.world.note_address(booking, to, None);
        asking.body(json!({ "buyer": { "name": "Ann", "email": to, "language": "en" } }))
    }

    /// Gives back what they have bought, now and then; says whether it was said to be done.
    async fn give_back(&mut self, path: &str, told: &Told) -> bool {
        // Where the bank's desk gives money back, it shall have the time to be faster.
        let (percent, most_ms) = if self.world.has_desk { (40, 300_000) } else { (20, 60_000) };
        if self.world.refund_percent.is_none() || !self.refunds.percent(percent) {
            return false;
        }
        let ms = self.refunds.within(100, most_ms).unsigned_abs();
        sleep(Duration::from_millis(ms) / self.shop.ways().pace()).await;
        self.world.note_given_back(&told.booking);
        let cancel = Asking::post(format!("{path}/cancel")).key(self.key());
        let cancelled = self.client.insist(&cancel).await;
        self.tell(format!("gives it back: {} {}", cancelled.status, cancelled.code()));
        if cancelled.is_done() {
            self.ask_twice(&cancel, &cancelled, Kept::Answer).await;
        }
        cancelled.is_done()
    }

    /// Looks at the receipt and what was given back of it, now and then: as it is there, it stays.
    async fn look_at_receipts(&mut self, path: &str) {
        if !self.world.has_receipts || !self.receipts.percent(50) {
            return;
        }
        let ms = self.receipts.within(100, 120_000).unsigned_abs();
        sleep(Duration::from_millis(ms) / self.shop.ways().pace()).await;
        let losses = self.shop.losses();
        let looked = self.client.insist(&Asking::get(format!("{path}/receipts"))).await;
        let documents = looked.body["receipts"].as_array().into_iter().flatten();
        let numbers: Vec<_> = documents.clone().map(|one| &one["number"]).collect();
        self.tell(format!("has the receipts {numbers:?}"));
        for document in documents.cloned() {
            self.world.note_shown(Shown { document, losses });
        }
    }

    /// Begins a payment, or finds the one that runs.
    async fn begin(&mut self, path: &str, booking: &BookingId) -> Option<PaymentId> {
        let pay = Asking::post(format!("{path}/payment")).key(self.key());
        let pay = self.with_buyer(pay, booking);
        for _ in 0..60 {
            let losses = self.shop.losses();
            let begun = self.client.insist(&pay).await;
            if begun.is_done() {
                if let Some(to) = &self.address {
                    self.world.note_address(booking, to, Some(losses));
                }
                let payment = begun.body["payment"].as_str().and_then(|id| id.parse().ok());
                self.tell(format!("pays {}", begun.body["payment"]));
                self.ask_twice(&pay, &begun, Kept::Answer).await;
                return payment;
            }
            if begun.body["retryable"] != true || begun.code() == "HOLD_EXPIRED" {
                self.tell(format!("cannot pay: {}", begun.code()));
                return None;
            }
            self.wait(500, 3_000).await;
        }
        self.tell("gives up paying");
        None
    }

    /// The number of a card: mostly their own, and else one of a few that go from hand to hand.
    fn card(&mut self) -> u32 {
        match self.cards.below(10) {
            nth @ 0..=3 => nth,
            _ => 100 + self.number,
        }
    }

    /// Looks until the payment has come to something, for as long as people look.
    async fn watch_booking(&mut self, booking: &str) -> Option<HoldStatus> {
        for _ in 0..60 {
            let looked = self.client.insist(&Asking::get(booking)).await;
            match looked.body["status"].as_str() {
                Some("paying") => {}
                Some("confirmed") => return Some(HoldStatus::Confirmed),
                Some("held") => return Some(HoldStatus::Held),
                _ => return None,
            }
            self.wait(500, 20_000).await;
        }
        None
    }

    /// Fetches the tickets: one for each unit, unless the organiser was faster.
    async fn fetch_tickets(&mut self, booking: &str, told: &Told) {
        let tickets = self.client.insist(&Asking::get(format!("{booking}/tickets"))).await;
        let count = tickets.body["tickets"].as_array().map(Vec::len);
        let units = told.lines.units() as usize;
        let is_cancelled = tickets.code() == "INVALID_STATUS";
        if count != Some(units) && !is_cancelled && told.restores == self.shop.restores() {
            self.world.complain(format!("{booking} has {units} units and {count:?} tickets"));
        }
        self.tell(format!("has {count:?} tickets"));
        for ticket in tickets.body["tickets"].as_array().into_iter().flatten() {
            let number = ticket["ticket"].as_u64().and_then(|number| number.try_into().ok());
            if let (Some(number), Some(code)) = (number, ticket["code"].as_str()) {
                let (booking, code) = (told.booking.clone(), code.to_owned());
                let unit = format!("{} {}", ticket["for"], ticket["type"]["id"]);
                let restores = told.restores;
                self.world.note_ticket(Ticket { booking, number, code, unit, restores });
            }
        }
    }
}
