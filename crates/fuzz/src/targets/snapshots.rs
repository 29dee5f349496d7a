//! Snapshot files: their lines, as they are, and with the checksum that belongs to them.

use crate::quiet::expecting;
use crate::verdict::{Verdict, assert_sentence};
use onrush_store::Seq;
use onrush_store::embedded::fuzzing::{sealed, snapshot_again};

/// The decision that snapshots here are of.
pub const SEQ: Seq = Seq(7);

/// Reads the lines.
///
/// # Panics
/// If what was read and written is not read again, or comes out otherwise.
pub fn target(bytes: &[u8]) -> Verdict {
    again(bytes).or(again(&sealed(bytes)))
}

fn again(text: &[u8]) -> Verdict {
    let read = expecting(|| snapshot_again(text, SEQ));
    match &read {
        Ok(written) => {
            let again = expecting(|| snapshot_again(written, SEQ));
            assert_eq!(again.as_ref(), Ok(written), "it is another snapshot");
        }
        Err(why) => {
            assert_sentence(why);
            assert_ne!(why, "reading it panicked");
        }
    }
    Verdict::on(&read)
}
