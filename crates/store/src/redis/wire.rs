//! Commands as scripts are given them, and what scripts answer.

use super::head::Head;
use super::ladders;
use super::refusal;
use super::scripts::{self, Script};
use super::segments::{encoded, told};
use super::types;
use crate::engine::Seq;
use onrush_core::best::BestOrder;
use onrush_core::change::SetupChange;
use onrush_core::command::CancelTerms;
use onrush_core::event::Event;
use onrush_core::ids::ChannelId;
use onrush_core::limits::{MAX_SEAT_RANK, fits_name};
use onrush_core::lines::Lines;
use onrush_core::settings::{Digest, Order, RoomSettings, Settings, SingleSeats};
use onrush_core::spec::{Access, CategorySpec, Reason, SeatSpec};
use onrush_core::tax::Tax;
use onrush_core::types::AskedTypes;
use onrush_core::waiting_room::draw;
use onrush_core::{Command, Refusal, Time};
use redis::Value;
use serde::Serialize;
use std::sync::LazyLock;

/// One call of a script, without what every call is given.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) script: &'static Script,
    /// Keys after those every script is given.
    pub(super) keys: Vec<String>,
    /// What the rules say without looking at the state.
    pub(super) complaint: Option<Refusal>,
    /// The command's own arguments.
    pub(super) args: Vec<String>,
    /// Whether it may take its time.
    pub(super) is_long: bool,
    /// Whether it runs as an optimistic transaction.
    pub(super) is_optimistic: bool,
}

impl Call {
    pub(super) fn new(script: &'static Script, args: Vec<String>) -> Self {
        Self {
            script,
            keys: Vec::new(),
            complaint: None,
            args,
            is_long: false,
            is_optimistic: false,
        }
    }
}

/// What a script answered.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// It is decided; the reply is JSON. Queries add more.
    Ok { head: Head, at: Time, reply: String, more: Vec<Value> },
    /// The rules say no.
    No { head: Head, at: Time, refusal: Refusal },
    /// Neither: nothing changed, and something else goes first.
    Other(Setback),
}

/// Why a script answered nothing yet.
#[derive(Debug, PartialEq)]
pub(super) enum Setback {
    /// Redis has lost decisions that are known here.
    Lost,
    /// Nobody ran the event for so long: deadlines must move on first.
    Away { gap_ms: i64 },
    /// The hash of the list of entrants is wanted, of this version of the line.
    Entrants { version: String },
    /// The drawn order is wanted.
    Draw,
    /// Another drawing began meanwhile, or the sale has opened.
    Stale,
    /// Something else goes first; nothing changed.
    Busy { retry_after_ms: u32 },
}

/// The list of entrants as the node found it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ListOfEntrants {
    /// How many they are.
    pub(super) count: u32,
    /// The hash of their list.
    pub(super) hash: Option<Digest>,
    /// The version of the line they are of.
    pub(super) version: String,
    /// How long nobody is to join or leave, because the list was found too late before; 0: not at all.
    pub(super) bar_ms: u32,
}

fn json(what: &impl Serialize) -> String {
    serde_json::to_string(what).expect("what the rules know can be written")
}

fn text(what: &impl ToString) -> String {
    what.to_string()
}

fn text_or_empty(what: Option<&impl ToString>) -> String {
    what.map(ToString::to_string).unwrap_or_default()
}

/// The script that runs a command, and its arguments.
///
/// `ClosePrequeue` and `OpenSale` of a draw are asked first without a list of entrants: see
/// [`close_prequeue`].
pub(super) fn call(command: &Command) -> Call {
    let mut call = match command {
        Command::CreateEvent { settings } => with_settings(&scripts::CREATE_EVENT, settings),
        Command::ChangeSettings { settings } => with_settings(&scripts::CHANGE_SETTINGS, settings),
        Command::AddPool { spec } => {
            let args = vec![text(&spec.pool), text(&spec.capacity), text(&spec.price_minor)];
            Call::new(&scripts::ADD_POOL, args)
        }
        Command::AdjustCapacity { pool, capacity, reason } => {
            Call::new(&scripts::ADJUST_CAPACITY, vec![text(pool), text(capacity), json(reason)])
        }
        Command::AddSeats { categories, seats } => add_seats(categories, seats),
        Command::ChangePrice { of, price_minor, later, reason } => {
            let later = ladders::later_text(later);
            let args = vec![ladders::key(of), text(price_minor), later, json(reason)];
            Call::new(&scripts::CHANGE_PRICE, args)
        }
        Command::SetTypes { of, types, reason } => {
            let args = vec![ladders::key(of), types::list_text(types), json(types), json(reason)];
            Call::new(&scripts::SET_TYPES, args)
        }
        Command::Block { lines, reason } => with_lines(&scripts::BLOCK, reasoned(reason), lines),
        Command::Unblock { lines, reason } => {
            with_lines(&scripts::UNBLOCK, reasoned(reason), lines)
        }
        Command::SetChannel { spec, reason } => {
            let release = spec.release.as_ref();
            let at = text_or_empty(release.map(|release| release.at).as_ref());
            let into = text_or_empty(release.and_then(|release| release.into.as_ref()));
            let args = vec![text(&spec.channel), at, into, json(spec), json(reason)];
            Call::new(&scripts::SET_CHANNEL, args)
        }
        Command::Allot { lines, from, to, reason } => {
            let (from, to) = (text_or_empty(from.as_ref()), text_or_empty(to.as_ref()));
            with_lines(&scripts::ALLOT, vec![from, to, json(reason)], lines)
        }
        Command::ReleaseChannel { channel, into, reason } => {
            let args = vec![text(channel), text_or_empty(into.as_ref()), json(reason)];
            Call { is_long: true, ..Call::new(&scripts::RELEASE_CHANNEL, args) }
        }
        Command::OpenPrequeue => Call::new(&scripts::OPEN_PREQUEUE, Vec::new()),
        Command::ClosePrequeue => close_prequeue(&ListOfEntrants::default()),
        Command::OpenSale { seed, public_value } => {
            open_sale(*seed, public_value.as_deref(), &ListOfEntrants::default(), "")
        }
        Command::Pause => Call::new(&scripts::PAUSE, Vec::new()),
        Command::Resume => Call::new(&scripts::RESUME, Vec::new()),
        Command::Close => Call::new(&scripts::CLOSE, Vec::new()),
        Command::Archive { reason } => Call::new(&scripts::ARCHIVE, vec![json(reason)]),

        Command::Join { place, user } => Call::new(&scripts::JOIN, vec![text(place), text(user)]),
        Command::Leave { place, user } => Call::new(&scripts::LEAVE, vec![text(place), text(user)]),
        Command::See { place, user } => Call::new(&scripts::SEE, vec![text(place), text(user)]),
        Command::Arrive { place, user } => {
            Call::new(&scripts::ARRIVE, vec![text(place), text(user)])
        }

        Command::Hold { booking, user, lines, channels, types } => {
            let args = vec![text(booking), text(user)];
            match (lines.pools(), lines.seats(), channels.as_slice()) {
                ([line], [], []) if types.is_empty() => {
                    let rest = [json(lines), text(&line.pool), text(&line.quantity)];
                    Call::new(&scripts::HOLD_POOL, args.into_iter().chain(rest).collect())
                }
                _ => {
                    let more = [listed(channels), types_text(types)];
                    let args = args.into_iter().chain(more).collect();
                    with_lines(&scripts::HOLD, args, lines)
                }
            }
        }
        Command::HoldBest { booking, user, order, channels, types } => {
            let who = vec![text(booking), text(user)];
            hold_best(who, order, [listed(channels), types_text(types)])
        }
        Command::Extend { booking, user, extension } => {
            let args = vec![text(booking), text(user), text_or_empty(extension.as_ref())];
            Call::new(&scripts::EXTEND, args)
        }
        Command::Release { booking, user } => {
            Call::new(&scripts::RELEASE, vec![text(booking), text(user)])
        }
        Command::NamePayer { booking, user, by, payer } => {
            let args = vec![text(booking), text(user), by.to_string(), text(payer)];
            Call::new(&scripts::NAME_PAYER, args)
        }
        Command::BeginPayment { booking, user, payment } => {
            Call::new(&scripts::BEGIN_PAYMENT, vec![text(booking), text(user), text(payment)])
        }
        Command::FailPayment { booking, payment, why, then } => {
            let then: &str = then.into();
            let args = vec![text(booking), text(payment), why.to_string(), then.to_owned()];
            Call::new(&scripts::FAIL_PAYMENT, args)
        }
        Command::Confirm { booking, user, payment } => Call::new(
            &scripts::CONFIRM,
            vec![text(booking), text(user), text_or_empty(payment.as_ref())],
        ),
        Command::CancelConfirmed { booking, reason, terms } => {
            let (user, refund) = match terms {
                CancelTerms::Buyer { user, at_least_minor } => {
                    (text(user), text_or_empty(at_least_minor.as_ref()))
                }
                CancelTerms::Organiser { refund_minor } => {
                    (String::new(), text_or_empty(refund_minor.as_ref()))
                }
            };
            let (by, why) = (reason.by.to_string(), reason.why.to_string());
            Call::new(&scripts::CANCEL_CONFIRMED, vec![text(booking), by, why, user, refund])
        }
        Command::CheckIn { booking, ticket, scan } => Call::new(
            &scripts::CHECK_IN,
            vec![text(booking), text(ticket), text_or_empty(scan.as_ref())],
        ),

        Command::Claim { claim, user, pool, quantity, ttl_ms } => Call::new(
            &scripts::CLAIM,
            vec![
                text(claim),
                text(user),
                text(pool),
                text(quantity),
                text_or_empty(ttl_ms.as_ref()),
            ],
        ),
        Command::Declaim { claim, user } => {
            Call::new(&scripts::DECLAIM, vec![text(claim), text(user)])
        }
        Command::AdjustClaimed { claim, pool, amount, reason } => {
            let (by, why) = (reason.by.to_string(), reason.why.to_string());
            Call::new(
                &scripts::ADJUST_CLAIMED,
                vec![text(claim), text(pool), text(amount), by, why],
            )
        }

        Command::RemoveVisitor { user, reason, ban } => {
            Call::new(&scripts::REMOVE_VISITOR, vec![text(user), json(reason), flag(*ban)])
        }
        Command::UnbanVisitor { user, reason } => {
            Call::new(&scripts::UNBAN_VISITOR, vec![text(user), json(reason)])
        }

        Command::Tick => tick(1, &ListOfEntrants::default()),
        Command::Recover { gap_ms } => {
            Call { is_long: true, ..Call::new(&scripts::RECOVER, vec![text(gap_ms)]) }
        }
    };
    call.complaint = complaint(command);
    call
}

/// Closes the prequeue with this list of entrants; asked without its hash, the script answers which
/// list it wants.
pub(super) fn close_prequeue(list: &ListOfEntrants) -> Call {
    Call::new(&scripts::CLOSE_PREQUEUE, list_args(list).into())
}

/// Opens the sale. A draw needs the list of entrants, if it is not fixed yet, and the generation of
/// the drawn order that was written; the script answers what it wants.
pub(super) fn open_sale(
    seed: Option<Digest>,
    public_value: Option<&str>,
    list: &ListOfEntrants,
    generation: &str,
) -> Call {
    let bad_value = seed.and_then(|seed| {
        // A draw of this seed that nobody has joined: what the rules say about the value is all they can say.
        let mut settings = probe_settings();
        let order = Order::Draw { seed_hash: draw::sha256(&seed.0) };
        settings.room = Some(RoomSettings { order, ..RoomSettings::default() });
        let public_value = public_value.map(Into::into);
        invalid(&probe(settings), &Command::OpenSale { seed: Some(seed), public_value })
    });
    let mut args = vec![
        text_or_empty(seed.as_ref()),
        text_or_empty(seed.map(|seed| draw::sha256(&seed.0)).as_ref()),
        public_value.unwrap_or_default().to_owned(),
        flag(public_value.is_some()),
        bad_value.as_ref().map(refusal::write).unwrap_or_default(),
    ];
    args.extend(list_args(list));
    args.push(generation.to_owned());
    Call::new(&scripts::OPEN_SALE, args)
}

/// Decides what is due, at most so many things.
pub(super) fn tick(at_most: u32, list: &ListOfEntrants) -> Call {
    let mut args = vec![text(&at_most)];
    args.extend(list_args(list));
    Call::new(&scripts::TICK, args)
}

/// Moves everything on by the time nobody ran the event, unless somebody has done so meanwhile.
pub(super) fn recover_if_away() -> Call {
    Call { is_long: true, ..Call::new(&scripts::RECOVER, vec!["away".to_owned()]) }
}

fn flag(is_set: bool) -> String {
    text(&u8::from(is_set))
}

pub(super) fn list_args(list: &ListOfEntrants) -> [String; 4] {
    let hash = text_or_empty(list.hash.as_ref());
    [text(&list.count), hash, list.version.clone(), text(&list.bar_ms)]
}

fn reasoned(reason: &Reason) -> Vec<String> {
    vec![json(reason), reason.why.to_string()]
}

fn with_lines(script: &'static Script, mut args: Vec<String>, lines: &Lines) -> Call {
    args.reserve(2 + 2 * lines.pools().len() + lines.seats().len());
    args.push(json(lines));
    args.push(text(&lines.pools().len()));
    for line in lines.pools() {
        args.push(text(&line.pool));
        args.push(text(&line.quantity));
    }
    args.extend(lines.seats().iter().map(text));
    Call::new(script, args)
}

/// Channels, with commas between them.
fn listed(channels: &[ChannelId]) -> String {
    channels.iter().map(ChannelId::as_str).collect::<Vec<_>>().join(",")
}

/// The types that units are named, or nothing.
fn types_text(types: &AskedTypes) -> String {
    if types.is_empty() { String::new() } else { json(types) }
}

fn hold_best(mut args: Vec<String>, order: &BestOrder, more: [String; 2]) -> Call {
    let best = order.best();
    let together: &str = best.together().into();
    args.extend([json(order), text(&best.quantity()), together.to_owned()]);
    args.push(text_or_empty(best.price_max_minor().as_ref()));
    args.push(text(&best.accessible()));
    args.extend(more);
    args.push(text(&best.first_choice().len()));
    args.extend(best.first_choice().iter().map(text));
    args.push(text(&best.categories().len()));
    args.extend(best.categories().iter().map(text));
    args.push(text(&best.sections().len()));
    for section in best.sections() {
        args.extend([text(section), encoded(section)]);
    }
    match order.beside() {
        Some(beside) => with_lines(&scripts::HOLD_BEST, args, beside),
        None => Call::new(&scripts::HOLD_BEST, args),
    }
}

fn with_settings(script: &'static Script, settings: &Settings) -> Call {
    let mut args = vec![json(settings)];
    for (field, text) in settings_fields(settings) {
        args.push(field.to_owned());
        args.push(text);
    }
    Call::new(script, args)
}

fn units_per_visitor(room: &RoomSettings) -> String {
    Some(room.units_per_visitor)
        .filter(|units| *units > 1)
        .map_or_else(String::new, |units| units.to_string())
}

/// The settings that scripts need, each as a field of the event's meta hash; an empty text means
/// that it is not set.
pub(super) fn settings_fields(settings: &Settings) -> [(&'static str, String); 33] {
    let room = settings.room.as_ref();
    let of_room = |get: fn(&RoomSettings) -> String| room.map(get).unwrap_or_default();
    let refunds: Vec<String> = settings
        .refunds
        .iter()
        .map(|rule| format!("{}:{}", rule.days_before, rule.percent))
        .collect();
    // Data from before there were steps has no such field, and is right.
    let step = match settings.amount_step_minor {
        1 => String::new(),
        step_minor => text(&step_minor),
    };
    let of_tax = |tax: &Tax| format!("{}:{}", tax.rate_bp, tax.name);
    let single_seats = match settings.single_seats {
        SingleSeats::Allow => "",
        SingleSeats::Refuse => "refuse",
    };
    let limits = match settings.limits.as_slice() {
        [] => String::new(),
        limits => serde_json::to_string(limits).expect("limits can be written"),
    };
    let order = |room: &RoomSettings| match room.order {
        Order::Fifo => "fifo".to_owned(),
        Order::Draw { .. } => "draw".to_owned(),
    };
    [
        ("currency", text(&settings.currency)),
        ("hold_ttl_ms", text(&settings.hold_ttl_ms)),
        ("hold_max_ms", text(&settings.hold_max_ms)),
        ("payment_window_ms", text(&settings.payment_window_ms)),
        ("payment_attempts", text(&settings.payment_attempts)),
        ("extensions", text(&settings.extensions)),
        ("max_per_user", text_or_empty(settings.max_per_user.as_ref())),
        ("limits", limits),
        ("max_per_email", text_or_empty(settings.max_per_email.as_ref())),
        ("max_per_card", text_or_empty(settings.max_per_card.as_ref())),
        ("claim_ttl_max_ms", text_or_empty(settings.claim_ttl_max_ms.as_ref())),
        ("prequeue_at", text_or_empty(settings.prequeue_at.as_ref())),
        ("opens_at", text_or_empty(settings.opens_at.as_ref())),
        ("closes_at", text_or_empty(settings.closes_at.as_ref())),
        ("starts_at", text_or_empty(settings.starts_at.as_ref())),
        ("fee_fixed_minor", text(&settings.fees.fixed_minor)),
        ("fee_percent_bp", text(&settings.fees.percent_bp)),
        ("tax", settings.tax.as_ref().map(of_tax).unwrap_or_default()),
        ("refunds", refunds.join(",")),
        ("amount_step_minor", step),
        ("single_seats", single_seats.to_owned()),
        ("room", of_room(|_| flag(true))),
        ("room_capacity", of_room(|room| text(&room.capacity))),
        ("outflow_per_min", of_room(|room| text_or_empty(room.outflow_per_min.as_ref()))),
        ("session_ms", of_room(|room| text(&room.session_ms))),
        ("place_ttl_ms", of_room(|room| text(&room.place_ttl_ms))),
        ("arrive_ms", of_room(|room| text(&room.arrive_ms))),
        ("max_queue_size", of_room(|room| text(&room.max_queue_size))),
        ("places_per_user", of_room(|room| text(&room.places_per_user))),
        // An older version wrote none, and reckoned with one.
        ("units_per_visitor", of_room(units_per_visitor)),
        ("order", of_room(order)),
        ("seed_hash", text_or_empty(settings.seed_hash().as_ref())),
        ("public_value_source", settings.public_value_source().unwrap_or_default().to_owned()),
    ]
}

fn add_seats(categories: &[CategorySpec], seats: &[SeatSpec]) -> Call {
    // The rules are asked about each by itself, beside a category and a seat that are fine.
    let fine = CategorySpec { name: "fine".into(), price_minor: 0 };
    let seat_in = |category: &CategorySpec| SeatSpec {
        seat: "fine".parse().expect("it is an id"),
        section: "".into(),
        row: "".into(),
        number: "".into(),
        category: category.name.clone(),
        rank: 0,
        aisle: false,
        access: Access::Anyone,
    };
    let probe = probe(probe_settings());
    let bad_category = (1_u32..).zip(categories).find_map(|(position, category)| {
        let seats = vec![seat_in(category)];
        let alone = Command::AddSeats { categories: vec![category.clone()], seats };
        invalid(&probe, &alone).map(|refusal| (position, refusal))
    });
    let fits = |seat: &SeatSpec| {
        let texts = [&seat.section, &seat.row, &seat.number];
        seat.rank <= MAX_SEAT_RANK && texts.into_iter().all(|text| fits_name(text))
    };
    let bad_seat =
        (1_u32..).zip(seats).find(|(_, seat)| !fits(seat)).and_then(|(position, bad)| {
            let bad = SeatSpec { category: fine.name.clone(), ..bad.clone() };
            let alone = Command::AddSeats { categories: vec![fine.clone()], seats: vec![bad] };
            invalid(&probe, &alone).map(|refusal| (position, refusal))
        });
    let bad = |found: Option<(u32, Refusal)>| match found {
        Some((position, why)) => [text(&position), refusal::write(&why)],
        None => [text(&0), String::new()],
    };
    let mut args = Vec::with_capacity(7 + 3 * categories.len() + 2 * seats.len());
    args.push(json(&seats));
    args.extend(bad(bad_category));
    args.extend(bad(bad_seat));
    args.push(text(&categories.len()));
    for category in categories {
        args.push(category.name.to_string());
        args.push(text(&category.price_minor));
        args.push(json(category));
    }
    args.push(text(&seats.len()));
    for seat in seats {
        args.push(text(&seat.seat));
        args.push(told(seat));
    }
    Call { is_long: true, ..Call::new(&scripts::ADD_SEATS, args) }
}

fn probe_settings() -> Settings {
    Settings::new("probe", "EUR".parse().expect("it is a currency"))
}

/// An event that exists and has nothing: what the rules say of it needs no state.
fn probe(settings: Settings) -> Event {
    let mut event = Event::new("probe".parse().expect("it is an id"));
    event.evolve(Time(0), &SetupChange::EventCreated { settings: Box::new(settings) }.into());
    event
}

fn invalid(probe: &Event, command: &Command) -> Option<Refusal> {
    probe.decide(Time(0), command).err().filter(|refusal| {
        matches!(refusal, Refusal::InvalidSettings { .. } | Refusal::InvalidQuantity)
    })
}

/// What the rules say to a command whatever the event's state is; asked of the rules themselves.
fn complaint(command: &Command) -> Option<Refusal> {
    static PROBE: LazyLock<Event> = LazyLock::new(|| probe(probe_settings()));
    if let Command::CreateEvent { settings } | Command::ChangeSettings { settings } = command {
        return settings.complaint().map(Refusal::from);
    }
    if let Command::Hold { lines, types, .. } = command {
        return types.check_fit(Some(lines), 0).err();
    }
    if let Command::HoldBest { order, types, .. } = command {
        return types.check_fit(order.beside(), order.best().quantity()).err();
    }
    if command.traits().judged_first { invalid(&PROBE, command) } else { None }
}

/// What a script answered; an error if no script of ours answers so.
pub(super) fn outcome(answer: Value) -> Result<Outcome, String> {
    let Value::Array(parts) = answer else {
        return Err(format!("a script answered {answer:?}"));
    };
    let mut parts = ReplyFields(parts.into_iter());
    let status = parts.text()?;
    match status.as_str() {
        "ok" | "no" => {
            let (seq, at, body) = (parts.number()?, Time(parts.number()?), parts.text()?);
            let epoch = parts.number()?;
            let head = Head { epoch, seq: Seq(seq), mark: parts.text()?.parse().ok() };
            if status == "no" {
                return Ok(Outcome::No { head, at, refusal: refusal::read(&body)? });
            }
            Ok(Outcome::Ok { head, at, reply: body, more: parts.0.collect() })
        }
        "lost" => Ok(Outcome::Other(Setback::Lost)),
        "away" => Ok(Outcome::Other(Setback::Away { gap_ms: parts.number()? })),
        "entrants" => Ok(Outcome::Other(Setback::Entrants { version: parts.text()? })),
        "draw" => Ok(Outcome::Other(Setback::Draw)),
        "stale" => Ok(Outcome::Other(Setback::Stale)),
        "busy" => Ok(Outcome::Other(Setback::Busy { retry_after_ms: parts.number()? })),
        other => Err(format!("a script answered {other}")),
    }
}

/// The parts of an answer, one after the other.
struct ReplyFields(std::vec::IntoIter<Value>);

impl ReplyFields {
    fn text(&mut self) -> Result<String, String> {
        let part = self.0.next().ok_or("a script's answer is too short")?;
        redis::from_redis_value(part).map_err(|error| format!("a script's answer: {error}"))
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, String> {
        let text = self.text()?;
        text.parse().map_err(|_| format!("a script answered {text} for a number"))
    }
}

/// A value that a script wrote as JSON.
pub(super) fn read_json<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| format!("a script wrote {json}: {error}"))
}
