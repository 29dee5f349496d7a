//! `onrush serve`: the server, until it is told to stop.

use onrush_base::auth::{hex, random};
use onrush_base::config::Config;
use onrush_base::spans::TARGET;
use onrush_serve::{allow_open_files, files_wanted, shortage};
use onrush_server::{Remedy, Server, Stopped};
use onrush_terminal::exit::Exit;
use onrush_terminal::process::{input_ended, interrupted, runtime};
use onrush_terminal::show::{print_json, say};
use onrush_traces::Traces;
use serde::Serialize;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::pin;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

pub(super) const PRECEDENCE: &str = "\
Every setting can also stand in the file (TOML) and in a variable: ONRUSH_LISTEN, and with two \
underscores for a section ONRUSH_STRIPE__SECRET_KEY; ONRUSH_STRIPE__SECRET_KEY_FILE names a file that \
has it. A flag overrides a variable, a variable overrides the file. ONRUSH_LIMITS=off switches all \
limits on visitors and addresses off. `onrush config --template` shows every setting, \
docs/operating.md says more.

Exit codes: 0 stopped as asked, 2 the command line or configuration is wrong, 3 it could not run, \
and may at another start, 4 it refuses what it finds in the data until somebody has looked.";

/// What can be said on the command line about the server.
#[derive(clap::Args)]
pub(crate) struct ServeArgs {
    /// The directory that has everything: journal, keys, seat maps [default: onrush-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where visitors and organisers connect; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Where metrics and health are asked for, or "off" [default: 127.0.0.1:8081]
    #[arg(long, value_name = "ADDRESS", value_parser = address_or_off)]
    operator_listen: Option<AddressOrOff>,
    /// A configuration file
    #[arg(long, value_name = "FILE", env = "ONRUSH_CONFIG")]
    config: Option<PathBuf>,
    /// What is logged: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", env = "ONRUSH_LOG", default_value = "info")]
    log: tracing::level_filters::LevelFilter,
    /// Say where it listens as one line of JSON
    #[arg(long)]
    json: bool,
    /// Go on with files that are older than others, or without some that are missing: once, after reading
    /// docs/operating.md, "A start that is refused"
    #[arg(long)]
    accept_restored: bool,
    /// Stop at the end of the input: when whoever started the server is gone
    #[arg(long, hide = true)]
    stop_with_input: bool,
}

#[derive(Clone, Copy)]
enum AddressOrOff {
    Address(SocketAddr),
    Off,
}

fn address_or_off(text: &str) -> Result<AddressOrOff, String> {
    if text == "off" {
        return Ok(AddressOrOff::Off);
    }
    text.parse()
        .map(AddressOrOff::Address)
        .map_err(|_| "use an address and a port, or \"off\"".into())
}

/// What the server says when it is ready.
#[derive(Serialize)]
struct Ready<'a> {
    listen: SocketAddr,
    operator_listen: Option<SocketAddr>,
    data: &'a std::path::Path,
    /// Only if it was generated just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    admin_key: Option<&'a str>,
}

/// Why the server ended.
enum Ended {
    Usage(String),
    CouldNotRun(String),
    Refused(String),
    /// It was told to stop while it started.
    AtOnce,
}

impl Ended {
    const fn with(remedy: Remedy, why: String) -> Self {
        match remedy {
            Remedy::Settings => Self::Usage(why),
            Remedy::AnotherStart => Self::CouldNotRun(why),
            Remedy::Operator => Self::Refused(why),
        }
    }
}

/// Runs the server.
pub(crate) fn run(args: &ServeArgs) -> Exit {
    let done = configure(args).map_err(Ended::Usage).and_then(|config| {
        let runtime = runtime().map_err(Ended::CouldNotRun)?;
        let done = runtime.block_on(watched(args, config));
        if matches!(done, Err(Ended::AtOnce)) {
            // Dropping it waits for a recovery that is under way.
            runtime.shutdown_background();
        }
        done
    });
    let (exit, why) = match done {
        Ok(()) | Err(Ended::AtOnce) => return Exit::Ok,
        Err(Ended::Usage(why)) => (Exit::Usage, why),
        Err(Ended::CouldNotRun(why)) => (Exit::CouldNotRun, why),
        Err(Ended::Refused(why)) => (Exit::Refused, why),
    };
    say(&format!("error: {why}"));
    exit
}

fn configure(args: &ServeArgs) -> Result<Config, String> {
    let mut config =
        Config::load_here(args.config.as_deref()).map_err(|error| error.to_string())?;
    if let Some(data) = &args.data {
        config.data.clone_from(data);
    }
    if let Some(listen) = args.listen {
        config.listen = listen;
    }
    match args.operator_listen {
        Some(AddressOrOff::Address(address)) => config.operator_listen = Some(address),
        Some(AddressOrOff::Off) => config.operator_listen = None,
        None => {}
    }
    config.accept_restored = args.accept_restored;
    Ok(config)
}

/// Serves, with a log and, if somebody collects them, traces.
async fn watched(args: &ServeArgs, config: Config) -> Result<(), Ended> {
    let (level, is_terminal) = (args.log, std::io::stderr().is_terminal());
    let Some(telemetry) = &config.telemetry else {
        tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(std::io::stderr)
            .with_ansi(is_terminal)
            // It would go to the same file that has just failed, and end the thread if that fails too.
            .log_internal_errors(false)
            .init();
        return serve(args, config).await;
    };
    let traces = Traces::start(telemetry, hex(&random::<16>())).map_err(Ended::Usage)?;
    // Spans are for the collector: lines stay as they are.
    let lines = filter_fn(move |of| *of.level() <= level && of.target() != TARGET);
    let log = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(is_terminal)
        .log_internal_errors(false)
        .with_filter(lines.with_max_level_hint(level));
    tracing_subscriber::registry().with(log).with(traces.layer()).init();
    let served = serve(args, config).await;
    traces.shutdown().await;
    served
}

async fn serve(args: &ServeArgs, config: Config) -> Result<(), Ended> {
    let files = allow_open_files(files_wanted(&config));
    if let Some(why) = shortage(&config, files) {
        tracing::warn!("{why}");
    }
    let data = config.data.clone();
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    let key_is_new = config.admin_key.is_none();
    // The first process of a container is not ended by a signal that it does not listen for: one that
    // comes while it recovers would be lost, and it killed in the middle of its sale later. Nobody was
    // served yet, so that a start that ends anywhere loses nothing.
    let mut interrupted = pin!(interrupted());
    let started = tokio::select! {
        started = Server::start(config) => started,
        () = &mut interrupted => {
            tracing::info!("stopping before it has started");
            return Err(Ended::AtOnce);
        }
    };
    let server = started.map_err(|error| Ended::with(error.remedy(), error.to_string()))?;
    let ready = Ready {
        listen: server.public_addr(),
        operator_listen: server.operator_addr(),
        data: &data,
        admin_key: server.admin_key().filter(|_| key_is_new),
    };
    if args.json {
        print_json(&ready);
    } else {
        println!("listening on {scheme}://{}", ready.listen);
        if let Some(operator) = ready.operator_listen {
            println!("metrics and health on http://{operator}");
        }
        if let Some(key) = ready.admin_key {
            println!("the admin API key, shown only this once: {key}");
        }
    }
    let failure = tokio::select! {
        () = &mut interrupted => {
            tracing::info!("stopping");
            None
        }
        () = input_ended(), if args.stop_with_input => None,
        stopped = server.failed() => Some(stopped),
    };
    server.shutdown().await;
    failure.map_or(Ok(()), |Stopped { why, remedy }| Err(Ended::with(remedy, why)))
}
