//! The catalogue: events, prices and texts.

use super::database::{Ask, all, first};
use super::fault::Fault;
use super::rows::{parse, parsed, put_in};
use crate::projection::CatalogueText;
use crate::rows::CATALOGUE_TEXTS;
use deadpool_postgres::Client;
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_core::money::Currency;
use onrush_core::settings::Settings;
use serde::Serialize;

/// An event's row.
#[derive(Serialize)]
pub(super) struct EventRow<'a> {
    pub(super) event_id: &'a EventId,
    pub(super) title: &'a str,
    pub(super) currency: &'a str,
    pub(super) settings: &'a str,
    pub(super) updated_at: Time,
}

/// The row of a pool's or a category's price.
#[derive(Serialize)]
pub(super) struct PriceRow<'a> {
    pub(super) event_id: &'a EventId,
    pub(super) kind: &'a str,
    pub(super) name: &'a str,
    pub(super) price_minor: i64,
}

/// The currency of an event's prices.
pub(super) struct CurrencyOf(pub(super) EventId);

impl Ask<Option<Currency>> for CurrencyOf {
    async fn run(&self, db: &mut Client) -> Result<Option<Currency>, Fault> {
        let sql = "SELECT currency FROM catalogue_events WHERE event_id = $1";
        let found = first(db, sql, &[&self.0.as_str()]).await?;
        found.map(|row| parsed(row.try_get(0)?)).transpose()
    }
}

/// An event's settings.
pub(super) struct SettingsOf(pub(super) EventId);

impl Ask<Option<Settings>> for SettingsOf {
    async fn run(&self, db: &mut Client) -> Result<Option<Settings>, Fault> {
        let sql = "SELECT settings FROM catalogue_events WHERE event_id = $1";
        let found = first(db, sql, &[&self.0.as_str()]).await?;
        found.map(|row| Ok(serde_json::from_str(row.try_get(0)?)?)).transpose()
    }
}

/// Replaces the texts about an event in one language.
pub(super) struct SetText(pub(super) EventId, pub(super) String, pub(super) CatalogueText);

#[derive(Serialize)]
struct TextRow<'a> {
    event_id: &'a EventId,
    language: &'a str,
    title: &'a str,
    description: &'a str,
    venue: &'a str,
}

impl Ask<()> for SetText {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        let Self(event_id, language, CatalogueText { title, description, venue }) = self;
        let row = TextRow { event_id, language, title, description, venue };
        put_in(db, &CATALOGUE_TEXTS, &[row]).await
    }
}

/// The texts about an event, by language.
pub(super) struct Texts(pub(super) EventId);

impl Ask<Vec<(String, CatalogueText)>> for Texts {
    async fn run(&self, db: &mut Client) -> Result<Vec<(String, CatalogueText)>, Fault> {
        let found = all(
            db,
            "SELECT language, row_to_json(catalogue_texts)::text FROM catalogue_texts \
             WHERE event_id = $1 ORDER BY language",
            &[&self.0.as_str()],
        )
        .await?;
        found.iter().map(|row| Ok((row.try_get(0)?, parse(row.try_get(1)?)?))).collect()
    }
}
