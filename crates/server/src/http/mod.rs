//! HTTP: requests in, commands and queries on, JSON out. One endpoint a file.

pub mod admin;
pub mod body;
mod buyer;
pub mod caller;
pub mod faults;
pub mod first_answer;
pub mod gateway;
pub mod keeper;
pub mod limits;
pub mod live;
pub mod negotiate;
pub mod once;
pub mod openapi;
pub mod operator;
pub mod origin;
pub mod pages;
pub mod problem;
mod router;
pub mod s3;
pub mod scanner;
pub mod session;
pub mod shapes;
pub mod state;
mod unserved;
pub mod upload;
pub mod visitor;

pub use router::{operator_router, public_router};
pub use unserved::unserved;
