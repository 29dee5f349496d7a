//! What can be configured about Kafka.

use super::certificates::CertificateSettings;
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
    /// Whose certificates are trusted, and our own. Set, they switch TLS on.
    #[serde(default)]
    pub certificates: CertificateSettings,
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
            certificates: CertificateSettings::default(),
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
        self.check_security()
    }

    /// An option that is set.
    fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(Secret::reveal)
    }

    /// Who logs in and how, by any of the option's names.
    fn mechanism(&self) -> Option<&str> {
        self.option("sasl.mechanism").or_else(|| self.option("sasl.mechanisms"))
    }

    /// What librdkafka calls `security.protocol`: what is set, or what follows from the rest.
    #[must_use]
    pub fn protocol(&self) -> String {
        match self.option("security.protocol") {
            Some(protocol) => protocol.to_ascii_lowercase(),
            None => match (self.certificates.is_default(), self.mechanism()) {
                (true, None) => "plaintext".into(),
                (true, Some(_)) => "sasl_plaintext".into(),
                (false, None) => "ssl".into(),
                (false, Some(_)) => "sasl_ssl".into(),
            },
        }
    }

    fn check_security(&self) -> Result<(), String> {
        let protocol = self.protocol();
        let (is_tls, is_sasl) = match protocol.as_str() {
            "plaintext" => (false, false),
            "ssl" => (true, false),
            "sasl_plaintext" => (false, true),
            "sasl_ssl" => (true, true),
            _ => {
                return Err("kafka.options: use plaintext, ssl, sasl_plaintext or sasl_ssl as \
                            security.protocol"
                    .into());
            }
        };
        if !is_tls && !self.certificates.is_default() {
            return Err("kafka.certificates: they are for TLS; use ssl or sasl_ssl as \
                        security.protocol"
                .into());
        }
        let mechanism = self.mechanism().map(str::to_ascii_uppercase);
        if is_sasl && mechanism.is_none() {
            return Err("kafka.options: set sasl.mechanism to PLAIN, SCRAM-SHA-256 or \
                        SCRAM-SHA-512"
                .into());
        }
        let with_user = mechanism.filter(|_| is_sasl);
        if let Some(mechanism) = &with_user {
            if !["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"].contains(&mechanism.as_str()) {
                return Err("kafka.options: this program knows the sasl.mechanism PLAIN, \
                            SCRAM-SHA-256 and SCRAM-SHA-512"
                    .into());
            }
            if self.option("sasl.username").is_none() || self.option("sasl.password").is_none() {
                return Err("kafka.options: set sasl.username and sasl.password".into());
            }
        }
        let is_scram = with_user.is_some_and(|mechanism| mechanism != "PLAIN");
        if (is_tls || is_scram) && !cfg!(feature = "kafka-tls") {
            return Err("kafka: this program was built without TLS and SCRAM for Kafka; build it \
                        with --features kafka-tls"
                .into());
        }
        let off = |name: &str, on: &[&str]| {
            self.option(name).is_some_and(|text| !on.contains(&text.to_ascii_lowercase().as_str()))
        };
        if off("enable.ssl.certificate.verification", &["true", "t", "1"])
            || off("ssl.endpoint.identification.algorithm", &["https"])
        {
            return Err("kafka.options: without the verification of certificates and their names \
                        anybody could answer; set kafka.certificates.ca instead"
                .into());
        }
        self.certificates.load("kafka.certificates").map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What others read about these settings.
    const PAGE: &str = include_str!("../../../../docs/kafka.md");

    fn parsed(toml: &str) -> Result<KafkaSettings, String> {
        toml::from_str(toml).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_are_checked_and_hide_passwords() {
        let good = "brokers = ['a.example:9092', 'b.example:9092']\nprefix = 'live.'\n\
                    options = { 'sasl.password' = 's3cret', 'sasl.username' = 'shop', \
                    'sasl.mechanism' = 'PLAIN', 'linger.ms' = '20' }";
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
            (
                "brokers = ['a:9092']\noptions = { 'security.protocol' = 'tls' }",
                "security.protocol",
            ),
            (
                "brokers = ['a:9092']\noptions = { 'security.protocol' = 'SASL_SSL' }",
                "sasl.mechanism",
            ),
            ("brokers = ['a:9092']\noptions = { 'sasl.mechanism' = 'GSSAPI' }", "SCRAM-SHA-512"),
            ("brokers = ['a:9092']\noptions = { 'sasl.mechanism' = 'PLAIN' }", "sasl.username"),
            (
                "brokers = ['a:9092']\noptions = { 'enable.ssl.certificate.verification' = 'False' }",
                "kafka.certificates.ca",
            ),
            (
                "brokers = ['a:9092']\noptions = { 'ssl.endpoint.identification.algorithm' = 'none' }",
                "kafka.certificates.ca",
            ),
            (
                "brokers = ['a:9092']\noptions = { 'security.protocol' = 'plaintext' }\n\
                 certificates = { ca = '/nowhere' }",
                "kafka.certificates",
            ),
        ] {
            let why = parsed(toml).expect("the shape is right").check().expect_err(toml);
            assert!(why.contains(names), "{toml}: {why}");
        }
        let why = parsed("brokers = ['a:9092']\nprefiks = 'a'").expect_err("a typing error");
        assert!(why.contains("prefiks"), "{why}");
    }

    #[test]
    fn examples_of_the_document_are_settings_and_none_with_a_login_goes_without_tls() {
        #[derive(Deserialize)]
        struct Example {
            kafka: KafkaSettings,
        }
        let blocks = PAGE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let protocols: Vec<String> = blocks
            .map(|block| toml::from_str::<Example>(block).expect(block).kafka.protocol())
            .collect();
        assert_eq!(protocols, ["plaintext", "sasl_ssl", "sasl_ssl"]);
    }
}
