//! The first start on files that are older than what was sold.
//!
//! All files of a restored backup are of one moment, so that none of them tells on another; but the
//! manifest of the backup lies among them, and says that what was sold since is not known here.
//! Nobody sells from such files, or from others that do not fit together, before an operator has
//! said so, and then every open sale is paused: units that were sold are free, until somebody has
//! blocked them.

use crate::start_error::StartError;
use onrush_api::draw::Draws;
use onrush_api::restored::{NotPaused, pause_open_sales};
use onrush_base::backup::{self, Manifest};
use onrush_store::Engine;
use std::fs::{self, File};
use std::path::Path;

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

/// Pauses every sale that is open or should be by now, if the directory was restored or `accepts`
/// says that whatever is wrong with it was accepted, and has it be like any other from now on. To be
/// called before anybody is served.
///
/// # Errors
/// [`StartError`], if a sale cannot be paused or the manifest not be put away.
pub(super) async fn begin(
    data: &Path,
    accepts: bool,
    engine: &dyn Engine,
    draws: &Draws,
) -> Result<(), StartError> {
    let path = data.join(backup::FILE);
    let is_restored = path.exists();
    if !is_restored && !accepts {
        return Ok(());
    }
    pause_open_sales(engine, draws).await.map_err(|error| match error {
        NotPaused::Engine(_) => StartError::Unavailable(error.to_string()),
        NotPaused::NeverOpens(_) => StartError::Restored(error.to_string()),
    })?;
    if !is_restored {
        return Ok(());
    }
    let decision = Manifest::read(data).ok().flatten().map_or(0, |manifest| manifest.decision);
    let kept = data.join(format!("restored-{decision}.json"));
    let put_away = || -> std::io::Result<()> {
        fs::rename(&path, kept)?;
        File::open(data)?.sync_all()
    };
    put_away().map_err(StartError::Data)
}
