//! The demo and the benchmarks, with the load they need.

pub mod bench;
pub mod demo;
mod load;
