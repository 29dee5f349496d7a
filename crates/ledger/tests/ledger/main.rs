//! What every ledger promises, and what each of them does beside it.
//!
//! The modules in `suite` know only `dyn Ledger` and are there twice: once for each ledger, made by
//! its `books::Books`.

mod rows;

mod postgres;
mod sqlite;
