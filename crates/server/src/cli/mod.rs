//! The command line.

mod audit;
mod bench;
mod config;
mod demo;
mod load;
mod sandbox;
mod serve;
mod show;
mod sync_inventory;
mod verify_ticket;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

const EXIT_CODES: &str = "\
Exit codes: 0 all is well, 1 a violation was found, 2 the command line is wrong, 3 it could not run.";

/// An on-sale engine: queue fairly, hold atomically, never sell a thing twice.
#[derive(Parser)]
#[command(name = "onrush", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server
    #[command(after_help = serve::PRECEDENCE)]
    Serve(serve::ServeArgs),
    /// Show every setting there is, as a configuration file to start from, or check a file
    #[command(after_help = EXIT_CODES)]
    Config(config::ConfigArgs),
    /// Run the sandbox: a payment gateway that moves no money
    #[command(after_help = EXIT_CODES)]
    Sandbox(sandbox::SandboxArgs),
    /// Sell out an arena to thousands of fans over real HTTP, and count everything twice
    #[command(after_help = EXIT_CODES)]
    Demo(demo::DemoArgs),
    /// Recompute everything from the journal and compare it with the snapshot and the invariants
    #[command(after_help = EXIT_CODES)]
    Audit(audit::AuditArgs),
    /// Bring the inventory in PostgreSQL into the pools of a running cluster
    #[command(after_help = sync_inventory::EXIT_CODES)]
    SyncInventory(sync_inventory::SyncInventoryArgs),
    /// Say whether a ticket is genuine, without asking any server
    #[command(after_help = verify_ticket::PROMISE)]
    VerifyTicket(verify_ticket::VerifyTicketArgs),
    /// Measure speed and size
    Bench(bench::BenchArgs),
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// All is well.
    Ok,
    /// A violation was found.
    Violation,
    /// The command line or the configuration is wrong.
    Usage,
    /// It could not run.
    CouldNotRun,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Ok => 0,
            Exit::Violation => 1,
            // The parser of the command line ends with the same.
            Exit::Usage => 2,
            Exit::CouldNotRun => 3,
        })
    }
}

/// Does what the command line says.
pub(crate) fn run() -> ExitCode {
    let exit = match Cli::parse().command {
        Command::Serve(args) => serve::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Sandbox(args) => sandbox::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::SyncInventory(args) => sync_inventory::run(&args),
        Command::VerifyTicket(args) => verify_ticket::run(&args),
        Command::Bench(args) => bench::run(&args),
    };
    exit.into()
}

/// A runtime for everything that talks to others.
fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no threads: {error}"))
}

/// Waits for Ctrl-C, or for the request to end that a service manager sends.
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        // Without it, Ctrl-C is still there.
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}

/// Waits for the end of the input, which comes at the latest when the process that writes it is gone.
async fn input_ended() {
    // Reading blocks, so it has a thread; it ends with the process at the latest.
    let (ended, wait) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // Whatever goes wrong while reading, there is no more to come.
        drop(std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink()));
        // Nobody may be waiting any more.
        let _ = ended.send(());
    });
    drop(wait.await);
}
