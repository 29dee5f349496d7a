//! What can be configured about Kafka.

use super::secret::Secret;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// The longest prefix: with it every topic's name stays within Kafka's 249 characters.
const MAX_PREFIX_BYTES: usize = 64;

/// What the order of messages and their arrival depend on, and whoever changes it breaks what
/// docs/kafka.md promises.
pub const OURS: [(&str, &str); 7] = [
    // Kafka itself drops what the client repeats, and keeps the order while up to five requests are
    // under way.
    ("enable.idempotence", "true"),
    ("acks", "all"),
    // A message that cannot be delivered ends the producer, instead of being overtaken by the next.
    ("enable.gapless.guarantee", "true"),
    // None is given up: receivers could not tell that there is a gap.
    ("message.timeout.ms", "0"),
    // An event is on the partition where Java's producers would put it.
    ("partitioner", "murmur2_random"),
    // With the window in messages this bounds the memory.
    ("queue.buffering.max.kbytes", "65536"),
    ("client.id", "onrush"),
];

/// Kafka. Off unless it is there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KafkaSettings {
    /// Some of its brokers: `host:port`.
    pub brokers: Vec<String>,
    /// What the names of topics begin with (default: nothing), if several installations share a Kafka.
    #[serde(default)]
    pub prefix: String,
    /// Whether topics that are missing are made (default: yes).
    #[serde(default = "yes")]
    pub create_topics: bool,
    /// With how many partitions; if left out, with as many as the broker gives new topics.
    #[serde(default)]
    pub partitions: Option<u32>,
    /// The longest message that the brokers take, in bytes. Of a change that needs more the feed's
    /// message has the kind and the size.
    #[serde(default = "max_message_bytes")]
    pub max_message_bytes: u32,
    /// Further settings of the client, by librdkafka's names, such as `compression.type` or `sasl.password`.
    #[serde(default)]
    pub options: BTreeMap<String, Secret>,
    /// What nobody needs to change.
    #[serde(skip)]
    pub tuning: Tuning,
}

/// Times and sizes that only tests change.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// For how long a publisher that says nothing keeps others from publishing.
    pub lease_ms: u32,
    /// The pause after the first failure; each further one doubles it.
    pub first_pause: Duration,
    /// The longest pause between two attempts.
    pub longest_pause: Duration,
    /// How long Kafka may take to make topics.
    pub making_topics: Duration,
    /// How long Kafka may leave a message without an answer until another node may try.
    pub patience: Duration,
    /// Messages under way at a time.
    pub window: usize,
    /// How often the cursor is written at most: what was sent since is sent again after a crash.
    pub save_every: Duration,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            lease_ms: 10_000,
            first_pause: Duration::from_millis(250),
            longest_pause: Duration::from_secs(10),
            making_topics: Duration::from_secs(10),
            patience: Duration::from_secs(60),
            window: 4_096,
            save_every: Duration::from_millis(200),
        }
    }
}

fn yes() -> bool {
    true
}

/// What brokers take unless they are told otherwise is a little more than this.
fn max_message_bytes() -> u32 {
    1_000_000
}

impl KafkaSettings {
    /// Some brokers, with the defaults.
    #[must_use]
    pub fn new(brokers: Vec<String>) -> Self {
        Self {
            brokers,
            prefix: String::new(),
            create_topics: yes(),
            partitions: None,
            max_message_bytes: max_message_bytes(),
            options: BTreeMap::new(),
            tuning: Tuning::default(),
        }
    }

    /// Checks what the types cannot.
    ///
    /// # Errors
    /// What is wrong, as a sentence that names the place.
    pub fn check(&self) -> Result<(), String> {
        let address = |broker: &String| {
            broker.rsplit_once(':').is_some_and(|(host, port)| {
                !host.is_empty() && !host.contains(['/', ',', ' ']) && port.parse::<u16>().is_ok()
            })
        };
        if self.brokers.is_empty() || !self.brokers.iter().all(address) {
            return Err("kafka.brokers: use host:port, such as kafka.shop.example:9092".into());
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if self.prefix.len() > MAX_PREFIX_BYTES || !self.prefix.bytes().all(plain) {
            return Err(format!(
                "kafka.prefix: use at most {MAX_PREFIX_BYTES} of the characters A-Z a-z 0-9 . _ -"
            ));
        }
        if self.partitions.is_some_and(|partitions| !(1..=10_000).contains(&partitions)) {
            return Err("kafka.partitions: use 1 to 10000".into());
        }
        if !(10_000..=1_000_000_000).contains(&self.max_message_bytes) {
            return Err("kafka.max_message_bytes: use 10000 to 1000000000".into());
        }
        let ours = |option: &&String| {
            OURS.iter().any(|(name, _)| name == option)
                || matches!(option.as_str(), "bootstrap.servers" | "transactional.id")
        };
        if let Some(option) = self.options.keys().find(ours) {
            return Err(format!("kafka.options: {option} is not yours to set; see docs/kafka.md"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(toml: &str) -> Result<KafkaSettings, String> {
        toml::from_str(toml).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_are_checked_and_hide_passwords() {
        let good = "brokers = ['a.example:9092', 'b.example:9092']\nprefix = 'live.'\n\
                    options = { 'sasl.password' = 's3cret', 'linger.ms' = '20' }";
        let good = parsed(good).expect("these are settings");
        good.check().expect("nothing is wrong with them");
        assert!(!format!("{good:?}").contains("s3cret"));

        for (toml, names) in [
            ("brokers = []", "kafka.brokers"),
            ("brokers = ['kafka']", "kafka.brokers"),
            ("brokers = ['kafka://a:9092']", "kafka.brokers"),
            ("brokers = ['a:9092']\nprefix = 'a:b'", "kafka.prefix"),
            ("brokers = ['a:9092']\npartitions = 0", "kafka.partitions"),
            ("brokers = ['a:9092']\nmax_message_bytes = 10", "kafka.max_message_bytes"),
            ("brokers = ['a:9092']\noptions = { acks = '1' }", "acks"),
            ("brokers = ['a:9092']\noptions = { 'transactional.id' = 'x' }", "transactional.id"),
        ] {
            let why = parsed(toml).expect("the shape is right").check().expect_err(toml);
            assert!(why.contains(names), "{toml}: {why}");
        }
        let why = parsed("brokers = ['a:9092']\nprefiks = 'a'").expect_err("a typing error");
        assert!(why.contains("prefiks"), "{why}");
    }
}
