//! The box office: takes money over the counter for what somebody holds, also while they pay online.

use super::client::{Asking, Client};
use super::noted::{Came, Taken};
use super::server::{ADMIN_KEY, Server};
use super::world::{World, event_of};
use crate::chance::Chance;
use serde_json::json;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Where the box office is.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 5);
/// How often something is asked again that was not answered.
const TRIES: u32 = 4;

/// Sells now and then what was held lately, without end.
pub(super) async fn sell(world: Arc<World>, server: Arc<Server>, seed: u64) {
    let mut chance = Chance::of(seed, "till", 0);
    let device = Chance::of(seed, "the till's device", 0);
    let mut client = Client::new(server.net().clone(), ADDRESS.into(), device);
    client.token = Some(ADMIN_KEY.to_owned());
    for nth in 1.. {
        sleep(Duration::from_millis(chance.within(500, 20_000).unsigned_abs())).await;
        let Some(booking) = world.young_booking(&mut chance) else { continue };
        let number = format!("till-{nth}");
        let path = format!("/admin/events/{}/bookings/{booking}/confirm", event_of(&booking));
        let asking = Asking::post(path).body(json!({ "payment": &number }));
        for _ in 0..TRIES {
            // The sale may be over while this waits, and the server still at it.
            let taken = world.note_taken(Taken {
                booking: booking.clone(),
                number: number.clone(),
                restores: server.restores(),
                came: Came::Unknown,
            });
            let answer = client.ask(&asking).await.filter(|answer| !answer.is_put_off());
            let came = match &answer {
                Some(answer) if answer.is_done() => Came::Done,
                Some(answer) if answer.status < 500 => Came::Refused,
                Some(_) | None => Came::Unknown,
            };
            let code = answer.map(|answer| answer.code().to_owned()).unwrap_or_default();
            server.story().tell("the till", format!("{number} for {booking}: {came:?} {code}"));
            world.note_taken_came(taken, came);
            if came != Came::Unknown {
                break;
            }
            sleep(Duration::from_millis(chance.within(200, 3_000).unsigned_abs())).await;
        }
    }
}
