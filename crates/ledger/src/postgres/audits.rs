//! Lists for audits, which read all there is while nodes write.

use super::PgLedger;
use super::query::{POSTGRES, PageOf};
use crate::saga::Saga;
use crate::{Page, Pending, lists};

impl PgLedger {
    /// All sagas, by booking: one that changes meanwhile keeps its place. What `next` says is to be
    /// given as `after`.
    pub fn all_sagas(&self, after: Option<&str>, limit: usize) -> Pending<Page<Saga>> {
        self.read(PageOf::rows(lists::all_sagas(&POSTGRES, after, limit)))
    }
}
