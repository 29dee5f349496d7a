//! What planted bugs do to the journal.

use crate::journal::Journal;
use crate::planted::Bug;
use onrush_core::Time;

/// What a planted bug does to the row that was just written.
pub(crate) fn harm_written(bug: Option<Bug>, journal: &mut Journal, changes: u64) {
    let now_and_then = changes.is_multiple_of(17);
    match bug {
        Some(Bug::LastRowIsLost) if now_and_then => drop(journal.rows_mut().pop()),
        Some(Bug::RowIsTorn) => {
            if let Some(row) = journal.rows_mut().last_mut() {
                let mut changes: Vec<serde_json::Value> =
                    serde_json::from_slice(&row.json).expect("a row is JSON");
                changes.truncate(1);
                row.json = serde_json::to_vec(&changes).expect("a row is JSON").into();
            }
        }
        Some(Bug::RowIsDoubled) if now_and_then => {
            let rows = journal.rows_mut();
            rows.extend(rows.last().cloned());
        }
        Some(Bug::RowsAreSwapped) if now_and_then => {
            let rows = journal.rows_mut();
            if let [.., before, last] = &mut rows[..] {
                std::mem::swap(&mut before.json, &mut last.json);
            }
        }
        Some(Bug::TimesAreRounded) => {
            if let Some(row) = journal.rows_mut().last_mut() {
                row.at = Time(row.at.0 - row.at.0.rem_euclid(1_000));
            }
        }
        _ => {}
    }
}

/// What a planted bug does to the snapshot that was just written.
pub(crate) fn harm_snapshot(bug: Option<Bug>, journal: &mut Journal) {
    if bug == Some(Bug::RowIsSkipped) {
        *journal.covered_mut() += 1;
    }
}
