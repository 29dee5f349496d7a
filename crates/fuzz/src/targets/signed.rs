//! What others verify: passes and tickets, as compact JWS.
//!
//! The first byte says which; the rest changes one that was issued, or is signed as its claims.

use super::tokens::judged;
use super::{NOW_S, with_keys};
use crate::edits::edited;
use crate::verdict::{Verdict, assert_sentence};
use onrush_base::auth::jws::{JwsSigner, JwsVerifier, NotGenuine, Use};
use onrush_base::auth::pass::PassSigner;
use onrush_base::tickets::{Confirmed, TicketClaims, TicketSigner};
use onrush_core::Time;
use onrush_core::ids::{PlaceId, TypeId};
use onrush_core::lines::Lines;
use onrush_core::types::{AskedTypes, HeldType, HeldTypes};
use onrush_store::embedded::{Clock, ManualClock};
use serde_json::Value;
use std::sync::LazyLock;

struct Signers {
    passes: PassSigner,
    tickets: TicketSigner,
    any_ticket: JwsSigner,
    pass_verifier: JwsVerifier,
}

static SIGNERS: LazyLock<Signers> = LazyLock::new(|| {
    let names = ["pass-000000000001.key", "ticket-000000000001.key"];
    with_keys(&names, |keys| {
        let clock = Clock::Manual(ManualClock::new(Time(NOW_S * 1_000)));
        let passes = PassSigner::open(keys, "onrush", clock).expect("the key is read");
        let pass_verifier = JwsVerifier::new(passes.published(), Use::Passes);
        let tickets = TicketSigner::open(keys, "onrush").expect("the key is read");
        let any_ticket = JwsSigner::open(keys, Use::Tickets).expect("the key is read");
        Signers { passes, tickets, any_ticket, pass_verifier }
    })
});

/// Changes what was issued, or signs what is no claims, and shows it.
///
/// # Panics
/// If what was changed is accepted, or one kind is taken for the other.
pub fn target(bytes: &[u8]) -> Verdict {
    let Some((kind, rest)) = bytes.split_first() else { return Verdict::Refused };
    match kind % 3 {
        0 => pass(rest),
        1 => ticket(rest),
        _ => claims(rest),
    }
}

fn pass(edits: &[u8]) -> Verdict {
    let signers = &*SIGNERS;
    let (event, user) = ("tour.1".parse().expect("an id"), "ann".parse().expect("an id"));
    let until = Time((NOW_S + 60) * 1_000);
    let issued = signers.passes.sign(&event, &user, PlaceId::from_u128(7), until, NOW_S);
    let issued = issued.expect("the session goes on for a minute");
    let shown = edited(&issued, edits);
    assert!(signers.tickets.verify(&shown).is_err(), "a pass is taken for a ticket");
    let found = signers.pass_verifier.verify::<Value>(&shown);
    if let Ok(claims) = &found {
        let said = (&claims["sub"], &claims["aud"], &claims["exp"]);
        assert_eq!(said, (&"ann".into(), &"tour.1".into(), &(NOW_S + 60).into()));
    }
    judged(&issued, &shown, &found)
}

fn ticket(edits: &[u8]) -> Verdict {
    let signers = &*SIGNERS;
    let booking = "e.1".parse().expect("an id");
    let (event, user) = ("e".parse().expect("an id"), "ann".parse().expect("an id"));
    let seats = vec!["B-1".parse().expect("an id")];
    let lines = Lines::new(Vec::new(), seats).expect("one seat");
    let at = Time(NOW_S * 1_000);
    let child = HeldType {
        id: "child".parse().expect("an id"),
        name: "Child".into(),
        proof: true,
        price_minor: 500,
        units: vec![(0, 1)],
    };
    let types = HeldTypes { asked: AskedTypes::default(), held: vec![child] };
    let types = Some(&types);
    let of = Confirmed { booking: &booking, event: &event, user: &user, lines: &lines, types, at };
    let issued = signers.tickets.sign_one(of, 1).expect("it has one ticket");
    let shown = edited(&issued.code, edits);
    let as_pass = signers.pass_verifier.verify::<Value>(&shown);
    assert!(as_pass.is_err(), "a ticket is taken for a pass");
    let found = signers.tickets.verify(&shown);
    if let Ok(claims) = &found {
        assert_eq!((claims.ticket, &claims.unit, &claims.booking), (1, &issued.unit, &booking));
        let id = claims.ticket_type.as_ref().map(TypeId::as_str);
        assert_eq!((id, claims.proof), (Some("child"), true));
    }
    judged(&issued.code, &shown, &found)
}

/// A key of ours signs tickets alone; should it ever sign something else, that must be no ticket.
fn claims(bytes: &[u8]) -> Verdict {
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return Verdict::Refused };
    let signers = &*SIGNERS;
    let found: Result<TicketClaims, NotGenuine> =
        signers.tickets.verify(&signers.any_ticket.sign(&value));
    match &found {
        Ok(claims) => {
            let again = signers.tickets.verify(&signers.any_ticket.sign(claims));
            assert_eq!(again.as_ref(), Ok(claims), "a ticket that was read says something else");
        }
        Err(why) => assert_sentence(&why.to_string()),
    }
    Verdict::on(&found)
}
