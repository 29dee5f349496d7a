//! Records that Redis keeps as texts: their fields, in order.
//!
//! Each order stands here alone. Rust reads and writes these structs; Lua does it with functions
//! that are rendered from the same table (`shared.rs`, `lua/include/shared.lua`). What the fields
//! mean is said by the includes of `lua/`.

/// What stands in a field, and what Lua makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters.
    Word,
    /// A text without the sign between fields.
    Text,
    /// A count or an amount that Lua leaves a text.
    Digits,
    /// A whole number.
    Number,
    /// A whole number, or nothing: Lua's nil.
    NumberOrNone,
    /// Any text, to the end of the record.
    Rest,
    /// The same, left out with the sign before it where it is empty. Lua's writers are given it
    /// beside the record.
    Tail,
}

/// One kind of record, for Lua.
#[cfg(test)]
pub(super) struct Record {
    pub(super) name: &'static str,
    /// What Lua calls the field of the hash, in the record that it makes.
    pub(super) key: Option<&'static str>,
    pub(super) between: char,
    pub(super) fields: &'static [(&'static str, Kind)],
}

#[cfg(test)]
macro_rules! name_in_lua {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident as $lua:ident) => {
        stringify!($lua)
    };
}

#[cfg(test)]
macro_rules! optional {
    () => {
        None
    };
    ($key:ident) => {
        Some(stringify!($key))
    };
}

macro_rules! records {
    ($(
        $(#[$doc:meta])*
        $record:ident = $name:ident $(of $key:ident)?, $between:literal {
            $($field:ident $(as $lua:ident)?: $kind:ident,)+
        }
    )+) => {
        $(
            $(#[$doc])*
            pub(super) struct $record<T> {
                $(pub(super) $field: T,)+
            }

            impl<'a> $record<&'a str> {
                /// # Errors
                /// That a field is missing, as a sentence.
                pub(super) fn read(text: &'a str, what: &str) -> Result<Self, String> {
                    let count = [$(Kind::$kind),+].len();
                    let mut fields = text.splitn(count, $between);
                    Ok(Self { $($field: next(&mut fields, Kind::$kind, text, what)?,)+ })
                }
            }

            impl $record<String> {
                /// The record as Redis keeps it.
                pub(super) fn text(&self) -> String {
                    joined($between, &[$((Kind::$kind, &self.$field)),+])
                }
            }
        )+

        /// All of them.
        #[cfg(test)]
        pub(super) const RECORDS: &[Record] = &[$(Record {
            name: stringify!($name),
            key: optional!($($key)?),
            between: $between,
            fields: &[$((name_in_lua!($field $(as $lua)?), Kind::$kind)),+],
        }),+];
    };
}

records! {
    /// A pool: units by what became of them.
    PoolText = pool of id, ' ' {
        index: Number,
        capacity: Number,
        price: Number,
        held: Number,
        sold: Number,
        blocked: Number,
        claimed: Number,
        claimed_by_services: Number,
    }

    /// A seat: F, H, S, B or A, and the booking, the reason or the channel.
    SeatText = seat of id, ' ' {
        index: Number,
        category: Number,
        state: Word,
        of: Tail,
    }

    /// A price category: seats by their states.
    CategoryText = category of name, ' ' {
        index: Number,
        price: Number,
        free as F: Number,
        held as H: Number,
        sold as S: Number,
        blocked as B: Number,
    }

    /// Seats side by side: free texts are encoded, and ranks are one number if all are the same.
    SegmentText = segment, ' ' {
        first: Number,
        row: Number,
        category: Number,
        rank: Number,
        aisle: Word,
        section: Text,
        name: Text,
        ranks: Text,
        ids: Text,
    }

    /// Whom a seat is kept for: W, in this section (encoded), or C, of this place.
    AccessText = access of seat, ' ' {
        kind: Word,
        rank: Number,
        of: Text,
    }

    /// A channel: open or released, then when and where to, and what it is as JSON.
    ChannelText = channel of id, '|' {
        index: Number,
        taken: Number,
        state: Word,
        at: NumberOrNone,
        into: Text,
        spec: Tail,
    }

    /// A booking, from its hold on.
    HoldText = hold of booking, '|' {
        state: Word,
        user: Text,
        amount: Digits,
        fee: Digits,
        created: Text,
        time: Number,
        before: NumberOrNone,
        payment: Text,
        refund: Digits,
        payments: Digits,
        extensions: Digits,
        checkins: Text,
        lines: Text,
        more: Tail,
    }

    /// What a user has in the event.
    UserText = user, '|' {
        units: Number,
        places: Text,
        bookings: Text,
        more: Tail,
    }

    /// A session.
    SessionText = session, '|' {
        place: Text,
        number: Number,
        state: Word,
        until_at: NumberOrNone,
        arrive_by: NumberOrNone,
        live_holds: Number,
    }

    /// A claim, or a service's adjustment.
    ClaimText = claim of claim, '|' {
        user: Text,
        pool: Text,
        amount: Number,
        before: Number,
        after: Number,
        state: Word,
        time: NumberOrNone,
        first: Tail,
    }

    /// A ban.
    BanText = ban, '|' {
        at: Number,
        reason: Rest,
    }
}

fn next<'a>(
    fields: &mut impl Iterator<Item = &'a str>,
    kind: Kind,
    text: &str,
    what: &str,
) -> Result<&'a str, String> {
    let field = fields.next().or((kind == Kind::Tail).then_some(""));
    field.ok_or_else(|| format!("{what}: {text:?} has too few parts"))
}

fn joined(between: char, fields: &[(Kind, &String)]) -> String {
    let mut text = String::new();
    for (position, (kind, field)) in fields.iter().enumerate() {
        if *kind == Kind::Tail && field.is_empty() {
            continue;
        }
        if position > 0 {
            text.push(between);
        }
        text.push_str(field);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{SeatText, UserText};

    #[test]
    fn an_empty_tail_is_left_out() {
        for text in ["3|aa:1|b-1,b-2|2", "3|aa:1|"] {
            let UserText { units, places, bookings, more } = UserText::read(text, "u").unwrap();
            let again = [units, places, bookings, more].map(str::to_owned);
            let [units, places, bookings, more] = again;
            assert_eq!(UserText { units, places, bookings, more }.text(), text);
        }
    }

    #[test]
    fn a_tail_may_have_the_sign_between_fields() {
        let seat = SeatText::read("7 0 B by the stage", "A-1").unwrap();
        assert_eq!((seat.state, seat.of), ("B", "by the stage"));
    }

    #[test]
    fn a_field_that_is_missing_is_told() {
        let told = UserText::read("3|aa:1", "u").map(|_| ()).unwrap_err();
        assert_eq!(told, r#"u: "3|aa:1" has too few parts"#);
    }
}
