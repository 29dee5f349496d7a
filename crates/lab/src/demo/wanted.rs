//! What a fan asks for: named, or left to the server; and how many of them are children.

use super::api::{Booking, CHILD, Lines};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The standing pool of the demo's event.
pub(super) const STANDING: &str = "standing";

/// Seats that a fan leaves to the server.
pub(super) struct BestWish {
    pub(super) quantity: u32,
    /// The price of one seat at most.
    pub(super) price_max_minor: Option<i64>,
    /// Whether they would rather sit in two groups than not at all.
    pub(super) apart: bool,
    /// What they clicked on, if they did.
    pub(super) first_choice: Vec<String>,
}

/// What a fan asks for.
#[derive(Default)]
pub(super) struct Wanted {
    /// What they name.
    pub(super) lines: Lines,
    /// What they leave to the server.
    pub(super) best: Option<BestWish>,
    /// How many of these are children. They sit, unless nobody does.
    pub(super) children: u32,
    /// What they would rather have than nothing, in that order.
    pub(super) otherwise: Vec<Wanted>,
}

/// Wishes that one request may name beside the first.
const MAX_OTHERS: usize = 5;

impl Wanted {
    /// So many seats, whatever they cost, and in two groups if need be.
    pub(super) fn any_seats(quantity: u32) -> Self {
        let (price_max_minor, apart, first_choice) = (None, true, Vec::new());
        let best = BestWish { quantity, price_max_minor, apart, first_choice };
        Self { best: Some(best), ..Self::default() }
    }

    /// So many standing places.
    pub(super) fn standing(quantity: u32) -> Self {
        let pools = [(STANDING.to_owned(), quantity)].into();
        Self { lines: Lines { pools, ..Lines::default() }, ..Self::default() }
    }

    /// The same for a party of so many, who would rather have others than nothing: seats at another
    /// price, or all standing, or fewer of them.
    pub(super) fn or_others(self, party: u32) -> Self {
        let all = [Self::any_seats(party), Self::standing(party)];
        let fewer = (1..party).rev().map(Self::any_seats);
        let otherwise = all.into_iter().chain(fewer).take(MAX_OTHERS).collect();
        Self { otherwise, ..self }
    }

    /// Whether this is what was asked for, or something else that would do.
    pub(super) fn is(&self, held: &Booking) -> bool {
        let lines = &held.lines;
        let has_units = match &self.best {
            None => *lines == self.lines,
            Some(best) => {
                lines.pools == self.lines.pools && lines.seats.len() == best.quantity as usize
            }
        };
        let is_this = has_units && held.children() == u64::from(self.children);
        is_this || self.otherwise.iter().any(|other| other.is(held))
    }

    /// Brings so many children, or fewer: one adult at least is with them.
    pub(super) fn bring(&mut self, children: u32) {
        let seats = self.best.as_ref().map_or(self.lines.seats.len() as u32, |it| it.quantity);
        let all_stand = seats == 0;
        let units = if all_stand { self.lines.pools.values().sum() } else { seats };
        self.children = children.min(units.saturating_sub(1));
        self.otherwise.iter_mut().for_each(|other| other.bring(children));
    }

    /// The types to name, as JSON.
    fn types(&self) -> Value {
        match (self.children, &self.best) {
            (0, _) => json!({}),
            (children, Some(_)) => json!({"best": {CHILD: children}}),
            (children, None) if self.lines.seats.is_empty() => {
                json!({"pools": {STANDING: {CHILD: children}}})
            }
            (children, None) => {
                let seats = self.lines.seats.iter().take(children as usize);
                json!({"seats": seats.map(|seat| (seat, CHILD)).collect::<BTreeMap<_, _>>()})
            }
        }
    }

    /// The body of the request for it.
    pub(super) fn to_json(&self) -> Value {
        let Self { lines, best, children: _, otherwise } = self;
        let mut body = json!({"seats": lines.seats, "pools": lines.pools, "types": self.types()});
        if let Some(BestWish { quantity, price_max_minor, apart, first_choice }) = best {
            let together = if *apart { "prefer" } else { "must" };
            body["best"] = json!({
                "quantity": quantity, "price_max_minor": price_max_minor, "together": together,
                "first_choice": first_choice,
            });
        }
        if !otherwise.is_empty() {
            body["otherwise"] = otherwise.iter().map(Self::to_json).collect();
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_sit_if_anybody_does_and_are_never_alone() {
        let check =
            |pools: &[(&str, u32)], seats: &[&str], best: u32, children, expected: Value| {
                let pools =
                    pools.iter().map(|(pool, units)| ((*pool).to_owned(), *units)).collect();
                let seats = seats.iter().map(|seat| (*seat).to_owned()).collect();
                let (price_max_minor, apart, first_choice) = (None, false, Vec::new());
                let best = BestWish { quantity: best, price_max_minor, apart, first_choice };
                let best = (best.quantity > 0).then_some(best);
                let lines = Lines { pools, seats };
                let mut wanted = Wanted { lines, best, ..Wanted::default() };
                wanted.bring(children);
                assert_eq!(wanted.types(), expected);
            };
        check(&[], &[], 4, 2, json!({"best": {"child": 2}}));
        check(&[(STANDING, 1)], &[], 3, 2, json!({"best": {"child": 2}}));
        check(&[(STANDING, 3)], &[], 0, 1, json!({"pools": {"standing": {"child": 1}}}));
        check(&[(STANDING, 1)], &["A-1", "A-2"], 0, 1, json!({"seats": {"A-1": "child"}}));
        check(&[(STANDING, 1)], &[], 0, 1, json!({}));
        check(&[], &["A-1"], 0, 2, json!({}));
    }
}
