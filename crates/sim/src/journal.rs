//! The journal: committed decisions as the JSON that the store writes, and the last snapshot.

use crate::rules::Rules;
use onrush_core::snapshot::SnapshotRow;
use onrush_core::{Change, Time};

/// One decision's row.
#[derive(Clone, Debug)]
pub struct Row {
    /// When it was decided.
    pub at: Time,
    /// Its changes, as a JSON array.
    pub json: Box<[u8]>,
}

/// All rows of one event, and the last snapshot.
#[derive(Debug, Default)]
pub struct Journal {
    rows: Vec<Row>,
    snapshot: Vec<Box<[u8]>>,
    /// How many rows the snapshot stands for.
    covered: usize,
}

impl Journal {
    /// Writes a decision down; gives its row.
    pub fn write(&mut self, at: Time, changes: &[Change]) -> &Row {
        let json = serde_json::to_vec(changes).expect("changes can be written as JSON");
        self.rows.push(Row { at, json: json.into() });
        &self.rows[self.rows.len() - 1]
    }

    /// The time of the last decision.
    #[must_use]
    pub fn last_at(&self) -> Option<Time> {
        self.rows.last().map(|row| row.at)
    }

    /// Writes a snapshot of what all rows add up to.
    pub fn snapshot(&mut self, rules: &Rules) {
        let row = |row| serde_json::to_vec(&row).expect("rows can be written as JSON").into();
        self.snapshot = rules.snapshot().map(row).collect();
        self.covered = self.rows.len();
    }

    /// Adds everything up again, beginning with the snapshot or with nothing. Gives how many rows
    /// were read.
    ///
    /// # Panics
    /// If a row is no JSON of changes, or contradicts the ones before.
    pub fn recover(&self, rules: &mut Rules, from_snapshot: bool) -> usize {
        let read = |json: &[u8]| -> SnapshotRow {
            serde_json::from_slice(json).expect("a snapshot reads as it was written")
        };
        let from = if from_snapshot { self.covered.min(self.rows.len()) } else { 0 };
        let rows = if from_snapshot {
            self.snapshot.iter().map(|json| read(json)).collect()
        } else {
            vec![]
        };
        rules.restart(rows);
        for row in &self.rows[from..] {
            let changes: Vec<Change> =
                serde_json::from_slice(&row.json).expect("a row reads as it was written");
            changes.iter().for_each(|change| rules.evolve(row.at, change));
        }
        self.rows.len() - from
    }

    /// The rows, for a planted bug to harm.
    #[cfg(feature = "planted")]
    pub(crate) fn rows_mut(&mut self) -> &mut Vec<Row> {
        &mut self.rows
    }

    /// How many rows the snapshot stands for, for a planted bug to harm.
    #[cfg(feature = "planted")]
    pub(crate) fn covered_mut(&mut self) -> &mut usize {
        &mut self.covered
    }
}
