//! kill -9 at every write of a saga: before it and after it, in every story, the money adds up in the end.

mod cli_support;
mod saga_stage;

use onrush_core::saga::{Outcome, Position, Step, advance};
use onrush_testkit::need;
use saga_stage::{AMOUNT_MINOR, Buyer, End, HOLD_PATH, Holds, Stage, WISH, until};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const GOOD_CARD: &str = "4242424242424242";
const POOR_CARD: &str = "4000000000000010";
/// It pays, and no webhook ever tells.
const SILENT_CARD: &str = "4000000000000110";
/// It pays, and the gateway knows it by nothing.
const UNKNOWN_CARD: &str = "4000000000000120";
/// Stories that are told at a time. Most of the time they wait.
const AT_A_TIME: usize = 6;

/// A story: what happens, and how it must end, wherever the server was killed meanwhile.
struct Story {
    name: &'static str,
    holds: Holds,
    tell: fn(&mut Stage) -> End,
}

static STORIES: [Story; 14] = [
    Story { name: "paid", holds: Holds::Long, tell: paid },
    Story { name: "declined, then paid", holds: Holds::Long, tell: declined_then_paid },
    Story { name: "hold runs out unpaid", holds: Holds::Short, tell: runs_out_unpaid },
    Story { name: "hold runs out while paying", holds: Holds::Short, tell: runs_out_paying },
    Story { name: "declined, then given back", holds: Holds::Long, tell: declined_then_given_back },
    Story { name: "late money, seat free", holds: Holds::Short, tell: late_and_free },
    Story { name: "late money, seat gone", holds: Holds::Short, tell: late_and_gone },
    Story { name: "cancelled and refunded", holds: Holds::Long, tell: cancelled_and_refunded },
    Story { name: "cancelled, nothing back", holds: Holds::Long, tell: cancelled_nothing_back },
    Story { name: "cancelled, a part back", holds: Holds::Long, tell: cancelled_part_back },
    Story { name: "answers to create lost", holds: Holds::Long, tell: create_unanswered },
    Story { name: "answer to cancel lost", holds: Holds::Short, tell: cancel_unanswered },
    Story { name: "answer to refund lost", holds: Holds::Long, tell: refund_unanswered },
    Story {
        name: "card refused, another one may pay",
        holds: Holds::OfCards,
        tell: cards_looked_at,
    },
];

fn end<const N: usize>(bookings: [(String, &'static str); N]) -> End {
    End { bookings: bookings.into(), kept_minor: 0 }
}

fn pay_with(stage: &mut Stage, buyer: &Buyer, booking: &str, key: &str, card: &str) {
    let url = stage.pay(buyer, booking, key);
    stage.use_card(&url, card);
}

/// A booking that is paid for, as most are.
fn confirmed(stage: &mut Stage) -> (Buyer, String) {
    let buyer = stage.buyer();
    let booking = stage.hold(&buyer);
    pay_with(stage, &buyer, &booking, "pay", GOOD_CARD);
    stage.until_status(&buyer, &booking, "confirmed");
    (buyer, booking)
}

fn paid(stage: &mut Stage) -> End {
    end([(confirmed(stage).1, "confirmed")])
}

fn declined_then_paid(stage: &mut Stage) -> End {
    let buyer = stage.buyer();
    let booking = stage.hold(&buyer);
    pay_with(stage, &buyer, &booking, "pay", POOR_CARD);
    stage.until_status(&buyer, &booking, "held");
    pay_with(stage, &buyer, &booking, "pay-again", GOOD_CARD);
    stage.until_status(&buyer, &booking, "confirmed");
    end([(booking, "confirmed")])
}

fn runs_out_unpaid(stage: &mut Stage) -> End {
    let buyer = stage.buyer();
    let booking = stage.hold(&buyer);
    stage.until_status(&buyer, &booking, "expired");
    end([(booking, "expired")])
}

fn runs_out_paying(stage: &mut Stage) -> End {
    let buyer = stage.buyer();
    let booking = stage.hold(&buyer);
    stage.pay(&buyer, &booking, "pay");
    stage.until_status(&buyer, &booking, "expired");
    end([(booking, "expired")])
}

fn declined_then_given_back(stage: &mut Stage) -> End {
    let buyer = stage.buyer();
    let booking = stage.hold(&buyer);
    pay_with(stage, &buyer, &booking, "pay", POOR_CARD);
    stage.until_status(&buyer, &booking, "held");
    stage.give_back(&buyer, &booking);
    end([(booking, "released")])
}

fn late_and_free(stage: &mut Stage) -> End {
    let buyer = stage.buyer();
    let booking = stage.hold(&buyer);
    stage.hide_status(&booking);
    pay_with(stage, &buyer, &booking, "pay", SILENT_CARD);
    stage.until_status(&buyer, &booking, "confirmed");
    end([(booking, "confirmed")])
}

fn late_and_gone(stage: &mut Stage) -> End {
    let (late, quick) = (stage.buyer(), stage.buyer());
    let booking = stage.hold(&late);
    stage.hide_status(&booking);
    pay_with(stage, &late, &booking, "pay", SILENT_CARD);
    // While the gateway says nothing, the money stays unknown, and somebody else gets the seat.
    stage.freeze_sandbox();
    let other = until("the end of the hold", || stage.try_hold(&quick, "hold").ok());
    stage.thaw_sandbox();
    pay_with(stage, &quick, &other, "pay", GOOD_CARD);
    stage.until_status(&quick, &other, "confirmed");
    end([(booking, "expired"), (other, "confirmed")])
}

fn cancelled_and_refunded(stage: &mut Stage) -> End {
    let (_, booking) = confirmed(stage);
    stage.cancel(&booking, None);
    end([(booking, "cancelled")])
}

fn cancelled_nothing_back(stage: &mut Stage) -> End {
    let (_, booking) = confirmed(stage);
    stage.cancel(&booking, Some(0));
    End { bookings: vec![(booking, "cancelled")], kept_minor: AMOUNT_MINOR }
}

fn cancelled_part_back(stage: &mut Stage) -> End {
    let (_, booking) = confirmed(stage);
    stage.cancel(&booking, Some(1_000));
    End { bookings: vec![(booking, "cancelled")], kept_minor: AMOUNT_MINOR - 1_000 }
}

fn create_unanswered(stage: &mut Stage) -> End {
    stage.script("lost_answer", "create");
    stage.script("error_then_success", "create");
    paid(stage)
}

fn cancel_unanswered(stage: &mut Stage) -> End {
    stage.script("lost_answer", "cancel");
    stage.script("error_then_success", "cancel");
    runs_out_paying(stage)
}

fn refund_unanswered(stage: &mut Stage) -> End {
    stage.script("lost_answer", "refund");
    stage.script("error_then_success", "refund");
    cancelled_and_refunded(stage)
}

/// A card that is known by nothing may not pay; the money of another one is taken, in vain and
/// without a word at first.
fn cards_looked_at(stage: &mut Stage) -> End {
    stage.script("lost_answer", "capture");
    stage.script("error_then_success", "capture");
    let buyer = stage.buyer();
    let booking = stage.hold(&buyer);
    pay_with(stage, &buyer, &booking, "pay", UNKNOWN_CARD);
    stage.until_status(&buyer, &booking, "held");
    pay_with(stage, &buyer, &booking, "pay-again", GOOD_CARD);
    stage.until_status(&buyer, &booking, "confirmed");
    end([(booking, "confirmed")])
}

/// Tells a story with a server that dies at a point; without one, says which points there are.
fn tell(story: &Story, kill_at: Option<&str>) -> Vec<String> {
    let name = format!("{} / {}", story.name, kill_at.unwrap_or("no kill"));
    let _named = Named(&name);
    let mut stage = Stage::set(kill_at, story.holds);
    let end = (story.tell)(&mut stage);
    stage.check(&name, &end, u32::from(kill_at.is_some())).points
}

/// Says which story went wrong, if one does.
struct Named<'a>(&'a str);

impl Drop for Named<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("FAILED: {}", self.0);
        }
    }
}

/// Does all jobs, several at a time.
fn all<'a, J: Sync>(jobs: &'a [J], run: impl Fn(&'a J) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::SeqCst)) {
                    run(job);
                }
            });
        }
    });
}

#[test]
fn money_adds_up_wherever_the_process_is_killed() {
    let found = Mutex::new(Vec::new());
    all(&STORIES, |story| {
        let points = tell(story, None);
        let jobs = points.into_iter().map(|point| (story, point));
        found.lock().expect("no panic").extend(jobs);
    });
    let jobs = found.into_inner().expect("no panic");
    let reached: BTreeSet<&str> = jobs.iter().map(|(_, point)| point.as_str()).collect();
    for position in reachable() {
        let point = point_of(position);
        let excepted = EXCEPTIONS.iter().any(|(other, _)| *other == point);
        for when in ["before", "after"] {
            let point = format!("{when}:{point}");
            assert_eq!(reached.contains(point.as_str()), !excepted, "{point}: {reached:?}");
        }
    }
    all(&jobs, |(story, point)| {
        tell(story, Some(point));
    });
    println!("{} kills at {} points in {} stories", jobs.len(), reached.len(), STORIES.len());
}

/// Stories that are told of two nodes, too: between them they reach every kind of step. A request
/// that a dead node was at is not begun anew for ten seconds, so none of them pays for a hold that
/// is shorter.
const OF_TWO_NODES: [&str; 5] = [
    "paid",
    "declined, then paid",
    "hold runs out unpaid",
    "cancelled and refunded",
    "answer to refund lost",
];

/// How often stories of two nodes are told at most, until a node died at each point.
const TELLINGS: u32 = 5;

#[test]
fn money_adds_up_wherever_a_node_is_killed_while_another_takes_over() {
    let stories = STORIES.iter().filter(|story| OF_TWO_NODES.contains(&story.name));
    let stories: Vec<&Story> = stories.collect();
    let Some(first) = need(Stage::set_cluster(None, Holds::Long)) else { return };
    drop(first);
    let tell = |story: &Story, kill_at: Option<&str>| {
        let name = format!("two nodes / {} / {}", story.name, kill_at.unwrap_or("no kill"));
        let _named = Named(&name);
        let stage = Stage::set_cluster(kill_at, story.holds);
        let mut stage = stage.unwrap_or_else(|error| panic!("{error}"));
        let end = (story.tell)(&mut stage);
        stage.check(&name, &end, u32::from(kill_at.is_some()))
    };
    let found = Mutex::new(Vec::new());
    all(&stories, |story| {
        let points = tell(story, None).points;
        found.lock().expect("no panic").extend(points.into_iter().map(|point| (*story, point)));
    });
    let jobs = found.into_inner().expect("no panic");
    let reached: BTreeSet<&str> = jobs.iter().map(|(_, point)| point.as_str()).collect();
    for around_the_reserve in ["asking:Hold", "asked:Hold", "answering:Hold"] {
        assert!(reached.contains(around_the_reserve), "{around_the_reserve}: {reached:?}");
    }
    // The other node may be quicker at a step, and then nobody dies of it in that story: it is told
    // again, until somebody did in one of those that come to the point.
    let mut spared = reached.clone();
    for _ in 0..TELLINGS {
        let again: Vec<_> = jobs.iter().filter(|(_, point)| spared.contains(&**point)).collect();
        let died_at = Mutex::new(BTreeSet::new());
        all(&again, |(story, point)| {
            if tell(story, Some(point)).killed {
                died_at.lock().expect("no panic").insert(point.as_str());
            }
        });
        let died_at = died_at.into_inner().expect("no panic");
        spared.retain(|point| !died_at.contains(point));
    }
    assert!(spared.is_empty(), "no node died at {spared:?}");
    println!("two nodes: {} points in {} stories", reached.len(), stories.len());
}

/// Positions that no driver writes, and why.
const EXCEPTIONS: [(&str, &str); 4] = [
    (
        "ReserveSent",
        "what is held and its entry in the feed are one write, and a saga begins with a payment",
    ),
    ("Confirmed", "confirmed at the box office: the ledger's own transaction follows the feed"),
    ("Failed", "a hold that ends without a payment: the ledger's own transaction follows the feed"),
    ("Confirmed:Void", "the same after a payment that was declined"),
];

fn point_of(Position { step, stage }: Position) -> String {
    stage.map_or_else(|| format!("{step:?}"), |stage| format!("{step:?}:{stage:?}"))
}

/// Every position that the rules of the saga lead to.
fn reachable() -> Vec<Position> {
    const OUTCOMES: [Outcome; 17] = [
        Outcome::Held,
        Outcome::NotHeld,
        Outcome::PaymentWanted,
        Outcome::PaymentOpen,
        Outcome::MoneyAuthorised,
        Outcome::CardNamed,
        Outcome::PaymentUnwanted,
        Outcome::PaymentClosed,
        Outcome::MoneyTaken,
        Outcome::HoldKept,
        Outcome::HoldGone,
        Outcome::HoldConfirmed,
        Outcome::ConfirmRefused,
        Outcome::Cancelled,
        Outcome::CancelledUnrefunded,
        Outcome::MoneyReturned,
        Outcome::Acknowledged,
    ];
    let mut found = vec![Position { step: Step::ReserveSent, stage: None }];
    let mut next = 0;
    while let Some(position) = found.get(next).copied() {
        next += 1;
        for outcome in OUTCOMES {
            if let Ok(there) = advance(position, outcome)
                && !found.contains(&there)
            {
                found.push(there);
            }
        }
    }
    found
}

// The five situations of a crash, each with the kill at that very point.

#[test]
fn a_failed_payment_survives_the_kill() {
    for point in ["after:PaymentSent:Closing", "before:ReserveOk:Void"] {
        tell(story("declined, then paid"), Some(point));
    }
}

#[test]
fn a_retry_does_not_reserve_twice() {
    let mut stage = Stage::set(Some("answering:Hold"), Holds::Long);
    let buyer = stage.buyer();
    // The server dies of the first one, and this asks again.
    let booking = stage.hold(&buyer);
    for _ in 0..3 {
        assert_eq!(stage.hold(&buyer), booking);
    }
    pay_with(&mut stage, &buyer, &booking, "pay", GOOD_CARD);
    stage.until_status(&buyer, &booking, "confirmed");
    stage.check("retry", &end([(booking, "confirmed")]), 1);
}

#[test]
fn what_was_reserved_without_an_answer_comes_back() {
    let mut stage = Stage::set(Some("answering:Hold"), Holds::Short);
    let (lost, other) = (stage.buyer(), stage.buyer());
    stage.lose("POST", HOLD_PATH, &lost.token, "hold", WISH);
    // It is held, although nobody was told so.
    assert_eq!(stage.try_hold(&other, "hold"), Err("SEAT_UNAVAILABLE".into()));
    let first = stage.only_booking(&lost);
    let booking = until("the end of the hold", || stage.try_hold(&other, "hold").ok());
    pay_with(&mut stage, &other, &booking, "pay", GOOD_CARD);
    stage.until_status(&other, &booking, "confirmed");
    stage.check("answer lost", &end([(first, "expired"), (booking, "confirmed")]), 1);
}

#[test]
fn a_reserve_whose_answer_no_node_saw_is_found_by_the_same_key_at_the_other_node() {
    let Some(first) = need(Stage::set_cluster(None, Holds::Long)) else { return };
    drop(first);
    for point in ["asking:Hold", "asked:Hold"] {
        let stage = Stage::set_cluster(Some(point), Holds::Long);
        let mut stage = stage.unwrap_or_else(|error| panic!("{error}"));
        let buyer = stage.buyer();
        // The first node dies of it, and this asks the second one again.
        let booking = stage.hold(&buyer);
        assert_eq!(stage.only_booking(&buyer), booking, "{point}");
        pay_with(&mut stage, &buyer, &booking, "pay", GOOD_CARD);
        stage.until_status(&buyer, &booking, "confirmed");
        let checked = stage.check(point, &end([(booking, "confirmed")]), 1);
        assert!(checked.killed, "{point}");
    }
}

#[test]
fn a_reserve_that_nobody_asks_about_again_reaches_the_ledger_and_comes_back() {
    let Some(mut stage) = need(Stage::set_cluster(Some("asked:Hold"), Holds::Short)) else {
        return;
    };
    let (lost, other) = (stage.buyer(), stage.buyer());
    stage.lose("POST", HOLD_PATH, &lost.token, "hold", WISH);
    // The node that knew of it is dead, and the other one was asked nothing.
    until("the booking that nobody asked about", || (stage.known_bookings() == 1).then_some(()));
    let first = stage.only_booking(&lost);
    let booking = until("the end of the hold", || stage.try_hold(&other, "hold").ok());
    pay_with(&mut stage, &other, &booking, "pay", GOOD_CARD);
    stage.until_status(&other, &booking, "confirmed");
    stage.check("no answer seen", &end([(first, "expired"), (booking, "confirmed")]), 1);
}

#[test]
fn a_reserve_that_never_reached_redis_leaves_nothing_and_refused_ones_neither() {
    let Some(mut stage) = need(Stage::set_cluster(Some("asking:Hold"), Holds::Long)) else {
        return;
    };
    let (lost, other) = (stage.buyer(), stage.buyer());
    stage.lose("POST", HOLD_PATH, &lost.token, "hold", WISH);
    let booking = stage.hold(&other);
    for _ in 0..20 {
        let late = stage.buyer();
        assert_eq!(stage.try_hold(&late, "hold"), Err("SEAT_UNAVAILABLE".into()));
    }
    pay_with(&mut stage, &other, &booking, "pay", GOOD_CARD);
    stage.until_status(&other, &booking, "confirmed");
    // One booking and one saga are all that the ledger has.
    stage.check("never sent", &end([(booking, "confirmed")]), 1);
}

#[test]
fn what_was_reserved_before_the_kill_can_be_paid_for() {
    for point in ["before:ReserveOk", "after:ReserveOk"] {
        tell(story("paid"), Some(point));
    }
}

#[test]
fn a_payment_without_an_answer_ends_with_its_hold() {
    for point in ["before:PaymentSent:Creating", "after:PaymentSent:Creating"] {
        let mut stage = Stage::set(Some(point), Holds::Short);
        let buyer = stage.buyer();
        let booking = stage.hold(&buyer);
        stage.freeze_sandbox();
        let path = format!("/api/v1/bookings/{booking}/payment");
        stage.lose("POST", &path, &buyer.token, "pay", "");
        stage.until_status(&buyer, &booking, "expired");
        stage.thaw_sandbox();
        stage.check(point, &end([(booking, "expired")]), 1);
    }
}

fn story(name: &str) -> &'static Story {
    STORIES.iter().find(|story| story.name == name).expect("a story of this name")
}
