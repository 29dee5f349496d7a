//! One simulated engine: the rules, their journal, what is not committed yet, and the judges. It
//! takes steps, whoever thought of them, and the same steps lead to the same end.

use crate::asked::{Asked, Deal, Step, Who};
use crate::counts::Counts;
use crate::journal::Journal;
use crate::judges::{Judges, Violation};
use crate::rules::Rules;
use crate::story;
use onrush_core::snapshot::SnapshotRow;
use onrush_core::{Command, Time};
use sha2::{Digest, Sha256};

/// How many commands pass between two audits at most.
const AUDIT_EVERY: u64 = 512;

/// The engine and its judges.
pub struct World {
    rules: Rules,
    journal: Journal,
    judges: Judges,
    /// Decided, and not committed.
    pending: Vec<Asked>,
    /// Committed answers that nobody was told of yet.
    pub(crate) answers: Vec<Asked>,
    at: Time,
    counts: Counts,
    last_audit: u64,
    observed: Sha256,
    buffer: Vec<u8>,
    story: Option<Vec<String>>,
    #[cfg(feature = "planted")]
    bug: Option<crate::planted::Bug>,
}

impl World {
    /// An engine without any event.
    #[must_use]
    pub fn new() -> Self {
        let event = crate::plan::EVENT.parse().expect("the event's id is one");
        Self {
            rules: Rules::new(event),
            journal: Journal::default(),
            judges: Judges::new(),
            pending: Vec::new(),
            answers: Vec::new(),
            at: Time::MIN,
            counts: Counts::default(),
            last_audit: 0,
            observed: Sha256::new(),
            buffer: Vec::new(),
            story: None,
            #[cfg(feature = "planted")]
            bug: None,
        }
    }

    /// Plants a bug.
    #[cfg(feature = "planted")]
    pub fn plant(&mut self, bug: crate::planted::Bug) {
        self.rules.plant(bug);
        self.bug = Some(bug);
    }

    /// Tells the story from now on.
    pub fn tell(&mut self) {
        self.story = Some(Vec::new());
    }

    /// The story so far, a sentence each.
    #[must_use]
    pub fn story(&self) -> &[String] {
        self.story.as_deref().unwrap_or_default()
    }

    /// What happened so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The time of the last decision.
    #[must_use]
    pub fn at(&self) -> Time {
        self.at
    }

    /// When the next tick is due.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        self.rules.next_deadline()
    }

    /// How many decisions and answers wait for a commit.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// A hash of everything that could be observed: commands, answers, views, journal, restarts.
    #[must_use]
    pub fn observed(&self) -> String {
        self.observed.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Takes a step.
    ///
    /// # Errors
    /// What a judge says about it.
    pub fn step(&mut self, step: Step) -> Result<(), Violation> {
        match step {
            Step::Ask { at, who, command } => self.ask(at, who, command),
            Step::Look { at, who, query } => {
                self.at = self.at.max(at);
                let shown = self.rules.query(self.at, &query);
                let deal = Deal::Look { query, shown };
                self.pending.push(Asked { at: self.at, who, deal });
            }
            Step::Commit => return self.commit(),
            Step::Snapshot => {
                if self.pending.is_empty() {
                    self.journal.snapshot(&self.rules);
                    #[cfg(feature = "planted")]
                    crate::harm::harm_snapshot(self.bug, &mut self.journal);
                }
            }
            Step::Crash { at, from_snapshot } => return self.crash(at, from_snapshot),
        }
        Ok(())
    }

    fn ask(&mut self, at: Time, who: Who, command: Command) {
        self.at = self.at.max(at);
        self.counts.commands += 1;
        let (said, changes) = match self.rules.decide(self.at, &command) {
            Ok(decision) => (Ok(decision.reply), decision.changes),
            Err(refusal) => (Err(refusal), onrush_core::Changes::new()),
        };
        changes.iter().for_each(|change| self.rules.evolve(self.at, change));
        let deal = Deal::Command { command, said, changes };
        self.pending.push(Asked { at: self.at, who, deal });
    }

    fn commit(&mut self) -> Result<(), Violation> {
        #[cfg(feature = "planted")]
        if self.bug == Some(crate::planted::Bug::AnswersBeforeTheCommit) {
            return self.answer_without_commit();
        }
        let pending = std::mem::take(&mut self.pending);
        for asked in &pending {
            self.write(asked);
            self.judged(asked)?;
        }
        self.keep(pending);
        if self.counts.commands >= self.last_audit + AUDIT_EVERY {
            self.audit()?;
        }
        Ok(())
    }

    fn keep(&mut self, committed: Vec<Asked>) {
        if self.answers.is_empty() {
            self.answers = committed;
        } else {
            self.answers.extend(committed);
        }
    }

    /// Writes a decision down, and notes what can be observed of it.
    fn write(&mut self, asked: &Asked) {
        self.observed.update(asked.at.0.to_le_bytes());
        match &asked.deal {
            Deal::Command { said, changes, .. } => {
                if !changes.is_empty() {
                    let row = self.journal.write(asked.at, changes);
                    self.observed.update(&row.json);
                    self.counts.changes += changes.len() as u64;
                    #[cfg(feature = "planted")]
                    crate::harm::harm_written(self.bug, &mut self.journal, self.counts.changes);
                }
                self.buffer.clear();
                match said {
                    Ok(reply) => write_json(&mut self.buffer, reply),
                    Err(refusal) => {
                        self.counts.refused += 1;
                        write_json(&mut self.buffer, refusal);
                    }
                }
                self.observed.update(&self.buffer);
            }
            Deal::Look { shown, .. } => {
                self.counts.looks += 1;
                // Views are not written anywhere else; their text serves as well.
                self.observed.update(format!("{shown:?}"));
            }
        }
    }

    fn judged(&mut self, asked: &Asked) -> Result<(), Violation> {
        if let Some(story) = &mut self.story {
            story.push(story::sentence(asked));
        }
        self.judges.committed(asked)
    }

    #[cfg(feature = "planted")]
    fn answer_without_commit(&mut self) -> Result<(), Violation> {
        // Everything is told, and only half of it is written: the rest comes with a later batch.
        let pending = std::mem::take(&mut self.pending);
        for asked in &pending {
            self.judged(asked)?;
            if self.counts.commands % 8 < 4 {
                self.write(asked);
            }
        }
        self.keep(pending);
        Ok(())
    }

    fn crash(&mut self, at: Time, from_snapshot: bool) -> Result<(), Violation> {
        self.counts.crashes += 1;
        self.counts.lost += self.pending.len() as u64;
        if let Some(story) = &mut self.story {
            story.push(story::crash(at, self.pending.len(), from_snapshot));
        }
        let expected: Option<Vec<SnapshotRow>> =
            self.pending.is_empty().then(|| self.rules.snapshot().collect());
        self.pending.clear();
        let replayed = self.journal.recover(&mut self.rules, from_snapshot);
        self.counts.rows_replayed += replayed as u64;
        self.at = self.journal.last_at().unwrap_or(Time::MIN);
        self.observed.update(b"crash");
        if let Some(expected) = expected {
            let kept: Vec<SnapshotRow> = self.rules.snapshot().collect();
            if let Some(difference) = difference(&expected, &kept) {
                let why = format!("after a restart {difference}");
                return Err(Violation { judge: "recovery", why });
            }
        }
        let audited = self.audit();
        // What differs right after a restart was lost or made up by it.
        audited.map_err(|violation| match violation.judge {
            "oracle" => Violation { judge: "recovery", why: violation.why },
            _ => violation,
        })
    }

    /// Has everything looked at that is committed. Nothing may be pending.
    ///
    /// # Errors
    /// What a judge says about it.
    pub fn audit(&mut self) -> Result<(), Violation> {
        self.last_audit = self.counts.commands;
        if let Err(broken) = self.rules.check() {
            return Err(Violation { judge: "rules", why: broken.join("; ") });
        }
        self.judges.audited(self.at, &self.rules)
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

fn write_json(buffer: &mut Vec<u8>, value: &impl serde::Serialize) {
    serde_json::to_writer(buffer, value).expect("answers can be written as JSON");
}

/// The first row that is not as it was; `None` if all are.
fn difference(before: &[SnapshotRow], after: &[SnapshotRow]) -> Option<String> {
    let pair = before.iter().zip(after).find(|(before, after)| before != after);
    match pair {
        Some((before, after)) => Some(format!("{before:?} has become {after:?}")),
        None if before.len() != after.len() => {
            Some(format!("{} rows have become {}", before.len(), after.len()))
        }
        None => None,
    }
}
