//! Finding out what of a damaged journal can still be read.

use super::error::{Damage, OpenError};
use crate::engine::Seq;
use onrush_core::Change;
use onrush_sqlite::{faults, has_log, open_unlocked};
use rusqlite::Connection;
use std::path::Path;

/// What of SQLite's faults is reported, and of these in the first line, at most.
const MAX_FAULTS: usize = 20;
const MAX_FAULTS_IN_A_LINE: usize = 5;

/// Looks the file over without changing it.
pub(super) fn report(path: &Path, what: String) -> OpenError {
    report_with(path, what, None)
}

/// The same where SQLite has looked at every page already, and found this.
fn report_with(path: &Path, what: String, found: Option<Vec<String>>) -> OpenError {
    let mut damage = Damage {
        path: path.to_owned(),
        what,
        readable: 0,
        last_readable: Seq::default(),
        last_seen: Seq::default(),
        integrity: Vec::new(),
    };
    // A log may hold the newest pages, so it has to be read with the file, if SQLite can make sense of it.
    let opened = if has_log(path) {
        Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
    } else {
        open_unlocked(path)
    };
    if let Ok(connection) = opened {
        // Without this, SQLite reads nothing at all from a file that is shorter than it should be.
        drop(connection.execute_batch("PRAGMA writable_schema = ON;"));
        // Each look is as good as it gets: an error ends it, and is what the report is about.
        drop(count_from_start(&connection, &mut damage));
        drop(look_at_end(&connection, &mut damage));
        if found.is_none() {
            drop(check(&connection, &mut damage));
        }
    }
    damage.integrity.extend(found.into_iter().flatten());
    damage.integrity.truncate(MAX_FAULTS);
    OpenError::Damaged(Box::new(damage))
}

/// Looks at every page.
///
/// # Errors
/// [`OpenError::Damaged`] if one is not what was written, or cannot be read.
pub(super) fn look_at_pages(path: &Path, connection: &Connection) -> Result<(), OpenError> {
    match faults(connection, &format!("quick_check({MAX_FAULTS})")) {
        Ok(found) if found.is_empty() => Ok(()),
        Ok(found) => {
            let what = found[..found.len().min(MAX_FAULTS_IN_A_LINE)].join("; ");
            Err(report_with(path, what, Some(found)))
        }
        Err(error) => Err(report(path, error.to_string())),
    }
}

fn count_from_start(connection: &Connection, damage: &mut Damage) -> rusqlite::Result<()> {
    let mut select = connection.prepare("SELECT seq, body FROM journal ORDER BY seq")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let seq = u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0);
        let body = row.get_ref(1)?.as_str().unwrap_or_default();
        if seq != damage.readable + 1 || serde_json::from_str::<Vec<Change>>(body).is_err() {
            break;
        }
        damage.readable = seq;
        damage.last_readable = Seq(seq);
        damage.last_seen = Seq(seq);
    }
    Ok(())
}

fn look_at_end(connection: &Connection, damage: &mut Damage) -> rusqlite::Result<()> {
    let last: i64 =
        connection
            .query_row("SELECT seq FROM journal ORDER BY seq DESC LIMIT 1", [], |row| row.get(0))?;
    damage.last_seen = damage.last_seen.max(Seq(u64::try_from(last).unwrap_or(0)));
    Ok(())
}

fn check(connection: &Connection, damage: &mut Damage) -> rusqlite::Result<()> {
    let mut check = connection.prepare(&format!("PRAGMA quick_check({MAX_FAULTS})"))?;
    let mut lines = check.query([])?;
    while let Some(line) = lines.next()? {
        let line: String = line.get(0)?;
        damage.integrity.extend(line.lines().filter(|line| *line != "ok").map(str::to_owned));
    }
    Ok(())
}
