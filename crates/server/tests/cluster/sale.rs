//! What many nodes sell together.

use crate::deployment::{Deployment, until};
use crate::load::create;
use onrush_testkit::need;
use serde_json::json;

#[test]
fn a_booking_is_held_paid_and_confirmed_at_three_different_nodes() {
    let Some(deployment) = need(Deployment::start(3)) else { return };
    let event = json!({"event": "e", "title": "Show", "currency": "EUR", "room": null});
    create(&deployment, &event, &[("ga", 2, 2_500)]);
    let ann = deployment.nodes[0].visitor();
    let wish = json!({"pools": {"ga": 1}});
    let first = deployment.buy(&ann, "e", "one", &wish);
    let second = deployment.buy(&ann, "e", "two", &wish);
    assert_ne!(first, second);

    let path = "/api/v1/events/e/bookings";
    let bob = deployment.nodes[1].visitor();
    let (status, refused) = deployment.nodes[2].ask("POST", path, &bob, "three", &wish.to_string());
    assert_eq!((status, &refused["code"]), (409, &json!("INSUFFICIENT_STOCK")), "{refused}");
    let audit = until("the end of all sagas", || {
        let audit = deployment.audit();
        (audit["open_sagas"] == 0).then_some(audit)
    });
    assert_eq!((&audit["sold"], &audit["confirmed_minor"]), (&json!(2), &json!(5_000)), "{audit}");
}
