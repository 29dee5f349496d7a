//! The door: tickets are shown, and let somebody in once, however often and at however many
//! scanners they are shown.

use super::client::{Asking, Client};
use super::noted::{Scan, Scanned, Ticket};
use super::server::{SCANNER_KEY, Server};
use super::world::World;
use crate::chance::Chance;
use serde_json::json;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Where the scanners are.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 3);
/// How often a ticket is shown again if nothing is answered.
const TRIES: u32 = 4;

/// What a scanner may be told about a ticket that lets nobody in.
const REFUSALS: [&str; 2] = ["INVALID_STATUS", "RESERVATION_NOT_FOUND"];

/// Lets people in now and then, without end.
pub(super) async fn let_in(world: Arc<World>, server: Arc<Server>, seed: u64) {
    let mut chance = Chance::of(seed, "door", 0);
    let mut keys = Chance::of(seed, "keys at the door", 0);
    let mut scanners = [0, 1].map(|number| {
        let device = Chance::of(seed, "scanner", number);
        let mut client = Client::new(server.net().clone(), ADDRESS.into(), device);
        client.token = Some(SCANNER_KEY.to_owned());
        client
    });
    loop {
        sleep(Duration::from_millis(chance.within(200, 10_000).unsigned_abs())).await;
        let Some(ticket) = world.any_ticket(&mut chance) else { continue };
        let [first, second] = &mut scanners;
        // Some scanners ask without one, as the first ones did.
        let mut key = || keys.percent(80).then(|| format!("scan-{}", keys.any()));
        let (one, other) = (key(), key());
        if chance.percent(20) {
            // Somebody has a copy.
            tokio::join!(
                biased;
                show(&world, &server, first, &ticket, one),
                show(&world, &server, second, &ticket, other),
            );
        } else {
            let scanner = if chance.percent(50) { first } else { second };
            show(&world, &server, scanner, &ticket, one).await;
        }
    }
}

async fn show(
    world: &World,
    server: &Server,
    scanner: &mut Client,
    ticket: &Ticket,
    key: Option<String>,
) {
    let Ticket { booking, number, code, unit: _, restores: bought } = ticket;
    let asking = Asking::post("/check-in").body(json!({ "code": code }));
    let asking = key.clone().into_iter().fold(asking, Asking::key);
    for _ in 0..TRIES {
        // The sale may be over while this waits, and the server still at it.
        let scanned = Scanned {
            booking: booking.clone(),
            number: *number,
            key: key.clone(),
            bought: *bought,
            restores: server.restores(),
            scan: Scan::Unknown,
        };
        let scanned = world.note_scan(scanned);
        let answer = scanner.ask(&asking).await;
        let scan = match &answer {
            Some(answer) if answer.is_done() => Scan::In,
            Some(answer) if answer.code() == "ALREADY_CHECKED_IN" => Scan::Again,
            Some(answer) if REFUSALS.contains(&answer.code()) => Scan::Refused,
            Some(answer) if answer.status < 500 && !answer.is_put_off() => Scan::Misunderstood,
            Some(_) | None => Scan::Unknown,
        };
        let code = answer.map(|answer| answer.code().to_owned()).unwrap_or_default();
        server.story().tell("the door", format!("{booking}, ticket {number}: {scan:?} {code}"));
        world.note_said(scanned, scan);
        if scan != Scan::Unknown {
            return;
        }
    }
}
