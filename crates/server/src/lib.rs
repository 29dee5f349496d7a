//! The whole server as one value that can be started and stopped, alone or as a node of a cluster.

#[cfg(feature = "cluster")]
pub mod cluster;
pub mod history;
pub mod kit;
pub mod moved;
mod start;
mod start_error;
mod tasks;

pub use start::Server;
pub use start_error::{Remedy, StartError, Stopped};
