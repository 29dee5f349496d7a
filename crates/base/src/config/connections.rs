//! What connections, streams and bodies may take up, so that no stranger takes it all.

use super::error::ConfigError;
use serde::Deserialize;

/// The section `[connections]`: 0 has a number worked out from how many files may be open.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConnectionSettings {
    /// Connections to the public listener at a time; fewer if fewer files may be open.
    pub max_connections: u32,
    /// Connections from one address (IPv6: one `/64`); trusted proxies have as many as they want.
    pub connections_per_address: u32,
    /// SSE and WebSocket connections of one visitor, on each node.
    pub streams_per_user: u32,
    /// SSE and WebSocket connections of one address (IPv6: one `/64`), on each node.
    pub streams_per_address: u32,
    /// How long a body may take, in milliseconds, beside the time that [`Self::body_bytes_per_s`] gives it.
    pub body_timeout_ms: u32,
    /// The slowest that a body may come once `body_timeout_ms` is used up.
    pub body_bytes_per_s: u32,
    /// How long a client may accept nothing of an answer or a stream that waits for it, in milliseconds.
    pub answer_timeout_ms: u32,
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        Self {
            max_connections: 0,
            connections_per_address: 0,
            streams_per_user: 8,
            streams_per_address: 0,
            body_timeout_ms: 10_000,
            body_bytes_per_s: 8_192,
            answer_timeout_ms: 30_000,
        }
    }
}

impl ConnectionSettings {
    /// Checks what must not be 0.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (name, value) in [
            ("streams_per_user", self.streams_per_user),
            ("body_timeout_ms", self.body_timeout_ms),
            ("body_bytes_per_s", self.body_bytes_per_s),
            ("answer_timeout_ms", self.answer_timeout_ms),
        ] {
            if value == 0 {
                return Err(ConfigError::new(format!("connections.{name}: use at least 1")));
            }
        }
        Ok(())
    }
}
