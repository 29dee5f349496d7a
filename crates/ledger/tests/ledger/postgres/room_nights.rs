//! Room-nights.

use super::books::Books;
use crate::rows::{booking, booking_id, event, fact, moved, page};
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::lines::{Lines, PoolLine};
use onrush_ledger::booking::Booking;
use onrush_ledger::projection::Fact;

fn stock(pool: &str, change: i64) -> Fact {
    Fact::Stock { event: event("hotel"), pool: pool.parse().expect("an id"), change }
}

fn stay(id: &str, nights: &[&str], quantity: u32) -> Fact {
    let lines = nights
        .iter()
        .map(|night| PoolLine { pool: night.parse().expect("an id"), quantity })
        .collect();
    let lines = Lines::new(lines, vec![]).expect("lines");
    let booking = Booking { event: event("hotel"), lines, ..booking(id, 5) };
    Fact::Held(Box::new(booking))
}

fn until(id: &str, until: i64) -> Fact {
    Fact::Until { booking: booking_id(id), until: Time(until) }
}

fn holds(books: &Books) -> String {
    books.sql(
        "SELECT booking_id, room_id, date, quantity, expires_at FROM reservation_holds \
         ORDER BY booking_id, room_id, date",
    )
}

fn available(books: &Books) -> String {
    books.sql("SELECT room_id, date, available_count FROM room_availability ORDER BY 1, 2")
}

#[tokio::test]
async fn stay_takes_its_nights_until_it_ends() {
    let Some(books) = Books::new().await else { return };
    let nights = ["double.2026-12-24", "double.2026-12-25"];
    let facts = vec![
        stock(nights[0], 10),
        stock(nights[1], 10),
        stock("spa", 5),
        stay("hotel.1", &nights, 2),
        until("hotel.1", 900),
        stay("hotel.2", &[nights[1], "spa"], 1),
        until("hotel.2", 901),
    ];
    books.project(page(1, facts)).await.expect("written");
    assert_eq!(
        holds(&books),
        "hotel.1|double|2026-12-24|2|900\nhotel.1|double|2026-12-25|2|900\n\
         hotel.2|double|2026-12-25|1|901"
    );
    assert_eq!(available(&books), "double|2026-12-24|8\ndouble|2026-12-25|7");

    // A page that comes twice takes nothing twice.
    books.project(page(1, vec![stock(nights[0], 10)])).await.expect("taken");
    let facts = vec![until("hotel.1", 950), fact(moved("hotel.2", HoldStatus::Expired, 901))];
    books.project(page(2, facts)).await.expect("written");
    assert_eq!(holds(&books), "hotel.1|double|2026-12-24|2|950\nhotel.1|double|2026-12-25|2|950");
    assert_eq!(available(&books), "double|2026-12-24|8\ndouble|2026-12-25|8");

    let facts = vec![
        fact(moved("hotel.1", HoldStatus::Paying, 910)),
        fact(moved("hotel.1", HoldStatus::Confirmed, 920)),
        // Money came late, and the nights were free.
        fact(moved("hotel.2", HoldStatus::Confirmed, 930)),
        stock(nights[0], -3),
    ];
    books.project(page(3, facts)).await.expect("written");
    assert_eq!(holds(&books), "");
    assert_eq!(available(&books), "double|2026-12-24|5\ndouble|2026-12-25|7");

    books
        .project(page(4, vec![fact(moved("hotel.1", HoldStatus::Cancelled, 940))]))
        .await
        .expect("written");
    assert_eq!(available(&books), "double|2026-12-24|7\ndouble|2026-12-25|9");
}

#[tokio::test]
async fn stay_that_comes_and_goes_within_a_page_leaves_nothing() {
    let Some(books) = Books::new().await else { return };
    let facts = vec![
        stock("double.2026-12-24", 10),
        stay("hotel.1", &["double.2026-12-24"], 2),
        until("hotel.1", 900),
        fact(moved("hotel.1", HoldStatus::Released, 6)),
        until("hotel.1", 901),
    ];
    books.project(page(1, facts)).await.expect("written");
    assert_eq!(holds(&books), "");
    assert_eq!(available(&books), "double|2026-12-24|10");
}
