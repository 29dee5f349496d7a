//! The state of the model: everything that survives a crash, the little that does not, and what
//! really happened.

use crate::rules::{Asked, DeclineThen, Facts, Refunded, Rules, Standing};
use onrush_core::saga::{Outcome, Position, Stage, Step, Todo, advance, todo};

/// Payments of the one booking, by number.
pub(crate) const PAYMENTS: [u8; 2] = [0, 1];

/// A fault that can be planted, to see that the checker finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The gateway is asked for a payment before the ledger knows of it.
    CallsBeforeWriting,
    /// A refund that is asked for again is made again.
    RefundHasNoKey,
    /// A payment that is to be cancelled counts as closed, although the gateway says that money was taken.
    CancelIsFinal,
    /// Late money buys the seat whoever has it.
    ConfirmIgnoresOwner,
    /// The gateway forgets that a payment it never heard of was cancelled.
    CancelForgetsTheUnheardOf,
    /// The driver does not follow the feed.
    NobodyFollowsTheFeed,
    /// The driver writes what it has in mind over what was written meanwhile.
    WritesOverOthers,
    /// A hold without a payment is not looked at again
    ReserveOkIsNotRecovered,
    /// A booking that was cancelled before its confirmation was written down counts as never confirmed.
    CancelledIsNeverConfirmed,
    /// A driver that comes to tell of a payment's end, and finds that the next one runs, does not
    /// know what to do.
    NextPaymentIsTrouble,
    /// Money that is set aside is taken before anybody looked at the card.
    CapturesWithoutLooking,
    /// A payment that is not wanted counts as closed, and the gateway is not told.
    LeavesMoneySetAside,
}

/// Where a payment stands at the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum AtGateway {
    Unheard,
    Open,
    /// Money is set aside.
    Authorised,
    Declined,
    Cancelled,
    Captured,
}

/// The saga's row in the ledger: it survives every crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Row {
    pub(crate) step: Step,
    /// The stages of its payments.
    pub(crate) stages: [Option<Stage>; 2],
    /// The present payment.
    pub(crate) present: Option<u8>,
}

impl Row {
    pub(crate) fn position(self) -> Position {
        let stage = self.present.and_then(|payment| self.stages[usize::from(payment)]);
        Position { step: self.step, stage }
    }

    fn moved_to(mut self, position: Position) -> Self {
        self.step = position.step;
        if let Some(payment) = self.present {
            self.stages[usize::from(payment)] = position.stage;
        }
        self
    }
}

/// What a driver or a request's handler has in memory between a call and writing down what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Thought {
    /// The row as it was read: if it has changed since, the write is refused.
    pub(crate) read: Row,
    /// The payment it is about, if it is about one.
    pub(crate) payment: Option<u8>,
    pub(crate) outcome: Outcome,
    /// The row was given a new version although it says the same.
    pub(crate) stale: bool,
    /// The saga is to be looked at again once this is written.
    pub(crate) again: bool,
}

/// What is under way between the gateway and us for one payment, beside the news of its money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Wire {
    pub(crate) authorised: bool,
    pub(crate) declined: bool,
    pub(crate) cancelled: bool,
    /// A request to create the payment that the gateway has not got yet.
    pub(crate) create: bool,
}

/// How often something may still go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mishaps {
    pub(crate) crashes: u8,
    /// Answers that never come and requests that come late.
    pub(crate) losses: u8,
}

/// All of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    /// The number of the engine's state.
    pub(crate) engine: u32,
    pub(crate) now_ms: i64,
    pub(crate) row: Row,
    /// The row's time to be looked at has come.
    pub(crate) wake: bool,
    /// The feed tells of something that was not followed yet.
    pub(crate) feed: bool,
    pub(crate) thought: Option<Thought>,
    /// A payment that the engine let a request begin, and that the request has not written down yet.
    pub(crate) request: Option<u8>,
    /// Payments begun so far: each has an id of its own.
    pub(crate) begun: u8,
    pub(crate) gateway: [AtGateway; 2],
    pub(crate) wire: [Wire; 2],
    pub(crate) on_decline: DeclineThen,
    /// Money is set aside first.
    pub(crate) later: bool,
    /// What people do once.
    pub(crate) reserved: bool,
    pub(crate) competed: bool,
    pub(crate) cancelled: bool,
    pub(crate) left: Mishaps,

    // What really happened; nobody in the model looks at it.
    /// The engine let the card pay.
    pub(crate) named: [bool; 2],
    pub(crate) captured: [u8; 2],
    pub(crate) refunded: [u8; 2],
    pub(crate) confirmed: u8,
    /// It was confirmed after its hold had run out.
    pub(crate) late: bool,
    /// A seat was given to the buyer although it was the competitor's.
    pub(crate) stolen: bool,
    /// An outcome came that the transitions do not know.
    pub(crate) illegal: bool,
}

impl World {
    /// The buyer has asked for the seat, and the ledger says so.
    pub(crate) fn new(on_decline: DeclineThen, later: bool, left: Mishaps) -> Self {
        Self {
            engine: 0,
            now_ms: 0,
            row: Row { step: Step::ReserveSent, stages: [None; 2], present: None },
            wake: true,
            feed: false,
            thought: None,
            request: None,
            begun: 0,
            gateway: [AtGateway::Unheard; 2],
            wire: [Wire::default(); 2],
            on_decline,
            later,
            reserved: false,
            competed: false,
            cancelled: false,
            left,
            named: [false; 2],
            captured: [0; 2],
            refunded: [0; 2],
            confirmed: 0,
            late: false,
            stolen: false,
            illegal: false,
        }
    }

    /// Asks the engine; says why it refused.
    pub(crate) fn ask(&mut self, rules: &Rules, asked: Asked) -> Option<&'static str> {
        let answer = rules.ask(self.engine, self.now_ms, asked);
        self.engine = answer.engine;
        self.confirmed += answer.confirms;
        self.late |= answer.late;
        self.feed |= answer.wakes;
        answer.refused
    }

    /// What the gateway's webhooks say, or may say once more, about a payment.
    pub(crate) fn told(&self, payment: u8) -> impl Iterator<Item = Outcome> + use<> {
        let nth = usize::from(payment);
        let wire = self.wire[nth];
        let captured = self.captured[nth] > 0;
        let declined = wire.declined.then_some(Outcome::PaymentUnwanted);
        let cancelled = wire.cancelled.then_some(Outcome::PaymentClosed);
        let authorised = wire.authorised.then_some(Outcome::MoneyAuthorised);
        let taken = captured.then_some(Outcome::MoneyTaken);
        [taken, authorised, declined, cancelled].into_iter().flatten()
    }

    /// Whether the hold waits for this payment.
    pub(crate) fn hold_waits(&self, rules: &Rules, payment: u8) -> bool {
        rules.facts(self.engine).buyer == Standing::Paying(payment)
    }

    /// Whether the driver has something to do now.
    pub(crate) fn driver_due(&self, fault: Option<Fault>) -> bool {
        let trap = fault == Some(Fault::ReserveOkIsNotRecovered);
        !(trap && self.row.step == Step::ReserveOk)
            && self.thought.is_none()
            && self.wake
            && todo(self.row.position()) != Todo::Rest
    }

    /// Whether looking at it at its own deadline would tell anything new: a hold or an open payment has one.
    pub(crate) fn poll_due(&self, rules: &Rules, fault: Option<Fault>) -> bool {
        let standing = rules.facts(self.engine).buyer;
        let news = match (self.row.step, self.row.present) {
            (Step::ReserveOk, _) => {
                standing != Standing::Held && fault != Some(Fault::ReserveOkIsNotRecovered)
            }
            (Step::PaymentSent, Some(payment)) if todo(self.row.position()) == Todo::Watch => {
                let at_gateway = self.gateway[usize::from(payment)];
                at_gateway != AtGateway::Open || !self.hold_waits(rules, payment)
            }
            (
                Step::ReserveSent
                | Step::PaymentSent
                | Step::PaymentOk
                | Step::Confirmed
                | Step::Compensating
                | Step::Failed,
                _,
            ) => false,
        };
        news && !self.wake && self.thought.is_none()
    }

    /// Whether nothing happens any more unless a person does something.
    pub(crate) fn at_rest(&self, rules: &Rules, fault: Option<Fault>) -> bool {
        self.thought.is_none()
            && !self.driver_due(fault)
            && self.request.is_none()
            && !self.poll_due(rules, fault)
            && !self.feed
            && rules.facts(self.engine).hold_until_ms.is_none()
    }

    /// Whether everybody has what they are owed.
    pub(crate) fn is_settled(&self, facts: &Facts) -> bool {
        let owed_nothing = PAYMENTS.into_iter().all(|payment| {
            let nth = usize::from(payment);
            let bought = facts.buyer == Standing::Confirmed(payment);
            let forfeited = facts.buyer == Standing::Cancelled(Refunded::Nothing);
            let returned = self.refunded[nth] == 1;
            match self.captured[nth] {
                0 => !bought && !returned,
                _ if forfeited => self.row.stages[nth] == Some(Stage::Captured) && !returned,
                _ => bought != returned,
            }
        });
        let has_it = matches!(facts.buyer, Standing::Confirmed(_));
        let said_so = match self.row.step {
            Step::Confirmed => has_it,
            Step::Failed => !has_it,
            Step::ReserveSent
            | Step::ReserveOk
            | Step::PaymentSent
            | Step::PaymentOk
            | Step::Compensating => false,
        };
        let set_free = self.gateway.iter().all(|at| *at != AtGateway::Authorised);
        owed_nothing && said_so && set_free
    }

    /// Writes an outcome down, as of the row as it is now.
    pub(crate) fn write(&mut self, outcome: Outcome, payment: Option<u8>) {
        let before = self.row;
        match advance(before.position(), outcome) {
            Ok(then) => {
                if outcome == Outcome::PaymentWanted {
                    // Only the end of one payment lets another begin, and each is begun once.
                    let fresh = payment.is_some_and(|p| self.row.stages[usize::from(p)].is_none());
                    self.illegal |= !fresh || then.stage != Some(Stage::Creating);
                    self.row.present = payment;
                }
                self.row = self.row.moved_to(then);
                // The next step is taken at once, except for looking: that waits for an event or a deadline.
                let looks = matches!(todo(then), Todo::AskHold | Todo::Watch);
                self.wake = self.row != before && !looks;
            }
            Err(_) => self.illegal = true,
        }
    }

    /// A request writes down the payment that it had the engine begin.
    pub(crate) fn write_request(&mut self) {
        let Some(payment) = self.request.take() else { return };
        let known = self.row.present == Some(payment);
        // A saga that is over, or has another payment, answers the request that it came too late.
        if !known && advance(self.row.position(), Outcome::PaymentWanted).is_ok() {
            self.write(Outcome::PaymentWanted, Some(payment));
        }
    }

    /// The feed is followed: the saga is woken, or ended with its hold if it has no payment.
    pub(crate) fn follow(&mut self, rules: &Rules, fault: Option<Fault>) {
        self.feed = false;
        if fault == Some(Fault::NobodyFollowsTheFeed) {
            return;
        }
        if let Some(thought) = &mut self.thought {
            // To wake a saga is to write its row.
            thought.stale = true;
        }
        let over =
            matches!(rules.facts(self.engine).buyer, Standing::Expired(_) | Standing::Released);
        let trap = fault == Some(Fault::ReserveOkIsNotRecovered);
        if self.row.step == Step::ReserveOk && over && !trap {
            self.row.step = Step::Failed;
        } else {
            self.wake = true;
        }
    }
}
