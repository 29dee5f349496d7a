//! How good seats are, and where rows have aisles, as a drawing tells.

use super::{Drawing, DrawnSeat};
use onrush_core::limits::MAX_SEATS_PER_SEGMENT;
use onrush_core::spec::{CategorySpec, SeatSpec};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Seats that are farther apart than so many times the usual distance in their row have an aisle
/// between them.
const AISLE: f64 = 1.6;
/// A seat that is nearer to the middle between two others than this share of their distance stands
/// between them: on a straight row, and on one that turns by up to some 160 degrees from one of them
/// to the other.
const BETWEEN: f64 = 0.45;
/// Steps of rank from the middle of a row to its ends.
pub(super) const STEPS: usize = 3;

/// Which seats of a plan, by their position in it, are the first of their row object.
#[derive(Default)]
pub(super) struct RowStarts {
    all: HashSet<usize>,
    /// Those of rows without a number, which have one name between them.
    unnamed: HashSet<usize>,
}

impl RowStarts {
    pub(super) fn add(&mut self, first: usize, row_number: &str) {
        self.all.insert(first);
        if row_number.is_empty() {
            self.unnamed.insert(first);
        }
    }

    /// Up to which of its seats each row object of this row goes, counted from the row's first one.
    fn ends_in(&self, row: &Range<usize>) -> Vec<usize> {
        let others = (row.start + 1..row.end).filter(|nth| self.all.contains(nth));
        others.chain([row.end]).map(|end| end - row.start).collect()
    }
}

/// Where the rows are, one after the other: seats that follow each other and have one section and one
/// row, in however many row objects the plan lists them. The rules go by these names, too.
fn rows_of(seats: &[SeatSpec], starts: &RowStarts) -> Vec<Range<usize>> {
    let mut rows: Vec<Range<usize>> = Vec::new();
    let mut last: Option<(&str, &str)> = None;
    for (nth, seat) in seats.iter().enumerate() {
        let name = (seat.section.as_ref(), seat.row.as_ref());
        let goes_on = last == Some(name) && !starts.unnamed.contains(&nth);
        match rows.last_mut() {
            Some(row) if goes_on => row.end = nth + 1,
            Some(_) | None => rows.push(nth..nth + 1),
        }
        last = Some(name);
    }
    rows
}

/// Marks the seats that an aisle follows. The editor's `wholeRowsOf` and `order.ts` have the same rules,
/// but for the end of the plan and of a row without a number, after which the editor draws none.
pub(super) fn mark_aisles(seats: &mut [SeatSpec], starts: &RowStarts, drawn: &[DrawnSeat]) {
    for row in rows_of(seats, starts) {
        mark_row(&mut seats[row.clone()], &drawn[row.clone()], &starts.ends_in(&row));
        let last = &mut seats[row.end - 1];
        // The next row without a number would go on with it.
        last.aisle = last.row.is_empty();
    }
    // What is sent later is beside nothing that was sent before, whatever its row is called.
    if let Some(last) = seats.last_mut() {
        last.aisle = true;
    }
}

/// Marks the seats of one row that an aisle follows. The next one in the file is not beside a seat
/// either where another of the row stands between the two: a row may be listed by number, the odd ones
/// to the left and the even ones to the right. `ends` is up to where each of its row objects goes.
fn mark_row(seats: &mut [SeatSpec], drawn: &[DrawnSeat], ends: &[usize]) {
    let row: Vec<&DrawnSeat> = drawn.iter().collect();
    let gaps = gaps_of(&row);
    let Some(listed) = middle_of(&gaps) else { return };
    let standing = Standing::of(&row);
    let jumps: Vec<bool> =
        row.windows(2).map(|pair| standing.has_between(pair[0], pair[1])).collect();
    // Where jumps are no farther than others, the file does not tell how far neighbours are.
    let is_jumbled =
        gaps.iter().zip(&jumps).any(|(gap, is_jump)| *is_jump && *gap <= listed * AISLE);
    let stood = if is_jumbled { middle_of(&gaps_of(&standing.seats)) } else { None };
    let usual = match stood {
        Some(stood) => vec![stood; gaps.len()],
        None => usual_of(&gaps, ends, listed),
    };
    for (((seat, gap), usual), is_jump) in seats.iter_mut().zip(gaps).zip(usual).zip(jumps) {
        // In a drawing without places, all of them are 0.
        seat.aisle = is_jump || gap > usual * AISLE;
    }
}

/// The usual distance by which each gap of a row is judged: inside a row object that object's own, since
/// armchairs may go on where chairs end; between two of them that of the whole row.
fn usual_of(gaps: &[f64], ends: &[usize], whole: f64) -> Vec<f64> {
    let mut usual = vec![whole; gaps.len()];
    let mut from = 0;
    for &end in ends {
        let inside = from..end - 1;
        if let Some(own) = middle_of(&gaps[inside.clone()]) {
            usual[inside].fill(own);
        }
        from = end;
    }
    usual
}

/// How far each seat is from the one before.
fn gaps_of(row: &[&DrawnSeat]) -> Vec<f64> {
    row.windows(2).map(|pair| (pair[1].x - pair[0].x).hypot(pair[1].y - pair[0].y)).collect()
}

fn middle_of(gaps: &[f64]) -> Option<f64> {
    let mut sorted = gaps.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// The seats of a row by where they stand: along its longer side.
struct Standing<'a> {
    seats: Vec<&'a DrawnSeat>,
    along: fn(&DrawnSeat) -> f64,
}

impl<'a> Standing<'a> {
    fn of(row: &[&'a DrawnSeat]) -> Self {
        let side = |of: fn(&DrawnSeat) -> f64| {
            let places = || row.iter().map(|seat| of(seat));
            places().fold(f64::MIN, f64::max) - places().fold(f64::MAX, f64::min)
        };
        let across: fn(&DrawnSeat) -> f64 = |seat| seat.x;
        let down: fn(&DrawnSeat) -> f64 = |seat| seat.y;
        let along = if side(down) > side(across) { down } else { across };
        let mut seats = row.to_vec();
        seats.sort_by(|one, other| along(one).total_cmp(&along(other)));
        Self { seats, along }
    }

    /// Whether one of them stands between these two. Of more than a run can have, the first are looked
    /// at: a row that is longer than any has aisles anyway, and must not take a minute.
    fn has_between(&self, one: &DrawnSeat, next: &DrawnSeat) -> bool {
        // Without `hypot`, which is not the same to the last digit in a browser.
        let square = |x: f64, y: f64| x * x + y * y;
        let reach = square(next.x - one.x, next.y - one.y).sqrt() * BETWEEN;
        let (x, y) = ((one.x + next.x) / 2.0, (one.y + next.y) / 2.0);
        let middle = ((self.along)(one) + (self.along)(next)) / 2.0;
        let first = self.seats.partition_point(|seat| (self.along)(seat) <= middle - reach);
        let near =
            self.seats[first..].iter().take_while(|seat| (self.along)(seat) < middle + reach);
        near.take(MAX_SEATS_PER_SEGMENT).any(|seat| square(seat.x - x, seat.y - y) < reach * reach)
    }
}

/// Gives each seat the rank that the plan has for it, else one made from the drawing: first the
/// category, in the order in which the plan names them; then how far its row is from the stage, which
/// is taken to be in the middle of the upper edge; then how far it is from the middle of its row.
pub(super) fn rank(
    seats: &mut [SeatSpec],
    given: impl Iterator<Item = Option<u32>>,
    starts: &RowStarts,
    categories: &[CategorySpec],
    drawing: &Drawing,
) {
    let category: HashMap<&str, usize> =
        categories.iter().enumerate().map(|(nth, it)| (it.name.as_ref(), nth)).collect();
    let made = made(seats, starts, &category, drawing);
    for ((seat, given), made) in seats.iter_mut().zip(given).zip(made) {
        seat.rank = given.unwrap_or(made);
    }
}

fn made(
    seats: &[SeatSpec],
    starts: &RowStarts,
    category: &HashMap<&str, usize>,
    drawing: &Drawing,
) -> Vec<u32> {
    // Of each row: its best category and how far it is, in whole units; and its seats.
    let mut rows: Vec<((usize, i64), Range<usize>)> =
        rows_of(seats, starts).into_iter().map(|members| ((0, 0), members)).collect();
    for (key, members) in &mut rows {
        let count = members.len() as f64;
        let mean = |of: fn(&DrawnSeat) -> f64| {
            drawing.seats[members.clone()].iter().map(of).sum::<f64>() / count
        };
        let (x, y) = (mean(|seat| seat.x), mean(|seat| seat.y));
        let distance = (x - drawing.size.width / 2.0).hypot(y);
        let named = seats[members.clone()].iter();
        let best = named.filter_map(|seat| category.get(seat.category.as_ref()));
        *key = (best.min().copied().unwrap_or(0), distance.round() as i64);
    }
    let mut order: Vec<(usize, i64)> = rows.iter().map(|(key, _)| *key).collect();
    order.sort_unstable();
    order.dedup();
    let mut ranks = vec![0; seats.len()];
    for (key, members) in &rows {
        let row = order.binary_search(key).unwrap_or_else(|nth| nth);
        let middle = (members.len() as f64 - 1.0) / 2.0;
        for (place, seat) in members.clone().enumerate() {
            let from_middle = (place as f64 - middle).abs() / (middle + 0.5);
            let step = ((from_middle * STEPS as f64) as usize).min(STEPS - 1);
            ranks[seat] = u32::try_from(row * STEPS + step).unwrap_or(u32::MAX);
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
        seats_in(vec![json!({"name": "Left", "rows": rows})])
    }

    fn seats_in(zones: Vec<Value>) -> Vec<(String, u32, bool)> {
        let plan = json!({
            "name": "Hall", "size": {"width": 10, "height": 50},
            "categories": [{"name": "Best"}, {"name": "Other"}],
            "zones": zones
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
    fn a_wide_gap_in_a_row_is_an_aisle_and_so_is_the_end_of_the_plan() {
        let seats = seats(vec![row("A", 1, &[1, 2, 3, 5, 6], "Best"), row("B", 2, &[1], "Best")]);
        let aisles: Vec<_> = seats.iter().filter(|it| it.2).map(|it| it.0.as_str()).collect();
        assert_eq!(aisles, ["A3", "B1"]);
    }

    /// Which seats of a row that is listed like this an aisle follows, as positions in the list.
    fn aisles(places: &[(f64, f64)]) -> Vec<usize> {
        aisles_of(&[places])
    }

    /// The same of a row that is in so many row objects of one name.
    fn aisles_of(parts: &[&[(f64, f64)]]) -> Vec<usize> {
        let part = |(part, places): (usize, &&[(f64, f64)])| {
            let seat = |(nth, (x, y)): (usize, &(f64, f64))| {
                let (guid, position) = (format!("{part}-{nth}"), json!({"x": x, "y": y}));
                json!({"seat_guid": guid, "position": position, "category": "Best"})
            };
            let listed: Vec<Value> = places.iter().enumerate().map(seat).collect();
            json!({"row_number": "A", "seats": listed})
        };
        let all = seats(parts.iter().enumerate().map(part).collect());
        let follows = |it: &(usize, &(String, u32, bool))| it.1.2;
        let mut found: Vec<usize> = all.iter().enumerate().filter(follows).map(|it| it.0).collect();
        assert_eq!(found.pop(), Some(all.len() - 1), "what is sent later is beside none of them");
        found
    }

    /// Where seat 1 and so on stand: odd ones to the left, even ones to the right of a room in the
    /// middle that is so many seats wide.
    fn odd_and_even(count: i32, middle: i32) -> Vec<(f64, f64)> {
        let place = |number: i32| match number % 2 {
            1 => -number / 2,
            _ => number / 2 + middle,
        };
        (1..=count).map(|number| (f64::from(place(number)), 0.0)).collect()
    }

    /// The row bent around a stage above it, by so many degrees from its first place to its last.
    fn bent(row: &[(f64, f64)], degrees: f64) -> Vec<(f64, f64)> {
        let places = || row.iter().map(|place| place.0);
        let long = places().fold(f64::MIN, f64::max) - places().fold(f64::MAX, f64::min);
        let radius = long / degrees.to_radians();
        places().map(|x| (radius * (x / radius).sin(), radius * (x / radius).cos())).collect()
    }

    #[test]
    fn a_row_that_is_listed_by_number_has_only_those_side_by_side_that_stand_so() {
        let row = odd_and_even(20, 0);
        let all_but_the_first: Vec<usize> = (1..19).collect();
        assert_eq!(aisles(&row), all_but_the_first, "1 and 2 are neighbours");
        let upright: Vec<_> = row.iter().map(|place| (place.1, place.0)).collect();
        assert_eq!(aisles(&upright), all_but_the_first);
        for degrees in [30.0, 90.0, 150.0] {
            assert_eq!(aisles(&bent(&row, degrees)), all_but_the_first, "{degrees}");
        }
        let parted: Vec<usize> = (0..19).collect();
        assert_eq!(aisles(&odd_and_even(20, 3)), parted, "an aisle in the middle");
    }

    /// Seats of one row at these places from the left.
    fn line(places: &[i32]) -> Vec<(f64, f64)> {
        places.iter().map(|x| (f64::from(*x), 0.0)).collect()
    }

    #[test]
    fn row_objects_of_one_name_that_follow_each_other_are_one_row() {
        // What the case is, where the seats of each object stand, and behind which of all there is an aisle.
        type Case<'a> = (&'a str, &'a [&'a [i32]], &'a [usize]);
        let cases: [Case<'_>; 9] = [
            ("odd ones to the left, even ones to the right", &[&[3, 2, 1], &[4, 5, 6]], &[2]),
            ("odd ones, and even ones between them", &[&[1, 3, 5], &[2, 4, 6]], &[0, 1, 2, 3, 4]),
            ("a left block and a right one", &[&[1, 2, 3], &[5, 6, 7]], &[2]),
            ("the right block first", &[&[5, 6, 7], &[1, 2, 3]], &[2]),
            ("blocks without an aisle between them", &[&[1, 2, 3], &[4, 5, 6]], &[]),
            ("a block of no seat among them", &[&[1, 2, 3], &[], &[5, 6, 7]], &[2]),
            ("each seat by itself", &[&[1], &[2], &[4], &[5]], &[1]),
            (
                "chairs, and armchairs that are farther apart",
                &[
                    &[0, 25, 50, 75, 100, 125, 150, 175, 200, 225, 250, 275, 300, 325],
                    &[385, 430, 475, 520, 565, 610],
                ],
                &[13],
            ),
            (
                "wide chairs, and narrow ones on both sides of an aisle",
                &[
                    &[0, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 650],
                    &[700, 725, 750, 775, 835, 860, 885, 910],
                ],
                &[17],
            ),
        ];
        for (what, parts, expected) in cases {
            let parts: Vec<_> = parts.iter().map(|places| line(places)).collect();
            let parts: Vec<_> = parts.iter().map(Vec::as_slice).collect();
            assert_eq!(aisles_of(&parts), expected, "{what}");
        }
    }

    #[test]
    fn a_row_goes_on_in_another_zone_of_the_same_name_only() {
        let aisles = |second: &str, row_number: &str| -> Vec<String> {
            let mut evens = row("A", 1, &[2, 4, 6], "Best");
            evens["row_number"] = json!(row_number);
            let seats = seats_in(vec![
                json!({"name": "Left", "rows": [row("A", 1, &[1, 3, 5], "Best")]}),
                json!({"name": second, "rows": [evens]}),
            ]);
            seats.into_iter().filter(|it| it.2).map(|it| it.0).collect()
        };
        assert_eq!(aisles("Left", "A"), ["A1", "A3", "A5", "A2", "A4", "A6"]);
        assert_eq!(aisles("Right", "A"), ["A6"]);
        assert_eq!(aisles("Left", "B"), ["A6"]);
    }

    #[test]
    fn an_aisle_follows_where_the_file_jumps_over_a_seat() {
        let cases: [(&str, &[i32], &[usize]); 6] = [
            ("in order", &[1, 2, 3, 4, 5, 6], &[]),
            ("from the right", &[6, 5, 4, 3, 2, 1], &[]),
            ("odd ones first", &[1, 3, 5, 2, 4, 6], &[0, 1, 2, 3, 4]),
            ("two that are exchanged", &[1, 2, 4, 3, 5, 6], &[1, 3]),
            ("one that was forgotten", &[1, 2, 4, 5, 6, 3], &[1, 4]),
            ("from the middle", &[3, 2, 1, 4, 5, 6], &[2]),
        ];
        for (what, places, expected) in cases {
            assert_eq!(aisles(&line(places)), expected, "{what}");
        }
    }

    #[test]
    fn seats_of_a_box_or_of_a_bent_row_are_beside_each_other_as_before() {
        let none: [usize; 0] = [];
        let lines = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (0.0, 1.0), (1.0, 1.0), (2.0, 1.0)];
        assert_eq!(aisles(&lines), [2], "from one line to the other it is far");
        let pairs = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.0, 2.0), (1.0, 2.0)];
        assert_eq!(aisles(&pairs), none);
        let staggered: Vec<_> =
            (0..10).map(|nth| (f64::from(nth) * 0.5, f64::from(nth % 2))).collect();
        assert_eq!(aisles(&staggered), none);
        let straight: Vec<_> = (0..20).map(|nth| (f64::from(nth), 0.0)).collect();
        for degrees in [90.0, 180.0, 300.0] {
            assert_eq!(aisles(&bent(&straight, degrees)), none, "{degrees}");
        }
        assert_eq!(aisles(&[(0.0, 0.0); 5]), none, "a plan without places");
    }

    #[test]
    fn rows_without_a_number_are_not_one_row() {
        let mut unnamed = [row("A", 10, &[1, 2], "Best"), row("B", 20, &[1, 2], "Best")];
        unnamed[0]["row_number"] = Value::Null;
        unnamed[1]["row_number"] = json!("");
        let seats = seats([unnamed.to_vec(), vec![row("C", 30, &[1, 2], "Best")]].concat());
        let aisles: Vec<_> = seats.iter().filter(|it| it.2).map(|it| it.0.as_str()).collect();
        assert_eq!(aisles, ["A2", "B2", "C2"]);
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
