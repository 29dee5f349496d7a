//! Visitors whom the organiser removes and bans, one fact a test.

use crate::stage::{
    OPENING, Stage, arrive, begin, booking_id, confirm, hold_ga, join, reason, release, settings,
};
use onrush_core::change::{LeftHow, QueueChange, SessionEnd, VisitorChange};
use onrush_core::hold::OnDecline;
use onrush_core::limits::MAX_BANS_PER_EVENT;
use onrush_core::question::BansAfter;
use onrush_core::settings::{RoomSettings, Settings};
use onrush_core::spec::Reason;
use onrush_core::view::{BanView, RemovedView};
use onrush_core::{Change, Command};

fn remove(user: &str, ban: bool) -> Command {
    Command::RemoveVisitor { user: user.parse().expect("an id"), reason: reason(), ban }
}

fn unban(user: &str) -> Command {
    Command::UnbanVisitor { user: user.parse().expect("an id"), reason: reason() }
}

fn claim(claim: &str, user: &str) -> Command {
    Command::Claim {
        claim: claim.parse().expect("an id"),
        user: user.parse().expect("an id"),
        pool: "ga".parse().expect("an id"),
        quantity: 1,
        ttl_ms: None,
    }
}

#[track_caller]
fn removed(stage: &mut Stage, user: &str, ban: bool) -> RemovedView {
    stage.ok(remove(user, ban)).try_into().expect("what was taken is told")
}

/// What the last decision changed.
fn last_changes(stage: &Stage) -> Vec<&Change> {
    let decisions = &stage.decisions;
    let from = decisions.iter().rev().nth(1).copied().unwrap_or(0);
    stage.journal[from..].iter().map(|(_, change)| change).collect()
}

/// An open event with a room for so many; units of pool `ga` cost this.
fn room(capacity: u32, places_per_user: u32, price_minor: i64) -> Stage {
    let room = RoomSettings { capacity, places_per_user, ..RoomSettings::default() };
    let mut stage = Stage::created(Settings { room: Some(room), ..settings() });
    stage.stock_up(price_minor);
    stage.ok(Command::OpenSale { seed: None, public_value: None });
    stage
}

#[test]
fn a_removed_visitor_loses_places_session_and_unpaid_holds_in_one_decision() {
    let mut stage = room(1, 3, 0);
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.ok(arrive(1, "ann"));
    stage.ok(join(2, "ann"));
    stage.ok(join(3, "ann"));
    stage.ok(join(4, "bob"));
    stage.ok(hold_ga("b1", "ann", 2));
    stage.ok(hold_ga("b2", "ann", 1));
    stage.ok(hold_ga("kept", "ann", 1));
    stage.ok(confirm("kept", "ann", None));
    let view = removed(&mut stage, "ann", false);
    let expected = RemovedView {
        user: "ann".parse().expect("an id"),
        places: 2,
        session: true,
        released: 2,
        paying: Vec::new(),
        banned: false,
    };
    assert_eq!(view, expected);
    let changes = last_changes(&stage);
    let Change::Visitor(VisitorChange::VisitorRemoved { banned: false, reason, .. }) = changes[0]
    else {
        panic!("{changes:?}")
    };
    assert_eq!(&*reason.why, "house seats");
    let left = |change: &&Change| {
        matches!(change, Change::Queue(QueueChange::PlaceLeft { how: LeftHow::Removed, .. }))
    };
    assert_eq!(changes.iter().filter(|change| left(change)).count(), 2);
    assert!(matches!(
        changes[changes.len() - 2],
        Change::Visitor(VisitorChange::SessionEnded { how: SessionEnd::Removed, .. })
    ));
    assert_eq!((stage.free("ga"), stage.status("kept")), (9, "confirmed"));
    stage.tick();
    assert!(stage.is_active("bob"), "the slot is free");
    stage.ok(join(5, "ann"));
    stage.check_recovery();
}

#[test]
fn removing_somebody_who_has_nothing_changes_nothing() {
    let mut stage = Stage::flash();
    let before = stage.journal.len();
    let view = removed(&mut stage, "ann", false);
    assert_eq!((view.places, view.released, view.banned), (0, 0, false));
    removed(&mut stage, "ann", true);
    let banned = stage.journal.len();
    assert_eq!(banned, before + 1);
    assert!(removed(&mut stage, "ann", true).banned, "banned already");
    assert!(removed(&mut stage, "ann", false).banned, "still banned");
    stage.ok(unban("nobody"));
    assert_eq!(stage.journal.len(), banned);
    let nameless = Reason { by: "".into(), why: "bot".into() };
    let user = "ann".parse().expect("an id");
    stage.refused(Command::UnbanVisitor { user, reason: nameless }, "INVALID_SETTINGS");
    stage.check_recovery();
}

#[test]
fn a_hold_whose_payment_runs_stays_with_its_slot_and_is_told() {
    let mut stage = room(1, 1, 100);
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.ok(arrive(1, "ann"));
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(hold_ga("b2", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    stage.ok(join(2, "bob"));
    let view = removed(&mut stage, "ann", true);
    assert_eq!(view.paying, [booking_id("b1")]);
    assert_eq!((view.session, view.released), (true, 1));
    assert_eq!((stage.status("b1"), stage.status("b2")), ("paying", "released"));
    stage.tick();
    assert!(!stage.is_active("bob"), "a payment keeps the slot");
    stage.refused(hold_ga("b3", "ann", 1), "VISITOR_BANNED");
    stage.check_recovery();
    stage.ok(confirm("b1", "ann", Some("p1")));
    stage.tick();
    assert!(stage.is_active("bob"));
    assert_eq!(stage.free("ga"), 9);
    stage.check_recovery();
}

#[test]
fn a_second_removal_takes_what_the_first_had_to_leave() {
    let mut stage = room(1, 1, 100);
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(begin("b1", "ann", "p1"));
    removed(&mut stage, "ann", false);
    let nothing = stage.journal.len();
    assert_eq!(removed(&mut stage, "ann", false).paying, [booking_id("b1")]);
    assert_eq!(stage.journal.len(), nothing);
    let (booking, payment) = (booking_id("b1"), "p1".parse().expect("an id"));
    let (why, then) = ("declined".into(), OnDecline::Keep);
    stage.ok(Command::FailPayment { booking, payment, why, then });
    assert_eq!(stage.status("b1"), "held");
    let view = removed(&mut stage, "ann", false);
    assert_eq!((view.released, view.session), (1, false), "the session was over");
    assert!(matches!(
        last_changes(&stage).last(),
        Some(Change::Visitor(VisitorChange::SlotFreed { .. }))
    ));
    assert_eq!(stage.free("ga"), 10);
    stage.check_recovery();
}

#[test]
fn a_banned_visitor_may_take_no_place_hold_or_claim_until_unbanned() {
    let mut stage = room(2, 1, 0);
    removed(&mut stage, "ann", true);
    stage.refused(join(1, "ann"), "VISITOR_BANNED");
    stage.refused(hold_ga("b1", "ann", 1), "VISITOR_BANNED");
    stage.refused(claim("c1", "ann"), "VISITOR_BANNED");
    stage.ok(join(2, "bob"));
    stage.check_recovery();
    stage.ok(unban("ann"));
    stage.ok(join(1, "ann"));
    stage.tick();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.check_recovery();

    let mut stage = Stage::flash();
    stage.ok(hold_ga("b1", "ann", 1));
    stage.ok(claim("c1", "ann"));
    assert_eq!(removed(&mut stage, "ann", true).released, 1);
    assert_eq!(stage.free("ga"), 9, "a claim is for good");
    stage.refused(hold_ga("b2", "ann", 1), "VISITOR_BANNED");
    stage.ok(hold_ga("b1", "ann", 1));
    stage.refused(release("b1", "ann"), "ALREADY_RELEASED");
    stage.check_recovery();
}

#[test]
fn who_is_removed_from_a_prequeue_is_out_of_the_line() {
    let mut stage = Stage::created(settings());
    stage.ok(Command::OpenPrequeue);
    stage.ok(join(1, "ann"));
    stage.ok(join(2, "bob"));
    assert_eq!(removed(&mut stage, "ann", true).places, 1);
    assert_eq!(stage.position("bob"), Some(1));
    stage.check_recovery();
}

#[test]
fn bans_are_listed_in_pages_and_their_list_has_an_end() {
    let mut stage = Stage::flash();
    for user in ["cid", "ann", "bob"] {
        removed(&mut stage, user, true);
    }
    let page = |after: Option<&str>, at_most| {
        let after = after.map(|user| user.parse().expect("an id"));
        stage.event.ask(stage.now, BansAfter { after, at_most }).expect("bans")
    };
    let users = |bans: Vec<BanView>| -> Vec<String> {
        bans.into_iter().map(|ban| ban.user.to_string()).collect()
    };
    assert_eq!(page(None, 1)[0].reason, reason());
    assert_eq!(page(None, 1)[0].at, OPENING);
    assert_eq!(users(page(None, 2)), ["ann", "bob"]);
    assert_eq!(users(page(Some("bob"), 2)), ["cid"]);
    assert_eq!(users(page(Some("cid"), 2)), Vec::<String>::new());
    for n in 3..MAX_BANS_PER_EVENT {
        removed(&mut stage, &format!("u{n}"), true);
    }
    stage.refused(remove("one-too-many", true), "BAN_LIST_FULL");
    stage.ok(remove("one-too-many", false));
    stage.ok(unban("bob"));
    stage.ok(remove("one-too-many", true));
    stage.check_recovery();
}
