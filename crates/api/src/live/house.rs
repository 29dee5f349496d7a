//! Seat maps as they go over the wire: in pieces made when they are needed, or compressed once for everyone.
//!
//! Clients who read slowly hold on to what they are sent. A piece is small; compressed versions are
//! few; what is not one of these is shared by all versions.

use super::pieces::{PIECE_BYTES, Pieces};
use super::snapshot::{SEATS, Snapshot};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use onrush_base::beside::beside;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Compressed versions of one event's map that are in memory at a time, also if their readers are slow.
const MAX_VERSIONS: usize = 8;
/// One core spends at most one part in so many on compressing one event's map.
const PARTS: u32 = 8;

/// A whole map that is written while it is sent.
pub type MapBody = Pieces<Arc<Snapshot>, Part>;

/// What of a map is in one piece.
#[derive(Clone, Copy)]
pub enum Part {
    /// What stands before the head.
    Opening,
    /// The head. It is long where categories are many or have many prices to come, and shared.
    Head,
    /// Seats, from the one with this number on.
    Seats(usize),
}

/// The map of this snapshot.
#[must_use]
pub fn map_body(snapshot: Arc<Snapshot>) -> MapBody {
    let bytes = snapshot.map_bytes();
    let body = Pieces::new(snapshot, Part::Opening, |snapshot, part| Ok(write(snapshot, part)));
    body.of_length(bytes)
}

/// A part of a map, and the one after it.
fn write(snapshot: &Snapshot, part: Part) -> (Bytes, Option<Part>) {
    let first = match part {
        Part::Opening => return (snapshot.opening(), Some(Part::Head)),
        Part::Head => return (snapshot.head(), Some(Part::Seats(0))),
        Part::Seats(first) => first,
    };
    let mut piece = Vec::with_capacity(PIECE_BYTES + 1_024);
    if first == 0 {
        piece.extend_from_slice(SEATS);
    }
    let (mut next, seats) = (first, snapshot.len());
    while next < seats && piece.len() < PIECE_BYTES {
        snapshot.write_seat(next, &mut piece);
        next += 1;
    }
    if next == seats {
        piece.extend_from_slice(b"]}");
    }
    (piece.into(), (next < seats).then_some(Part::Seats(next)))
}

/// The compressed versions of one event's map.
#[derive(Default)]
pub struct Versions {
    last: tokio::sync::Mutex<Option<Version>>,
    /// Each version in memory has a clone.
    alive: Arc<()>,
}

/// One of them.
struct Version {
    snapshot: Arc<Snapshot>,
    /// Nobody who asked before has seen anything newer.
    good_until: Instant,
    made: Instant,
    took: Duration,
    bytes: Bytes,
}

/// A version's bytes, which their readers share.
struct Shared {
    bytes: Vec<u8>,
    _alive: Arc<()>,
}

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Versions {
    /// The map as it is now, compressed, and its tag; nothing if slow readers hold too many
    /// versions already. `now` begins to look when it is polled, and not before.
    ///
    /// # Errors
    /// Those of `now`.
    pub async fn now<E>(
        &self,
        now: impl Future<Output = Result<Arc<Snapshot>, E>>,
    ) -> Result<Option<(Bytes, String)>, E> {
        let asked = Instant::now();
        let mut last = self.last.lock().await;
        if let Some(version) = &*last {
            if version.good_until >= asked {
                return Ok(Some(version.sent()));
            }
            let pause = (version.took * (PARTS - 1)).saturating_sub(version.made.elapsed());
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
        let good_until = Instant::now();
        let snapshot = now.await?;
        if let Some(version) = &mut *last
            && version.snapshot.shows_the_same(&snapshot)
        {
            version.good_until = good_until;
            return Ok(Some(version.sent()));
        }
        // One clone is ours.
        if Arc::strong_count(&self.alive) > MAX_VERSIONS {
            return Ok(None);
        }
        let (map, alive) = (map_body(snapshot.clone()), self.alive.clone());
        let made = Instant::now();
        let packing = beside(move || Shared { bytes: pack_map(map), _alive: alive });
        // It does not panic, and nobody cancels it; while the process stops there may be no answer.
        let Ok(shared) = packing.await else { return Ok(None) };
        let version = last.insert(Version {
            snapshot,
            good_until,
            made: Instant::now(),
            took: made.elapsed(),
            bytes: Bytes::from_owner(shared),
        });
        Ok(Some(version.sent()))
    }
}

impl Version {
    fn sent(&self) -> (Bytes, String) {
        (self.bytes.clone(), self.snapshot.tag())
    }
}

fn pack_map(mut map: MapBody) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    while let Some(Ok(piece)) = map.piece() {
        packed.write_all(&piece).expect("memory is writable");
    }
    packed.finish().expect("memory is writable")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::snapshot::{snapshots, snapshots_of};
    use flate2::read::GzDecoder;
    use http_body::Body as _;
    use std::convert::Infallible;
    use std::io::Read;

    fn whole(snapshot: &Arc<Snapshot>) -> (Vec<u8>, usize) {
        let mut map = map_body(snapshot.clone());
        let promised = map.size_hint().exact().unwrap();
        let (mut whole, mut longest) = (Vec::new(), 0);
        while let Some(Ok(piece)) = map.piece() {
            longest = longest.max(piece.len());
            whole.extend_from_slice(&piece);
        }
        assert_eq!(whole.len() as u64, promised);
        assert!(map.is_end_stream());
        (whole, longest)
    }

    async fn packed(versions: &Versions, snapshot: &Arc<Snapshot>) -> Option<(Bytes, String)> {
        versions.now(async { Ok::<_, Infallible>(snapshot.clone()) }).await.unwrap()
    }

    #[test]
    fn a_map_is_sent_in_short_pieces_of_a_known_length() {
        for letters in ["", "f", "fhsb", &"fh".repeat(5_000)] {
            let snapshot = snapshots(letters.len(), [letters]).remove(0);
            let (map, longest) = whole(&snapshot);
            assert!(longest <= PIECE_BYTES + 1_024, "{longest}");
            let map: serde_json::Value = serde_json::from_slice(&map).unwrap();
            let seats = map["seats"].as_array().unwrap();
            let sent = seats.iter().map(|seat| seat["status"].as_str().unwrap()[..1].to_owned());
            assert_eq!(sent.collect::<String>(), letters);
        }
    }

    #[test]
    fn what_stands_before_the_seats_is_sent_once_and_shared_however_long_it_is() {
        let names: Vec<String> = (0..1_000).map(|number| format!("Block {number}")).collect();
        let names = names.iter().map(String::as_str);
        let all = snapshots_of(3, names.clone(), ["fhf", "fhs"]);
        let [one, other] = [&all[0], &all[1]].map(|snapshot| {
            let mut map = map_body(snapshot.clone());
            std::iter::from_fn(|| map.piece()).map(Result::unwrap).collect::<Vec<_>>()
        });
        let long = one.iter().zip(&other).filter(|(one, _)| one.len() > PIECE_BYTES);
        let places = long.map(|(one, other)| (one.as_ptr(), other.as_ptr()));
        let places: Vec<_> = places.collect();
        assert_eq!(places.len(), 1, "the head alone is long");
        assert_eq!(places[0].0, places[0].1, "and two versions share it");
        let map: serde_json::Value = serde_json::from_slice(&whole(&all[1]).0).unwrap();
        let told = map["categories"].as_array().unwrap();
        assert!(told.iter().map(|category| category["name"].as_str().unwrap()).eq(names));
        assert_eq!(map["seats"].as_array().unwrap().len(), 3);
    }

    #[tokio::test]
    async fn readers_of_one_version_share_its_bytes() {
        let all = snapshots(3, ["fff", "fff", "fhf"]);
        let versions = Versions::default();
        let (first, tag) = packed(&versions, &all[0]).await.unwrap();
        // Read again, and nothing has changed.
        let (again, same) = packed(&versions, &all[1]).await.unwrap();
        assert_eq!((first.as_ptr(), &tag), (again.as_ptr(), &same));
        let (other, changed) = packed(&versions, &all[2]).await.unwrap();
        assert_ne!(tag, changed);
        let mut text = Vec::new();
        GzDecoder::new(&*other).read_to_end(&mut text).unwrap();
        assert_eq!(text, whole(&all[2]).0);
    }

    #[tokio::test]
    async fn slow_readers_hold_a_few_versions_and_no_more() {
        let letters: Vec<String> = (0..40).map(|n| format!("{n:040b}")).collect();
        let letters = letters.iter().map(|text| text.replace('0', "f").replace('1', "h"));
        let letters: Vec<String> = letters.collect();
        let all = snapshots(40, letters.iter().map(String::as_str));
        let versions = Versions::default();
        let mut slow = Vec::new();
        for snapshot in &all {
            slow.extend(packed(&versions, snapshot).await);
        }
        assert_eq!(slow.len(), MAX_VERSIONS);
        slow.clear();
        assert!(packed(&versions, &all[0]).await.is_some());
    }
}
