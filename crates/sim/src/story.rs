//! A run in sentences: who did what when, and with what answer.

use crate::asked::{Asked, Deal};
use onrush_core::command::CancelTerms;
use onrush_core::hold::HoldState;
use onrush_core::ids::ChannelId;
use onrush_core::lines::Lines;
use onrush_core::types::{AskedTypes, TypeCounts};
use onrush_core::view::{PlaceState, PlaceView, Reply};
use onrush_core::{Command, Time};

/// The time of day, to the millisecond, and the day of the sale if it is not the first.
fn clock(at: Time) -> String {
    let ms = at.since_ms(crate::plan::START) + 10 * 3_600_000;
    let (day, ms) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    let (h, m, s, ms) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60, ms % 1_000);
    let day = if day == 0 { String::new() } else { format!("day {} ", day + 1) };
    format!("{day}{h:02}:{m:02}:{s:02}.{ms:03}")
}

/// A crash in a sentence.
pub(crate) fn crash(at: Time, lost: usize, from_snapshot: bool) -> String {
    let from = if from_snapshot { "a snapshot and the journal" } else { "the journal" };
    format!("{} the process dies, {lost} answers are lost; it starts from {from}", clock(at))
}

/// Something asked, with its answer, in a sentence.
pub(crate) fn sentence(asked: &Asked) -> String {
    let (when, who) = (clock(asked.at), asked.who);
    match &asked.deal {
        Deal::Command { command, said, changes } => {
            let answer = match said {
                Ok(reply) => told(reply),
                Err(refusal) => format!("no, {}", refusal.code()),
            };
            let then = match changes.len() {
                0 => String::new(),
                _ => format!(" [{}]", changes.iter().map(name).collect::<Vec<_>>().join(", ")),
            };
            format!("{when} {who} {}: {answer}{then}", asks(command))
        }
        Deal::Look { query, shown } => {
            let answer = match shown {
                Ok(_) => "shown".to_owned(),
                Err(refusal) => format!("no, {}", refusal.code()),
            };
            format!("{when} {who} looks at {query:?}: {answer}")
        }
    }
}

/// A change's name.
fn name(change: &onrush_core::Change) -> String {
    let json = serde_json::to_value(change).unwrap_or_default();
    match &json {
        serde_json::Value::String(name) => name.clone(),
        other => other.as_object().and_then(|it| it.keys().next().cloned()).unwrap_or_default(),
    }
}

fn units(lines: &Lines) -> String {
    let pools = lines.pools().iter().map(|line| format!("{} × {}", line.quantity, line.pool));
    let seats = lines.seats().iter().map(|seat| format!("seat {seat}"));
    pools.chain(seats).collect::<Vec<_>>().join(", ")
}

fn through(channels: &[ChannelId]) -> String {
    if channels.is_empty() { String::new() } else { format!(" through {channels:?}") }
}

/// The types that are named, with a word before them.
fn bought_as(types: &AskedTypes) -> String {
    let counts = |(of, counts): (&str, &TypeCounts)| -> Vec<String> {
        counts.iter().map(|(id, count)| format!("{count} {id} of {of}")).collect()
    };
    let pools = types.pools().iter().map(|(pool, of_pool)| (pool.as_str(), of_pool));
    let counted = pools.chain([("the best", types.best())]).flat_map(counts);
    let seats = types.seats().iter().map(|(seat, id)| format!("{id} of seat {seat}"));
    let all: Vec<_> = counted.chain(seats).collect();
    if all.is_empty() { String::new() } else { format!(" (types: {})", all.join(", ")) }
}

fn asks(command: &Command) -> String {
    match command {
        Command::CreateEvent { .. } => "creates the event".to_owned(),
        Command::ChangeSettings { .. } => "changes the settings".to_owned(),
        Command::AddPool { spec } => format!("adds pool {} of {}", spec.pool, spec.capacity),
        Command::AdjustCapacity { pool, capacity, .. } => {
            format!("sets the capacity of {pool} to {capacity}")
        }
        Command::ChangePrice { of, price_minor, later, .. } => {
            let then = if later.is_empty() { "" } else { ", and others later" };
            format!("sets the price of {of:?} to {price_minor}{then}")
        }
        Command::SetTypes { of, types, .. } => {
            let ids = types.iter().map(|it| it.id.as_str()).collect::<Vec<_>>();
            format!("sets the ticket types of {of} to {ids:?}")
        }
        Command::AddSeats { seats, .. } => format!("adds {} seats", seats.len()),
        Command::Block { lines, .. } => format!("blocks {}", units(lines)),
        Command::Unblock { lines, .. } => format!("unblocks {}", units(lines)),
        Command::SetChannel { spec, .. } => {
            let quota = spec.quota.map(|quota| format!(", at most {quota}")).unwrap_or_default();
            let release = spec.release.as_ref();
            let release = release.map(|it| format!(", released at {} into {:?}", it.at, it.into));
            format!("sets up channel {}{quota}{}", spec.channel, release.unwrap_or_default())
        }
        Command::Allot { lines, from, to, .. } => {
            format!("moves {} from {from:?} to {to:?}", units(lines))
        }
        Command::ReleaseChannel { channel, into, .. } => {
            format!("releases channel {channel} into {into:?}")
        }
        Command::OpenPrequeue => "opens the prequeue".to_owned(),
        Command::ClosePrequeue => "closes the prequeue".to_owned(),
        Command::OpenSale { .. } => "opens the sale".to_owned(),
        Command::Pause => "pauses the sale".to_owned(),
        Command::Resume => "resumes the sale".to_owned(),
        Command::Close => "closes the sale".to_owned(),
        Command::Archive { .. } => "archives the event".to_owned(),
        Command::Join { place, user } => format!("joins for {user} with place {place}"),
        Command::Leave { place, user } => format!("leaves place {place} of {user}"),
        Command::See { place, user } => format!("gives a sign of life for {place} of {user}"),
        Command::Arrive { place, user } => format!("arrives with {place} of {user}"),
        Command::Hold { booking, user, lines, channels, types } => {
            let (units, types) = (units(lines), bought_as(types));
            format!("holds {units}{types} as {booking} for {user}{}", through(channels))
        }
        Command::HoldBest { booking, user, order, channels, types } => {
            let beside = order.beside().map(|beside| format!(", and {}", units(beside)));
            let best = order.best();
            format!(
                "holds the best {} ({:?}) of {:?} in {:?} up to {:?}, rather {:?}{}{} as {booking} \
                 for {user}{}",
                best.quantity(),
                best.together(),
                best.categories(),
                best.sections(),
                best.price_max_minor(),
                best.first_choice(),
                beside.unwrap_or_default(),
                bought_as(types),
                through(channels),
            )
        }
        Command::Extend { booking, user, extension: None } => {
            format!("extends {booking} of {user}")
        }
        Command::Extend { booking, user, extension: Some(extension) } => {
            format!("extends {booking} of {user}, by extension {extension}")
        }
        Command::Release { booking, user } => format!("releases {booking} of {user}"),
        Command::NamePayer { booking, user, by, payer } => {
            format!("names {payer} as payer of {booking} of {user}, by {by}")
        }
        Command::BeginPayment { booking, user, payment } => {
            format!("begins payment {payment} for {booking} of {user}")
        }
        Command::FailPayment { booking, payment, then, .. } => {
            format!("tells that payment {payment} for {booking} failed ({then:?})")
        }
        Command::Confirm { booking, user, payment: None } => {
            format!("confirms {booking} of {user} without a payment")
        }
        Command::Confirm { booking, user, payment: Some(payment) } => {
            format!("confirms {booking} of {user} with payment {payment}")
        }
        Command::CancelConfirmed { booking, terms, .. } => match terms {
            CancelTerms::Buyer { user, at_least_minor: None } => {
                format!("cancels {booking} for its buyer {user}")
            }
            CancelTerms::Buyer { user, at_least_minor: Some(least) } => {
                format!("cancels {booking} for its buyer {user}, if {least} goes back")
            }
            CancelTerms::Organiser { refund_minor: None } => {
                format!("cancels {booking} and gives all back")
            }
            CancelTerms::Organiser { refund_minor: Some(minor) } => {
                format!("cancels {booking} and gives {minor} back")
            }
        },
        Command::CheckIn { booking, ticket, scan: None } => {
            format!("lets ticket {ticket} of {booking} in")
        }
        Command::CheckIn { booking, ticket, scan: Some(scan) } => {
            format!("lets ticket {ticket} of {booking} in, by scan {scan}")
        }
        Command::Claim { claim, user, pool, quantity, .. } => {
            format!("claims {quantity} × {pool} as {claim} for {user}")
        }
        Command::Declaim { claim, user } => format!("gives claim {claim} of {user} back"),
        Command::AdjustClaimed { claim, pool, amount, .. } => {
            format!("adjusts the claimed units of {pool} by {amount} as {claim}")
        }
        Command::RemoveVisitor { user, ban: false, .. } => format!("removes {user}"),
        Command::RemoveVisitor { user, ban: true, .. } => format!("removes and bans {user}"),
        Command::UnbanVisitor { user, .. } => format!("unbans {user}"),
        Command::Tick => "has something due dealt with".to_owned(),
        Command::Recover { gap_ms } => format!("moves everything on by {gap_ms} ms"),
    }
}

fn told(reply: &Reply) -> String {
    match reply {
        Reply::Done => "done".to_owned(),
        Reply::Place(PlaceView { number, state, .. }) => match state {
            PlaceState::Queued { position: Some(position), .. } => {
                format!("place {number}, at {position} in line")
            }
            PlaceState::Queued { position: None, .. } => format!("place {number}, before the draw"),
            PlaceState::Active { until, .. } => {
                format!("place {number} is in until {}", clock(*until))
            }
            PlaceState::Ended { .. } => format!("place {number}'s session is over"),
        },
        Reply::Left(from) => format!("left the {from:?}").to_lowercase(),
        Reply::Hold(view) => match &view.state {
            HoldState::Held { until } => format!("held until {}", clock(*until)),
            HoldState::Paying { until, payment, .. } => {
                format!("paying with {payment} until {}", clock(*until))
            }
            HoldState::Confirmed { .. } => format!("confirmed at {}", view.terms.amount_minor),
            HoldState::Released { .. } => "released".to_owned(),
            HoldState::Expired { .. } => "expired".to_owned(),
            HoldState::Cancelled { refund_minor, .. } => {
                format!("cancelled, {refund_minor} goes back")
            }
        },
        Reply::Claim(view) => format!("claim of {} × {}: {:?}", view.amount, view.pool, view.state),
        Reply::Removed(view) => {
            let released = view.released;
            format!("removed, with {} places and {released} holds", view.places)
        }
    }
}
