//! HTTP: requests in, commands and queries on, JSON out. One folder a resource.

pub mod body;
pub mod bookings;
pub mod caller;
pub mod channels;
pub mod claims;
pub mod compat;
pub mod events;
pub mod faults;
mod headers;
pub mod limits;
pub mod live;
pub mod messages;
pub mod negotiate;
pub mod once;
pub mod openapi;
pub mod origin;
pub mod pages;
pub mod payments;
pub mod problem;
pub mod queue;
pub mod receipts;
mod router;
pub mod sagas;
pub mod seats;
pub mod sessions;
pub mod shapes;
pub mod state;
pub mod system;
pub mod tickets;
mod unserved;
pub mod upload;
pub mod visitors;

pub use router::{operator_router, public_router};
pub use unserved::unserved;
