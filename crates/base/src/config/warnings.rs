//! What is odd about settings that can be used all the same.

use super::Config;
use super::secrets::is_this_machine;
use super::web_address::web_address;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use toml::{Table, Value};

/// What the names of settings have in them whose texts are secrets.
const SECRET_NAMES: [&str; 6] =
    ["admin_key", "headers", "hmac_key", "password", "scanner_key", "secret"];

impl Config {
    /// What to look at, as sentences that name the place: the sale goes on with it, and may not as is
    /// meant. `file` is where settings were read from, beside variables.
    #[must_use]
    pub fn warnings(&self, file: Option<&Path>) -> Vec<String> {
        let mut found = Vec::new();
        let public = self.public_url.as_deref().and_then(|url| web_address(url).ok());
        let is_https = public.as_ref().is_some_and(|uri| uri.scheme_str() == Some("https"));
        if is_https && self.tls.is_none() && self.trusted_proxies.is_empty() {
            found.push(
                "trusted_proxies: public_url is https and there is no [tls], so a proxy is in front: name \
                 the address that it comes from (127.0.0.1 or ::1 on this machine), or all visitors share \
                 the limits of that one"
                    .to_owned(),
            );
        }
        let is_near = public.as_ref().and_then(|uri| uri.host()).is_none_or(is_this_machine);
        if let Some(what) = self.takes_no_money().filter(|_| !is_near) {
            found.push(format!(
                "{what} takes no real money: buyers get genuine tickets for nothing"
            ));
        }
        #[cfg(feature = "cluster")]
        found.extend(self.kafka.as_ref().and_then(open_login));
        found.extend(file.and_then(|file| exposed(file, Path::new("/"))));
        found
    }
}

/// What is said of a login at Kafka that leaves this machine without TLS. A broker's address has no
/// scheme, as all others have, by which that could be seen.
#[cfg(feature = "cluster")]
fn open_login(kafka: &super::KafkaSettings) -> Option<String> {
    if kafka.protocol() != "sasl_plaintext" {
        return None;
    }
    let is_far = |broker: &&String| {
        let host = broker.rsplit_once(':').map_or(broker.as_str(), |(host, _)| host);
        !is_this_machine(host)
    };
    let far = kafka.brokers.iter().find(is_far)?;
    Some(format!(
        "kafka.options: there is a login and no TLS, so that whoever is on the way to {far} can read all \
         messages, and with PLAIN the password; set \"security.protocol\" to \"SASL_SSL\", which trusts \
         the system's authorities, or name yours in kafka.certificates.ca"
    ))
}

/// What is said of a file that has secrets and that every account of the machine can read. Of the
/// directories above it only those from `top` on are looked at.
fn exposed(file: &Path, top: &Path) -> Option<String> {
    let about = std::fs::metadata(file).ok()?;
    // A pipe has been read to its end already, and might be waited for.
    if !about.is_file() || about.permissions().mode() & 0o004 == 0 || !others_reach(file, top) {
        return None;
    }
    let table: Table = std::fs::read_to_string(file).ok()?.parse().ok()?;
    let whole = Value::Table(table);
    let mut found = Vec::new();
    texts(&whole, String::new(), "", &mut found);
    let secrets = found.into_iter().filter(|(_, name, text)| is_secret(name, text));
    let places: Vec<String> = secrets.map(|(place, ..)| place).collect();
    (!places.is_empty()).then(|| {
        format!(
            "{}: every account of this machine can read what stands there in {}; give the file the group \
             that the server runs as (chgrp) and mode 0640 (chmod; in Kubernetes: `defaultMode`), or keep \
             secrets in files that variables with _FILE name",
            places.join(", "),
            file.display()
        )
    })
}

/// Whether accounts that are neither a file's owner nor of its group get to it: through every directory
/// that it really stands in, whatever links lead there.
fn others_reach(file: &Path, top: &Path) -> bool {
    let Ok(file) = file.canonicalize() else { return false };
    let mut above = file.ancestors().skip(1).take_while(|folder| folder.starts_with(top));
    above.all(|folder| {
        std::fs::metadata(folder).is_ok_and(|about| about.permissions().mode() & 0o001 != 0)
    })
}

/// Every text that stands at a place or below it: its place, the name of its setting, and itself.
fn texts<'a>(
    value: &'a Value,
    place: String,
    name: &'a str,
    found: &mut Vec<(String, &'a str, &'a str)>,
) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                texts(value, place, key, found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                texts(item, format!("{place}[{index}]"), name, found);
            }
        }
        Value::String(text) => found.push((place, name, text)),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
    }
}

/// Whether a setting's text is a secret: by the setting's name, or since it has a password or a
/// private key in it.
fn is_secret(name: &str, text: &str) -> bool {
    SECRET_NAMES.iter().any(|part| name.contains(*part))
        || text.contains("PRIVATE KEY-----")
        || sets_password(text)
        || has_password(text)
}

/// Whether a text has `password=…` in it, with spaces around the sign or not: PostgreSQL's other form.
fn sets_password(text: &str) -> bool {
    text.split("password").skip(1).any(|rest| rest.trim_start().starts_with('='))
}

/// Whether an address logs in with a password: `scheme://user:password@host`.
fn has_password(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once("://") else { return false };
    let login = if ["postgres", "postgresql"].contains(&scheme) {
        // Its client takes all up to the first `@` for the login, whatever signs a password has.
        rest.split_once('@')
    } else {
        let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
        place.rsplit_once('@')
    };
    login.is_some_and(|(user, _)| user.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::template::{TEMPLATE, examples};
    use std::fs::{self, Permissions};

    /// A text that no example has.
    const MARK: &str = "m4rk3r";
    /// What shows nowhere, and is a secret only if there is a password in it.
    const IN_PART: [&str; 5] = [
        "kafka.options.compression.type",
        "postgres.url",
        "rabbitmq.url",
        "redis.sentinels",
        "redis.urls",
    ];

    /// Puts the mark into the place of the text with this number; `seen` counts texts.
    fn mark(value: &mut Value, number: usize, seen: &mut usize) {
        match value {
            Value::String(text) => {
                if *seen == number {
                    *text = MARK.to_owned();
                }
                *seen += 1;
            }
            Value::Array(items) => {
                for item in items {
                    mark(item, number, seen);
                }
            }
            Value::Table(table) => {
                for (_, value) in table {
                    mark(value, number, seen);
                }
            }
            Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
        }
    }

    #[test]
    fn every_setting_that_shows_nowhere_is_known_as_a_secret() {
        let examples: Table = examples().parse().unwrap();
        let examples = Value::Table(examples);
        let mut known = Vec::new();
        for number in 0.. {
            let (mut marked, mut seen) = (examples.clone(), 0);
            mark(&mut marked, number, &mut seen);
            if number >= seen {
                break;
            }
            let mut found = Vec::new();
            texts(&marked, String::new(), "", &mut found);
            let (place, name, text) = found.into_iter().find(|(.., text)| *text == MARK).unwrap();
            // What has to be an address or a word of ours, such as "embedded", is no secret.
            let Ok(config) = marked.clone().try_into::<Config>() else { continue };
            let begins = |names: &[&str]| names.iter().any(|name| place.starts_with(*name));
            // Without the cluster nothing of these two sections is kept that could show.
            let is_left_out = !cfg!(feature = "cluster") && begins(&["kafka.", "rabbitmq."]);
            if is_left_out || begins(&IN_PART) {
                continue;
            }
            let shows = format!("{config:?}").contains(MARK);
            assert_eq!(is_secret(name, text), !shows, "{place}");
            if !shows {
                known.push(place);
            }
        }
        assert!(known.len() >= 13, "{known:?}");
    }

    fn allow(place: &Path, mode: u32) {
        fs::set_permissions(place, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn secrets_in_a_file_that_every_account_can_read_are_named_and_not_repeated() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        allow(&top, 0o755);
        let file = top.join("onrush.toml");
        let told = |text: &str, mode: u32| {
            Config::parse(text).unwrap();
            fs::write(&file, text).unwrap();
            allow(&file, mode);
            exposed(&file, &top)
        };
        let postgres = |url: &str| format!("[postgres]\nurl = \"{url}\"\n");
        let keys = "admin_key = \"s3cret-s3cret-s3cret\"\n[[webhooks]]\nname = \"crm\"\n\
                    url = \"https://crm.example\"\nsecret = \"s3cret-s3cret-s3cr3t\"\n";
        let redis = "[redis]\nurls = [\"redis://a\", \"rediss://:s3cret@b:1\"]\n";
        let tls = "[tls]\ncert = \"a\"\nkey = \"-----BEGIN PRIVATE KEY-----\\ns3cret\\n\"\n";
        for (text, places) in [
            (keys.to_owned(), "admin_key, webhooks[0].secret: "),
            (postgres("postgres://onrush:s3cret@db/onrush"), "postgres.url: "),
            (postgres("postgres://onrush:s3cret/with?more#signs@db/onrush"), "postgres.url: "),
            (postgres("postgresql://onrush:/s3cret@db/onrush"), "postgres.url: "),
            (postgres("postgres://onrush@db/onrush?password=s3cret"), "postgres.url: "),
            (postgres("host=db user=onrush password=s3cret"), "postgres.url: "),
            (postgres("host = db user = onrush password = s3cret"), "postgres.url: "),
            (redis.to_owned(), "redis.urls[1]: "),
            (tls.to_owned(), "tls.key: "),
        ] {
            let warning = told(&text, 0o644).unwrap_or_else(|| panic!("{text}"));
            assert!(warning.starts_with(places), "{warning}");
            assert!(warning.contains("onrush.toml"), "{warning}");
            assert!(warning.contains("`defaultMode`"), "{warning}");
            assert!(!warning.contains("s3cr"), "{warning}");
            assert_eq!(told(&text, 0o640), None, "{text}");
        }
        let harmless = [
            postgres("postgres://onrush@db/onrush?sslmode=require"),
            postgres("postgres://[::1]:5432/onrush"),
            postgres("host=db user=onrush dbname=passwords"),
            "[redis]\nurls = [\"redis://a:6379/0?name=b@c\"]\n".to_owned(),
        ];
        let harmless = harmless.iter().map(String::as_str);
        for text in harmless.chain(["visitors_per_min = 7\n", TEMPLATE]) {
            assert_eq!(told(text, 0o644), None, "{text}");
        }
    }

    #[test]
    fn secrets_below_a_folder_that_others_may_not_pass_are_not_told() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let inner = top.join("inner");
        fs::create_dir(&inner).unwrap();
        let (file, link) = (inner.join("onrush.toml"), top.join("link.toml"));
        fs::write(&file, "admin_key = \"s3cret-s3cret-s3cret\"\n").unwrap();
        allow(&file, 0o644);
        // As Kubernetes mounts settings. What leads there opens nothing.
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for (outer, within, is_told) in [
            (0o755, 0o755, true),
            // Whoever knows a file's name needs not see what else is there.
            (0o711, 0o711, true),
            (0o700, 0o755, false),
            (0o755, 0o750, false),
            (0o755, 0o700, false),
        ] {
            allow(&top, outer);
            allow(&inner, within);
            for place in [&file, &link] {
                let told = exposed(place, &top);
                assert_eq!(told.is_some(), is_told, "{outer:o} {within:o}: {told:?}");
            }
        }
    }

    #[cfg(feature = "cluster")]
    #[test]
    fn login_at_kafka_that_leaves_this_machine_without_tls_is_told() {
        let told = |brokers: &str, options: &str, rest: &str| {
            let login = "'sasl.username' = 'shop', 'sasl.password' = 's3cret'";
            let options = format!("options = {{ {login}, {options} }}");
            let text = format!("[kafka]\nbrokers = [{brokers}]\n{options}\n{rest}");
            Config::parse(&text).unwrap().warnings(None)
        };
        let (near, far) = ("'localhost:9092', '127.0.0.1:9092', '[::1]:9092'", "'a.example:9093'");
        let both = format!("{near}, {far}");
        let plain = "'sasl.mechanism' = 'PLAIN'";
        let open = format!("{plain}, 'security.protocol' = 'SASL_PLAINTEXT'");
        for (brokers, options) in [(far, plain), (both.as_str(), plain), (far, open.as_str())] {
            let warnings = told(brokers, options, "");
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert!(warnings[0].starts_with("kafka.options: "), "{warnings:?}");
            assert!(warnings[0].contains("a.example:9093"), "{warnings:?}");
            assert!(!warnings[0].contains("s3cret"), "{warnings:?}");
        }
        let tls = format!("{plain}, 'security.protocol' = 'SASL_SSL'");
        let ca = "[kafka.certificates]\nca = '/etc/onrush/ca.pem'\n";
        for (brokers, options, rest) in [
            (near, plain, ""),
            (far, tls.as_str(), ""),
            (far, plain, ca),
            // A user and a password that nobody logs in with.
            (far, "'linger.ms' = '20'", ""),
        ] {
            let warnings = told(brokers, options, rest);
            assert!(warnings.is_empty(), "{brokers} {options} {rest}: {warnings:?}");
        }
    }

    #[test]
    fn what_is_odd_names_its_place_and_can_be_used() {
        let url = "public_url = \"https://tickets.example\"\n";
        let (near, plain) =
            (url.replace("tickets.example", "localhost"), url.replace("https", "http"));
        let named = |text: &str| {
            let config = Config::parse(text).unwrap();
            config.check().unwrap();
            let warnings = config.warnings(None);
            let places = warnings.iter().map(|why| why.split(':').next().unwrap().to_owned());
            places.collect::<Vec<_>>().join(" ")
        };
        let proxy = "trusted_proxies = [\"127.0.0.1\"]\n";
        let tls = "[tls.acme]\ndomains = [\"tickets.example\"]\naccept_terms = true\n";
        let sandbox = "gateway = \"sandbox\"\n";
        let stripe = "gateway = \"stripe\"\n[stripe]\nsecret_key = \"sk_test_0123456789\"\n\
                      webhook_secret = \"whsec_0123456789abcdef\"\n";
        for (text, places) in [
            (String::new(), ""),
            (url.to_owned(), "trusted_proxies"),
            (format!("{url}{proxy}"), ""),
            (format!("{url}{tls}"), ""),
            (plain.clone(), ""),
            (sandbox.to_owned(), ""),
            (format!("{plain}{sandbox}"), "gateway"),
            (format!("{near}{proxy}{sandbox}"), ""),
            (format!("{url}{proxy}{stripe}"), "stripe.secret_key"),
        ] {
            assert_eq!(named(&text), places, "{text}");
        }
    }
}
