//! Prices that were changed, or will be, as texts: what `lua/include/prices.lua` writes.

use super::types;
use onrush_core::Time;
use onrush_core::ids::{ChannelId, PayerId};
use onrush_core::prices::{Ladder, PriceStep, Priced};
use onrush_core::snapshot::HoldRow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What fields of the meta hash begin with that hold a ladder.
const FIELD: &str = "price:";

/// Of what, as scripts are told.
pub(super) fn key(of: &Priced) -> String {
    match of {
        Priced::Category(name) => format!("c:{name}"),
        Priced::Pool(pool) => format!("p:{pool}"),
    }
}

pub(super) fn of_key(key: &str) -> Result<Priced, String> {
    match key.split_once(':') {
        Some(("c", name)) => Ok(Priced::Category(name.into())),
        Some(("p", pool)) => match pool.parse() {
            Ok(pool) => Ok(Priced::Pool(pool)),
            Err(error) => Err(format!("price:{key}: {error}")),
        },
        Some(_) | None => Err(format!("price:{key}: it is neither a category's nor a pool's")),
    }
}

/// What follows the present price.
pub(super) fn later_text(later: &[PriceStep]) -> String {
    let mut text = String::new();
    for PriceStep { from, price_minor } in later {
        let between = if text.is_empty() { "" } else { ";" };
        let _ = write!(text, "{between}{from}:{price_minor}");
    }
    text
}

/// Whether a field of the meta hash holds a ladder.
pub(super) fn is_field(field: &str) -> bool {
    field.starts_with(FIELD)
}

/// The field of the meta hash, and its text.
pub(super) fn field(ladder: &Ladder) -> (String, String) {
    let field = format!("{FIELD}{}", key(&ladder.of));
    let first_minor = ladder.first_minor;
    let text = match later_text(&ladder.later) {
        later if later.is_empty() => first_minor.to_string(),
        later => format!("{first_minor};{later}"),
    };
    (field, text)
}

fn ladder(key: &str, text: &str) -> Result<Ladder, String> {
    let broken = || format!("price:{key}: {text:?} cannot be read");
    let mut parts = text.split(';');
    let first_minor = parts.next().and_then(|first| first.parse().ok()).ok_or_else(broken)?;
    let step = |text: &str| {
        let (from, price_minor) = text.split_once(':')?;
        Some(PriceStep { from: Time(from.parse().ok()?), price_minor: price_minor.parse().ok()? })
    };
    let later = parts.map(|text| step(text).ok_or_else(broken)).collect::<Result<_, _>>()?;
    Ok(Ladder { of: of_key(key)?, first_minor, later })
}

/// All ladders among fields of the meta hash.
pub(super) fn ladders<'a>(
    meta: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<BTreeMap<Priced, Ladder>, String> {
    let found =
        meta.into_iter().filter_map(|(field, text)| Some((field.strip_prefix(FIELD)?, text)));
    found.map(|(key, text)| ladder(key, text).map(|ladder| (ladder.of.clone(), ladder))).collect()
}

/// What stands at the end of a hold: the prices of its lines, if they are others than the first, the
/// channels that these came from, if there are any, the ticket types of its units, if they have any, who
/// pays, if that was named, and what was asked for.
pub(super) fn more_text(row: &HoldRow) -> String {
    let HoldRow { terms, payers, .. } = row;
    let mut text = String::new();
    if !terms.prices_minor.is_empty() {
        let prices: Vec<_> = terms.prices_minor.iter().map(ToString::to_string).collect();
        let _ = write!(text, "{};", prices.join(","));
    }
    if !terms.sources.is_empty() {
        let sources = terms.sources.iter().map(|it| it.as_ref().map_or("", ChannelId::as_str));
        let _ = write!(text, "@{};", sources.collect::<Vec<_>>().join(","));
    }
    if let Some(types) = &terms.types {
        let _ = write!(text, "#{};", types::held_text(types));
    }
    if !payers.are_none() {
        let shown = |payer: Option<PayerId>| payer.map(|it| it.to_string()).unwrap_or_default();
        let _ = write!(text, "&{},{};", shown(payers.email), shown(payers.card));
    }
    if let Some(asked) = &terms.asked {
        text.push_str(&serde_json::to_string(asked).expect("what was asked can be written"));
    }
    text
}

/// What stands at the end of a hold.
pub(super) struct More<'a> {
    pub(super) prices: Vec<&'a str>,
    /// `""` is everybody's stock.
    pub(super) sources: Vec<&'a str>,
    /// As `types.rs` has them, or nothing.
    pub(super) types: &'a str,
    /// By e-mail address and by card; `""` if nobody is named.
    pub(super) payers: [&'a str; 2],
    /// As JSON, or nothing.
    pub(super) asked: &'a str,
}

impl<'a> More<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let (prices, rest) = match text.split_once(';') {
            Some((prices, rest)) if prices.starts_with(|sign: char| sign.is_ascii_digit()) => {
                (prices.split(',').collect(), rest)
            }
            Some(_) | None => (Vec::new(), text),
        };
        let (sources, rest) = match rest.strip_prefix('@').and_then(|rest| rest.split_once(';')) {
            Some((sources, rest)) => (sources.split(',').collect(), rest),
            None => (Vec::new(), rest),
        };
        // Behind the types stands what was asked of them, and neither has the sign between them.
        let ends = || rest.match_indices(';').nth(1).map(|(at, _)| at);
        let (types, rest) = match rest.strip_prefix('#').and_then(|_| ends()) {
            Some(end) => (&rest[1..end], &rest[end + 1..]),
            None => ("", rest),
        };
        let named = rest.strip_prefix('&').and_then(|rest| rest.split_once(';'));
        let named = named.and_then(|(payers, rest)| Some((payers.split_once(',')?, rest)));
        let (payers, asked) = match named {
            Some(((email, card), rest)) => ([email, card], rest),
            None => (["", ""], rest),
        };
        Self { prices, sources, types, payers, asked }
    }
}
