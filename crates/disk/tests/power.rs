//! What SQLite was told to be durable is there after a power cut, and what is not may be gone.

use onrush_disk::{Disk, Refusal};
use rusqlite::Connection;
use std::path::Path;

/// Draws that follow from one number.
fn drawn(seed: u64) -> impl FnMut(u32) -> u32 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |end| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (((state >> 32) * u64::from(end)) >> 32) as u32
    }
}

fn opened(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 20;
         CREATE TABLE IF NOT EXISTS facts (number INTEGER PRIMARY KEY, text TEXT)",
    )?;
    Ok(connection)
}

fn facts(path: &Path) -> Vec<i64> {
    let connection = opened(path).expect("it opens after a power cut");
    let check: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("it is read");
    assert_eq!(check, "ok");
    let mut select = connection.prepare("SELECT number FROM facts ORDER BY 1").expect("it is read");
    let rows = select.query_map([], |row| row.get(0)).expect("it is read");
    rows.collect::<Result<_, _>>().expect("it is read")
}

/// Writes facts until the power goes, some times; gives back how many were acknowledged and are
/// gone; all of them if the file is ruined.
fn lost(seed: u64, prepare: impl Fn(&Disk)) -> usize {
    let dir = tempfile::tempdir().expect("a directory");
    let disk = Disk::watch(dir.path()).expect("it is there");
    prepare(&disk);
    let path = dir.path().canonicalize().expect("it is there").join("facts.db");
    let (mut draw, mut acknowledged) = (drawn(seed), Vec::new());
    for _ in 0..6 {
        disk.stop_after(draw(400));
        if let Ok(connection) = opened(&path) {
            let known =
                connection.query_row("SELECT coalesce(max(number), 0) FROM facts", [], |row| {
                    row.get::<_, i64>(0)
                });
            for number in known.unwrap_or(i64::MAX - 1_000) + 1.. {
                let text = "x".repeat(draw(6_000) as usize);
                if connection.execute("INSERT INTO facts VALUES (?1, ?2)", (number, text)).is_err()
                {
                    break;
                }
                acknowledged.push(number);
            }
        }
        if disk.refusal() != Some(Refusal::Stopped) {
            // Something else ended this life: the file is ruined.
            return usize::MAX;
        }
        disk.cut(&mut draw).expect("files can be changed");
        disk.go_on();
    }
    let there = std::panic::catch_unwind(|| facts(&path)).unwrap_or_default();
    acknowledged.iter().filter(|number| !there.contains(number)).count()
}

#[test]
fn what_was_synced_survives_every_power_cut() {
    for seed in 1..=60 {
        assert_eq!(lost(seed, |_| ()), 0, "seed {seed}");
    }
}

#[test]
fn disk_that_forgets_syncs_loses_what_was_acknowledged() {
    let lossy = (1..=20).filter(|seed| lost(*seed, |disk| disk.forget_syncs("facts")) > 0).count();
    assert!(lossy >= 10, "{lossy} of 20");
}

#[test]
fn full_disk_refuses_and_goes_on_with_everything_it_had() {
    let dir = tempfile::tempdir().expect("a directory");
    let disk = Disk::watch(dir.path()).expect("it is there");
    let path = dir.path().canonicalize().expect("it is there").join("facts.db");
    let connection = opened(&path).expect("it opens");
    connection.execute("INSERT INTO facts VALUES (1, '')", []).expect("there is space");
    disk.fill_after(0);
    let full = connection.execute("INSERT INTO facts VALUES (2, '')", []).expect_err("it is full");
    assert_eq!(full.sqlite_error_code(), Some(rusqlite::ErrorCode::DiskFull));
    disk.go_on();
    connection.execute("INSERT INTO facts VALUES (3, '')", []).expect("there is space again");
    drop(connection);
    assert_eq!(facts(&path), [1, 3]);
}
