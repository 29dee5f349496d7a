//! The catalogue: events, prices and texts.

use super::statements::Statements;
use crate::projection::CatalogueText;
use crate::rows::{CATALOGUE_EVENTS, CATALOGUE_PRICES, CATALOGUE_TEXTS, Record};
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_core::money::Currency;
use onrush_core::settings::Settings;
use rusqlite::params;
use std::sync::LazyLock;

/// Reads the texts about one event, each after its language.
static TEXTS: LazyLock<String> = LazyLock::new(|| {
    let text = CatalogueText::list();
    format!("SELECT language, {text} FROM catalogue_texts WHERE event_id = ?1 ORDER BY language")
});

pub(super) fn put_event(
    db: &Statements<'_>,
    event: &EventId,
    title: &str,
    currency: &str,
    settings: &str,
    at: Time,
) -> rusqlite::Result<()> {
    db.put_values(&CATALOGUE_EVENTS, params![event.as_str(), title, currency, settings, at.0])
}

pub(super) fn currency_of(
    db: &Statements<'_>,
    event: &EventId,
) -> rusqlite::Result<Option<Currency>> {
    db.first("SELECT currency FROM catalogue_events WHERE event_id = ?1", [event.as_str()])
}

pub(super) fn settings_of(
    db: &Statements<'_>,
    event: &EventId,
) -> rusqlite::Result<Option<Settings>> {
    db.first("SELECT settings FROM catalogue_events WHERE event_id = ?1", [event.as_str()])
}

pub(super) fn put_price(
    db: &Statements<'_>,
    event: &EventId,
    kind: &str,
    name: &str,
    price_minor: i64,
) -> rusqlite::Result<()> {
    db.put_values(&CATALOGUE_PRICES, params![event.as_str(), kind, name, price_minor])
}

pub(super) fn put_text(
    db: &Statements<'_>,
    event: &EventId,
    language: &str,
    text: &CatalogueText,
) -> rusqlite::Result<()> {
    let CatalogueText { title, description, venue } = text;
    db.put_values(&CATALOGUE_TEXTS, params![event.as_str(), language, title, description, venue])
}

pub(super) fn texts(
    db: &Statements<'_>,
    event: &EventId,
) -> rusqlite::Result<Vec<(String, CatalogueText)>> {
    db.all(&TEXTS, [event.as_str()])
}
