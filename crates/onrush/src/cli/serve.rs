//! `onrush serve`: the server, until it is told to stop.

use onrush_base::auth::{hex, random};
use onrush_base::config::{Accept, Config};
use onrush_base::spans::TARGET;
use onrush_serve::{allow_open_files, files_wanted, shortage};
use onrush_server::{Remedy, Server, Stopped};
use onrush_terminal::exit::Exit;
use onrush_terminal::process::{input_ended, interrupted, runtime};
use onrush_terminal::show::{json, say, tell};
use onrush_traces::Traces;
use serde::Serialize;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use tracing::Metadata;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterFn, filter_fn};
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
    /// What is logged: off, error, warn, info, debug or trace. Libraries are logged no further than
    /// debug, as their traces have passwords in them
    #[arg(long, value_name = "LEVEL", env = "ONRUSH_LOG", default_value = "info")]
    log: LevelFilter,
    /// Say where it listens as one line of JSON
    #[arg(long)]
    json: bool,
    /// Go on with files that are older than others, or without some that are missing: once, after reading
    /// docs/operating.md, "A start that is refused". With a number, only with a whole backup that was
    /// restored and ends with this decision: that acts once, also if it stays
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "how clap says that a value may be left out")]
    accept_restored: Option<Option<u64>>,
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
    data: &'a Path,
    /// Only if it was generated just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    admin_key: Option<&'a str>,
}

impl Ready<'_> {
    /// The same for people.
    fn in_words(&self, scheme: &str) -> String {
        let mut lines = vec![format!("listening on {scheme}://{}", self.listen)];
        let operator = self.operator_listen;
        lines.extend(operator.map(|address| format!("metrics and health on http://{address}")));
        lines.extend(self.admin_key.map(shown_once));
        lines.join("\n")
    }
}

fn shown_once(key: &str) -> String {
    format!("the admin API key, shown only this once: {key}")
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
    config.accept_restored = match args.accept_restored {
        None => Accept::Nothing,
        Some(None) => Accept::Everything,
        Some(Some(decision)) => Accept::Backup(decision),
    };
    Ok(config)
}

/// Serves, with a log and, if somebody collects them, traces.
async fn watched(args: &ServeArgs, config: Config) -> Result<(), Ended> {
    let log = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        // It would go to the same file that has just failed, and end the thread if that fails too.
        .log_internal_errors(false)
        .with_filter(lines(args.log));
    let Some(telemetry) = &config.telemetry else {
        tracing_subscriber::registry().with(log).init();
        return serve(args, config).await;
    };
    let traces = Traces::start(telemetry, hex(&random::<16>())).map_err(Ended::Usage)?;
    tracing_subscriber::registry().with(log).with(traces.layer()).init();
    let served = serve(args, config).await;
    traces.shutdown().await;
    served
}

/// What goes into the log at a level. Spans are for the collector: lines stay as they are.
fn lines(level: LevelFilter) -> FilterFn<impl Fn(&Metadata<'_>) -> bool> {
    // RabbitMQ's client traces whatever it sends, and with it the login.
    let of_libraries = level.min(LevelFilter::DEBUG);
    let lines = filter_fn(move |of| {
        let most = if of.target().starts_with("onrush") { level } else { of_libraries };
        *of.level() <= most && of.target() != TARGET
    });
    lines.with_max_level_hint(level)
}

async fn serve(args: &ServeArgs, config: Config) -> Result<(), Ended> {
    let files = allow_open_files(files_wanted(&config));
    if let Some(why) = shortage(&config, files) {
        tracing::warn!("{why}");
    }
    for why in config.warnings(args.config.as_deref()) {
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
    let told = if args.json { json(&ready) } else { ready.in_words(scheme) };
    if let Err(error) = tell(&told) {
        // Requests are answered already, and another start would find the disk as full.
        let listen = ready.listen;
        tracing::warn!(%error, %listen, "the output cannot be written; the server goes on without");
        // Only its hash is kept, so that no start shows it again.
        if let Some(key) = ready.admin_key {
            say(&shown_once(key));
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

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_testkit::Log;

    /// What is logged, at a level, of what a library, we and our spans say.
    fn logged(level: LevelFilter) -> String {
        let log = Log::default();
        let writer = log.clone();
        let layer = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .with_filter(lines(level));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let _span = tracing::trace_span!(target: TARGET, "spans of ours").entered();
            tracing::trace!(target: "lapin::io_loop", "their trace");
            tracing::debug!(target: "lapin::io_loop", "their debug");
            tracing::trace!(target: "onrush_bridge::rabbit::link", "our trace");
            tracing::warn!(target: "onrush::cli::serve", "our warning");
        });
        log.text()
    }

    #[test]
    fn libraries_are_logged_no_further_than_debug() {
        let all = ["spans of ours", "their trace", "their debug", "our trace", "our warning"];
        for (level, heard) in [
            (LevelFilter::TRACE, &["their debug", "our trace", "our warning"][..]),
            (LevelFilter::DEBUG, &["their debug", "our warning"]),
            (LevelFilter::INFO, &["our warning"]),
            (LevelFilter::OFF, &[]),
        ] {
            let text = logged(level);
            let found: Vec<_> = all.into_iter().filter(|said| text.contains(said)).collect();
            assert_eq!(found, heard, "{level}: {text}");
        }
    }
}
