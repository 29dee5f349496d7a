//! What imports of seating plans come to.

use super::*;
use serde_json::{Value, json};

fn plan() -> Value {
    json!({
        "name": "Hall", "size": {"width": 100, "height": 50}, "layer": "ignored",
        "categories": [{"name": "Stalls", "color": "#a33"}, {"name": "Unused", "color": "#333"}],
        "zones": [{"name": "Left", "position": {"x": 10, "y": 1},
            "areas": [{"shape": "circle", "circle": {"radius": 3}}], "rows": [
            {"row_number": "A", "position": {"x": 2, "y": 2.5}, "seats": [
                {"seat_guid": "L-A-1", "seat_number": "1", "position": {"x": 0.5, "y": 0},
                    "category": "Stalls"},
                {"seat_guid": "L-A-2", "seat_number": 2, "position": {"x": 1.5, "y": 0},
                    "category": "Stalls"}]}]}]
    })
}

fn import(plan: Value, prices: &[(&str, i64)]) -> Result<Import, String> {
    let prices = prices.iter().map(|(name, price)| ((*name).to_owned(), *price)).collect();
    serde_json::from_value::<Plan>(plan).map_err(|error| error.to_string())?.import(&prices)
}

#[test]
fn a_plan_has_no_more_categories_than_an_event() {
    let with = |count: usize| {
        let named = |nth| json!({"name": format!("Unused {nth}"), "color": "#333"});
        let mut plan = plan();
        let categories = plan["categories"].as_array_mut().unwrap();
        categories.extend((categories.len()..count).map(named));
        import(plan, &[("Stalls", 900)])
    };
    assert!(with(MAX_CATEGORIES_PER_EVENT).is_ok());
    let why = with(MAX_CATEGORIES_PER_EVENT + 1).unwrap_err();
    assert_eq!(why, "the plan has 1001 categories; use at most 1000");
}

#[test]
fn a_seat_is_drawn_where_zone_row_and_seat_add_up() {
    let import = import(plan(), &[("Stalls", 900)]).unwrap();
    let seat = &import.drawing.seats[1];
    assert_eq!((seat.x, seat.y), (13.5, 3.5));
    assert_eq!((&*seat.section, &*seat.row, &*seat.number), ("Left", "A", "2"));
    assert_eq!(import.categories, [CategorySpec { name: "Stalls".into(), price_minor: 900 }]);
    assert_eq!(import.seats[0].seat.as_str(), "L-A-1");
}

#[test]
fn a_seat_is_told_whom_it_is_kept_for() {
    let mut changed = plan();
    let seats = &mut changed["zones"][0]["rows"][0]["seats"];
    seats[0]["wheelchair"] = json!(true);
    seats[0]["easy_access"] = json!(true);
    seats[1]["companion_of"] = json!("L-A-1");
    seats[1]["restricted_view"] = json!(true);
    let import = import(changed, &[("Stalls", 900)]).unwrap();
    let place = import.seats[0].seat.clone();
    let access: Vec<_> = import.seats.into_iter().map(|seat| seat.access).collect();
    assert_eq!(access, [Access::Wheelchair, Access::CompanionOf(place)]);
    let drawn: Vec<_> = import.drawing.seats.iter().map(|seat| json!(seat.traits)).collect();
    let expected = [
        json!({"wheelchair": true, "easy_access": true}),
        json!({"companion_of": "L-A-1", "restricted_view": true}),
    ];
    assert_eq!(drawn, expected);
    assert_eq!(json!(SeatTraits::default()), json!({}), "an ordinary seat says nothing of it");
}

#[test]
fn what_is_wrong_is_named() {
    let with = |field: &str, value: Value| {
        let mut changed = plan();
        changed["zones"][0]["rows"][0]["seats"][1][field] = value;
        changed
    };
    let mut both = with("wheelchair", json!(true));
    both["zones"][0]["rows"][0]["seats"][1]["companion_of"] = json!("L-A-1");
    let mut painted = plan();
    painted["categories"][0]["color"] = json!("url(x)");
    let cases = [
        (painted, vec![("Stalls", 1)], "no colour"),
        (with("seat_number", json!("\u{202e}1")), vec![("Stalls", 1)], "turn the text"),
        (with("companion_of", json!("L A 1")), vec![("Stalls", 1)], "companion_of: "),
        (both, vec![("Stalls", 1)], "use one of wheelchair and companion_of"),
        (with("seat_guid", json!("L A 2")), vec![("Stalls", 1)], "\"L A 2\""),
        (with("seat_guid", json!("L-A-1")), vec![("Stalls", 1)], "L-A-1 is in the plan twice"),
        (plan(), vec![], "\"Stalls\" has no price"),
        (plan(), vec![("Stalls", -1)], "\"Stalls\" needs 0 to"),
        (
            plan(),
            vec![("Stalls", 1), ("Unused", 1)],
            "no seat of the plan is in category \"Unused\"",
        ),
    ];
    for (plan, prices, part) in cases {
        let error = import(plan, &prices).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_drawing_is_taken_back_unless_it_was_changed_since() {
    let dir = tempfile::tempdir().unwrap();
    let plans = PlanDir::open(dir.path(), None).unwrap();
    let event = "gala".parse().unwrap();
    let named = |name: &str| Drawing { name: name.into(), ..Drawing::default() };
    let first = plans.add(&event, named("first")).await.unwrap();
    plans.take_back(first).await.unwrap();
    assert_eq!(plans.load(&event).await.unwrap(), Some(Drawing::default()));
    let first = plans.add(&event, named("first")).await.unwrap();
    let second = plans.add(&event, named("second")).await.unwrap();
    plans.take_back(first).await.unwrap();
    assert_eq!(plans.load(&event).await.unwrap().unwrap().name, "second");
    plans.take_back(second).await.unwrap();
    assert_eq!(plans.load(&event).await.unwrap().unwrap().name, "first");
}
