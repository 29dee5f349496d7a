//! The catalogue: events, prices and texts.

use super::columns::Columns;
use super::statements::Statements;
use crate::projection::CatalogueText;
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_core::money::Currency;
use onrush_core::settings::Settings;
use rusqlite::params;

pub(super) fn put_event(
    db: &Statements<'_>,
    event: &EventId,
    title: &str,
    currency: &str,
    settings: &str,
    at: Time,
) -> rusqlite::Result<()> {
    db.execute(
        "INSERT INTO catalogue_events (event_id, title, currency, settings, updated_at) \
         VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (event_id) DO UPDATE SET title = excluded.title, currency = excluded.currency, \
         settings = excluded.settings, updated_at = excluded.updated_at",
        params![event.as_str(), title, currency, settings, at.0],
    )
    .map(drop)
}

pub(super) fn currency_of(
    db: &Statements<'_>,
    event: &EventId,
) -> rusqlite::Result<Option<Currency>> {
    db.first("SELECT currency FROM catalogue_events WHERE event_id = ?1", [event.as_str()], |row| {
        Columns::of(row).parsed()
    })
}

pub(super) fn settings_of(
    db: &Statements<'_>,
    event: &EventId,
) -> rusqlite::Result<Option<Settings>> {
    db.first("SELECT settings FROM catalogue_events WHERE event_id = ?1", [event.as_str()], |row| {
        Columns::of(row).json()
    })
}

pub(super) fn put_price(
    db: &Statements<'_>,
    event: &EventId,
    kind: &str,
    name: &str,
    price_minor: i64,
) -> rusqlite::Result<()> {
    db.execute(
        "INSERT INTO catalogue_prices (event_id, kind, name, price_minor) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (event_id, kind, name) DO UPDATE SET price_minor = excluded.price_minor",
        params![event.as_str(), kind, name, price_minor],
    )
    .map(drop)
}

pub(super) fn put_text(
    db: &Statements<'_>,
    event: &EventId,
    language: &str,
    text: &CatalogueText,
) -> rusqlite::Result<()> {
    let CatalogueText { title, description, venue } = text;
    db.execute(
        "INSERT INTO catalogue_texts (event_id, language, title, description, venue) \
         VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (event_id, language) DO UPDATE SET title = excluded.title, \
         description = excluded.description, venue = excluded.venue",
        params![event.as_str(), language, title, description, venue],
    )
    .map(drop)
}

pub(super) fn texts(
    db: &Statements<'_>,
    event: &EventId,
) -> rusqlite::Result<Vec<(String, CatalogueText)>> {
    db.all(
        "SELECT language, title, description, venue FROM catalogue_texts WHERE event_id = ?1 \
         ORDER BY language",
        [event.as_str()],
        |row| {
            let mut columns = Columns::of(row);
            let language = columns.take()?;
            let text = CatalogueText {
                title: columns.take()?,
                description: columns.take()?,
                venue: columns.take()?,
            };
            Ok((language, text))
        },
    )
}
