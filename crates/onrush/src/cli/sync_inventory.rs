//! `onrush sync-inventory`: brings the inventory in PostgreSQL into the pools, by asking a running node.

use super::certificates::{CertificateArgs, PLACE, said};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{Method, Request, StatusCode};
use bytes::Bytes;
use onrush_base::http_client::{AddressPolicy, HttpClient};
use onrush_core::ids::EventId;
use onrush_terminal::exit::Exit;
use onrush_terminal::show::say;
use serde::Deserialize;

pub(super) const EXIT_CODES: &str = "\
Exit codes: 0 every pool is as the inventory wants it, 1 one could not be made so, 2 the command \
line is wrong, 3 the node could not be asked.";

/// How long the node may take: a large inventory is many commands.
const TIMEOUT_MS: u64 = 300_000;

/// Which node, and what of the inventory.
#[derive(clap::Args)]
pub(crate) struct SyncInventoryArgs {
    /// A node of the cluster
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    /// The admin API key
    #[arg(long, value_name = "KEY", env = "ONRUSH_ADMIN_KEY", hide_env_values = true)]
    admin_key: String,
    /// Only this event's pools
    #[arg(long, value_name = "EVENT")]
    event: Option<EventId>,
    #[command(flatten)]
    certificates: CertificateArgs,
    /// Say what was done as the node's own JSON
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Done {
    pools: Vec<Pool>,
}

#[derive(Deserialize)]
struct Pool {
    event: String,
    pool: String,
    outcome: String,
    wanted: u32,
    before: Option<u32>,
    after: Option<u32>,
    why: Option<String>,
}

/// Asks a node to sync, and shows what it did; a pool that could not be made as wanted is a violation.
pub(crate) fn run(args: &SyncInventoryArgs) -> Exit {
    let done = onrush_terminal::process::runtime().and_then(|runtime| runtime.block_on(ask(args)));
    let (text, done) = match done {
        Ok(done) => done,
        Err(why) => {
            say(&format!("error: {why}"));
            return Exit::CouldNotRun;
        }
    };
    if args.json {
        println!("{text}");
    } else {
        done.pools.iter().for_each(show);
    }
    let refused = done.pools.iter().any(|pool| pool.outcome == "refused");
    if refused { Exit::Violation } else { Exit::Ok }
}

fn show(pool: &Pool) {
    let units = |units: Option<u32>| units.map_or("none".into(), |units| units.to_string());
    let Pool { event, pool: id, outcome, wanted, .. } = pool;
    let (before, after) = (units(pool.before), units(pool.after));
    println!("{event}/{id}: {outcome}; wanted {wanted}, before {before}, now {after}");
    if let Some(why) = &pool.why {
        println!("  {why}");
    }
}

async fn ask(args: &SyncInventoryArgs) -> Result<(String, Done), String> {
    let url = args.url.trim_end_matches('/');
    let event = args.event.as_ref().map_or(String::new(), |event| format!("?event={event}"));
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("{url}/api/v1/admin/sync-inventory{event}"))
        .header(AUTHORIZATION, format!("Bearer {}", args.admin_key))
        .header(CONTENT_TYPE, "application/json")
        .body(Bytes::new())
        .map_err(|error| format!("--url or --admin-key: {error}"))?;
    let certificates = args.certificates.load()?;
    let client = HttpClient::with_certificates(AddressPolicy::Any, &certificates, PLACE.into());
    let client = client.map_err(|why| format!("--ca, --cert, --key: {why}"))?;
    let answer = client.call(request, TIMEOUT_MS).await;
    let answer = answer.map_err(|error| said(&format!("{url}: {error}")))?;
    let status = answer.status();
    let text = String::from_utf8_lossy(answer.body()).into_owned();
    if status != StatusCode::OK {
        return Err(format!("{url} answered {status}: {text}"));
    }
    let done = serde_json::from_str(&text).map_err(|error| format!("{url}: {error}"))?;
    Ok((text, done))
}
