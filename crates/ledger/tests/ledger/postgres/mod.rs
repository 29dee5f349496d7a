//! The suite on PostgreSQL, and what that ledger does for many nodes.
#![expect(clippy::duplicate_mod, reason = "the suite is there for each ledger")]

mod books;

#[path = "../suite/access.rs"]
mod access;
#[path = "../suite/buyers.rs"]
mod buyers;
#[path = "../suite/catalogue.rs"]
mod catalogue;
#[path = "../suite/deliveries.rs"]
mod deliveries;
#[path = "../suite/desk.rs"]
mod desk;
#[path = "../suite/keys.rs"]
mod keys;
#[path = "../suite/lists.rs"]
mod lists;
#[path = "../suite/mailed.rs"]
mod mailed;
#[path = "../suite/projecting.rs"]
mod projecting;
#[path = "../suite/receipts.rs"]
mod receipts;
#[path = "../suite/requests.rs"]
mod requests;
#[path = "../suite/retention.rs"]
mod retention;
#[path = "../suite/sagas.rs"]
mod sagas;

mod archive;
mod claims;
mod encrypted;
mod erasing;
mod files;
mod history;
mod lengthy;
mod news;
mod nodes;
mod plans;
mod replaying;
mod restart;
mod room_nights;
mod shared;
mod updating;
