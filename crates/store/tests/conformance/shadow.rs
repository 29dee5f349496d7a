//! An engine on Redis that follows each of the rules' own table tests, step by step.

use crate::play::{Subject, look_at_everything, same};
use crate::redis::{RedisSubject, Way};
use crate::sequences::a_redis;
use onrush_core::event::Decision;
use onrush_core::{Command, Event, Refusal, Time};
use onrush_testkit::{Redis, need};
use std::cell::RefCell;
use std::sync::Arc;

/// Follows an event, and fails where it does not arrive at the same. Follows nothing where there is no Redis.
#[derive(Default)]
pub(crate) struct Shadow {
    following: RefCell<Option<Following>>,
}

struct Following {
    subject: RedisSubject,
    now: Time,
    // Stays as long as somebody uses it.
    _redis: Arc<Redis>,
}

impl Following {
    fn set_clock(&mut self, now: Time) {
        if self.now != now {
            self.now = now;
            self.subject.set_clock(now).expect("Redis answers");
        }
    }
}

impl Shadow {
    /// Begins with this state, or goes on with it.
    #[track_caller]
    pub(crate) fn replace(&mut self, now: Time, event: &Event) {
        let following = self.following.get_mut();
        if following.is_none() {
            let Some(redis) = need(a_redis()) else { return };
            let subject = RedisSubject::new(&[redis.url()], false, Way::Engine);
            *following = Some(Following { subject, now, _redis: redis });
        }
        let Some(following) = following else { return };
        // An event of its own: what an engine knows of another state does not fit this one.
        following.subject.begin(now);
        following.now = now;
        if event.snapshot().next().is_some() {
            following.subject.refill(event).expect("Redis answers");
        }
    }

    /// Takes the step that the rules took.
    #[track_caller]
    pub(crate) fn follow(
        &mut self,
        now: Time,
        command: &Command,
        decided: &Result<Decision, Refusal>,
    ) {
        let Some(following) = self.following.get_mut() else { return };
        following.set_clock(now);
        let found = following.subject.run(command).expect("Redis answers");
        let answer = decided.clone().map(|decision| (now, decision.reply));
        let changes = match decided {
            Ok(decision) if !decision.changes.is_empty() => vec![(now, decision.changes.to_vec())],
            Ok(_) | Err(_) => Vec::new(),
        };
        same("the answer", &answer, &found.answer)
            .and_then(|()| same("the changes", &changes, &found.decided))
            .unwrap_or_else(|difference| panic!("{command:?}: {difference}"));
    }

    /// Compares the whole state.
    #[track_caller]
    pub(crate) fn check(&self, now: Time, event: &Event) {
        let mut following = self.following.borrow_mut();
        let Some(following) = following.as_mut() else { return };
        following.set_clock(now);
        look_at_everything(event, now, &mut following.subject)
            .unwrap_or_else(|difference| panic!("{difference}"));
    }
}
