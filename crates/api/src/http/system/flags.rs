//! Flags of the engine on Redis.

use crate::http::body::{Json, JsonBody};
use crate::http::caller::{Ids, Operator};
use crate::http::openapi::WriteProblems;
use crate::http::problem::{Code, Problem};
use crate::http::state::Nodes;
use crate::json::ids::IdText;
use crate::json::whole::Whole;
use axum::extract::State;
use onrush_core::ids::PoolId;
use onrush_store::flags::Flag;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;

/// All flags.
#[derive(Serialize, ToSchema)]
pub struct FlagsBody {
    flags: Vec<FlagBody>,
}

/// A flag as this node has it.
#[derive(Serialize, ToSchema)]
pub struct FlagBody {
    /// Its name.
    name: &'static str,
    /// For how many users of a hundred it is on.
    percent: u8,
    /// What it switches.
    about: &'static str,
}

/// For whom a flag is on from now on.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFlag {
    /// For how many users of a hundred; who is among them follows from their ids.
    #[schema(value_type = u8, minimum = 0, maximum = 100)]
    percent: Whole<u8>,
}

/// Flags that switch how the engine on Redis works, as this node has them.
#[utoipa::path(
    get, path = "/api/v1/admin/flags", tag = "admin",
    responses((status = 200, description = "All flags", body = FlagsBody), WriteProblems),
)]
pub async fn flags(
    State(nodes): State<Arc<Nodes>>,
    _: Operator,
) -> Result<Json<FlagsBody>, Problem> {
    nodes.cluster()?;
    let flags = Flag::ALL.map(|flag| FlagBody::new(flag, nodes.flags.percent(flag)));
    Ok(Json(FlagsBody { flags: flags.into() }))
}

impl FlagBody {
    fn new(flag: Flag, percent: u8) -> Self {
        Self { name: flag.into(), percent, about: flag.about() }
    }
}

/// Sets a flag for a share of the users, on all nodes within a second.
#[utoipa::path(
    put, path = "/api/v1/admin/flags/{flag}", tag = "admin",
    params(("flag" = IdText, Path)),
    request_body = NewFlag,
    responses((status = 200, description = "The flag", body = FlagBody), WriteProblems),
)]
pub async fn set_flag(
    State(nodes): State<Arc<Nodes>>,
    Ids(name): Ids<PoolId>,
    _: Operator,
    JsonBody(NewFlag { percent }): JsonBody<NewFlag>,
) -> Result<Json<FlagBody>, Problem> {
    let cluster = nodes.cluster()?;
    let flag: Flag = name.as_str().parse().map_err(|why| Problem::new(Code::FlagNotFound, why))?;
    if percent.0 > 100 {
        return Err(Problem::new(Code::InvalidBody, "percent: use 0 to 100").about("percent"));
    }
    cluster.set_flag(flag.to_string(), percent.0).await.map_err(|error| {
        tracing::error!(%error, "a flag cannot be kept");
        Problem::new(Code::LedgerUnavailable, "the flag cannot be kept now; try again")
    })?;
    // The other nodes hear of it; this one need not wait.
    nodes.flags.set(flag, percent.0);
    Ok(Json(FlagBody::new(flag, percent.0)))
}
