//! Every state of small houses, against the plainest search there is.

use super::{Filter, Segments, View, Whose};
use crate::settings::SingleSeats;
use crate::spec::{Access, SeatSpec};

/// A seat of a house as these tests draw it: its row and rank, and whether an aisle follows.
#[derive(Clone, Copy)]
struct Drawn {
    row: usize,
    rank: u32,
    aisle: bool,
}

/// A house drawn as rows of ranks, `|` for an aisle; all of it is one section.
fn house(rows: &[&str]) -> Vec<Drawn> {
    let mut seats = Vec::new();
    for (row, drawn) in rows.iter().enumerate() {
        for sign in drawn.chars() {
            match sign.to_digit(10) {
                Some(rank) => seats.push(Drawn { row, rank, aisle: false }),
                None => seats.last_mut().expect("an aisle follows a seat").aisle = true,
            }
        }
    }
    seats
}

fn segments(house: &[Drawn]) -> Segments {
    let (mut segments, mut before) = (Segments::default(), None);
    for (number, seat) in house.iter().enumerate() {
        let spec = SeatSpec {
            seat: format!("s{number}").parse().expect("an id"),
            section: "stalls".into(),
            row: seat.row.to_string().into(),
            number: number.to_string().into(),
            category: "all".into(),
            rank: seat.rank,
            aisle: seat.aisle,
            access: Access::Anyone,
        };
        segments.add(&spec, 0, before.as_ref());
        before = Some(spec);
    }
    segments
}

fn anything() -> Filter {
    let single_seats = SingleSeats::Allow;
    Filter { categories: vec![true], sections: vec![true], named: Vec::new(), single_seats }
}

/// Whether the seat after this one is beside it.
fn goes_on(house: &[Drawn], seat: usize) -> bool {
    house.get(seat + 1).is_some_and(|next| next.row == house[seat].row && !house[seat].aisle)
}

/// The groups in which these seats are side by side.
fn groups(house: &[Drawn], seats: &[usize]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for seat in seats {
        match groups.last_mut() {
            Some(group)
                if group.last().is_some_and(|it| it + 1 == *seat && goes_on(house, *it)) =>
            {
                group.push(*seat);
            }
            Some(_) | None => groups.push(vec![*seat]),
        }
    }
    groups
}

/// The worst rank, and the free seats left alone beside them.
fn worth(house: &[Drawn], free: &[bool], seats: &[usize]) -> (u32, usize) {
    let is_left = |seat: usize| free[seat] && !seats.contains(&seat);
    let beside = |seat: usize| {
        let before = seat.checked_sub(1).filter(|before| goes_on(house, *before));
        let after = Some(seat + 1).filter(|_| goes_on(house, seat));
        [before, after].into_iter().flatten()
    };
    let is_single = |seat: &usize| {
        let mut around = beside(*seat);
        is_left(*seat)
            && beside(*seat).any(|it| seats.contains(&it))
            && around.all(|it| !is_left(it))
    };
    let worst = seats.iter().map(|seat| house[*seat].rank).max().expect("at least one seat");
    (worst, (0..house.len()).filter(is_single).count())
}

/// All choices of so many free seats.
fn choices(free: &[bool], quantity: usize) -> Vec<Vec<usize>> {
    let seats: Vec<usize> = (0..free.len()).filter(|seat| free[*seat]).collect();
    let mut found = Vec::new();
    for mask in 0_u32..1 << seats.len() {
        if mask.count_ones() as usize == quantity {
            let chosen = seats.iter().enumerate().filter(|(nth, _)| mask & (1 << nth) != 0);
            found.push(chosen.map(|(_, seat)| *seat).collect());
        }
    }
    found
}

/// Calls this with every state of the house: which seats are free, and the segments that know it.
fn each_state(house: &[Drawn], mut look: impl FnMut(&[bool], &Segments)) {
    let mut segments = segments(house);
    let mut free = vec![true; house.len()];
    look(&free, &segments);
    for step in 1_u32..1 << house.len() {
        // One seat changes from each state to the next, and each state comes once.
        let seat = step.trailing_zeros() as usize;
        free[seat] = !free[seat];
        segments.set(seat, if free[seat] { Whose::Everybodys } else { Whose::Nobodys });
        look(&free, &segments);
    }
}

#[test]
fn seats_side_by_side_are_found_whenever_there_are_some_and_are_the_best() {
    for rows in [
        &["11122333", "445566"][..],
        &["321123|55", "1|1|11"],
        &["00000000000000"],
        &["12|21", "12|21", "12|21"],
    ] {
        let house = house(rows);
        each_state(&house, |free, segments| {
            for quantity in 1..=6 {
                let found = segments.to_everybody().together(quantity as u32, &anything());
                let runs = (0..house.len() + 1 - quantity.min(house.len())).filter_map(|start| {
                    let seats: Vec<usize> = (start..start + quantity).collect();
                    let fits = seats.iter().all(|seat| free.get(*seat) == Some(&true));
                    (fits && groups(&house, &seats).len() == 1).then_some(seats)
                });
                let best = runs.map(|seats| worth(&house, free, &seats)).min();
                let of_found = found.map(Vec::from_iter).map(|seats| {
                    assert!(seats.iter().all(|seat| free[*seat]), "only free seats are taken");
                    assert_eq!(groups(&house, &seats).len(), 1, "they are side by side");
                    worth(&house, free, &seats)
                });
                assert_eq!(of_found, best, "{quantity} of {rows:?} with {free:?} free");
            }
        });
    }
}

#[test]
fn groups_are_as_few_as_can_be_and_nobody_is_alone() {
    for rows in [&["1111", "2222", "3333"][..], &["11|11", "22|2", "3|33"], &["112211", "332233"]] {
        let house = house(rows);
        each_state(&house, |free, segments| {
            for quantity in 4..=7 {
                if segments.to_everybody().together(quantity as u32, &anything()).is_some() {
                    continue;
                }
                let fewest = choices(free, quantity)
                    .iter()
                    .filter_map(|seats| {
                        let groups = groups(&house, seats);
                        let rows = house[seats[quantity - 1]].row - house[seats[0]].row + 1;
                        let nobody_alone = groups.iter().all(|group| group.len() > 1);
                        (nobody_alone && rows <= groups.len()).then_some(groups.len())
                    })
                    .min();
                let found = segments.to_everybody().apart(quantity as u32, &anything());
                let of_found = found.map(|seats| {
                    assert_eq!(seats.len(), quantity);
                    assert!(seats.iter().all(|seat| free[*seat]), "only free seats are taken");
                    let groups = groups(&house, &seats);
                    assert!(groups.iter().all(|group| group.len() > 1), "nobody is alone");
                    groups.len()
                });
                assert_eq!(of_found, fewest, "{quantity} of {rows:?} with {free:?} free");
            }
        });
    }
}

#[test]
fn groups_are_in_the_rows_whose_worst_seat_is_best() {
    let apart = |rows: &[&str], quantity| {
        let segments = open_where(&house(rows), |_| true);
        segments.to_everybody().apart(quantity, &anything()).expect("groups")
    };
    assert_eq!(apart(&["33", "33", "11", "11"], 4), [4, 5, 6, 7]);
    assert_eq!(apart(&["11", "11", "33", "33"], 4), [0, 1, 2, 3]);
    // A row with one good seat comes first, and is no better for it.
    assert_eq!(apart(&["19", "99", "22", "22"], 4), [4, 5, 6, 7]);
    // Of the same rank those that leave nobody alone, and then those that were added first.
    assert_eq!(apart(&["111", "111", "11", "11"], 4), [6, 7, 8, 9]);
    assert_eq!(apart(&["11", "11", "11"], 4), [0, 1, 2, 3]);
}

#[test]
fn a_pair_leaves_the_longest_run_to_others() {
    for (row, taken, pair) in [("1111111", 2, 0..2), ("1111111", 4, 5..7)] {
        let segments = open_where(&house(&[row]), |seat| seat != taken);
        assert_eq!(segments.to_everybody().together(2, &anything()), Some(pair));
    }
}

/// The seats that a group leaves alone when all of these are taken.
fn left_alone(house: &[Drawn], free: &[bool], taken: &[usize], group: &[usize]) -> Vec<usize> {
    let is_left = |seat: usize| free[seat] && !taken.contains(&seat);
    let beside = |seat: usize| {
        let before = seat.checked_sub(1).filter(|before| goes_on(house, *before));
        let after = Some(seat + 1).filter(|_| goes_on(house, seat));
        [before, after].into_iter().flatten()
    };
    let all = 0..house.len();
    all.filter(|seat| {
        let of_group = beside(*seat).any(|it| group.contains(&it));
        is_left(*seat) && of_group && !beside(*seat).any(is_left)
    })
    .collect()
}

/// A choice is refused where it leaves seats alone that it need not, with the nearest other place of
/// the row, or the best of another one.
fn check_singles(house: &[Drawn], free: &[bool], segments: &Segments, chosen: &[usize]) {
    let others = |group: &[usize]| -> Vec<usize> {
        chosen.iter().copied().filter(|seat| !group.contains(seat)).collect()
    };
    // Where else a group could sit, and leave nobody alone.
    let places = |group: &[usize]| -> Vec<Vec<usize>> {
        let others = others(group);
        let starts = 0..(house.len() + 1).saturating_sub(group.len());
        let places = starts.map(|start| Vec::from_iter(start..start + group.len()));
        places
            .filter(|place| {
                let taken: Vec<usize> = others.iter().chain(place).copied().collect();
                place.iter().all(|seat| free[*seat] && !others.contains(seat))
                    && groups(house, place).len() == 1
                    && left_alone(house, free, &taken, place).is_empty()
            })
            .collect()
    };
    let expected = groups(house, chosen).into_iter().find_map(|group| {
        let seats = left_alone(house, free, chosen, &group);
        let places = places(&group);
        (!seats.is_empty() && !places.is_empty()).then_some((group, seats, places))
    });
    let found = segments.avoidable_singles(chosen, &[], &[]);
    let Some((group, seats, places)) = expected else {
        assert_eq!(found, None, "{chosen:?} with {free:?} free");
        return;
    };
    let found = found.expect("the choice could sit elsewhere");
    assert_eq!(found.seats, seats, "{chosen:?} with {free:?} free");
    let mut moved = found.instead.clone();
    moved.retain(|seat| !others(&group).contains(seat));
    assert_eq!(found.instead.len(), chosen.len());
    assert!(places.contains(&moved), "{moved:?} with {free:?} free");
    let same_row = |place: &&Vec<usize>| {
        (place[0].min(group[0])..place[0].max(group[0])).all(|it| goes_on(house, it))
    };
    let nearest =
        places.iter().filter(same_row).min_by_key(|place| (place[0].abs_diff(group[0]), place[0]));
    let best = places.iter().map(|place| worth(house, free, place).0).min();
    match nearest {
        Some(nearest) => assert_eq!(moved, *nearest, "{chosen:?}"),
        None => assert_eq!(Some(worth(house, free, &moved).0), best),
    }
}

#[test]
fn single_seats_are_refused_when_as_many_seats_elsewhere_leave_none() {
    for rows in [&["112211", "332"][..], &["1122|22"], &["12", "21", "33"], &["1112111"]] {
        let house = house(rows);
        each_state(&house, |free, segments| {
            for chosen in (1..=3).flat_map(|quantity| choices(free, quantity)) {
                check_singles(&house, free, segments, &chosen);
            }
        });
    }
}

/// Groups longer than the best seats are ever asked for, up to whole rows.
#[test]
fn single_seats_are_refused_in_rows_of_any_length() {
    for lengths in [[24, 0], [24, 20], [24, 21], [23, 22], [26, 24], [40, 30]] {
        let rows = lengths.map(|length| "1".repeat(length));
        let house = house(&[rows[0].as_str(), rows[1].as_str()]);
        let (segments, free) = (segments(&house), vec![true; house.len()]);
        for length in 1..=house.len() {
            for start in 0..=house.len() - length {
                let chosen = Vec::from_iter(start..start + length);
                check_singles(&house, &free, &segments, &chosen);
            }
        }
    }
}

#[test]
fn best_seats_leave_nobody_alone_where_they_need_not() {
    let strict = Filter { single_seats: SingleSeats::Refuse, ..anything() };
    for rows in [&["11122333", "4455"][..], &["321123|55", "1|1|11"], &["12|21", "12|21"]] {
        let house = house(rows);
        each_state(&house, |free, segments| {
            for quantity in 1..=4 {
                let starts = 0..(house.len() + 1).saturating_sub(quantity);
                let places = starts.map(|start| Vec::from_iter(start..start + quantity));
                let best = places
                    .filter(|place| {
                        place.iter().all(|seat| free[*seat]) && groups(&house, place).len() == 1
                    })
                    .map(|place| {
                        let (worst, singles) = worth(&house, free, &place);
                        (singles > 0, worst, singles)
                    })
                    .min();
                let found =
                    segments.to_everybody().together(quantity as u32, &strict).map(|seats| {
                        let (worst, singles) = worth(&house, free, &Vec::from_iter(seats));
                        (singles > 0, worst, singles)
                    });
                assert_eq!(found, best, "{quantity} of {rows:?} with {free:?} free");
            }
        });
    }
}

#[test]
fn a_shortage_tells_what_there_is() {
    let house = house(&["111|11", "1111"]);
    each_state(&house, |free, segments| {
        let all: Vec<usize> = (0..house.len()).filter(|seat| free[*seat]).collect();
        let longest = groups(&house, &all).iter().map(Vec::len).max().unwrap_or(0);
        let found = segments.to_everybody().shortage(&anything());
        assert_eq!((found.free as usize, found.longest as usize), (all.len(), longest));
    });
}

#[test]
fn a_row_may_go_on_later_and_a_better_seat_makes_its_segment_better() {
    let segments = segments(&house(&["9", "5", "73"]));
    let by_place: Vec<_> = segments.layers.everybodys.by_place.iter().map(Vec::from_iter).collect();
    assert_eq!(by_place[1], [&(5, 5, 1), &(9, 9, 0)]);
    assert_eq!(by_place[2], [&(3, 3, 2)]);
    assert_eq!(segments.to_everybody().together(1, &anything()), Some(3..4));
    assert_eq!(segments.to_everybody().together(2, &anything()), Some(2..4));
}

/// The same house where everybody may take what fits, and nobody else anything.
fn open_where(house: &[Drawn], fits: impl Fn(usize) -> bool) -> Segments {
    let mut open = segments(house);
    (0..house.len()).filter(|seat| !fits(*seat)).for_each(|seat| open.set(seat, Whose::Nobodys));
    open
}

#[test]
fn a_channel_sees_its_seats_as_everybody_sees_a_house_of_these_alone() {
    let kinds = [Whose::Everybodys, Whose::Nobodys, Whose::Channels(1), Whose::Channels(2)];
    let house = house(&["12|31", "221"]);
    let mut segments = segments(&house);
    let mut whose = vec![Whose::Everybodys; house.len()];
    let choices = choices(&vec![true; house.len()], 2);
    for state in 0..kinds.len().pow(house.len() as u32) {
        for (seat, is) in whose.iter_mut().enumerate() {
            let kind = kinds[state / kinds.len().pow(seat as u32) % kinds.len()];
            if *is != kind {
                *is = kind;
                segments.set(seat, kind);
            }
        }
        for channel in [1, 2] {
            let alone = open_where(&house, |seat| whose[seat] == Whose::Channels(channel));
            let expected = alone.to_everybody();
            let Some(seen) = segments.to_channel(channel) else {
                assert_eq!(expected.shortage(&anything()).free, 0);
                continue;
            };
            assert_eq!(seen.shortage(&anything()), expected.shortage(&anything()));
            for quantity in 1..=4 {
                let best = |view: View<'_>| view.together(quantity, &anything());
                assert_eq!(best(seen), best(expected), "{whose:?}");
                let apart = |view: View<'_>| view.apart(quantity, &anything());
                assert_eq!(apart(seen), apart(expected), "{whose:?}");
            }
        }
        if state % 8 > 0 {
            continue;
        }
        let channels: &[u8] = if state % 16 == 0 { &[1] } else { &[2, 1] };
        let is_open = |seat: usize| match whose[seat] {
            Whose::Nobodys => false,
            Whose::Everybodys => true,
            Whose::Channels(channel) => channels.contains(&channel),
        };
        let open = open_where(&house, is_open);
        for chosen in &choices {
            let all_open = chosen.iter().all(|seat| is_open(*seat));
            assert_eq!(segments.let_all(chosen, &anything(), channels), all_open);
            if all_open {
                let found = segments.avoidable_singles(chosen, &[], channels);
                assert_eq!(found, open.avoidable_singles(chosen, &[], &[]), "{whose:?}");
            }
        }
    }
}
