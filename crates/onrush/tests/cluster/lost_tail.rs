//! A Redis that loses what it was told last: what the ledger has passed by then is not lost with it.

use crate::deployment::{Deployment, GOOD_CARD, RedisKind, until};
use crate::load::create;
use onrush_testkit::need;
use serde_json::json;

/// A card that is declined, of a payment that can be tried again.
const POOR_CARD: &str = "4000000000000010";
/// Nothing can be archived, and everything else in the database goes on.
const SHUT: &str = "CREATE FUNCTION shut() RETURNS trigger LANGUAGE plpgsql AS \
    'BEGIN RAISE EXCEPTION ''the archive is shut''; END'; \
    CREATE TRIGGER shut BEFORE INSERT ON feed FOR EACH STATEMENT EXECUTE FUNCTION shut()";
const OPEN: &str = "DROP TRIGGER shut ON feed";
/// Where the only payment stands, and how often its saga tried the present thing in vain.
const STANDING: &str = "SELECT payments.stage || ' ' || (sagas.tries > 0) FROM payments \
    JOIN sagas USING (booking_id)";

#[test]
fn a_tail_that_is_lost_right_after_a_declined_payment_leaves_a_booking_that_can_be_paid() {
    let Some(deployment) = need(Deployment::start(2)) else { return };
    let event = json!({"event": "e", "title": "Show", "currency": "EUR", "room": null});
    create(&deployment, &event, &[("ga", 2, 2_500)]);
    let ann = deployment.nodes[0].visitor();
    let wish = json!({"pools": {"ga": 1}}).to_string();
    let path = "/api/v1/events/e/bookings";
    let (status, held) = deployment.nodes[0].ask("POST", path, &ann, "h", &wish);
    assert_eq!(status, 201, "{held}");
    let booking = held["booking"].as_str().expect("an id").to_owned();
    let url = deployment.pay(&deployment.nodes[1], &ann, &booking, "p");

    let url_of_ledger = deployment.postgres.url();
    let sql = |sql: &str| deployment.postgres.sql(&url_of_ledger, sql).expect("it answers");
    sql(SHUT);
    deployment.use_card(&url, POOR_CARD);
    let is_held = ["HGET", "onrush:{e}:holds", booking.as_str()];
    let RedisKind::One(server) = &deployment.redis else { panic!("there is one") };
    let redis = |command: &[&str]| server.command(command).expect("Redis answers");
    until("the end of the payment in Redis", || redis(&is_held).starts_with("held").then_some(()));
    // Either the ledger has passed it, or it waits for the archive.
    until("what the ledger makes of it", || {
        let standing = sql(STANDING);
        let (stage, tried) = standing.trim().split_once(' ').expect("one payment");
        (stage == "void" || tried == "true").then_some(())
    });
    assert_eq!(redis(&["FLUSHALL"]).trim(), "OK");
    sql(OPEN);

    // Whoever asks next finds the event rebuilt and the booking waiting for another payment.
    let url = deployment.pay(&deployment.nodes[0], &ann, &booking, "again");
    deployment.use_card(&url, GOOD_CARD);
    deployment.until_status(&deployment.nodes[1], &ann, &booking, "confirmed");
    until("the end of all sagas", || (deployment.audit()["open_sagas"] == 0).then_some(()));
}
