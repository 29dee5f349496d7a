//! kill -9 in the middle of a sale: what was acknowledged is there afterwards, and everything adds up.

mod cli_support;

use cli_support::{Served, exchange, run_json};
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const KILLS: usize = 60;
const BUYERS: usize = 8;
/// The kill comes after at most this many acknowledged holds of a round; others are under way then.
const MOST_HOLDS: usize = 1_000;
/// Where the moments of the kills come from; another number makes other moments.
const SEED: u64 = 20_261_120;

/// A hold that the server has acknowledged.
struct Acknowledged {
    token: usize,
    booking: String,
    quantity: u64,
}

#[test]
fn acknowledged_holds_survive_every_kill() {
    println!("seed {SEED}");
    let scratch = tempfile::tempdir().expect("a directory");
    let data = scratch.path().display().to_string();
    let mut chance = SEED;
    let mut served = Served::start(scratch.path());
    served.create_flash_sale("flash", 1_000_000);
    let tokens: Vec<String> = (0..BUYERS).map(|_| served.visitor()).collect();
    let mut all: Vec<Acknowledged> = Vec::new();

    for kill in 0..KILLS {
        chance =
            chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let holds = 1 + (chance >> 33) as usize % MOST_HOLDS;
        let round = load_and_kill(served, &tokens, kill, holds);
        assert!(
            round.len() >= holds,
            "kill {kill}: the server answered only {} holds",
            round.len()
        );

        let (code, report) = run_json(&["audit", "--json", "--data", &data]);
        assert_eq!((code, &report["violations"]), (Some(0), &json!(0)), "kill {kill}: {report}");
        served = Served::start(scratch.path());
        for hold in &round {
            check(&served, &tokens, hold, kill);
        }
        all.extend(round);
    }

    // What survived one kill also survived the later ones, and nothing was counted that nobody holds.
    for hold in &all {
        check(&served, &tokens, hold, KILLS);
    }
    let held: u64 = all.iter().map(|hold| hold.quantity).sum();
    let event = served.ask("GET", "/api/v1/events/flash", "", "");
    let units = event["units"]["held"].as_u64().expect("a number");
    // Holds whose answer was lost with the server may be there as well: at most one a buyer and
    // kill, of at most 3.
    assert!(
        (held..=held + (3 * BUYERS * KILLS) as u64).contains(&units),
        "{held} acknowledged, {event}"
    );
    assert_eq!(served.stop(), Some(0));
    assert_eq!(run_json(&["audit", "--json", "--data", &data]).0, Some(0));
    println!("{KILLS} kills, {} acknowledged holds", all.len());
}

/// Holds from all buyers at once, and kills the server after `holds` were acknowledged; says all that were.
fn load_and_kill(
    served: Served,
    tokens: &[String],
    kill: usize,
    holds: usize,
) -> Vec<Acknowledged> {
    let acknowledged = Mutex::new(Vec::new());
    let count = AtomicUsize::new(0);
    let killer = Mutex::new(Some(served));
    let address = killer.lock().expect("no panic").as_ref().expect("it runs").address;
    std::thread::scope(|scope| {
        for (buyer, token) in tokens.iter().enumerate() {
            let (acknowledged, count, killer) = (&acknowledged, &count, &killer);
            scope.spawn(move || {
                let mine = buy(address, token, &format!("{kill}-{buyer}"), |booking, quantity| {
                    // The others go on while this one kills.
                    if count.fetch_add(1, Ordering::SeqCst) + 1 == holds
                        && let Some(served) = killer.lock().expect("no panic").take()
                    {
                        served.kill();
                    }
                    Acknowledged { token: buyer, booking, quantity }
                });
                acknowledged.lock().expect("no panic").extend(mine);
            });
        }
    });
    acknowledged.into_inner().expect("no panic")
}

/// Holds until the connection breaks.
fn buy(
    address: SocketAddr,
    token: &str,
    key: &str,
    mut record: impl FnMut(String, u64) -> Acknowledged,
) -> Vec<Acknowledged> {
    let mut mine = Vec::new();
    let Ok(mut connection) = TcpStream::connect(address) else { return mine };
    for number in 0_u64.. {
        let quantity = 1 + number % 3;
        let body = format!(r#"{{"pools":{{"ga":{quantity}}}}}"#);
        let key = format!("{key}-{number}");
        let path = "/api/v1/events/flash/bookings";
        match exchange(&mut connection, "POST", path, token, &key, &body) {
            Ok((201, booking)) => {
                let id = booking["booking"].as_str().expect("an id").to_owned();
                mine.push(record(id, quantity));
            }
            // Too much at once is said before anything is done.
            Ok((503, _)) => {}
            Ok((status, body)) => panic!("{status}: {body}"),
            Err(_) => break,
        }
    }
    mine
}

fn check(served: &Served, tokens: &[String], hold: &Acknowledged, kill: usize) {
    let path = format!("/api/v1/bookings/{}", hold.booking);
    let booking: Value = served.ask("GET", &path, &tokens[hold.token], "");
    assert_eq!(booking["status"], "held", "kill {kill}: {booking}");
    assert_eq!(booking["lines"], json!({"pools": {"ga": hold.quantity}}), "kill {kill}");
}
