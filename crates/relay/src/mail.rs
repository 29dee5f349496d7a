//! Mail to buyers, over the shop's own SMTP server.
//!
//! Anyone can type anyone's address. So nothing is sent about a booking that nobody tried to pay
//! for, and mail about one that no money was taken for repeats nothing that its buyer typed, and
//! comes at most once a day to an address for an event. Mail about money is never held back, nor is
//! what an organiser has sent again.

use crate::courier::{Attempt, Attempting, Channel};
use crate::deps::RelayDeps;
use crate::letter::{Facts, Letter, RefundBy, addressable, compose, one_line};
use crate::messages::{CANCELLED_BY_BUYER, CANCELLED_BY_LINK, MAIL};
use crate::smtp::{PARALLEL, Smtp};
use crate::trouble::without_addresses;
use lettre::Address;
use lettre::message::header::ContentType;
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};
use onrush_base::auth::link::BookingLinks;
use onrush_base::beside::beside;
use onrush_base::config::ConfigError;
use onrush_base::config::kinds::{BOOKING_CANCELLED, BOOKING_CONFIRMED, BOOKING_EXPIRED};
use onrush_base::config::relay::MailSettings;
use onrush_base::tickets::{Confirmed, TicketSigner};
use onrush_core::Time;
use onrush_core::hold::HoldStatus;
use onrush_core::ids::{BookingId, EventId};
use onrush_core::question::EventNow;
use onrush_core::saga::Stage;
use onrush_core::settings::Settings;
use onrush_core::tax::Tax;
use onrush_ledger::booking::{Booking, Buyer};
use onrush_ledger::delivery::Message;
use onrush_ledger::projection::CatalogueText;
use onrush_ledger::saga::tells_of_a_try;
use onrush_ledger::{Ledger, LedgerError};
use onrush_store::embedded::Clock;
use onrush_store::{Ask, Engine, Failure};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use lettre::Message as Mail;

/// How long it may take to read what a mail is about, and to write it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// What takes mail: the shop's SMTP server, or a simulated one.
pub trait MailServer: Send + Sync + 'static {
    /// Hands over one mail. It ends in bounded time, but waits for the answer of a slow server: that one
    /// may have the mail already.
    fn send(&self, mail: Mail) -> Sending<'_>;
}

/// A mail on its way to the server.
pub type Sending<'a> = Pin<Box<dyn Future<Output = Result<(), NotTaken>> + Send + 'a>>;

/// Why a server did not take a mail, or cannot be told to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotTaken {
    /// What it answered, if it answered.
    pub code: Option<u16>,
    /// What it had been asked.
    pub asked: Asked,
    /// What went wrong.
    pub said: String,
}

/// What a server had been asked when it did not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To be there, to let the shop log in, and to send in its name.
    Session,
    /// To deliver to the buyer.
    Receiver,
    /// To take what the mail says.
    Content,
}

/// The channel to buyers.
pub struct MailChannel {
    work: Arc<Work>,
}

struct Work {
    ledger: Arc<dyn Ledger>,
    engine: Arc<dyn Engine>,
    tickets: Arc<TicketSigner>,
    clock: Clock,
    server: Box<dyn MailServer>,
    from: Mailbox,
    reply_to: Option<Mailbox>,
    links: Arc<BookingLinks>,
}

/// A mail and the address that it goes to, or what came of its message without one.
type Written = Result<(Mail, String), Attempt>;

/// What the body of a message may say, as far as a mail needs it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Said {
    refund_minor: i64,
    by_hand: bool,
    why: String,
    late: bool,
    /// Since when the booking is confirmed, if an organiser has that told again.
    confirmed_at: Option<Time>,
}

impl MailChannel {
    /// The channel over one server. It is not connected to yet.
    ///
    /// # Errors
    /// The settings cannot be used.
    pub fn new(settings: &MailSettings, parts: &RelayDeps) -> Result<Self, ConfigError> {
        settings.check().map_err(ConfigError::new)?;
        let server = Smtp::new(settings)?;
        Self::with(settings, parts, Box::new(server))
    }

    /// The channel over a server that is not spoken with over sockets.
    ///
    /// # Errors
    /// The settings cannot be used.
    pub fn over(
        settings: &MailSettings,
        parts: &RelayDeps,
        server: Box<dyn MailServer>,
    ) -> Result<Self, ConfigError> {
        settings.check().map_err(ConfigError::new)?;
        Self::with(settings, parts, server)
    }

    fn with(
        settings: &MailSettings,
        parts: &RelayDeps,
        server: Box<dyn MailServer>,
    ) -> Result<Self, ConfigError> {
        let work = Work {
            ledger: parts.ledger.clone(),
            engine: parts.engine.clone(),
            tickets: parts.tickets.clone(),
            clock: parts.clock.clone(),
            server,
            from: settings.from().map_err(ConfigError::new)?,
            reply_to: settings.reply_to().map_err(ConfigError::new)?,
            links: parts.links.clone(),
        };
        Ok(Self { work: Arc::new(work) })
    }
}

impl Channel for MailChannel {
    fn name(&self) -> &str {
        MAIL
    }

    fn setting(&self) -> &str {
        "mail.smtp"
    }

    fn parallel(&self) -> usize {
        PARALLEL
    }

    fn attempt(&self, message: Message) -> Attempting {
        let work = self.work.clone();
        Box::pin(async move {
            let written = tokio::time::timeout(WRITE_TIMEOUT, work.written(&message)).await;
            let (mail, email) = match written {
                Ok(Ok(Ok(written))) => written,
                Ok(Ok(Err(attempt))) => return attempt,
                Ok(Err(error)) => return Attempt::Failed(format!("the ledger: {error}")),
                Err(_) => return Attempt::Failed("the mail took too long to write".into()),
            };
            match work.server.send(mail).await {
                Ok(()) => Attempt::Done,
                Err(why) => failed(&why, &email),
            }
        })
    }
}

impl Work {
    /// The mail, and to whom it goes; or what came of the message without one.
    async fn written(self: &Arc<Self>, message: &Message) -> Result<Written, LedgerError> {
        let Some(id) = &message.booking else { return Ok(Err(Attempt::Needless)) };
        // Whichever link counts by now: an earlier one may have been withdrawn since this was to be told.
        let generation = self.ledger.link_generation(id).await?;
        // Who the buyer is, is asked only now: they may have asked to be forgotten.
        let Some(mut buyer) = self.ledger.buyer(id).await? else {
            return Ok(Err(Attempt::Needless));
        };
        if buyer.email.is_empty() {
            return Ok(Err(Attempt::Needless));
        }
        let booking = self.ledger.booking(id).await?;
        if message.kind == BOOKING_EXPIRED {
            // Money that came late has bought them: nobody is to hear that they are on sale again.
            if booking.as_ref().is_some_and(|booking| was_sold(booking.status)) {
                return Ok(Err(Attempt::Needless));
            }
            match self.tried_in_vain(id).await? {
                Some(true) => {}
                Some(false) => return Ok(Err(Attempt::Needless)),
                None => {
                    return Ok(Err(Attempt::NotYet("the payment's end is not known yet".into())));
                }
            }
        }
        let Some(booking) = booking else {
            return Ok(Err(Attempt::Failed("the booking is not in the ledger yet".into())));
        };
        // Void tickets are not sent. That the booking was cancelled is another mail.
        if message.kind == BOOKING_CONFIRMED && booking.status != HoldStatus::Confirmed {
            return Ok(Err(not_confirmed(message, booking.status)));
        }
        if message.kind == BOOKING_EXPIRED || booking.amount_minor == 0 {
            buyer.name.clear();
        }
        if is_limited(message, &booking) {
            let address = address_hash(&buyer.email);
            let at = self.clock.now();
            if !self.ledger.may_mail(address, &message.event, &message.id, at).await? {
                tracing::info!(message = %message.id, "a mail was left out: the address had one");
                return Ok(Err(Attempt::Needless));
            }
        }
        // A mail that tells of no tax where there is one must not go out.
        let Settings { title, tax, .. } = match self.settings(&message.event).await? {
            Ok(settings) => settings,
            Err(why) => return Ok(Err(Attempt::Failed(why.to_string()))),
        };
        let texts = self.texts(&message.event, &buyer.language, &title).await?;
        // Nobody gets the link of whoever was put in their place meanwhile, nor one that was withdrawn.
        if self.ledger.link_generation(id).await? != generation {
            return Ok(Err(Attempt::NotYet("the booking's links were withdrawn just now".into())));
        }
        let email = buyer.email.clone();
        let (work, message) = (self.clone(), message.clone());
        // Signatures and pictures of many tickets take long, and others wait for this thread.
        let written = beside(move || {
            let letter = work.letter(&message, &booking, &buyer, (&texts, tax), generation)?;
            Some(work.mail(&message.id, &buyer, letter))
        });
        let mail = match written.await {
            Ok(None) => return Ok(Err(Attempt::Needless)),
            Ok(Some(Ok(mail))) => mail,
            Ok(Some(Err(why))) => return Ok(Err(Attempt::Hopeless(why))),
            Err(_) => return Ok(Err(Attempt::Failed("the mail could not be written".into()))),
        };
        Ok(Ok((mail, email)))
    }

    /// Whether somebody really tried to pay for a booking, and no money was taken: it was set aside
    /// or under way, or the gateway declined. `None` while a payment may still take some.
    async fn tried_in_vain(&self, booking: &BookingId) -> Result<Option<bool>, LedgerError> {
        let Some(record) = self.ledger.saga_record(booking).await? else { return Ok(Some(false)) };
        let mut is_open = false;
        for payment in &record.payments {
            match payment.stage {
                Stage::Creating
                | Stage::Open
                | Stage::Authorised
                | Stage::Capturing
                | Stage::Closing => is_open = true,
                Stage::Closed | Stage::Void => {}
                // Another mail tells what it bought, or that it goes back.
                Stage::Captured | Stage::Refunding | Stage::Returned | Stage::Refunded => {
                    return Ok(Some(false));
                }
            }
        }
        if is_open {
            return Ok(None);
        }
        if record.payments.is_empty() {
            return Ok(Some(false));
        }
        let history = self.ledger.history(booking).await?;
        Ok(Some(history.iter().any(|line| tells_of_a_try(&line.note))))
    }

    /// What an organiser set. The engine tells no more of an event that was archived, and the ledger
    /// does.
    async fn settings(&self, event: &EventId) -> Result<Result<Settings, Failure>, LedgerError> {
        match self.engine.ask(event.clone(), EventNow).await {
            Ok(answer) => Ok(Ok(answer.value.settings)),
            Err(why @ Failure::Refused(_)) => Ok(self.ledger.settings_of(event).await?.ok_or(why)),
            Err(why) => Ok(Err(why)),
        }
    }

    /// What is to be read about the event: in the buyer's language, or another one, or at least its
    /// title.
    async fn texts(
        &self,
        event: &EventId,
        language: &str,
        title: &str,
    ) -> Result<CatalogueText, LedgerError> {
        let mut texts = self.ledger.texts(event).await?;
        let primary = |tag: &str| tag.split(['-', '_']).next().map(str::to_ascii_lowercase);
        let rank = |tag: &str| {
            let is = |wanted: &str| primary(tag) == primary(wanted);
            (tag != language, !is(language), !is("en"))
        };
        texts.sort_by_key(|(tag, _)| rank(tag));
        let mut text = texts.into_iter().next().map(|(_, text)| text).unwrap_or_default();
        if text.title.is_empty() {
            text.title = if title.is_empty() { event.to_string() } else { title.to_owned() };
        }
        Ok(text)
    }

    fn letter(
        &self,
        message: &Message,
        booking: &Booking,
        buyer: &Buyer,
        (texts, tax): (&CatalogueText, Option<Tax>),
        generation: u32,
    ) -> Option<Letter> {
        let said: Said = serde_json::from_str(&message.body).unwrap_or_default();
        let confirmed = Confirmed {
            booking: &booking.booking,
            event: &booking.event,
            user: &booking.user,
            lines: &booking.lines,
            types: booking.types.as_deref(),
            // When the booking was confirmed, so that these are the tickets that everybody else sees.
            at: said.confirmed_at.unwrap_or(message.at),
        };
        let tickets = match message.kind.as_str() {
            BOOKING_CONFIRMED => self.tickets.sign_all(confirmed),
            _ => Vec::new(),
        };
        let link = self.links.make(&booking.booking, generation);
        let url = self.links.address(&booking.booking, &link);
        compose(&Facts {
            kind: &message.kind,
            language: &buyer.language,
            name: &buyer.name,
            title: &texts.title,
            venue: &texts.venue,
            booking: booking.booking.as_str(),
            lines: &booking.lines,
            amount_minor: booking.amount_minor,
            fee_minor: booking.fee_minor,
            tax,
            currency: booking.currency,
            refund_minor: said.refund_minor,
            refund_by: if said.by_hand { RefundBy::Hand } else { RefundBy::Gateway },
            why: if message.kind == BOOKING_CANCELLED { &said.why } else { "" },
            late: said.late,
            booked: booking.status == HoldStatus::Confirmed,
            tickets: &tickets,
            url: url.as_deref(),
            url_is_secret: self.links.is_in_address(),
        })
    }

    fn mail(&self, id: &str, buyer: &Buyer, letter: Letter) -> Result<Mail, String> {
        // What goes wrong is kept, so it must not say who it is.
        let address: Address =
            buyer.email.parse().map_err(|_| "the buyer's address is none".to_owned())?;
        let name = addressable(&buyer.name);
        let mut pictured = MultiPart::related().singlepart(SinglePart::html(letter.html));
        for (name, png) in letter.pictures {
            let picture = ContentType::parse("image/png").map_err(|error| error.to_string())?;
            pictured = pictured.singlepart(Attachment::new_inline(name).body(png, picture));
        }
        let content =
            MultiPart::alternative().singlepart(SinglePart::plain(letter.text)).multipart(pictured);
        let mut mail = Mail::builder()
            .from(self.from.clone())
            .to(Mailbox::new(name, address))
            .subject(letter.subject)
            // The same message has the same id however often it is sent, so that mail programs can
            // drop repeats.
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())));
        if let Some(reply_to) = &self.reply_to {
            mail = mail.reply_to(reply_to.clone());
        }
        mail.multipart(content).map_err(|error| format!("the mail cannot be written: {error}"))
    }
}

/// Whether a booking was sold, also if it was taken back since.
fn was_sold(status: HoldStatus) -> bool {
    match status {
        HoldStatus::Confirmed | HoldStatus::Cancelled => true,
        HoldStatus::Held | HoldStatus::Paying | HoldStatus::Released | HoldStatus::Expired => false,
    }
}

/// What comes of the confirmation of a booking that is not confirmed as far as the ledger knows: it is not
/// any more, or, where the confirmation is sent again, the ledger may not have heard of it yet.
fn not_confirmed(message: &Message, status: HoldStatus) -> Attempt {
    let said: Said = serde_json::from_str(&message.body).unwrap_or_default();
    let is_sent_again = said.confirmed_at.is_some();
    match status {
        HoldStatus::Held | HoldStatus::Paying | HoldStatus::Expired if is_sent_again => {
            Attempt::Failed("the ledger does not know yet that the booking is confirmed".into())
        }
        HoldStatus::Held
        | HoldStatus::Paying
        | HoldStatus::Confirmed
        | HoldStatus::Released
        | HoldStatus::Expired
        | HoldStatus::Cancelled => Attempt::Needless,
    }
}

/// Whether a stranger could have it sent at no cost: without money, and by their own doing.
fn is_limited(message: &Message, booking: &Booking) -> bool {
    let said: Said = serde_json::from_str(&message.body).unwrap_or_default();
    match message.kind.as_str() {
        BOOKING_EXPIRED => true,
        BOOKING_CONFIRMED => booking.amount_minor == 0 && said.confirmed_at.is_none(),
        BOOKING_CANCELLED => {
            booking.amount_minor == 0
                && [CANCELLED_BY_BUYER, CANCELLED_BY_LINK].contains(&said.why.as_str())
        }
        _ => false,
    }
}

/// A hash of the mailbox that an address means: whatever the capitals, and whatever follows a plus sign.
fn address_hash(email: &str) -> [u8; 32] {
    let email = email.to_lowercase();
    let mailbox = match email.rsplit_once('@') {
        Some((local, host)) => {
            let local = local.split_once('+').map_or(local, |(before, _)| before);
            format!("{local}@{host}")
        }
        None => email,
    };
    Sha256::digest(mailbox).into()
}

/// What a failure means. Only what is said of this address is final: the rest is the server's
/// trouble or ours. 550 is said of mailboxes that are not there, and of relaying, quotas and
/// policies: which of them, the enhanced code after it tells (RFC 3463). Without one it is the
/// mailbox if the server was asked to deliver to it, and a policy if it has the content
/// (RFC 5321, 4.2.3 and 4.3.2). Before either it knows nothing of the address.
pub(crate) fn failed(why: &NotTaken, email: &str) -> Attempt {
    let said = one_line(&why.said).replace(email, "(the buyer's address)");
    // It is kept after the buyer is erased, and servers spell addresses as they like, or tell others.
    let kept = without_addresses(&said);
    let is_final = match why.asked {
        Asked::Session => false,
        // Many servers say only here what they have against the sender or the connection.
        Asked::Receiver => {
            enhanced(&said).map_or_else(|| !is_of_the_sender(&said), is_of_the_mailbox)
        }
        Asked::Content => enhanced(&said).is_some_and(is_of_the_mailbox),
    };
    match why.code {
        Some(550 | 551 | 553) if is_final => Attempt::Hopeless(kept),
        Some(_) | None => Attempt::Failed(kept),
    }
}

/// Subject and detail of the first enhanced code for a refusal that stands in an answer.
fn enhanced(said: &str) -> Option<(u16, u16)> {
    said.split(|letter: char| !(letter.is_ascii_digit() || letter == '.')).find_map(|word| {
        let (subject, detail) = word.trim_matches('.').strip_prefix("5.")?.split_once('.')?;
        let is_short = |part: &str| (1..=3).contains(&part.len());
        let both = is_short(subject) && is_short(detail);
        both.then(|| Some((subject.parse().ok()?, detail.parse().ok()?))).flatten()
    })
}

/// Whether a refusal without an enhanced code is of whoever sends, by its words. In doubt it is, and is
/// tried again.
fn is_of_the_sender(said: &str) -> bool {
    let said = said.to_lowercase();
    let words = [
        "relay",
        "sender",
        "authent",
        "prohibit",
        "policy",
        "quota",
        "limit",
        "blocked",
        "blacklist",
    ];
    words.iter().any(|word| said.contains(word))
}

/// Whether an enhanced code says that this mailbox is none, or is closed; 1.0 says nothing of what it is
/// about, and 1.7 and 1.8 are of the sender's address, which is the shop's own.
const fn is_of_the_mailbox((subject, detail): (u16, u16)) -> bool {
    matches!((subject, detail), (1, 1..=6 | 9..) | (2, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_said_of_the_mailbox_is_final() {
        for (code, said, is_final) in [
            (Some(550), "permanent error (550): no such user", true),
            (Some(550), "permanent error (550): 5.1.1 <ann@x.org>: no such user", true),
            (Some(550), "permanent error (550): 5.2.1 mailbox disabled", true),
            (Some(553), "permanent error (553): 5.1.3 bad address", true),
            (Some(551), "permanent error (551): elsewhere", true),
            (Some(550), "permanent error (550): relay not permitted", false),
            (Some(550), "permanent error (550): Sender verify failed", false),
            // Versions and addresses of servers are no codes.
            (Some(550), "permanent error (550): mx5.1.22.7 says no, try 127.5.7.1", true),
            (Some(550), "permanent error (550): 5.1.0 policy violation", false),
            (Some(550), "permanent error (550): 5.1.8 bad sender's system address", false),
            (Some(550), "permanent error (550): 5.7.1 relaying denied", false),
            (Some(550), "permanent error (550): 5.4.5 daily quota exceeded", false),
            (Some(550), "permanent error (550): 5.2.2 mailbox full", false),
            (Some(554), "permanent error (554): 5.1.1 no such user", false),
            (Some(451), "transient error (451): not now", false),
            (None, "no connection", false),
        ] {
            for (asked, may_be_final) in [
                (Asked::Session, false),
                (Asked::Receiver, true),
                (Asked::Content, enhanced(said).is_some()),
            ] {
                let attempt = failed(&NotTaken { code, asked, said: said.into() }, "ann@x.org");
                let expected = is_final && may_be_final;
                assert_eq!(
                    matches!(attempt, Attempt::Hopeless(_)),
                    expected,
                    "{said}: {attempt:?}"
                );
            }
        }
    }

    #[test]
    fn what_a_server_says_is_kept_without_addresses_however_they_are_spelt() {
        for (code, said, kept, is_final) in [
            (551, "551 not local; try <ann.lee@newjob.example>", "551 not local; try …", true),
            (550, "550 5.1.1 <ann@x.org>: unknown", "550 5.1.1 … unknown", true),
            (550, "550 <Ann@x.org>: no", "550 <(the buyer's address)>: no", true),
            (451, "451 <ANN@X.ORG>,bo@x.org\tlater", "451 … later", false),
            // The code counts also where the word that it stands in is not kept.
            (550, "550 5.7.1<ann@X.org> relaying denied", "550 … relaying denied", false),
        ] {
            let (code, asked) = (Some(code), Asked::Receiver);
            let attempt = failed(&NotTaken { code, asked, said: said.into() }, "Ann@x.org");
            let kept = kept.to_owned();
            let expected = if is_final { Attempt::Hopeless(kept) } else { Attempt::Failed(kept) };
            assert_eq!(attempt, expected, "{said}");
        }
    }
}
