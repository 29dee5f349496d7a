//! What runs the rules and what remembers money, as configured: opened together, closed together.

use crate::config::Config;
use crate::serve::StartError;
use onrush_ledger::Ledger;
use onrush_ledger::sqlite::SqliteLedger;
use onrush_store::Engine;
use onrush_store::embedded::{Clock, Embedded, Options};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How long to wait for others to let go of the engine, at most.
const LET_GO_TRIES: u32 = 200;
const LET_GO_PAUSE: Duration = Duration::from_millis(5);

/// The engine and the ledger of one process.
pub(crate) struct Backend {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) ledger: Arc<dyn Ledger>,
    /// The engine's clock.
    pub(crate) clock: Clock,
    kind: Kind,
}

enum Kind {
    Embedded { engine: Arc<Embedded>, ledger: Arc<SqliteLedger> },
}

impl Backend {
    /// Opens what is configured. Recovery reads files for as long as it takes.
    ///
    /// # Errors
    /// Whatever stands in the way, as a sentence.
    pub(crate) async fn open(config: &Config, options: Options) -> Result<Self, StartError> {
        let data = config.data.clone();
        let clock = options.clock.clone();
        let runtime = tokio::runtime::Handle::current();
        let options = Options { runtime: options.runtime.or(Some(runtime)), ..options };
        let engine = tokio::task::spawn_blocking(move || Embedded::open(&data, options)).await;
        let engine = match engine {
            Ok(opened) => Arc::new(opened.map_err(StartError::Engine)?),
            Err(error) => return Err(StartError::Data(io::Error::other(error))),
        };
        let data = config.data.clone();
        let ledger = tokio::task::spawn_blocking(move || SqliteLedger::open(&data)).await;
        let ledger = match ledger {
            Ok(opened) => Arc::new(opened.map_err(StartError::Ledger)?),
            Err(error) => return Err(StartError::Data(io::Error::other(error))),
        };
        Ok(Self {
            engine: engine.clone(),
            ledger: ledger.clone(),
            clock,
            kind: Kind::Embedded { engine, ledger },
        })
    }

    /// The ledger in a file, if it is that one.
    pub(crate) fn sqlite_ledger(&self) -> Option<&Arc<SqliteLedger>> {
        match &self.kind {
            Kind::Embedded { ledger, .. } => Some(ledger),
        }
    }

    /// Waits until the engine has stopped by itself, and says why.
    pub(crate) async fn failed(&self) -> String {
        match &self.kind {
            Kind::Embedded { engine, .. } => {
                engine.stopped().await;
                engine.failure().unwrap_or_else(|| "the engine was closed".into())
            }
        }
    }

    /// Closes both, once everybody else has let go of them.
    pub(crate) async fn close(self) {
        let Self { engine: shared, ledger: shared_ledger, clock: _, kind } = self;
        drop((shared, shared_ledger));
        match kind {
            Kind::Embedded { engine, ledger } => {
                // Streams that just heard goodbye still let go of the engine. Whoever else has it keeps it open.
                for _ in 0..LET_GO_TRIES {
                    if Arc::strong_count(&engine) == 1 {
                        break;
                    }
                    tokio::time::sleep(LET_GO_PAUSE).await;
                }
                // The last one to let go closes each, which waits for its threads.
                drop(tokio::task::spawn_blocking(move || drop((engine, ledger))).await);
            }
        }
    }
}
