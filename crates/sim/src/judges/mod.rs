//! Who says whether a run went right. Judges know commands, answers and changes, and share no code
//! with the rules.

mod admission;
mod aside;
mod liveness;
mod memory;
mod money;
pub mod oracle;
mod payers;
mod stock;

use crate::asked::Asked;
use crate::judge::Judge;
use crate::rules::Rules;
use onrush_core::Time;

/// What went wrong, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The judge's name.
    pub judge: &'static str,
    /// The reason.
    pub why: String,
}

/// All judges of a run.
pub struct Judges {
    all: Vec<Box<dyn Judge>>,
}

/// What each judge watches over, by its name: what `onrush simulate --help` and the documents say.
pub const JUDGES: [(&str, &str); 9] = [
    ("rules", "no assertion of the rules fails, and their own sums add up"),
    ("oracle", "every reply, refusal, change and view is as predicted"),
    ("stock", "units are conserved, and a seat has one owner"),
    ("admission", "nobody is admitted before somebody who was ahead and eligible"),
    ("money", "to the cent: what was confirmed less what was given back"),
    ("payers", "no e-mail address and no card has more units than it may"),
    ("memory", "no more is known than the changes say"),
    ("liveness", "places, sessions and holds come to an end in time"),
    ("recovery", "after a crash everything committed is there"),
];

impl Judges {
    /// All there are, oracle first.
    #[must_use]
    pub fn new() -> Self {
        Self {
            all: vec![
                Box::new(stock::StockJudge::default()),
                Box::new(admission::AdmissionJudge::default()),
                Box::new(money::MoneyJudge::default()),
                Box::new(payers::PayerJudge::default()),
                Box::new(memory::MemoryJudge::default()),
                Box::new(liveness::LivenessJudge::default()),
                Box::new(oracle::Oracle::default()),
            ],
        }
    }

    /// Has all of them look at something that was committed.
    ///
    /// # Errors
    /// The first violation.
    pub fn committed(&mut self, asked: &Asked) -> Result<(), Violation> {
        for judge in &mut self.all {
            let name = judge.name();
            judge.committed(asked).map_err(|why| Violation { judge: name, why })?;
        }
        Ok(())
    }

    /// Has all of them look at the state.
    ///
    /// # Errors
    /// The first violation.
    pub fn audited(&mut self, at: Time, rules: &Rules) -> Result<(), Violation> {
        for judge in &mut self.all {
            let name = judge.name();
            judge.audited(at, rules).map_err(|why| Violation { judge: name, why })?;
        }
        Ok(())
    }
}

impl Default for Judges {
    fn default() -> Self {
        Self::new()
    }
}
