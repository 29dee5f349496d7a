//! What is written most often, by many at once: transitions, requests, and what became of deliveries.

use super::fault::Fault;
use super::nodes::Membership;
use super::requests::{self, Beginning, Finishing, Leaving};
use super::writer::{Job, Slot};
use super::{deliveries, sagas};
use crate::delivery::Delivered;
use crate::request::Begun;
use crate::saga::Transition;
use deadpool_postgres::Transaction;
use onrush_core::ids::BookingId;
use std::collections::HashMap;
use std::sync::Arc;

/// One of them.
pub(super) enum Write {
    Advance(Box<Transition>, Slot<()>),
    Begin(Beginning, Arc<Membership>, Slot<Begun>),
    Finish(Finishing, Slot<()>),
    Leave(Leaving, Slot<()>),
    Delivered { channel: String, outcomes: Vec<(String, Delivered)>, slot: Slot<()> },
}

/// What a write touches. Two that touch the same are done one after the other.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Touched {
    Saga(BookingId),
    Request(String, String),
    Delivery(String, String),
}

impl Write {
    fn touches(&self) -> Vec<Touched> {
        match self {
            Self::Advance(transition, _) => vec![Touched::Saga(transition.saga.booking.clone())],
            Self::Begin(Beginning { key, .. }, ..)
            | Self::Finish(Finishing { key, .. }, _)
            | Self::Leave(Leaving { key, .. }, _) => {
                vec![Touched::Request(key.scope.clone(), key.key.clone())]
            }
            Self::Delivered { channel, outcomes, .. } => outcomes
                .iter()
                .map(|(message, _)| Touched::Delivery(message.clone(), channel.clone()))
                .collect(),
        }
    }
}

/// Parts writes into rounds, so that none touches the same twice and everybody's order is kept.
fn rounds(jobs: &mut [Write]) -> Vec<Vec<&mut Write>> {
    let mut last: HashMap<Touched, usize> = HashMap::new();
    let mut rounds: Vec<Vec<&mut Write>> = Vec::new();
    for job in jobs {
        let touched = job.touches();
        let after = touched.iter().filter_map(|what| last.get(what)).max();
        let round = after.map_or(0, |after| after + 1);
        last.extend(touched.into_iter().map(|what| (what, round)));
        if rounds.len() <= round {
            rounds.resize_with(round + 1, Vec::new);
        }
        rounds[round].push(job);
    }
    rounds
}

impl Job for Write {
    async fn run(jobs: &mut [Self], db: &Transaction<'_>) -> Result<(), Fault> {
        for round in rounds(jobs) {
            run_round(round, db).await?;
        }
        Ok(())
    }

    fn answer(self, failure: Option<&str>) {
        match self {
            Self::Begin(_, _, slot) => slot.answer(failure),
            Self::Advance(_, slot)
            | Self::Finish(_, slot)
            | Self::Leave(_, slot)
            | Self::Delivered { slot, .. } => slot.answer(failure),
        }
    }
}

async fn run_round(round: Vec<&mut Write>, db: &Transaction<'_>) -> Result<(), Fault> {
    let (mut advances, mut begins, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    let (mut told, mut left) = (Vec::new(), Vec::new());
    let (mut done, mut here) = (Vec::new(), None);
    for write in round {
        match write {
            Write::Advance(transition, slot) => advances.push((&**transition, slot)),
            Write::Begin(beginning, membership, slot) => {
                here = Some(membership.clone());
                begins.push((&*beginning, slot));
            }
            Write::Finish(finishing, slot) => {
                ends.push(&*finishing);
                done.push(slot);
            }
            Write::Leave(leaving, slot) => {
                left.push(&*leaving);
                done.push(slot);
            }
            Write::Delivered { channel, outcomes, slot } => {
                told.extend(outcomes.iter().map(|outcome| (channel.as_str(), outcome)));
                done.push(slot);
            }
        }
    }
    if !advances.is_empty() {
        sagas::advance(db, advances).await?;
    }
    if let Some(membership) = here {
        requests::begin(db, &membership, begins).await?;
    }
    if !ends.is_empty() {
        requests::finish(db, &ends).await?;
    }
    if !left.is_empty() {
        requests::leave_behind(db, &left).await?;
    }
    if !told.is_empty() {
        deliveries::delivered(db, &told).await?;
    }
    for slot in done {
        slot.put(Ok(()));
    }
    Ok(())
}
