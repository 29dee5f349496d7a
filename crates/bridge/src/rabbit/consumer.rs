//! The consumer, on every node: what comes wakes the engine, and what comes early waits on.

use super::bodies::{Content, Message, SlotReleased, Timeout};
use super::deps::{RabbitDeps, stopped};
use super::error::RabbitError;
use super::link::{self, DUE_HEADER, Outlet, Pauses};
use super::topology::Topology;
use futures_util::future::ready;
use futures_util::{StreamExt, TryStreamExt, stream};
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicQosOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Connection, Consumer};
use onrush_base::config::rabbit::RabbitSettings;
use onrush_core::Time;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::Instant;

/// Consumes until `stop` says so.
pub(super) async fn run(
    settings: RabbitSettings,
    topology: Arc<Topology>,
    parts: RabbitDeps,
    mut stop: watch::Receiver<bool>,
) {
    let attendant = Attendant { settings, topology, parts, pauses: Pauses::default() };
    while !*stop.borrow() {
        let trouble = tokio::select! {
            trouble = attendant.serve() => trouble,
            () = stopped(&mut stop) => break,
        };
        attendant.parts.health.set(|state| state.consumer_connected = false);
        attendant.parts.health.count(|counts| &counts.failures, 1);
        let pause = attendant.pauses.next(&attendant.settings.tuning);
        tracing::warn!(%trouble, ?pause, "RabbitMQ wakes nobody; trying again");
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stopped(&mut stop) => break,
        }
    }
    attendant.parts.health.set(|state| state.consumer_connected = false);
}

struct Attendant {
    settings: RabbitSettings,
    topology: Arc<Topology>,
    parts: RabbitDeps,
    pauses: Pauses,
}

/// Which queue a message came from.
#[derive(Clone, Copy)]
enum Queue {
    SlotReleased,
    Timeout,
}

impl Attendant {
    /// Connects and consumes until something breaks.
    async fn serve(&self) -> RabbitError {
        let connected = link::connect(&self.settings, &self.topology, "onrush consumer").await;
        let connection = match connected {
            Ok(connection) => connection,
            Err(trouble) => return trouble,
        };
        let connected_at = Instant::now();
        let trouble = tokio::select! {
            consumed = self.consume(&connection) => match consumed {
                Ok(()) => RabbitError::Cancelled,
                Err(trouble) => trouble,
            },
            trouble = link::broken(&connection) => trouble,
        };
        // That messages come through is not enough: beside them one that RabbitMQ refuses may come again
        // over each connection.
        self.pauses.stood(connected_at.elapsed());
        link::close(&connection, &self.settings.tuning).await;
        trouble
    }

    async fn consume(&self, connection: &Connection) -> Result<(), RabbitError> {
        let tuning = &self.settings.tuning;
        let outlet = Outlet::open(connection, self.topology.clone(), tuning).await?;
        let slots = self.subscribe(connection, self.topology.slot_released_queue()).await?;
        let timeouts = self.subscribe(connection, self.topology.timeout_queue()).await?;
        self.parts.health.set(|state| state.consumer_connected = true);
        let slots = slots.map_ok(|delivery| (Queue::SlotReleased, delivery));
        let timeouts = timeouts.map_ok(|delivery| (Queue::Timeout, delivery));
        // A queue that is deleted ends its own consumer and no other. It is declared again with the
        // next connection.
        let over = || stream::once(ready(Err(RabbitError::Cancelled)));
        let slots = slots.map_err(RabbitError::from).chain(over());
        let timeouts = timeouts.map_err(RabbitError::from).chain(over());
        stream::select(slots, timeouts)
            .try_for_each_concurrent(usize::from(tuning.prefetch), |(queue, delivery)| {
                self.handle(&outlet, queue, delivery)
            })
            .await
    }

    async fn subscribe(
        &self,
        connection: &Connection,
        queue: String,
    ) -> Result<Consumer, RabbitError> {
        let tuning = &self.settings.tuning;
        link::within(tuning.patience, async {
            let channel = connection.create_channel().await?;
            channel.basic_qos(tuning.prefetch, BasicQosOptions::default()).await?;
            let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
            channel.basic_consume(queue.into(), "".into(), options, none).await
        })
        .await
    }

    /// Deals with a message, and only then lets RabbitMQ forget it: one that is in the hands of a
    /// node that dies goes to another.
    async fn handle(
        &self,
        outlet: &Outlet,
        queue: Queue,
        delivery: Delivery,
    ) -> Result<(), RabbitError> {
        let health = &self.parts.health;
        match read(queue, &delivery) {
            Some(message) => match &message.content {
                Content::Timeout { due, .. } if self.parts.clock.now() < *due => {
                    let sent = outlet.send(&message, self.parts.clock.now()).await?;
                    outlet.confirmed(sent).await?;
                    health.count(|counts| &counts.hopped, 1);
                }
                // Whose session or hold it was does not matter: the engine knows what is due.
                Content::Timeout { body: Timeout { event_id, .. }, .. }
                | Content::SlotReleased(SlotReleased { event_id, .. }) => {
                    (self.parts.wake)(event_id);
                    health.count(|counts| &counts.woken, 1);
                }
            },
            // It would come again for ever.
            None => {
                tracing::warn!(
                    queue = delivery.routing_key.as_str(),
                    bytes = delivery.data.len(),
                    "a message cannot be read and is dropped"
                );
                health.count(|counts| &counts.unreadable, 1);
            }
        }
        let acked = delivery.ack(BasicAckOptions::default());
        link::within(self.settings.tuning.patience, acked).await?;
        Ok(())
    }
}

fn read(queue: Queue, delivery: &Delivery) -> Option<Message> {
    let content = match queue {
        Queue::SlotReleased => Content::SlotReleased(serde_json::from_slice(&delivery.data).ok()?),
        Queue::Timeout => {
            let body: Timeout = serde_json::from_slice(&delivery.data).ok()?;
            let due = due(delivery, &body);
            Content::Timeout { body, due }
        }
    };
    let id = delivery.properties.message_id().as_ref().map(|id| id.as_str().to_owned());
    Some(Message { id, content })
}

/// The deadline to the millisecond. Somebody else's message has whole seconds, which were rounded down.
fn due(delivery: &Delivery, body: &Timeout) -> Time {
    let headers = delivery.properties.headers().as_ref();
    match headers.and_then(|headers| headers.inner().get(DUE_HEADER)) {
        Some(AMQPValue::LongLongInt(due_ms)) => Time(*due_ms),
        _ => Time(body.expire_time.saturating_add(1).saturating_mul(1_000)),
    }
}
