//! Money: gateways take it, and the driver of sagas sees every payment through.

pub mod gateway;
