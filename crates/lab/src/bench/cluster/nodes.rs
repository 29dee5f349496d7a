//! `onrush bench nodes`: positions over HTTP from nodes of a cluster, beside the bare server.
//!
//! Everything runs on this machine, so that two nodes are not twice as fast as one here. What can be
//! seen here is the processor time that an answer takes a node, and how much of it grows with the
//! nodes: nodes on processors of their own answer as often as that time goes into theirs, as long
//! as Redis, which they share, is not asked.

use super::super::common::{Common, measure};
use super::super::http::closed_loop::{Round, Template, round};
use super::super::http::rates::{SET_UP_CONNECTIONS, spread, waiting};
use super::super::results::Results;
use super::super::server::{Served, processor_ticks};
use crate::load::{Pool, Request};
use onrush_terminal::show::{count, say};
use onrush_testkit::{Postgres, Redis};
use serde::Deserialize;
use std::time::Duration;

const ROUNDS: usize = 5;
/// People who wait.
const WAITING: u64 = 20_000;
const CONNECTIONS: usize = 256;
const QUEUE: &str = "/api/v1/events/room/queue";
/// Microseconds in a tick of processor time.
const TICK_US: f64 = 10_000.0;

/// A place, as far as it is needed here.
#[derive(Deserialize)]
struct Place {
    #[serde(default)]
    as_of: Option<String>,
}

/// Two nodes, and what they share.
struct Cluster {
    nodes: [Served; 2],
    redis: Redis,
    _postgres: Postgres,
    _scratch: tempfile::TempDir,
}

impl Cluster {
    fn start(common: &Common) -> Result<Self, String> {
        let redis = super::redis::server()?;
        let postgres = Postgres::start().map_err(|error| error.to_string())?;
        let scratch = common.scratch()?;
        let node = |name| Served::node(&scratch.path().join(name), &redis.url(), &postgres.url());
        // One after the other: the first makes what both share.
        let nodes = [node("first")?, node("second")?];
        Ok(Self { nodes, redis, _postgres: postgres, _scratch: scratch })
    }

    /// The processor time that the nodes have used, and Redis, in microseconds.
    fn used_us(&self) -> Result<(f64, f64), String> {
        let [one, other] = &self.nodes;
        let nodes = processor_ticks(one.pid())? + processor_ticks(other.pid())?;
        let redis = processor_ticks(self.redis.pid())?;
        Ok((nodes as f64 * TICK_US, redis as f64 * TICK_US))
    }
}

/// What a load came to.
struct Load {
    per_s: f64,
    /// Processor time of an answer: the nodes', and Redis'.
    node_us: f64,
    redis_us: f64,
}

pub(super) fn run(common: &Common, results: &mut Results) -> Result<(), String> {
    measure(positions(common, results))
}

async fn positions(common: &Common, results: &mut Results) -> Result<(), String> {
    let cluster = Cluster::start(common)?;
    let bare = Served::bare()?;
    let pool = Pool::new(cluster.nodes[0].address, SET_UP_CONNECTIONS as usize);
    let tokens = waiting(&pool, common.size(WAITING).max(256)).await?;
    let first = Request::to("GET", QUEUE).token(&tokens[0]).bare();
    let Place { as_of } = Served::ask(&pool, first).await?;
    let as_of = as_of.ok_or("a node does not say what its answers are of")?;
    let passed_back = format!("{QUEUE}?as_of={as_of}");

    let request = |path: &str, token: &String| Request::to("GET", path).token(token).bare();
    let load = |path: &str, connections: usize| {
        spread(connections, &tokens, |token| request(path, token), 0)
    };
    let [one, other] = &cluster.nodes;
    // The first questions have the copies made.
    for node in &cluster.nodes {
        timed(common, node, load(&passed_back, CONNECTIONS)).await?;
    }
    let (mut gets, mut asked, mut alone, mut both) = (vec![], vec![], vec![], vec![]);
    for number in 1..=ROUNDS {
        say(&format!("positions of nodes: round {number} of {ROUNDS}"));
        gets.push(timed(common, &bare, load("/get", CONNECTIONS)).await?.per_s);
        asked.push(used(common, &cluster, vec![(one, load(QUEUE, CONNECTIONS))]).await?);
        alone.push(used(common, &cluster, vec![(one, load(&passed_back, CONNECTIONS))]).await?);
        let halves = [one, other].map(|node| (node, load(&passed_back, CONNECTIONS / 2)));
        both.push(used(common, &cluster, halves.into()).await?);
    }
    report(results, &gets, &asked, &alone, &both);
    Ok(())
}

fn warm_up(common: &Common) -> Duration {
    common.time(0.4)
}

fn length(common: &Common) -> Duration {
    common.time(2.0)
}

async fn timed(
    common: &Common,
    server: &Served,
    load: Vec<Vec<Template>>,
) -> Result<Round, String> {
    round(server.address, load, warm_up(common), length(common)).await.map(|(round, _)| round)
}

/// Loads nodes at the same time, and says what an answer took.
async fn used(
    common: &Common,
    cluster: &Cluster,
    loads: Vec<(&Served, Vec<Vec<Template>>)>,
) -> Result<Load, String> {
    let before = cluster.used_us()?;
    let rounds = loads.into_iter().map(|(node, load)| timed(common, node, load));
    let rounds = futures_util::future::try_join_all(rounds).await?;
    let after = cluster.used_us()?;
    let per_s = rounds.iter().map(|round| round.per_s).sum::<f64>();
    // As often while it warms up: what is measured is the whole time.
    let answers = per_s * (warm_up(common) + length(common)).as_secs_f64();
    let (node_us, redis_us) = (after.0 - before.0, after.1 - before.1);
    Ok(Load { per_s, node_us: node_us / answers, redis_us: redis_us / answers })
}

fn report(results: &mut Results, gets: &[f64], asked: &[Load], alone: &[Load], both: &[Load]) {
    let to_bare = |loads: &[Load]| -> Vec<f64> {
        loads.iter().zip(gets).map(|(load, get)| load.per_s / get).collect()
    };
    let of = |loads: &[Load], what: fn(&Load) -> f64| loads.iter().map(what).collect::<Vec<_>>();
    let get = results.rounds("get_per_s", gets.to_vec());
    let rate = results.rounds("node_positions_per_s", of(alone, |load| load.per_s));
    let ratio = results.rounds("node_position_ratio", to_bare(alone));
    let asked_ratio = results.rounds("redis_position_ratio", to_bare(asked));
    let growth = alone.iter().zip(both).map(|(one, two)| 2.0 * one.node_us / two.node_us);
    let growth = results.rounds("two_nodes_to_one", growth.collect());
    let node_us = results.rounds("node_position_us", of(alone, |load| load.node_us));
    let redis_us = results.rounds("node_position_redis_us", of(alone, |load| load.redis_us));
    let asked_us = results.rounds("redis_position_redis_us", of(asked, |load| load.redis_us));
    results.say(&format!(
        "positions    {}/s of a node, bare get {}/s: {:.0} % (goal ≥ 60 %); {:.0} % where Redis is \
         asked each time",
        count(rate as u64),
        count(get as u64),
        ratio * 100.0,
        asked_ratio * 100.0,
    ));
    results.say(&format!(
        "two nodes    {growth:.2} × one by processor time (goal ≥ 1.8): an answer takes a node {node_us:.1} \
         µs and Redis {redis_us:.2} µs ({asked_us:.1} µs where it is asked each time)"
    ));
}
