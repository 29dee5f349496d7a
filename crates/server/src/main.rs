//! Onrush.
fn main() {}
