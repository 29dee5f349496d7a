//! A visitor's bookings, page by page.

use crate::shop::{Guest, Shop};
use serde_json::{Value, json};

/// All pages of a list, and how many rows each has.
async fn pages(guest: &Guest<'_>, path: &str) -> (Vec<String>, Vec<usize>) {
    let (mut all, mut sizes, mut after) = (Vec::new(), Vec::new(), String::new());
    loop {
        let page = guest.get(&format!("{path}{after}")).await.expect(200).json();
        let rows = page["bookings"].as_array().unwrap();
        sizes.push(rows.len());
        all.extend(rows.iter().map(|row| row["booking"].as_str().unwrap().to_owned()));
        match &page["next"] {
            Value::Null => return (all, sizes),
            next => after = format!("&after={}", next.as_str().unwrap()),
        }
        assert!(sizes.len() < 100, "the list has no end");
    }
}

/// Two events in the order they were created, and a visitor's bookings in them.
async fn two_sales(shop: &Shop) -> (Guest<'_>, Vec<String>) {
    shop.flash_sale("b").await;
    shop.flash_sale("a").await;
    let guest = shop.guest().await;
    let other = shop.guest().await;
    let mut held = Vec::new();
    for (event, count) in [("b", 5), ("a", 4)] {
        for n in 0..count {
            let wish = json!({"pools": {"ga": 1}});
            held.push(guest.hold(event, &format!("k{n}"), &wish).await.expect(201).text("booking"));
            if n == 2 {
                other.hold(event, "o", &wish).await.expect(201);
            }
        }
    }
    (guest, held)
}

#[tokio::test]
async fn bookings_come_in_pages_oldest_first_and_none_is_left_out() {
    let shop = Shop::start().await;
    let (guest, held) = two_sales(&shop).await;
    for (limit, sizes) in [
        (1, vec![1; 9]),
        (2, vec![2, 2, 2, 2, 1]),
        (3, vec![3, 3, 3]),
        (5, vec![5, 4]),
        (9, vec![9]),
        (1_000, vec![9]),
    ] {
        let found = pages(&guest, &format!("/bookings?limit={limit}")).await;
        assert_eq!(found, (held.clone(), sizes), "{limit}");
    }
    assert_eq!(pages(&guest, "/bookings?event=a&limit=3").await, (held[5..].to_vec(), vec![3, 1]));
    let plain = guest.get("/bookings").await.expect(200).json();
    assert_eq!(plain["bookings"].as_array().unwrap().len(), 9);
    assert!(plain.get("next").is_none());
}

#[tokio::test]
async fn a_page_has_a_hundred_bookings_unless_it_is_said() {
    let shop = Shop::start().await;
    shop.flash_sale("e").await;
    let guest = shop.guest().await;
    let wish = json!({"pools": {"ga": 1}});
    for n in 0..101 {
        let booking = guest.hold("e", &format!("k{n}"), &wish).await.expect(201).text("booking");
        // Of what ended a visitor may have only so much within a day.
        if n < 95 {
            guest.ask("POST", &format!("/bookings/{booking}/cancel")).send().await.expect(200);
        }
    }
    let first = guest.get("/bookings").await.expect(200).json();
    let rows = first["bookings"].as_array().unwrap();
    assert_eq!(rows.len(), 100);
    assert_eq!(first["next"], rows[99]["booking"]);
    for limit in ["0", "1001", "-1", "many"] {
        let refused = guest.get(&format!("/bookings?limit={limit}")).await;
        assert_eq!(refused.problem(), (400, "INVALID_QUERY".into()), "{limit}");
    }
}

#[tokio::test]
async fn a_page_after_what_is_no_booking_of_the_visitors_is_refused() {
    let shop = Shop::start().await;
    let (guest, held) = two_sales(&shop).await;
    let stranger = shop.guest().await;
    let of_b = &held[0];
    for path in [
        format!("/bookings?after=b.{}", "0".repeat(32)),
        format!("/bookings?after=nowhere.{}", "0".repeat(32)),
        "/bookings?after=nonsense".to_owned(),
        format!("/bookings?event=a&after={of_b}"),
    ] {
        assert_eq!(guest.get(&path).await.problem(), (400, "INVALID_QUERY".into()), "{path}");
    }
    let refused = stranger.get(&format!("/bookings?after={of_b}")).await;
    assert_eq!(refused.problem(), (400, "INVALID_QUERY".into()));
}
