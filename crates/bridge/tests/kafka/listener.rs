//! A receiver of everything, as docs/kafka.md describes one.

use onrush_base::config::kafka::KafkaSettings;
use onrush_bridge::kafka::{Topic, topic_of};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, Message as _};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use serde_json::Value;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use strum::VariantArray;

/// How long a message may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// A message as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) topic: Topic,
    pub(crate) partition: i32,
    pub(crate) key: String,
    pub(crate) fence: u64,
    /// The decision's sequence and the change's index within it.
    pub(crate) number: (u64, u64),
    pub(crate) body: Value,
}

/// Reads all topics from their beginning.
pub(crate) struct Listener {
    consumer: BaseConsumer,
    topics: HashMap<String, Topic>,
    /// All messages so far, repeats too.
    pub(crate) heard: Vec<Message>,
}

impl Listener {
    pub(crate) fn new(settings: &KafkaSettings) -> Self {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", settings.brokers.join(","))
            .set("group.id", "listener")
            .set("enable.auto.commit", "false")
            // Unless it has heard everything a listener fails, and soon when the broker comes back.
            .set("reconnect.backoff.max.ms", "500")
            .create()
            .unwrap();
        let topics: HashMap<_, _> =
            Topic::VARIANTS.iter().map(|&topic| (topic_of(settings, topic), topic)).collect();
        let mut wanted = TopicPartitionList::new();
        for topic in topics.keys() {
            for partition in 0..settings.partitions.unwrap() {
                let partition = i32::try_from(partition).unwrap();
                wanted.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
            }
        }
        consumer.assign(&wanted).unwrap();
        Self { consumer, topics, heard: Vec::new() }
    }

    /// Listens until enough was heard.
    pub(crate) fn until(&mut self, what: &str, enough: impl Fn(&[Message]) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !enough(&self.heard) {
            assert!(Instant::now() < until, "never: {what}; heard {:#?}", self.heard);
            // An error is a broker that is away or a topic that is not known yet: the client tries again.
            let Some(Ok(message)) = self.consumer.poll(Duration::from_millis(100)) else {
                continue;
            };
            let header = |name: &str| {
                let headers = message.headers().expect("every message has headers");
                let header = headers.iter().find(|header| header.key == name).expect(name);
                let text = std::str::from_utf8(header.value.unwrap()).unwrap();
                text.parse::<u64>().unwrap()
            };
            self.heard.push(Message {
                topic: self.topics[message.topic()],
                partition: message.partition(),
                key: String::from_utf8(message.key().unwrap().to_vec()).unwrap(),
                fence: header("fence"),
                number: (header("sequence"), header("index")),
                body: serde_json::from_slice(message.payload().unwrap()).unwrap(),
            });
        }
    }

    /// What was heard on a topic, without repeats: whoever keeps the last number of each event
    /// drops what is not above.
    pub(crate) fn taken(&self, topic: Topic) -> Vec<Message> {
        taken(&self.heard, topic)
    }

    /// How many messages were repeats.
    pub(crate) fn repeats(&self) -> usize {
        let taken = Topic::VARIANTS.iter().map(|&topic| self.taken(topic).len());
        self.heard.len() - taken.sum::<usize>()
    }
}

/// See [`Listener::taken`].
pub(crate) fn taken(heard: &[Message], topic: Topic) -> Vec<Message> {
    let mut last = HashMap::new();
    let mut taken = Vec::new();
    for message in heard.iter().filter(|message| message.topic == topic) {
        let last = last.entry(&message.key).or_insert((0, 0));
        // Sequences begin with 1.
        if message.number > *last {
            *last = message.number;
            taken.push(message.clone());
        }
    }
    taken
}
