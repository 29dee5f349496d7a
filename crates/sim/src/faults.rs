//! What goes wrong in a run: each fault by its name, with a rate that the seed draws.

use crate::chance::Chance;
use strum::{Display, EnumString, VariantNames};

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case", parse_err_ty = String, parse_err_fn = unknown)]
pub enum Fault {
    /// The process dies, and starts again.
    Crash,
    /// It takes a while until it starts again.
    Downtime,
    /// The clock is set back, or forward by a little.
    ClockJump,
    /// The clock goes a hundredth too fast or too slow.
    ClockDrift,
    /// The process stands still for a while, and everything due moves on.
    Pause,
    /// A command comes twice.
    Doubled,
    /// A command comes late.
    Late,
    /// A command names something of before, or of somebody else.
    Stale,
    /// What is due is dealt with late.
    LateTick,
}

/// All faults' names, in the order of their rates, as `--without` knows them.
pub const FAULTS: &[&str] = Fault::VARIANTS;

fn unknown(_: &str) -> String {
    format!("use one of {}", FAULTS.join(", "))
}

/// How often each fault comes, and how often it came.
#[derive(Debug)]
pub struct Faults {
    per_million: [u32; FAULTS.len()],
    came: [u64; FAULTS.len()],
    /// Draws of their own, so that a fault left out shifts nothing else.
    chances: Vec<Chance>,
}

impl Faults {
    /// The rates that this seed draws, without those that are left out.
    #[must_use]
    pub fn new(seed: u64, without: &[Fault]) -> Self {
        let mut drawn = Chance::of(seed, "fault rates", 0);
        let often = [0, 500, 1_500, 6_000];
        let crash = *drawn.pick(&[0, 300, 1_000, 4_000]);
        let mut per_million = [
            crash,
            *drawn.pick(&[0, 300_000, 800_000]),
            *drawn.pick(&often),
            *drawn.pick(&[0, 500_000, 1_000_000]),
            *drawn.pick(&[0, 200, 1_000]),
            *drawn.pick(&[0, 5_000, 20_000, 100_000]),
            *drawn.pick(&[0, 5_000, 20_000, 100_000]),
            *drawn.pick(&[0, 5_000, 20_000, 100_000]),
            *drawn.pick(&[0, 10_000, 200_000]),
        ];
        for fault in without {
            per_million[*fault as usize] = 0;
        }
        let chances = (0..).zip(FAULTS).map(|(n, _)| Chance::of(seed, "faults", n)).collect();
        Self { per_million, came: [0; FAULTS.len()], chances }
    }

    /// Whether this fault comes now.
    pub fn comes(&mut self, fault: Fault) -> bool {
        let index = fault as usize;
        let comes = self.chances[index].rate(self.per_million[index]);
        self.came[index] += u64::from(comes);
        comes
    }

    /// This fault's draws.
    pub fn chance(&mut self, fault: Fault) -> &mut Chance {
        &mut self.chances[fault as usize]
    }

    /// How often each came, in the order of [`FAULTS`].
    #[must_use]
    pub fn came(&self) -> [u64; FAULTS.len()] {
        self.came
    }
}
