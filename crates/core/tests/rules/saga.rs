//! The booking saga's transitions: all of them, as a table, and what follows from it.

use onrush_core::saga::{Illegal, Outcome, Position, Stage, Step, Todo, advance, todo};
use std::collections::BTreeSet;

use Outcome::{
    Acknowledged, Cancelled, CancelledUnrefunded, CardNamed, ConfirmRefused, Held, HoldConfirmed,
    HoldGone, HoldKept, MoneyAuthorised, MoneyReturned, MoneyTaken, NotHeld, PaymentClosed,
    PaymentOpen, PaymentUnwanted, PaymentWanted,
};
use Stage::{
    Authorised, Captured, Capturing, Closed, Closing, Creating, Open, Refunded, Refunding,
    Returned, Void,
};
use Step::{Compensating, Confirmed, Failed, PaymentOk, PaymentSent, ReserveOk, ReserveSent};

const STEPS: [Step; 7] =
    [ReserveSent, ReserveOk, PaymentSent, PaymentOk, Confirmed, Compensating, Failed];

const STAGES: [Stage; 11] = [
    Creating, Open, Authorised, Capturing, Closing, Closed, Void, Captured, Refunding, Returned,
    Refunded,
];

const OUTCOMES: [Outcome; 17] = [
    Held,
    NotHeld,
    PaymentWanted,
    PaymentOpen,
    MoneyAuthorised,
    CardNamed,
    PaymentUnwanted,
    PaymentClosed,
    MoneyTaken,
    HoldKept,
    HoldGone,
    HoldConfirmed,
    ConfirmRefused,
    Cancelled,
    CancelledUnrefunded,
    MoneyReturned,
    Acknowledged,
];

type Place = (Step, Option<Stage>);

/// Where a saga can be: what is to be done there, which outcomes lead where, and which change nothing.
struct Row {
    at: Place,
    todo: Todo,
    moves: &'static [(Outcome, Place)],
    stays: &'static [Outcome],
}

/// Every place a saga can get to. What is not in a row is illegal there.
const TABLE: [Row; 19] = [
    Row {
        at: (ReserveSent, None),
        todo: Todo::AskHold,
        moves: &[
            (Held, (ReserveOk, None)),
            (NotHeld, (Failed, None)),
            (HoldConfirmed, (Confirmed, None)),
        ],
        stays: &[],
    },
    Row {
        at: (ReserveOk, None),
        todo: Todo::AskHold,
        moves: &[
            (NotHeld, (Failed, None)),
            (PaymentWanted, (PaymentSent, Some(Creating))),
            (HoldConfirmed, (Confirmed, None)),
        ],
        stays: &[Held],
    },
    Row {
        at: (ReserveOk, Some(Void)),
        todo: Todo::AskHold,
        moves: &[
            (NotHeld, (Failed, Some(Void))),
            (PaymentWanted, (PaymentSent, Some(Creating))),
            (HoldConfirmed, (Confirmed, Some(Void))),
        ],
        stays: &[Held, PaymentOpen, MoneyAuthorised, PaymentUnwanted, PaymentClosed, HoldKept],
    },
    Row {
        at: (PaymentSent, Some(Creating)),
        todo: Todo::Create,
        moves: &[
            (PaymentOpen, (PaymentSent, Some(Open))),
            (MoneyAuthorised, (PaymentSent, Some(Authorised))),
            (PaymentUnwanted, (PaymentSent, Some(Closing))),
            (PaymentClosed, (PaymentSent, Some(Closed))),
            (MoneyTaken, (PaymentOk, Some(Captured))),
        ],
        stays: &[PaymentWanted],
    },
    Row {
        at: (PaymentSent, Some(Open)),
        todo: Todo::Watch,
        moves: &[
            (MoneyAuthorised, (PaymentSent, Some(Authorised))),
            (PaymentUnwanted, (PaymentSent, Some(Closing))),
            (PaymentClosed, (PaymentSent, Some(Closed))),
            (MoneyTaken, (PaymentOk, Some(Captured))),
        ],
        stays: &[PaymentWanted, PaymentOpen],
    },
    Row {
        at: (PaymentSent, Some(Authorised)),
        todo: Todo::NameCard,
        moves: &[
            (CardNamed, (PaymentSent, Some(Capturing))),
            (PaymentUnwanted, (PaymentSent, Some(Closing))),
            (PaymentClosed, (PaymentSent, Some(Closed))),
            // Somebody took it at the gateway's own desk.
            (MoneyTaken, (PaymentOk, Some(Captured))),
        ],
        stays: &[PaymentWanted, PaymentOpen, MoneyAuthorised],
    },
    Row {
        at: (PaymentSent, Some(Capturing)),
        todo: Todo::Capture,
        moves: &[
            (PaymentUnwanted, (PaymentSent, Some(Closing))),
            (PaymentClosed, (PaymentSent, Some(Closed))),
            (MoneyTaken, (PaymentOk, Some(Captured))),
        ],
        stays: &[PaymentWanted, PaymentOpen, MoneyAuthorised, CardNamed],
    },
    Row {
        at: (PaymentSent, Some(Closing)),
        todo: Todo::Cancel,
        moves: &[
            (PaymentClosed, (PaymentSent, Some(Closed))),
            (MoneyTaken, (PaymentOk, Some(Captured))),
        ],
        stays: &[PaymentWanted, PaymentOpen, MoneyAuthorised, PaymentUnwanted],
    },
    Row {
        at: (PaymentSent, Some(Closed)),
        todo: Todo::TellFailed,
        moves: &[
            (PaymentWanted, (PaymentSent, Some(Creating))),
            (MoneyTaken, (PaymentOk, Some(Captured))),
            (HoldKept, (ReserveOk, Some(Void))),
            (HoldGone, (Failed, Some(Void))),
        ],
        stays: &[PaymentOpen, MoneyAuthorised, PaymentUnwanted, PaymentClosed],
    },
    Row {
        at: (PaymentOk, Some(Captured)),
        todo: Todo::Confirm,
        moves: &[
            (HoldConfirmed, (Confirmed, Some(Captured))),
            (ConfirmRefused, (Compensating, Some(Refunding))),
        ],
        stays: &[PaymentOpen, MoneyAuthorised, PaymentUnwanted, MoneyTaken],
    },
    Row {
        at: (Confirmed, None),
        todo: Todo::AskHold,
        moves: &[
            (NotHeld, (Failed, None)),
            (Cancelled, (Failed, None)),
            (CancelledUnrefunded, (Failed, None)),
        ],
        stays: &[Held, HoldConfirmed],
    },
    Row {
        at: (Confirmed, Some(Void)),
        todo: Todo::AskHold,
        moves: &[
            (NotHeld, (Failed, Some(Void))),
            (Cancelled, (Failed, Some(Void))),
            (CancelledUnrefunded, (Failed, Some(Void))),
        ],
        stays: &[Held, HoldConfirmed, PaymentOpen, MoneyAuthorised, PaymentUnwanted, PaymentClosed],
    },
    Row {
        at: (Confirmed, Some(Captured)),
        todo: Todo::AskHold,
        moves: &[
            (Cancelled, (Compensating, Some(Refunding))),
            (CancelledUnrefunded, (Failed, Some(Captured))),
        ],
        stays: &[Held, HoldConfirmed, PaymentOpen, MoneyAuthorised, PaymentUnwanted, MoneyTaken],
    },
    Row {
        at: (Compensating, Some(Refunding)),
        todo: Todo::Refund,
        moves: &[(MoneyReturned, (Compensating, Some(Returned)))],
        stays: &[
            PaymentOpen,
            MoneyAuthorised,
            PaymentUnwanted,
            MoneyTaken,
            ConfirmRefused,
            Cancelled,
        ],
    },
    Row {
        at: (Compensating, Some(Returned)),
        todo: Todo::TellRefunded,
        moves: &[(Acknowledged, (Failed, Some(Refunded)))],
        stays: &[
            PaymentOpen,
            MoneyAuthorised,
            PaymentUnwanted,
            MoneyTaken,
            ConfirmRefused,
            Cancelled,
            MoneyReturned,
        ],
    },
    Row {
        at: (Failed, None),
        todo: Todo::Rest,
        moves: &[],
        stays: &[NotHeld, Cancelled, CancelledUnrefunded],
    },
    Row {
        at: (Failed, Some(Void)),
        todo: Todo::Rest,
        moves: &[],
        stays: &[
            NotHeld,
            HoldGone,
            PaymentOpen,
            MoneyAuthorised,
            PaymentUnwanted,
            PaymentClosed,
            Cancelled,
            CancelledUnrefunded,
        ],
    },
    Row {
        at: (Failed, Some(Captured)),
        todo: Todo::Rest,
        moves: &[],
        stays: &[
            NotHeld,
            PaymentOpen,
            MoneyAuthorised,
            PaymentUnwanted,
            MoneyTaken,
            CancelledUnrefunded,
        ],
    },
    Row {
        at: (Failed, Some(Refunded)),
        todo: Todo::Rest,
        moves: &[],
        stays: &[
            NotHeld,
            PaymentOpen,
            MoneyAuthorised,
            PaymentUnwanted,
            MoneyTaken,
            ConfirmRefused,
            Cancelled,
            MoneyReturned,
            Acknowledged,
        ],
    },
];

fn position((step, stage): Place) -> Position {
    Position { step, stage }
}

/// Every place that some sequence of outcomes leads to.
fn reachable() -> BTreeSet<Place> {
    let mut seen = BTreeSet::from([(ReserveSent, None)]);
    let mut unseen = vec![(ReserveSent, None)];
    while let Some(at) = unseen.pop() {
        for outcome in OUTCOMES {
            if let Ok(Position { step, stage }) = advance(position(at), outcome)
                && seen.insert((step, stage))
            {
                unseen.push((step, stage));
            }
        }
    }
    seen
}

#[test]
fn the_table_names_every_place_a_saga_can_get_to() {
    let named: BTreeSet<_> = TABLE.iter().map(|row| row.at).collect();
    assert_eq!(named, reachable());
}

#[test]
fn every_outcome_leads_where_the_table_says_and_what_it_leaves_out_is_illegal() {
    for row in &TABLE {
        let at = position(row.at);
        for outcome in OUTCOMES {
            let moved = row.moves.iter().find(|(known, _)| *known == outcome);
            let stays = row.stays.contains(&outcome);
            assert!(moved.is_none() || !stays, "{outcome:?} at {at:?} is in the table twice");
            let expected = match moved {
                Some((_, to)) => Ok(position(*to)),
                None if stays => Ok(at),
                None => Err(Illegal { position: at, outcome }),
            };
            assert_eq!(advance(at, outcome), expected, "{outcome:?} at {at:?}");
        }
    }
}

#[test]
fn what_is_to_be_done_follows_from_the_place_alone() {
    for row in &TABLE {
        assert_eq!(todo(position(row.at)), row.todo, "at {:?}", row.at);
    }
}

#[test]
fn an_outcome_that_is_told_twice_changes_nothing_the_second_time() {
    for at in reachable() {
        for outcome in OUTCOMES {
            if let Ok(then) = advance(position(at), outcome) {
                assert_eq!(advance(then, outcome), Ok(then), "{outcome:?} twice from {at:?}");
            }
        }
    }
}

#[test]
fn what_the_gateway_said_may_be_told_again_at_any_later_place() {
    // Messages come late and in any order: whatever may be told of a payment before its end may be
    // told after it.
    let told = [PaymentOpen, MoneyAuthorised, PaymentUnwanted];
    for at in reachable().into_iter().filter(|(_, stage)| stage.is_some()) {
        for outcome in told {
            let then = advance(position(at), outcome);
            assert!(then.is_ok(), "{outcome:?} at {at:?}");
        }
        let after_capture = matches!(at.1, Some(Captured | Refunding | Returned | Refunded));
        if after_capture {
            assert_eq!(advance(position(at), MoneyTaken), Ok(position(at)), "money at {at:?}");
        }
    }
}

#[test]
fn every_place_that_is_not_the_end_has_something_to_do() {
    for at in reachable() {
        let rests = todo(position(at)) == Todo::Rest;
        assert_eq!(rests, at.0 == Failed, "at {at:?}");
        let leads_on = |outcome: &Outcome| {
            advance(position(at), *outcome).is_ok_and(|then| then != position(at))
        };
        let can_go_on = OUTCOMES.iter().any(leads_on);
        assert_ne!(rests, can_go_on, "{at:?} goes on iff there is something to do");
    }
}

#[test]
fn what_is_to_be_done_leads_on() {
    // What may come of each thing to do, told at the place where it is to be done, is legal there.
    let may_come = |todo| -> &'static [Outcome] {
        match todo {
            Todo::Rest => &[],
            // What else the engine may say depends on the step, and the table has it.
            Todo::AskHold => &[HoldConfirmed],
            Todo::Watch | Todo::Create => {
                &[PaymentOpen, MoneyAuthorised, PaymentUnwanted, PaymentClosed, MoneyTaken]
            }
            Todo::NameCard => &[CardNamed, PaymentUnwanted, PaymentClosed, MoneyTaken],
            Todo::Capture => &[PaymentUnwanted, PaymentClosed, MoneyTaken],
            Todo::Cancel => &[PaymentClosed, MoneyTaken],
            Todo::TellFailed => &[HoldKept, HoldGone],
            Todo::Confirm => &[HoldConfirmed, ConfirmRefused],
            Todo::Refund => &[MoneyReturned],
            Todo::TellRefunded => &[Acknowledged],
        }
    };
    for at in reachable() {
        for outcome in may_come(todo(position(at))) {
            assert!(advance(position(at), *outcome).is_ok(), "{outcome:?} at {at:?}");
        }
    }
}

#[test]
fn money_that_is_set_aside_is_taken_only_once_the_card_was_looked_at() {
    for at in reachable() {
        assert_eq!(todo(position(at)) == Todo::Capture, at.1 == Some(Capturing), "at {at:?}");
        for outcome in OUTCOMES {
            let Ok(then) = advance(position(at), outcome) else { continue };
            if then.stage == Some(Capturing) && then != position(at) {
                assert_eq!((at.1, outcome), (Some(Authorised), CardNamed));
            }
        }
    }
}

#[test]
fn no_path_leads_out_of_failed() {
    for at in reachable().into_iter().filter(|(step, _)| *step == Failed) {
        for outcome in OUTCOMES {
            if let Ok(then) = advance(position(at), outcome) {
                assert_eq!(then, position(at), "{outcome:?} at {at:?}");
            }
        }
    }
}

#[test]
fn money_that_was_taken_ends_confirmed_or_returned_or_kept_by_a_cancellation_that_says_so() {
    for at in reachable() {
        let taken = |stage| matches!(stage, Some(Captured | Refunding | Returned | Refunded));
        if !taken(at.1) {
            continue;
        }
        for outcome in OUTCOMES {
            let Ok(then) = advance(position(at), outcome) else { continue };
            assert!(taken(then.stage), "{outcome:?} at {at:?} forgets that money was taken");
            if then != position(at) && (then.step, then.stage) == (Failed, Some(Captured)) {
                assert_eq!(outcome, CancelledUnrefunded, "at {at:?}");
            }
        }
    }
}

#[test]
fn every_place_but_the_last_leads_to_an_end() {
    for at in reachable() {
        let (mut seen, mut unseen) = (BTreeSet::from([at]), vec![at]);
        while let Some(from) = unseen.pop() {
            let on = OUTCOMES.iter().filter_map(|outcome| advance(position(from), *outcome).ok());
            for then in on.map(|then| (then.step, then.stage)) {
                if seen.insert(then) {
                    unseen.push(then);
                }
            }
        }
        let ends = seen.iter().any(|(step, _)| matches!(step, Confirmed | Failed));
        assert!(ends, "{at:?} leads to {seen:?}");
    }
}

#[test]
fn places_that_no_saga_gets_to_have_nothing_to_do_with_money() {
    // A row that was damaged or edited must not make the driver call a gateway.
    let stages = || STAGES.into_iter().map(Some).chain([None]);
    let all = STEPS.into_iter().flat_map(|step| stages().map(move |stage| (step, stage)));
    let reachable = reachable();
    for at in all.filter(|at| !reachable.contains(at)) {
        assert!(matches!(todo(position(at)), Todo::Rest | Todo::AskHold), "at {at:?}");
    }
}

#[test]
fn an_illegal_outcome_says_where_and_what() {
    let illegal = advance(position((ReserveOk, None)), MoneyReturned).expect_err("illegal");
    let text = illegal.to_string();
    assert!(text.contains("MoneyReturned") && text.contains("ReserveOk"), "{text}");
}
