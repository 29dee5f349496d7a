//! Lists with filters, a page at a time.

use super::statements::Statements;
use crate::Page;
use rusqlite::types::Value;
use rusqlite::{Row, params_from_iter};

/// A list's query as it is put together. Pages go on after a row's key and never count rows, so
/// that a late page costs no more than the first, and rows that come in meanwhile shift nothing.
pub(super) struct Query {
    sql: String,
    values: Vec<Value>,
    impossible: bool,
}

impl Query {
    /// Begins with what comes before the conditions.
    pub(super) fn new(select: &str) -> Self {
        Self { sql: format!("{select} WHERE 1 = 1"), values: Vec::new(), impossible: false }
    }

    /// Only rows that fit `condition`, in which each `?` stands for the next value.
    pub(super) fn only(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.extend(values);
    }

    /// Only rows after a `next` of this list, if there is one; `key` reads it. Nothing comes after
    /// a text that is none.
    pub(super) fn after<const N: usize>(
        &mut self,
        after: Option<&str>,
        condition: &str,
        key: impl FnOnce(&str) -> Option<[Value; N]>,
    ) {
        let Some(after) = after else { return };
        match key(after) {
            Some(values) => self.only(condition, values),
            None => self.impossible = true,
        }
    }

    /// Reads one page; `key` says what the page after a row begins with.
    pub(super) fn page<T>(
        mut self,
        db: &Statements<'_>,
        order: &str,
        limit: usize,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        key: impl FnOnce(&T) -> String,
    ) -> rusqlite::Result<Page<T>> {
        if self.impossible || limit == 0 {
            return Ok(Page { rows: Vec::new(), next: None });
        }
        // One more than is wanted says whether there are more.
        let more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        self.sql.push_str(&format!(" ORDER BY {order} LIMIT {more}"));
        let mut statement = db.connection().prepare(&self.sql)?;
        let mut rows = statement
            .query_map(params_from_iter(self.values), read)?
            .collect::<rusqlite::Result<Vec<T>>>()?;
        let next = if rows.len() > limit {
            rows.truncate(limit);
            rows.last().map(key)
        } else {
            None
        };
        Ok(Page { rows, next })
    }
}

/// A text value.
pub(super) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// The key of a list by time: `<milliseconds>/<text>`.
pub(super) fn time_key(key: &str) -> Option<[Value; 2]> {
    let (at, id) = key.split_once('/')?;
    Some([Value::Integer(at.parse().ok()?), text(id)])
}

/// A `LIKE` pattern, with `\` as the escape, for texts in small letters that have `part` in them.
pub(super) fn containing(part: &str) -> Value {
    let mut pattern = String::with_capacity(part.len() + 2);
    pattern.push('%');
    for letter in part.to_lowercase().chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    Value::Text(pattern)
}
