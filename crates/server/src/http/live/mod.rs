//! Live updates over HTTP.

pub mod sse;
pub mod ws;
