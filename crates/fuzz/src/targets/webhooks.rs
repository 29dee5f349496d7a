//! Messages of gateways. The first byte says whose, and whether the rest is the body, which is
//! signed, or changes to the signature or the body of a message that is in order.

use super::NOW_S;
use crate::edits::edited;
use crate::verdict::{Verdict, assert_sentence};
use axum::http::{HeaderMap, HeaderValue};
use onrush_base::config::Secret;
use onrush_base::signature::{TOLERANCE_S, sign};
use onrush_saga::gateway::sandbox::SandboxGateway;
use onrush_saga::gateway::stripe::StripeGateway;
use onrush_saga::gateway::{Gateway, News, NotGenuine, Notice, Standing};
use std::sync::LazyLock;

const SECRET: &str = "whsec_0123456789abcdef";
const STRIPE: &str = include_str!("../../corpus/webhooks/stripe.json");
const SANDBOX: &str = include_str!("../../corpus/webhooks/sandbox.json");

/// A gateway, the header that it signs with, and a message of its own.
struct Sender {
    gateway: Box<dyn Gateway>,
    header: &'static str,
    message: &'static str,
}

static SENDERS: LazyLock<[Sender; 2]> = LazyLock::new(|| {
    let secret = || Secret::from(SECRET.to_owned());
    let stripe = StripeGateway::new(&secret(), secret());
    let sandbox = SandboxGateway::new("http://127.0.0.1:1", &secret(), secret());
    [
        Sender {
            gateway: Box::new(stripe),
            header: onrush_saga::gateway::stripe::SIGNATURE,
            message: STRIPE.trim_ascii_end(),
        },
        Sender {
            gateway: Box::new(sandbox),
            header: onrush_sandbox::SIGNATURE,
            message: SANDBOX.trim_ascii_end(),
        },
    ]
});

/// Shows a message to a gateway's reader.
///
/// # Panics
/// If one is believed that was not signed as it is, or tells of money below nothing.
pub fn target(bytes: &[u8]) -> Verdict {
    let Some((kind, rest)) = bytes.split_first() else { return Verdict::Refused };
    let sender = &SENDERS[usize::from(kind & 1)];
    match kind >> 1 & 3 {
        0 | 1 => sender.signed(rest),
        2 => sender.header_changed(rest),
        _ => sender.body_changed(rest),
    }
}

impl Sender {
    fn read(&self, header: &str, body: &[u8], now_s: i64) -> Result<Notice, NotGenuine> {
        let mut headers = HeaderMap::new();
        if let Ok(value) = HeaderValue::from_bytes(header.as_bytes()) {
            headers.insert(self.header, value);
        }
        self.gateway.read_webhook(&headers, body, now_s)
    }

    fn signed(&self, body: &[u8]) -> Verdict {
        let header = sign(SECRET.as_bytes(), body, NOW_S);
        let found = self.read(&header, body, NOW_S);
        match &found {
            Ok(notice) => check(notice),
            Err(why) => assert_eq!(*why, NotGenuine::Unreadable, "it is signed, and fresh"),
        }
        let late = self.read(&header, body, NOW_S + TOLERANCE_S + 1);
        assert_eq!(late, Err(NotGenuine::TooOld));
        let other = self.read(&sign(b"another secret", body, NOW_S), body, NOW_S);
        assert_eq!(other, Err(NotGenuine::SignatureWrong));
        Verdict::on(&found)
    }

    /// A header may have spaces and other digests beside the right one; the right one it must have.
    fn header_changed(&self, edits: &[u8]) -> Verdict {
        let issued = sign(SECRET.as_bytes(), self.message.as_bytes(), NOW_S);
        let shown = edited(&issued, edits);
        let found = self.read(&shown, self.message.as_bytes(), NOW_S);
        match &found {
            Ok(_) => issued.split(',').for_each(|part| {
                assert!(shown.contains(part), "{shown} was accepted for {issued}");
            }),
            Err(why) => {
                assert_sentence(&why.to_string());
                assert_ne!(shown, issued, "what was signed is believed");
            }
        }
        Verdict::on(&found)
    }

    fn body_changed(&self, edits: &[u8]) -> Verdict {
        let header = sign(SECRET.as_bytes(), self.message.as_bytes(), NOW_S);
        let shown = edited(self.message, edits);
        let found = self.read(&header, shown.as_bytes(), NOW_S);
        assert_eq!(found.is_ok(), shown == self.message, "{shown} was signed by nobody");
        Verdict::on(&found)
    }
}

fn check(notice: &Notice) {
    let amount_minor = match &notice.news {
        Some(News::Payment { standing: Standing::Captured { amount_minor, .. }, .. }) => {
            *amount_minor
        }
        Some(News::Desk(news)) => news.amount_minor,
        Some(News::WentBack { back_minor, .. }) => *back_minor,
        Some(News::Refund { amount_minor, .. }) => *amount_minor,
        Some(News::Payment { .. }) | None => 0,
    };
    assert!(amount_minor >= 0, "money below nothing: {notice:?}");
}
