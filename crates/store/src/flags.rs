//! Flags that switch how the engine on Redis works, at run time, without loss.
//!
//! A flag is off, on, or on for a share of the users. Who belongs to that share follows from the
//! user's id alone, so it is the same on every node, after every restart, and whoever was in at 10
//! % is in at 50 % too.

use onrush_core::ids::UserId;
use std::sync::atomic::{AtomicU8, Ordering};
use strum::{Display, EnumString, IntoStaticStr};

/// What can be switched.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString, IntoStaticStr,
)]
#[strum(serialize_all = "snake_case", parse_err_ty = String, parse_err_fn = unknown)]
pub enum Flag {
    /// A user's first place is read from the stream of their places instead of from their
    /// own row. Both are always written.
    StreamsQueue,
    /// Joins and holds run as one script; off, they run as optimistic transactions (WATCH, MULTI,
    /// EXEC), and as the script only after many lost races in a row, or where no transaction can be
    /// made.
    LuaAtomic,
    /// Scores in the queue carry a counter; off, the counter is 0, and equal scores go by
    /// the place's number.
    CompositeScore,
}

impl Flag {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::StreamsQueue, Self::LuaAtomic, Self::CompositeScore];

    /// What it switches, for operators.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::StreamsQueue => "read a user's first place from the stream of their places",
            Self::LuaAtomic => "run joins and holds as one script, not as WATCH and MULTI",
            Self::CompositeScore => "count within the millisecond in the scores of the queue",
        }
    }

    /// The share of users it is on for unless somebody says otherwise, in percent.
    #[must_use]
    pub fn default_percent(self) -> u8 {
        match self {
            Self::StreamsQueue => 0,
            Self::LuaAtomic | Self::CompositeScore => 100,
        }
    }
}

fn unknown(_: &str) -> String {
    "use streams_queue, lua_atomic or composite_score".into()
}

/// How the flags are set now. Reading is free of locks; whoever hears of a change writes it here.
#[derive(Debug)]
pub struct Flags([AtomicU8; Flag::ALL.len()]);

impl Default for Flags {
    fn default() -> Self {
        Self(Flag::ALL.map(|flag| AtomicU8::new(flag.default_percent())))
    }
}

impl Flags {
    /// The share of users a flag is on for, in percent.
    #[must_use]
    pub fn percent(&self, flag: Flag) -> u8 {
        self.0[flag as usize].load(Ordering::Relaxed)
    }

    /// Sets the share of users a flag is on for; more than 100 % is 100 %.
    pub fn set(&self, flag: Flag, percent: u8) {
        self.0[flag as usize].store(percent.min(100), Ordering::Relaxed);
    }

    /// Whether a flag is on for this user.
    #[must_use]
    pub fn is_on(&self, flag: Flag, user: &UserId) -> bool {
        share_of(flag, user) < u32::from(self.percent(flag)) * 100
    }
}

/// Where a user stands among all users, from 0 to 9,999; another place for each flag, so that the
/// flags are independent.
fn share_of(flag: Flag, user: &UserId) -> u32 {
    // FNV-1a: fixed for good, unlike the standard library's hashers.
    let bytes = <&str>::from(flag).bytes().chain([b':']).chain(user.as_str().bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    // The low bits of FNV are its worst.
    ((hash ^ (hash >> 32)) % 10_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(number: u32) -> UserId {
        format!("user-{number}").parse().unwrap()
    }

    #[test]
    fn who_is_in_at_ten_percent_is_in_at_fifty() {
        let flags = Flags::default();
        flags.set(Flag::StreamsQueue, 10);
        let early: Vec<_> =
            (0..10_000).filter(|n| flags.is_on(Flag::StreamsQueue, &user(*n))).collect();
        assert!((800..1_200).contains(&early.len()), "about a tenth, not {}", early.len());
        flags.set(Flag::StreamsQueue, 50);
        assert!(early.iter().all(|n| flags.is_on(Flag::StreamsQueue, &user(*n))));
    }

    #[test]
    fn all_and_nobody_are_exact() {
        let flags = Flags::default();
        for (percent, expected) in [(0, false), (100, true), (255, true)] {
            flags.set(Flag::LuaAtomic, percent);
            assert!((0..10_000).all(|n| flags.is_on(Flag::LuaAtomic, &user(n)) == expected));
        }
    }

    #[test]
    fn flags_choose_their_users_independently() {
        let flags = Flags::default();
        for flag in Flag::ALL {
            flags.set(flag, 50);
        }
        let both = (0..10_000).filter(|n| {
            flags.is_on(Flag::StreamsQueue, &user(*n)) && flags.is_on(Flag::LuaAtomic, &user(*n))
        });
        assert!((2_000..3_000).contains(&both.count()));
    }

    #[test]
    fn names_lead_back_to_their_flags() {
        for flag in Flag::ALL {
            assert_eq!(flag.to_string().parse(), Ok(flag));
        }
        assert!("fast_mode".parse::<Flag>().is_err());
    }
}
