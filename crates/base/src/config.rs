//! What can be configured: by a file, then `ONRUSH_…` variables, then flags, each overriding the one before.

use serde::{Deserialize, Deserializer, de};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

mod acme;
mod certificates;
mod connections;
mod error;
mod gateways;
#[cfg(feature = "cluster")]
pub mod kafka;
pub mod keys;
pub mod kinds;
#[cfg(feature = "cluster")]
pub mod ladder;
pub mod limits;
mod load;
mod network;
mod oidc;
mod pages;
mod parse;
pub mod postgres;
#[cfg(feature = "cluster")]
pub mod rabbit;
pub mod relay;
mod retention;
mod secret;
mod secrets;
mod seller;
mod servers;
mod shop;
mod telemetry;
mod template;
mod tls;
mod variables;
mod warnings;
mod web_address;

use keys::KeySettings;
use limits::LimitSettings;
use relay::{MailSettings, WebhookSettings};

pub use acme::AcmeSettings;
pub use certificates::{CertificateSettings, Pem};
pub use connections::ConnectionSettings;
pub use error::ConfigError;
pub use gateways::{FaultMix, GatewayName, Patience, SandboxSettings, StripeSettings};
pub use network::{Network, NotANetwork};
pub use oidc::{OidcGroup, OidcSettings};
pub use pages::reached_from_here;
pub use retention::RetentionSettings;
pub use secret::Secret;
pub use secrets::own_secret_complaint;
pub use seller::SellerSettings;
pub use servers::{
    EngineName, FlagSettings, KafkaSettings, LedgerName, PostgresSettings, RabbitSettings,
    RedisSettings,
};
pub use shop::{JwksSource, ShopAlgorithm, ShopTokens};
pub use telemetry::TelemetrySettings;
pub use template::TEMPLATE;
pub use tls::TlsSettings;

/// What a start goes on with although something happened since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accept {
    /// Nothing.
    #[default]
    Nothing,
    /// A whole backup that was restored and ends with this decision; nothing else that does not fit.
    Backup(u64),
    /// Whatever is older, missing, or of another directory.
    Everything,
}

/// The server's configuration. Each field is a key of the TOML file, and `ONRUSH_` plus its name in
/// capitals a variable; two underscores part a section from a setting in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The directory that has everything: the journal, the keys, the seat maps.
    pub data: PathBuf,
    /// What a start goes on with that is older than other files of the directory, or than what was
    /// sold; said on the command line only.
    #[serde(skip)]
    pub accept_restored: Accept,
    /// Where visitors and the organiser connect; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where metrics and health are asked for; `off` in a file or variable is `None`.
    #[serde(deserialize_with = "address_or_off")]
    pub operator_listen: Option<SocketAddr>,
    /// Where people reach this in their browsers, such as `https://tickets.example`; without it
    /// where it listens.
    pub public_url: Option<String>,
    /// Our certificate, if the public listener is to speak TLS.
    pub tls: Option<TlsSettings>,
    /// Built pages in a directory, to be served instead of those in the binary.
    pub pages: Option<PathBuf>,
    /// What runs the rules.
    pub engine: EngineName,
    /// What remembers bookings and money.
    pub ledger: LedgerName,
    /// Redis, if that runs the rules.
    pub redis: Option<RedisSettings>,
    /// PostgreSQL, if that remembers.
    pub postgres: Option<PostgresSettings>,
    /// RabbitMQ, if it is to carry wake-ups.
    pub rabbitmq: Option<RabbitSettings>,
    /// Kafka, if other systems are to read what happens there.
    pub kafka: Option<KafkaSettings>,
    /// How flags are set at the first start.
    pub flags: FlagSettings,
    /// The admin API key; `None` generates one at the first start.
    pub admin_key: Option<Secret>,
    /// The key of those who check tickets in; the admin API key may always do so.
    pub scanner_key: Option<Secret>,
    /// Keys of people and services, each with a name and scopes.
    pub keys: Vec<KeySettings>,
    /// An OpenID provider that people may sign in with instead of a key.
    pub oidc: Option<OidcSettings>,
    /// How long who signed in with a browser stays signed in at most, in seconds.
    pub session_ttl_s: u32,
    /// For how long a browser may do nothing before it is signed out, in seconds.
    pub session_idle_s: u32,
    /// For how many days it is kept what was done with which key.
    pub actions_kept_days: u32,
    /// For how long people are known.
    pub retention: RetentionSettings,
    /// Whether anyone may have a guest token.
    pub guest_tokens: bool,
    /// How long a guest token is valid, in seconds.
    pub guest_token_ttl_s: u32,
    /// Guest tokens that one address (IPv6: one `/64`) gets a minute, and at once.
    pub visitors_per_min: u32,
    /// How often visitors and addresses may ask.
    pub limits: LimitSettings,
    /// Networks whose `X-Forwarded-For` is believed, such as `10.0.0.0/8`.
    pub trusted_proxies: Vec<Network>,
    /// Origins whose pages may open streams, such as `https://shop.example`; the server's own host
    /// always may.
    pub allowed_origins: Vec<String>,
    /// SSE and WebSocket connections at a time.
    pub max_streams: usize,
    /// What connections, streams and bodies may take up.
    pub connections: ConnectionSettings,
    /// How long an ask should wait at most, in milliseconds: above half of it looks and then new
    /// business are sent away with 503; 0 never sends anybody away.
    pub shed_after_ms: u32,
    /// Who signs passes (their `iss`).
    pub pass_issuer: String,
    /// The shop's own tokens, if visitors come with those.
    pub shop_tokens: Option<ShopTokens>,
    /// Mail to buyers; none if left out.
    pub mail: Option<MailSettings>,
    /// Who else is told what happens.
    pub webhooks: Vec<WebhookSettings>,
    /// Who takes money; nobody unless it is said.
    pub gateway: GatewayName,
    /// Whether the sandbox, or a test key of Stripe's, may be used where the server can be reached from
    /// outside.
    pub allow_sandbox: bool,
    /// The sandbox, if that is the gateway.
    pub sandbox: SandboxSettings,
    /// Stripe, if that is the gateway.
    pub stripe: Option<StripeSettings>,
    /// Who sells, if receipts are to be issued.
    pub seller: Option<SellerSettings>,
    /// How patient the driver of sagas is.
    pub saga: Patience,
    /// Who collects traces, if anyone does.
    pub telemetry: Option<TelemetrySettings>,
    /// Whether the inherited paths (`/api/booking/…`, `/api/seats/…`) are served too.
    #[serde(alias = "s3_paths")]
    pub booking_paths: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: PathBuf::from("onrush-data"),
            accept_restored: Accept::Nothing,
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            operator_listen: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 8081))),
            public_url: None,
            tls: None,
            pages: None,
            engine: EngineName::default(),
            ledger: LedgerName::default(),
            redis: None,
            postgres: None,
            rabbitmq: None,
            kafka: None,
            flags: FlagSettings::default(),
            admin_key: None,
            scanner_key: None,
            keys: Vec::new(),
            oidc: None,
            session_ttl_s: 43_200,
            session_idle_s: 7_200,
            actions_kept_days: 400,
            retention: RetentionSettings::default(),
            guest_tokens: true,
            guest_token_ttl_s: 86_400,
            visitors_per_min: 60,
            limits: LimitSettings::default(),
            trusted_proxies: Vec::new(),
            allowed_origins: Vec::new(),
            max_streams: 100_000,
            connections: ConnectionSettings::default(),
            shed_after_ms: 50,
            pass_issuer: "onrush".into(),
            shop_tokens: None,
            mail: None,
            webhooks: Vec::new(),
            gateway: GatewayName::None,
            allow_sandbox: false,
            sandbox: SandboxSettings::default(),
            stripe: None,
            seller: None,
            saga: Patience::default(),
            telemetry: None,
            booking_paths: false,
        }
    }
}

impl Config {
    /// Checks what the types cannot. What stands in files of `[tls]` is not looked at: somebody else
    /// writes and renews them, and they may be right a moment later. Neither are files of `[[keys]]`.
    ///
    /// # Errors
    /// Everything that is wrong, not only the first thing.
    pub fn check(&self) -> Result<(), ConfigError> {
        all_of(&self.complaints())
    }

    /// Checks whether each file of `[[keys]]` has a key, and no two of them the same. Nobody renews
    /// these while a server runs: as with other secrets in files, one that is away is a wrong setting.
    ///
    /// # Errors
    /// Everything that is wrong, not only the first thing.
    pub fn check_key_files(&self) -> Result<(), ConfigError> {
        all_of(&self.key_file_complaints())
    }

    /// Checks also whether the files of `[tls]` are a certificate and its key now, and those of
    /// `[[keys]]` keys.
    ///
    /// # Errors
    /// Everything that is wrong, not only the first thing.
    pub fn check_with_files(&self) -> Result<(), ConfigError> {
        let mut found = self.complaints();
        found.extend(self.key_file_complaints());
        found.extend(self.tls.as_ref().and_then(TlsSettings::file_complaint));
        all_of(&found)
    }

    /// Everything that is wrong, as sentences that name the place.
    fn complaints(&self) -> Vec<String> {
        let mut found = self.secret_complaints();
        found.extend(self.key_complaints());
        found.extend(self.oidc_complaints());
        let is_one_of_many = self.engine == EngineName::Redis;
        found.extend(self.tls.iter().flat_map(|tls| tls.complaints(is_one_of_many)));
        let mut wrong = |why: &str| found.push(why.to_owned());
        self.pages_complaints(&mut wrong);
        if self.trusted_proxies.iter().any(Network::is_everybody) {
            wrong(
                "trusted_proxies: this is everybody, and who is trusted says which address they come from; \
                 name the proxies alone",
            );
        }
        if self.visitors_per_min == 0 {
            wrong("visitors_per_min: use at least 1, or switch guest_tokens off");
        }
        if let Err(error) = self.connections.check() {
            wrong(&error.to_string());
        }
        self.server_complaints().iter().for_each(|why| wrong(why));
        if !self.allow_sandbox
            && !self.listen.ip().is_loopback()
            && let Some(what) = self.takes_no_money()
        {
            wrong(&format!(
                "{what} takes no real money, so it is refused on an address that others reach; set \
                 allow_sandbox = true if that is what you want"
            ));
        }
        self.saga.complaints(&mut wrong);
        if self.guest_token_ttl_s == 0 {
            wrong("guest_token_ttl_s: use at least 1");
        }
        if self.session_idle_s < 120 || self.session_ttl_s < self.session_idle_s {
            wrong("session_idle_s: use at least 120, and no more than session_ttl_s");
        }
        if let Some(why) = self.shop_tokens.as_ref().and_then(ShopTokens::complaint) {
            wrong(why);
        }
        if self.actions_kept_days == 0 {
            wrong("actions_kept_days: use at least 1");
        }
        if let Some(mail) = &self.mail
            && let Err(why) = mail.check()
        {
            wrong(&why);
        }
        if let Some(Err(why)) = self.telemetry.as_ref().map(TelemetrySettings::check) {
            wrong(&why);
        }
        if let Some(Err(why)) = self.seller.as_ref().map(SellerSettings::check) {
            wrong(&why);
        }
        for (index, webhook) in self.webhooks.iter().enumerate() {
            if let Err(why) = webhook.check() {
                wrong(&why);
            }
            if self.webhooks[..index].iter().any(|other| other.name == webhook.name) {
                wrong("webhooks.name: use each name once");
            }
        }
        found
    }
}

fn all_of(complaints: &[String]) -> Result<(), ConfigError> {
    if complaints.is_empty() { Ok(()) } else { Err(ConfigError::new(complaints.join("\n"))) }
}

fn address_or_off<'de, D: Deserializer<'de>>(d: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(d)?;
    if text == "off" { Ok(None) } else { text.parse().map(Some).map_err(de::Error::custom) }
}

#[cfg(test)]
mod tests {
    use super::limits::PerMin;
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn a_variable_overrides_the_default_and_other_names_are_left_alone() {
        let config = Config::load(
            None,
            variables(&[
                ("ONRUSH_LISTEN", "0.0.0.0:9000"),
                ("ONRUSH_OPERATOR_LISTEN", "off"),
                ("ONRUSH_TRUSTED_PROXIES", "10.0.0.0/8, fd00::/8"),
                ("ONRUSH_LOG", "debug"),
                ("PATH", "/bin"),
            ]),
        )
        .unwrap();
        assert_eq!(config.listen, "0.0.0.0:9000".parse().unwrap());
        assert_eq!(config.operator_listen, None);
        assert_eq!(config.trusted_proxies.len(), 2);
        assert_eq!(config.visitors_per_min, 60);
    }

    #[test]
    fn a_limit_is_a_number_or_off_wherever_it_is_set() {
        let text = "[limits]\nuser_writes_per_min = 7\naddress_reads_per_min = \"off\"\n";
        let config: Config = toml::from_str(text).unwrap();
        assert_eq!(config.limits.user_writes_per_min, PerMin::of(7));
        assert_eq!(config.limits.address_reads_per_min, PerMin::OFF);
        assert_eq!(config.limits.address_joins_per_min, PerMin::of(300));
        let config = Config::load(
            None,
            variables(&[
                ("ONRUSH_LIMITS_USER_READS_PER_MIN", "8"),
                ("ONRUSH_LIMITS", "off"),
                ("ONRUSH_LIMITS_ADDRESS_WRITES_PER_MIN", "9"),
                ("ONRUSH_LIMITS_EXEMPT_NETWORKS", "10.1.0.0/16"),
            ]),
        )
        .unwrap();
        assert_eq!(config.limits.user_writes_per_min, PerMin::OFF);
        assert_eq!(config.limits.user_reads_per_min, PerMin::of(8));
        assert_eq!(config.limits.address_wrong_keys_per_min, PerMin::of(10));
        assert_eq!(config.limits.address_writes_per_min, PerMin::of(9));
        assert_eq!(config.limits.exempt_networks.len(), 1);
        for text in ["0", "-1", "\"none\"", "4294967296", "1.5"] {
            let text = format!("[limits]\nuser_writes_per_min = {text}");
            let why = toml::from_str::<Config>(&text).unwrap_err().to_string();
            assert!(why.contains("user_writes_per_min"), "{why}");
        }
        for (name, text) in [("USER_WRITES_PER_MIN", "0"), ("USER_RIGHTS_PER_MIN", "1")] {
            let name = format!("ONRUSH_LIMITS_{name}");
            let why = Config::load(None, variables(&[(&name, text)])).unwrap_err().to_string();
            assert!(why.starts_with(&name), "{why}");
        }
    }

    #[test]
    fn booking_paths_have_an_old_name_that_does_not_go_together_with_the_new_one() {
        let by_file =
            |text: &str| toml::from_str::<Config>(text).map(|config| config.booking_paths);
        let by_variable = |pairs: &[(&str, &str)]| {
            Config::load(None, variables(pairs)).map(|config| config.booking_paths)
        };
        for name in ["booking_paths", "s3_paths"] {
            assert!(by_file(&format!("{name} = true")).unwrap(), "{name}");
            let variable = format!("ONRUSH_{}", name.to_ascii_uppercase());
            assert!(by_variable(&[(&variable, "true")]).unwrap(), "{variable}");
        }
        let text = "booking_paths = true\ns3_paths = true";
        let why = parse::complaint(text, &by_file(text).unwrap_err());
        assert!(why.ends_with("s3_paths is its old name; set one of the two"), "{why}");
        let both = [("ONRUSH_BOOKING_PATHS", "true"), ("ONRUSH_S3_PATHS", "true")];
        let why = by_variable(&both).unwrap_err().to_string();
        assert!(why.contains("ONRUSH_BOOKING_PATHS sets the same; set one of the two"), "{why}");
    }

    #[test]
    fn an_unreadable_value_names_its_variable() {
        let error = Config::load(None, variables(&[("ONRUSH_LISTEN", "here")])).unwrap_err();
        assert!(error.to_string().starts_with("ONRUSH_LISTEN: "), "{error}");
    }

    #[test]
    fn public_url_is_a_scheme_and_a_host() {
        for (url, is_fine) in [
            ("https://tickets.example", true),
            ("http://127.0.0.1:8080", true),
            ("tickets.example", false),
            ("https://", false),
            ("https://tickets.example/shop", false),
        ] {
            let loaded = Config::load(None, variables(&[("ONRUSH_PUBLIC_URL", url)]));
            assert_eq!(loaded.is_ok(), is_fine, "{url}");
        }
    }

    #[test]
    fn an_unknown_key_in_the_file_is_an_error() {
        assert!(toml::from_str::<Config>("lissen = \"127.0.0.1:1\"").is_err());
    }

    #[test]
    fn the_template_is_the_default_configuration() {
        let config: Config = toml::from_str(TEMPLATE).unwrap();
        assert_eq!(format!("{config:?}"), format!("{:?}", Config::default()));
    }

    #[test]
    fn the_template_has_every_setting_there_is() {
        let config: Config = toml::from_str(&template::examples()).unwrap();
        let written = format!("{config:?}");
        let written = written.replace("gateway: None", "");
        assert!(!written.contains("None"), "a setting has no example: {written}");
        assert!(!written.contains("webhooks: []"), "a webhook has no example");
        assert!(!written.contains("keys: []"), "a key has no example");
    }

    #[test]
    fn a_flag_is_set_by_its_variable_for_all_or_for_a_share() {
        let flags = |text: &str| {
            let variables = variables(&[("FEATURE_STREAMS_QUEUE", text), ("FEATURE_OTHER", "x")]);
            Config::load(None, variables).map(|config| config.flags.streams_queue)
        };
        for (text, percent) in [("true", 100), ("false", 0), ("10", 10)] {
            assert_eq!(flags(text).unwrap(), percent);
        }
        for text in ["101", "-1", "some"] {
            let why = flags(text).unwrap_err().to_string();
            assert!(why.starts_with("FEATURE_STREAMS_QUEUE: use true, false"), "{why}");
        }
    }

    #[test]
    fn servers_that_do_not_go_together_are_named() {
        for (text, place) in [
            ("engine = \"redis\"", "ledger"),
            ("engine = \"redis\"\nledger = \"postgres\"", "redis"),
            ("ledger = \"postgres\"", "postgres"),
            ("engine = \"redis\"\nledger = \"postgres\"\n[redis]\nurls = []", "redis.urls"),
            (
                "engine = \"redis\"\nledger = \"postgres\"\n[redis]\nurls = [\"redis://a\", \"redis://b\"]",
                "redis.cluster",
            ),
            (
                "engine = \"redis\"\nledger = \"postgres\"\n[redis]\nurls = [\"redis://a\"]\n\
                 sweep_ms = 2501",
                "redis.sweep_ms: use 1 to 2500",
            ),
            (
                "engine = \"redis\"\nledger = \"postgres\"\n[redis]\nurls = [\"redis://a:6379\"]\n\
                 sentinels = [\"redis://b\"]",
                "redis.urls: with redis.sentinels the host is the name",
            ),
            (
                "engine = \"redis\"\nledger = \"postgres\"\n[redis]\nurls = [\"redis://a\"]\n\
                 cluster = true\nsentinels = [\"redis://b\"]",
                "redis.sentinels: a Redis Cluster",
            ),
            (
                "engine = \"redis\"\nledger = \"postgres\"\n[redis]\nurls = [\"rediss://a\"]\n\
                 sentinels = [\"redis://b\"]",
                "redis.sentinels: use redis://",
            ),
            (
                "engine = \"redis\"\nledger = \"postgres\"\n[redis]\n\
                 urls = [\"redis+sentinel://a/mymaster\"]",
                "name the Sentinels in redis.sentinels",
            ),
            (
                "ledger = \"postgres\"\n[postgres]\nurl = \"postgres://a\"\nconnections = 1",
                "postgres.connections",
            ),
        ] {
            let why = checked(text).unwrap_err();
            assert!(why.contains(place), "{place}: {why}");
        }
    }

    fn checked(text: &str) -> Result<(), String> {
        let config: Config = toml::from_str(text).map_err(|error| error.to_string())?;
        config.check().map_err(|error| error.to_string())
    }

    #[test]
    fn mail_and_webhooks_are_checked_before_anything_is_sent() {
        let mail = "[mail]\nsmtp = \"mx.shop.example:587\"\nfrom = \"Shop <a@shop.example>\"\n";
        let hook = "[[webhooks]]\nname = \"crm\"\nurl = \"https://crm.example/in\"\n\
            secret = \"0123456789abcdef\"\n";
        checked(&format!("{mail}{hook}")).unwrap();
        for (text, place) in [
            (mail.replace(":587", ""), "mail.smtp"),
            (mail.replace("a@shop", "shop"), "mail.from"),
            (format!("{mail}user = \"u\"\n"), "mail: user"),
            (format!("{mail}user = \"u\"\npassword = \"p\"\ntls = \"none\"\n"), "mail.tls"),
            (format!("{mail}booking_url = \"https://shop.example/\"\n"), "mail.booking_url"),
            (hook.replace("crm\"", "CRM 1\""), "webhooks.name"),
            (hook.replace("https://", ""), "webhooks.url"),
            (hook.replace("0123456789abcdef", "short"), "webhooks[0].secret"),
            (format!("{hook}kinds = [\"everything\"]\n"), "webhooks.kinds"),
            (format!("{hook}{hook}"), "webhooks.name"),
            (format!("{mail}colour = \"red\"\n"), "colour"),
        ] {
            let why = checked(&text).unwrap_err();
            assert!(why.contains(place), "{place}: {why}");
        }
    }

    #[test]
    fn secrets_do_not_show_in_debug_output() {
        let config = Config {
            admin_key: Some(Secret::from("hush-hush-hush-hush".to_owned())),
            ..Config::default()
        };
        assert!(!format!("{config:?}").contains("hush"));
    }
}
