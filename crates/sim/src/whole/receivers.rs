//! Who is told: a mail server and receivers of webhooks, which are slow, ill, away for hours, or take
//! a message and lose the answer.

use super::story::Story;
use crate::chance::Chance;
use axum::http::{Request, StatusCode};
use bytes::Bytes;
use onrush_base::auth::hex;
use onrush_base::config::kinds::{BOOKING_CANCELLED, BOOKING_CONFIRMED};
use onrush_base::config::relay::{MailSettings, Tls, WebhookSettings};
use onrush_base::config::{CertificateSettings, Config};
use onrush_base::http_client::CallError;
use onrush_relay::courier::Channel;
use onrush_relay::mail::{Asked, Mail, MailChannel, MailServer, NotTaken, Sending};
use onrush_relay::messages::MAIL;
use onrush_relay::webhook::{Caller, Calling, WebhookChannel};
use onrush_relay::{Relay, RelayDeps};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a mail server is waited for that says nothing: as long as one may be that looks into a mail,
/// and the writing of it.
const SILENCE: Duration = Duration::from_secs(780);

/// A receiver of webhooks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hook {
    pub(super) name: &'static str,
    secret: &'static str,
    /// What it wants to be told; everything, if nothing is said.
    pub(super) kinds: Option<&'static [&'static str]>,
}

/// Wants to be told everything.
const BOOKS: Hook = Hook { name: "books", secret: "the secret of the books", kinds: None };
/// Wants to know who may come in.
const DOOR: Hook = Hook {
    name: "door",
    secret: "the secret of the door",
    kinds: Some(&[BOOKING_CONFIRMED, BOOKING_CANCELLED]),
};
/// Is never there.
const LOST: Hook =
    Hook { name: "lost", secret: "a secret of nobody's", kinds: Some(&[BOOKING_CANCELLED]) };

impl Hook {
    pub(super) fn channel(&self) -> String {
        format!("webhook:{}", self.name)
    }

    fn settings(&self) -> WebhookSettings {
        WebhookSettings {
            name: self.name.to_owned(),
            url: format!("http://{}.example/messages", self.name),
            secret: self.secret.to_owned().into(),
            kinds: self.kinds.map(|kinds| kinds.iter().map(|&kind| kind.to_owned()).collect()),
            allow_private: true,
            certificates: CertificateSettings::default(),
        }
    }
}

/// A message that somebody took. One that came twice is there twice.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) channel: String,
    pub(super) id: String,
    pub(super) said: Said,
}

/// What it says.
#[derive(Clone, Debug)]
pub(super) enum Said {
    /// A webhook: its body, and whether it was signed with the receiver's secret.
    Hook { body: Value, is_signed: bool },
    /// A mail.
    Mail { to: String, subject: String, text: String },
}

struct Desk {
    chance: Chance,
    /// Until when nobody is there, by channel.
    away: BTreeMap<String, Instant>,
    taken: Vec<Taken>,
    /// What was refused for good, by channel and message.
    refused: BTreeSet<(String, String)>,
}

/// All of them.
pub(super) struct Receivers {
    pub(super) hooks: Vec<Hook>,
    has_mail: bool,
    desk: Mutex<Desk>,
    has_faults: AtomicBool,
    story: Story,
}

/// What a receiver does with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    Takes,
    /// It has the message, and the line breaks before it says so.
    LosesAnswer,
    /// It has the message, and says nothing.
    TakesInSilence,
    Silent,
    IsIll,
    RefusesForGood,
    IsAway,
}

impl Receivers {
    pub(super) fn of(seed: u64, has_faults: bool, story: Story) -> Arc<Self> {
        let mut chance = Chance::of(seed, "receivers", 0);
        let (mut hooks, mut has_mail) = (Vec::new(), false);
        if chance.percent(65) {
            has_mail = chance.percent(60);
            hooks.push(BOOKS);
            if chance.percent(50) {
                hooks.push(DOOR);
            }
            if has_faults && chance.percent(6) {
                hooks.push(LOST);
            }
        }
        let desk =
            Desk { chance, away: BTreeMap::new(), taken: Vec::new(), refused: BTreeSet::new() };
        let (desk, has_faults) = (Mutex::new(desk), AtomicBool::new(has_faults));
        Arc::new(Self { hooks, has_mail, desk, has_faults, story })
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on everybody is there and takes everything, but who never is.
    pub(super) fn calm(&self) {
        self.has_faults.store(false, Ordering::Relaxed);
    }

    /// Whether one of them is never there.
    pub(super) fn has_lost(&self) -> bool {
        self.hooks.iter().any(|hook| hook.name == LOST.name)
    }

    /// Whether buyers get mail.
    pub(super) fn has_mail(&self) -> bool {
        self.has_mail
    }

    /// The names of all channels.
    pub(super) fn channels(&self) -> Vec<String> {
        let mail = self.has_mail.then(|| MAIL.to_owned());
        mail.into_iter().chain(self.hooks.iter().map(Hook::channel)).collect()
    }

    /// Has the server tell them.
    pub(super) fn configure(&self, config: &mut Config) {
        config.webhooks = self.hooks.iter().map(Hook::settings).collect();
        config.mail = self.has_mail.then(|| MailSettings {
            smtp: "mail.example:25".into(),
            tls: Tls::None,
            user: None,
            password: None,
            from: "Tickets <tickets@sale.example>".into(),
            reply_to: None,
            booking_url: None,
            certificates: CertificateSettings::default(),
        });
    }

    /// Couriers who come to them.
    pub(super) fn relay(self: &Arc<Self>, config: &Config, parts: &RelayDeps) -> Arc<Relay> {
        let mut channels: Vec<Arc<dyn Channel>> = Vec::new();
        if let Some(settings) = &config.mail {
            let server = Box::new(AtMail(self.clone()));
            let channel = MailChannel::over(settings, parts, server);
            channels.push(Arc::new(channel.expect("settings that are in order")));
        }
        for (hook, settings) in self.hooks.iter().zip(&config.webhooks) {
            let caller = Box::new(AtHook { receivers: self.clone(), hook: *hook });
            let channel = WebhookChannel::over(settings, parts, caller);
            channels.push(Arc::new(channel.expect("settings that are in order")));
        }
        Arc::new(Relay::over(config, parts, channels))
    }

    /// What was taken, in that order.
    pub(super) fn taken(&self) -> Vec<Taken> {
        self.desk().taken.clone()
    }

    /// Whether this message was refused for good.
    pub(super) fn refused(&self, channel: &str, id: &str) -> bool {
        self.desk().refused.contains(&(channel.to_owned(), id.to_owned()))
    }

    /// How many messages were taken, and how many of them had been taken before.
    pub(super) fn counts(&self) -> (u64, u64) {
        let desk = self.desk();
        let all = desk.taken.len() as u64;
        let once: BTreeSet<_> =
            desk.taken.iter().map(|taken| (&taken.channel, &taken.id)).collect();
        (all, all - once.len() as u64)
    }

    /// Lets a message come to whom it is for. What is taken stays taken, whoever waits for an answer.
    async fn meet(&self, message: Taken, refuses: bool, patience: Duration) -> Met {
        let (met, after_ms) = self.fate(&message.channel, refuses);
        sleep(Duration::from_millis(after_ms)).await;
        match met {
            Met::Takes | Met::LosesAnswer | Met::TakesInSilence => {
                self.story.tell(&message.channel, format!("{met:?} {}", message.id));
                self.desk().taken.push(message);
            }
            Met::RefusesForGood => {
                self.story.tell(&message.channel, format!("refuses {} for good", message.id));
                self.desk().refused.insert((message.channel, message.id));
            }
            Met::Silent | Met::IsIll | Met::IsAway => {}
        }
        if matches!(met, Met::Silent | Met::TakesInSilence) {
            sleep(patience).await;
        }
        met
    }

    /// What becomes of a message, and after how many milliseconds.
    fn fate(&self, channel: &str, refuses: bool) -> (Met, u64) {
        let mut desk = self.desk();
        let Desk { chance, away, .. } = &mut *desk;
        if channel == LOST.channel() {
            return (Met::IsAway, 5);
        }
        let usual = if refuses { Met::RefusesForGood } else { Met::Takes };
        if !self.has_faults.load(Ordering::Relaxed) {
            return (usual, 20);
        }
        if away.get(channel).is_some_and(|until| Instant::now() < *until) {
            return (Met::IsAway, 5);
        }
        let ms =
            if chance.percent(5) { chance.within(1_000, 9_000) } else { chance.within(5, 400) };
        let met = match chance.below(200) {
            0 => {
                let hours = Duration::from_secs(chance.within(600, 4 * 3_600).unsigned_abs());
                self.story.tell(channel, format!("is away for {} s", hours.as_secs()));
                away.insert(channel.to_owned(), Instant::now() + hours);
                Met::IsAway
            }
            1..=8 => Met::LosesAnswer,
            9..=14 => Met::TakesInSilence,
            15..=18 => Met::Silent,
            19..=28 => Met::IsIll,
            29 if channel != MAIL => Met::RefusesForGood,
            _ => usual,
        };
        (met, ms.unsigned_abs())
    }
}

/// The way to the mail server.
struct AtMail(Arc<Receivers>);

impl MailServer for AtMail {
    fn send(&self, mail: Mail) -> Sending<'_> {
        Box::pin(async move {
            let message = read(&mail);
            // Some addresses are nobody's.
            let is_nobodys =
                matches!(&message.said, Said::Mail { to, .. } if to.starts_with("nobody"));
            let not_taken = |code, said: &str| {
                Err(NotTaken { code, asked: Asked::Receiver, said: said.to_owned() })
            };
            match self.0.meet(message, is_nobodys, SILENCE).await {
                Met::Takes => Ok(()),
                Met::LosesAnswer | Met::TakesInSilence | Met::Silent => {
                    not_taken(None, "the connection broke")
                }
                Met::IsIll => not_taken(Some(451), "local error in processing"),
                Met::RefusesForGood => not_taken(Some(550), "no such mailbox"),
                Met::IsAway => not_taken(None, "nobody is there"),
            }
        })
    }
}

/// What somebody reads who gets a mail.
fn read(mail: &Mail) -> Taken {
    let header = |name| mail.headers().get_raw(name).unwrap_or_default().to_owned();
    let id = header("Message-ID");
    let id = id.trim_matches(['<', '>']).split('@').next().unwrap_or_default().to_owned();
    let to = mail.envelope().to().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    // The plain text comes first, and what matters of it is ASCII: only soft breaks are undone.
    let whole = String::from_utf8_lossy(&mail.formatted()).replace("=\r\n", "");
    let text = whole.split("Content-Type: text/html").next().unwrap_or_default().to_owned();
    let said = Said::Mail { to, subject: header("Subject"), text };
    Taken { channel: MAIL.to_owned(), id, said }
}

/// The way to one receiver of webhooks.
struct AtHook {
    receivers: Arc<Receivers>,
    hook: Hook,
}

impl Caller for AtHook {
    fn call(&self, request: Request<Bytes>, timeout_ms: u64) -> Calling<'_> {
        Box::pin(async move {
            let header = |name| {
                let value = request.headers().get(name).and_then(|value| value.to_str().ok());
                value.unwrap_or_default().to_owned()
            };
            let (id, signature) = (header("onrush-message-id"), header("onrush-signature"));
            let is_signed = is_signed(self.hook.secret, &signature, request.body());
            let body = serde_json::from_slice(request.body()).unwrap_or(Value::Null);
            let said = Said::Hook { body, is_signed };
            let message = Taken { channel: self.hook.channel(), id, said };
            let patience = Duration::from_millis(timeout_ms);
            let met = self.receivers.meet(message, false, patience);
            let met = tokio::time::timeout(patience, met).await.map_err(|_| CallError::TimedOut)?;
            match met {
                Met::Takes => Ok(StatusCode::NO_CONTENT),
                Met::IsIll => Ok(StatusCode::SERVICE_UNAVAILABLE),
                Met::RefusesForGood => Ok(StatusCode::GONE),
                Met::LosesAnswer => Err(CallError::Broken("reset".into())),
                Met::IsAway => Err(CallError::Unreachable("nobody is there".into())),
                Met::Silent | Met::TakesInSilence => Err(CallError::TimedOut),
            }
        })
    }
}

/// Whether a header is `t=<s>,v1=<HMAC-SHA256 of "<s>.<body>">`, as the documents say.
fn is_signed(secret: &str, header: &str, body: &[u8]) -> bool {
    let Some((time, digest)) = header.split_once(",v1=") else { return false };
    let Some(time) = time.strip_prefix("t=") else { return false };
    let signed = [time.as_bytes(), b".", body].concat();
    digest == hex(&hmac(secret.as_bytes(), &signed))
}

/// HMAC-SHA256 (RFC 2104), for keys of at most 64 bytes.
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let padded = |with: u8| {
        (0..64).map(|at| key.get(at).copied().unwrap_or_default() ^ with).collect::<Vec<u8>>()
    };
    let inner = Sha256::digest([&padded(0x36)[..], text].concat());
    Sha256::digest([&padded(0x5c)[..], &inner[..]].concat()).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2.
    #[test]
    fn signatures_are_those_of_the_standard() {
        let right = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex(&hmac(b"Jefe", b"what do ya want for nothing?")), right);
        let signed = hex(&hmac(b"secret", b"7.body"));
        assert!(is_signed("secret", &format!("t=7,v1={signed}"), b"body"));
        assert!(!is_signed("secret", &format!("t=8,v1={signed}"), b"body"));
        assert!(!is_signed("another", &format!("t=7,v1={signed}"), b"body"));
    }
}
