//! The command line.

mod archive;
mod certificates;
mod config;
mod health;
mod key;
mod kit_worker;
mod sandbox;
mod serve;
mod sync_inventory;
mod verify_ticket;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

const EXIT_CODES: &str = "\
Exit codes: 0 all is well, 1 a violation was found, 2 the command line is wrong, 3 it could not run.";

/// An on-sale engine: queue fairly, hold atomically, never sell a thing twice.
#[derive(Parser)]
#[command(name = "onrush", version = env!("ONRUSH_VERSION"), after_help = EXIT_CODES)]
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
    /// Make keys for people and services
    Key(key::KeyArgs),
    /// Run the sandbox: a payment gateway that moves no money
    #[command(after_help = EXIT_CODES)]
    Sandbox(sandbox::SandboxArgs),
    /// Sell out an arena to thousands of fans over real HTTP, and count everything twice
    #[command(after_help = EXIT_CODES)]
    Demo(onrush_lab::demo::DemoArgs),
    /// Recompute everything from the journal and compare it with the snapshot and the invariants
    #[command(after_help = EXIT_CODES)]
    Audit(onrush_audit::AuditArgs),
    /// Back up everything that a start needs, of one moment, while a server sells
    #[command(after_help = EXIT_CODES)]
    Backup(onrush_backup::BackupArgs),
    /// Put a backup into a directory of its own, if every byte of it is what was written
    #[command(after_help = EXIT_CODES)]
    Restore(onrush_backup::RestoreArgs),
    /// Move the history of archived events into files, from a journal while no server runs, or from a
    /// cluster's PostgreSQL
    #[command(after_help = archive::PROMISE)]
    Archive(archive::ArchiveArgs),
    /// Simulate whole sales with faults, each from one number, and judge all that happens
    #[command(after_help = EXIT_CODES)]
    Simulate(onrush_sim::SimulateArgs),
    /// Ask a node whether it is ready
    #[command(after_help = health::EXIT_CODES)]
    Health(health::HealthArgs),
    /// Return the stock of the script kit's holds that have run out, for programs that are not in Rust
    #[command(after_help = kit_worker::EXIT_CODES)]
    KitWorker(kit_worker::KitWorkerArgs),
    /// Bring the inventory in PostgreSQL into the pools of a running cluster
    #[command(after_help = sync_inventory::EXIT_CODES)]
    SyncInventory(sync_inventory::SyncInventoryArgs),
    /// Say whether a ticket is genuine, without asking any server
    #[command(after_help = verify_ticket::PROMISE)]
    VerifyTicket(verify_ticket::VerifyTicketArgs),
    /// Measure speed and size
    Bench(onrush_lab::bench::BenchArgs),
}

/// Files that an audit may have open, if that is allowed.
const AUDITED_FILES: u64 = 65_536;

/// Does what the command line says.
pub(crate) fn run() -> ExitCode {
    let exit = match Cli::parse().command {
        Command::Serve(args) => serve::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Key(args) => key::run(&args),
        Command::Sandbox(args) => sandbox::run(&args),
        Command::Demo(args) => onrush_lab::demo::run(&args),
        Command::Audit(args) => {
            // The files of archived events that sold at the same time are read side by side.
            onrush_serve::allow_open_files(AUDITED_FILES);
            onrush_audit::run(&args)
        }
        Command::Backup(args) => onrush_backup::backup(&args, env!("ONRUSH_VERSION")),
        Command::Restore(args) => onrush_backup::restore(&args),
        Command::Archive(args) => archive::run(&args),
        Command::Simulate(args) => onrush_sim::run(&args, env!("ONRUSH_VERSION")),
        Command::Health(args) => health::run(&args),
        Command::KitWorker(args) => kit_worker::run(&args),
        Command::SyncInventory(args) => sync_inventory::run(&args),
        Command::VerifyTicket(args) => verify_ticket::run(&args),
        Command::Bench(args) => onrush_lab::bench::run(&args, env!("ONRUSH_VERSION")),
    };
    exit.into()
}
