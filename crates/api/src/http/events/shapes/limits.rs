//! Limits per person on pools, categories and ticket types.

use crate::json::ids::{FreeText, IdText};
use crate::json::object::Object;
use crate::json::whole::Whole;
use onrush_core::ids::{PoolId, TypeId};
use onrush_core::prices::Priced;
use onrush_core::user_limits::UserLimit;
use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// A pool, or a price category of seats: one member, named by which of them it is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", try_from = "RawPart")]
pub enum PoolOrCategory {
    /// All seats of this price category.
    Category(Box<str>),
    /// All units of this pool.
    Pool(PoolId),
}

/// The same as it is read, before it is known to name one of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPart {
    category: Option<Box<str>>,
    pool: Option<PoolId>,
}

impl TryFrom<RawPart> for PoolOrCategory {
    type Error = &'static str;

    fn try_from(raw: RawPart) -> Result<Self, Self::Error> {
        match raw {
            RawPart { category: Some(name), pool: None } => Ok(Self::Category(name)),
            RawPart { category: None, pool: Some(pool) } => Ok(Self::Pool(pool)),
            RawPart { .. } => Err("name either a pool or a category"),
        }
    }
}

impl PartialSchema for PoolOrCategory {
    fn schema() -> RefOr<Schema> {
        let one = |name, schema: RefOr<Schema>| {
            let member = ObjectBuilder::new().schema_type(Type::Object).property(name, schema);
            member.required(name).additional_properties(Some(AdditionalProperties::FreeForm(false)))
        };
        let category = one("category", FreeText::schema());
        OneOfBuilder::new().item(category).item(one("pool", IdText::schema())).into()
    }
}

impl ToSchema for PoolOrCategory {}

/// How many units of a part of the event one user may hold, confirm and claim together.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UserLimit)]
pub struct UserLimitBody {
    /// Of which pool or category; one that is not there (yet) limits nothing.
    of: PoolOrCategory,
    /// Of which of its ticket types; without one, all of its units together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>)]
    ticket_type: Option<TypeId>,
    /// How many.
    #[schema(value_type = u32, minimum = 1, maximum = 1_000)]
    max_per_user: Whole<u32>,
}

impl UserLimitBody {
    /// What is shown of the limits.
    #[must_use]
    pub fn shown(limits: Vec<UserLimit>) -> Vec<Self> {
        let shown = |UserLimit { of, ticket_type, max_per_user }| {
            let of = match of {
                Priced::Category(name) => PoolOrCategory::Category(name),
                Priced::Pool(pool) => PoolOrCategory::Pool(pool),
            };
            Self { of, ticket_type, max_per_user: Whole(max_per_user) }
        };
        limits.into_iter().map(shown).collect()
    }

    pub(super) fn limits(bodies: Vec<Object<Self>>) -> Vec<UserLimit> {
        let limit = |Object(Self { of, ticket_type, max_per_user })| {
            let of = match of {
                PoolOrCategory::Category(name) => Priced::Category(name),
                PoolOrCategory::Pool(pool) => Priced::Pool(pool),
            };
            UserLimit { of, ticket_type, max_per_user: max_per_user.0 }
        };
        bodies.into_iter().map(limit).collect()
    }
}
