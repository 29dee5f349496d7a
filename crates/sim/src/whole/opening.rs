//! The files of a data directory, opened in the order and with the questions of the server.

use onrush_ledger::Ledger;
use onrush_ledger::sqlite::{SqliteLedger, SteppedLedger};
use onrush_saga::pairing::{Before, Pairing};
use onrush_store::embedded::{Embedded, Options, Stepped};
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

/// Journal and ledger that belong together.
pub(super) struct Opened {
    pub(super) engine: Arc<Embedded>,
    pub(super) steps: Stepped,
    pub(super) ledger: Arc<SqliteLedger>,
    pub(super) ledger_steps: SteppedLedger,
    pub(super) pairing: Pairing,
}

/// Opens what is in a directory.
///
/// # Errors
/// What the server says when it does not start, as a sentence.
pub(super) async fn open(dir: &Path, options: Options) -> Result<Opened, String> {
    let accept = options.accept_restored;
    let before = Before::look(dir, accept).map_err(|error| error.to_string())?;
    if let Err(why) = before.check_keys(dir)
        && !accept
    {
        return Err(why);
    }
    let followed = SqliteLedger::followed(dir).map_err(|error| error.to_string())?;
    before.check_ledger(dir, followed, accept)?;
    let (ledger, mut ledger_steps) = SteppedLedger::open(dir).map_err(|error| error.to_string())?;
    let position = driven(&mut ledger_steps, ledger.position()).await;
    let position = before.position(position.map_err(|error| error.to_string())?, accept)?;
    drop(before);
    let (engine, steps) = Stepped::open(dir, options).map_err(|error| error.to_string())?;
    let begun = Pairing::begin(engine.clone(), &*ledger, position);
    let pairing = driven(&mut ledger_steps, begun).await?;
    Ok(Opened { engine, steps, ledger, ledger_steps, pairing })
}

/// Has the ledger step until something that waits for it is done.
pub(super) async fn driven<T>(steps: &mut SteppedLedger, what: impl Future<Output = T>) -> T {
    let mut what = pin!(what);
    loop {
        tokio::select! {
            biased;
            done = &mut what => return done,
            () = steps.asked() => {}
        }
        steps.step();
    }
}
