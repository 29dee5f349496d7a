//! `onrush verify-ticket`: says whether a ticket is genuine, without asking any server.

use onrush_base::auth::jws::{JwsVerifier, PublicKeys, Use};
use onrush_base::tickets::{Revoked, TicketClaims, Unit};
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_terminal::exit::Exit;
use onrush_terminal::show::{print_json, say};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Read;
use std::path::Path;

pub(super) const PROMISE: &str = "\
A genuine ticket can be shown twice: only a check-in at the server (POST /api/v1/check-in) admits once.

Exit codes: 0 genuine, 1 not genuine, revoked or for another event, 2 the command line is wrong, \
3 a file cannot be read.";

/// Said with every genuine ticket.
const ONCE: &str = "Whether somebody was let in with it already cannot be known offline.";

/// What to verify, with what.
#[derive(clap::Args)]
pub(crate) struct VerifyTicketArgs {
    /// The published key set (GET /api/v1/keys), or "-" for the input
    #[arg(long, value_name = "FILE")]
    keys: String,
    /// The list of revoked tickets of the event (GET /api/v1/events/EVENT/revoked-tickets)
    #[arg(long, value_name = "FILE")]
    revoked: Option<String>,
    /// The event that people are let into; a ticket for another one does not do
    #[arg(long, value_name = "EVENT")]
    event: Option<EventId>,
    /// Print the result as one line of JSON
    #[arg(long)]
    json: bool,
    /// What the QR code says, or "-" for the input
    #[arg(value_name = "CODE")]
    code: String,
}

/// The result. Its JSON is one line.
#[derive(Serialize)]
struct Report {
    /// Whether to let the holder in, as far as can be said offline.
    valid: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// What the ticket says, if it is signed by one of the keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    ticket: Option<TicketClaims>,
    /// When the list of revoked tickets was made that it is not in; none was given otherwise.
    not_revoked_at: Option<Time>,
    /// Always false: offline nobody knows whether it was used.
    admits_once: bool,
}

/// Verifies a ticket.
pub(crate) fn run(args: &VerifyTicketArgs) -> Exit {
    if args.keys == "-" && args.code == "-" {
        say("error: only one of --keys and CODE can be the input");
        return Exit::Usage;
    }
    let report = match verify(args) {
        Ok(report) => report,
        Err((exit, why)) => {
            say(&format!("error: {why}"));
            return exit;
        }
    };
    if args.json {
        print_json(&report);
    } else {
        println!("{}", in_words(&report));
    }
    if report.valid { Exit::Ok } else { Exit::Violation }
}

fn verify(args: &VerifyTicketArgs) -> Result<Report, (Exit, String)> {
    let could_not_run = |why| (Exit::CouldNotRun, why);
    let keys: PublicKeys = parse(&args.keys, "a key set").map_err(could_not_run)?;
    let verifier = JwsVerifier::new(&keys.keys, Use::Tickets);
    if verifier.is_empty() {
        return Err((Exit::Usage, format!("{}: there is no key for tickets in it", args.keys)));
    }
    let list = args.revoked.as_deref().map(|file| parse(file, "a list of revoked tickets"));
    let revoked: Option<Revoked> = list.transpose().map_err(could_not_run)?;
    let code = match args.code.as_str() {
        "-" => read("-").map_err(could_not_run)?,
        code => code.to_owned(),
    };
    let claims: TicketClaims = match verifier.verify(code.trim()) {
        Ok(claims) => claims,
        Err(error) => return Ok(Report::new(Some(format!("not genuine: {error}")), None)),
    };
    if let Some(list) = &revoked
        && list.event != claims.event
        && args.event.as_ref().is_none_or(|event| *event == claims.event)
    {
        let (of_list, of_ticket) = (&list.event, &claims.event);
        let why =
            format!("the revoked tickets are of the event {of_list}, this one of {of_ticket}");
        return Err((Exit::Usage, why));
    }
    let why = if args.event.as_ref().is_some_and(|event| *event != claims.event) {
        Some(format!("genuine, but for another event: {}", claims.event))
    } else if revoked.as_ref().is_some_and(|list| list.bookings.contains(&claims.booking)) {
        Some("revoked: its booking was cancelled".to_owned())
    } else {
        None
    };
    let not_revoked_at = revoked.filter(|_| why.is_none()).map(|list| list.at);
    Ok(Report { not_revoked_at, ..Report::new(why, Some(claims)) })
}

impl Report {
    fn new(why: Option<String>, ticket: Option<TicketClaims>) -> Self {
        Self { valid: why.is_none(), why, ticket, not_revoked_at: None, admits_once: false }
    }
}

fn in_words(report: &Report) -> String {
    let what = report.ticket.as_ref().map(|claims| {
        let TicketClaims { event, booking, ticket, unit, ticket_type, proof, .. } = claims;
        let unit = match unit {
            Unit::Pool(pool) => format!("one unit of {pool}"),
            Unit::Seat(seat) => format!("seat {seat}"),
        };
        let kind = match ticket_type {
            Some(kind) if *proof => format!(" as {kind} (look at a proof)"),
            Some(kind) => format!(" as {kind}"),
            None => String::new(),
        };
        format!("ticket {ticket} of booking {booking} for {unit}{kind}, event {event}")
    });
    match (&report.why, what) {
        (None, what) => {
            let revoked = match report.not_revoked_at {
                Some(at) => match jiff::Timestamp::from_millisecond(at.0) {
                    Ok(at) => format!("Not revoked by {at:.0}, when the list was made."),
                    Err(_) => "Not revoked by the list, which was made at no time.".to_owned(),
                },
                None => {
                    "Whether it was revoked was not looked at: give the list by --revoked.".into()
                }
            };
            format!("genuine: {}\n{revoked}\n{ONCE}", what.unwrap_or_default())
        }
        (Some(why), None) => why.clone(),
        (Some(why), Some(what)) => format!("{why} ({what})"),
    }
}

fn parse<T: DeserializeOwned>(file: &str, what: &str) -> Result<T, String> {
    serde_json::from_str(&read(file)?).map_err(|error| format!("{file}: not {what}: {error}"))
}

fn read(file: &str) -> Result<String, String> {
    let read = if file == "-" {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(Path::new(file))
    };
    read.map_err(|error| format!("{file}: {error}"))
}
