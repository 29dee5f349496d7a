//! The operator after a restore: holds the gateway's list of payments against the server's, as
//! docs/operating.md has it, and gives back what the server does not know of.

use super::bank::Bank;
use super::client::{Asking, Client};
use super::server::{ADMIN_KEY, Server};
use crate::chance::Chance;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Where the operator sits.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 4);

/// Gives back at the bank what was paid for nothing that the server knows.
pub(super) async fn compare_books(server: &Arc<Server>, bank: &Bank, seed: u64) {
    let device = Chance::of(seed, "operator", 0);
    let mut client = Client::new(server.net().clone(), ADDRESS.into(), device);
    client.token = Some(ADMIN_KEY.to_owned());
    for paid in bank.payments() {
        if !paid.is_captured && !paid.is_set_aside {
            continue;
        }
        let path = format!("/admin/payments?booking={}", paid.booking);
        let listed = client.insist(&Asking::get(path)).await;
        let listed = listed.body["payments"].as_array().into_iter().flatten();
        let is_known = listed.into_iter().any(|row| row["payment"] == paid.payment.as_str());
        if !is_known {
            server.story().tell("the operator", format!("gives {} back by hand", paid.payment));
            bank.give_back_by_hand(&paid.payment);
        }
    }
}
