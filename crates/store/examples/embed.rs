//! An on-sale inside a program of one's own: `cargo run -p onrush-store --example embed`.

use onrush_core::ids::{EventId, PoolId};
use onrush_core::lines::{Lines, PoolLine};
use onrush_core::settings::Settings;
use onrush_core::spec::PoolSpec;
use onrush_core::types::AskedTypes;
use onrush_core::view::HoldView;
use onrush_core::{Command, Refusal};
use onrush_store::embedded::{Embedded, Options};
use onrush_store::{Ask, Engine, Failure};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let engine = Embedded::open(dir.path(), Options::default())?;
    let (event, pool): (EventId, PoolId) = ("gala".parse()?, "standing".parse()?);
    let run = |command| engine.execute(event.clone(), command);

    let settings = Settings::new("Gala", "EUR".parse()?);
    run(Command::CreateEvent { settings: Box::new(settings) }).await?;
    let spec = PoolSpec { pool: pool.clone(), capacity: 3, price_minor: 2_500 };
    run(Command::AddPool { spec }).await?;
    run(Command::OpenSale { seed: None, public_value: None }).await?;

    // Once this is answered no crash undoes it. Whoever asks for the same booking again gets the
    // same answer.
    let two = vec![PoolLine { pool: pool.clone(), quantity: 2 }];
    let two = Lines::new(two, vec![]).map_err(Failure::Refused)?;
    let ann = Command::Hold {
        booking: "gala.1".parse()?,
        user: "ann".parse()?,
        lines: two.clone(),
        channels: Vec::new(),
        types: AskedTypes::default(),
    };
    let hold: HoldView = engine.run(event.clone(), ann).await?.value;
    println!("{} costs {} cents: {:?}", hold.terms.booking, hold.terms.amount_minor, hold.state);

    // A refusal is a value: one place is left, and two are asked for.
    let bob = Command::Hold {
        booking: "gala.2".parse()?,
        user: "bob".parse()?,
        lines: two,
        channels: Vec::new(),
        types: AskedTypes::default(),
    };
    assert_eq!(run(bob).await, Err(Failure::Refused(Refusal::InsufficientStock { pool, free: 1 })));
    engine.close();
    Ok(())
}
