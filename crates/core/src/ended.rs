//! Counts of what ended: how many bookings and claims of each user wait to be forgotten.

use crate::ids::UserId;
use hashbrown::HashMap;

/// Ended bookings and claims by user; only users who have any are in it.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    of_user: HashMap<UserId, u32, foldhash::fast::FixedState>,
}

impl Ended {
    /// How many of the user's are known.
    pub(crate) fn of(&self, user: &UserId) -> u32 {
        self.of_user.get(user).copied().unwrap_or(0)
    }

    /// Counts one more.
    pub(crate) fn add(&mut self, user: &UserId) {
        match self.of_user.get_mut(user) {
            Some(count) => *count += 1,
            None => drop(self.of_user.insert(user.clone(), 1)),
        }
    }

    /// Counts one fewer: it is forgotten.
    pub(crate) fn forget(&mut self, user: &UserId) {
        let count = self.of_user.get_mut(user).expect("what is forgotten was counted");
        *count -= 1;
        if *count == 0 {
            self.of_user.remove(user);
        }
    }

    /// Of all users together.
    pub(crate) fn total(&self) -> usize {
        self.of_user.values().map(|count| *count as usize).sum()
    }
}
