//! What brings a ledger's tables up to date, one step after the other.

use rusqlite::Connection;

/// The steps, in order. Step `n` makes version `n`; one that was released is never changed.
const STEPS: &[&str] = &[
    include_str!("../../migrations/sqlite/V1__tables.sql"),
    include_str!("../../migrations/sqlite/V2__desk.sql"),
    include_str!("../../migrations/sqlite/V3__askers.sql"),
    include_str!("../../migrations/sqlite/V4__links.sql"),
    include_str!("../../migrations/sqlite/V5__journal.sql"),
    include_str!("../../migrations/sqlite/V6__mailed.sql"),
    include_str!("../../migrations/sqlite/V7__causes.sql"),
    include_str!("../../migrations/sqlite/V8__prices.sql"),
    include_str!("../../migrations/sqlite/V9__types.sql"),
    include_str!("../../migrations/sqlite/V10__receipts.sql"),
    include_str!("../../migrations/sqlite/V11__capture.sql"),
    include_str!("../../migrations/sqlite/V12__keys.sql"),
    include_str!("../../migrations/sqlite/V13__retention.sql"),
    include_str!("../../migrations/sqlite/V14__addressees.sql"),
    include_str!("../../migrations/sqlite/V15__named.sql"),
    include_str!("../../migrations/sqlite/V16__found.sql"),
    include_str!("../../migrations/sqlite/V17__named_for.sql"),
    include_str!("../../migrations/sqlite/V18__left_behind.sql"),
];

/// The version that this program reads and writes, SQLite's `user_version`.
pub(super) const NEWEST: u32 = STEPS.len() as u32;

/// The version of the tables; 0 if there are none.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Runs the steps that are missing, all of them or none. A newer version is left alone.
pub(super) fn run(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let steps = || {
        for (step, number) in STEPS.iter().zip(1..).skip(version(connection)? as usize) {
            connection.execute_batch(step)?;
            connection.execute_batch(&format!("PRAGMA user_version = {number}"))?;
        }
        connection.execute_batch("COMMIT")
    };
    let outcome = steps();
    if outcome.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::super::deliveries::ABOUT;
    use super::super::query::SQLITE;
    use super::*;
    use crate::booking::BuyerOf;
    use crate::lists;
    use crate::rows::Record;
    use crate::saga::{Saga, SagaFilter};

    /// Tables that grow with all that is sold.
    const GROW: [&str; 7] =
        ["bookings", "buyers", "messages", "payments", "receipts", "refunds", "sagas"];

    #[test]
    fn what_is_asked_of_one_event_booking_or_visitor_needs_no_look_at_all_there_are() {
        let tables = Connection::open_in_memory().expect("opened");
        run(&tables).expect("made");
        let event: onrush_core::ids::EventId = "gala".parse().expect("an id");
        let of_event = SagaFilter { event: Some(event.clone()), ..SagaFilter::default() };
        let sagas = lists::sagas(&SQLITE, &of_event, 9);
        let (sagas, _) = sagas.query(&Saga::list()).expect("there can be some");
        let whose = lists::bookings_of(&BuyerOf::Event(event));
        let theirs = lists::bookings_of(&BuyerOf::User("ann".parse().expect("an id")));
        let of = lists::USER_OF;
        for sql in [ABOUT.as_str(), lists::OPEN_MONEY.as_str(), whose, theirs, of, &sagas] {
            let plan = format!("EXPLAIN QUERY PLAN {sql}");
            let mut plan = tables.prepare(&plan).expect("a plan");
            let mut steps = plan.raw_query();
            while let Some(step) = steps.next().expect("a step") {
                let step: String = step.get(3).expect("a text");
                let table = step.strip_prefix("SCAN ").and_then(|what| what.split(' ').next());
                assert!(table.is_none_or(|table| !GROW.contains(&table)), "{step}: {sql}");
            }
        }
    }
}
