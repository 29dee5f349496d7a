//! How a list is put together, and cut into pages.

use crate::Page;
use onrush_core::Time;
use std::fmt::Display;

/// What databases write differently.
pub(crate) struct Dialect {
    /// What stands before a value's number.
    pub(crate) sign: char,
    /// What a column that says yes is equal to.
    pub(crate) truth: &'static str,
    /// Whether a text may have a NUL in it.
    pub(crate) has_nul: bool,
}

/// A value that a column is compared with.
#[derive(Clone)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
}

/// Reads a key: the values of a row's columns; `None` if it is none.
pub(super) type ReadKey<const N: usize> = fn(&str) -> Option<[Value; N]>;

/// In which order a list is.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Rising,
    Falling,
}

/// A list whose conditions are being gathered.
pub(super) struct Query<'a> {
    db: &'a Dialect,
    from: &'static str,
    conditions: String,
    values: Vec<Value>,
    impossible: bool,
}

impl<'a> Query<'a> {
    /// Begins with tables.
    pub(super) fn of(db: &'a Dialect, from: &'static str) -> Self {
        let conditions = String::new();
        Self { db, from, conditions, values: Vec::new(), impossible: false }
    }

    /// Only rows that fit `condition`, in which each `?` stands for the next value.
    pub(super) fn only(&mut self, condition: &str, values: impl IntoIterator<Item = Value>) {
        let word = if self.conditions.is_empty() { " WHERE " } else { " AND " };
        self.conditions.push_str(word);
        let mut values = values.into_iter();
        for letter in condition.chars() {
            if letter != '?' {
                self.conditions.push(letter);
                continue;
            }
            let value = values.next().expect("there is a value for each question mark");
            let has_nul = matches!(&value, Value::Text(text) if text.contains('\0'));
            self.impossible |= has_nul && !self.db.has_nul;
            self.values.push(value);
            self.conditions.push_str(&format!("{}{}", self.db.sign, self.values.len()));
        }
    }

    /// Only rows with `wanted` in a column, if something is wanted.
    pub(super) fn equal(&mut self, column: &str, wanted: Option<&str>) {
        if let Some(wanted) = wanted {
            self.only(&format!("{column} = ?"), [text(wanted)]);
        }
    }

    /// Only rows with a yes in a column, or only those with a no, if one of the two is wanted.
    pub(super) fn flag(&mut self, column: &str, wanted: Option<bool>) {
        if let Some(is_set) = wanted {
            // As it stands in the condition of an index.
            let is = if is_set { "=" } else { "<>" };
            self.only(&format!("{column} {is} {}", self.db.truth), []);
        }
    }

    /// One page in the order of `columns`, after the row whose `key` is `after`. Nothing comes after
    /// a text that is no key.
    pub(super) fn page<T, const N: usize>(
        mut self,
        (order, columns): (Order, [&str; N]),
        (after, read): (Option<&str>, ReadKey<N>),
        limit: usize,
        key: fn(&T) -> String,
    ) -> List<T> {
        let (sign, suffix) = match order {
            Order::Rising => ('>', ""),
            Order::Falling => ('<', " DESC"),
        };
        match after.map(read) {
            Some(Some(values)) => {
                let condition =
                    format!("({}) {sign} ({})", columns.join(", "), ["?"; N].join(", "));
                self.only(&condition, values);
            }
            Some(None) => self.impossible = true,
            None => {}
        }
        let order = columns.map(|column| format!("{column}{suffix}")).join(", ");
        // One more than is wanted says whether there are more.
        let more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let Self { db, from, conditions, mut values, impossible } = self;
        // As a value, so that a list has one text however long its pages are: connections keep
        // statements ready by their texts.
        values.push(Value::Integer(more));
        let most = format!("{}{}", db.sign, values.len());
        let rest = format!("{conditions} ORDER BY {order} LIMIT {most}");
        List { from, rest, values, is_empty: impossible || limit == 0, limit, key }
    }
}

/// One page of a list. Pages go on after a row's key and never count rows, so that a late page
/// costs no more than the first, and rows that come in meanwhile shift nothing.
pub(crate) struct List<T> {
    from: &'static str,
    rest: String,
    values: Vec<Value>,
    is_empty: bool,
    limit: usize,
    key: fn(&T) -> String,
}

impl<T> List<T> {
    /// The query that reads `columns`, and its values; `None` if there can be no rows.
    pub(crate) fn query(&self, columns: &str) -> Option<(String, &[Value])> {
        let Self { from, rest, values, .. } = self;
        (!self.is_empty).then(|| (format!("SELECT {columns} FROM {from}{rest}"), &**values))
    }

    /// The page made of the rows that the query found.
    pub(crate) fn page(&self, mut rows: Vec<T>) -> Page<T> {
        let has_more = rows.len() > self.limit;
        rows.truncate(self.limit);
        let next = if has_more { rows.last().map(self.key) } else { None };
        Page { rows, next }
    }
}

/// A text value.
pub(super) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// The key of a list by time, and then by id: `<milliseconds>/<id>`.
pub(super) fn time_key(at: Time, id: &impl Display) -> String {
    format!("{at}/{id}")
}

/// Reads what [`time_key`] wrote.
pub(super) fn time_values(key: &str) -> Option<[Value; 2]> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_any_length_have_one_text() {
        for sign in ['$', '?'] {
            let db = Dialect { sign, truth: "1", has_nul: true };
            let page = |limit| {
                let mut query = Query::of(&db, "bookings");
                query.equal("event_id", Some("gala"));
                let order = (Order::Rising, ["created_at", "booking_id"]);
                let after: ReadKey<2> = time_values;
                let list = query.page(order, (Some("5/gala.1"), after), limit, String::clone);
                let (sql, values) = list.query("*").expect("there can be rows");
                (sql, values.len(), values.last().cloned())
            };
            let (sql, count, last) = page(9);
            assert!(sql.ends_with(&format!("LIMIT {sign}4")), "{sql}");
            assert_eq!(count, 4);
            assert!(matches!(last, Some(Value::Integer(10))));
            assert_eq!(page(usize::MAX).0, sql);
        }
    }
}
