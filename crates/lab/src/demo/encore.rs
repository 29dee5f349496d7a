//! `--stay`: after the evening a second sale goes on for people, among a crowd that keeps coming.

use super::api::{Api, Obstacle};
use super::args::DemoArgs;
use super::fan::{Fan, MAX_PER_USER, Manner, Record, Sale};
use super::house::House;
use super::venue::Venue;
use crate::load::Pool;
use onrush_server::Server;
use onrush_terminal::show::{Progress, count, say};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// The event.
pub(super) const EVENT: &str = "encore";
/// How long the crowd is to take for the house, at least, in minutes: time to look around.
const HOUSE_LASTS_MIN: u64 = 25;
/// How long somebody who joins waits for their turn, about, in seconds.
const WAIT_S: u32 = 40;
/// How often somebody is sent to join at most: people come in steps of it.
const STEP: Duration = Duration::from_millis(100);
/// How often it is looked whether there is anything left.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long those who are paying when it ends have for it.
const LAST_CALL: Duration = Duration::from_secs(20);
/// How long the ledger may take to hear of everything.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many people a minute are let in, so that the house lasts.
fn outflow_per_min(capacity: u64) -> u32 {
    // One who is let in takes two units, about.
    let outflow = capacity / HOUSE_LASTS_MIN / 2;
    u32::try_from(outflow.clamp(30, 600)).unwrap_or(600)
}

/// How many people wait, so that one more waits for about as long as is wanted.
fn line(outflow_per_min: u32) -> u32 {
    (outflow_per_min * WAIT_S / 60).max(1)
}

/// What it takes to create the event: deadlines for people, and a room that a person waits for.
fn wish(outflow_per_min: u32, now_ms: u128) -> String {
    const DAY_MS: u128 = 86_400_000;
    let starts_at = now_ms + 30 * DAY_MS;
    // Those who vanish keep their slot until their session is over, so there are more slots than
    // people who shop.
    let capacity = outflow_per_min;
    format!(
        "{{\"event\":\"{EVENT}\",\"title\":\"The encore\",\"currency\":\"EUR\",\"starts_at\":{starts_at},\
         \"room\":{{\"capacity\":{capacity},\"outflow_per_min\":{outflow_per_min},\"session_ms\":600000,\
         \"arrive_ms\":120000,\"max_queue_size\":1000000}},\
         \"hold_ttl_ms\":600000,\"payment_window_ms\":600000,\"max_per_user\":{MAX_PER_USER},\
         \"fees\":{{\"fixed_minor\":100,\"percent_bp\":500}},\
         \"refunds\":[{{\"days_before\":1,\"percent\":100}}]}}"
    )
}

/// Sells until `interrupted`; the ids of those who were the crowd.
pub(super) async fn sell(
    args: &DemoArgs,
    venue: &Venue,
    server: &Server,
    key: &str,
    interrupted: &mut JoinHandle<()>,
) -> Result<BTreeSet<String>, Obstacle> {
    let sandbox = server.sandbox().ok_or_else(|| "the server has no sandbox".to_owned())?;
    let connections = args.connections as usize;
    let pool = Pool::new(server.public_addr(), connections);
    let api = Api::new(pool, Pool::new(sandbox.address(), connections.div_ceil(2)), EVENT);
    let outflow = outflow_per_min(venue.capacity());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    venue.set_up(&api, key, &wish(outflow, now.as_millis())).await?;
    let house = House::new(api.seats(Instant::now()).await?);
    let (over_now, over) = watch::channel(false);
    let sale = Arc::new(Sale { api, house, over });
    let address = server.public_addr();
    say(&format!(
        "the encore is on sale at http://{address}/events/{EVENT}: {} places, and a wait of about \
         {WAIT_S} s; Ctrl-C ends it",
        count(venue.capacity())
    ));

    let mut crowd =
        Crowd { seed: args.seed, sale: &sale, fans: JoinSet::new(), come: 0, troubles: 0 };
    let mut progress = Progress::new(venue.capacity());
    let sold = tokio::select! {
        sold = crowd.keep_coming(line(outflow), key, &mut progress) => sold,
        _ = interrupted => Ok(()),
    };
    progress.finish();
    say("the crowd goes home");
    over_now.send_replace(true);
    crowd.go_home().await;
    sold?;
    followed(server).await?;
    Ok(sale.api.crowd())
}

/// Those who keep coming.
struct Crowd<'a> {
    seed: u64,
    sale: &'a Arc<Sale>,
    fans: JoinSet<Record>,
    /// How many have come.
    come: u32,
    /// How many met with what must not happen.
    troubles: u64,
}

impl Crowd<'_> {
    /// Opens the sale once enough people wait, and sends more of them as long as there is something left.
    async fn keep_coming(
        &mut self,
        line: u32,
        key: &str,
        progress: &mut Progress,
    ) -> Result<(), Obstacle> {
        let api = &self.sale.api;
        let mut step = tokio::time::interval(STEP);
        let mut look_at = Instant::now();
        let (mut missing, mut is_open, mut was_left) = (line, false, true);
        loop {
            step.tick().await;
            while let Some(ended) = self.fans.try_join_next() {
                let trouble = ended.map_or_else(|error| Some(error.to_string()), |fan| fan.trouble);
                tell(&mut self.troubles, trouble);
            }
            if Instant::now() >= look_at {
                look_at = Instant::now() + LOOK_EVERY;
                let now = api.event(Instant::now()).await?;
                if !is_open && now.waiting >= line {
                    api.admin("POST", &format!("/{EVENT}/open"), key, "{}").await?;
                    is_open = true;
                }
                let is_left = now.units.free > 0;
                // The organiser may pause or close it: then nobody comes until it goes on.
                let may_join = matches!(now.phase.as_str(), "prequeue" | "open");
                missing = match is_left && may_join {
                    true => line.saturating_sub(now.waiting),
                    false => 0,
                };
                if was_left && !is_left {
                    say("the encore is sold out; the pages stay until Ctrl-C");
                }
                was_left = is_left;
                let (waiting, active) = (count(now.waiting.into()), count(now.active.into()));
                progress.show(
                    now.units.sold.into(),
                    &format!("sold in the encore, {waiting} waiting, {active} in the room"),
                );
            }
            if missing > 0 {
                missing -= 1;
                self.come += 1;
                // Every fourth waits by an open stream.
                let watches = self.come.is_multiple_of(4);
                // The evening's fans have the lower numbers.
                let manner = Manner { watches_stream: watches, insists: false };
                let number = u32::MAX - self.come;
                let fan = Fan::new(self.seed, number, Instant::now(), manner);
                self.fans.spawn(fan.live(Arc::clone(self.sale)));
            }
        }
    }

    /// Lets those who hold something bring it to an end, for a while.
    async fn go_home(&mut self) {
        let all_gone = async {
            while let Some(ended) = self.fans.join_next().await {
                let trouble = ended.map_or_else(|error| Some(error.to_string()), |fan| fan.trouble);
                tell(&mut self.troubles, trouble);
            }
        };
        // Whoever takes longer finds their booking as they left it.
        drop(tokio::time::timeout(LAST_CALL, all_gone).await);
        self.fans.shutdown().await;
    }
}

/// Says what happened to a fan that must not happen.
fn tell(troubles: &mut u64, trouble: Option<Obstacle>) {
    /// One that many meet with is known after a few.
    const SHOWN: u64 = 20;
    let Some(trouble) = trouble else { return };
    *troubles += 1;
    if *troubles <= SHOWN {
        say(&format!("a fan met with an error: {trouble}"));
    }
}

/// Waits until the ledger knows all that happened. Holds of those who vanished need not be over.
async fn followed(server: &Server) -> Result<(), Obstacle> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let followed = server.ledger().cursor().await.map_err(|error| error.to_string())?;
        if followed >= server.engine().committed().0 {
            return Ok(());
        }
        tokio::time::sleep(STEP).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_house_lasts_and_a_small_one_keeps_people_waiting_too() {
        // The arena with its standing places, and the smallest theatre.
        for (capacity, outflow, waiting) in
            [(13_920, 278, 185), (100, 30, 20), (1_000_000, 600, 400)]
        {
            assert_eq!(
                (outflow_per_min(capacity), line(outflow_per_min(capacity))),
                (outflow, waiting)
            );
        }
    }

    #[test]
    fn the_wish_is_json() {
        let wish: serde_json::Value = serde_json::from_str(&wish(300, 1_790_000_000_000)).unwrap();
        assert_eq!(
            (&wish["event"], &wish["room"]["outflow_per_min"]),
            (&EVENT.into(), &300.into())
        );
    }
}
