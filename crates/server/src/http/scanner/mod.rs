//! What those who let people in may ask for, with the scanner key or the admin API key.

pub mod check_in;
pub mod revoked;
