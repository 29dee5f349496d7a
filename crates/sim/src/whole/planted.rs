//! Faults that are planted between two lives, to see that they are found.

use rusqlite::Connection;
use std::path::Path;

/// A fault of the files. It is there once, after the second end of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// The journal's last row is gone.
    JournalLosesItsEnd,
    /// The journal's last row is gone, and so is the witness.
    JournalAndWitnessLoseTheirEnd,
    /// A row in the middle of the journal is gone.
    JournalHasAHole,
    /// A hold in the journal has other units.
    JournalSaysOtherwise,
    /// The ledger knows nothing of its newest saga.
    LedgerForgetsASaga,
    /// The ledger has a payment that was taken as one that never was.
    LedgerForgetsMoney,
}

impl Planted {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::JournalLosesItsEnd,
        Self::JournalAndWitnessLoseTheirEnd,
        Self::JournalHasAHole,
        Self::JournalSaysOtherwise,
        Self::LedgerForgetsASaga,
        Self::LedgerForgetsMoney,
    ];

    /// Puts it into the files of a server that was killed so often.
    pub(super) fn into_files(self, dir: &Path, kills: u64) {
        if kills != 2 {
            return;
        }
        let (file, sql) = match self {
            Self::JournalLosesItsEnd | Self::JournalAndWitnessLoseTheirEnd => {
                ("engine.db", "DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)")
            }
            Self::JournalHasAHole => {
                ("engine.db", "DELETE FROM journal WHERE seq = (SELECT max(seq) / 2 FROM journal)")
            }
            Self::JournalSaysOtherwise => (
                "engine.db",
                "UPDATE journal SET body = replace(body, '\"ga\":1', '\"ga\":2') \
                 WHERE seq = (SELECT max(seq) FROM journal WHERE body LIKE '%\"ga\":1%')",
            ),
            Self::LedgerForgetsASaga => (
                "ledger.db",
                "PRAGMA foreign_keys = OFF; DELETE FROM sagas WHERE booking_id = \
                 (SELECT booking_id FROM sagas ORDER BY updated_at DESC LIMIT 1)",
            ),
            Self::LedgerForgetsMoney => (
                "ledger.db",
                "UPDATE payments SET stage = 'void', captured_minor = 0 WHERE payment_id = \
                 (SELECT payment_id FROM payments WHERE stage = 'captured' LIMIT 1)",
            ),
        };
        if self == Self::JournalAndWitnessLoseTheirEnd {
            std::fs::remove_file(dir.join("witness.json")).expect("there is a witness");
        }
        let connection = Connection::open(dir.join(file)).expect("the file can be opened");
        connection.execute_batch(sql).expect("the fault can be planted");
    }
}
