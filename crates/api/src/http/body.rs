//! Reading and writing JSON bodies.

use crate::http::problem::{Code, Problem};
use crate::http::upload::read;
use crate::json::object::Object;
use crate::json::whole::Whole;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use onrush_serve::bodies::{MAX_BODY_BYTES, MAX_WEBHOOK_BYTES};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use std::collections::BTreeMap;

/// A JSON body of at most `LIMIT` bytes.
pub struct JsonBody<T, const LIMIT: usize = MAX_BODY_BYTES>(pub T);

impl<T: DeserializeOwned, S: Sync, const LIMIT: usize> FromRequest<S> for JsonBody<T, LIMIT> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        parse(&read_json::<LIMIT>(request).await?).map(Self)
    }
}

/// A JSON body as it came, for shapes that borrow from it.
pub struct JsonBytes(Bytes);

impl JsonBytes {
    /// The body's contents.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `INVALID_BODY`.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Problem> {
        parse(&self.0)
    }
}

impl<S: Sync> FromRequest<S> for JsonBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        read_json::<MAX_BODY_BYTES>(request).await.map(Self)
    }
}

/// A body that may be left out; if there is one, it is JSON.
pub struct OptionalBody<T>(pub T);

impl<T: DeserializeOwned + Default, S: Sync> FromRequest<S> for OptionalBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        if request.headers().get(CONTENT_LENGTH).is_none_or(|length| length == "0")
            && http_body::Body::is_end_stream(request.body())
        {
            return Ok(Self(T::default()));
        }
        let json = is_json(request.headers());
        let bytes = read::<MAX_BODY_BYTES>(request).await?;
        if bytes.is_empty() || (json && bytes.trim_ascii() == b"null") {
            return Ok(Self(T::default()));
        }
        if !json {
            return Err(Problem::new(
                Code::UnsupportedMediaType,
                "send nothing, or JSON with Content-Type: application/json",
            ));
        }
        parse(&bytes).map(Self)
    }
}

/// A JSON body that may be left out, as it came: what answers a key's first request compares it
/// with later ones.
pub struct OptionalBytes(Bytes);

impl OptionalBytes {
    /// The body's contents.
    ///
    /// # Errors
    /// `MALFORMED_JSON`, `INVALID_BODY`.
    pub fn parse<T: DeserializeOwned + Default>(&self) -> Result<T, Problem> {
        if self.0.is_empty() || self.0.trim_ascii() == b"null" {
            Ok(T::default())
        } else {
            parse(&self.0)
        }
    }

    /// One text for all bodies that mean the same: without spaces, members in order, whole numbers
    /// without a point, and nothing for an empty one.
    #[must_use]
    pub fn canonical(&self) -> Vec<u8> {
        match serde_json::from_slice::<Any>(&self.0) {
            Ok(Any::Null) => Vec::new(),
            Ok(Any::Object(members)) if members.is_empty() => Vec::new(),
            Ok(any) => serde_json::to_vec(&any).expect("what was JSON is JSON"),
            // No body at all; what is not JSON was refused before.
            Err(_) => self.0.to_vec(),
        }
    }
}

/// Whatever JSON can say, members in order. `serde_json::Value` would take an object whose first
/// member is called `$serde_json::private::RawValue` for the JSON in that member's text.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Any {
    Null,
    Bool(bool),
    /// As members that are whole numbers are read.
    Whole(Whole<i64>),
    Number(Number),
    Text(String),
    Array(Vec<Self>),
    Object(BTreeMap<String, Self>),
}

impl<S: Sync> FromRequest<S> for OptionalBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let json = is_json(request.headers());
        let bytes = read::<MAX_BODY_BYTES>(request).await?;
        if bytes.is_empty() || json {
            return Ok(Self(bytes));
        }
        let why = "send nothing, or JSON with Content-Type: application/json";
        Err(Problem::new(Code::UnsupportedMediaType, why))
    }
}

/// A gateway's message as it came: signatures are over bytes.
pub struct RawBody(pub Bytes);

impl<S: Sync> FromRequest<S> for RawBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        read::<MAX_WEBHOOK_BYTES>(request).await.map(Self)
    }
}

/// A body with no members: what paths that need none accept beside nothing.
#[derive(Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// Whether the body is called JSON; parameters such as a charset are left alone.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else { return false };
    let essence = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

async fn read_json<const LIMIT: usize>(request: Request) -> Result<Bytes, Problem> {
    if is_json(request.headers()) {
        read::<LIMIT>(request).await
    } else {
        let why = "send JSON, with Content-Type: application/json";
        Err(Problem::new(Code::UnsupportedMediaType, why))
    }
}

/// Parses a body, telling text that is not JSON from JSON of the wrong shape.
fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    match serde_json::from_slice(bytes) {
        Ok(Object(value)) => Ok(value),
        Err(error) => {
            let problem = if error.is_data() {
                Problem::new(Code::InvalidBody, error.to_string())
            } else if serde_json::from_slice::<Value>(bytes).is_ok() {
                // A list or a number where one of a few words stands is no data to `serde_json`.
                let at = format!("at line {} column {}", error.line(), error.column());
                Problem::new(
                    Code::InvalidBody,
                    format!("a value of another kind belongs here {at}"),
                )
            } else {
                return Err(Problem::new(Code::MalformedJson, error.to_string()));
            };
            Err(match wrong_member::<T>(bytes) {
                Some(field) => problem.about(field),
                None => problem,
            })
        }
    }
}

/// The member of a body that is not of the right shape, if it is not the body as a whole. Bodies
/// are read again for it: keeping track of members costs time that good ones need not lose.
fn wrong_member<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<String> {
    let mut body = serde_json::Deserializer::from_slice(bytes);
    let error = serde_path_to_error::deserialize::<_, Object<T>>(&mut body).err()?;
    let path = (error.path().iter().len() > 0).then(|| error.path().to_string());
    // The path ends at the object that lacks a member, or has one twice.
    let told = error.inner().to_string();
    let member = ["missing field `", "duplicate field `"].iter().find_map(|begin| {
        let (member, _) = told.strip_prefix(begin)?.split_once('`')?;
        Some(member)
    });
    match (path, member) {
        (Some(path), Some(member)) if !path.ends_with(member) => Some(format!("{path}.{member}")),
        (None, Some(member)) => Some(member.to_owned()),
        (path, _) => path,
    }
}

/// What is answered with 200, as JSON.
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self.0)
    }
}

/// A JSON answer.
#[must_use]
pub fn json<T: Serialize + ?Sized>(status: StatusCode, value: &T) -> Response {
    let mut bytes = Vec::with_capacity(384);
    // Only maps with odd keys and failing `Serialize` implementations can fail here, and there are none.
    serde_json::to_writer(&mut bytes, value).expect("an answer is JSON");
    json_bytes(status, bytes)
}

/// A JSON answer that gives somebody rights: it is kept by nobody on its way.
#[must_use]
pub fn secret_json<T: Serialize + ?Sized>(status: StatusCode, value: &T) -> Response {
    let mut response = json(status, value);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// A JSON answer that is written already.
#[must_use]
pub fn json_bytes(status: StatusCode, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::{OptionalBytes, parse};
    use crate::http::events::shapes::settings::SettingsChange;
    use crate::http::shapes::lines::{UnitsAndReason, WishBody};

    #[test]
    fn body_of_the_wrong_shape_names_the_member_that_is_wrong() {
        let cases = [
            (r#"{"max_per_user": "many"}"#, Some("max_per_user")),
            (
                r#"{"refunds": [{"days_before": 1, "percent": 1}, {"days_before": -1}]}"#,
                Some("refunds[1].days_before"),
            ),
            (r#"{"limits": [{"of": {"pool": "ga"}}]}"#, Some("limits[0].max_per_user")),
            (r#"{"room": {"capacity": []}}"#, Some("room.capacity")),
            (r#"{"colour": "red"}"#, Some("colour")),
            ("[]", None),
            ("{", None),
        ];
        for (body, field) in cases {
            let problem = parse::<SettingsChange>(body.as_bytes()).err().expect(body).to_json();
            assert_eq!(problem["field"].as_str(), field, "{body}: {problem}");
        }
    }

    #[test]
    fn one_body_is_one_text_in_whatever_order_its_members_are() {
        let canonical = |body: &str| {
            String::from_utf8(OptionalBytes(body.to_owned().into()).canonical()).expect(body)
        };
        let raw = r#""$serde_json::private::RawValue""#;
        let cases = [
            (r#"{"b": [1, null, true], "a": {"d": "e", "c": -2}}"#.to_owned(), {
                r#"{"a":{"c":-2,"d":"e"},"b":[1,null,true]}"#.to_owned()
            }),
            (format!(r#"{{"b": 1, {raw}: "2"}}"#), format!(r#"{{{raw}:"2","b":1}}"#)),
            (format!(r#"{{{raw}: "2", "b": 1}}"#), format!(r#"{{{raw}:"2","b":1}}"#)),
            (format!(r#"{{{raw}: "[2]"}}"#), format!(r#"{{{raw}:"[2]"}}"#)),
            (r#"{"at_least_minor": 16700.0}"#.to_owned(), r#"{"at_least_minor":16700}"#.to_owned()),
            (
                r#"[1e3, 2.5, -0.0, 18446744073709551615, "2.0"]"#.to_owned(),
                r#"[1000,2.5,0,18446744073709551615,"2.0"]"#.to_owned(),
            ),
            (" null ".to_owned(), String::new()),
            ("{ }".to_owned(), String::new()),
            ("[]".to_owned(), "[]".to_owned()),
        ];
        for (body, text) in cases {
            assert_eq!(canonical(&body), text, "{body}");
        }
    }

    #[test]
    fn body_that_lacks_a_member_names_it() {
        let cases =
            [(r#"{}"#, "why"), (r#"{"by": "a"}"#, "why"), (r#"{"why": "a", "why": "b"}"#, "why")];
        for (body, field) in cases {
            let problem = parse::<UnitsAndReason<'_>>(body.as_bytes()).err().expect(body);
            assert_eq!(problem.to_json()["field"], field, "{body}");
        }
        let stay = r#"{"stays": [{"pool": "deluxe", "from": "2026-12-30"}]}"#;
        let problem = parse::<WishBody<'_>>(stay.as_bytes()).err().expect(stay);
        assert_eq!(problem.to_json()["field"], "stays[0].nights");
    }
}
