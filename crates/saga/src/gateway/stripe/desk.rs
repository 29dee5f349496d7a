//! What Stripe's own desk does: refunds without a key of ours in them, disputes, and money that
//! went back altogether.

use super::money::from_stripe;
use super::wire::{Charge, Dispute, Metadata, Refund};
use super::{StripeGateway, segment};
use crate::gateway::{DeskNews, FoundAtDesk, GatewayError, News, NotGenuine, Ours, RefundStanding};
use onrush_ledger::desk::{DeskKind, DeskStatus};

/// The payment of ours that an object's metadata names.
pub(super) fn ours(metadata: &Metadata) -> Option<Ours> {
    let payment = metadata.get("payment")?.parse().ok()?;
    let booking = metadata.get("booking")?.parse().ok()?;
    Some(Ours { payment, booking })
}

/// A refund that is none of ours; `None` if it is, or of a payment that cannot be ours.
fn news(made: Refund) -> Result<Option<DeskNews>, NotGenuine> {
    if made.key().is_some() {
        return Ok(None);
    }
    let Some(of) = made.payment_intent.clone() else { return Ok(None) };
    let money = from_stripe(made.amount, &made.currency).ok_or(NotGenuine::Unreadable)?;
    let (amount_minor, currency) = money;
    let reference = made.id.clone();
    let reason = made.reason.clone().unwrap_or_else(|| "no reason given".into());
    let (status, why) = match made.standing().ok_or(NotGenuine::Unreadable)? {
        RefundStanding::Pending { .. } => (DeskStatus::Open, reason),
        RefundStanding::Done { .. } => (DeskStatus::Moved, reason),
        RefundStanding::Failed { why, .. } => (DeskStatus::Stayed, format!("{why}: {reason}")),
    };
    let kind = DeskKind::Refund;
    Ok(Some(DeskNews { kind, status, reference, of, ours: None, amount_minor, currency, why }))
}

pub(super) fn refund(made: Refund) -> Result<Option<News>, NotGenuine> {
    Ok(news(made)?.map(News::Desk))
}

pub(super) fn dispute(dispute: Dispute) -> Result<Option<News>, NotGenuine> {
    let Dispute { id, payment_intent, amount, currency, status, reason } = dispute;
    let Some(of) = payment_intent else { return Ok(None) };
    let money = from_stripe(amount, &currency).ok_or(NotGenuine::Unreadable)?;
    let (amount_minor, currency) = money;
    let reason = reason.unwrap_or_else(|| "no reason given".into());
    // A bank that only asks has taken nothing. If it is not content it begins a dispute under the
    // same id, which is news and has an end of its own.
    let is_inquiry = status.starts_with("warning_");
    let reference = if is_inquiry { format!("{id}.inquiry") } else { id };
    Ok(Some(News::Desk(DeskNews {
        kind: DeskKind::Dispute,
        status: match status.as_str() {
            "lost" => DeskStatus::Moved,
            "won" | "warning_closed" | "prevented" => DeskStatus::Stayed,
            _ => DeskStatus::Open,
        },
        reference,
        of,
        ours: None,
        amount_minor,
        currency,
        why: format!("{status}: {reason}"),
    })))
}

pub(super) fn went_back(charge: Charge) -> Result<Option<News>, NotGenuine> {
    // That money was set free is told like this as well, by versions of the API before 2025-03-31: what
    // an account has set decides by which one a message is written.
    if charge.captured == Some(false) {
        return Ok(None);
    }
    let Some(reference) = charge.payment_intent else { return Ok(None) };
    let back = from_stripe(charge.amount_refunded, &charge.currency);
    let (back_minor, _) = back.ok_or(NotGenuine::Unreadable)?;
    let payment = ours(&charge.metadata).map(|ours| ours.payment);
    Ok(Some(News::WentBack { reference, payment, back_minor }))
}

impl StripeGateway {
    /// What its desk gave back of a payment, the earliest first.
    pub(super) async fn refunds_at_desk(
        &self,
        reference: &str,
    ) -> Result<Vec<FoundAtDesk>, GatewayError> {
        let unclear = |_| GatewayError::Unavailable("its refunds cannot be understood".into());
        let made = self.refunds_of(segment(reference)?).await?;
        let (mut found, mut is_after_ours) = (Vec::new(), false);
        for made in made.into_iter().rev() {
            // One of ours that failed was no decision in the end: what the desk gave back after it was
            // given in its place, most often.
            is_after_ours |= made.key().is_some() && made.is_alive();
            if let Some(news) = news(made).map_err(unclear)? {
                found.push(FoundAtDesk { news, is_after_ours });
            }
        }
        Ok(found)
    }
}
