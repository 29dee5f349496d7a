//! Somebody else who reads along: a queue of its own on both exchanges.

use crate::stage::{WARM_UP, patiently};
use futures_util::StreamExt;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{Connection, Consumer};
use onrush_base::config::rabbit::RabbitSettings;
use onrush_bridge::rabbit::link::connect;
use onrush_bridge::rabbit::topology::{SLOT_RELEASED_KEY, TIMEOUT_KEY, Topology};

/// A message as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) exchange: String,
    pub(crate) key: String,
    pub(crate) id: String,
    pub(crate) body: String,
}

/// Who reads along.
pub(crate) struct Observer {
    consumer: Consumer,
    _connection: Connection,
}

impl Observer {
    /// Reads along from now on, or goes on where another one was: the queue outlives its readers
    /// and its server.
    pub(crate) async fn of(settings: &RabbitSettings) -> Self {
        let topology = Topology::new(settings);
        let connection = connect(settings, &topology, "observer").await.expect("it is there");
        let channel = connection.create_channel().await.expect("a channel");
        let queue = format!("{}observer", settings.prefix);
        let (durable, none) = (QueueDeclareOptions::durable(), FieldTable::default);
        channel.queue_declare(queue.as_str().into(), durable, none()).await.expect("a queue");
        let mut keys = vec![(topology.slot_released_exchange(), SLOT_RELEASED_KEY.to_owned())];
        keys.push((topology.timeout_exchange(), TIMEOUT_KEY.to_owned()));
        for rung_ms in settings.tuning.ladder.rungs_ms() {
            keys.push((topology.timeout_exchange(), Topology::rung_key(*rung_ms)));
        }
        for (exchange, key) in keys {
            let (queue, options) = (queue.as_str().into(), QueueBindOptions::default());
            let bound = channel.queue_bind(queue, exchange.into(), key.into(), options, none());
            bound.await.expect("it is bound");
        }
        let options = BasicConsumeOptions::default();
        let consumer = channel.basic_consume(queue.into(), "".into(), options, none()).await;
        Self { consumer: consumer.expect("a subscription"), _connection: connection }
    }

    /// The next message that is not one of [`warm_up`]'s: those come back from the rungs in their time.
    ///
    /// [`warm_up`]: crate::stage::warm_up
    pub(crate) async fn next(&mut self) -> Seen {
        loop {
            let seen = self.next_of_any().await;
            if seen.id != WARM_UP {
                return seen;
            }
        }
    }

    async fn next_of_any(&mut self) -> Seen {
        let delivery = patiently("a message", self.consumer.next()).await;
        let delivery = delivery.expect("the queue is there").expect("the connection is there");
        delivery.ack(BasicAckOptions::default()).await.expect("the connection is there");
        let id = delivery.properties.message_id().as_ref().expect("every message has an id");
        assert_eq!(*delivery.properties.delivery_mode(), Some(2), "every message is kept on disk");
        Seen {
            exchange: delivery.exchange.as_str().to_owned(),
            key: delivery.routing_key.as_str().to_owned(),
            id: id.as_str().to_owned(),
            body: String::from_utf8(delivery.data).expect("JSON is text"),
        }
    }
}
