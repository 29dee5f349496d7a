//! A state as a list of rows, to be written beside the journal and read back.

use serde::{Deserialize, Serialize};

/// One row of a snapshot of one event. Rows come in one fixed order; equal states give equal rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotRow {}
