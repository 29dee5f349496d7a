//! What clients of Kafka are told, out of the settings.

use super::bodies::Topic;
use crate::config::kafka::{KafkaSettings, OURS};
use rdkafka::ClientConfig;

impl KafkaSettings {
    /// The name of a topic.
    #[must_use]
    pub fn topic(&self, topic: Topic) -> String {
        format!("{}{}", self.prefix, topic.name())
    }

    /// What every client of ours is told.
    pub(super) fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        self.configure(&mut config);
        config
    }

    fn configure(&self, config: &mut ClientConfig) {
        for (name, value) in &self.options {
            config.set(name, value.reveal());
        }
        config.set("bootstrap.servers", self.brokers.join(","));
    }

    /// What the producer is told.
    pub(super) fn producer(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        // Unless somebody says otherwise: small batches soon, and made smaller by what every client can read.
        config.set("linger.ms", "5").set("compression.type", "lz4");
        self.configure(&mut config);
        for (name, value) in OURS {
            config.set(name, value);
        }
        // The client counts its own framing, too.
        config.set("message.max.bytes", (self.max_message_bytes + 10_000).to_string());
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_what_is_set_and_what_is_ours() {
        let settings = "brokers = ['a.example:9092', 'b.example:9092']\nprefix = 'live.'\n\
                        options = { 'sasl.password' = 's3cret', 'linger.ms' = '20' }";
        let settings: KafkaSettings = toml::from_str(settings).expect("these are settings");
        assert_eq!(settings.topic(Topic::BookingRequest), "live.booking_request");
        let producer = settings.producer();
        assert_eq!(producer.get("sasl.password"), Some("s3cret"));
        assert_eq!(producer.get("linger.ms"), Some("20"));
        assert_eq!(producer.get("acks"), Some("all"));
        assert_eq!(producer.get("bootstrap.servers"), Some("a.example:9092,b.example:9092"));
    }
}
