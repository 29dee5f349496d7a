//! Limits per person on a part of what an event sells: a pool or a category, or one ticket type of it.

use crate::ids::TypeId;
use crate::limits::{MAX_PER_USER_OF_PART, MAX_USER_LIMITS, fits_text};
use crate::prices::Priced;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How many units of a part of the event one user may hold, confirm and claim together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserLimit {
    /// Of which pool or category. While there is none of that name, nothing is limited.
    pub of: Priced,
    /// Of which of its ticket types; `None` counts all of its units together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket_type: Option<TypeId>,
    /// How many; 1 to [`MAX_PER_USER_OF_PART`].
    pub max_per_user: u32,
}

/// Which member of a list of limits is wrong, and what to use; `None` if none is.
pub(crate) fn complaint(limits: &[UserLimit]) -> Option<(Cow<'static, str>, &'static str)> {
    if limits.len() > MAX_USER_LIMITS {
        return Some(("limits".into(), "limits: set at most 100"));
    }
    for (nth, limit) in limits.iter().enumerate() {
        let wrong = |member: &str, why| Some((format!("limits[{nth}].{member}").into(), why));
        if let Priced::Category(name) = &limit.of
            && (name.is_empty() || !fits_text(name))
        {
            return wrong("of", "limits: of: use a category's name of 1 to 500 characters");
        }
        if !(1..=MAX_PER_USER_OF_PART).contains(&limit.max_per_user) {
            return wrong("max_per_user", "limits: max_per_user: use 1 to 1000");
        }
        let is_same = |it: &UserLimit| it.of == limit.of && it.ticket_type == limit.ticket_type;
        if limits[..nth].iter().any(is_same) {
            return wrong("of", "limits: set one for each pool, category and type of these");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, ticket_type: Option<&str>, max_per_user: u32) -> UserLimit {
        let ticket_type = ticket_type.map(|id| id.parse().expect("an id"));
        UserLimit { of: Priced::Category(name.into()), ticket_type, max_per_user }
    }

    #[test]
    fn every_complaint_names_its_limit() {
        let fine = || of("stalls", None, 1);
        let many = (0..=100).map(|nth| of(&nth.to_string(), None, 1));
        let cases = [
            ("limits", many.collect()),
            ("limits[0].of", vec![of("", None, 1)]),
            ("limits[1].of", vec![fine(), of(&"x".repeat(501), None, 1)]),
            ("limits[1].max_per_user", vec![fine(), of("balcony", None, 0)]),
            ("limits[0].max_per_user", vec![of("balcony", Some("child"), 1_001)]),
            ("limits[1].of", vec![fine(), of("stalls", None, 2)]),
        ];
        for (field, limits) in cases {
            assert_eq!(complaint(&limits).expect(field).0, field);
        }
        let several = [fine(), of("stalls", Some("child"), 1_000), of("balcony", None, 4)];
        assert_eq!(complaint(&several), None);
        let as_many_as_may_be = (0..100).map(|nth| of(&nth.to_string(), None, 1));
        assert_eq!(complaint(&as_many_as_may_be.collect::<Vec<_>>()), None);
    }
}
