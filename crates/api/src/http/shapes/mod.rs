//! JSON that several resources have in common. It is a promise to others, so it is kept apart from
//! the rules' own types.

pub mod lines;
pub mod page;
pub mod problem;
pub mod reason;
pub mod table;
pub mod types;
