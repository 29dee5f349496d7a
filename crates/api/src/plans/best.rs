//! How good seats are, and where rows have aisles, as a drawing tells.

use super::{Drawing, DrawnSeat};
use onrush_core::spec::{CategorySpec, SeatSpec};
use std::collections::{HashMap, HashSet};

/// Seats that are farther apart than so many times the usual distance in their row have an aisle
/// between them.
const AISLE: f64 = 1.6;
/// Steps of rank from the middle of a row to its ends.
pub(super) const STEPS: usize = 3;

/// Marks the seats of one row that an aisle follows.
pub(super) fn mark_aisles(seats: &mut [SeatSpec], drawn: &[DrawnSeat]) {
    let distances: Vec<f64> =
        drawn.windows(2).map(|pair| (pair[1].x - pair[0].x).hypot(pair[1].y - pair[0].y)).collect();
    let mut sorted = distances.clone();
    sorted.sort_by(f64::total_cmp);
    let Some(usual) = sorted.get(sorted.len() / 2).copied() else { return };
    for (seat, distance) in seats.iter_mut().zip(distances) {
        // In a drawing without places, all of them are 0.
        seat.aisle = distance > usual * AISLE;
    }
}

/// Gives each seat the rank that the plan has for it, else one made from the drawing: first the
/// category, in the order in which the plan names them; then how far its row is from the stage, which
/// is taken to be in the middle of the upper edge; then how far it is from the middle of its row.
/// `unnamed` is where rows without a number begin, which have one name between them.
pub(super) fn rank(
    seats: &mut [SeatSpec],
    given: impl Iterator<Item = Option<u32>>,
    unnamed: &HashSet<usize>,
    categories: &[CategorySpec],
    drawing: &Drawing,
) {
    let category: HashMap<&str, usize> =
        categories.iter().enumerate().map(|(nth, it)| (it.name.as_ref(), nth)).collect();
    let made = made(seats, unnamed, &category, drawing);
    for ((seat, given), made) in seats.iter_mut().zip(given).zip(made) {
        seat.rank = given.unwrap_or(made);
    }
}

fn made(
    seats: &[SeatSpec],
    unnamed: &HashSet<usize>,
    category: &HashMap<&str, usize>,
    drawing: &Drawing,
) -> Vec<u32> {
    // Of each row and category in it: how far it is, in whole units, and its seats.
    let mut rows: Vec<((usize, i64), Vec<usize>)> = Vec::new();
    let mut last: Option<(&str, &str)> = None;
    for (nth, seat) in seats.iter().enumerate() {
        let row = (seat.section.as_ref(), seat.row.as_ref());
        if last != Some(row) || unnamed.contains(&nth) {
            rows.push(((0, 0), Vec::new()));
            last = Some(row);
        }
        rows.last_mut().expect("a row was just made sure of").1.push(nth);
    }
    for (key, members) in &mut rows {
        let count = members.len() as f64;
        let mean = |of: fn(&DrawnSeat) -> f64| {
            members.iter().map(|seat| of(&drawing.seats[*seat])).sum::<f64>() / count
        };
        let (x, y) = (mean(|seat| seat.x), mean(|seat| seat.y));
        let distance = (x - drawing.size.width / 2.0).hypot(y);
        let best = members.iter().filter_map(|seat| category.get(seats[*seat].category.as_ref()));
        *key = (best.min().copied().unwrap_or(0), distance.round() as i64);
    }
    let mut order: Vec<(usize, i64)> = rows.iter().map(|(key, _)| *key).collect();
    order.sort_unstable();
    order.dedup();
    let mut ranks = vec![0; seats.len()];
    for (key, members) in &rows {
        let row = order.binary_search(key).unwrap_or_else(|nth| nth);
        let middle = (members.len() as f64 - 1.0) / 2.0;
        for (place, seat) in members.iter().enumerate() {
            let from_middle = (place as f64 - middle).abs() / (middle + 0.5);
            let step = ((from_middle * STEPS as f64) as usize).min(STEPS - 1);
            ranks[*seat] = u32::try_from(row * STEPS + step).unwrap_or(u32::MAX);
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use crate::plans::Plan;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    /// A row of seats at these places from the left.
    fn row(name: &str, y: i32, places: &[i32], category: &str) -> Value {
        let seat = |x: &i32| {
            let (guid, position) = (format!("{name}{x}"), json!({"x": x, "y": 0}));
            json!({"seat_guid": guid, "position": position, "category": category})
        };
        let seats: Vec<Value> = places.iter().map(seat).collect();
        json!({"row_number": name, "position": {"x": 0, "y": y}, "seats": seats})
    }

    fn seats(rows: Vec<Value>) -> Vec<(String, u32, bool)> {
        let plan = json!({
            "name": "Hall", "size": {"width": 10, "height": 50},
            "categories": [{"name": "Best"}, {"name": "Other"}],
            "zones": [{"name": "Left", "rows": rows}]
        });
        let plan: Plan = serde_json::from_value(plan).expect("a plan");
        let mut prices = BTreeMap::from([("Best".to_owned(), 2)]);
        if plan.seats().any(|seat| seat.category == "Other") {
            prices.insert("Other".to_owned(), 1);
        }
        let import = plan.import(&prices).expect("an import");
        let of = |seat: onrush_core::spec::SeatSpec| (seat.seat.to_string(), seat.rank, seat.aisle);
        import.seats.into_iter().map(of).collect()
    }

    #[test]
    fn a_wide_gap_in_a_row_is_an_aisle() {
        let seats = seats(vec![row("A", 1, &[1, 2, 3, 5, 6], "Best"), row("B", 2, &[1], "Best")]);
        let aisles: Vec<_> = seats.iter().filter(|it| it.2).map(|it| it.0.as_str()).collect();
        assert_eq!(aisles, ["A3"]);
    }

    #[test]
    fn rows_without_a_number_are_not_one_row() {
        let mut unnamed = [row("A", 10, &[1, 2], "Best"), row("B", 20, &[1, 2], "Best")];
        unnamed[0]["row_number"] = Value::Null;
        unnamed[1]["row_number"] = json!("");
        let seats = seats([unnamed.to_vec(), vec![row("C", 30, &[1, 2], "Best")]].concat());
        let aisles: Vec<_> = seats.iter().filter(|it| it.2).map(|it| it.0.as_str()).collect();
        assert_eq!(aisles, ["A2", "B2"]);
        let ranks: Vec<u32> = seats.iter().map(|it| it.1).collect();
        assert_eq!(ranks, [1, 1, 4, 4, 7, 7], "each has a middle and a distance of its own");
    }

    #[test]
    fn the_category_counts_first_then_the_row_then_its_middle() {
        let places = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let seats = seats(vec![
            row("A", 1, &places, "Other"),
            row("B", 9, &places, "Best"),
            row("C", 3, &places, "Best"),
        ]);
        let ranks = |row: &str| -> Vec<u32> {
            seats.iter().filter(|it| it.0.starts_with(row)).map(|it| it.1).collect()
        };
        assert_eq!(ranks("C"), [2, 2, 1, 0, 0, 0, 1, 2, 2]);
        assert_eq!(ranks("B"), [5, 5, 4, 3, 3, 3, 4, 5, 5]);
        assert_eq!(ranks("A"), [8, 8, 7, 6, 6, 6, 7, 8, 8]);
    }

    #[test]
    fn a_rank_that_the_plan_gives_stays() {
        let mut first = row("A", 1, &[1, 2, 3], "Best");
        first["seats"][2]["rank"] = json!(40);
        let ranks: Vec<u32> = seats(vec![first]).into_iter().map(|it| it.1).collect();
        assert_eq!(ranks, [2, 0, 40]);
    }
}
