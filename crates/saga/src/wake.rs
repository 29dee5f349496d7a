//! Sagas that gave up while the gateway was ill: they go on by themselves once it is well again.

use super::draft::Draft;
use super::sagas::Sagas;
use onrush_ledger::LedgerError;
use onrush_ledger::saga::{Saga, SagaFilter};
use std::sync::Arc;
use std::time::Duration;

/// Sagas read from the ledger at a time.
const PAGE: usize = 256;
/// How long to wait for a ledger that does not answer.
const LEDGER_PAUSE: Duration = Duration::from_secs(1);

/// Wakes them whenever the gateway is well again, until told to stop.
///
/// Each node goes by what it hears itself: where a new key is rolled out, the last node to have it
/// wakes those whom another one still had to give up.
pub(crate) async fn run(sagas: Arc<Sagas>) {
    let Some(health) = sagas.health() else { return };
    loop {
        tokio::select! {
            biased;
            () = sagas.stopped() => return,
            () = health.mended() => {}
        }
        while let Err(error) = sagas.wake_those_who_gave_up().await {
            tracing::error!(%error, "sagas that gave up cannot be woken yet");
            tokio::select! {
                biased;
                () = sagas.stopped() => return,
                () = tokio::time::sleep(LEDGER_PAUSE) => {}
            }
        }
    }
}

impl Sagas {
    /// Makes due again what is stuck because it was tried in vain as often as patience allows; what an
    /// operator has to see to stays.
    async fn wake_those_who_gave_up(&self) -> Result<(), LedgerError> {
        let mut filter = SagaFilter { stuck: Some(true), ..SagaFilter::default() };
        let mut woken = 0;
        loop {
            let page = self.ledger.sagas(filter.clone(), PAGE).await?;
            for saga in page.rows.iter().filter(|saga| self.has_given_up(saga)) {
                woken += u32::from(self.wake(saga).await?);
            }
            match page.next {
                Some(next) => filter.after = Some(next),
                None => break,
            }
        }
        if woken > 0 {
            tracing::info!(woken, "the gateway is well again: sagas that had given up go on");
        }
        Ok(())
    }

    fn has_given_up(&self, saga: &Saga) -> bool {
        saga.stuck.is_some() && saga.tries >= self.patience.tries
    }

    /// Wakes one saga; false if somebody else has been at it meanwhile.
    async fn wake(&self, saga: &Saga) -> Result<bool, LedgerError> {
        let _held = self.locks.hold(&saga.booking).await;
        let record = self.ledger.saga_record(&saga.booking).await?;
        let Some(record) = record.filter(|record| self.has_given_up(&record.saga)) else {
            return Ok(false);
        };
        let mut draft = Draft::of(&record, self.now());
        draft.stuck(None);
        draft.tries(0);
        draft.next_at(Some(self.now()));
        draft.note("the gateway is well again");
        match self.write(draft).await {
            Ok(_) => Ok(true),
            Err(LedgerError::Conflict) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
