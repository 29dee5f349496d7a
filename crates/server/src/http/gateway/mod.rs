//! What payment gateways ask for.

pub mod webhook;
