//! Traces: who collects them, and how many there are.

use super::certificates::CertificateSettings;
use super::secret::Secret;
use super::web_address::web_address;
use axum::http::{HeaderName, HeaderValue, Uri};
use serde::Deserialize;

/// Where spans are sent below the collector's address, as OTLP has it.
const PATH: &str = "/v1/traces";

/// The section `[telemetry]`: spans are sent by OTLP over HTTP, as protobuf.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelemetrySettings {
    /// The collector's base address, such as `http://127.0.0.1:4318`.
    pub otlp_endpoint: String,
    /// What the collector calls this service.
    #[serde(default = "service_name")]
    pub service_name: String,
    /// The share of traces that is kept, from 0 to 1.
    #[serde(default = "sample_ratio")]
    pub sample_ratio: f64,
    /// Headers that are sent along: `name: value` each.
    #[serde(default)]
    pub headers: Vec<Secret>,
    /// Spans that wait for the collector at most; what is more is dropped.
    #[serde(default = "queue_spans")]
    pub queue_spans: u32,
    /// Whose certificates are trusted there, and our own.
    #[serde(default)]
    pub certificates: CertificateSettings,
}

impl TelemetrySettings {
    /// A collector, with the defaults.
    #[must_use]
    pub fn new(otlp_endpoint: String) -> Self {
        Self {
            otlp_endpoint,
            service_name: service_name(),
            sample_ratio: sample_ratio(),
            headers: Vec::new(),
            queue_spans: queue_spans(),
            certificates: CertificateSettings::default(),
        }
    }

    /// Where spans go.
    ///
    /// # Errors
    /// What is wrong with the address, as a sentence that names the place.
    pub fn address(&self) -> Result<Uri, String> {
        let place = |why: &str| format!("telemetry.otlp_endpoint: {why}");
        let base = web_address(&self.otlp_endpoint).map_err(place)?;
        if base.query().is_some() {
            return Err(place("an address has no query; keys belong in telemetry.headers"));
        }
        let base = self.otlp_endpoint.trim_end_matches('/');
        let whole = if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") };
        whole
            .parse()
            .map_err(|_| place("use an http or https address, such as http://127.0.0.1:4318"))
    }

    /// The headers that are sent along.
    ///
    /// # Errors
    /// Which one is none, as a sentence that does not repeat it.
    pub fn header_lines(&self) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
        let parsed = self.headers.iter().enumerate().map(|(index, line)| {
            let wrong = || format!("telemetry.headers[{index}]: use the form \"name: value\"");
            let (name, value) = line.reveal().split_once(':').ok_or_else(wrong)?;
            let mut value: HeaderValue = value.trim().parse().map_err(|_| wrong())?;
            value.set_sensitive(true);
            Ok((name.trim().parse().map_err(|_| wrong())?, value))
        });
        parsed.collect()
    }

    /// Checks what the types cannot.
    pub(super) fn check(&self) -> Result<(), String> {
        let uri = self.address()?;
        self.header_lines()?;
        if self.service_name.trim().is_empty() {
            return Err("telemetry.service_name: name this service, such as onrush".into());
        }
        if !(0.0..=1.0).contains(&self.sample_ratio) {
            return Err("telemetry.sample_ratio: use a share from 0 to 1".into());
        }
        if self.queue_spans == 0 {
            return Err("telemetry.queue_spans: use at least 1".into());
        }
        if uri.scheme_str() == Some("http") && !self.certificates.is_default() {
            return Err("telemetry.certificates: they are for TLS; use an https address in \
                        telemetry.otlp_endpoint"
                .into());
        }
        self.certificates.load("telemetry.certificates").map(drop)
    }
}

fn service_name() -> String {
    "onrush".into()
}

fn sample_ratio() -> f64 {
    0.01
}

fn queue_spans() -> u32 {
    8_192
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn checked(text: &str) -> Result<TelemetrySettings, String> {
        let settings: TelemetrySettings = toml::from_str(text).expect("it is of the right kinds");
        settings.check().map(|()| settings)
    }

    #[test]
    fn spans_go_below_the_collectors_address_whichever_way_it_is_written() {
        for (endpoint, whole) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("https://otel.example/", "https://otel.example/v1/traces"),
            ("https://otel.example/otlp", "https://otel.example/otlp/v1/traces"),
            ("https://otel.example/v1/traces", "https://otel.example/v1/traces"),
        ] {
            let settings = checked(&format!("otlp_endpoint = \"{endpoint}\"")).unwrap();
            assert_eq!(settings.address().unwrap().to_string(), whole);
        }
    }

    #[test]
    fn a_share_may_come_from_a_variable() {
        let loaded = |ratio: &str| {
            let variables = [
                ("ONRUSH_TELEMETRY__OTLP_ENDPOINT", "http://127.0.0.1:4318"),
                ("ONRUSH_TELEMETRY__SAMPLE_RATIO", ratio),
            ];
            let variables = variables.map(|(name, text)| (name.to_owned(), text.to_owned()));
            let loaded = Config::load(None, variables).map_err(|error| error.to_string());
            loaded.map(|config| config.telemetry.expect("it is set").sample_ratio)
        };
        for (text, ratio) in [("0.25", 0.25), ("1", 1.0), ("1.0", 1.0), ("0", 0.0)] {
            assert_eq!(loaded(text), Ok(ratio));
        }
        for text in ["all", "nan", "inf", "-0.5", "2"] {
            let why = loaded(text).expect_err(text);
            assert!(why.to_lowercase().contains("sample_ratio"), "{why}");
        }
    }

    #[test]
    fn what_is_wrong_names_its_setting_and_repeats_no_secret() {
        let good = "otlp_endpoint = \"http://127.0.0.1:4318\"\n";
        for (text, place) in [
            ("otlp_endpoint = \"127.0.0.1:4318\"".to_owned(), "telemetry.otlp_endpoint"),
            (
                "otlp_endpoint = \"http://a.example/?key=hush\"".to_owned(),
                "telemetry.otlp_endpoint",
            ),
            (format!("{good}sample_ratio = 1.5"), "telemetry.sample_ratio"),
            (format!("{good}service_name = \" \""), "telemetry.service_name"),
            (format!("{good}queue_spans = 0"), "telemetry.queue_spans"),
            (format!("{good}headers = [\"x-key: a\", \"hush\"]"), "telemetry.headers[1]"),
            (format!("{good}headers = [\"x-key: hush\\n\"]"), ""),
            (format!("{good}headers = [\"x-key: hu\\u0000sh\"]"), "telemetry.headers[0]"),
            (format!("{good}certificates = {{ ca = \"/no/where\" }}"), "telemetry.certificates"),
        ] {
            match checked(&text) {
                Ok(_) => assert!(place.is_empty(), "{text}"),
                Err(why) => assert!(why.starts_with(place) && !why.contains("hush"), "{why}"),
            }
        }
    }
}
