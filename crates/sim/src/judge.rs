//! The seam between a run and its judges.

use crate::asked::Asked;
use crate::rules::Rules;
use onrush_core::Time;

/// What a judge says; the reason, if something is wrong.
pub type Verdict = Result<(), String>;

/// One judge of one run.
pub trait Judge {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// Looks at something that was asked and committed, in the order of commits.
    ///
    /// # Errors
    /// What is wrong about it.
    fn committed(&mut self, asked: &Asked) -> Verdict;

    /// Looks at the state, which is what was committed so far: after a restart, and now and then.
    ///
    /// # Errors
    /// What is wrong about it.
    fn audited(&mut self, _at: Time, _rules: &Rules) -> Verdict {
        Ok(())
    }
}
