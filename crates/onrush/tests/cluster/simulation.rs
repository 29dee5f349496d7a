//! A short simulation of a cluster, and the judges shown what they must find.

use onrush_sim::cluster::{AtRest, Options, Planted, run_with};
use onrush_testkit::need;
use std::path::PathBuf;

/// A sale with seats, a waiting room and two events.
const SEED: u64 = 2;

#[test]
fn a_simulated_cluster_ends_well_and_whatever_is_falsified_afterwards_is_found() {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_onrush"));
    let options = Options { program, seed: SEED, faults_s: 20, buyers: Some(50) };
    let Some((outcome, findings)) = need(run_with(&options, &PLANTED)) else { return };
    assert!(
        outcome.violations.is_empty(),
        "{:#?}\n{}",
        outcome.violations,
        outcome.story.join("\n")
    );
    assert_eq!(outcome.journeys, 50);
    assert!(outcome.kills > 0 && outcome.lines > 0, "{outcome:?}");
    assert!(outcome.confirmed > 0 && outcome.captures > 0 && outcome.keys > 0, "{outcome:?}");
    let planted = outcome.story.iter().filter(|line| line.contains("the test: "));
    planted.for_each(|line| println!("{line}"));
    let mut before: &[String] = &[];
    for (Planted { what, .. }, found) in PLANTED.iter().zip(&findings) {
        // What could not be mended is found again.
        let fresh: Vec<&String> = found.iter().filter(|one| !before.contains(one)).collect();
        println!("{what}: {} found, such as {:?}", fresh.len(), fresh.first());
        assert_eq!(fresh.is_empty(), *what == NOTHING, "{what}: {fresh:#?}");
        assert!(!fresh.is_empty() || found.is_empty(), "{what}: {found:#?}");
        before = found;
    }
}

const NOTHING: &str = "nothing";

/// What is planted: first what can be made right again, then nothing, to see that it was; then what
/// the bank's book keeps.
const PLANTED: [Planted; 15] = [
    Planted {
        what: "a booking is gone from the ledger",
        plant: |site| keep(site, "bookings", "status = 'confirmed'", "DELETE FROM bookings"),
        mend: |site| put_back(site, "bookings"),
    },
    Planted {
        what: "the ledger takes a confirmed booking for released",
        plant: |site| {
            keep(
                site,
                "bookings",
                "status = 'confirmed'",
                "UPDATE bookings SET status = 'released'",
            )
        },
        mend: |site| put_back(site, "bookings"),
    },
    Planted {
        what: "the ledger takes a booking for confirmed a moment later",
        plant: |site| {
            let later = "UPDATE bookings SET confirmed_at = confirmed_at + 1";
            keep(site, "bookings", "status = 'confirmed' AND confirmed_at > 0", later)
        },
        mend: |site| put_back(site, "bookings"),
    },
    Planted {
        what: "a saga is gone",
        plant: |site| keep(site, "sagas", "current_step = 'CONFIRMED'", "DELETE FROM sagas"),
        mend: |site| put_back(site, "sagas"),
    },
    Planted {
        what: "a payment was for less",
        plant: |site| {
            let less = "UPDATE payments SET captured_minor = captured_minor - 1";
            keep(site, "payments", "captured_minor > 0", less)
        },
        mend: |site| put_back(site, "payments"),
    },
    Planted {
        what: "the archive forgets a confirmation",
        plant: |site| {
            let sold = "changes LIKE '%hold_confirmed%' AND NOT lost";
            keep(site, "feed", sold, "UPDATE feed SET changes = '[]'")
        },
        mend: |site| put_back(site, "feed"),
    },
    Planted {
        what: "a decision is gone from the archive",
        plant: |site| {
            keep(site, "feed", "changes LIKE '%hold_placed%' AND NOT lost", "DELETE FROM feed")
        },
        mend: |site| put_back(site, "feed"),
    },
    Planted {
        what: "a hold in the archive has other units",
        plant: |site| {
            let other = "UPDATE feed SET changes = replace(changes, '\"ga\":1', '\"ga\":2')";
            keep(site, "feed", "changes LIKE '%hold_placed%\"ga\":1%' AND NOT lost", other)
        },
        mend: |site| put_back(site, "feed"),
    },
    Planted {
        what: "the kept answers of keys are other ones",
        plant: |site| {
            site.sql(
                "CREATE TABLE kept AS SELECT * FROM requests; \
                 UPDATE requests SET body = convert_to('{}', 'UTF8') WHERE status = 201",
            )
            .map(drop)
        },
        mend: |site| put_back(site, "requests"),
    },
    Planted {
        what: "Redis has another owner of a seat",
        plant: |site| {
            let (event, _, seat) = confirmed_seat(site)?;
            let (seats, text) =
                (copy(site, &event, "seats")?, field(site, &event, "seats", &seat)?);
            let (before, _) = text.rsplit_once(' ').ok_or("no owner")?;
            let other = format!("{before} {event}.{}", "0".repeat(32));
            site.redis(&["HSET", &seats, &seat, &other]).map(drop)
        },
        mend: |site| copy_back(site, "seats"),
    },
    Planted {
        what: "a booking is gone from Redis",
        plant: |site| {
            let (event, booking, _) = confirmed_seat(site)?;
            let holds = copy(site, &event, "holds")?;
            site.redis(&["HDEL", &holds, &booking]).map(drop)
        },
        mend: |site| copy_back(site, "holds"),
    },
    Planted {
        what: "Redis has one unit more to sell",
        plant: |site| {
            let (event, ..) = confirmed_seat(site)?;
            let pools = copy(site, &event, "pools")?;
            let text = field(site, &event, "pools", "ga")?;
            // index capacity price held sold …
            let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            let capacity: u64 = words[1].parse().map_err(|_| text.clone())?;
            words[1] = (capacity + 1).to_string();
            site.redis(&["HSET", &pools, "ga", &words.join(" ")]).map(drop)
        },
        mend: |site| copy_back(site, "pools"),
    },
    Planted { what: NOTHING, plant: |_| Ok(()), mend: |_| Ok(()) },
    Planted {
        what: "the bank gives back what nobody asked it to",
        plant: |site| {
            let payment = site.sql(
                "SELECT payments.payment_id FROM payments JOIN bookings USING (booking_id) \
                 WHERE captured_minor > 0 AND status = 'confirmed' AND stage = 'captured' LIMIT 1",
            )?;
            let path = format!("/v1/payments/{payment}/refunds");
            site.bank(&path, "nobody", "{\"amount_minor\": 1}")
        },
        mend: |_| Ok(()),
    },
    Planted {
        what: "the bank takes money that nobody asked for",
        plant: |site| {
            let (event, ..) = confirmed_seat(site)?;
            let booking = format!("{event}.{}", "0".repeat(32));
            let order = format!(
                "{{\"payment\": \"stray\", \"booking\": \"{booking}\", \"event\": \"{event}\", \
                 \"amount_minor\": 500, \"currency\": \"EUR\", \"description\": \"a stray\"}}"
            );
            site.bank("/v1/payments", "stray", &order)?;
            // The first try may be declined, by lot.
            let pay = || site.bank("/pay/stray", "", "card=4242424242424242&action=pay");
            pay().and_then(|()| pay())
        },
        mend: |_| Ok(()),
    },
];

/// Does something to one row of a table, which is kept.
fn keep(site: &AtRest<'_>, table: &str, which: &str, what: &str) -> Result<(), String> {
    site.sql(&format!(
        "SET session_replication_role = replica; \
         CREATE TABLE kept AS SELECT *, ctid AS place FROM {table} WHERE {which} LIMIT 1; \
         {what} WHERE ctid = (SELECT place FROM kept); ALTER TABLE kept DROP COLUMN place"
    ))?;
    match site.sql("SELECT count(*) FROM kept")?.as_str() {
        "1" => Ok(()),
        other => Err(format!("{other} rows of {table} with {which}")),
    }
}

/// Puts the rows that were kept back, in place of those with the same key.
fn put_back(site: &AtRest<'_>, table: &str) -> Result<(), String> {
    let keys = "SELECT string_agg(quote_ident(attname), ', ') FROM pg_index JOIN pg_attribute \
        ON attrelid = indrelid AND attnum = ANY (indkey) WHERE indisprimary";
    let keys = site.sql(&format!("{keys} AND indrelid = '{table}'::regclass"))?;
    site.sql(&format!(
        "SET session_replication_role = replica; \
         DELETE FROM {table} WHERE ({keys}) IN (SELECT {keys} FROM kept); \
         INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT * FROM kept; DROP TABLE kept"
    ))
    .map(drop)
}

/// A seat that is sold: its event, its booking, and itself.
fn confirmed_seat(site: &AtRest<'_>) -> Result<(String, String, String), String> {
    let row = site.sql(
        "SELECT event_id || ' ' || booking_id || ' ' || (lines->'seats'->>0) FROM bookings \
         WHERE status = 'confirmed' AND lines->'seats'->>0 IS NOT NULL ORDER BY booking_id LIMIT 1",
    )?;
    let words: Vec<&str> = row.split(' ').collect();
    match words[..] {
        [event, booking, seat] => Ok((event.into(), booking.into(), seat.into())),
        _ => Err(format!("no seat is sold: {row}")),
    }
}

fn key(event: &str, part: &str) -> String {
    format!("onrush:{{{event}}}:{part}")
}

fn field(site: &AtRest<'_>, event: &str, part: &str, name: &str) -> Result<String, String> {
    site.redis(&["HGET", &key(event, part), name])
}

/// Keeps a key of Redis as it is, and says its name.
fn copy(site: &AtRest<'_>, event: &str, part: &str) -> Result<String, String> {
    let key = key(event, part);
    site.redis(&["COPY", &key, &format!("kept:{{{event}}}")])?;
    Ok(key)
}

fn copy_back(site: &AtRest<'_>, part: &str) -> Result<(), String> {
    let (event, ..) = confirmed_seat(site)?;
    let kept = format!("kept:{{{event}}}");
    site.redis(&["COPY", &kept, &key(&event, part), "REPLACE"])?;
    site.redis(&["DEL", &kept]).map(drop)
}
