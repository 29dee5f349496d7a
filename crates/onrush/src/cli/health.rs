//! `onrush health`: whether a node runs and is ready, for containers that have nothing else to ask with.

use axum::http::{Method, Request, StatusCode};
use bytes::Bytes;
use onrush_base::http_client::{AddressPolicy, HttpClient};
use onrush_terminal::exit::Exit;
use onrush_terminal::show::say;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub(super) const EXIT_CODES: &str = "\
Exit codes: 0 it is ready, 1 it answers and is not, 2 the command line is wrong, 3 it does not answer.";

/// How long a node may take that is asked nothing but this.
const TIMEOUT_MS: u64 = 3_000;

/// Which node.
#[derive(clap::Args)]
pub(crate) struct HealthArgs {
    /// The operator's listener of the node
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "ONRUSH_OPERATOR_LISTEN",
        default_value = "127.0.0.1:8081"
    )]
    address: SocketAddr,
    /// Ask only whether it runs, also while it recovers
    #[arg(long)]
    alive: bool,
}

/// Asks, and prints what the node says.
pub(crate) fn run(args: &HealthArgs) -> Exit {
    let asked = onrush_terminal::process::runtime().and_then(|runtime| runtime.block_on(ask(args)));
    match asked {
        Ok((StatusCode::OK, said)) => {
            print!("{said}");
            Exit::Ok
        }
        Ok((status, said)) => {
            say(&format!("{status}: {said}"));
            Exit::Violation
        }
        Err(why) => {
            say(&format!("error: {why}"));
            Exit::CouldNotRun
        }
    }
}

/// Where to ask a node that listens at an address: one that listens everywhere is here too.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

async fn ask(args: &HealthArgs) -> Result<(StatusCode, String), String> {
    let address = reachable(args.address);
    let path = if args.alive { "healthz" } else { "readyz" };
    let request = Request::builder()
        .method(Method::GET)
        .uri(format!("http://{address}/{path}"))
        .body(Bytes::new())
        .map_err(|error| error.to_string())?;
    let client = HttpClient::new(AddressPolicy::Any);
    let answer =
        client.call(request, TIMEOUT_MS).await.map_err(|error| format!("{address}: {error}"))?;
    Ok((answer.status(), String::from_utf8_lossy(answer.body()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_that_listens_everywhere_is_asked_here() {
        for (listens, asked) in [
            ("0.0.0.0:8081", "127.0.0.1:8081"),
            ("[::]:8081", "[::1]:8081"),
            ("10.0.0.1:9", "10.0.0.1:9"),
        ] {
            assert_eq!(reachable(listens.parse().unwrap()), asked.parse().unwrap());
        }
    }
}
