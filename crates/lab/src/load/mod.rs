//! A light HTTP client: what the fans of the demo and the load of the benchmarks are made with.
//!
//! Requests are bytes that the caller has ready, answers are a status and a body. It speaks just as
//! much HTTP/1.1 as our own server does, so that the client's own work stays small beside what is
//! measured.

mod connection;
mod latency;
mod pool;
pub(crate) mod stream;

pub(crate) use connection::{Answer, Connection, Request};
pub(crate) use latency::Latency;
pub(crate) use onrush_serve::allow_open_files;
pub(crate) use pool::Pool;
