//! What clients of Kafka are told, out of the settings.

use super::bodies::Topic;
use onrush_base::config::kafka::{KafkaSettings, OURS};
use rdkafka::ClientConfig;

/// What the settings call the certificates.
pub(super) const CERTIFICATES: &str = "kafka.certificates";

/// The longest batch, unless somebody says otherwise: the client's own default.
const BATCH_BYTES: u32 = 1_000_000;
/// What surrounds a message's body at most: its key, its headers, and the head of its batch.
const FRAMING_BYTES: u32 = 512;

/// The longest body of a message.
pub(super) fn max_body_bytes(settings: &KafkaSettings) -> usize {
    (settings.max_message_bytes - FRAMING_BYTES) as usize
}

/// The name of a topic.
#[must_use]
pub fn topic_of(settings: &KafkaSettings, topic: Topic) -> String {
    format!("{}{topic}", settings.prefix)
}

/// What every client of ours is told.
///
/// # Errors
/// The certificates cannot be read.
pub(super) fn client_of(settings: &KafkaSettings) -> Result<ClientConfig, String> {
    let mut config = ClientConfig::new();
    configure(settings, &mut config)?;
    Ok(config)
}

/// What the producer is told.
///
/// # Errors
/// The certificates cannot be read.
pub(super) fn producer_of(settings: &KafkaSettings) -> Result<ClientConfig, String> {
    let mut config = ClientConfig::new();
    // Unless somebody says otherwise: small batches soon, and made smaller by what every client can read.
    config.set("linger.ms", "5").set("compression.type", "lz4");
    configure(settings, &mut config)?;
    for (name, value) in OURS {
        config.set(name, value);
    }
    // The client counts its own framing, too.
    config.set("message.max.bytes", (settings.max_message_bytes + 10_000).to_string());
    // What brokers measure is a batch; compressed or not, none is longer than one message may be.
    let asked = config.get("batch.size").and_then(|bytes| bytes.parse().ok());
    let batch_bytes = asked.unwrap_or(BATCH_BYTES).min(settings.max_message_bytes);
    config.set("batch.size", batch_bytes.to_string());
    Ok(config)
}

fn configure(settings: &KafkaSettings, config: &mut ClientConfig) -> Result<(), String> {
    for (name, value) in &settings.options {
        config.set(name, value.reveal());
    }
    config.set("bootstrap.servers", settings.brokers.join(","));
    config.set("security.protocol", settings.protocol());
    let certificates = settings.certificates.load(CERTIFICATES)?;
    let text = |pem: &[u8]| String::from_utf8_lossy(pem).into_owned();
    if let Some(authorities) = certificates.authorities() {
        config.set("ssl.ca.pem", text(authorities));
    }
    if let Some(own) = certificates.own() {
        config.set("ssl.certificate.pem", text(own.chain()));
        config.set("ssl.key.pem", text(own.key()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_what_is_set_and_what_is_ours() {
        let settings = "brokers = ['a.example:9092', 'b.example:9092']\nprefix = 'live.'\n\
                        options = { 'sasl.password' = 's3cret', 'linger.ms' = '20' }";
        let settings: KafkaSettings = toml::from_str(settings).expect("these are settings");
        assert_eq!(topic_of(&settings, Topic::BookingRequest), "live.booking_request");
        let producer = producer_of(&settings).expect("nothing is read");
        assert_eq!(producer.get("sasl.password"), Some("s3cret"));
        assert_eq!(producer.get("linger.ms"), Some("20"));
        assert_eq!(producer.get("acks"), Some("all"));
        assert_eq!(producer.get("batch.size"), Some("1000000"));
        assert_eq!(producer.get("bootstrap.servers"), Some("a.example:9092,b.example:9092"));
    }

    #[test]
    fn no_batch_is_longer_than_a_message_may_be() {
        for (asked, batch_bytes) in [("", "20000"), ("'batch.size' = '9000'", "9000")] {
            let settings =
                format!("brokers = ['a:9092']\nmax_message_bytes = 20000\noptions = {{ {asked} }}");
            let settings: KafkaSettings = toml::from_str(&settings).expect("these are settings");
            let producer = producer_of(&settings).expect("nothing is read");
            assert_eq!(producer.get("batch.size"), Some(batch_bytes));
        }
    }
}
