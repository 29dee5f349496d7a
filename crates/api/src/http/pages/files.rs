//! Files of pages as they are sent, with their tags: made once, however often they are asked for.
//! Anybody may ask, and to unpack and hash a file is 20 times the work of any other answer.

use bytes::Bytes;
use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// The bytes that are kept at a time. The pages of one version have a few of them; a directory may
/// have anything in it.
const MAX_KEPT_BYTES: usize = 64 << 20;

/// Files that are ready to be sent.
pub struct Files {
    kept: Mutex<Kept>,
    /// The bytes that are kept at most.
    most: usize,
}

impl Default for Files {
    fn default() -> Self {
        Self { kept: Mutex::default(), most: MAX_KEPT_BYTES }
    }
}

/// A file that is there.
pub(super) enum File {
    InMemory(Bytes),
    OnDisk { path: PathBuf, modified: Option<SystemTime>, bytes: u64 },
}

/// What is sent of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ready {
    pub(super) bytes: Bytes,
    /// The ETag: each encoding of a text has one of its own.
    pub(super) tag: Arc<str>,
}

#[derive(Default)]
struct Kept {
    as_they_are: HashMap<String, (File, Ready)>,
    unpacked: HashMap<String, (File, Ready)>,
    bytes: usize,
}

impl Files {
    /// The file of this name as it is; nothing if it cannot be read.
    pub(super) fn as_it_is(&self, name: &str, file: File) -> Option<Ready> {
        self.ready(name, file, |kept| &mut kept.as_they_are, Some)
    }

    /// The same unpacked.
    pub(super) fn unpacked(&self, name: &str, file: File) -> Option<Ready> {
        self.ready(name, file, |kept| &mut kept.unpacked, unpacked)
    }

    fn ready(
        &self,
        name: &str,
        file: File,
        of: fn(&mut Kept) -> &mut HashMap<String, (File, Ready)>,
        make: fn(Bytes) -> Option<Bytes>,
    ) -> Option<Ready> {
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, ready)) = of(&mut lock()).get(name)
            && known.is_same(&file)
        {
            return Some(ready.clone());
        }
        let bytes = make(file.read()?)?;
        let ready = Ready { tag: tag_of(&bytes), bytes };
        let mut kept = lock();
        if let Some((_, before)) = of(&mut kept).remove(name) {
            kept.bytes -= before.bytes.len();
        }
        // What is asked for again is soon there again.
        if kept.bytes + ready.bytes.len() > self.most {
            *kept = Kept::default();
        }
        if ready.bytes.len() <= self.most {
            kept.bytes += ready.bytes.len();
            of(&mut kept).insert(name.to_owned(), (file, ready.clone()));
        }
        Some(ready)
    }
}

impl File {
    fn read(&self) -> Option<Bytes> {
        match self {
            Self::InMemory(bytes) => Some(bytes.clone()),
            Self::OnDisk { path, .. } => std::fs::read(path).ok().map(Bytes::from),
        }
    }

    /// Whether another one surely has the same contents, told without reading them.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::InMemory(bytes), Self::InMemory(others)) => {
                (bytes.as_ptr(), bytes.len()) == (others.as_ptr(), others.len())
            }
            (
                Self::OnDisk { path, modified, bytes },
                Self::OnDisk { path: other, modified: when, bytes: others },
            ) => modified.is_some() && (path, modified, bytes) == (other, when, others),
            (Self::InMemory(_), Self::OnDisk { .. }) | (Self::OnDisk { .. }, Self::InMemory(_)) => {
                false
            }
        }
    }
}

fn unpacked(packed: Bytes) -> Option<Bytes> {
    let mut plain = Vec::new();
    GzDecoder::new(&*packed).read_to_end(&mut plain).ok()?;
    Some(plain.into())
}

fn tag_of(bytes: &[u8]) -> Arc<str> {
    let mut tag = String::from("\"");
    for byte in &Sha256::digest(bytes)[..12] {
        write!(tag, "{byte:02x}").expect("a string takes everything");
    }
    tag.push('"');
    tag.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_file_is_made_ready_once_and_anew_where_it_has_changed() {
        let files = Files::default();
        let in_memory = Bytes::from_static(b"x");
        let ask = || files.as_it_is("a.js", File::InMemory(in_memory.clone())).unwrap();
        assert!(Arc::ptr_eq(&ask().tag, &ask().tag));

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.js");
        let ask = |modified, bytes| {
            let file = File::OnDisk { path: path.clone(), modified: Some(modified), bytes };
            files.as_it_is("a.js", file).unwrap()
        };
        std::fs::write(&path, "xyz").unwrap();
        let then = SystemTime::UNIX_EPOCH;
        let later = then + Duration::from_secs(1);
        let first = ask(then, 3);
        assert_eq!(&first.bytes[..], b"xyz", "another file has the name now");
        std::fs::write(&path, "xyyz").unwrap();
        assert_eq!(ask(then, 3).bytes.as_ptr(), first.bytes.as_ptr());
        for changed in [ask(then, 4), ask(later, 4)] {
            assert_eq!(&changed.bytes[..], b"xyyz");
            assert_ne!(changed.tag, first.tag);
        }
        assert_eq!(files.kept.lock().unwrap().bytes, 4);
    }

    #[test]
    fn no_more_is_kept_than_may_be() {
        let files = Files { most: 10, ..Files::default() };
        let keep = |name: &str, text: &'static [u8]| {
            files.as_it_is(name, File::InMemory(Bytes::from_static(text))).unwrap();
            files.kept.lock().unwrap().bytes
        };
        let kept = ["a", "b", "c", "d", "e"].map(|name| keep(name, b"xyz"));
        assert_eq!(kept, [3, 6, 9, 3, 6]);
        assert_eq!(keep("large", b"more than that"), 0);
    }
}
