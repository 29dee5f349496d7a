//! The counts by which people are let in, added up from what they count.

use super::layout::{Layout, Texts};
use super::records::{CategoryText, PoolText, SessionText};

/// Fields of the meta hash that `include/counts.lua` keeps.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Counts {
    /// Units on sale in pools and seats.
    units_free: i64,
    /// People in the room who may take something and have nothing yet.
    choosing: i64,
}

impl Counts {
    /// # Errors
    /// What cannot be read, as a sentence.
    pub(super) fn of(layout: &Layout) -> Result<Self, String> {
        let number = |text: &str, of: &str| {
            text.parse::<i64>().map_err(|error| format!("{of}: {text:?} is no number: {error}"))
        };
        let mut units_free = 0_i64;
        for (id, text) in &layout.pools {
            let pool = PoolText::read(text, id)?;
            let mut free = number(pool.capacity, id)?;
            for taken in [pool.held, pool.sold, pool.blocked] {
                free = free.saturating_sub(number(taken, id)?);
            }
            units_free = units_free.saturating_add(free);
        }
        for (name, text) in &layout.categories {
            let free = number(CategoryText::read(text, name)?.free, name)?;
            units_free = units_free.saturating_add(free);
        }
        let mut choosing = 0;
        for (user, text) in &layout.sessions {
            let session = SessionText::read(text, user)?;
            let live_holds = number(session.live_holds, user)?;
            choosing += i64::from(session.state != "ended" && live_holds == 0);
        }
        Ok(Self { units_free, choosing })
    }

    pub(super) fn put_into(&self, meta: &mut Texts) {
        meta.insert("units_free".to_owned(), self.units_free.to_string());
        meta.insert("choosing".to_owned(), self.choosing.to_string());
    }

    /// Whether meta has these counts, or none: the next tick adds them up.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn check(&self, meta: &Texts) -> Result<(), String> {
        let mut expected = Texts::default();
        self.put_into(&mut expected);
        for (field, count) in expected {
            if meta.get(&field).is_some_and(|kept| *kept != count) {
                return Err(format!("{field} is {}, and {count} are counted", meta[&field]));
            }
        }
        Ok(())
    }
}
