//! Who has to do with an event: the one copy of each user's id, and where their things begin.

use crate::arena::{Idx, Keyed, Table};
use crate::ids::UserId;

/// A user of one event.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) id: UserId,
    /// The first of the waiting places, which are chained in the order they are served.
    pub(crate) first_place: Option<Idx>,
    /// The session, if the user is admitted.
    pub(crate) session: Option<Idx>,
    /// The latest of the holds, which are chained backwards in time, and forwards in a ring.
    pub(crate) last_hold: Option<Idx>,
    /// Units held, confirmed, or claimed.
    pub(crate) units: u32,
}

impl Keyed for User {
    fn key(&self) -> &str {
        self.id.as_str()
    }
}

/// All users of one event.
#[derive(Debug, Default)]
pub(crate) struct Users {
    table: Table<User>,
}

impl Users {
    pub(crate) fn get(&self, id: &UserId) -> Option<&User> {
        self.table.get(id.as_str())
    }

    pub(crate) fn find(&self, id: &UserId) -> Option<Idx> {
        self.table.find(id.as_str())
    }

    pub(crate) fn find_or_add(&mut self, id: &UserId) -> Idx {
        self.find(id).unwrap_or_else(|| {
            self.table.insert(User {
                id: id.clone(),
                first_place: None,
                session: None,
                last_hold: None,
                units: 0,
            })
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Forgets a user who has nothing any more.
    pub(crate) fn tidy(&mut self, idx: Idx) {
        let user = &self.table[idx];
        let idle = user.first_place.is_none() && user.session.is_none() && user.last_hold.is_none();
        if idle && user.units == 0 {
            self.table.remove(idx);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Idx, &User)> {
        self.table.iter()
    }
}

impl std::ops::Index<Idx> for Users {
    type Output = User;

    fn index(&self, idx: Idx) -> &User {
        &self.table[idx]
    }
}

impl std::ops::IndexMut<Idx> for Users {
    fn index_mut(&mut self, idx: Idx) -> &mut User {
        &mut self.table[idx]
    }
}
