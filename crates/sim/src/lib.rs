//! Onrush, simulated from one number.

pub mod chance;
pub mod whole;
