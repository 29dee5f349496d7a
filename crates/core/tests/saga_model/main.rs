//! A model of one paid booking, checked over every order in which things can happen.
//!
//! **What it proves**, within its bounds: a seat has one owner; a payment is captured and refunded
//! at most once, and nothing is refunded that was not captured; a booking is confirmed at most
//! once; no outcome comes that the transitions do not know; every run ends; and when nothing is
//! left to do, each captured payment is either the payment of a confirmed booking, or refunded, or
//! that of a booking whose cancellation gives nothing back, and the saga is at `CONFIRMED` or
//! `FAILED` and says the same as the engine.
//!
//! **What is real**: [`todo`] and [`advance`], and the rules of the hold: the engine of the model
//! is [`Event`](onrush_core::Event), whose states are kept once each under a number (`rules.rs`).
//! What is imitated: the driver, in the order in which the server does things (`driver.rs`),
//! requests that have the engine begin a payment before they look at the ledger, the ledger's row
//! with its optimistic lock, the feed that wakes the saga, and a gateway that keeps the contract of
//! its seam: creating and refunding are idempotent under their keys, and a cancelled payment is
//! never captured, even if it is created later (`world.rs`).
//!
//! It is checked twice: with money that is taken at once, and with money that is set aside until the
//! card was looked at, which may not pay.
//!
//! **Who acts**: the buyer reserves, pays, is declined, pays after a decline or after the deadline,
//! tries a second time, and cancels what was confirmed. A competitor takes the seat once it is
//! free, and pays, or gives it back, or lets it run out. The organiser ends the sale. The clock
//! reaches a hold's deadline at any time, and the engine's tick comes at any time after. The
//! gateway gives up on payments; its answers may be lost, its requests late, its webhooks lost,
//! late, in any order and any number of times. The process may die between any call and the write
//! after it.
//!
//! **Bounds**: one seat, one saga with two payments, one competitor without a saga, and [`BOUNDS`]
//! for what goes wrong: 1.4 million states, and with [`FEWER`] 6.9 million where money is set aside.
//! A write to the ledger or the engine is atomic. A crash before a call is the state before the
//! call, so that only those after it are steps. A call to the engine is not lost but by a crash.
//! Refunds do not fail: one that does needs an operator. A webhook may never come: what is at rest
//! is judged without waiting for any.
//!
//! Each [`Fault`] is planted once, and the checker finds each: the model is known to be able to fail.

mod driver;
mod rules;
mod world;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use onrush_core::saga::{Outcome, Stage, Step, Todo, advance, todo};
use rules::{Asked, DeclineThen, Facts, Refunded, Rules, Standing, Who};
use stateright::{Checker, HasDiscoveries, Model, Property};
use std::collections::BTreeSet;
use world::{AtGateway, Fault, Mishaps, PAYMENTS, World};

/// How much goes wrong in one run.
const BOUNDS: Mishaps = Mishaps { crashes: 2, losses: 1 };

/// How much goes wrong where that is enough.
const FEWER: Mishaps = Mishaps { crashes: 1, losses: 1 };

/// A payment of the competitor's.
const COMPETITORS_PAYMENT: u8 = 9;

// The promises that planted faults break.
const ONE_OWNER: &str = "a seat has at most one owner";
const REFUNDED_ONCE: &str = "a payment is refunded at most once, and no other";
const SETTLED: &str = "what is at rest is settled";
const LOOKED_AT: &str = "money is taken once the card was looked at";
const KNOWN: &str = "every outcome is known where it comes";

/// One step of one of those who act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// The buyer's request for the seat reaches the engine.
    Reserve,
    /// The buyer wants to pay: the engine hears of it first.
    WantToPay,
    /// The buyer pays at the gateway.
    Pay(u8),
    /// The buyer's attempt is declined.
    BeDeclined(u8),
    /// The confirmed booking is cancelled.
    CancelBooking(Refunded),
    /// The competitor holds the seat.
    Compete,
    CompetitorPays,
    CompetitorLeaves,
    /// The organiser ends the sale.
    CloseSale,
    /// The gateway gives up on a payment by itself.
    GiveUp(u8),
    /// The next deadline of a hold is reached.
    ReachDeadline,
    /// The engine deals with it.
    Tick,
    /// The feed is followed up to now.
    Follow,
    /// An open payment's own deadline makes the driver look.
    Poll,
    /// The driver makes the call that is to be made.
    Call,
    /// The payment is created although its hold has run out since the driver looked.
    CreateInVain,
    /// The money is taken although the hold has run out since the driver looked.
    CaptureInVain,
    /// The engine is asked about the card, which may not pay.
    RefuseCard,
    /// The same as `Call`, and the answer is lost.
    CallUnanswered,
    /// The payment is asked for, and the request comes late.
    CallDelayed,
    /// A request writes down the payment that it had the engine begin.
    WriteRequest,
    /// What came of the call is written down.
    Write,
    /// The process dies.
    Crash,
    /// A webhook comes; it may have come before, and may come again.
    Hear(u8, Outcome),
    /// A late request to create a payment reaches the gateway.
    CreateLate(u8),
}

/// The model: the rules, the bounds, and at most one planted fault.
struct PaidBooking {
    rules: Rules,
    bounds: Mishaps,
    /// Money is set aside first, and taken once the card was looked at.
    later: bool,
    fault: Option<Fault>,
}

impl PaidBooking {
    fn new(bounds: Mishaps, later: bool, fault: Option<Fault>) -> Self {
        Self { rules: Rules::new(), bounds, later, fault }
    }

    fn facts(&self, world: &World) -> Facts {
        self.rules.facts(world.engine)
    }

    fn buyer_acts(&self, world: &World, facts: &Facts, acts: &mut Vec<Act>) {
        if !world.reserved {
            acts.push(Act::Reserve);
        }
        let may_pay = match facts.buyer {
            Standing::Held => usize::from(world.begun) < PAYMENTS.len(),
            // Another request finds the payment that runs.
            Standing::Paying(payment) => {
                world.row.present != Some(payment)
                    && advance(world.row.position(), Outcome::PaymentWanted).is_ok()
            }
            Standing::Absent
            | Standing::Confirmed(_)
            | Standing::Released
            | Standing::Expired(_)
            | Standing::Cancelled(_) => false,
        };
        if may_pay && world.request.is_none() {
            acts.push(Act::WantToPay);
        }
        for payment in PAYMENTS {
            match world.gateway[usize::from(payment)] {
                AtGateway::Open => {
                    acts.extend([
                        Act::Pay(payment),
                        Act::BeDeclined(payment),
                        Act::GiveUp(payment),
                    ]);
                }
                AtGateway::Declined => acts.push(Act::Pay(payment)),
                AtGateway::Authorised => acts.push(Act::GiveUp(payment)),
                AtGateway::Unheard | AtGateway::Cancelled | AtGateway::Captured => {}
            }
        }
        if !world.cancelled && matches!(facts.buyer, Standing::Confirmed(_)) {
            acts.push(Act::CancelBooking(Refunded::All));
            acts.push(Act::CancelBooking(Refunded::Nothing));
        }
    }

    fn competitor_acts(world: &World, facts: &Facts, acts: &mut Vec<Act>) {
        if !world.competed && !facts.buyer.owns() {
            acts.push(Act::Compete);
        }
        if facts.competitor == Standing::Held {
            acts.extend([Act::CompetitorPays, Act::CompetitorLeaves]);
        }
    }

    fn driver_acts(&self, world: &World, acts: &mut Vec<Act>) {
        if world.thought.is_some() {
            acts.push(Act::Write);
            if world.left.crashes > 0 {
                acts.push(Act::Crash);
            }
        }
        if world.driver_due(self.fault) {
            acts.push(Act::Call);
            let todo = todo(world.row.position());
            let waits =
                |payment: Option<u8>| payment.is_some_and(|it| world.hold_waits(&self.rules, it));
            match todo {
                Todo::Create if !waits(world.row.present) => acts.push(Act::CreateInVain),
                Todo::Capture if !waits(world.row.present) => acts.push(Act::CaptureInVain),
                Todo::NameCard if waits(world.row.present) => acts.push(Act::RefuseCard),
                _ => {}
            }
            if world.left.losses > 0 {
                if matches!(todo, Todo::Create | Todo::Capture | Todo::Cancel | Todo::Refund) {
                    acts.push(Act::CallUnanswered);
                }
                if todo == Todo::Create {
                    acts.push(Act::CallDelayed);
                }
            }
        }
        if world.request.is_some() && world.thought.is_none() {
            acts.push(Act::WriteRequest);
        }
        if world.request.is_some() && world.thought.is_none() && world.left.crashes > 0 {
            acts.push(Act::Crash);
        }
        if world.poll_due(&self.rules, self.fault) {
            acts.push(Act::Poll);
        }
        if world.feed {
            acts.push(Act::Follow);
        }
    }

    fn want_to_pay(&self, world: &mut World) {
        // The engine is asked before anybody looks at the row; if a payment runs already, that one stays.
        if world.ask(&self.rules, Asked::Begin(Who::Buyer, world.begun)).is_some() {
            return;
        }
        let Standing::Paying(payment) = self.facts(world).buyer else {
            panic!("a payment that was begun runs")
        };
        world.begun += u8::from(payment == world.begun);
        world.request = Some(payment);
        if self.fault == Some(Fault::CallsBeforeWriting) {
            world.create(payment);
        }
    }
}

impl Model for PaidBooking {
    type State = World;
    type Action = Act;

    fn init_states(&self) -> Vec<World> {
        [DeclineThen::Keep, DeclineThen::Release]
            .map(|on_decline| World::new(on_decline, self.later, self.bounds))
            .into()
    }

    fn actions(&self, world: &World, acts: &mut Vec<Act>) {
        let facts = self.facts(world);
        self.buyer_acts(world, &facts, acts);
        Self::competitor_acts(world, &facts, acts);
        self.driver_acts(world, acts);
        if facts.hold_until_ms.is_some_and(|until_ms| until_ms > world.now_ms) {
            acts.push(Act::ReachDeadline);
        }
        if facts.tick_ms.is_some_and(|due_ms| due_ms <= world.now_ms) {
            acts.push(Act::Tick);
        }
        if facts.is_open {
            acts.push(Act::CloseSale);
        }
        for payment in PAYMENTS {
            for outcome in world.told(payment) {
                acts.push(Act::Hear(payment, outcome));
            }
            let wire = world.wire[usize::from(payment)];
            if wire.create {
                acts.push(Act::CreateLate(payment));
            }
        }
    }

    fn next_state(&self, last: &World, act: Act) -> Option<World> {
        let mut world = *last;
        let rules = &self.rules;
        match act {
            Act::Reserve => {
                world.reserved = true;
                let _refused_or_not = world.ask(rules, Asked::Hold(Who::Buyer));
            }
            Act::WantToPay => self.want_to_pay(&mut world),
            Act::Pay(payment) => {
                let nth = usize::from(payment);
                world.gateway[nth] = AtGateway::Authorised;
                world.wire[nth].authorised = world.later;
                if !world.later {
                    world.capture(payment);
                }
            }
            Act::BeDeclined(payment) => {
                let nth = usize::from(payment);
                world.gateway[nth] = AtGateway::Declined;
                world.wire[nth].declined = true;
            }
            Act::CancelBooking(refunded) => {
                world.cancelled = true;
                let refused = world.ask(rules, Asked::CancelBuyers(refunded));
                assert_eq!(refused, None, "what is confirmed can be cancelled");
            }
            Act::Compete => {
                world.competed = true;
                let _refused_or_not = world.ask(rules, Asked::Hold(Who::Competitor));
            }
            Act::CompetitorPays => {
                let begin = Asked::Begin(Who::Competitor, COMPETITORS_PAYMENT);
                if world.ask(rules, begin).is_none() {
                    let confirm = Asked::Confirm(Who::Competitor, COMPETITORS_PAYMENT);
                    let _refused_or_not = world.ask(rules, confirm);
                }
            }
            Act::CompetitorLeaves => {
                let _refused_or_not = world.ask(rules, Asked::ReleaseCompetitors);
            }
            Act::CloseSale => {
                let refused = world.ask(rules, Asked::CloseSale);
                assert_eq!(refused, None, "an open sale can be closed");
            }
            Act::GiveUp(payment) => {
                let nth = usize::from(payment);
                world.gateway[nth] = AtGateway::Cancelled;
                world.wire[nth].cancelled = true;
            }
            Act::ReachDeadline => world.now_ms = self.facts(last).hold_until_ms?,
            Act::Tick => {
                let _refused_or_not = world.ask(rules, Asked::Tick);
            }
            Act::Follow => world.follow(rules, self.fault),
            Act::Poll => world.wake = true,
            Act::Call => world.call(rules, self.fault),
            Act::CreateInVain => world.create_in_vain(),
            Act::CaptureInVain => world.capture_in_vain(),
            Act::RefuseCard => world.refuse_card(rules),
            Act::CallUnanswered => {
                world.left.losses -= 1;
                world.call(rules, self.fault);
                world.thought = None;
            }
            Act::CallDelayed => {
                world.left.losses -= 1;
                let payment = world.row.present.expect("a payment is to be created");
                world.wire[usize::from(payment)].create = true;
                // The driver gives up waiting, and may find the payment unwanted before it asks again.
            }
            Act::WriteRequest => world.write_request(),
            Act::Write => world.write_thought(self.fault),
            Act::Crash => {
                world.left.crashes -= 1;
                world.thought = None;
                world.request = None;
            }
            Act::Hear(payment, outcome) => {
                world.hear(payment, outcome);
                // What says nothing new may be heard at any time, and need not be looked at.
                if world.row == last.row && !world.illegal {
                    return None;
                }
            }
            Act::CreateLate(payment) => {
                world.wire[usize::from(payment)].create = false;
                world.create(payment);
            }
        }
        (world != *last).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(ONE_OWNER, |model: &Self, world: &World| {
                let facts = model.facts(world);
                let owners = [facts.buyer.owns(), facts.competitor.owns(), world.stolen];
                owners.into_iter().filter(|owns| *owns).count() <= 1
            }),
            Property::always("a payment is captured at most once", |_: &Self, world: &World| {
                world.captured.iter().all(|times| *times <= 1)
            }),
            Property::always(
                "a payment is refunded at most once, and no other",
                |_: &Self, world: &World| {
                    PAYMENTS.into_iter().map(usize::from).all(|nth| {
                        world.refunded[nth] <= 1 && world.refunded[nth] <= world.captured[nth]
                    })
                },
            ),
            Property::always("a booking is confirmed at most once", |_: &Self, world: &World| {
                world.confirmed <= 1
            }),
            Property::always(KNOWN, |_: &Self, world: &World| !world.illegal),
            Property::always(SETTLED, |model: &Self, world: &World| {
                let facts = model.facts(world);
                !world.at_rest(&model.rules, model.fault) || world.is_settled(&facts)
            }),
            Property::eventually(
                "everything is over and settled",
                |model: &Self, world: &World| {
                    let facts = model.facts(world);
                    world.at_rest(&model.rules, model.fault) && world.is_settled(&facts)
                },
            ),
            Property::sometimes("late money buys the seat", |_: &Self, world: &World| world.late),
            Property::sometimes("late money goes back", |model: &Self, world: &World| {
                let theirs = model.facts(world).competitor;
                matches!(theirs, Standing::Confirmed(_))
                    && world.refunded[0] == 1
                    && world.row.step == Step::Failed
            }),
            Property::sometimes(
                "the second payment buys the seat",
                |model: &Self, world: &World| model.facts(world).buyer == Standing::Confirmed(1),
            ),
            Property::sometimes(
                "a cancelled booking is refunded",
                |model: &Self, world: &World| {
                    model.facts(world).buyer == Standing::Cancelled(Refunded::All)
                        && world.row.step == Step::Failed
                },
            ),
            Property::sometimes(
                "a cancelled payment was paid before",
                |_: &Self, world: &World| {
                    world.captured[0] == 1
                        && world.row.stages[0] == Some(Stage::Closing)
                        && world.gateway[0] == AtGateway::Captured
                },
            ),
            Property::sometimes(
                "a declined payment is paid after all",
                |model: &Self, world: &World| {
                    world.wire[0].declined && model.facts(world).buyer == Standing::Confirmed(0)
                },
            ),
        ];
        if self.later {
            properties.extend([
                Property::always(LOOKED_AT, |_: &Self, world: &World| {
                    (0..2).all(|nth| world.captured[nth] == 0 || world.named[nth])
                }),
                Property::sometimes("money is set free", |_: &Self, world: &World| {
                    world.wire[0].authorised && world.gateway[0] == AtGateway::Cancelled
                }),
                Property::sometimes("a card may not pay, and another one does", |model, world| {
                    let (model, world): (&Self, &World) = (model, world);
                    world.wire[0].authorised
                        && !world.named[0]
                        && model.facts(world).buyer == Standing::Confirmed(1)
                }),
            ]);
        }
        properties
    }
}

#[test]
fn captured_money_ends_confirmed_or_refunded_and_a_seat_has_one_owner_whatever_happens() {
    let checker = PaidBooking::new(BOUNDS, false, None).checker().threads(2).spawn_bfs().join();
    println!("{} states, {} deep", checker.unique_state_count(), checker.max_depth());
    checker.assert_properties();
}

#[test]
fn money_that_is_set_aside_is_taken_once_its_card_was_looked_at_or_set_free_whatever_happens() {
    let checker = PaidBooking::new(FEWER, true, None).checker().threads(2).spawn_bfs().join();
    println!("{} states, {} deep", checker.unique_state_count(), checker.max_depth());
    checker.assert_properties();
}

#[test]
fn every_run_comes_to_an_end() {
    // The checker takes a run that goes round for one that joins another: only a look at the whole
    // graph tells them apart.
    // Whole states are kept, of which there are several times as many with money that is set aside.
    for (later, bounds) in [(false, FEWER), (true, Mishaps { crashes: 1, losses: 0 })] {
        comes_to_an_end(&PaidBooking::new(bounds, later, None));
    }
}

#[track_caller]
fn comes_to_an_end(model: &PaidBooking) {
    let mut finished: HashMap<World, bool, FixedState> = HashMap::default();
    for first in model.init_states() {
        let mut path = vec![(first, model.next_states(&first))];
        finished.insert(first, false);
        while let Some((world, unseen)) = path.last_mut() {
            let Some(next) = unseen.pop() else {
                finished.insert(*world, true);
                path.pop();
                continue;
            };
            match finished.get(&next) {
                Some(true) => {}
                Some(false) => panic!("a run goes round: {next:#?}"),
                None => {
                    finished.insert(next, false);
                    path.push((next, model.next_states(&next)));
                }
            }
        }
    }
    assert!(finished.len() > 100_000, "only {} states were seen", finished.len());
}

/// Plants `fault` and asserts that the checker finds that it breaks `promise`.
#[track_caller]
fn assert_found(fault: Fault, promise: &'static str) {
    assert_found_within(FEWER, false, fault, promise);
}

#[track_caller]
fn assert_found_within(bounds: Mishaps, later: bool, fault: Fault, promise: &'static str) {
    let promises = HasDiscoveries::AllOf(BTreeSet::from([promise]));
    let model = PaidBooking::new(bounds, later, Some(fault));
    let checker = model.checker().finish_when(promises).spawn_bfs().join();
    let path = checker.discovery(promise);
    let path = path.unwrap_or_else(|| panic!("{fault:?} breaks nothing: {promise}"));
    println!("{fault:?}: {:?}", path.into_actions());
}

#[test]
fn a_driver_that_calls_before_it_writes_is_found() {
    assert_found(Fault::CallsBeforeWriting, SETTLED);
}

#[test]
fn a_refund_without_a_key_is_found() {
    assert_found(Fault::RefundHasNoKey, REFUNDED_ONCE);
}

#[test]
fn a_cancel_that_counts_although_money_was_taken_is_found() {
    assert_found(Fault::CancelIsFinal, SETTLED);
}

#[test]
fn a_late_confirm_that_ignores_who_has_the_seat_is_found() {
    assert_found(Fault::ConfirmIgnoresOwner, ONE_OWNER);
}

#[test]
fn a_gateway_that_forgets_what_it_cancelled_unheard_is_found() {
    assert_found(Fault::CancelForgetsTheUnheardOf, SETTLED);
}

#[test]
fn a_driver_that_does_not_follow_the_feed_is_found() {
    assert_found(Fault::NobodyFollowsTheFeed, SETTLED);
}

#[test]
fn a_driver_that_writes_over_what_others_wrote_is_found() {
    assert_found(Fault::WritesOverOthers, SETTLED);
}

#[test]
fn s1_a_driver_that_does_not_recover_reserve_ok_is_found() {
    assert_found(Fault::ReserveOkIsNotRecovered, SETTLED);
}

#[test]
fn a_driver_that_takes_a_cancelled_booking_for_one_never_confirmed_is_found() {
    assert_found(Fault::CancelledIsNeverConfirmed, SETTLED);
}

#[test]
fn a_driver_that_cannot_find_the_next_payment_running_is_found() {
    // It takes no mishap at all: only a buyer who tries again before the end of their first
    // payment is written down.
    let nothing_goes_wrong = Mishaps { crashes: 0, losses: 0 };
    assert_found_within(nothing_goes_wrong, false, Fault::NextPaymentIsTrouble, KNOWN);
}

#[test]
fn a_driver_that_takes_money_before_it_looks_at_the_card_is_found() {
    assert_found_within(FEWER, true, Fault::CapturesWithoutLooking, LOOKED_AT);
}

#[test]
fn a_driver_that_leaves_money_set_aside_is_found() {
    assert_found_within(FEWER, true, Fault::LeavesMoneySetAside, SETTLED);
}
