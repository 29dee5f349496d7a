//! What can be configured about RabbitMQ.

use super::certificates::CertificateSettings;
use super::ladder::Ladder;
use super::secret::Secret;
use amq_protocol_uri::{AMQPScheme, AMQPUri};
use serde::Deserialize;
use std::time::Duration;

/// The longest prefix: with it every name stays within what the protocol allows.
const MAX_PREFIX_BYTES: usize = 64;

/// RabbitMQ for wake-ups. Off unless it is there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RabbitSettings {
    /// Where it is: `amqp://user:password@host:5672/vhost`, or `amqps://…:5671/…` for TLS; without
    /// a vhost it is `/`.
    /// `?heartbeat=10` sets after how many seconds of silence the connection counts as broken
    /// (default 10; twice as long until it is given up).
    pub url: Secret,
    /// The password, as it is: in an address some characters would have to be escaped.
    #[serde(default)]
    pub password: Option<Secret>,
    /// What the names of exchanges and queues begin with (default: nothing), if several
    /// installations share a vhost.
    #[serde(default)]
    pub prefix: String,
    /// Whose certificates are trusted where the address is `amqps://`, and our own.
    #[serde(default)]
    pub certificates: CertificateSettings,
    /// What nobody needs to change.
    #[serde(skip)]
    pub tuning: Tuning,
}

/// Times and sizes that only tests change.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The delays there is a queue for.
    pub ladder: Ladder,
    /// For how long a publisher that says nothing keeps others from publishing.
    pub lease_ms: u32,
    /// The pause after the first failure; each further one doubles it, until something went through.
    pub first_pause: Duration,
    /// The longest pause between two attempts.
    pub longest_pause: Duration,
    /// How long RabbitMQ may take for any answer.
    pub patience: Duration,
    /// Messages that a consumer has in its hands, from each queue.
    pub prefetch: u16,
    /// Messages that are sent before the first of them is confirmed.
    pub window: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            ladder: Ladder::default(),
            lease_ms: 10_000,
            first_pause: Duration::from_millis(250),
            longest_pause: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            prefetch: 256,
            window: 1_024,
        }
    }
}

impl RabbitSettings {
    /// What is configured by an address alone.
    #[must_use]
    pub fn new(url: String) -> Self {
        Self {
            url: Secret::from(url),
            password: None,
            prefix: String::new(),
            certificates: CertificateSettings::default(),
            tuning: Tuning::default(),
        }
    }

    /// The address, taken apart.
    ///
    /// # Errors
    /// What is wrong with it. The address itself is not repeated: it may have a password in it.
    pub fn address(&self) -> Result<AMQPUri, String> {
        let mut address: AMQPUri = self.url.reveal().parse().map_err(|_| {
            "rabbitmq.url: use amqp://user:password@host:5672, or amqps:// for TLS".to_owned()
        })?;
        if let Some(password) = &self.password {
            // An address without a user has the library's own, `guest`, with its password.
            let named = self.url.reveal().split_once("://").map_or("", |(_, rest)| rest);
            let user = named.split_once('@').map_or("", |(user, _)| user);
            if user.is_empty() || user.contains([':', '/']) {
                return Err("rabbitmq.password: name the user in rabbitmq.url, and no password \
                            there, such as amqp://onrush@127.0.0.1:5672"
                    .into());
            }
            password.reveal().clone_into(&mut address.authority.userinfo.password);
        }
        Ok(address)
    }

    /// Checks what the types cannot.
    ///
    /// # Errors
    /// What is wrong, as a sentence that names the place.
    pub fn check(&self) -> Result<(), String> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if self.prefix.len() > MAX_PREFIX_BYTES || !self.prefix.bytes().all(plain) {
            return Err(format!(
                "rabbitmq.prefix: use at most {MAX_PREFIX_BYTES} of the characters A-Z a-z 0-9 . _ -"
            ));
        }
        let address = self.address()?;
        if address.scheme == AMQPScheme::AMQP && !self.certificates.is_default() {
            return Err(
                "rabbitmq.certificates: they are for TLS; use amqps:// in rabbitmq.url".into()
            );
        }
        self.certificates.load("rabbitmq.certificates").map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(toml: &str) -> Result<RabbitSettings, String> {
        toml::from_str(toml).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_are_checked_and_hide_the_password() {
        let good = parsed("url = 'amqp://shop:s3cret@mq.example:5673/live'\nprefix = 'a.'");
        let good = good.expect("these are settings");
        good.check().expect("nothing is wrong with them");
        assert!(!format!("{good:?}").contains("s3cret"));
        let address = good.address().expect("it is an address");
        assert_eq!((address.authority.port, address.vhost.as_str()), (5_673, "live"));

        for (toml, names) in [
            ("url = 'http://mq.example'", "rabbitmq.url"),
            ("url = 'amqp://h'\ncertificates = { ca = '/nowhere' }", "amqps"),
            ("url = 'amqps://h'\ncertificates = { ca = '/nowhere' }", "rabbitmq.certificates.ca"),
            ("url = 'amqp://mq.example'\nprefix = 'a:b'", "rabbitmq.prefix"),
        ] {
            let why = parsed(toml).expect("the shape is right").check().expect_err(toml);
            assert!(why.contains(names), "{toml}: {why}");
        }
        let apart = parsed("url = 'amqp://shop@mq.example'\npassword = 's3cret:/@%'");
        let apart = apart.expect("these are settings");
        assert!(!format!("{apart:?}").contains("s3cret"));
        let userinfo = apart.address().expect("it is an address").authority.userinfo;
        assert_eq!((&*userinfo.username, &*userinfo.password), ("shop", "s3cret:/@%"));
        for url in ["amqp://mq.example", "amqp://shop:other@mq.example"] {
            let twice = parsed(&format!("url = '{url}'\npassword = 's3cret'"));
            let why = twice.expect("the shape is right").address().expect_err(url);
            assert!(why.contains("rabbitmq.password") && !why.contains("s3cret"), "{why}");
        }
        let why = parsed("url = 'amqp://mq.example'\nprefiks = 'a'").expect_err("a typing error");
        assert!(why.contains("prefiks"), "{why}");
        assert_eq!(parsed("url = 'amqp://h'").expect("the rest has defaults").prefix, "");
    }
}
