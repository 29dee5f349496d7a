//! The house as a fan sees it: rows of seats, the best ones first.

use super::chance::Chance;
use serde::Deserialize;

/// The answer of `GET /events/{event}/seats`, as far as a fan cares.
#[derive(Deserialize)]
pub(super) struct SeatMap {
    categories: Vec<Category>,
    seats: Vec<Seat>,
}

#[derive(Deserialize)]
struct Category {
    name: String,
}

#[derive(Deserialize)]
struct Seat {
    id: String,
    section: String,
    row: String,
    category: String,
}

/// All seats, by the number they have in the seat map.
pub(super) struct House {
    ids: Vec<String>,
    /// Seats that stand side by side; the rows everybody wants come first.
    rows: Vec<Vec<u32>>,
}

/// The letter of a free seat in the answer of `GET /events/{event}/seats/status`.
const FREE: u8 = b'f';

impl House {
    /// The house of a seat map. Categories rank in the order they are listed, rows within one in
    /// the order they stand.
    pub(super) fn new(map: SeatMap) -> Self {
        let rank = |seat: &Seat| map.categories.iter().position(|c| c.name == seat.category);
        let mut ranked: Vec<(Option<usize>, Vec<u32>)> = Vec::new();
        for (index, seat) in (0u32..).zip(&map.seats) {
            let beside = index.checked_sub(1).and_then(|before| map.seats.get(before as usize));
            let same_row = beside.is_some_and(|before| {
                (&before.section, &before.row, &before.category)
                    == (&seat.section, &seat.row, &seat.category)
            });
            match ranked.last_mut() {
                Some((_, row)) if same_row => row.push(index),
                Some(_) | None => ranked.push((rank(seat), vec![index])),
            }
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let rows = ranked.into_iter().map(|(_, row)| row).collect();
        Self { ids: map.seats.into_iter().map(|seat| seat.id).collect(), rows }
    }

    /// The id of a seat.
    pub(super) fn id(&self, seat: u32) -> &str {
        &self.ids[seat as usize]
    }

    /// The ids of all seats.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(String::as_str)
    }

    /// Seats that stand side by side, by the number they have in the seat map.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[u32]> {
        self.rows.iter().map(Vec::as_slice)
    }

    /// Seats for a party, best first: side by side in one of the best `rows` rows that have room
    /// for all of them.
    ///
    /// Where no row has, scattered ones; fewer than asked for if there are no more. Empty if nothing is free.
    pub(super) fn choose(
        &self,
        status: &[u8],
        party: usize,
        rows: usize,
        chance: &mut Chance,
    ) -> Vec<u32> {
        let free = |seat: &u32| status.get(*seat as usize) == Some(&FREE);
        let mut good: Vec<&[u32]> = Vec::with_capacity(rows.min(self.rows.len()));
        for row in &self.rows {
            let runs = row.split(|seat| !free(seat)).filter(|run| run.len() >= party);
            good.extend(runs);
            if good.len() >= rows {
                break;
            }
        }
        if good.is_empty() {
            let mut any: Vec<u32> =
                self.rows.iter().flatten().copied().filter(|s| free(s)).collect();
            // Whoever takes what is left starts somewhere, or all would fight for the same seat.
            if any.len() > party {
                let shift = chance.below(any.len());
                any.rotate_left(shift);
                any.truncate(party);
            }
            return any;
        }
        let run = good[chance.below(good.len())];
        let start = chance.below(run.len() - party + 1);
        run[start..start + party].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn house() -> House {
        let map = r#"{"categories": [{"name": "Front"}, {"name": "Back"}], "seats": [
            {"id": "b1", "section": "S", "row": "B", "category": "Back"},
            {"id": "b2", "section": "S", "row": "B", "category": "Back"},
            {"id": "b3", "section": "S", "row": "B", "category": "Back"},
            {"id": "a1", "section": "S", "row": "A", "category": "Front"},
            {"id": "a2", "section": "S", "row": "A", "category": "Front"}]}"#;
        House::new(serde_json::from_str(map).expect("a seat map"))
    }

    #[test]
    fn front_rows_are_wanted_first() {
        let mut chance = Chance::new(1, 1);
        assert_eq!(house().choose(b"fffff", 2, 1, &mut chance), [3, 4]);
        assert_eq!(house().choose(b"fffsf", 3, 1, &mut chance), [0, 1, 2]);
    }

    #[test]
    fn last_seats_are_taken_wherever_they_are() {
        let mut chance = Chance::new(1, 1);
        let mut left = house().choose(b"fhfsf", 4, 1, &mut chance);
        left.sort_unstable();
        assert_eq!(left, [0, 2, 4]);
        assert!(house().choose(b"sssss", 2, 1, &mut chance).is_empty());
    }
}
