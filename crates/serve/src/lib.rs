//! The listeners: connections in, requests through a router, and what no stranger may take up.

mod accept;
pub mod bodies;
mod certificate;
mod chatter;
pub mod connection;
mod files;
mod gate;
mod groups;
pub mod handover;
mod leftover;
pub mod pressure;
mod repeats;
mod socket;
mod stall;
mod tls;
mod traffic;
pub mod wire;

pub use accept::{listen, serve_doors, serve_on, serve_router, serve_tls_on};
pub use certificate::{Certificate, CertificateView, FetchedCertificate};
pub use files::{Share, allow_open_files, files_wanted, shortage};
pub use gate::{Terms, Unserved, subscriber};
pub use groups::Group;
pub use traffic::{ProblemCode, Traffic};
