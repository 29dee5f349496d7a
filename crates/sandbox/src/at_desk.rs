//! What the sandbox's own desk does, as people do at a real gateway's: money goes back, is
//! disputed, or is taken a second time, and nobody in the shop asked for it.

use super::book::{Book, Change, Kind, Now, Payment, Refused, State, WebhookFacts, refused};
use onrush_core::ids::PaymentId;
use serde::{Deserialize, Serialize};

/// What is to be done at the desk.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum AtDesk {
    /// Money goes back.
    Refund { amount_minor: i64 },
    /// The same order is paid once more.
    SecondPayment {},
    /// The buyer's bank takes the money back until it is decided who is right.
    Dispute {
        #[serde(default)]
        why: String,
    },
    /// The last dispute is decided for the shop.
    WinDispute {},
    /// The last dispute is decided for the buyer.
    LoseDispute {},
}

/// One thing that was done at the desk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DeskMade {
    pub(super) kind: DeskThing,
    pub(super) reference: String,
    pub(super) amount_minor: i64,
    pub(super) why: String,
}

/// What it is, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DeskThing {
    Refund,
    SecondPayment,
    Dispute,
    DisputeWon,
    DisputeLost,
}

impl Payment {
    /// Money of one kind that the desk moved.
    pub(super) fn at_desk_minor(&self, kind: DeskThing) -> i64 {
        self.desk.iter().filter(|made| made.kind == kind).map(|made| made.amount_minor).sum()
    }
}

impl Book {
    /// What something that is done at the desk changes.
    pub(super) fn decide_at_desk(
        &self,
        payment: &PaymentId,
        what: &AtDesk,
        now: Now,
    ) -> Result<Vec<Change>, Refused> {
        let there = self.find(payment)?;
        if there.state != State::Captured {
            return refused(409, "NOT_CAPTURED", "no money was taken, so there is nothing to do");
        }
        let number = there.desk.len();
        let open = |made: &DeskMade| made.kind == DeskThing::Dispute;
        let (index, made, kind) = match what {
            AtDesk::Refund { amount_minor } => {
                let back_minor = there.refunded_minor() + there.at_desk_minor(DeskThing::Refund);
                if *amount_minor < 1 {
                    return refused(422, "AMOUNT_INVALID", "amount_minor is at least 1");
                }
                if *amount_minor > there.asked.amount_minor - back_minor {
                    return refused(
                        409,
                        "OVER_REFUND",
                        "more would go back than is left of what was taken",
                    );
                }
                let why = "requested_by_customer".to_owned();
                (number, (DeskThing::Refund, *amount_minor, why), Kind::DeskRefunded)
            }
            AtDesk::SecondPayment {} => {
                let amount_minor = there.asked.amount_minor;
                (number, (DeskThing::SecondPayment, amount_minor, String::new()), Kind::Captured)
            }
            AtDesk::Dispute { why } => {
                let amount_minor = there.asked.amount_minor;
                (number, (DeskThing::Dispute, amount_minor, why.clone()), Kind::DisputeOpened)
            }
            AtDesk::WinDispute {} | AtDesk::LoseDispute {} => {
                let Some(index) = there.desk.iter().rposition(open) else {
                    return refused(409, "NO_DISPUTE", "there is no dispute to decide");
                };
                let DeskMade { amount_minor, why, .. } = there.desk[index].clone();
                let (thing, kind) = match what {
                    AtDesk::WinDispute {} => (DeskThing::DisputeWon, Kind::DisputeWon),
                    AtDesk::Refund { .. }
                    | AtDesk::SecondPayment {}
                    | AtDesk::Dispute { .. }
                    | AtDesk::LoseDispute {} => (DeskThing::DisputeLost, Kind::DisputeLost),
                };
                (index, (thing, amount_minor, why), kind)
            }
        };
        let (thing, amount_minor, why) = made;
        let reference = match there.desk.get(index) {
            Some(known) => known.reference.clone(),
            None => format!("{}-d{}", there.reference(), index + 1),
        };
        let made = DeskMade { kind: thing, reference, amount_minor, why };
        let told = WebhookFacts { kind, why: Some(&made.why), refund: None };
        let mut messages = there.messages(&[told], None, now);
        for message in &mut messages {
            message.desk = Some(index);
        }
        Ok(vec![Change::AtDesk { payment: payment.clone(), index, made, messages }])
    }
}
