//! What every ledger promises, and what the SQLite one does with its file.
//!
//! All but the last three modules know only `dyn Ledger`, made by `books::open`.

mod books;

mod buyers;
mod catalogue;
mod deliveries;
mod lists;
mod projecting;
mod requests;
mod sagas;

mod crash;
mod faults;
mod files;
