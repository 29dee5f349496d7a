//! Exchanges and queues, by the inherited names.

use super::error::RabbitError;
use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{Channel, ExchangeKind};
use onrush_base::config::rabbit::RabbitSettings;

/// The routing key of freed slots.
pub const SLOT_RELEASED_KEY: &str = "slot-released";
/// The routing key of deadlines that have come.
pub const TIMEOUT_KEY: &str = "timeout";

/// What everything is called.
#[derive(Clone, Debug)]
pub struct Topology {
    prefix: String,
    rungs_ms: Vec<u32>,
}

impl Topology {
    /// The names under the prefix of these settings.
    #[must_use]
    pub fn new(settings: &RabbitSettings) -> Self {
        let rungs_ms = settings.tuning.ladder.rungs_ms().to_vec();
        Self { prefix: settings.prefix.clone(), rungs_ms }
    }

    /// The exchange of freed slots.
    #[must_use]
    pub fn slot_released_exchange(&self) -> String {
        self.name("slot-released-exchange")
    }

    /// The queue of freed slots.
    #[must_use]
    pub fn slot_released_queue(&self) -> String {
        self.name("slot-released-queue")
    }

    /// The exchange of deadlines, both those that have come and those that are waited for.
    #[must_use]
    pub fn timeout_exchange(&self) -> String {
        self.name("timeout-exchange")
    }

    /// The queue of deadlines that have come.
    #[must_use]
    pub fn timeout_queue(&self) -> String {
        self.name("timeout-queue")
    }

    /// The queue of a rung: nobody reads it, and what expires in it goes to [`Self::timeout_queue`].
    #[must_use]
    pub fn rung_queue(&self, rung_ms: u32) -> String {
        self.name(&format!("timeout-queue.{rung_ms}ms"))
    }

    /// The routing key that leads to the queue of a rung.
    #[must_use]
    pub fn rung_key(rung_ms: u32) -> String {
        format!("{TIMEOUT_KEY}.{rung_ms}ms")
    }

    fn name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Makes all that is not there yet.
    ///
    /// # Errors
    /// RabbitMQ cannot be reached, or something of the same name is there and differs.
    pub async fn declare(&self, channel: &Channel) -> Result<(), RabbitError> {
        for exchange in [self.slot_released_exchange(), self.timeout_exchange()] {
            let options = ExchangeDeclareOptions { durable: true, ..Default::default() };
            let none = FieldTable::default();
            let exchange = ShortString::from(exchange);
            channel.exchange_declare(exchange, ExchangeKind::Direct, options, none).await?;
        }
        let (slots, timeouts) = (self.slot_released_exchange(), self.timeout_exchange());
        let slot_queue = self.slot_released_queue();
        queue(channel, &slot_queue, &slots, SLOT_RELEASED_KEY, quorum()).await?;
        queue(channel, &self.timeout_queue(), &timeouts, TIMEOUT_KEY, quorum()).await?;
        for rung_ms in &self.rungs_ms {
            let (name, key) = (self.rung_queue(*rung_ms), Self::rung_key(*rung_ms));
            queue(channel, &name, &timeouts, &key, self.rung(*rung_ms)).await?;
        }
        Ok(())
    }

    /// At least once, also from a rung into the queue of those that have come: the rung keeps a
    /// message until that has it.
    fn rung(&self, rung_ms: u32) -> FieldTable {
        let mut arguments = quorum();
        arguments.insert("x-message-ttl".into(), AMQPValue::LongLongInt(rung_ms.into()));
        arguments.insert("x-dead-letter-exchange".into(), text(&self.timeout_exchange()));
        arguments.insert("x-dead-letter-routing-key".into(), text(TIMEOUT_KEY));
        arguments.insert("x-dead-letter-strategy".into(), text("at-least-once"));
        arguments
    }
}

/// A queue that several servers keep, each on its disk. RabbitMQ wants the overflow said for
/// at-least-once dead-lettering.
fn quorum() -> FieldTable {
    let mut arguments = FieldTable::default();
    arguments.insert("x-queue-type".into(), text("quorum"));
    arguments.insert("x-overflow".into(), text("reject-publish"));
    arguments
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}

async fn queue(
    channel: &Channel,
    name: &str,
    exchange: &str,
    key: &str,
    arguments: FieldTable,
) -> Result<(), RabbitError> {
    channel.queue_declare(name.into(), QueueDeclareOptions::durable(), arguments).await?;
    let (options, none) = (QueueBindOptions::default(), FieldTable::default());
    channel.queue_bind(name.into(), exchange.into(), key.into(), options, none).await?;
    Ok(())
}
