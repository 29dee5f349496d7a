//! The small worlds that random sequences play in: few ids and little stock, so that everybody is
//! in everybody's way.

use crate::random::Random;
use onrush_core::ids::{BookingId, ClaimId, InvalidId, PaymentId, PlaceId, PoolId, SeatId, UserId};
use onrush_core::limits::{MAX_FEE_BP, MAX_PRICE_MINOR, MAX_TEXT_CHARS};
use onrush_core::prices::{PriceStep, Priced};
use onrush_core::settings::{Digest, Fees, Order, RefundRule, RoomSettings, Settings, SingleSeats};
use onrush_core::spec::{Access, CategorySpec, PoolSpec, Reason, SeatSpec};
use onrush_core::tax::Tax;
use onrush_core::user_limits::UserLimit;
use onrush_core::waiting_room::draw;
use onrush_core::{Command, Time};
use std::str::FromStr;

/// 2026-12-01T10:00:00Z, when all sequences begin.
pub(crate) const START: Time = Time(1_796_119_200_000);

pub(crate) const USERS: u64 = 6;
/// A category whose name is no word.
pub(crate) const GODS: &str = "the \"gods\": row|x";
/// A section whose name is no word.
pub(crate) const SECTION: &str = "left \\ \"L\", 1";
pub(crate) const SEATS: u64 = 12;
/// The seed that draws commit to.
pub(crate) const SEED: Digest = Digest([7; 32]);
/// Another one.
pub(crate) const WRONG_SEED: Digest = Digest([9; 32]);

const DAY_MS: i64 = 24 * 3_600_000;

pub(crate) fn id<T: FromStr<Err = InvalidId>>(text: &str) -> T {
    text.parse().expect("a test's ids are ids")
}

pub(crate) fn user(n: u64) -> UserId {
    // One id is as long as an id may be, one has every character that an id may have.
    match n {
        4 => id(&"long".repeat(32)),
        5 => id("Z9._-a"),
        _ => id(&format!("u{n}")),
    }
}

/// Places are named so that each belongs to one user.
pub(crate) fn place(user: u64, nth: u64) -> PlaceId {
    PlaceId::from_u128(u128::from(user + 1) << 64 | u128::from(nth))
}

pub(crate) fn booking(n: u64) -> BookingId {
    id(&format!("b{n}"))
}

pub(crate) fn claim(n: u64) -> ClaimId {
    id(&format!("c{n}"))
}

pub(crate) fn payment(n: u64) -> PaymentId {
    id(&format!("p{n}"))
}

pub(crate) fn seat(n: u64) -> SeatId {
    id(&format!("{}-{}", if n.is_multiple_of(2) { "A" } else { "B" }, n / 2 + 1))
}

/// The pools there may be, in the order they are usually added. Vouchers are free of charge.
pub(crate) const POOLS: [&str; 4] = ["ga", "vip", "vouchers", "deluxe.2026-12-24"];

pub(crate) fn pool(name: &str) -> PoolId {
    id(name)
}

/// Texts that are hard to carry through scripts and JSON.
pub(crate) fn text(random: &mut Random) -> Box<str> {
    let texts = [
        "house seats",
        "tech: rig | row 3, seat 4",
        "a \"quoted\" \\ word",
        "ünï ☃ 🎟 ค่า",
        "two\nlines\tand a tab",
        "</script>/",
        "%s %d %% {} [] ''",
        "nul \u{0} and \u{1f} and \u{7f}",
        "1",
        " ",
    ];
    (*random.pick(&texts)).into()
}

/// A text that mostly fits, and sometimes is too long or empty.
pub(crate) fn risky_text(random: &mut Random) -> Box<str> {
    match random.below(40) {
        0 => "".into(),
        1 => "é".repeat(MAX_TEXT_CHARS + 1).into(),
        2 => "é".repeat(MAX_TEXT_CHARS).into(),
        _ => text(random),
    }
}

/// A public value as it may be, with signs that have a meaning elsewhere.
pub(crate) fn public_value(random: &mut Random) -> Box<str> {
    (*random.pick(&["4 8 15 16 23 42", "\"}|\\ 5 %s", "~"])).into()
}

/// A public value, or one that could be read in several ways.
pub(crate) fn risky_value(random: &mut Random) -> Box<str> {
    match random.below(4) {
        0 => (*random.pick(&["", " ", "4  8", " 4", "4 ", "4\t8", "4\u{200b}8", "é"])).into(),
        1 => "4".repeat(MAX_TEXT_CHARS + 1).into(),
        2 => "4".repeat(MAX_TEXT_CHARS).into(),
        _ => public_value(random),
    }
}

/// A change of a price: of what there is or not, now and later, as it may be or not.
pub(crate) fn price_change(now: Time, random: &mut Random) -> Command {
    let of = if random.percent(50) {
        let name = *random.pick(&["ga", "vip", "vouchers", "nope"]);
        Priced::Pool(pool(name))
    } else {
        Priced::Category((*random.pick(&["stalls", GODS, "nope"])).into())
    };
    let price_minor = *random.pick(&[0, 1, 700, 4_900, MAX_PRICE_MINOR, -1]);
    let mut from = now;
    let mut later = Vec::new();
    for _ in 0..random.below(4) {
        from = from.plus_ms(*random.pick(&[1, 1, 500, 20_000, 600_000, 0]));
        let price_minor = *random.pick(&[0, 2, 800, 5_000]);
        later.push(PriceStep { from, price_minor });
    }
    let reason = Reason { by: text(random), why: risky_text(random) };
    Command::ChangePrice { of, price_minor, later, reason }
}

/// Limits per person, or none: of what there is and of what there may be.
fn limits(drawn: i64) -> Vec<UserLimit> {
    let of = |of: Priced, ticket_type: Option<&str>, max_per_user: u32| UserLimit {
        of,
        ticket_type: ticket_type.map(id),
        max_per_user,
    };
    let (of_pool, of_category) =
        (|name: &str| Priced::Pool(id(name)), |name: &str| Priced::Category(name.into()));
    match drawn % 4 {
        1 => vec![
            of(of_category("stalls"), None, 2),
            of(of_pool("ga"), None, 3),
            of(of_pool("vouchers"), None, 2),
        ],
        2 => vec![
            of(of_pool("ga"), Some("child"), 1),
            of(of_category(GODS), None, 1),
            of(of_category("stalls"), Some("adult"), 2),
            of(of_pool("ga"), Some("adult"), 2),
        ],
        3 => vec![of(of_pool("later"), None, 1), of(of_category("stalls"), None, 4)],
        _ => Vec::new(),
    }
}

/// Units of one e-mail address and of one card, in three of four worlds.
fn limits_of_payers(drawn: i64) -> (Option<u32>, Option<u32>) {
    match drawn % 4 {
        0 => (Some(2), None),
        1 => (Some(4), Some(2)),
        2 => (None, Some(3)),
        _ => (None, None),
    }
}

/// What kind of event a sequence is about.
pub(crate) struct World {
    pub(crate) settings: Settings,
    /// The price of a unit.
    pub(crate) price_minor: i64,
    no_draws: bool,
    no_streams: bool,
}

impl World {
    pub(crate) fn new(random: &mut Random) -> Self {
        let mut settings = Settings::new("A show", id_of_currency());
        settings.title = text(random);
        settings.room = random.percent(65).then(|| room(random));
        (settings.hold_ttl_ms, settings.hold_max_ms) = *random.pick(&[
            (600_000, 1_800_000),
            (60_000, 90_000),
            (1_000, 1_000),
            (900_000, DAY_MS),
        ]);
        settings.payment_window_ms = *random.pick(&[600_000, 30_000, 1]);
        settings.payment_attempts = *random.pick(&[1, 1, 2, 3]);
        settings.extensions = *random.pick(&[0, 1, 3]);
        settings.max_per_user = *random.pick(&[None, None, Some(2), Some(6)]);
        settings.claim_ttl_max_ms =
            *random.pick(&[None, None, Some(1), Some(90_000), Some(DAY_MS)]);
        if random.percent(30) {
            settings.prequeue_at = Some(START.plus_ms(random.within(0, 300_000)));
        }
        if random.percent(30) {
            settings.opens_at = Some(START.plus_ms(random.within(300_001, 900_000)));
        }
        if random.percent(12) {
            settings.closes_at = Some(START.plus_ms(random.within(900_001, 3 * DAY_MS)));
        }
        let price_minor =
            random.weighted(&[(2, 0), (5, 700), (2, 3_333), (1, MAX_PRICE_MINOR - 1)]);
        if random.percent(50) {
            settings.starts_at =
                Some(START.plus_ms(random.within(-1, 9) * DAY_MS + random.within(0, 5)));
            let rule = |random: &mut Random| RefundRule {
                days_before: random.below(9) as u16,
                percent: *random.pick(&[0, 33, 50, 99, 100]),
            };
            settings.refunds = (0..random.below(4)).map(|_| rule(random)).collect();
        }
        if random.percent(50) {
            settings.fees = Fees {
                fixed_minor: *random.pick(&[0, 1, 250, MAX_PRICE_MINOR]),
                percent_bp: *random.pick(&[0, 1, 250, 1_234, MAX_FEE_BP]),
            };
        }
        // Drawn from what was drawn before, so that the other worlds stay as they were.
        let drawn =
            price_minor + settings.hold_ttl_ms / 1_000 + i64::from(settings.fees.percent_bp);
        let (currency, step_minor) = match drawn % 5 {
            0 | 3 => ("EUR", 10),
            1 => ("MGA", 1),
            2 => ("MGA", 100),
            _ => ("EUR", 1),
        };
        settings.currency = currency.parse().expect("a currency");
        settings.amount_step_minor = step_minor;
        let of_rate = |rate_bp, name: &str| Some(Tax { name: name.into(), rate_bp });
        settings.tax = match drawn % 3 {
            0 => None,
            1 => of_rate(700, "VAT"),
            _ => of_rate(1_900, "MwSt: \"ü\""),
        };
        settings.limits = limits(drawn);
        (settings.max_per_email, settings.max_per_card) = limits_of_payers(drawn);
        if let Some(room) = &mut settings.room {
            room.public_value_source = source(drawn, &room.order);
        }
        settings.single_seats =
            if drawn % 3 == 0 { SingleSeats::Refuse } else { SingleSeats::Allow };
        Self { settings, price_minor, no_draws: false, no_streams: false }
    }

    /// Leaves out draws or several places a user, as named.
    pub(crate) fn leave_out(&mut self, without: &[String]) {
        let left_out = |name: &str| without.iter().any(|without| without == name);
        (self.no_draws, self.no_streams) = (left_out("draw"), left_out("streams"));
        self.settings.room = self.settings.room.clone().map(|room| self.plainer(room));
    }

    fn plainer(&self, mut room: RoomSettings) -> RoomSettings {
        if self.no_draws {
            room.order = Order::Fifo;
            room.public_value_source = None;
        }
        if self.no_streams {
            room.places_per_user = 1;
        }
        room
    }

    /// Closing the prequeue belongs to draws, though any event may do it.
    pub(crate) fn may_close_prequeue(&self) -> bool {
        !self.no_draws
    }

    /// Whether the event's prequeue is drawn.
    pub(crate) fn is_drawn(&self) -> bool {
        self.settings.seed_hash().is_some()
    }

    /// Whether its draw was promised a public value.
    pub(crate) fn is_promised(&self) -> bool {
        self.settings.public_value_source().is_some()
    }

    /// Other settings for the same event; mostly such that are accepted.
    pub(crate) fn other_settings(&self, random: &mut Random) -> Settings {
        let mut settings = self.settings.clone();
        match random.below(12) {
            0 => settings.title = "".into(),
            1 => settings.hold_max_ms = settings.hold_ttl_ms - 1,
            2 if settings.tax.is_some() => settings.tax = None,
            2 => settings.currency = "THB".parse().expect("a currency"),
            3 => {
                settings.room =
                    if settings.room.is_some() { None } else { Some(self.plainer(room(random))) }
            }
            4 => {
                settings.max_per_user = *random.pick(&[None, Some(0), Some(1), Some(4)]);
                settings.claim_ttl_max_ms = *random.pick(&[None, Some(0), Some(1), Some(60_000)]);
                settings.limits = match settings.max_per_user {
                    None => limits(3),
                    Some(0) => limits(1),
                    Some(1) => vec![UserLimit { max_per_user: 1_001, ..limits(1).remove(0) }],
                    Some(_) => limits(2),
                };
                (settings.max_per_email, settings.max_per_card) = match settings.max_per_user {
                    None => (None, None),
                    Some(0) => (Some(1_001), None),
                    Some(1) => (None, Some(0)),
                    Some(_) => (Some(1), Some(1)),
                };
            }
            5 => settings.closes_at = Some(START.plus_ms(random.within(1_000_000, 2 * DAY_MS))),
            6 => settings.payment_attempts = *random.pick(&[0, 1, 4]),
            _ => {
                if let Some(known) = settings.room.clone() {
                    let fresh = self.plainer(room(random));
                    let order = if random.percent(90) { known.order } else { fresh.order.clone() };
                    // Now and then of no draw, which is refused.
                    let public_value_source = match (fresh.session_ms, fresh.capacity) {
                        (5_000, 1_000) => Some("another \"lottery\"".into()),
                        (1, _) => None,
                        _ => known.public_value_source,
                    };
                    settings.room = Some(RoomSettings { order, public_value_source, ..fresh });
                } else {
                    settings.extensions = 2;
                }
            }
        }
        settings
    }

    pub(crate) fn pool_spec(&self, name: &str, random: &mut Random) -> PoolSpec {
        let capacity = match name {
            "ga" => 10,
            "vip" => 3,
            "vouchers" => 6,
            _ => *random.pick(&[0, 1, 1_000, 1_000_000_000, 1_000_000_001]),
        };
        let price_minor = if name == "vouchers" { 0 } else { self.price_minor };
        PoolSpec { pool: pool(name), capacity, price_minor }
    }

    pub(crate) fn categories(&self) -> Vec<CategorySpec> {
        vec![
            CategorySpec { name: "stalls".into(), price_minor: self.price_minor },
            CategorySpec { name: GODS.into(), price_minor: self.price_minor / 2 },
        ]
    }

    /// Rows of five, the first eight seats of them dearer; ranks and aisles differ from world to world.
    pub(crate) fn seat_spec(&self, n: u64) -> SeatSpec {
        let category = if n < 8 { "stalls" } else { GODS };
        let rank = match self.price_minor % 3 {
            0 => 0,
            1 => n / 5,
            _ => n * 7 % 4,
        };
        SeatSpec {
            seat: seat(n),
            section: if n < 10 { SECTION.into() } else { "".into() },
            row: ["A", "B b", ""][n as usize / 5 % 3].into(),
            number: (n / 2 + 1).to_string().into(),
            category: category.into(),
            rank: rank as u32,
            aisle: self.price_minor % 2 == 1 && n % 5 == 2,
            access: match n {
                5 | 9 => Access::Wheelchair,
                6 => Access::CompanionOf(seat(5)),
                10 | 11 => Access::CompanionOf(seat(9)),
                _ => Access::Anyone,
            },
        }
    }
}

fn id_of_currency() -> onrush_core::money::Currency {
    "EUR".parse().expect("a currency")
}

/// Which public value a draw was promised.
fn source(drawn: i64, order: &Order) -> Option<Box<str>> {
    let is_drawn = *order != Order::Fifo;
    match drawn % 7 {
        4 => is_drawn.then(|| "the \"lottery\" of Süd ☃, 5 December".into()),
        1 => is_drawn.then(|| "é".repeat(500).into()),
        _ => None,
    }
}

fn room(random: &mut Random) -> RoomSettings {
    let order = if random.percent(35) {
        Order::Draw { seed_hash: draw::sha256(&SEED.0) }
    } else {
        Order::Fifo
    };
    let places_per_user = if order == Order::Fifo { *random.pick(&[1, 1, 2, 3]) } else { 1 };
    let (session_ms, arrive_ms) = *random.pick(&[
        (600_000, 120_000),
        (600_000, 60_000),
        (60_000, 90_000),
        (5_000, 5_000),
        (1, 1),
    ]);
    RoomSettings {
        capacity: *random.pick(&[1, 2, 3, 1_000]),
        outflow_per_min: *random.pick(&[
            None,
            None,
            Some(1),
            Some(7),
            Some(60),
            Some(90),
            Some(100_000),
        ]),
        session_ms,
        place_ttl_ms: *random.pick(&[1_800_000, 60_000, 7]),
        arrive_ms,
        max_queue_size: *random.pick(&[3, 12, 1_000_000]),
        places_per_user,
        units_per_visitor: *random.pick(&[1, 1, 2, 4]),
        order,
        public_value_source: None,
    }
}
