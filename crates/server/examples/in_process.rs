//! The whole server inside a program of one's own: `cargo run -p onrush-server --example in_process`.

use onrush_base::config::Config;
use onrush_core::Command;
use onrush_core::ids::EventId;
use onrush_core::question::EventNow;
use onrush_core::settings::Settings;
use onrush_server::Server;
use onrush_store::Ask;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let config = Config {
        data: dir.path().to_owned(),
        listen: "127.0.0.1:0".parse()?,
        operator_listen: None,
        ..Config::default()
    };
    let server = Server::start(config).await?;
    println!("buyers and organisers: http://{}", server.public_addr());
    println!("the organiser's key, drawn just now: {}", server.admin_key().unwrap_or_default());

    // What HTTP asks of the engine, the program may ask as well.
    let (engine, gala): (_, EventId) = (server.engine(), "gala".parse()?);
    let settings = Box::new(Settings::new("Gala", "EUR".parse()?));
    engine.execute(gala.clone(), Command::CreateEvent { settings }).await?;
    let event = engine.ask(gala, EventNow).await?.value;
    println!("{} is {:?}", event.settings.title, event.phase);
    server.shutdown().await;
    Ok(())
}
