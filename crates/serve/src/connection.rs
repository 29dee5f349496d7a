//! The connection that a request came over.

use super::handover::Handover;
use std::net::IpAddr;
use std::sync::Arc;

/// The connection that a request came over; the accept loop notes it on each.
#[derive(Clone)]
pub struct Connection {
    /// The address at the other end.
    pub peer: IpAddr,
    /// How the connection becomes a stream.
    pub handover: Arc<Handover>,
}
