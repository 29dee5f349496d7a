//! The operator, as docs/operating.md has it: after a restore they hold the gateway's list of payments
//! against the server's, and give back what the server does not know of; and they read what was done at
//! the gateway's own desk, and help on what is stuck because of it.

use super::bank::{AtDesk, Bank};
use super::bank_news::{bring, courier};
use super::client::{Answer, Asking, Client};
use super::server::{ADMIN_KEY, Server};
use super::world::World;
use crate::chance::Chance;
use onrush_core::ids::BookingId;
use onrush_ledger::desk::DeskStatus;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Where the operator sits.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 4);
/// How often a saga is tried again before its money is seen to by other means.
const RETRIES: u32 = 5;
/// How often a message of the bank's is brought again that is not answered.
const BRINGS: u32 = 20;
/// Entries and sagas read at a time.
const PAGE: usize = 1_000;

/// Gives back at the bank what was paid for nothing that the server knows.
pub(super) async fn compare_books(server: &Arc<Server>, bank: &Bank, seed: u64) {
    let mut client = client(server, Chance::of(seed, "operator", 0));
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

fn client(server: &Server, device: Chance) -> Client {
    let mut client = Client::new(server.net().clone(), ADDRESS.into(), device);
    client.token = Some(ADMIN_KEY.to_owned());
    client
}

/// When an operator looks at the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shift {
    /// Now and then, while everything goes wrong.
    DuringSale,
    /// Again and again, until nothing is left to do.
    AtTheEnd,
}

/// An operator who reads what was done at the gateway's own desk.
pub(super) struct DeskReader {
    world: Arc<World>,
    server: Arc<Server>,
    bank: Arc<Bank>,
    shift: Shift,
    client: Client,
    /// Brings messages that the bank sends again.
    courier: Client,
    /// How often each saga was tried again.
    retries: BTreeMap<BookingId, u32>,
    /// Entries that were settled, and as what.
    settled: BTreeMap<String, String>,
}

/// Reads now and then, without end.
pub(super) async fn read_now_and_then(mut reader: DeskReader, seed: u64) {
    let mut chance = Chance::of(seed, "operator's pauses", 0);
    loop {
        sleep(Duration::from_millis(chance.within(20_000, 300_000).unsigned_abs())).await;
        reader.read().await;
    }
}

impl DeskReader {
    pub(super) fn new(
        seed: u64,
        shift: Shift,
        world: Arc<World>,
        server: Arc<Server>,
        bank: Arc<Bank>,
    ) -> Self {
        let number = u64::from(shift == Shift::AtTheEnd);
        let client = client(&server, Chance::of(seed, "operator at the list", number));
        let courier = courier(&server, Chance::of(seed, "courier once more", number));
        let (retries, settled) = (BTreeMap::new(), BTreeMap::new());
        Self { world, server, bank, shift, client, courier, retries, settled }
    }

    fn tell(&self, what: impl AsRef<str>) {
        self.server.story().tell("the operator", what);
    }

    /// Reads the list, does what is to be done, and says what that was: nothing once all is as it should
    /// be.
    pub(super) async fn read(&mut self) -> Vec<String> {
        let before = self.bank.at_desk();
        let Some(listed) = self.entries().await else {
            return vec!["the list of what the desk did".into()];
        };
        let made = self.bank.at_desk();
        self.compare(&listed, &before, &made);
        let stuck = self.stuck(&made).await;
        let mut left = Vec::new();
        for one in &made {
            let entry = one.entry();
            let is_told = listed.get(&entry).is_some_and(|entry| is_as_made(entry, one));
            if is_told {
                continue;
            }
            left.push(format!("{entry}, which is not listed as it is"));
            if self.shift == Shift::AtTheEnd || stuck.contains(&one.booking) {
                self.have_sent_again(one).await;
            }
        }
        for (id, entry) in listed.iter().filter(|(_, entry)| entry["settled_at"].is_null()) {
            left.push(format!("{id}, which nobody has settled"));
            self.settle(id, entry).await;
        }
        for booking in stuck {
            left.push(format!("the saga of {booking}"));
            self.help_on(&booking, &made).await;
        }
        left
    }

    /// All entries, by their ids; `None` if they are not told.
    async fn entries(&mut self) -> Option<BTreeMap<String, Value>> {
        let (mut all, mut after) = (BTreeMap::new(), String::new());
        loop {
            let path = format!("/admin/desk?limit={PAGE}{after}");
            let page = self.client.insist(&Asking::get(path)).await;
            let Some(entries) = page.body["entries"].as_array().filter(|_| page.is_done()) else {
                self.world.complain(format!("what the desk did was answered {page:?}"));
                return None;
            };
            for entry in entries {
                let id = entry["entry"].as_str().unwrap_or_default();
                all.insert(id.to_owned(), entry.clone());
            }
            let Some(next) = page.body["next"].as_str() else { return Some(all) };
            after = format!("&after={next}");
        }
    }

    /// What the server took in is listed, as it was told, and nothing else is. `before` is what the bank
    /// knew when the list was asked for, and `made` what it knew when it was there.
    fn compare(&self, listed: &BTreeMap<String, Value>, before: &[AtDesk], made: &[AtDesk]) {
        for one in before {
            let least = one.heard.iter().map(|(status, _)| rank(*status)).max();
            let entry = listed.get(&one.entry());
            let is_right = match (least, entry.and_then(status_of)) {
                (None, None) => entry.is_none(),
                (Some(_), None) => false,
                (least, Some(status)) => least <= Some(rank(status)),
            };
            if !is_right {
                let (id, heard) = (one.entry(), &one.heard);
                self.world.complain(format!(
                    "the server has taken in {heard:?} of {id}, and lists {entry:?}"
                ));
            }
        }
        for (id, entry) in listed {
            let one = made.iter().find(|one| one.entry() == *id);
            if !one.is_some_and(|one| is_of(entry, one)) {
                self.world.complain(format!("{entry} is listed, and the desk did {one:?}"));
            }
            // It stays settled until there is news of it.
            let status = entry["status"].as_str().unwrap_or_default();
            if let Some(settled) = self.settled.get(id)
                && (settled == status) == entry["settled_at"].is_null()
            {
                self.world.complain(format!("{entry} was settled when it was {settled}"));
            }
        }
    }

    /// Bookings with which the desk has to do, and whose sagas wait for an operator.
    async fn stuck(&mut self, made: &[AtDesk]) -> BTreeSet<BookingId> {
        let path = format!("/admin/sagas?stuck=true&limit={PAGE}");
        let page = self.client.insist(&Asking::get(path)).await;
        let sagas = page.body["sagas"].as_array().into_iter().flatten();
        let bookings = sagas.filter_map(|saga| saga["booking"].as_str()?.parse::<BookingId>().ok());
        bookings.filter(|booking| made.iter().any(|one| one.booking == *booking)).collect()
    }

    /// Has the bank send its message once more, as whoever looks at its pages can.
    async fn have_sent_again(&mut self, made: &AtDesk) {
        let Some(id) = self.bank.message_of(made) else { return };
        for _ in 0..BRINGS {
            let answer = bring(&id, &mut self.courier, &self.bank, &self.server).await;
            let Some(answer) = answer.filter(|answer| !answer.is_put_off()) else {
                sleep(Duration::from_secs(2)).await;
                continue;
            };
            let entry = made.entry();
            self.tell(format!("has {entry} sent again: {} {}", answer.status, answer.code()));
            if !answer.is_done() {
                self.world.complain(format!("the message of {entry} was answered {answer:?}"));
            }
            return;
        }
    }

    /// Says that an entry was seen, as it was read.
    async fn settle(&mut self, id: &str, entry: &Value) {
        let body = json!({ "why": "seen", "updated_at": entry["updated_at"] });
        let asking = Asking::post(format!("/admin/desk/{id}/settle")).body(body);
        let answer = self.client.insist(&asking).await;
        self.tell(format!("settles {id}: {} {}", answer.status, answer.code()));
        match answer.code() {
            "" if answer.is_done() && answer.body["status"] == entry["status"] => {
                let status = entry["status"].as_str().unwrap_or_default();
                self.settled.insert(id.to_owned(), status.to_owned());
            }
            // There was news of it.
            "MONEY_UNDER_WAY" => {}
            _ => self.world.complain(format!("{entry} was to be settled: {answer:?}")),
        }
    }

    /// Has a saga tried again once nothing of it is under way at the desk; in the end the last time after
    /// all that the desk did was told once more. What is still owed then is given back by other means.
    async fn help_on(&mut self, booking: &BookingId, made: &[AtDesk]) {
        let is_open = |one: &AtDesk| one.booking == *booking && one.stands() == DeskStatus::Open;
        if made.iter().any(is_open) {
            return;
        }
        let retries = self.retries.entry(booking.clone()).or_default();
        *retries += 1;
        let retries = *retries;
        if retries <= RETRIES || self.shift == Shift::DuringSale {
            if retries == RETRIES && self.shift == Shift::AtTheEnd {
                // What a version before had written does not count until it is told once more.
                for one in made.iter().filter(|one| one.booking == *booking) {
                    self.have_sent_again(one).await;
                }
            }
            self.act(booking, "retry").await;
            return;
        }
        let path = format!("/admin/bookings?text={booking}");
        let page = self.client.insist(&Asking::get(path)).await;
        let row = &page.body["bookings"][0];
        if row.is_null() {
            return;
        }
        let of_it = self.bank.payments().into_iter().filter(|paid| paid.booking == *booking);
        for paid in of_it.filter(|paid| paid.is_captured) {
            let owed_minor = match row["status"].as_str() {
                _ if row["payment"] != paid.payment.as_str() => paid.amount_minor,
                Some("confirmed") => 0,
                Some("cancelled") => row["refund_minor"].as_i64().unwrap_or_default(),
                _ => paid.amount_minor,
            };
            let back_minor = paid.amount_minor - paid.left_minor + paid.elsewhere_minor;
            if owed_minor > back_minor {
                let left_minor = owed_minor - back_minor;
                self.tell(format!("gives {left_minor} of {} back in cash", paid.payment));
                // Once more is enough where the server knows all that the desk did.
                if self.server.upgrades().await == 0 {
                    self.world.complain(format!(
                        "{booking} was tried again {RETRIES} times, and {left_minor} of {} are owed still",
                        paid.payment
                    ));
                }
                self.bank.give_back_elsewhere(&paid.payment, left_minor);
            }
        }
        self.act(booking, "release").await;
    }

    async fn act(&mut self, booking: &BookingId, what: &str) {
        let asking = Asking::post(format!("/admin/sagas/{booking}/{what}")).body(json!({}));
        let Answer { status, body, .. } = self.client.insist(&asking).await;
        let (code, why) = (&body["code"], &body["saga"]["stuck"]);
        self.tell(format!("has {booking} {what}: {status} {code}, stuck: {why}"));
    }
}

/// How far a refund at the desk is: what was decided is not open again, and what came back stays.
fn rank(status: DeskStatus) -> u8 {
    match status {
        DeskStatus::Open => 0,
        DeskStatus::Moved => 1,
        DeskStatus::Stayed => 2,
    }
}

fn status_of(entry: &Value) -> Option<DeskStatus> {
    serde_json::from_value(entry["status"].clone()).ok()
}

/// Whether an entry is about what the desk did, and stands as that did once.
fn is_of(entry: &Value, made: &AtDesk) -> bool {
    entry["kind"] == "refund"
        && entry["gateway"] == "bank"
        && entry["reference"] == made.reference.as_str()
        && entry["payment"] == made.payment.as_str()
        && entry["booking"] == made.booking.as_str()
        && entry["amount_minor"] == made.amount_minor
        && entry["currency"] == "EUR"
        && status_of(entry).is_some_and(|status| made.stood.contains(&status))
}

/// Whether an entry says how something stands now that the desk did.
fn is_as_made(entry: &Value, made: &AtDesk) -> bool {
    status_of(entry) == Some(made.stands())
}
