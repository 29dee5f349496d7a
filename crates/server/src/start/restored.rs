//! The first start on files that are older than what was sold.
//!
//! All files of a restored backup are of one moment, so that none of them tells on another; but the
//! manifest of the backup lies among them, and says that what was sold since is not known here.
//! Nobody sells from such files, or from others that do not fit together, before an operator has
//! said so, and then every open sale is paused: units that were sold are free, until somebody has
//! blocked them.
//!
//! Accepting is durable before the sales are paused: the witness and the ledger's cursor fit from
//! then on. So a file says beforehand that they are still to be paused, and a start that ends in
//! between leaves that to the next one.

use crate::start_error::StartError;
use onrush_api::draw::Draws;
use onrush_api::restored::{NotPaused, pause_open_sales};
use onrush_base::backup::{self, Manifest};
use onrush_store::Engine;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// There from before anything is accepted until every open sale is paused. What it says is for people:
/// that it is there is enough, so that one that was written in part is as good.
const ACCEPTED: &str = "accepted.json";
const SAYS: &[u8] = b"{\"accepted\": \"every open sale is paused at the next start\"}\n";

/// Says no if the directory was restored and nobody has accepted that.
///
/// # Errors
/// [`StartError::Restored`].
pub(super) fn check(data: &Path, accept: bool) -> Result<(), StartError> {
    let why = match Manifest::read(data) {
        Ok(None) => return Ok(()),
        Ok(Some(manifest)) => format!(
            "{}: this directory was restored from a backup ({})",
            data.join(backup::FILE).display(),
            manifest.moment()
        ),
        Err(why) => why,
    };
    if accept {
        tracing::warn!(why, "accepted: what was sold since is free, and every open sale is paused");
        return Ok(());
    }
    Err(StartError::Restored(format!(
        "{why}. What was sold and paid since is not known here, and would be sold again. Nothing was \
         changed. Read docs/operating.md, \"After a restore\", and start once with --accept-restored: \
         every open sale is paused then, until it is resumed"
    )))
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

/// Pauses every sale that is open or should be by now, if the directory was restored, or whatever is
/// wrong with it was accepted: as `accepts` says, or by a start that did not come so far. From now on
/// it is like any other. To be called before anybody is served.
///
/// # Errors
/// [`StartError`], if a sale cannot be paused, or what says so not be put away.
pub(super) async fn begin(
    data: &Path,
    accepts: bool,
    engine: &dyn Engine,
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
    pause_open_sales(engine, draws).await.map_err(|error| match error {
        NotPaused::Engine(_) => StartError::Unavailable(error.to_string()),
        NotPaused::NeverOpens(_) => StartError::Restored(error.to_string()),
    })?;
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
