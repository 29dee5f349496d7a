//! A look into SQLite's write-ahead log, for one question only: does it have what is missing at the
//! file's end?

use onrush_sqlite::log_of;
use rusqlite::Connection;
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

const HEADER_BYTES: u64 = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// The first page that should be there and is neither in the file nor in its log.
pub(super) fn missing_page(
    connection: &Connection,
    database: &Path,
) -> Result<Option<u32>, rusqlite::Error> {
    let pages: u32 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    let page_bytes: u32 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let in_file = database.metadata().map_or(0, |file| file.len() / u64::from(page_bytes.max(1)));
    let first_outside = u32::try_from(in_file + 1).unwrap_or(u32::MAX);
    if first_outside > pages {
        return Ok(None);
    }
    // A log that cannot be read has nothing.
    let in_log = pages_in(&log_of(database)).unwrap_or_default();
    Ok((first_outside..=pages).find(|page| !in_log.contains(page)))
}

/// The pages that a log has. Frames of the log's earlier rounds carry another salt.
fn pages_in(log: &Path) -> io::Result<HashSet<u32>> {
    let mut file = BufReader::new(File::open(log)?);
    let mut header = [0; HEADER_BYTES as usize];
    file.read_exact(&mut header)?;
    let number = |bytes: &[u8], offset: usize| {
        u32::from_be_bytes([0, 1, 2, 3].map(|byte: usize| bytes[offset + byte]))
    };
    let page_bytes = i64::from(number(&header, 8));
    let salt = &header[16..24];
    let mut pages = HashSet::new();
    let mut frame = [0; FRAME_HEADER_BYTES];
    while file.read_exact(&mut frame).is_ok() && &frame[8..16] == salt {
        pages.insert(number(&frame, 0));
        file.seek_relative(page_bytes)?;
    }
    Ok(pages)
}
