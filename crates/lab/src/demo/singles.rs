//! Seats that nobody can share: free ones with no free neighbour, counted while the house fills.

use super::house::House;
use std::collections::BTreeMap;

/// They are counted once so many of a hundred seats are taken.
const TAKEN_PERCENT: usize = 99;

/// Which seats are free, and how many of them have no free neighbour.
pub(super) struct Singles {
    index: BTreeMap<String, usize>,
    /// Of each seat, its neighbours in its row.
    beside: Vec<[Option<usize>; 2]>,
    is_free: Vec<bool>,
    free: usize,
    /// Single seats when the house was nearly full for the first time.
    at_the_end: Option<u64>,
}

impl Singles {
    /// Of a house in which all is free.
    pub(super) fn new(house: &House) -> Self {
        let index: BTreeMap<String, usize> =
            house.ids().enumerate().map(|(seat, id)| (id.to_owned(), seat)).collect();
        let mut beside = vec![[None, None]; index.len()];
        for row in house.rows() {
            for pair in row.windows(2) {
                let (left, right) = (pair[0] as usize, pair[1] as usize);
                beside[left][1] = Some(right);
                beside[right][0] = Some(left);
            }
        }
        let (is_free, free) = (vec![true; index.len()], index.len());
        Self { index, beside, is_free, free, at_the_end: None }
    }

    /// These seats are taken, or free again.
    pub(super) fn set(&mut self, seats: &[String], is_free: bool) {
        for seat in seats.iter().filter_map(|id| self.index.get(id)) {
            if self.is_free[*seat] != is_free {
                self.is_free[*seat] = is_free;
                self.free = if is_free { self.free + 1 } else { self.free - 1 };
            }
        }
        let taken = self.is_free.len() - self.free;
        if self.at_the_end.is_none() && taken * 100 >= self.is_free.len() * TAKEN_PERCENT {
            self.at_the_end = Some(self.count());
        }
    }

    fn count(&self) -> u64 {
        let is_free = |seat: &Option<usize>| seat.is_some_and(|seat| self.is_free[seat]);
        let is_single =
            |seat: &usize| self.is_free[*seat] && !self.beside[*seat].iter().any(is_free);
        (0..self.is_free.len()).filter(is_single).count() as u64
    }

    /// Single seats when the house was nearly full; `None` if it never was.
    pub(super) fn at_the_end(&self) -> Option<u64> {
        self.at_the_end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_seats_without_a_free_neighbour_are_counted_once_the_house_is_nearly_full() {
        let seat = |row: &str, number: u32| {
            format!(
                r#"{{"id": "{row}-{number}", "section": "S", "row": "{row}", "category": "C"}}"#
            )
        };
        let seats: Vec<String> = ["A", "B"]
            .iter()
            .flat_map(|row| (1..=150).map(move |number| seat(row, number)))
            .collect();
        let map = format!(r#"{{"categories": [{{"name": "C"}}], "seats": [{}]}}"#, seats.join(","));
        let house = House::new(serde_json::from_str(&map).expect("a seat map"));
        let mut singles = Singles::new(&house);
        let ids = |row: &str, numbers: std::ops::RangeInclusive<u32>| -> Vec<String> {
            numbers.map(|number| format!("{row}-{number}")).collect()
        };
        singles.set(&ids("A", 1..=149), false);
        singles.set(&ids("B", 1..=145), false);
        assert_eq!(singles.at_the_end(), None, "A-150 and five of B are free");
        singles.set(&ids("B", 147..=150), false);
        assert_eq!(singles.at_the_end(), Some(2), "A-150 and B-146");
        singles.set(&ids("A", 149..=149), true);
        assert_eq!(singles.at_the_end(), Some(2), "it is counted once");
    }
}
