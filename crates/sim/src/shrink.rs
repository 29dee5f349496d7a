//! From a run that fails to the shortest part of it that was found to fail the same way.

use crate::asked::{Step, Who};
use crate::attempt;
use crate::judges::Violation;
use crate::world::World;
use onrush_core::Command;

/// Runs that a search may take.
const MOST_TRIES: u32 = 3_000;

/// A run that fails, as short as it was found.
#[derive(Clone, Debug)]
pub struct Shortest {
    /// Its steps.
    pub steps: Vec<Step>,
    /// What is wrong with it.
    pub violation: Violation,
    /// It in sentences.
    pub story: Vec<String>,
}

/// How a world begins: as it is, or with a bug planted.
pub type Begin<'a> = &'a dyn Fn() -> World;

/// Takes these steps and, at the end, commits and looks at everything.
///
/// With `ticks`, whatever is due between them is dealt with: a part of a run in which nothing is
/// ever dealt with would stand still for that reason alone.
fn play(begin: Begin, steps: &[Step], ticks: bool, tell: bool) -> (Option<Violation>, World) {
    let mut world = begin();
    if tell {
        world.tell();
    }
    let violation = attempt::quietly(|| {
        for step in steps {
            let at = if ticks { step.at() } else { None };
            while let Some((at, due)) = at.zip(world.next_deadline()).filter(|(at, due)| due <= at)
            {
                let at = due.max(world.at()).min(at);
                world.step(Step::Ask { at, who: Who::Clock, command: Command::Tick })?;
                world.step(Step::Commit)?;
                world.answers.clear();
            }
            world.step(step.clone())?;
            world.answers.clear();
        }
        world.step(Step::Commit)?;
        world.audit()
    });
    (violation.err(), world)
}

/// The shortest part of these steps that was found to fail by the same judge.
#[must_use]
pub fn shortest(begin: Begin, mut steps: Vec<Step>, violation: &Violation) -> Shortest {
    let ticks = violation.judge == "liveness";
    let mut tries = 0;
    let mut fails = |steps: &[Step]| {
        tries += 1;
        tries <= MOST_TRIES
            && play(begin, steps, ticks, false)
                .0
                .is_some_and(|found| found.judge == violation.judge)
    };
    // By halves: the audit at the end often shows what is wrong before a command meets it.
    let (mut good, mut bad) = (0, steps.len());
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if fails(&steps[..middle]) {
            bad = middle;
        } else {
            good = middle;
        }
    }
    if fails(&steps[..bad]) {
        steps.truncate(bad);
    }
    // Then without one part after the other, in ever smaller parts.
    let mut part = steps.len() / 2;
    while part > 0 {
        let mut from = 0;
        while from < steps.len() {
            let to = (from + part).min(steps.len());
            let fewer: Vec<Step> = steps[..from].iter().chain(&steps[to..]).cloned().collect();
            if fails(&fewer) {
                steps = fewer;
            } else {
                from = to;
            }
        }
        part /= 2;
    }
    let (found, world) = play(begin, &steps, ticks, true);
    let violation = found.unwrap_or_else(|| violation.clone());
    Shortest { steps, violation, story: world.story().to_vec() }
}
