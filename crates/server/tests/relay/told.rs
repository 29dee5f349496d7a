//! What the tests of all channels do: book, wait for the outbox, let time pass.

use crate::shop::{Guest, Shop};
use onrush_core::Time;
use onrush_core::ids::BookingId;
use onrush_ledger::booking::Buyer;
use serde_json::{Value, json};
use std::time::Duration;

/// How long a condition may take to come true before the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// Asks until there is an answer.
pub(crate) async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("never: {what}"))
}

impl Shop {
    /// When the channel's next delivery is due, once the ledger knows everything that happened, and
    /// that is in the future or there is none.
    pub(crate) async fn settled(&self, channel: &str) -> Option<Time> {
        until("the ledger follows the feed", async || {
            let cursor = self.server.ledger().cursor().await.unwrap();
            (cursor >= self.committed()).then_some(())
        })
        .await;
        until("the outbox settles", async || {
            let next = self.server.ledger().next_delivery(channel).await.unwrap();
            match next {
                Some(next) if next <= self.clock.now() => None,
                next => Some(next),
            }
        })
        .await
    }

    /// Moves the time to the channel's next delivery, and says so.
    pub(crate) async fn pass_to_next(&self, channel: &str) {
        let next = self.settled(channel).await.expect("there is a next delivery");
        self.clock.set(next);
        self.server.sagas().told.notify_one();
    }

    /// Lets time pass until so many holds have run out, and waits until that is decided: else nothing
    /// is to be told yet.
    pub(crate) async fn run_out(&self, holds: u64) {
        // What a mail is about stands in the ledger once the feed was followed; else it is sent
        // later, and time stands still.
        self.settled("mail").await;
        let before = self.committed();
        self.clock.advance_ms(600_000);
        until("the holds run out", async || (self.committed() >= before + holds).then_some(()))
            .await;
        self.server.sagas().look();
    }

    /// Lets time pass until every mail is sent or left out.
    pub(crate) async fn everything_told(&self) {
        for _ in 0..20 {
            if self.settled("mail").await.is_none() {
                return;
            }
            self.pass_to_next("mail").await;
            self.server.sagas().look();
        }
        panic!("there is always another mail to be tried");
    }

    /// What the channel gave up, once there is something.
    pub(crate) async fn dead(&self, channel: &str) -> Vec<Value> {
        let path = format!("/messages/dead?channel={channel}");
        until("a dead letter", async || {
            let page = self.admin("GET", &path).send().await.expect(200).json();
            let messages = page["messages"].as_array().unwrap().clone();
            (!messages.is_empty()).then_some(messages)
        })
        .await
    }

    /// Has the organiser cancel a booking of event `e`.
    pub(crate) async fn cancel(&self, booking: &str) {
        let body = json!({"by": "box office", "why": "rain"});
        self.organise("POST", &format!("/events/e/bookings/{booking}/cancel"), &body).await;
    }
}

impl Guest<'_> {
    /// Holds `wish` in event `e` for a buyer, if there is one, and confirms it: it is free of charge.
    pub(crate) async fn book(&self, wish: &Value, buyer: Option<Buyer>) -> String {
        let booking = self.hold("e", "k", wish).await.expect(201).text("booking");
        if let Some(buyer) = buyer {
            let id: BookingId = booking.parse().unwrap();
            self.shop.server.ledger().set_buyer(&id, &"ann".parse().unwrap(), buyer).await.unwrap();
        }
        self.ask("POST", &format!("/bookings/{booking}/confirm")).send().await.expect(200);
        booking
    }
}
