//! What was done to files and is not durable yet: taken back at a power cut, and done again in part.

use crate::{Cut, Draw, gone};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What a disk writes at once.
const SECTOR: u64 = 512;

/// One thing that was done to a file, with what is needed to take it back.
#[derive(Debug)]
pub(crate) enum Step {
    /// It was made, empty.
    Created,
    /// It was removed, and had this in it.
    Deleted { was: Vec<u8> },
    /// It was written to, had these bytes there, and was so long.
    Wrote { at: u64, was: Vec<u8>, length: u64, bytes: Vec<u8> },
    /// It was cut to a length, and had these bytes behind it.
    Truncated { to: u64, was: Vec<u8> },
}

/// Takes steps back, the last one first: what is left is what was synced.
pub(crate) fn undo(path: &Path, steps: &[Step]) -> io::Result<()> {
    for step in steps.iter().rev() {
        match step {
            Step::Created => gone(path)?,
            Step::Deleted { was } => fs::write(path, was)?,
            Step::Wrote { at, was, length, .. } => {
                let file = writable(path)?;
                file.write_all_at(was, *at)?;
                file.set_len(*length)?;
            }
            Step::Truncated { to, was } => writable(path)?.write_all_at(was, *to)?,
        }
    }
    Ok(())
}

/// How a file's last steps fare.
#[derive(Clone, Copy)]
enum Fate {
    /// None of them is there.
    Nothing,
    /// All are there, although nobody synced.
    Everything,
    /// So many are there, and the next one in part.
    First(usize),
    /// Each sector is there or is not.
    Anything,
}

/// Does a part of the steps again.
pub(crate) fn redo_some(
    path: &Path,
    steps: &[Step],
    draw: Draw<'_>,
    cut: &mut Cut,
) -> io::Result<()> {
    let fate = match draw(4) {
        0 => Fate::Nothing,
        1 => Fate::Everything,
        2 => Fate::First(draw(u32::try_from(steps.len()).unwrap_or(u32::MAX)) as usize),
        _ => Fate::Anything,
    };
    for (number, step) in steps.iter().enumerate() {
        let is_kept = match fate {
            Fate::Nothing => false,
            Fate::Everything => true,
            Fate::First(kept) => number <= kept,
            Fate::Anything => draw(2) == 0,
        };
        // Names are kept in order: nothing can be in a file that nobody finds.
        if !is_kept && matches!(step, Step::Created | Step::Deleted { .. }) {
            cut.lost += steps.len() - number;
            return Ok(());
        }
        let is_torn = match fate {
            Fate::First(kept) => number == kept,
            Fate::Anything => true,
            Fate::Nothing | Fate::Everything => false,
        };
        match step {
            _ if !is_kept => cut.lost += 1,
            Step::Created => drop(File::create(path)?),
            Step::Deleted { .. } => gone(path)?,
            Step::Truncated { to, .. } => writable(path)?.set_len(*to)?,
            Step::Wrote { at, bytes, .. } if !is_torn => {
                writable(path)?.write_all_at(bytes, *at)?;
            }
            Step::Wrote { at, bytes, .. } => {
                cut.torn += 1;
                if matches!(fate, Fate::First(_)) {
                    let there = draw(u32::try_from(bytes.len()).unwrap_or(u32::MAX)) as usize;
                    writable(path)?.write_all_at(&bytes[..there], *at)?;
                } else {
                    write_sectors(&writable(path)?, *at, bytes, draw)?;
                }
            }
        }
    }
    Ok(())
}

/// Writes some sectors. One that is missing is as it was before; where nothing was, the file may
/// have grown all the same, and have there what the disk had before.
fn write_sectors(file: &File, at: u64, bytes: &[u8], draw: Draw<'_>) -> io::Result<()> {
    let length = file.metadata()?.len();
    let mut from = 0;
    while from < bytes.len() {
        let to_edge = SECTOR - (at + from as u64) % SECTOR;
        let to = bytes.len().min(from + to_edge as usize);
        let here = at + from as u64;
        match draw(4) {
            0 | 1 => file.write_all_at(&bytes[from..to], here)?,
            2 if here >= length => {
                let stale: Vec<u8> = (from..to).map(|_| draw(256) as u8).collect();
                file.write_all_at(&stale, here)?;
            }
            _ => {}
        }
        from = to;
    }
    Ok(())
}

fn writable(path: &Path) -> io::Result<File> {
    File::options().write(true).open(path)
}
