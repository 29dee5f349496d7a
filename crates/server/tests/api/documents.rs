//! What explains the API: the OpenAPI document, its browser, the page of errors.

use crate::client::Request;
use crate::shop::Shop;
use onrush::http::problem::Code;
use onrush_core::ids::{PlaceId, PoolId, SeatId};
use onrush_core::{Phase, Refusal};
use std::collections::BTreeSet;

#[tokio::test]
async fn the_openapi_document_and_its_browser_are_served_from_the_binary() {
    let shop = Shop::start().await;
    let get = |path: &str| Request::new(shop.server.public_addr(), "GET", path).send();
    let document = get("/api/openapi.json").await.expect(200);
    assert_eq!(document.header("content-type"), Some("application/json"));
    let document = document.json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    assert!(document["paths"]["/api/v1/events/{event}/bookings"]["post"].is_object());
    let start = get("/docs").await;
    assert!((300..400).contains(&start.status), "{start:?}");
    let page = get("/docs/").await.expect(200);
    let page = String::from_utf8(page.body).unwrap();
    assert!(page.contains("swagger-ui-bundle.js") && !page.contains("https://"), "{page}");
    get("/docs/swagger-ui-bundle.js").await.expect(200);
    let start = get("/docs/swagger-initializer.js").await.expect(200);
    assert!(String::from_utf8(start.body).unwrap().contains("/api/openapi.json"));
    let errors = get("/docs/errors").await.expect(200);
    assert!(String::from_utf8(errors.body).unwrap().starts_with("# Errors"));
}

#[tokio::test]
async fn without_built_pages_the_front_door_says_how_to_get_them_and_the_api_works() {
    let empty = tempfile::tempdir().unwrap();
    let pages = empty.path().to_owned();
    let shop = Shop::start_with(|config| config.pages = Some(pages)).await;
    let get = |path: &str| Request::new(shop.server.public_addr(), "GET", path).send();
    for path in ["/", "/events/tour-1/queue", "/admin"] {
        let told = get(path).await.expect(200);
        let told = String::from_utf8(told.body).unwrap();
        assert!(told.contains("make pages"), "{path}: {told}");
    }
    get("/api/v1/events").await.expect(200);
    get("/assets/nothing.js").await.expect(404);
}

/// One refusal of each kind. The match fails to compile when there is a new kind: give it a place here and a heading.
fn refusals() -> Vec<Refusal> {
    let pool: PoolId = "p".parse().unwrap();
    let seat: SeatId = "s".parse().unwrap();
    let place = PlaceId::from_u128(1);
    let all = vec![
        Refusal::EventNotFound,
        Refusal::EventExists,
        Refusal::InvalidSettings { why: "" },
        Refusal::InvalidQuantity,
        Refusal::InvalidLines { why: "" },
        Refusal::ZoneNotFound { pool: pool.clone() },
        Refusal::SeatNotFound { seat: seat.clone() },
        Refusal::PoolExists { pool: pool.clone() },
        Refusal::SeatExists { seat },
        Refusal::PlaceNotFound,
        Refusal::ReservationNotFound,
        Refusal::ClaimNotFound,
        Refusal::BookingMismatch,
        Refusal::EventNotOpen { phase: Phase::Closed },
        Refusal::NoWaitingRoom,
        Refusal::NotYourTurn,
        Refusal::SessionOver,
        Refusal::NothingToPay,
        Refusal::SettingsFixed { why: "" },
        Refusal::EventLimit { why: "" },
        Refusal::AlreadyInPhase { why: "" },
        Refusal::OtherStepFirst { why: "" },
        Refusal::NoDraw,
        Refusal::Duplicate { place },
        Refusal::AlreadyInQueue { place },
        Refusal::QueueFull,
        Refusal::InsufficientStock { pool, free: 0 },
        Refusal::SeatUnavailable { seats: Vec::new() },
        Refusal::UserLimitExceeded { limit: 0, held: 0 },
        Refusal::ClaimExceedsQuantity { free: 0 },
        Refusal::ClaimBelowZero { claimed: 0 },
        Refusal::AlreadyReleased,
        Refusal::AlreadyConfirmed,
        Refusal::HoldExpired,
        Refusal::InvalidStatus { status: "" },
        Refusal::PaymentRequired { amount_minor: 0 },
        Refusal::PaymentMismatch,
        Refusal::TooManyAttempts { limit: 0 },
        Refusal::ExtensionLimit { limit: 0 },
        Refusal::CannotCancel,
        Refusal::CapacityBelowCommitted { committed: 0 },
        Refusal::UnitsNotBlocked,
        Refusal::SeedMismatch,
        Refusal::TicketNotFound { tickets: 0 },
        Refusal::AlreadyCheckedIn { at: onrush_core::Time(0) },
        Refusal::NotCancellable,
        Refusal::RefundExceedsPaid { paid_minor: 0 },
        Refusal::VisitorBanned,
        Refusal::BanListFull { limit: 0 },
        Refusal::TooManyEnded { limit: 0 },
        Refusal::RefundBetweenSteps { step_minor: 0 },
    ];
    for refusal in &all {
        match refusal {
            Refusal::EventNotFound
            | Refusal::EventExists
            | Refusal::InvalidSettings { .. }
            | Refusal::InvalidQuantity
            | Refusal::InvalidLines { .. }
            | Refusal::ZoneNotFound { .. }
            | Refusal::SeatNotFound { .. }
            | Refusal::PoolExists { .. }
            | Refusal::SeatExists { .. }
            | Refusal::PlaceNotFound
            | Refusal::ReservationNotFound
            | Refusal::ClaimNotFound
            | Refusal::BookingMismatch
            | Refusal::EventNotOpen { .. }
            | Refusal::NoWaitingRoom
            | Refusal::NotYourTurn
            | Refusal::SessionOver
            | Refusal::NothingToPay
            | Refusal::SettingsFixed { .. }
            | Refusal::EventLimit { .. }
            | Refusal::AlreadyInPhase { .. }
            | Refusal::OtherStepFirst { .. }
            | Refusal::NoDraw
            | Refusal::Duplicate { .. }
            | Refusal::AlreadyInQueue { .. }
            | Refusal::QueueFull
            | Refusal::InsufficientStock { .. }
            | Refusal::SeatUnavailable { .. }
            | Refusal::UserLimitExceeded { .. }
            | Refusal::ClaimExceedsQuantity { .. }
            | Refusal::ClaimBelowZero { .. }
            | Refusal::AlreadyReleased
            | Refusal::AlreadyConfirmed
            | Refusal::HoldExpired
            | Refusal::InvalidStatus { .. }
            | Refusal::PaymentRequired { .. }
            | Refusal::PaymentMismatch
            | Refusal::TooManyAttempts { .. }
            | Refusal::ExtensionLimit { .. }
            | Refusal::CannotCancel
            | Refusal::CapacityBelowCommitted { .. }
            | Refusal::UnitsNotBlocked
            | Refusal::SeedMismatch
            | Refusal::TicketNotFound { .. }
            | Refusal::AlreadyCheckedIn { .. }
            | Refusal::NotCancellable
            | Refusal::RefundExceedsPaid { .. }
            | Refusal::VisitorBanned
            | Refusal::BanListFull { .. }
            | Refusal::TooManyEnded { .. }
            | Refusal::RefundBetweenSteps { .. } => {}
        }
    }
    all
}

#[test]
fn every_code_has_its_heading_with_its_status_and_every_heading_is_a_code() {
    let page = include_str!("../../../../docs/errors.md");
    let mut codes = BTreeSet::new();
    let mut check = |code: &'static str, status: u16| {
        let heading = format!("\n### {code}\n\nHTTP {status}. ");
        assert!(page.contains(&heading), "docs/errors.md lacks {heading:?}");
        assert!(codes.insert(code), "{code} stands for two things");
    };
    for refusal in refusals() {
        check(refusal.code(), onrush::http::problem::status_of(&refusal).as_u16());
    }
    for code in Code::ALL {
        let (text, status) = code.facts();
        check(text, status.as_u16());
    }
    let headings = page.lines().filter_map(|line| line.strip_prefix("### "));
    assert_eq!(headings.collect::<BTreeSet<_>>(), codes);
}
