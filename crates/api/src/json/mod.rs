//! JSON that requests, answers and streams have in common: ids, numbers and times as the OpenAPI
//! document describes them, and how whole numbers and objects are read.

pub mod ids;
pub mod object;
pub mod sale;
pub mod whole;
pub(crate) mod words;
