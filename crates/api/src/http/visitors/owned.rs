//! What a visitor owns that lives on: as long as there is something, their guest token can be renewed.

use crate::answers::every_booking_of;
use crate::http::claims::claim::event_of_claim;
use crate::http::problem::Problem;
use crate::http::state::Sale;
use onrush_core::hold::HoldState;
use onrush_core::ids::{ClaimId, EventId, UserId};
use onrush_core::question::{ClaimOf, EventNow, PlaceOf};
use onrush_core::view::{ClaimState, HoldView};
use onrush_core::{Question, Refusal, Time};
use onrush_store::{Ask, Failure};

/// For how long after an event its visitors may still come back for what they bought.
const AFTER_EVENT_MS: i64 = 30 * 24 * 3_600_000;

/// Whether a visitor has a place, a booking that is still known, or this claim. A confirmed booking
/// counts until a month after its event; where the organiser did not say when that is, always.
pub(super) async fn owns_something(
    sale: &Sale,
    user: &UserId,
    claim: Option<&ClaimId>,
) -> Result<bool, Problem> {
    if let Some(claim) = claim
        && owns_claim(sale, user, claim).await?
    {
        return Ok(true);
    }
    for event in sale.engine.events().await?.value {
        if has_place(sale, &event, user).await? || has_booking(sale, &event, user).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the engine answers; `None` where there is nothing of the kind.
async fn ask<Q: Question>(
    sale: &Sale,
    event: &EventId,
    question: Q,
) -> Result<Option<Q::Answer>, Problem> {
    let answer = sale.engine.ask(event.clone(), question).await;
    if_there(answer.map(|answer| answer.value))
}

/// An answer; `None` if what was asked about is not there. An event that was archived may still be listed.
fn if_there<T>(answered: Result<T, Failure>) -> Result<Option<T>, Problem> {
    let missing = [
        Refusal::EventNotFound.code(),
        Refusal::EventArchived { archived_at: Time::MIN }.code(),
        Refusal::PlaceNotFound.code(),
        Refusal::ClaimNotFound.code(),
    ];
    match answered {
        Ok(answer) => Ok(Some(answer)),
        Err(Failure::Refused(refusal)) if missing.contains(&refusal.code()) => Ok(None),
        Err(failure) => Err(failure.into()),
    }
}

async fn has_place(sale: &Sale, event: &EventId, user: &UserId) -> Result<bool, Problem> {
    let first = PlaceOf { user: user.clone(), place: None };
    Ok(ask(sale, event, first).await?.is_some())
}

async fn has_booking(sale: &Sale, event: &EventId, user: &UserId) -> Result<bool, Problem> {
    let bookings = every_booking_of(&*sale.engine, event, user).await;
    let Some((_, bookings)) = if_there(bookings)? else { return Ok(false) };
    if bookings.is_empty() {
        return Ok(false);
    }
    if !bookings.iter().all(is_confirmed) {
        return Ok(true);
    }
    let Some(event) = ask(sale, event, EventNow).await? else { return Ok(false) };
    Ok(!is_long_over(event.settings.starts_at, sale.clock.now()))
}

/// What is not confirmed counts as long as the engine knows of it: it is under way, or ended within a day.
fn is_confirmed(booking: &HoldView) -> bool {
    match &booking.state {
        HoldState::Confirmed { .. } => true,
        HoldState::Held { .. }
        | HoldState::Paying { .. }
        | HoldState::Released { .. }
        | HoldState::Expired { .. }
        | HoldState::Cancelled { .. } => false,
    }
}

fn is_long_over(starts_at: Option<Time>, now: Time) -> bool {
    starts_at.is_some_and(|starts_at| now >= starts_at.plus_ms(AFTER_EVENT_MS))
}

async fn owns_claim(sale: &Sale, user: &UserId, claim: &ClaimId) -> Result<bool, Problem> {
    let Ok(event) = event_of_claim(claim) else { return Ok(false) };
    let theirs = ClaimOf { claim: claim.clone(), user: Some(user.clone()) };
    let Some(claim) = ask(sale, &event, theirs).await? else { return Ok(false) };
    Ok(match claim.state {
        ClaimState::Claimed { .. } => true,
        ClaimState::Returned { .. } | ClaimState::Expired { .. } | ClaimState::Adjusted { .. } => {
            false
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_owns_anything_of_an_event_that_was_archived_and_is_still_listed() {
        let archived = Refusal::EventArchived { archived_at: Time(7) };
        for refusal in [archived, Refusal::EventNotFound, Refusal::PlaceNotFound] {
            assert_eq!(if_there::<()>(Err(Failure::Refused(refusal))).ok(), Some(None));
        }
        assert_eq!(if_there(Ok(7)).ok(), Some(Some(7)));
        assert!(if_there::<()>(Err(Failure::Unreachable)).is_err());
    }
}
