//! `onrush sandbox`: a payment gateway that moves no money, until it is told to stop.

use axum::http::Uri;
use onrush_base::config::{FaultMix, Secret};
use onrush_sandbox::{Sandbox, SandboxConfig, SandboxError};
use onrush_terminal::exit::Exit;
use onrush_terminal::show::{print_json, say};
use serde::Serialize;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What can be said on the command line about the sandbox.
#[derive(clap::Args)]
pub(crate) struct SandboxArgs {
    /// The directory that has its file
    #[arg(long, value_name = "DIR", default_value = "onrush-sandbox")]
    data: PathBuf,
    /// Where the shop and buyers connect; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// What the shop must show, at least 16 characters
    #[arg(long, value_name = "SECRET", env = "ONRUSH_SANDBOX_SECRET", hide_env_values = true)]
    secret: String,
    /// What webhooks are signed with [default: the same as --secret]
    #[arg(
        long,
        value_name = "SECRET",
        env = "ONRUSH_SANDBOX_WEBHOOK_SECRET",
        hide_env_values = true
    )]
    webhook_secret: Option<String>,
    /// Where webhooks go, such as http://127.0.0.1:8080/api/v1/payments/webhook/sandbox; without it they wait
    #[arg(long, value_name = "URL")]
    webhook_url: Option<Uri>,
    /// How buyers' browsers reach it [default: by the address it listens on]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Listen where others can reach it, who then pay without money
    #[arg(long)]
    allow_sandbox: bool,
    /// Another seed, other payments that go wrong
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
    /// First tries of a hundred that are declined
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    declined_pct: u32,
    /// Answers of a hundred that are lost
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    lost_answer_pct: u32,
    /// Webhooks of a hundred that come twice
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    duplicate_pct: u32,
    /// Webhooks of a hundred that come late
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    late_pct: u32,
    /// Webhooks of a hundred that never come
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    never_pct: u32,
    /// How much later late webhooks are
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    late_ms: u64,
    /// How much later delayed answers are
    #[arg(long, value_name = "MS", default_value_t = 2_000)]
    delay_ms: u64,
    /// What is logged: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", env = "ONRUSH_LOG", default_value = "info")]
    log: tracing::level_filters::LevelFilter,
    /// Say where it listens as one line of JSON
    #[arg(long)]
    json: bool,
    /// Stop at the end of the input: when whoever started the sandbox is gone
    #[arg(long, hide = true)]
    stop_with_input: bool,
}

/// What the sandbox says when it is ready.
#[derive(Serialize)]
struct Ready {
    listen: SocketAddr,
}

/// Runs the sandbox.
pub(crate) fn run(args: &SandboxArgs) -> Exit {
    tracing_subscriber::fmt()
        .with_max_level(args.log)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    let done = configure(args).map_err(|why| (Exit::Usage, why)).and_then(|config| {
        let runtime =
            onrush_terminal::process::runtime().map_err(|why| (Exit::CouldNotRun, why))?;
        runtime.block_on(serve(args, config))
    });
    match done {
        Ok(()) => Exit::Ok,
        Err((exit, why)) => {
            say(&format!("error: {why}"));
            exit
        }
    }
}

fn configure(args: &SandboxArgs) -> Result<SandboxConfig, String> {
    let secret = |text: &str| Secret::from(text.to_owned());
    if let Some(url) = &args.webhook_url
        && !matches!(url.scheme_str(), Some("http" | "https"))
    {
        return Err(format!("{url}: begin the webhook's address with http:// or https://"));
    }
    let webhook_secret = args.webhook_secret.as_deref().unwrap_or(&args.secret);
    Ok(SandboxConfig {
        listen: args.listen,
        webhook_url: args.webhook_url.clone(),
        public_url: args.public_url.clone(),
        faults: FaultMix {
            seed: args.seed,
            declined_pct: args.declined_pct,
            lost_answer_pct: args.lost_answer_pct,
            duplicate_pct: args.duplicate_pct,
            late_pct: args.late_pct,
            never_pct: args.never_pct,
        },
        late_ms: args.late_ms,
        delay_ms: args.delay_ms,
        allow_sandbox: args.allow_sandbox,
        ..SandboxConfig::new(args.data.clone(), secret(&args.secret), secret(webhook_secret))
    })
}

async fn serve(args: &SandboxArgs, config: SandboxConfig) -> Result<(), (Exit, String)> {
    let sandbox = Sandbox::start(config).await.map_err(|error| {
        let exit = match &error {
            SandboxError::NotLocal(_)
            | SandboxError::FaultsInvalid
            | SandboxError::SecretInvalid(_) => Exit::Usage,
            SandboxError::Listen(..) | SandboxError::File(_) => Exit::CouldNotRun,
        };
        (exit, error.to_string())
    })?;
    // Whoever reads that it is ready may ask it to stop at once.
    let interrupted = onrush_terminal::process::interrupted();
    let ready = Ready { listen: sandbox.address() };
    if args.json {
        print_json(&ready);
    } else {
        println!("the sandbox listens on http://{}", ready.listen);
    }
    tokio::select! {
        () = interrupted => tracing::info!("stopping"),
        () = onrush_terminal::process::input_ended(), if args.stop_with_input => {}
    }
    sandbox.shutdown().await;
    Ok(())
}
