//! Many open streams: what each one costs the server, and how fast a message reaches a thousand of them.

use super::super::common::Common;
use super::super::results::Results;
use super::super::results::resident_bytes;
use super::super::server::Served;
use crate::load::stream::EventStream;
use crate::load::{Latency, Pool, Request, allow_open_files};
use onrush_serve::{Share, files_wanted};
use onrush_terminal::show::{Progress, count, ms, say};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

const STREAMS: u64 = 20_000;
/// Visitors whose turn comes at once.
const TURNS: u64 = 1_000;
/// Streams that are being opened at a time.
const OPENING: usize = 64;
/// How long "your turn" is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn run(common: &Common, results: &mut Results) -> Result<(), String> {
    let mut streams = common.size(STREAMS);
    // The server asks for as many, and keeps some back for others than streams.
    let config = onrush_base::config::Config::default();
    let limit = allow_open_files(files_wanted(&config));
    let there = u64::from(Share::of(&config, limit).streams);
    if there < streams {
        streams = there;
        say(&format!(
            "only {limit} files may be open and the limit cannot be raised: {streams} streams"
        ));
    }
    let turns = TURNS.min(streams / 2).max(1);
    let scratch = common.scratch()?;
    let server = Served::product(scratch.path())?;
    let pool = Arc::new(Pool::new(server.address, 16));
    let event = "{\"event\":\"room\",\"title\":\"Benchmark\",\"currency\":\"EUR\",\
                 \"room\":{\"capacity\":1}}";
    Served::admin(&pool, "POST", "/events", event).await?;
    Served::admin(&pool, "POST", "/events/room/open", "{}").await?;
    // The only slot is taken, so that everybody else waits.
    let token = join(&pool).await?;
    let arrive = Request::to("POST", "/api/v1/events/room/queue/arrive").token(&token).bare();
    while Served::ask::<serde_json::Value>(&pool, arrive.clone()).await.is_err() {
        // Admission is the engine's next step after joining.
        tokio::task::yield_now().await;
    }

    let mut tokens = Vec::new();
    for _ in 0..streams {
        tokens.push(join(&pool).await?);
    }
    let before = resident_bytes(server.pid());
    let opened = Arc::new(AtomicU64::new(0));
    let opening = Arc::new(Semaphore::new(OPENING));
    let mut watchers = JoinSet::new();
    for token in tokens {
        let (opened, opening) = (Arc::clone(&opened), Arc::clone(&opening));
        watchers.spawn(watch(server.address, token, opened, opening));
    }
    let mut progress = Progress::new(streams);
    while opened.load(Ordering::Acquire) < streams {
        if let Some(ended) = watchers.try_join_next() {
            return Err(match ended {
                Ok(Err(why)) => why,
                Ok(Ok(_)) => "somebody's turn came too early".into(),
                Err(error) => error.to_string(),
            });
        }
        progress.show(opened.load(Ordering::Relaxed), "streams open");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    progress.finish();
    let used =
        resident_bytes(server.pid()).zip(before).map(|(now, before)| now.saturating_sub(before));
    let kib_each = used.map_or(f64::NAN, |bytes| bytes as f64 / 1024.0 / streams as f64);

    let asked = Instant::now();
    let room = format!("{{\"capacity\":{}}}", turns + 1);
    Served::admin(&pool, "PATCH", "/events/room/room", &room).await?;
    let mut latency = Latency::new();
    while latency.count() < turns {
        let next = tokio::time::timeout(PATIENCE, watchers.join_next()).await;
        match next
            .map_err(|_| format!("only {} of {turns} heard of their turn", latency.count()))?
        {
            Some(Ok(Ok(at))) => latency.record(at.saturating_duration_since(asked)),
            Some(Ok(Err(why))) => return Err(why),
            Some(Err(error)) => return Err(error.to_string()),
            None => return Err("all streams ended".into()),
        }
    }
    results.figure("streams", streams as f64);
    results.figure("stream_kib_each", kib_each);
    results.figure("your_turn_p50_ms", latency.percentile_ms(50.0));
    results.figure("your_turn_last_ms", latency.max_ms());
    results.say(&format!(
        "streams    {} open, {kib_each:.1} KiB each (goal ≤ 12 KiB); \"your turn\" to {} of them: \
         half within {}, all within {} (goal ≤ 200 ms)",
        count(streams),
        count(turns),
        ms(latency.percentile_ms(50.0)),
        ms(latency.max_ms())
    ));
    Ok(())
}

/// A new visitor with a place.
async fn join(pool: &Pool) -> Result<String, String> {
    let token = Served::visitor(pool).await?;
    let join = Request::to("POST", "/api/v1/events/room/queue").token(&token).bare();
    Served::ask::<serde_json::Value>(pool, join).await?;
    Ok(token)
}

/// Watches a stream until "your turn", and says when that came.
async fn watch(
    address: std::net::SocketAddr,
    token: String,
    opened: Arc<AtomicU64>,
    opening: Arc<Semaphore>,
) -> Result<Instant, String> {
    let turn = opening.acquire().await.map_err(|error| error.to_string())?;
    let request = Request::to("GET", "/api/v1/events/room/stream").token(&token).bare();
    let mut stream =
        EventStream::open(address, &request).await.map_err(|error| error.to_string())?;
    // The first messages come at once; with them the stream is what it will be.
    let mut message = stream.next().await;
    drop(turn);
    opened.fetch_add(1, Ordering::Release);
    loop {
        match message.map_err(|error| error.to_string())? {
            Some(text) if text.contains("\"your_turn\"") => return Ok(Instant::now()),
            Some(text) if text.contains("\"bye\"") => {
                return Err(format!("a stream was ended: {text}"));
            }
            Some(_) => {}
            None => return Err("a stream ended".into()),
        }
        message = stream.next().await;
    }
}
