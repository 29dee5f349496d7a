//! The first start on files that are older than what was sold.
//!
//! All files of a restored backup are of one moment, so that none of them tells on another; but the
//! manifest of the backup lies among them, and says that what was sold since is not known here.
//! Nobody sells from such files, or from others that do not fit together, before an operator has
//! said so, and then every open sale is paused: units that were sold are free, until somebody has
//! blocked them. All sessions of browsers end, too: one that was ended since would be back with the
//! files, and whoever has its cookie with it. Who names the backup accepts it alone: the directory has
//! to be all of it.
//!
//! Accepting is durable before the sales are paused: the witness and the ledger's cursor fit from
//! then on. So a file says beforehand that they are still to be paused, and a start that ends in
//! between leaves that to the next one.

use crate::start_error::StartError;
use onrush_api::draw::Draws;
use onrush_api::restored::pause_open_sales;
use onrush_base::backup::{self, BackupFile, Manifest};
use onrush_base::config::Accept;
use onrush_ledger::Ledger;
use onrush_ledger::session::SessionsOf;
use onrush_store::Engine;
use onrush_store::embedded::{ReadError, look_before_start};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The hash of an admin key that the server drew, in `keys/`.
const DRAWN_ADMIN_KEY: &str = "keys/admin-key.sha256";
/// There from before anything is accepted until every open sale is paused. What it says is for people:
/// that it is there is enough, so that one that was written in part is as good.
const ACCEPTED: &str = "accepted.json";
const SAYS: &[u8] = b"{\"accepted\": \"every open sale is paused at the next start\"}\n";

/// Says no if the directory was restored and nobody has accepted that, or not all of the backup is
/// there; else what this start accepts. A backup that was accepted before is a directory like any
/// other.
///
/// # Errors
/// [`StartError::Restored`], or why the directory cannot be looked at.
pub(super) fn check(data: &Path, accept: Accept) -> Result<Accept, StartError> {
    let mut is_accepted = accept == Accept::Everything;
    let (why, which) = match Manifest::read(data) {
        Ok(None) => return Ok(if is_accepted { accept } else { Accept::Nothing }),
        Ok(Some(manifest)) => {
            let file = data.join(backup::FILE);
            let (file, moment) = (file.display(), manifest.moment());
            let why = format!("{file}: this directory was restored from a backup ({moment})");
            if accept == Accept::Backup(manifest.decision) {
                check_whole(data, &manifest, &why)?;
                is_accepted = true;
            }
            (why, format!("={}", manifest.decision))
        }
        Err(why) => (why, String::new()),
    };
    if is_accepted {
        tracing::warn!(why, "accepted: what was sold since is free, and every open sale is paused");
        return Ok(accept);
    }
    Err(StartError::Restored(format!(
        "{why}. What was sold and paid since is not known here, and would be sold again. Nothing was \
         changed. Read docs/operating.md, \"After a restore\", and start once with \
         --accept-restored{which}: every open sale is paused then, until it is resumed"
    )))
}

/// Says no to a directory that is not all of its backup: each file with its length, and the journal
/// to its end. Once a start has accepted it they grow, and tell on each other.
///
/// Keys that were retired since the moment, and the drawn admin key that was deleted since, are so
/// again before the start.
fn check_whole(data: &Path, manifest: &Manifest, why: &str) -> Result<(), StartError> {
    if data.join(ACCEPTED).exists() {
        return Ok(());
    }
    let wrong = |what: String| {
        Err(StartError::Restored(format!(
            "{why}, and {what}: not all of the backup is here as it was. Nothing was changed. Restore \
             it anew, or copy the rest as well (docs/operating.md, \"After a restore\")"
        )))
    };
    for BackupFile { path, bytes, .. } in &manifest.files {
        let there = fs::metadata(data.join(path)).or_else(|error| {
            let is_key = error.kind() == ErrorKind::NotFound && path.starts_with("keys/");
            if is_key { fs::metadata(data.join(format!("{path}.retired"))) } else { Err(error) }
        });
        match there {
            Ok(there) if there.len() == *bytes => {}
            Ok(there) => return wrong(format!("{path} has {} bytes, not {bytes}", there.len())),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if path == DRAWN_ADMIN_KEY {
                    continue;
                }
                return wrong(format!("{path} is missing"));
            }
            Err(error) => return Err(StartError::Data(error)),
        }
    }
    let unread = |error: ReadError| StartError::Unavailable(error.to_string());
    let reader = look_before_start(data, false).map_err(StartError::Engine)?;
    let journal = reader.identity().map_err(unread)?.unwrap_or_default();
    let last = reader.last().map_err(unread)?;
    if journal != manifest.journal {
        return wrong("engine.db is of another journal".into());
    }
    if last.0 != manifest.decision {
        return wrong(format!("engine.db ends at decision {}", last.0));
    }
    Ok(())
}

/// Notes durably that sales are to be paused. To be called before anything is written that has files
/// fit which did not.
///
/// # Errors
/// Whatever the file system says.
pub(super) fn note(data: &Path) -> io::Result<()> {
    if !data.is_dir() {
        // Nothing is there that could be accepted.
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(data.join(ACCEPTED))?;
    file.write_all(SAYS)?;
    file.sync_all()?;
    File::open(data)?.sync_all()
}

/// Pauses every sale that is open or should be by now, and ends every browser's session, if the
/// directory was restored, or whatever is wrong with it was accepted: as `accepts` says, or by a start
/// that did not come so far. From now on it is like any other. To be called before anybody is served.
///
/// # Errors
/// [`StartError`], if a sale cannot be paused, sessions not be ended, or what says so not be put away.
pub(super) async fn begin(
    data: &Path,
    accepts: bool,
    engine: &dyn Engine,
    ledger: &dyn Ledger,
    draws: &Draws,
) -> Result<(), StartError> {
    let (manifest, accepted) = (data.join(backup::FILE), data.join(ACCEPTED));
    let (is_restored, is_noted) = (manifest.exists(), accepted.exists());
    if !is_restored && !is_noted && !accepts {
        return Ok(());
    }
    if is_noted && !accepts {
        tracing::warn!("a start that accepted these files ended before every open sale was paused");
    }
    pause_open_sales(engine, draws).await.map_err(|error| {
        StartError::Unavailable(format!("a restored sale cannot be paused: {error}"))
    })?;
    let ended = ledger.end_sessions(SessionsOf::Everybody).await;
    let ended = ended.map_err(|error| StartError::Unavailable(error.to_string()))?;
    if ended > 0 {
        tracing::warn!(
            ended,
            "every browser is signed out: which sessions were ended since is not known"
        );
    }
    let put_away = || -> io::Result<()> {
        if is_restored {
            let decision = Manifest::read(data).ok().flatten().map_or(0, |it| it.decision);
            fs::rename(&manifest, data.join(format!("restored-{decision}.json")))?;
        }
        if is_noted {
            fs::remove_file(&accepted)?;
        }
        if is_restored || is_noted { File::open(data)?.sync_all() } else { Ok(()) }
    };
    put_away().map_err(StartError::Data)
}
