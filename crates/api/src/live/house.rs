//! Seat maps as they go over the wire: in pieces made when they are needed, or compressed once for everyone.
//!
//! Clients who read slowly hold on to what they are sent. A piece is small; compressed versions are
//! few; what is not one of these is shared by all versions.

use super::snapshot::Snapshot;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body::{Body, Frame, SizeHint};
use onrush_base::beside::beside;
use std::convert::Infallible;
use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::Instant;

/// How long a piece of a map is, about.
const PIECE_BYTES: usize = 16 << 10;
/// Compressed versions of one event's map that are in memory at a time, also if their readers are slow.
const MAX_VERSIONS: usize = 8;
/// One core spends at most one part in so many on compressing one event's map.
const PARTS: u32 = 8;

/// A whole map that is written while it is sent.
pub struct MapBody {
    snapshot: Arc<Snapshot>,
    /// The seat that is next; nothing once the end was written.
    next: Option<usize>,
    left: u64,
}

impl MapBody {
    /// The map of this snapshot.
    #[must_use]
    pub fn new(snapshot: Arc<Snapshot>) -> Self {
        let left = snapshot.map_bytes();
        Self { snapshot, next: Some(0), left }
    }

    fn piece(&mut self) -> Option<Bytes> {
        let mut next = self.next?;
        let mut piece = Vec::with_capacity(PIECE_BYTES + 1_024);
        if next == 0 {
            self.snapshot.write_start(&mut piece);
        }
        let seats = self.snapshot.len();
        while next < seats && piece.len() < PIECE_BYTES {
            self.snapshot.write_seat(next, &mut piece);
            next += 1;
        }
        self.next = Some(next);
        if next == seats {
            piece.extend_from_slice(b"]}");
            self.next = None;
        }
        self.left -= piece.len() as u64;
        Some(piece.into())
    }
}

impl Body for MapBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.piece().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.next.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
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
        let (map, alive) = (MapBody::new(snapshot.clone()), self.alive.clone());
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
    while let Some(piece) = map.piece() {
        packed.write_all(&piece).expect("memory is writable");
    }
    packed.finish().expect("memory is writable")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::snapshot::snapshots;
    use flate2::read::GzDecoder;
    use std::io::Read;

    fn whole(snapshot: &Arc<Snapshot>) -> (Vec<u8>, usize) {
        let mut map = MapBody::new(snapshot.clone());
        let promised = map.size_hint().exact().unwrap();
        let (mut whole, mut longest) = (Vec::new(), 0);
        while let Some(piece) = map.piece() {
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
