//! A cluster that is restored: PostgreSQL from a dump of a sale under way, and a Redis without anything.

use crate::deployment::{Deployment, RedisKind, until};
use crate::load::create;
use onrush_testkit::need;
use serde_json::json;

#[test]
fn a_dump_of_postgresql_and_an_empty_redis_are_the_sale_of_the_dumps_moment() {
    let Some(mut deployment) = need(Deployment::start(2)) else { return };
    let event = json!({"event": "e", "title": "Show", "currency": "EUR", "room": null});
    create(&deployment, &event, &[("ga", 3, 2_500)]);
    let wish = json!({"pools": {"ga": 1}});
    let ann = deployment.nodes[0].visitor();
    let before = deployment.buy(&ann, "e", "before", &wish);
    let url = deployment.postgres.url();
    let scratch = tempfile::tempdir().expect("a directory");
    let dump = scratch.path().join("dump");
    deployment.postgres.dump(&url, &dump).expect("dumped while it sells");
    let ben = deployment.nodes[0].visitor();
    let since = deployment.buy(&ben, "e", "since", &wish);

    for mut node in std::mem::take(&mut deployment.nodes) {
        node.kill();
    }
    // A server may take a moment to see that they are gone.
    until("tables that nobody uses", || deployment.postgres.load(&url, &dump).ok());
    let RedisKind::One(server) = &deployment.redis else { panic!("there is one") };
    assert_eq!(server.command(&["FLUSHALL"]).expect("it answers").trim(), "OK");
    let node = deployment.start_node(|_| {});
    deployment.nodes.push(node);
    deployment.send_webhooks_to(0);

    deployment.until_status(&deployment.nodes[0], &ann, &before, "confirmed");
    // What was sold since is not known, as docs/operating.md says, and sold again.
    let path = format!("/api/v1/bookings/{since}");
    let (status, answer) = deployment.nodes[0].ask("GET", &path, &ben, "", "");
    assert_eq!(status, 404, "{answer}");
    for key in ["one", "two"] {
        let visitor = deployment.nodes[0].visitor();
        deployment.buy(&visitor, "e", key, &wish);
    }
    let audit = deployment.audit();
    assert_eq!(audit["sold"], 3, "{audit}");
}
