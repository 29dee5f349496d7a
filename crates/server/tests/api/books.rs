//! Everything added up again.

use onrush_audit::{AuditArgs, audit};
use serde_json::Value;
use std::path::Path;

/// What an audit of this directory reports, also beside the server that runs on it.
pub(crate) async fn audited(data: &Path) -> Value {
    let args = AuditArgs::of(data, true);
    // It reads files, and must not keep the server from answering meanwhile.
    let report = tokio::task::spawn_blocking(move || audit(&args)).await.unwrap();
    serde_json::to_value(report.expect("all of it can be read")).unwrap()
}
