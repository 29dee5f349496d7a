//! What we sign for visitors and operators and check ourselves: guest tokens, stream tickets,
//! sessions, links, and codes that are typed.
//!
//! The first byte says which; the rest changes one that was issued. Nothing but what was issued is
//! accepted, to the last character.

use super::{KEY, NOW_S, with_keys};
use crate::edits::edited;
use crate::verdict::Verdict;
use onrush_base::auth::TokenError;
use onrush_base::auth::carry::CarryCodes;
use onrush_base::auth::guest::GuestTokens;
use onrush_base::auth::keyring::Keyring;
use onrush_base::auth::link::BookingLinks;
use onrush_base::auth::session::Sessions;
use onrush_base::auth::ticket::{StreamTickets, TICKET_S};
use onrush_base::config::keys::Scope;
use std::fmt::Debug;
use std::sync::LazyLock;

/// How long guest tokens live here.
const GUEST_TTL_S: u32 = 60;
/// Carry codes are made of these, and of letters that are taken for them.
const SYMBOLS: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static LINKS: LazyLock<BookingLinks> = LazyLock::new(|| {
    let open = |keys: &_| BookingLinks::open(keys, None);
    with_keys(&["link-000000000001.key"], open).expect("keys that are there are read")
});

/// Changes a text that was issued, and shows it.
///
/// # Panics
/// If a changed one is accepted, or the one that was issued is not.
pub fn target(bytes: &[u8]) -> Verdict {
    let Some((kind, edits)) = bytes.split_first() else { return Verdict::Refused };
    match kind % 5 {
        0 => guest(edits),
        1 => stream_ticket(edits),
        2 => session(edits),
        3 => link(edits),
        _ => code(edits),
    }
}

/// Holds that a text is accepted if it is the one that was issued, and only then.
pub(super) fn judged<T: Debug, E: Debug>(
    issued: &str,
    shown: &str,
    result: &Result<T, E>,
) -> Verdict {
    assert_eq!(result.is_ok(), issued == shown, "{issued} was issued, {shown} is {result:?}");
    Verdict::on(result)
}

fn guest(edits: &[u8]) -> Verdict {
    let tokens = GuestTokens::new(&KEY, GUEST_TTL_S);
    let user: onrush_core::ids::UserId = "u_1.2-3".parse().expect("it is an id");
    let guest = tokens.mint_for(user.clone(), NOW_S);
    let shown = edited(&guest.token, edits);
    let read = tokens.read(&shown);
    if let Ok((of, until)) = &read {
        assert_eq!((of, *until), (&user, guest.expires_s), "it says something else");
    }
    let late = tokens.verify(&shown, guest.expires_s).expect_err("its time is over");
    assert_eq!(late == TokenError::Expired, read.is_ok(), "only a genuine one expires");
    judged(&guest.token, &shown, &tokens.verify(&shown, NOW_S)).or(Verdict::on(&read))
}

fn stream_ticket(edits: &[u8]) -> Verdict {
    let tickets = StreamTickets::new(&KEY);
    let user: onrush_core::ids::UserId = "ann".parse().expect("it is an id");
    let (issued, until) = tickets.mint(&user, NOW_S);
    assert_eq!(until, NOW_S + TICKET_S);
    let shown = edited(&issued, edits);
    let first = tickets.redeem(&shown, NOW_S);
    assert!(tickets.redeem(&shown, NOW_S).is_err(), "a ticket works once");
    judged(&issued, &shown, &first)
}

fn session(edits: &[u8]) -> Verdict {
    let door = vec![Scope::Door];
    let keys = Keyring::of([("admin", [1; 32], vec![Scope::Admin]), ("door", [2; 32], door)]);
    let sessions = Sessions::new(&KEY, &keys);
    let begun = sessions.begin(keys.named("door").expect("it is there"), NOW_S, 43_200);
    let (session, issued) = begun.expect("it is one of the keys");
    let shown = edited(&issued, edits);
    let read = sessions.verify(&shown, NOW_S);
    if let Ok(read) = &read {
        assert_eq!(*read, session, "it is another session");
    }
    let csrf = sessions.csrf(&session);
    let other = edited(&csrf, edits);
    assert_eq!(sessions.csrf_matches(&session, &other), csrf == other, "{csrf} is not {other}");
    judged(&issued, &shown, &read)
}

fn link(edits: &[u8]) -> Verdict {
    let booking = "tour.2026.00112233445566778899aabbccddeeff".parse().expect("it is an id");
    let issued = LINKS.make(&booking, 3);
    let shown = edited(&issued, edits);
    let read = LINKS.verify(&shown);
    if let Ok(link) = &read {
        assert_eq!((&link.booking, link.generation), (&booking, 3), "it opens something else");
    }
    judged(&issued, &shown, &read)
}

/// A code may be typed in many ways: it is known if it is the same twelve symbols.
fn code(edits: &[u8]) -> Verdict {
    let codes = CarryCodes::new(&KEY);
    let issued = "0123-ABCD-WXYZ";
    let shown = edited(issued, edits);
    let found = codes.hash(&shown).ok_or("no code");
    let same = codes.hash(issued);
    let plain = |text: &str| -> String {
        let letters = text.chars().filter(|letter| !matches!(letter, '-' | ' '));
        let letters = letters.map(|letter| match letter.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        });
        letters.collect()
    };
    let (typed, meant) = (plain(&shown), plain(issued));
    let is_code = typed.chars().count() == 12 && typed.chars().all(|it| SYMBOLS.contains(it));
    assert_eq!(found.is_ok(), is_code, "{shown}");
    assert_eq!(found.ok() == same, typed == meant, "{shown}");
    Verdict::on(&found)
}
