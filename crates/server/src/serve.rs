//! The listeners: connections in, requests through a router, and what no stranger may take up.

mod accept;
mod files;
mod gate;
mod socket;
mod traffic;

pub(crate) use accept::serve_on;
pub use accept::{listen, serve_router};
pub use files::{Share, allow_open_files, files_wanted, shortage};
pub use gate::{Terms, subscriber};
pub use traffic::Traffic;
