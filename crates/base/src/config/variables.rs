//! Settings out of the environment: `ONRUSH_STRIPE__SECRET_KEY` is `secret_key` of `[stripe]`, and
//! `ONRUSH_STRIPE__SECRET_KEY_FILE` names a file that has it. What settings there are, and what
//! they are made of, says the template.

use super::certificates::read_small;
use super::error::ConfigError;
use super::template::examples;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use toml::{Table, Value};

/// What all our variables begin with.
const PREFIX: &str = "ONRUSH_";
/// What parts the names of a section and of a setting in it.
const NESTED: &str = "__";
/// What the name of a variable ends with that names a file with the setting.
const IN_FILE: &str = "_FILE";
/// In the place of a number in a list of sections.
const ANY_NUMBER: &str = "#";
/// The most sections of one list that variables may number.
const MAX_SECTIONS: usize = 64;

/// Variables that are no settings: of the command line, of builds, and of the tests.
const OTHERS: [&str; 14] = [
    "CONFIG",
    "LOG",
    "COMMIT",
    "VERSION",
    "URL",
    "PROGRAM",
    "NOT_RUN",
    "WRITE_GOLDEN",
    "WRITE_OPENAPI",
    "KAFKA_LIBS",
    "CHROMIUM",
    "FUZZ_TARGET",
    "KILL_AT",
    "KILL_LOG",
];
/// The same, for names that begin so.
const OTHERS_BEGIN: [&str; 1] = ["CONFORMANCE_"];

/// Earlier names, which stay.
const EARLIER: [(&str, &str); 9] = [
    ("REDIS_URLS", "REDIS__URLS"),
    ("POSTGRES_URL", "POSTGRES__URL"),
    ("RABBITMQ_URL", "RABBITMQ__URL"),
    ("KAFKA_BROKERS", "KAFKA__BROKERS"),
    ("MAIL_PASSWORD", "MAIL__PASSWORD"),
    ("SANDBOX_URL", "SANDBOX__URL"),
    ("SANDBOX_SECRET", "SANDBOX__SECRET"),
    ("SANDBOX_WEBHOOK_SECRET", "SANDBOX__WEBHOOK_SECRET"),
    ("S3_PATHS", "BOOKING_PATHS"),
];

/// Limits that one word switches off; wrong keys are limited all the same.
const LIMITS_OFF: [&str; 5] = [
    "user_writes_per_min",
    "user_reads_per_min",
    "address_writes_per_min",
    "address_reads_per_min",
    "address_joins_per_min",
];

/// What a setting is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Truth,
    List,
    /// Settings of somebody else's, by their names.
    Options,
}

/// A setting: where it is in the file, and what it is made of.
#[derive(Clone, Debug)]
struct Setting {
    path: Vec<String>,
    kind: Kind,
}

/// Every setting by its variable's name without the prefix.
static SETTINGS: LazyLock<BTreeMap<String, Setting>> = LazyLock::new(|| {
    let examples: Table = examples().parse().expect("the template is a configuration");
    let mut found = BTreeMap::new();
    collect(&examples, &[], &mut found);
    found
});

fn collect(table: &Table, path: &[String], found: &mut BTreeMap<String, Setting>) {
    for (key, value) in table {
        let mut path = path.to_vec();
        path.push(key.clone());
        let kind = match value {
            // The only table that is written on one line: its keys are librdkafka's.
            Value::Table(_) if path == ["kafka", "options"] => Kind::Options,
            Value::Table(table) => {
                collect(table, &path, found);
                continue;
            }
            Value::Array(items) => match items.first() {
                Some(Value::Table(table)) => {
                    path.push(ANY_NUMBER.to_owned());
                    collect(table, &path, found);
                    continue;
                }
                _ => Kind::List,
            },
            Value::Integer(_) | Value::Float(_) => Kind::Number,
            Value::Boolean(_) => Kind::Truth,
            Value::String(_) | Value::Datetime(_) => Kind::Text,
        };
        let name = path.join(NESTED).to_ascii_uppercase();
        found.insert(name, Setting { path, kind });
    }
}

/// The names of all variables there are, as far as they are not numbered freely.
pub(super) fn names() -> impl Iterator<Item = String> {
    SETTINGS.iter().map(|(name, setting)| {
        let name = name.replace(ANY_NUMBER, "0");
        match setting.kind {
            Kind::Options => format!("{PREFIX}{name}{NESTED}LINGER_MS"),
            Kind::Text | Kind::Number | Kind::Truth | Kind::List => format!("{PREFIX}{name}"),
        }
    })
}

/// What variables set, and which of them.
#[derive(Debug, Default)]
pub(super) struct FromVariables(BTreeMap<Vec<String>, String>);

impl FromVariables {
    /// The variable that set what is at this place, or the list that it is in.
    pub(super) fn name_of(&self, path: &[String]) -> Option<&str> {
        let above = (1..=path.len()).rev().map(|length| &path[..length]);
        above.into_iter().find_map(|path| self.0.get(path)).map(String::as_str)
    }
}

/// The name of the variable of a place in the file.
pub(super) fn variable_of(path: &[String]) -> String {
    format!("{PREFIX}{}", path.join(NESTED).to_ascii_uppercase())
}

/// Puts what the variables say into a file's table, each over what the file says.
///
/// # Errors
/// A variable of ours that is no setting's, one that is set twice, or a file that cannot be read.
pub(super) fn apply(
    variables: &BTreeMap<String, String>,
    table: &mut Table,
) -> Result<FromVariables, ConfigError> {
    let mut set = FromVariables::default();
    if let Some(text) = variables.get("ONRUSH_LIMITS") {
        if text != "off" {
            let why = "ONRUSH_LIMITS: use off, or ONRUSH_LIMITS__<SETTING> for one limit";
            return Err(ConfigError::new(why));
        }
        for limit in LIMITS_OFF {
            put(table, &["limits".to_owned(), limit.to_owned()], Value::String("off".into()));
        }
    }
    for (name, text) in variables {
        let wrong = |why: &str| ConfigError::new(format!("{name}: {why}"));
        if let Some(flag) = name.strip_prefix("FEATURE_") {
            let path = ["flags".to_owned(), flag.to_ascii_lowercase()];
            if SETTINGS.contains_key(&format!("FLAGS{NESTED}{flag}")) {
                put(table, &path, Value::Integer(percent(text).ok_or_else(|| wrong(PERCENT))?));
            }
            continue;
        }
        let Some(short) = name.strip_prefix(PREFIX) else { continue };
        if is_others(short, text) {
            continue;
        }
        let Some((path, kind, in_file)) = resolve(short) else {
            return Err(wrong(&unknown(short)));
        };
        if let Some(other) = set.0.insert(path.clone(), name.clone()) {
            return Err(wrong(&format!("{other} sets the same; set one of the two")));
        }
        let read;
        let text = if in_file {
            read = text_in(Path::new(text)).map_err(|why| wrong(&why))?;
            &read
        } else {
            text
        };
        if path == ["booking_paths"] {
            table.remove("s3_paths");
        }
        put(table, &path, value_of(text, kind).map_err(|why| wrong(&why))?);
    }
    whole_lists(table, &set)?;
    Ok(set)
}

const PERCENT: &str = "use true, false, or 0 to 100 percent";

fn percent(text: &str) -> Option<i64> {
    match text.trim() {
        "true" => Some(100),
        "false" => Some(0),
        number => number.parse().ok().filter(|percent| (0..=100).contains(percent)),
    }
}

/// Whether a variable is none of the settings', though it begins like one.
fn is_others(short: &str, text: &str) -> bool {
    short == "LIMITS"
        || OTHERS.contains(&short)
        || OTHERS_BEGIN.iter().any(|begin| short.starts_with(begin))
        || is_link(short, text)
}

/// Whether Kubernetes made it up: every container is told of all services, and one of them may be
/// called `onrush` or `onrush-…`.
fn is_link(short: &str, text: &str) -> bool {
    let parts: Vec<&str> = short.split('_').collect();
    let ends = |end: &[&str]| parts.ends_with(end);
    if ends(&["SERVICE", "HOST"]) || ends(&["SERVICE", "PORT"]) || short.contains("SERVICE_PORT_") {
        return true;
    }
    let is_address = text.contains("://");
    let is_port = |number: &str| number.parse::<u16>().is_ok();
    let is_protocol = |name: &str| ["TCP", "UDP", "SCTP"].contains(&name);
    match parts.as_slice() {
        [.., "PORT", number, protocol, "ADDR" | "PORT" | "PROTO"] if is_protocol(protocol) => {
            is_port(number)
        }
        [.., "PORT", number, protocol] if is_protocol(protocol) => is_address && is_port(number),
        [.., "PORT"] => is_address,
        _ => false,
    }
}

/// The setting of a variable, and whether the variable names a file that has it.
fn resolve(short: &str) -> Option<(Vec<String>, Kind, bool)> {
    let direct = |short: &str| find(short).or_else(|| find(&renamed(short)?));
    if let Some((path, kind)) = direct(short) {
        return Some((path, kind, false));
    }
    let (path, kind) = direct(short.strip_suffix(IN_FILE)?)?;
    Some((path, kind, true))
}

/// Today's name of an earlier one.
fn renamed(short: &str) -> Option<String> {
    if let Some((_, today)) = EARLIER.iter().find(|(earlier, _)| *earlier == short) {
        return Some((*today).to_owned());
    }
    if let Some(limit) = short.strip_prefix("LIMITS_") {
        return Some(format!("LIMITS{NESTED}{limit}"));
    }
    let connection = format!("CONNECTIONS{NESTED}{short}");
    SETTINGS.contains_key(&connection).then_some(connection)
}

/// The setting of a name of today.
fn find(short: &str) -> Option<(Vec<String>, Kind)> {
    if let Some(setting) = SETTINGS.get(short) {
        let is_whole = setting.kind != Kind::Options && !short.contains(ANY_NUMBER);
        return is_whole.then(|| (setting.path.clone(), setting.kind));
    }
    let mut parts: Vec<String> = short.split(NESTED).map(str::to_owned).collect();
    // librdkafka's names have dots where a variable can have none.
    if let [kafka, options, name] = parts.as_slice()
        && (kafka.as_str(), options.as_str()) == ("KAFKA", "OPTIONS")
        && !name.is_empty()
        // A file's name is not to be taken for an option.
        && !name.ends_with(IN_FILE)
    {
        let name = name.to_ascii_lowercase().replace('_', ".");
        return Some((vec!["kafka".into(), "options".into(), name], Kind::Text));
    }
    let is_number = |part: &String| part.parse::<usize>().is_ok_and(|number| number < MAX_SECTIONS);
    let at = parts.iter().position(is_number).filter(|at| *at > 0)?;
    let written = std::mem::replace(&mut parts[at], ANY_NUMBER.to_owned());
    let is_short = written.parse::<usize>().is_ok_and(|number| number.to_string() == written);
    let setting = SETTINGS.get(&parts.join(NESTED)).filter(|_| is_short)?;
    let mut path = setting.path.clone();
    path[at] = written;
    Some((path, setting.kind))
}

/// What is said of a variable that nobody reads.
fn unknown(short: &str) -> String {
    let nearest = names().min_by_key(|name| strsim::levenshtein(&name[PREFIX.len()..], short));
    let nearest = nearest.expect("there are settings");
    format!(
        "there is no such setting; the nearest is {nearest}. Take the variable away, or name it right"
    )
}

/// What stands in a file, without the line's end that editors put there.
fn text_in(path: &Path) -> Result<String, String> {
    let told = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let bytes = read_small(path).map_err(|error| told(&error))?;
    let mut text = String::from_utf8(bytes).map_err(|_| told(&"it is no text (UTF-8)"))?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// A whole number, or a share of something.
fn number(text: &str) -> Option<Value> {
    let share = || text.parse().ok().filter(|share: &f64| share.is_finite()).map(Value::Float);
    text.parse().map(Value::Integer).ok().or_else(share)
}

/// A variable's text as the file would have it. What is not of its kind stays a text, and whoever
/// reads it says what is expected.
fn value_of(text: &str, kind: Kind) -> Result<Value, String> {
    let whole = || Value::String(text.to_owned());
    Ok(match kind {
        Kind::Text | Kind::Options => whole(),
        Kind::Number => number(text.trim()).unwrap_or_else(whole),
        Kind::Truth => text.trim().parse().map_or_else(|_| whole(), Value::Boolean),
        // With a comma in one of them they are written as the file has them.
        Kind::List if text.trim_start().starts_with('[') => {
            let table: Table = format!("list = {}", text.trim())
                .parse()
                .map_err(|_| "use a list such as [\"a\", \"b\"], or a,b".to_owned())?;
            table.get("list").cloned().filter(|_| table.len() == 1).ok_or("use one list only")?
        }
        Kind::List => {
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Value::Array(parts.map(|part| Value::String(part.to_owned())).collect())
        }
    })
}

/// Sets a value at a place, and makes what is above it.
fn put(table: &mut Table, path: &[String], value: Value) {
    let (key, rest) = path.split_first().expect("a place has a name");
    if rest.is_empty() {
        table.insert(key.clone(), value);
        return;
    }
    if let Some(number) = rest[0].parse::<usize>().ok().filter(|_| rest.len() > 1) {
        let list = table.entry(key.clone()).or_insert_with(|| Value::Array(Vec::new()));
        if !list.is_array() {
            *list = Value::Array(Vec::new());
        }
        if let Value::Array(sections) = list {
            while sections.len() <= number {
                sections.push(Value::Table(Table::new()));
            }
            if let Value::Table(section) = &mut sections[number] {
                put(section, &rest[1..], value);
            }
        }
        return;
    }
    let section = table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()));
    if !section.is_table() {
        *section = Value::Table(Table::new());
    }
    if let Value::Table(section) = section {
        put(section, rest, value);
    }
}

/// Refuses lists of sections with a number left out.
fn whole_lists(table: &Table, set: &FromVariables) -> Result<(), ConfigError> {
    for (path, name) in &set.0 {
        let is_number = |part: &String| part.parse::<usize>().is_ok();
        let Some(at) = path.iter().position(is_number).filter(|at| *at > 0) else { continue };
        let (last, above) = path[..at].split_last().expect("a list has a name");
        let inside = |table, part: &String| Table::get(table, part)?.as_table();
        let Some(around) = above.iter().try_fold(table, inside) else { continue };
        let Some(Value::Array(sections)) = around.get(last) else { continue };
        let gap =
            sections.iter().position(|section| section.as_table().is_some_and(Table::is_empty));
        if let Some(gap) = gap {
            let list = variable_of(&path[..at]);
            let why = format!("{name}: nothing sets {list}__{gap}__…; number them from 0");
            return Err(ConfigError::new(why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    fn load(pairs: &[(&str, &str)]) -> Result<Config, String> {
        Config::load(None, variables(pairs)).map_err(|error| error.to_string())
    }

    /// Every setting as a variable, with the template's example for it.
    fn every() -> (Table, BTreeMap<String, String>) {
        let examples: Table = examples().parse().unwrap();
        let mut variables = BTreeMap::new();
        for (name, setting) in &*SETTINGS {
            let at = |value: &Value, part: &String| match value {
                Value::Array(sections) => sections.first().cloned(),
                value => value.get(part).cloned(),
            };
            let whole = Some(Value::Table(examples.clone()));
            let value = setting.path.iter().fold(whole, |value, part| at(&value?, part));
            let value = value.unwrap_or_else(|| panic!("{name}: the template has no example"));
            let text = |value: &Value| match value {
                Value::String(text) => text.clone(),
                // A list of texts is written alike in JSON and in TOML.
                value => serde_json::to_string(value).unwrap(),
            };
            let name = format!("{PREFIX}{}", name.replace(ANY_NUMBER, "0"));
            match &value {
                Value::Table(options) => variables.extend(options.iter().map(|(key, value)| {
                    let key = key.to_ascii_uppercase().replace('.', "_");
                    (format!("{name}{NESTED}{key}"), text(value))
                })),
                value => drop(variables.insert(name, text(value))),
            }
        }
        (examples, variables)
    }

    #[test]
    fn every_setting_of_the_template_comes_from_a_variable_and_from_a_file() {
        let (examples, variables) = every();
        assert!(variables.len() > 100, "{} settings", variables.len());
        let mut table = Table::new();
        apply(&variables, &mut table).unwrap();
        assert_eq!(table, examples);

        let folder = tempfile::tempdir().unwrap();
        let in_files = variables.iter().filter(|(name, _)| !name.contains("OPTIONS__"));
        let in_files = in_files.map(|(name, text)| {
            let file = folder.path().join(name);
            std::fs::write(&file, format!("{text}\n")).unwrap();
            (format!("{name}{IN_FILE}"), file.to_str().unwrap().to_owned())
        });
        let mut table = Table::new();
        apply(&in_files.collect(), &mut table).unwrap();
        let options = table.get_mut("kafka").unwrap().as_table_mut().unwrap();
        options.insert("options".into(), examples["kafka"]["options"].clone());
        assert_eq!(table, examples);
    }

    #[test]
    fn what_a_variable_sets_stands_over_the_file_and_completes_it() {
        let folder = tempfile::tempdir().unwrap();
        let [file, secret] = ["config.toml", "secret"].map(|name| folder.path().join(name));
        let text = "guest_token_ttl_s = 5\ns3_paths = true\ngateway = \"stripe\"\n\
                    [stripe]\nsecret_key = \"sk_test_0123456789\"\n[[webhooks]]\nname = \"crm\"\n\
                    url = \"https://crm.example/\"\n";
        std::fs::write(&file, text).unwrap();
        std::fs::write(&secret, "whsec_0123456789abcdef\r\n").unwrap();
        let given = [
            ("ONRUSH_GUEST_TOKEN_TTL_S", "7"),
            ("ONRUSH_BOOKING_PATHS", "false"),
            ("ONRUSH_STRIPE__WEBHOOK_SECRET_FILE", secret.to_str().unwrap()),
            ("ONRUSH_WEBHOOKS__0__SECRET", "0123456789abcdef"),
        ];
        let config = Config::load(Some(&file), variables(&given)).unwrap();
        assert_eq!((config.guest_token_ttl_s, config.booking_paths), (7, false));
        assert_eq!(config.stripe.unwrap().webhook_secret.reveal(), "whsec_0123456789abcdef");
        assert_eq!(config.webhooks[0].secret.reveal(), "0123456789abcdef");

        let why = Config::load(Some(&file), variables(&given[..2])).unwrap_err().to_string();
        assert!(why.ends_with("or as ONRUSH_STRIPE__WEBHOOK_SECRET"), "{why}");
    }

    #[test]
    fn a_variable_that_is_no_setting_is_refused_and_the_nearest_is_named() {
        for (name, nearest) in [
            ("ONRUSH_LISSEN", "ONRUSH_LISTEN"),
            ("ONRUSH_STRIPE_SECRET_KEY", "ONRUSH_STRIPE__SECRET_KEY"),
            ("ONRUSH_STRIPE__SECRET_KEY_FIL", "ONRUSH_STRIPE__SECRET_KEY"),
            ("ONRUSH_REDIS__CERTIFICATES__CERTT", "ONRUSH_REDIS__CERTIFICATES__CERT"),
            ("ONRUSH_WEBHOOKS__00__URL", "ONRUSH_WEBHOOKS__0__URL"),
            ("ONRUSH_WEBHOOKS__#__URL", "ONRUSH_WEBHOOKS__0__URL"),
            ("ONRUSH_SERVICE_PORTS", "ONRUSH_"),
            ("ONRUSH_PORT", "ONRUSH_"),
        ] {
            let why = load(&[(name, "s3cret")]).unwrap_err();
            assert!(why.starts_with(&format!("{name}: ")) && why.contains(nearest), "{why}");
            assert!(!why.contains("s3cret"), "{why}");
        }
        // What Kubernetes tells every container of a service by that name.
        load(&[
            ("ONRUSH_SERVICE_HOST", "10.0.0.1"),
            ("ONRUSH_SERVICE_PORT_HTTP", "8080"),
            ("ONRUSH_PORT", "tcp://10.0.0.1:8080"),
            ("ONRUSH_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
            ("ONRUSH_REDIS_PORT_6379_TCP_ADDR", "10.0.0.2"),
            ("ONRUSH_LOG", "debug"),
        ])
        .unwrap();
    }

    #[test]
    fn what_is_wrong_with_a_variable_names_it_and_repeats_no_value() {
        for (given, said) in [
            (&[("ONRUSH_ADMIN_KEY_FILE", "/nowhere/key")][..], "/nowhere/key: No such file"),
            (&[("ONRUSH_ADMIN_KEY_FILE", "/dev/null")], "it is not a file"),
            (&[("ONRUSH_DATA", "a"), ("ONRUSH_DATA_FILE", "b")], "ONRUSH_DATA sets the same"),
            (
                &[("ONRUSH_MAIL_PASSWORD", "a"), ("ONRUSH_MAIL__PASSWORD", "b")],
                "ONRUSH_MAIL_PASSWORD sets the same",
            ),
            (&[("ONRUSH_SAGA__TRIES", "s3cret")], "ONRUSH_SAGA__TRIES: invalid type"),
            (&[("ONRUSH_SAGA__TRIES", "-1")], "ONRUSH_SAGA__TRIES: invalid value"),
            (&[("ONRUSH_GUEST_TOKENS", "s3cret")], "ONRUSH_GUEST_TOKENS: invalid type"),
            (&[("ONRUSH_ENGINE", "s3cret")], "expected `embedded` or `redis`"),
            (&[("ONRUSH_TRUSTED_PROXIES", "10.0.0.0/8,s3cret")], "ONRUSH_TRUSTED_PROXIES: "),
            (&[("ONRUSH_TRUSTED_PROXIES", "[s3cret")], "use a list such as"),
            (&[("ONRUSH_WEBHOOKS__1__URL", "https://a.example")], "ONRUSH_WEBHOOKS__0__"),
            (&[("ONRUSH_OIDC__GROUPS__1__NAME", "door")], "ONRUSH_OIDC__GROUPS__0__"),
            (&[("ONRUSH_MAIL__PASSWORD", "s3cret")], "mail: missing field `smtp`"),
            (&[("ONRUSH_LIMITS", "on")], "ONRUSH_LIMITS: use off"),
        ] {
            let why = load(given).unwrap_err();
            assert!(why.contains(said), "{said}: {why}");
            assert!(!why.contains("s3cret"), "{why}");
        }
        let lines = "[\"1 Long Lane, left\", \"Town\"]";
        let seller = [("ONRUSH_SELLER__NAME", "Hall"), ("ONRUSH_SELLER__ADDRESS", lines)];
        assert_eq!(load(&seller).unwrap().seller.unwrap().address[0], "1 Long Lane, left");
    }
}
