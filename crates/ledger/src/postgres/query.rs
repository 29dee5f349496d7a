//! Lists with filters, a page at a time.

use super::database::all;
use super::fault::Fault;
use super::rows;
use crate::Page;
use deadpool_postgres::Client;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// A value that a column is compared with.
#[derive(Clone)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
}

impl Value {
    fn param(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Text(text) => text,
            Self::Integer(number) => number,
        }
    }
}

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
        Self { sql: format!("{select} WHERE TRUE"), values: Vec::new(), impossible: false }
    }

    /// Only rows that fit `condition`, in which each `?` stands for the next value.
    pub(super) fn only(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        self.sql.push_str(" AND ");
        let mut values = values.into_iter();
        for letter in condition.chars() {
            match letter {
                '?' => {
                    let value = values.next().expect("there is a value for each question mark");
                    // No column has a NUL in it.
                    self.impossible |= matches!(&value, Value::Text(text) if text.contains('\0'));
                    self.values.push(value);
                    self.sql.push_str(&format!("${}", self.values.len()));
                }
                other => self.sql.push(other),
            }
        }
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
    pub(super) async fn page<T>(
        mut self,
        db: &Client,
        order: &str,
        limit: usize,
        read: impl Fn(&Row) -> Result<T, Fault>,
        key: impl FnOnce(&T) -> String,
    ) -> Result<Page<T>, Fault> {
        if self.impossible || limit == 0 {
            return Ok(Page { rows: Vec::new(), next: None });
        }
        // One more than is wanted says whether there are more.
        let more = rows::limit(limit).saturating_add(1);
        self.sql.push_str(&format!(" ORDER BY {order} LIMIT {more}"));
        let params: Vec<_> = self.values.iter().map(Value::param).collect();
        let found = all(db, &self.sql, &params).await?;
        let mut rows = found.iter().map(read).collect::<Result<Vec<T>, Fault>>()?;
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
