//! How people must have signed in at the provider: with which strength (`acr`, `amr`) and how long
//! ago (`auth_time`; OpenID Connect Core 1.0, 2 and 3.1.2.1).

use super::claims::AHEAD_S;
use crate::config::OidcSettings;
use form_urlencoded::Serializer;
use serde_json::{Map, Value, json};

/// What the ID token must say of how somebody signed in; by default nothing.
#[derive(Clone, Debug, Default)]
pub struct Requirements {
    /// What `acr` must be one of, unless empty.
    pub acr_values: Vec<String>,
    /// What `amr` must have one of, unless empty.
    pub amr_values: Vec<String>,
    /// How long ago `auth_time` may be, in seconds.
    pub max_age_s: Option<u32>,
}

impl Requirements {
    /// As they are configured.
    #[must_use]
    pub fn new(settings: &OidcSettings) -> Self {
        let OidcSettings { acr_values, amr_values, max_age_s, .. } = settings;
        Self {
            acr_values: acr_values.clone(),
            amr_values: amr_values.clone(),
            max_age_s: *max_age_s,
        }
    }

    /// Asks the provider for them, in a request to sign in.
    pub(super) fn ask(&self, query: &mut Serializer<'_, String>) {
        if !self.acr_values.is_empty() {
            query.append_pair("acr_values", &self.acr_values.join(" "));
        }
        let mut claims = Map::new();
        if !self.amr_values.is_empty() {
            claims.insert("amr".into(), json!({"essential": true}));
        }
        if let Some(max_age_s) = self.max_age_s {
            query.append_pair("max_age", &max_age_s.to_string());
            // `max_age` alone has it told, by the specification; Google wants to be asked.
            claims.insert("auth_time".into(), json!({"essential": true}));
        }
        if !claims.is_empty() {
            query.append_pair("claims", &json!({"id_token": claims}).to_string());
        }
    }

    /// Whether claims that an ID token has meet them; what UserInfo tells is of no account.
    ///
    /// # Errors
    /// Why not, and what to do; nothing of the token is in it.
    pub fn check(&self, claims: &Map<String, Value>, now_s: i64) -> Result<(), &'static str> {
        if !self.acr_values.is_empty() {
            match claims.get("acr").and_then(Value::as_str) {
                None => {
                    return Err("the ID token lacks acr, and oidc.acr_values demands it; sign in \
                                anew at the provider, with a second factor if it asks for one, \
                                or have it tell acr to this client");
                }
                Some(acr) if !self.acr_values.iter().any(|value| value == acr) => {
                    return Err("the ID token's acr is none of oidc.acr_values; sign in anew at \
                                the provider with what they demand, such as a second factor");
                }
                Some(_) => {}
            }
        }
        if !self.amr_values.is_empty() {
            let is_demanded = |method: &str| self.amr_values.iter().any(|value| value == method);
            let has_one = match claims.get("amr") {
                Some(Value::String(one)) => is_demanded(one),
                Some(Value::Array(several)) => {
                    several.iter().filter_map(Value::as_str).any(is_demanded)
                }
                Some(_) | None => {
                    return Err("the ID token lacks amr, and oidc.amr_values demands it; sign in \
                                anew at the provider, with a second factor if it asks for one, \
                                or have it tell amr to this client");
                }
            };
            if !has_one {
                return Err("the ID token's amr has none of oidc.amr_values; sign in anew at the \
                            provider with what they demand, such as a second factor");
            }
        }
        if let Some(max_age_s) = self.max_age_s {
            let now = now_s as f64;
            match claims.get("auth_time").and_then(Value::as_f64) {
                None => {
                    return Err(
                        "the ID token lacks auth_time, and oidc.max_age_s demands it; have \
                                the provider tell it to this client",
                    );
                }
                Some(at) if at > now + AHEAD_S => {
                    return Err("the ID token's auth_time is in the future; look at both clocks");
                }
                Some(at) if at < now - f64::from(max_age_s) - AHEAD_S => {
                    return Err("the sign-in at the provider (auth_time) is older than \
                                oidc.max_age_s; sign in anew there");
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_S: i64 = 10_000;

    fn texts(values: &[&str]) -> Vec<String> {
        values.iter().map(|value| (*value).to_owned()).collect()
    }

    fn requirements(acr: &[&str], amr: &[&str], max_age_s: Option<u32>) -> Requirements {
        Requirements { acr_values: texts(acr), amr_values: texts(amr), max_age_s }
    }

    fn checked(requirements: &Requirements, claims: &Value) -> Result<(), &'static str> {
        requirements.check(claims.as_object().expect("an object"), NOW_S)
    }

    #[test]
    fn without_requirements_a_sign_in_of_any_strength_and_age_is_accepted() {
        for claims in [
            json!({}),
            json!({"acr": "0", "amr": ["pwd"], "auth_time": 1}),
            json!({"acr": null, "amr": 7, "auth_time": NOW_S + 1_000_000}),
        ] {
            assert_eq!(checked(&Requirements::default(), &claims), Ok(()), "{claims}");
        }
    }

    #[test]
    fn a_sign_in_counts_only_with_the_strength_and_the_freshness_that_are_demanded() {
        let acr = requirements(&["silver", "gold"], &[], None);
        let amr = requirements(&[], &["mfa", "hwk"], None);
        let age = requirements(&[], &[], Some(300));
        let all = requirements(&["gold"], &["mfa"], Some(300));
        for (of, claims) in [
            (&acr, json!({"acr": "gold"})),
            (&acr, json!({"acr": "silver", "amr": ["pwd"], "auth_time": 1})),
            (&amr, json!({"amr": ["pwd", "mfa"]})),
            (&amr, json!({"amr": "hwk"})),
            (&age, json!({"auth_time": NOW_S})),
            (&age, json!({"auth_time": NOW_S - 300})),
            // The clocks may differ by a minute.
            (&age, json!({"auth_time": NOW_S - 360})),
            (&age, json!({"auth_time": NOW_S + 60})),
            (&all, json!({"acr": "gold", "amr": ["mfa"], "auth_time": NOW_S - 1})),
        ] {
            assert_eq!(checked(of, &claims), Ok(()), "{claims}");
        }
        for (of, claims, said) in [
            (&acr, json!({}), "lacks acr"),
            (&acr, json!({"acr": null}), "lacks acr"),
            (&acr, json!({"acr": ["gold"]}), "lacks acr"),
            (&acr, json!({"acr": 1}), "lacks acr"),
            (&acr, json!({"acr": "bronze"}), "acr is none of"),
            (&acr, json!({"acr": "Gold"}), "acr is none of"),
            (&acr, json!({"acr": "silver gold"}), "acr is none of"),
            (&acr, json!({"acr": ""}), "acr is none of"),
            (&amr, json!({"acr": "mfa"}), "lacks amr"),
            (&amr, json!({"amr": {"mfa": true}}), "lacks amr"),
            (&amr, json!({"amr": []}), "amr has none of"),
            (&amr, json!({"amr": ["pwd", 1, null]}), "amr has none of"),
            (&amr, json!({"amr": "pwd mfa"}), "amr has none of"),
            (&age, json!({}), "lacks auth_time"),
            (&age, json!({"auth_time": "9999"}), "lacks auth_time"),
            (&age, json!({"iat": NOW_S}), "lacks auth_time"),
            (&age, json!({"auth_time": NOW_S - 361}), "older than oidc.max_age_s"),
            (&age, json!({"auth_time": NOW_S + 61}), "in the future"),
            (&all, json!({"acr": "gold", "amr": ["mfa"]}), "lacks auth_time"),
            (&all, json!({"acr": "gold", "auth_time": NOW_S}), "lacks amr"),
            (&all, json!({"amr": ["mfa"], "auth_time": NOW_S}), "lacks acr"),
        ] {
            let why = checked(of, &claims).expect_err(said);
            assert!(why.contains(said), "{claims} {said}: {why}");
        }
    }

    #[test]
    fn the_provider_is_asked_for_what_is_demanded_and_for_nothing_else() {
        let asked = |requirements: &Requirements| {
            let mut query = Serializer::new(String::new());
            requirements.ask(&mut query);
            let query = query.finish();
            let pairs = form_urlencoded::parse(query.as_bytes()).into_owned();
            pairs.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        assert!(asked(&Requirements::default()).is_empty());
        assert_eq!(asked(&requirements(&["a", "urn:b"], &[], None)), ["acr_values=a urn:b"]);
        assert_eq!(
            asked(&requirements(&[], &["mfa"], Some(60))),
            [
                "max_age=60",
                "claims={\"id_token\":{\"amr\":{\"essential\":true},\
                 \"auth_time\":{\"essential\":true}}}"
            ]
        );
    }
}
