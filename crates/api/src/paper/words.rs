//! What stands on a receipt beside its own words, in five languages.

use serde::Deserialize;
use utoipa::ToSchema;

/// The language of a document's own words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[schema(as = PaperLanguage)]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Thai.
    Th,
    /// Vietnamese.
    Vi,
    /// Korean.
    Ko,
    /// Indonesian.
    Id,
}

/// The words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    pub(super) receipt: String,
    pub(super) credit_note: String,
    pub(super) issued: String,
    pub(super) paid: String,
    pub(super) given_back: String,
    pub(super) corrects: String,
    pub(super) booking: String,
    pub(super) event: String,
    pub(super) buyer: String,
    pub(super) tax_id: String,
    pub(super) what: String,
    pub(super) quantity: String,
    pub(super) price: String,
    pub(super) amount: String,
    pub(super) fees: String,
    pub(super) part_of_price: String,
    pub(super) part_of_fees: String,
    pub(super) net: String,
    pub(super) total: String,
    /// With `{page}` and `{pages}` in it.
    pub(super) page: String,
}

impl Language {
    pub(super) fn words(self) -> Words {
        let text = match self {
            Self::En => include_str!("texts/en.json"),
            Self::Th => include_str!("texts/th.json"),
            Self::Vi => include_str!("texts/vi.json"),
            Self::Ko => include_str!("texts/ko.json"),
            Self::Id => include_str!("texts/id.json"),
        };
        serde_json::from_str(text).expect("a test reads each of them")
    }
}
