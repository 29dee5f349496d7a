//! The shop's published keys as they were fetched last, in a file of the data directory: a server that
//! starts while their address does not answer goes on with them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tokio::task::spawn_blocking;

const FILE: &str = "shop-keys.json";

/// Where the keys of one address are kept.
pub(super) struct KeptSet {
    path: PathBuf,
    address: String,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    /// Where they were fetched: settings that name another address do not mean these.
    address: String,
    keys: Vec<Value>,
}

impl KeptSet {
    pub(super) fn below(data: &Path, address: &str) -> Self {
        Self { path: data.join(FILE), address: address.to_owned() }
    }

    /// The keys; none if none of this address are kept.
    pub(super) fn read(&self) -> io::Result<Vec<Value>> {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let kept: Kept = serde_json::from_slice(&text)?;
        Ok(if kept.address == self.address { kept.keys } else { Vec::new() })
    }

    /// Keeps these keys in place of those of before.
    pub(super) async fn keep(&self, keys: Vec<Value>) -> io::Result<()> {
        let text = serde_json::to_vec(&Kept { address: self.address.clone(), keys })?;
        let path = self.path.clone();
        spawn_blocking(move || replace(&path, &text)).await?
    }
}

/// Puts a file into the place of the one of before, durably, for its owner alone; nothing is done if
/// they are the same.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|kept| kept == bytes) {
        return Ok(());
    }
    let aside = path.with_extension("json.tmp");
    // One that a power cut left.
    match fs::remove_file(&aside) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}
