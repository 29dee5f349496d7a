//! Who signed in with an OpenID provider: a name that no key can have, and the groups that count.

use crate::auth::hex;
use crate::config::OidcSettings;
use crate::config::keys::Scope;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// What the names of the provider's people begin with: no key has a colon in its name.
pub const PREFIX: &str = "oidc:";
/// The longest part of a name that the provider chose, in letters.
const MAX_NAME: usize = 64;
/// Bytes of a group's digest that are kept.
const GROUP_BYTES: usize = 8;

/// A group, as sessions keep it: the beginning of its name's SHA-256.
pub type GroupId = [u8; GROUP_BYTES];

/// Somebody whom the provider knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// `oidc:<name>~<8 digits>`: what histories say. The digits are of issuer and `sub`, which the
    /// provider gives to nobody else; the name before them may change, and be another's one day.
    pub name: Box<str>,
    /// Their groups that were configured when they signed in.
    pub groups: Vec<GroupId>,
}

/// What people of the provider may do.
#[derive(Debug)]
pub struct People {
    groups: Vec<(String, GroupId, Vec<Scope>)>,
    groups_claim: String,
    issuer: String,
    client_id: String,
}

impl People {
    /// As it is configured now.
    #[must_use]
    pub fn new(settings: &OidcSettings) -> Self {
        let groups = settings.groups.iter();
        let groups =
            groups.map(|group| (group.name.clone(), id_of(&group.name), group.scopes.clone()));
        Self {
            groups: groups.collect(),
            groups_claim: settings.groups_claim.clone(),
            issuer: settings.issuer.clone(),
            client_id: settings.client_id.clone(),
        }
    }

    /// What sessions of these people are signed with beside the server's key: they end when another
    /// provider or client is configured.
    pub(crate) fn digest(&self) -> [u8; 32] {
        digest_of([&self.issuer, &self.client_id])
    }

    /// What somebody has the right to now, each scope once.
    #[must_use]
    pub fn scopes_of(&self, person: &Person) -> Vec<Scope> {
        let is_theirs = |id: &GroupId| person.groups.contains(id);
        let theirs = self.groups.iter().filter(|(_, id, _)| is_theirs(id));
        let mut scopes: Vec<Scope> = theirs.flat_map(|(_, _, scopes)| scopes.clone()).collect();
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    }

    /// Whether claims have the groups and a name, so that nobody needs to ask for more.
    #[must_use]
    pub(crate) fn has_all(&self, claims: &Map<String, Value>) -> bool {
        claims.contains_key(&self.groups_claim) && name_in(claims).is_some()
    }

    /// Who it is that claims are about; `None` if they do not say.
    #[must_use]
    pub fn person(&self, issuer: &str, claims: &Map<String, Value>) -> Option<Person> {
        let sub = claims.get("sub")?.as_str().filter(|sub| !sub.is_empty())?;
        let digits = hex(&digest_of([issuer, sub])[..4]);
        let sub_as_name = || usable(sub);
        let name = name_in(claims).or_else(sub_as_name).unwrap_or("somebody");
        Some(Person {
            name: format!("{PREFIX}{name}~{digits}").into(),
            groups: self.groups_in(claims),
        })
    }

    /// The configured groups among those that claims tell: a text, or several.
    fn groups_in(&self, claims: &Map<String, Value>) -> Vec<GroupId> {
        let told = claims.get(&self.groups_claim);
        let is_told = |name: &str| match told {
            Some(Value::String(one)) => one == name,
            Some(Value::Array(several)) => several.iter().any(|group| group == name),
            Some(_) | None => false,
        };
        self.groups.iter().filter(|(name, ..)| is_told(name)).map(|(_, id, _)| *id).collect()
    }
}

/// The name that people know somebody by, if it can be shown safely. An address counts unless the
/// provider says that it was never proved to be theirs.
fn name_in(claims: &Map<String, Value>) -> Option<&str> {
    let text = |claim: &str| claims.get(claim).and_then(Value::as_str).and_then(usable);
    let is_proved = claims.get("email_verified").is_none_or(|is_verified| *is_verified == true);
    text("preferred_username").or_else(|| text("email").filter(|_| is_proved))
}

/// A name of letters that look like nothing else, on one line and in one direction.
fn usable(name: &str) -> Option<&str> {
    let fits =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'@' | b'+');
    let is_usable = (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(fits);
    is_usable.then_some(name)
}

fn id_of(group: &str) -> GroupId {
    let mut id = [0; GROUP_BYTES];
    id.copy_from_slice(&Sha256::digest(group)[..GROUP_BYTES]);
    id
}

fn digest_of(parts: [&str; 2]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        // Each with its length, so that no two pairs read the same.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::config::keys::name_complaint;
    use serde_json::json;

    const ISSUER: &str = "https://id.example";

    fn people(groups: &str) -> People {
        let text = format!(
            "[oidc]\nissuer = \"{ISSUER}\"\nclient_id = \"onrush\"\nclient_secret = \"s\"\n{groups}"
        );
        People::new(&Config::parse(&text).unwrap().oidc.unwrap())
    }

    fn group(name: &str, scopes: &str) -> String {
        format!("[[oidc.groups]]\nname = \"{name}\"\nscopes = [{scopes}]\n")
    }

    fn person(people: &People, claims: Value) -> Option<Person> {
        people.person(ISSUER, claims.as_object().unwrap())
    }

    #[test]
    fn scopes_are_those_of_the_groups_that_are_configured_and_told() {
        let (office, door) =
            (group("office", "\"sell\", \"read\""), group("/hall/door", "\"door\""));
        let both = people(&format!("{office}{door}"));
        for (told, scopes) in [
            (
                json!(["office", "/hall/door", "others"]),
                &[Scope::Read, Scope::Sell, Scope::Door][..],
            ),
            (json!(["/hall/door", "/hall/door"]), &[Scope::Door]),
            (json!("office"), &[Scope::Read, Scope::Sell]),
            (json!("office,/hall/door"), &[]),
            (json!(["Office", "door", "office "]), &[]),
            (json!([["office"], {"name": "office"}, 7, null]), &[]),
            (json!({"office": true}), &[]),
            (json!(null), &[]),
        ] {
            let ann = person(&both, json!({"sub": "1", "groups": told})).unwrap();
            assert_eq!(both.scopes_of(&ann), scopes, "{told}");
        }
        assert!(both.scopes_of(&person(&both, json!({"sub": "1"})).unwrap()).is_empty());
        // Who signed in before has what the settings say now.
        let all = json!({"sub": "1", "groups": ["office", "/hall/door"]});
        let ann = person(&both, all).unwrap();
        assert_eq!(people(&group("office", "\"money\"")).scopes_of(&ann), [Scope::Money]);
        assert!(people(&group("third", "\"admin\"")).scopes_of(&ann).is_empty());
    }

    #[test]
    fn a_name_is_readable_tells_people_apart_and_is_no_keys() {
        let people = people("");
        let name = |claims: Value| person(&people, claims).unwrap().name.to_string();
        let named = |more: Value| {
            let mut claims = json!({"sub": "42"});
            claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            name(claims)
        };
        let digits = name(json!({"sub": "42"}))["oidc:42~".len()..].to_owned();
        assert_eq!(digits.len(), 8);
        for (claims, before) in [
            (json!({"preferred_username": "ann", "email": "a@b.example"}), "ann"),
            (json!({"email": "a@b.example"}), "a@b.example"),
            (json!({"email": "a@b.example", "email_verified": true}), "a@b.example"),
            (json!({"email": "a@b.example", "email_verified": false}), "42"),
            (json!({"preferred_username": "Ann B"}), "42"),
            (json!({"preferred_username": "ann\u{202e}b", "email": "a@b.example"}), "a@b.example"),
            (json!({"preferred_username": "ann\nb"}), "42"),
            (json!({"preferred_username": "аnn"}), "42"),
            (json!({"preferred_username": "oidc:ann~00000000"}), "42"),
            (json!({"preferred_username": "a".repeat(65)}), "42"),
            (json!({"preferred_username": ["ann"]}), "42"),
        ] {
            assert_eq!(named(claims.clone()), format!("oidc:{before}~{digits}"), "{claims}");
        }
        assert!(name(json!({"sub": "a|b"})).starts_with("oidc:somebody~"));
        // Who takes another one's name is not taken for them.
        let other = name(json!({"sub": "43", "preferred_username": "ann"}));
        assert_ne!(other, named(json!({"preferred_username": "ann"})));
        assert!(name_complaint(&other).is_some());
        for claims in [json!({}), json!({"sub": ""}), json!({"sub": 7})] {
            assert_eq!(person(&people, claims), None);
        }
    }
}
