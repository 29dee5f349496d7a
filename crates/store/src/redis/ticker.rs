//! Ticks: what is due in any event is decided by whichever node comes first.
//!
//! Every node looks at every event from time to time, so that the deadlines of a node that died are
//! met; in between it looks at an event when something changed there, and when it said that
//! something will be due. The scripts look at capacity and outflow themselves, so that any number
//! of nodes may run them. `looks.rs` says when it is which event's turn.

use super::hindrance;
use super::keys;
use super::looks::{Looked, Plan, Ticked, plan_next};
use super::node::Node;
use super::scripts;
use super::start;
use super::wire::{self, Call, ListOfEntrants, Outcome, Setback};
use crate::engine::Failure;
use onrush_core::ids::{EventId, UserId};
use onrush_core::{Refusal, Time};
use serde::Deserialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// Things one script decides at most: others wait that long, about a millisecond.
const AT_ONCE: u32 = 32;
/// How often a tick goes on looking for who lapses: each time it looks at some thousand places.
const LOOKS: usize = 32;

#[derive(Deserialize)]
struct TickedReply {
    ticked: TickedBody,
}

#[derive(Deserialize)]
struct TickedBody {
    count: u32,
    next: Option<i64>,
    #[serde(default)]
    needs: Vec<UserId>,
}

impl Node {
    /// Decides what is due in an event, `most` things at most.
    ///
    /// The refusal is that there is no such event.
    pub(super) async fn tick(&self, event: &EventId, most: u32) -> Result<Ticked, Failure> {
        let mut needed: Vec<UserId> = Vec::new();
        let (mut count, mut looks) = (0, 0);
        loop {
            let left = most - count;
            let tick = |list: &ListOfEntrants| self.tick_call(event, left, list, &needed);
            let (at, reply) = match self.with_entrants(event, tick).await? {
                Outcome::Ok { at, reply, .. } => (at, reply),
                Outcome::No { refusal, .. } => return Err(Failure::Refused(refusal)),
                Outcome::Other(Setback::Busy { retry_after_ms }) => {
                    return Err(Failure::Busy { retry_after_ms });
                }
                Outcome::Other(
                    Setback::Lost
                    | Setback::Away { .. }
                    | Setback::Entrants { .. }
                    | Setback::Draw
                    | Setback::Stale,
                ) => return Err(Failure::Busy { retry_after_ms: 1_000 }),
            };
            let ticked = match wire::read_json::<TickedReply>(&reply) {
                Ok(reply) => reply.ticked,
                Err(error) => {
                    tracing::error!(%error, "a tick's answer");
                    return Err(Failure::Unreachable);
                }
            };
            count += ticked.count;
            let next = ticked.next.map(Time);
            // Something is due and nothing was done: whoever lapses stands further down the line
            // than was looked.
            let looks_on = ticked.count == 0 && next.is_some_and(|next| next <= at);
            let asks = !ticked.needs.is_empty() && ticked.needs != needed;
            looks += 1;
            if count >= most || !(asks || looks_on) || looks >= LOOKS {
                return Ok(Ticked { at, count, next });
            }
            needed = ticked.needs;
        }
    }

    fn tick_call(
        &self,
        event: &EventId,
        most: u32,
        list: &ListOfEntrants,
        users: &[UserId],
    ) -> Call {
        let mut args = vec![most.to_string()];
        args.extend(wire::list_args(list));
        args.extend(users.iter().map(UserId::to_string));
        let mut call = Call::new(&scripts::TICK, args);
        call.keys.extend(users.iter().map(|user| keys::places_of(event, user)));
        call
    }
}

/// Looks at events until it is dropped. An event that is out of reach is looked at again later.
pub(super) async fn run(node: Arc<Node>, sweep: Duration) {
    let mut plan = Plan::default();
    let mut looks: JoinSet<Result<Ticked, Failure>> = JoinSet::new();
    let mut running: HashMap<tokio::task::Id, EventId> = HashMap::new();
    // Asked for beside the looks: the list's shard may be the one that does not answer.
    let mut lists = JoinSet::new();
    let mut unlisted = HashSet::new();
    let mut next_sweep = Instant::now();
    loop {
        let now = Instant::now();
        if now >= next_sweep {
            next_sweep = now + sweep;
            if lists.is_empty() {
                let node = Arc::clone(&node);
                lists.spawn(async move {
                    // Nobody else may ask whether Redis takes writes until a buyer finds that out.
                    let (listed, _looked) =
                        tokio::join!(node.known_events(), hindrance::look(&node));
                    listed.ok()
                });
            }
        }
        plan.note_slow(now);
        for event in node.wakes().take() {
            plan.look_soon(&event, now);
        }
        while let Some(event) = plan.take_due(now) {
            let node = Arc::clone(&node);
            // It was missing when the list was read: what that look does not mend, a later list tells.
            let (looked_at, is_unlisted) = (event.clone(), unlisted.remove(&event));
            let task = looks.spawn(async move { look(&node, &event, is_unlisted).await });
            running.insert(task.id(), looked_at);
        }
        let next = plan.next().map_or(next_sweep, |next| next.min(next_sweep));
        tokio::select! {
            () = node.wakes().notify.notified() => {}
            () = sleep_until(next) => {}
            Some(listed) = lists.join_next() => {
                let mut events = node.events_here();
                if let Ok(Some(listed)) = listed {
                    unlisted = missing_in(&listed, &events);
                    events = listed.into_iter().chain(unlisted.iter().cloned()).collect();
                }
                let now = Instant::now();
                node.wakes().take_doubted().iter().for_each(|event| plan.doubt(event, now));
                plan.sweep(&events, now, sweep);
            }
            Some(joined) = looks.join_next_with_id() => {
                let (task, ticked) = joined.unwrap_or_else(|error| {
                    tracing::error!(%error, "a look at an event has panicked; it is looked at again");
                    (error.id(), Err(Failure::Unreachable))
                });
                let event = running.remove(&task).expect("who looks is known");
                plan.done(&event, Looked::of(&ticked, sweep));
                plan_next(&mut plan, &event, &ticked);
            }
        }
    }
}

/// Which of these events the list lacks.
fn missing_in(listed: &[EventId], events: &[EventId]) -> HashSet<EventId> {
    let listed: HashSet<&EventId> = listed.iter().collect();
    events.iter().filter(|event| !listed.contains(event)).cloned().collect()
}

/// Decides what is due in an event, and clears away what is left of an archived one. One that is
/// there and in no list is listed again.
async fn look(node: &Node, event: &EventId, is_unlisted: bool) -> Result<Ticked, Failure> {
    let ticked = node.tick(event, AT_ONCE).await;
    if is_unlisted && ticked.is_ok() {
        tracing::warn!(%event, "Redis' list of events had lost it; it is listed again");
        if let Err(error) = start::list_event_again(node, event).await {
            tracing::warn!(%event, %error, "it is listed again later");
        }
    }
    if let Err(Failure::Refused(Refusal::EventArchived { archived_at })) = &ticked
        && let Err(failure) = node.clear_away(event).await
    {
        tracing::warn!(%event, %failure, "what is left of an archived event goes later");
        // What is listed is looked at again.
        drop(node.list_event(event, *archived_at).await);
    }
    ticked
}
