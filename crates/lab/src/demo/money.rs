//! The money of the evening: what the gateway took and gave back, once every saga has come to its end.

use super::api::Obstacle;
use onrush_server::Server;
use std::time::{Duration, Instant};

/// How long sagas may take after the last fan has gone. Late money is on its way for some seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often to look whether they have ended.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is known when nothing moves any more.
pub(super) struct Settled {
    /// Money that the gateway took, in minor units.
    pub(super) captured_minor: i64,
    /// Money that it gave back.
    pub(super) refunded_minor: i64,
    /// Payments from which it took money.
    pub(super) payments: u64,
    /// Sagas that wait for an operator.
    pub(super) stuck_sagas: u64,
    /// Sagas that have not come to an end.
    pub(super) open_sagas: u64,
}

/// Waits until no saga is open, or patience is over, and asks gateway and ledger.
pub(super) async fn settle(server: &Server) -> Result<Settled, Obstacle> {
    let begun = Instant::now();
    loop {
        let ledger = server.ledger().totals().await.map_err(|error| error.to_string())?;
        let followed = server.ledger().cursor().await.map_err(|error| error.to_string())?;
        let caught_up = followed >= server.engine().committed().0;
        if (caught_up && ledger.open_sagas == 0) || begun.elapsed() > PATIENCE {
            let sandbox = server.sandbox().ok_or_else(|| "the sandbox is gone".to_owned())?;
            let sandbox = sandbox.totals().await.ok_or_else(|| "the sandbox failed".to_owned())?;
            return Ok(Settled {
                captured_minor: sandbox.captured_minor,
                refunded_minor: sandbox.refunded_minor,
                payments: sandbox.captured_payments,
                stuck_sagas: ledger.stuck_sagas,
                open_sagas: ledger.open_sagas,
            });
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
