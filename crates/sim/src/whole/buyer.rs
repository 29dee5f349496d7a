//! A buyer: queues, holds, pays, gives up, comes back, and remembers what they were told.

use super::bank::Bank;
use super::server::{Life, Server};
use super::world::{Looked, World};
use crate::chance::Chance;
use onrush_core::hold::{HoldStatus, OnDecline};
use onrush_core::ids::{BookingId, PaymentId, PlaceId, UserId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::question::PlaceOf;
use onrush_core::view::{HoldView, PlaceState, PlaceView};
use onrush_core::{Command, Refusal};
use onrush_saga::{PaymentRequest, StartError};
use onrush_store::{Answer, Ask, Engine, Failure};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Bookings that one buyer tries for at most.
const BOOKINGS: u32 = 2;

/// What a buyer was told by the end, of one booking.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) booking: BookingId,
    /// What is held.
    pub(super) lines: Lines,
    /// What all of it costs.
    pub(super) amount_minor: i64,
    /// That it is confirmed.
    pub(super) confirmed: bool,
}

/// One buyer.
pub(super) struct Buyer {
    number: u32,
    user: UserId,
    chance: Chance,
    world: Arc<World>,
    server: Arc<Server>,
    bank: Arc<Bank>,
}

impl Buyer {
    pub(super) fn new(
        seed: u64,
        number: u32,
        world: Arc<World>,
        server: Arc<Server>,
        bank: Arc<Bank>,
    ) -> Self {
        let chance = Chance::of(seed, "buyer", number.into());
        Self { number, user: World::user(number), chance, world, server, bank }
    }

    fn tell(&self, what: impl AsRef<str>) {
        self.server.story().tell(&format!("buyer {}", self.number), what);
    }

    async fn wait(&mut self, from_ms: i64, to_ms: i64) {
        let ms = self.chance.within(from_ms, to_ms);
        sleep(Duration::from_millis(ms.unsigned_abs())).await;
    }

    /// Asks until there is an answer: the same again, as people who press a button again do.
    async fn ask<T, F: Future<Output = Result<Answer<T>, Failure>>>(
        &mut self,
        ask: impl Fn(Arc<Life>) -> F,
    ) -> Result<T, Refusal> {
        loop {
            if let Some(life) = self.server.life() {
                match ask(life).await {
                    Ok(answer) => return Ok(answer.value),
                    Err(Failure::Refused(refusal)) => return Err(refusal),
                    Err(
                        Failure::Busy { .. }
                        | Failure::DiskLow
                        | Failure::Rebuilding { .. }
                        | Failure::Unreachable
                        | Failure::Stopped,
                    ) => {}
                }
            }
            self.wait(200, 2_000).await;
        }
    }

    async fn run(&mut self, command: Command) -> Result<(), Refusal> {
        let event = self.world.event.clone();
        let ask = move |life: Arc<Life>| {
            let asked = life.engine.execute(event.clone(), command.clone());
            async move { asked.await.map(|Answer { at, .. }| Answer { at, value: () }) }
        };
        self.ask(ask).await
    }

    /// Lives from arriving to leaving.
    pub(super) async fn live(mut self) -> Vec<Told> {
        self.wait(0, 60_000).await;
        let mut told = Vec::new();
        for nth in 0..BOOKINGS {
            if !self.come_in().await {
                self.tell("goes home");
                break;
            }
            let Some(one) = self.hold(nth).await else { continue };
            told.push(one.clone());
            let one = self.go_on(one).await;
            *told.last_mut().expect("it was just put there") = one;
            if self.chance.percent(70) {
                break;
            }
        }
        self.tell("has left");
        told
    }

    /// Queues until it is their turn. False if they do not come in.
    async fn come_in(&mut self) -> bool {
        if self.world.settings.room.is_none() {
            return true;
        }
        let mut place = self.new_place();
        loop {
            let join = Command::Join { place, user: self.user.clone() };
            if let Err(refusal) = self.run(join).await {
                // A session of theirs is as good, and so is a place they have.
                self.tell(format!("cannot join: {refusal}"));
                if !matches!(refusal, Refusal::AlreadyInQueue { .. }) {
                    return false;
                }
            }
            loop {
                let (event, user) = (self.world.event.clone(), self.user.clone());
                let look = move |life: Arc<Life>| {
                    life.engine.ask(event.clone(), PlaceOf { user: user.clone(), place: None })
                };
                let Ok(view) = self.ask(look).await else { break };
                if self.is_in(&view).await {
                    return true;
                }
                self.wait(1_000, 15_000).await;
            }
            if self.chance.percent(20) {
                return false;
            }
            place = self.new_place();
        }
    }

    fn new_place(&mut self) -> PlaceId {
        PlaceId::from_u128(u128::from(self.number + 1) << 64 | u128::from(self.chance.any()))
    }

    async fn is_in(&mut self, view: &PlaceView) -> bool {
        let (place, user) = (view.place, self.user.clone());
        match &view.state {
            PlaceState::Active { arrive_by, .. } => {
                if arrive_by.is_some() {
                    drop(self.run(Command::Arrive { place, user }).await);
                }
                true
            }
            PlaceState::Queued { see_due, .. } => {
                if *see_due {
                    drop(self.run(Command::See { place, user }).await);
                }
                false
            }
            PlaceState::Ended { .. } => false,
        }
    }

    /// Holds something, if there is anything left that they want.
    async fn hold(&mut self, nth: u32) -> Option<Told> {
        let booking = World::booking(self.number, nth);
        for _ in 0..5 {
            let wants_seats = self.world.seats > 0 && self.chance.percent(50);
            let lines = if wants_seats {
                let first = 1 + self.chance.below(self.world.seats);
                let second = 1 + self.chance.below(self.world.seats);
                let mut seats = vec![World::seat(first)];
                if second != first {
                    seats.push(World::seat(second));
                }
                Lines::new(vec![], seats)
            } else {
                let quantity = 1 + self.chance.below(4);
                Lines::new(vec![PoolLine { pool: self.world.pool.clone(), quantity }], vec![])
            };
            let lines = lines.expect("a wish that is in order");
            let event = self.world.event.clone();
            let (booking, user) = (booking.clone(), self.user.clone());
            let command = Command::Hold { booking, user, lines: lines.clone() };
            let hold =
                move |life: Arc<Life>| life.engine.run::<HoldView>(event.clone(), command.clone());
            match self.ask(hold).await {
                Ok(view) => {
                    let (booking, amount_minor) =
                        (view.terms.booking.clone(), view.terms.amount_minor);
                    self.tell(format!("holds {booking} for {amount_minor}"));
                    return Some(Told { booking, lines, amount_minor, confirmed: false });
                }
                Err(refusal) => {
                    self.tell(format!("cannot hold: {refusal}"));
                    self.wait(500, 5_000).await;
                }
            }
        }
        None
    }

    /// Pays, or gives up in one of many ways.
    async fn go_on(&mut self, mut told: Told) -> Told {
        self.wait(100, 30_000).await;
        let (booking, user) = (told.booking.clone(), self.user.clone());
        match self.chance.below(10) {
            0 => {
                let released = self.run(Command::Release { booking, user }).await;
                self.tell(format!("releases: {released:?}"));
                return told;
            }
            1 => {
                self.tell("forgets about it");
                return told;
            }
            2 => {
                let extended = self.run(Command::Extend { booking, user }).await;
                self.tell(format!("extends: {extended:?}"));
            }
            _ => {}
        }
        for _ in 0..4 {
            let Some(payment) = self.begin(&told.booking).await else { break };
            self.wait(500, 60_000).await;
            let card = self.chance.below(10);
            if card == 0 {
                self.tell("leaves the bank's page");
                break;
            }
            self.bank.pay(&payment, card > 2);
            match self.watch(&told.booking).await {
                Some(HoldStatus::Confirmed) => {
                    self.tell(format!("is told that {} is confirmed", told.booking));
                    told.confirmed = true;
                    return told;
                }
                Some(HoldStatus::Held) => {}
                _ => break,
            }
        }
        told
    }

    /// Begins a payment, or finds the one that runs.
    async fn begin(&mut self, booking: &BookingId) -> Option<PaymentId> {
        for _ in 0..60 {
            if let Some(life) = self.server.life() {
                let wish = PaymentRequest {
                    booking: booking.clone(),
                    event: self.world.event.clone(),
                    user: self.user.clone(),
                    buyer: None,
                    on_decline: OnDecline::Keep,
                };
                match life.sagas.start(wish).await {
                    Ok(started) => {
                        self.tell(format!("pays {}", started.payment.payment));
                        return Some(started.payment.payment);
                    }
                    Err(StartError::Engine(Failure::Refused(refusal))) => {
                        self.tell(format!("cannot pay: {refusal}"));
                        return None;
                    }
                    Err(error @ (StartError::GatewayRefused(_) | StartError::Stuck)) => {
                        self.tell(format!("cannot pay: {error:?}"));
                        return None;
                    }
                    Err(
                        StartError::Off
                        | StartError::Engine(_)
                        | StartError::Ledger(_)
                        | StartError::GatewayUnavailable { .. },
                    ) => {}
                }
            }
            self.wait(500, 3_000).await;
        }
        self.tell("gives up paying");
        None
    }

    /// Looks until the payment has come to something, for as long as people look.
    async fn watch(&mut self, booking: &BookingId) -> Option<HoldStatus> {
        for _ in 0..60 {
            match self.world.status(&self.server, booking).await {
                Looked::There(HoldStatus::Paying) | Looked::Nothing => {}
                Looked::There(status) => return Some(status),
                Looked::Gone => return None,
            }
            self.wait(500, 20_000).await;
        }
        None
    }
}
