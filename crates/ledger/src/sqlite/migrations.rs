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
    include_str!("../../migrations/sqlite/V19__sagas_in_order.sql"),
    include_str!("../../migrations/sqlite/V20__back_at_desk.sql"),
    include_str!("../../migrations/sqlite/V21__confirmed_at.sql"),
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
    use crate::booking::{BookingFilter, BookingText, BuyerOf};
    use crate::lists::{self, TextIs};
    use crate::receipt::ReceiptRule;
    use crate::rows::Record;
    use crate::saga::{Saga, SagaFilter};
    use onrush_core::Time;
    use onrush_core::hold::HoldStatus;

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
        let rule = ReceiptRule { with_sandbox: false, from: Some(Time(5)) };
        let money = lists::open_money(rule);
        for sql in [ABOUT.as_str(), &money, whose, theirs, of, &sagas] {
            for step in plan(&tables, sql) {
                let table = step.strip_prefix("SCAN ").and_then(|what| what.split(' ').next());
                assert!(table.is_none_or(|table| !GROW.contains(&table)), "{step}: {sql}");
            }
        }
    }

    #[test]
    fn a_page_of_all_sagas_is_read_in_the_order_of_an_index() {
        let tables = Connection::open_in_memory().expect("opened");
        run(&tables).expect("made");
        for stuck in [None, Some(false), Some(true)] {
            let filter = SagaFilter { stuck, ..SagaFilter::default() };
            let sagas = lists::sagas(&SQLITE, &filter, 9);
            let (sagas, _) = sagas.query(&Saga::list()).expect("there can be some");
            for step in plan(&tables, &sagas) {
                assert!(step.starts_with("SCAN sagas USING INDEX "), "{step}: {sagas}");
            }
        }
    }

    #[test]
    fn bookings_of_an_address_are_found_by_it_whatever_else_is_asked_of_them() {
        let tables = Connection::open_in_memory().expect("opened");
        run(&tables).expect("made");
        let event = Some("gala".parse().expect("an id"));
        let user = Some("ann".parse().expect("an id"));
        for filter in [
            BookingFilter::default(),
            BookingFilter { event, ..BookingFilter::default() },
            BookingFilter { user, ..BookingFilter::default() },
            BookingFilter { status: Some(HoldStatus::Held), ..BookingFilter::default() },
        ] {
            for after in [None, Some("5/gala.1".to_owned())] {
                let text = Some(BookingText::OfAnything("a@x.org".into()));
                let filter = BookingFilter { text, after, ..filter.clone() };
                let bookings = lists::bookings(&SQLITE, &filter, TextIs::Address, 9);
                let (bookings, _) = bookings.query("*").expect("there can be some");
                let by_address = [
                    "SEARCH buyers USING INDEX buyers_by_email (email_lower=?)",
                    "SEARCH bookings USING INDEX sqlite_autoindex_bookings_1 (booking_id=?)",
                ];
                assert_eq!(plan(&tables, &bookings)[..2], by_address, "{bookings}");
            }
        }
    }

    /// How SQLite goes about a statement.
    fn plan(tables: &Connection, sql: &str) -> Vec<String> {
        let mut plan = tables.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).expect("a plan");
        let mut steps = plan.raw_query();
        let mut told = Vec::new();
        while let Some(step) = steps.next().expect("a step") {
            told.push(step.get(3).expect("a text"));
        }
        told
    }
}
