//! What command lines share: exit codes, what they print, and how they are interrupted.

pub mod exit;
pub mod process;
pub mod show;
