//! What people read about an event.

use crate::http::body::{Json, JsonBody};
use crate::http::caller::{Ids, Operator};
use crate::http::openapi::{TextsProblems, WriteProblems};
use crate::http::problem::{Code, Problem};
use crate::http::state::{Callers, Sale};
use crate::json::ids::EventIdText;
use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use onrush_core::ids::EventId;
use onrush_core::limits::fits_name;
use onrush_ledger::Ledger;
use onrush_ledger::projection::CatalogueText;
use onrush_serve::connection::Connection;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

/// What people read about an event, by language.
#[utoipa::path(
    get, path = "/api/v1/events/{event}/texts", tag = "events",
    params(("event" = EventIdText, Path)),
    responses((status = 200, description = "The texts", body = Texts), TextsProblems),
)]
pub async fn texts(
    State(sale): State<Arc<Sale>>,
    State(ledger): State<Arc<dyn Ledger>>,
    State(callers): State<Arc<Callers>>,
    Extension(connection): Extension<Connection>,
    headers: HeaderMap,
    Ids(event): Ids<EventId>,
) -> Result<Json<Texts>, Problem> {
    callers.limits.read(callers.address_of(&connection, &headers))?;
    sale.looks.event(&event, Duration::ZERO).await?;
    let rows = sale.looks.texts(&event, || ledger.texts(&event)).await?;
    Ok(Json(Texts::new(event, rows.to_vec())))
}

/// Sets what people read about an event in one language, all of it at once.
#[utoipa::path(
    put, path = "/api/v1/admin/events/{event}/texts/{language}", tag = "admin",
    params(
        ("event" = EventIdText, Path),
        ("language" = String, Path, min_length = 2, max_length = 35, pattern = "^[A-Za-z0-9-]+$"),
    ),
    request_body = TextBody,
    responses((status = 200, description = "The texts in all languages", body = Texts), WriteProblems),
)]
pub async fn set_texts(
    State(sale): State<Arc<Sale>>,
    State(ledger): State<Arc<dyn Ledger>>,
    Ids((event, language)): Ids<(EventId, Language)>,
    _: Operator,
    JsonBody(body): JsonBody<TextBody>,
) -> Result<Json<Texts>, Problem> {
    let text = body.text()?;
    sale.view_event(&event).await?;
    ledger.set_text(&event, language.as_str(), text).await?;
    let rows = ledger.texts(&event).await?;
    Ok(Json(Texts::new(event, rows)))
}

/// The longest description, in characters.
pub const MAX_DESCRIPTION_CHARS: usize = 10_000;

/// An event's texts.
#[derive(Serialize, ToSchema)]
pub struct Texts {
    /// The event.
    #[schema(value_type = EventIdText)]
    event: EventId,
    /// By language tag.
    texts: BTreeMap<String, TextBody>,
}

impl Texts {
    /// What anyone may read.
    #[must_use]
    pub fn new(event: EventId, rows: Vec<(String, CatalogueText)>) -> Self {
        let texts =
            rows.into_iter().map(|(language, CatalogueText { title, description, venue })| {
                (language, TextBody { title, description, venue })
            });
        Self { event, texts: texts.collect() }
    }
}

/// What people read in one language.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EventText)]
pub struct TextBody {
    /// 1 to 500 characters.
    #[schema(min_length = 1, max_length = 500)]
    title: String,
    /// At most 10000 characters.
    #[serde(default)]
    #[schema(max_length = 10000)]
    description: String,
    /// At most 500 characters.
    #[serde(default)]
    #[schema(max_length = 500)]
    venue: String,
}

impl TextBody {
    /// The texts, if they are short enough.
    ///
    /// # Errors
    /// `INVALID_BODY`.
    pub fn text(self) -> Result<CatalogueText, Problem> {
        let Self { title, description, venue } = self;
        let wrong =
            |field: &str, why: &'static str| Err(Problem::new(Code::InvalidBody, why).about(field));
        if title.is_empty() || !fits_name(&title) {
            return wrong(
                "title",
                "title: use 1 to 500 characters, none that turns the text around",
            );
        }
        if description.chars().count() > MAX_DESCRIPTION_CHARS {
            return wrong("description", "description: use at most 10000 characters");
        }
        if !fits_name(&venue) {
            return wrong(
                "venue",
                "venue: use at most 500 characters, none that turns the text around",
            );
        }
        Ok(CatalogueText { title, description, venue })
    }
}

/// A language tag such as `en` or `zh-Hant`, as it is written.
#[derive(Debug)]
pub struct Language(String);

impl Language {
    /// The tag.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Language {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let fits = (2..=35).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if fits {
            Ok(Self(text))
        } else {
            Err(de::Error::custom("language: use a language tag such as en or th"))
        }
    }
}
