//! The plan of a sale, drawn from the seed: what kind of event, what is on sale, who comes.

use crate::chance::Chance;
use onrush_core::Time;
use onrush_core::ids::{InvalidId, PoolId, SeatId, UserId};
use onrush_core::limits::{MAX_FEE_BP, MAX_PRICE_MINOR};
use onrush_core::prices::Priced;
use onrush_core::settings::{Digest, Fees, Order, RefundRule, RoomSettings, Settings, SingleSeats};
use onrush_core::spec::{Access, CategorySpec, PoolSpec, SeatSpec};
use onrush_core::tax::Tax;
use onrush_core::user_limits::UserLimit;
use sha2::{Digest as _, Sha256};
use std::str::FromStr;

/// 2026-12-01T10:00:00Z, when all sales begin.
pub const START: Time = Time(1_796_119_200_000);

/// The event's id in every run.
pub const EVENT: &str = "sale";

const DAY_MS: i64 = 24 * 3_600_000;

/// The seed that draws commit to.
pub const DRAW_SEED: Digest = Digest([7; 32]);

/// Makes an id of a text that is one.
pub fn id<T: FromStr<Err = InvalidId>>(text: &str) -> T {
    text.parse().expect("the ids of a run are ids")
}

/// A sale, before anything has happened.
#[derive(Debug)]
pub struct Plan {
    /// The number it is drawn from.
    pub seed: u64,
    /// The event's settings at first.
    pub settings: Settings,
    /// The pools there are at first.
    pub pools: Vec<PoolSpec>,
    /// Price categories of seats.
    pub categories: Vec<CategorySpec>,
    /// The seats there are at first.
    pub seats: Vec<SeatSpec>,
    /// Who comes.
    pub users: Vec<UserId>,
    /// How long somebody thinks, on average, in milliseconds.
    pub tempo_ms: i64,
    /// How many are asked between two commits at most.
    pub batch: u32,
    /// How many commands the sale is at most.
    pub commands: u64,
    /// How many times in a hundred the organiser is the next to act.
    pub organiser_percent: u32,
}

impl Plan {
    /// The plan of this seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut chance = Chance::of(seed, "plan", 0);
        let settings = settings(&mut chance);
        let price_minor =
            chance.weighted(&[(3, 0), (5, 4_500), (2, 3_333), (1, 1), (1, MAX_PRICE_MINOR - 1)]);
        let names = ["ga", "vip", "vouchers", "deluxe.2026-12-24"];
        let pools = names.iter().take(chance.below(5) as usize).map(|name| PoolSpec {
            pool: id::<PoolId>(name),
            capacity: *chance.pick(&[0, 1, 3, 12, 60, 1_000]),
            price_minor: if *name == "vouchers" { 0 } else { price_minor },
        });
        let pools: Vec<_> = pools.collect();
        let seats = *chance.pick(&[0, 0, 4, 12, 30]);
        let seats = if pools.is_empty() { seats.max(4) } else { seats };
        let categories = ["stalls", "circle"].map(|name| CategorySpec {
            name: name.into(),
            price_minor: if name == "circle" { price_minor / 3 } else { price_minor },
        });
        let users = *chance.pick(&[2, 5, 12, 30, 60]);
        let mut plan = Self {
            seed,
            settings,
            pools,
            categories: categories.into(),
            seats: (0..seats).map(seat).collect(),
            users: (0..users).map(|n| id(&format!("u{n}"))).collect(),
            tempo_ms: *chance.pick(&[300, 3_000, 20_000, 120_000, 3_600_000]),
            batch: *chance.pick(&[1, 4, 16]),
            commands: *chance.pick(&[300, 1_000, 2_000, 4_000]),
            organiser_percent: *chance.pick(&[1, 2, 5]),
        };
        // Drawn last, so that all other sales stay as they were.
        if !plan.seats.is_empty() && chance.percent(10) {
            plan.seats = (0..SEATS_OF_LONG_ROWS).map(seat_of_long_row).collect();
        }
        plan
    }

    /// Whether rows are so long that groups of more than twenty find seats side by side.
    #[must_use]
    pub fn has_long_rows(&self) -> bool {
        self.seats.len() == SEATS_OF_LONG_ROWS as usize
    }
}

/// The seats of a hall of two long rows.
const SEATS_OF_LONG_ROWS: u32 = 56;

/// One of the seats of a hall of long rows: 24 of each are of one category, and the other four of the
/// other.
fn seat_of_long_row(n: u32) -> SeatSpec {
    let (row, number) = (["A", "B"][n as usize / 28], n % 28 + 1);
    SeatSpec {
        seat: id::<SeatId>(&format!("{row}-{number}")),
        section: "left".into(),
        row: row.into(),
        number: number.to_string().into(),
        category: if number <= 24 { "stalls" } else { "circle" }.into(),
        rank: n / 28,
        aisle: false,
        access: Access::Anyone,
    }
}

/// One of the seats there may be: rows of six, three of them to the left; two are wheelchair places,
/// each with a cheaper seat for a companion.
#[must_use]
pub fn seat(n: u32) -> SeatSpec {
    let row = ["A", "B", "C", "D", "E"][n as usize / 6 % 5];
    let number = n / 6 / 5 * 6 + n % 6 + 1;
    SeatSpec {
        seat: id::<SeatId>(&format!("{row}-{number}")),
        section: if n < 18 { "left" } else { "right" }.into(),
        row: row.into(),
        number: number.to_string().into(),
        category: if n % 6 < 4 { "stalls" } else { "circle" }.into(),
        rank: n / 12 * 2 + n % 6 / 5,
        aisle: n == 8,
        access: match n {
            9 | 21 => Access::Wheelchair,
            10 | 22 => Access::CompanionOf(seat(n - 1).seat),
            _ => Access::Anyone,
        },
    }
}

/// Settings that could be an organiser's.
pub fn settings(chance: &mut Chance) -> Settings {
    let currency = *chance.pick(&["EUR", "EUR", "EUR", "MGA"]);
    let mut it = Settings::new("A show", currency.parse().expect("the codes are codes"));
    it.room = chance.percent(70).then(|| room(chance));
    (it.hold_ttl_ms, it.hold_max_ms) =
        *chance.pick(&[(600_000, 1_800_000), (60_000, 90_000), (1_000, 1_000), (900_000, DAY_MS)]);
    it.payment_window_ms = *chance.pick(&[600_000, 30_000, 1]);
    it.payment_attempts = *chance.pick(&[1, 2, 3]);
    it.extensions = *chance.pick(&[0, 1, 3]);
    it.max_per_user = *chance.pick(&[None, Some(2), Some(8), Some(8)]);
    it.claim_ttl_max_ms = *chance.pick(&[None, Some(1), Some(90_000), Some(DAY_MS)]);
    if chance.percent(25) {
        it.prequeue_at = Some(START.plus_ms(chance.within(0, 300_000)));
    }
    if chance.percent(25) {
        it.opens_at = Some(START.plus_ms(chance.within(300_001, 900_000)));
    }
    if chance.percent(15) {
        it.closes_at = Some(START.plus_ms(chance.within(900_001, 3 * DAY_MS)));
    }
    if chance.percent(60) {
        it.starts_at = Some(START.plus_ms(chance.within(0, 9) * DAY_MS + chance.within(0, 5)));
        it.refunds = (0..chance.below(4))
            .map(|_| RefundRule {
                days_before: chance.below(9) as u16,
                percent: *chance.pick(&[0, 33, 50, 99, 100]),
            })
            .collect();
    }
    if chance.percent(60) {
        it.fees = Fees {
            fixed_minor: *chance.pick(&[0, 1, 250]),
            percent_bp: *chance.pick(&[0, 1, 250, 1_234, MAX_FEE_BP]),
        };
    }
    if chance.percent(25) {
        it.amount_step_minor = if currency == "MGA" { 100 } else { 10 };
    }
    // Derived, not drawn, so that the other sales stay as they were.
    if it.fees.percent_bp == 250 {
        it.tax = Some(Tax { name: "VAT".into(), rate_bp: 1_900 });
    }
    // Drawn from what was drawn before, so that worlds stay as they were in all else.
    let drawn = it.hold_ttl_ms / 1_000 + i64::from(it.fees.percent_bp) + i64::from(it.extensions);
    if drawn % 3 == 1 {
        it.single_seats = SingleSeats::Refuse;
    }
    it.limits = match drawn % 7 {
        1 => vec![limit("circle", None, 1), limit("ga", None, 2), limit("vouchers", None, 1)],
        2 => vec![
            limit("ga", Some("child"), 1),
            limit("stalls", None, 2),
            limit("circle", Some("adult"), 1),
            limit("ga", None, 3),
        ],
        _ => Vec::new(),
    };
    if let Some(room) = &mut it.room
        && room.order != Order::Fifo
    {
        room.public_value_source = match drawn % 4 {
            0 => Some("the \"lottery\" of Süd ☃, 5 December 2026".into()),
            1 => Some("é".repeat(500).into()),
            _ => None,
        };
    }
    (it.max_per_email, it.max_per_card) = match drawn % 5 {
        0 => (Some(2), None),
        1 => (Some(4), Some(3)),
        2 => (None, Some(1)),
        _ => (None, None),
    };
    it
}

/// A limit per person on a category of seats or on a pool.
pub(crate) fn limit(name: &str, ticket_type: Option<&str>, max_per_user: u32) -> UserLimit {
    let of = match name {
        "stalls" | "circle" => Priced::Category(name.into()),
        pool => Priced::Pool(id(pool)),
    };
    UserLimit { of, ticket_type: ticket_type.map(id), max_per_user }
}

fn room(chance: &mut Chance) -> RoomSettings {
    let is_drawn = chance.percent(35);
    let seed_hash = Digest(Sha256::digest(DRAW_SEED.0).into());
    RoomSettings {
        capacity: *chance.pick(&[1, 2, 5, 20]),
        outflow_per_min: *chance.pick(&[None, None, Some(1), Some(7), Some(60), Some(600)]),
        session_ms: *chance.pick(&[600_000, 60_000, 10_000]),
        place_ttl_ms: *chance.pick(&[1_800_000, 60_000, 6]),
        arrive_ms: *chance.pick(&[120_000, 5_000, 1_000_000]),
        max_queue_size: *chance.pick(&[1, 10, 1_000_000]),
        places_per_user: if is_drawn { 1 } else { *chance.pick(&[1, 1, 3]) },
        units_per_visitor: *chance.pick(&[1, 1, 2, 5]),
        order: if is_drawn { Order::Draw { seed_hash } } else { Order::Fifo },
        public_value_source: None,
    }
}
