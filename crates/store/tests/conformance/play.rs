//! Plays a sequence on an engine, compares everything with the rules, and makes a failing sequence short.

use crate::truth::{Decided, Op, Outcome, Truth};
use crate::world::{START, USERS, user};
use onrush_core::ids::{EventId, SeatId};
use onrush_core::question::{
    AvailabilityNow, BansAfter, BookingOf, BookingsOf, ChannelsNow, ClaimOf, EventNow, PlaceOf,
    SeatsNow,
};
use onrush_core::snapshot::SnapshotRow;
use onrush_core::spec::SeatSpec;
use onrush_core::{Command, Event, Query, Refusal, Reply, Time, View};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// Operations between two comparisons of the whole state.
const LOOK_EVERY: usize = 40;
/// How long a failing sequence may be made shorter.
const SHRINK_TIME: Duration = Duration::from_secs(40);

/// What an engine could not do, as a sentence.
pub(crate) type Trouble = String;

/// An engine under test. Each sequence has an event of its own.
pub(crate) trait Subject {
    /// Begins another sequence: an event that does not exist yet.
    fn begin(&mut self, clock: Time) -> EventId;

    /// Sets the clock; gives what that alone brought about.
    fn set_clock(&mut self, clock: Time) -> Result<Vec<Decided>, Trouble>;

    fn run(&mut self, command: &Command) -> Result<Outcome, Trouble>;

    /// Sends the last command once more, as the same request; `None` if the engine knows no requests.
    fn resend(&mut self) -> Result<Option<Outcome>, Trouble>;

    /// Puts this state in place of what the engine has; false if there is no such thing.
    fn refill(&mut self, event: &Event) -> Result<bool, Trouble>;

    /// The answer to a question; `None` if the engine is not asked.
    fn query(&mut self, query: &Query) -> Result<Option<Result<View, Refusal>>, Trouble>;

    /// When the event is due; `None` if the engine does not tell.
    fn next_deadline(&mut self) -> Result<Option<Option<Time>>, Trouble>;

    /// The whole state, if the engine shows it; seats' sections, rows and numbers are taken from `seats`.
    fn rows(
        &mut self,
        seats: &BTreeMap<SeatId, SeatSpec>,
    ) -> Result<Option<Vec<SnapshotRow>>, Trouble>;

    /// What is wrong beyond the rows: counts, indexes, deadlines, keys that should not be there.
    fn leftovers(&mut self, event: &Event) -> Result<Vec<String>, Trouble>;
}

/// Where an engine and the rules part.
#[derive(Clone, Debug)]
pub(crate) struct Mismatch {
    /// After this operation.
    pub(crate) op: usize,
    pub(crate) what: String,
}

/// Plays a sequence.
pub(crate) fn play(
    ops: &[Op],
    settles: bool,
    subject: &mut dyn Subject,
) -> Result<Truth, Mismatch> {
    let event = subject.begin(START);
    let mut truth = Truth::new(Event::new(event), START, settles);
    let mut last = None;
    for (index, op) in ops.iter().enumerate() {
        let compared = step(op, &mut truth, &mut last, subject).and_then(|()| {
            let look = (index + 1).is_multiple_of(LOOK_EVERY) || index + 1 == ops.len();
            if look { look_at_everything(&truth.event, truth.now(), subject) } else { Ok(()) }
        });
        compared.map_err(|what| Mismatch { op: index, what })?;
    }
    Ok(truth)
}

fn step(
    op: &Op,
    truth: &mut Truth,
    last: &mut Option<Outcome>,
    subject: &mut dyn Subject,
) -> Result<(), String> {
    match op {
        Op::Clock(clock) => {
            let decided = truth.set_clock(*clock);
            same("what became due", &decided, &subject.set_clock(*clock)?)?;
            // A request that is resent much later is not known any more.
            *last = None;
            Ok(())
        }
        Op::Command(command) => {
            let expected = truth.run(command);
            let outcome = subject.run(command)?;
            same("the answer", &expected.answer, &outcome.answer)?;
            same("the changes", &expected.decided, &outcome.decided)?;
            same_deadline(&truth.event, subject)?;
            // A tick that comes twice does the next thing, too.
            *last = (!matches!(**command, Command::Tick)).then_some(expected);
            Ok(())
        }
        Op::Refill => {
            *last = None;
            if truth.event.snapshot().next().is_some() && subject.refill(&truth.event)? {
                look_at_everything(&truth.event, truth.now(), subject)?;
            }
            Ok(())
        }
        Op::Resend => {
            let Some(last) = last.as_ref() else { return Ok(()) };
            let Some(outcome) = subject.resend()? else { return Ok(()) };
            same("what changes when a request comes twice", &Vec::new(), &outcome.decided)?;
            // A refusal changed nothing, so it is decided afresh; an acceptance is answered as before.
            match &last.answer {
                Ok((_, reply)) if !last.decided.is_empty() => {
                    let again = outcome.answer.map(|(_, reply)| reply);
                    if let (Reply::Place(view), Err(Refusal::Duplicate { place })) = (reply, &again)
                    {
                        // Whoever joins twice is told of their place: that names the same one.
                        return same("the place that is taken", &view.place, place);
                    }
                    same("the answer when a request comes twice", &Ok(reply.clone()), &again)
                }
                Ok(_) | Err(_) => Ok(()),
            }
        }
    }
}

/// Tells two values apart.
pub(crate) fn same<T: Debug + PartialEq>(
    what: &str,
    expected: &T,
    found: &T,
) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    Err(format!("{what}\n  rules:  {expected:?}\n  engine: {found:?}"))
}

fn same_deadline(event: &Event, subject: &mut dyn Subject) -> Result<(), String> {
    match subject.next_deadline()? {
        Some(due) => {
            // Whether a tick is due "whatever the clock says" or since the beginning of time is the same.
            let expected = event.next_deadline().map(|due| due.max(Time(0)));
            same("the next deadline", &expected, &due.map(|due| due.max(Time(0))))
        }
        None => Ok(()),
    }
}

/// Compares views, rows and what is left over.
pub(crate) fn look_at_everything(
    event: &Event,
    now: Time,
    subject: &mut dyn Subject,
) -> Result<(), String> {
    event.check().map_err(|broken| format!("the rules themselves: {broken:?}"))?;
    let rows: Vec<_> = event.snapshot().collect();
    let seats = rows.iter().filter_map(|row| match row {
        SnapshotRow::Seat(row) => Some((row.spec.seat.clone(), row.spec.clone())),
        _ => None,
    });
    if let Some(found) = subject.rows(&seats.collect())? {
        same_rows(&rows, &found)?;
    }
    for query in queries(&rows) {
        let expected = event.query(now, &query);
        let Some(mut found) = subject.query(&query)? else { continue };
        if let Ok(View::Event(view)) = &mut found {
            // Engines keep many events apart, tables have one.
            view.event = event.id().clone();
        }
        same(&format!("the answer to {query:?}"), &expected, &found)?;
    }
    same_deadline(event, subject)?;
    same("leftovers", &Vec::new(), &subject.leftovers(event)?)
}

/// Compares states row by row, so that the first difference is the one that is told.
pub(crate) fn same_rows(expected: &[SnapshotRow], found: &[SnapshotRow]) -> Result<(), String> {
    for (expected, found) in expected.iter().zip(found) {
        same("the state", expected, found)?;
    }
    let shorter = expected.len().min(found.len());
    same("rows at the end of the state", &&expected[shorter..], &&found[shorter..])
}

/// Every question there is to ask about this state, and some about what does not exist.
fn queries(rows: &[SnapshotRow]) -> Vec<Query> {
    /// A line of thousands is not asked about place by place.
    const MOST: usize = 300;
    /// Redis answers with all bans, whatever the page.
    const MOST_PAGES_OF_BANS: usize = 20;
    let rows = &rows[..rows.len().min(MOST)];
    let all_bans = BansAfter { after: None, at_most: u32::MAX };
    let mut queries: Vec<Query> = vec![
        EventNow.into(),
        AvailabilityNow.into(),
        SeatsNow.into(),
        ChannelsNow.into(),
        all_bans.into(),
    ];
    let users = rows.iter().filter_map(|row| match row {
        SnapshotRow::Place(row) => Some(row.user.clone()),
        SnapshotRow::Session(row) => Some(row.user.clone()),
        SnapshotRow::Hold(row) => Some(row.terms.user.clone()),
        SnapshotRow::Claim(row) => row.user.clone(),
        SnapshotRow::Ban(ban) => Some(ban.user.clone()),
        SnapshotRow::Gone(_)
        | SnapshotRow::Archived(_)
        | SnapshotRow::Event(_)
        | SnapshotRow::Channel(_)
        | SnapshotRow::Pool(_)
        | SnapshotRow::Category(_)
        | SnapshotRow::Types(_)
        | SnapshotRow::Seat(_) => None,
    });
    let users: BTreeSet<_> = (0..USERS).map(user).chain(users).collect();
    for user in users {
        queries.push(PlaceOf { user: user.clone(), place: None }.into());
        let page = |after, limit| Query::from(BookingsOf { user: user.clone(), after, limit });
        queries.extend([0, 1, 2, u32::MAX].map(|limit| page(None, limit)));
        // After each of their own, and after other users'.
        for row in rows {
            if let SnapshotRow::Hold(row) = row {
                queries.push(page(Some(row.terms.booking.clone()), 2));
            }
        }
    }
    let nobody = || "nobody".parse().expect("an id");
    for row in rows {
        match row {
            SnapshotRow::Place(row) => {
                let place = Some(row.place);
                queries.push(PlaceOf { user: row.user.clone(), place }.into());
                queries.push(PlaceOf { user: nobody(), place }.into());
            }
            SnapshotRow::Session(row) => {
                queries.push(PlaceOf { user: row.user.clone(), place: Some(row.place) }.into());
            }
            SnapshotRow::Hold(row) => {
                let booking = row.terms.booking.clone();
                queries.push(BookingOf { booking: booking.clone(), user: None }.into());
                let user = Some(row.terms.user.clone());
                queries.push(BookingOf { booking: booking.clone(), user }.into());
                queries.push(BookingOf { booking, user: Some(nobody()) }.into());
            }
            SnapshotRow::Claim(row) => {
                let claim = row.claim.clone();
                queries.push(ClaimOf { claim: claim.clone(), user: None }.into());
                queries.push(ClaimOf { claim: claim.clone(), user: row.user.clone() }.into());
                queries.push(ClaimOf { claim, user: Some(nobody()) }.into());
            }
            SnapshotRow::Ban(_)
            | SnapshotRow::Gone(_)
            | SnapshotRow::Archived(_)
            | SnapshotRow::Event(_)
            | SnapshotRow::Channel(_)
            | SnapshotRow::Pool(_)
            | SnapshotRow::Category(_)
            | SnapshotRow::Types(_)
            | SnapshotRow::Seat(_) => {}
        }
    }
    let bans = rows.iter().filter_map(|row| match row {
        SnapshotRow::Ban(ban) => Some(ban.user.clone()),
        _ => None,
    });
    let pages_of_bans =
        bans.take(MOST_PAGES_OF_BANS).map(|user| BansAfter { after: Some(user), at_most: 2 });
    queries.extend(pages_of_bans.map(Query::from));
    queries
}

/// A shorter sequence that fails, too.
pub(crate) fn shrink(
    mut ops: Vec<Op>,
    mut mismatch: Mismatch,
    mut fails: impl FnMut(&[Op]) -> Option<Mismatch>,
) -> (Vec<Op>, Mismatch) {
    let begin = Instant::now();
    ops.truncate(mismatch.op + 1);
    let mut chunk = ops.len().div_ceil(2);
    loop {
        let mut shorter_found = false;
        // From the end, because what came last has least that depends on it.
        let mut end = ops.len();
        while end > 0 && begin.elapsed() < SHRINK_TIME {
            let from = end.saturating_sub(chunk);
            let mut shorter = ops.clone();
            shorter.drain(from..end);
            if let Some(found) = fails(&shorter) {
                shorter.truncate(found.op + 1);
                (ops, mismatch, shorter_found) = (shorter, found, true);
            }
            end = from.min(ops.len());
        }
        if begin.elapsed() >= SHRINK_TIME || (chunk == 1 && !shorter_found) {
            return (ops, mismatch);
        }
        chunk = chunk.div_ceil(2);
    }
}
