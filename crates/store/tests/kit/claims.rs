//! A counter of claimed units.

use crate::{Kit, kit, race};
use redis::Value;

fn claim(kit: &mut Kit, increment: &str, quantity: &str) -> String {
    kit.run("claim", &["claimed"], &[increment, quantity]).concat()
}

#[test]
fn claim_and_declaim_say_one_zero_or_minus_one() {
    let Some(mut kit) = kit() else { return };
    assert_eq!(kit.value("claim", &["claimed"], &["2", "3"]), Value::Int(1));
    assert_eq!(claim(&mut kit, "2", "3"), "0");
    assert_eq!(claim(&mut kit, "1", "3"), "1");
    assert_eq!(claim(&mut kit, "-4", "3"), "-1");
    assert_eq!(claim(&mut kit, "-3", "3"), "1");
    assert_eq!(kit.get(&["GET", "claimed"]), "0");
    assert_eq!(kit.ttl("claimed"), -1);
}

#[test]
fn ttl_counts_from_the_first_claim() {
    let Some(mut kit) = kit() else { return };
    assert_eq!(kit.run("claim", &["claimed"], &["1", "9", "100"]), ["1"]);
    assert!((95..=100).contains(&kit.ttl("claimed")));
    assert_eq!(kit.run("claim", &["claimed"], &["1", "9", "5000"]), ["1"]);
    assert!((90..=100).contains(&kit.ttl("claimed")));
}

// A trap: the check-first variant never checks the maximum on the first claim.
#[test]
fn first_claim_is_checked_against_the_maximum() {
    let Some(mut kit) = kit() else { return };
    assert_eq!(claim(&mut kit, "4", "3"), "0");
    assert_eq!(kit.get(&["EXISTS", "claimed"]), "0");
}

// A trap: it can go below zero.
#[test]
fn declaim_never_goes_below_zero() {
    let Some(mut kit) = kit() else { return };
    assert_eq!(claim(&mut kit, "-1", "3"), "-1");
    assert_eq!(kit.get(&["EXISTS", "claimed"]), "0");
    assert_eq!(claim(&mut kit, "1", "3"), "1");
    assert_eq!(claim(&mut kit, "-2", "3"), "-1");
    assert_eq!(kit.get(&["GET", "claimed"]), "1");
}

#[test]
fn request_that_was_seen_gets_its_first_answer_and_changes_nothing() {
    let Some(mut kit) = kit() else { return };
    let mut ask = |request: &str, increment: &str| {
        kit.run("claim", &["claimed", request], &[increment, "3"]).concat()
    };
    assert_eq!(ask("r1", "2"), "1");
    assert_eq!(ask("r1", "2"), "1");
    assert_eq!(ask("r2", "2"), "0");
    assert_eq!(ask("r3", "-1"), "1");
    assert_eq!(ask("r2", "2"), "0", "the first answer, although there is room now");
    assert_eq!(kit.get(&["GET", "claimed"]), "1");
    assert!((86_000..=86_400).contains(&kit.ttl("r1")));
}

#[test]
fn every_change_is_kept_as_history() {
    let Some(mut kit) = kit() else { return };
    let mut ask = |request: &str, increment: &str, why: &str| {
        kit.run("claim", &["claimed", request, "history"], &[increment, "3", "", "", "ada", why])
    };
    ask("r1", "2", "bought");
    ask("r1", "2", "bought");
    ask("r2", "2", "bought");
    ask("r3", "-1", "gave back");
    let history: Vec<(String, Vec<(String, String)>)> = redis::cmd("XRANGE")
        .arg(&["history", "-", "+"])
        .query(&mut kit.connection)
        .expect("a stream");
    let told: Vec<Vec<String>> = history
        .into_iter()
        .map(|(_, fields)| {
            fields
                .into_iter()
                .filter(|(name, _)| name != "when")
                .map(|(n, v)| format!("{n}={v}"))
                .collect()
        })
        .collect();
    assert_eq!(
        told,
        [
            ["who=ada", "what=2", "why=bought", "before=0", "after=2", "request=r1"],
            ["who=ada", "what=-1", "why=gave back", "before=2", "after=1", "request=r3"],
        ]
    );
}

#[test]
fn racing_claims_never_exceed_the_quantity() {
    let Some(mut kit) = kit() else { return };
    let done: usize = race(&kit, 20, |n, own| {
        (0..10)
            .filter(|m| {
                own.run("claim", &["claimed", &format!("r{n}.{m}")], &["1", "77"]).concat() == "1"
            })
            .count()
    })
    .into_iter()
    .sum();
    assert_eq!((done, kit.get(&["GET", "claimed"]).as_str()), (77, "77"));
}

#[test]
fn nonsense_is_an_error_and_writes_nothing() {
    let Some(mut kit) = kit() else { return };
    kit.redis(&["SET", "history", "not a stream"]);
    let before = kit.everything();
    for args in [["one", "3", ""], ["1.5", "3", ""], ["1", "-3", ""], ["1", "3", "soon"]] {
        let error = kit.error("claim", &["claimed", "r1"], &args);
        assert!(error.contains("must be"), "{error}");
    }
    let error = kit.error("claim", &["claimed", "r1", "history"], &["1", "3"]);
    assert!(error.contains("WRONGTYPE"), "{error}");
    assert_eq!(kit.everything(), before);
}

#[test]
fn counter_that_redis_adds_nothing_to_is_an_error_and_stays() {
    let Some(mut kit) = kit() else { return };
    for foreign in ["007", "-0", "+1", "1.0", "one"] {
        kit.redis(&["SET", "claimed", foreign]);
        let before = kit.everything();
        let error = kit.error("claim", &["claimed", "r1"], &["1", "9"]);
        assert!(error.contains("not a whole number"), "{foreign}: {error}");
        assert_eq!(kit.everything(), before);
    }
}

#[test]
fn request_key_that_holds_something_else_is_an_error() {
    let Some(mut kit) = kit() else { return };
    for foreign in ["yes", "2", "", "1.0"] {
        kit.redis(&["SET", "r1", foreign]);
        let before = kit.everything();
        let error = kit.error("claim", &["claimed", "r1"], &["1", "3"]);
        assert!(error.contains("something else than an answer"), "{foreign}: {error}");
        assert_eq!(kit.everything(), before);
    }
}
