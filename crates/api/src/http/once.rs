//! Requests with a key are done once: the first answer is kept for a day and given again.
//!
//! What is kept tells of something that was done, and there is only so much of it for a booking and
//! a visitor. A refusal did nothing, so it is decided afresh; else a visitor with many keys could
//! fill the disk with refusals. Claims are the exception: as many refusals of one asker are kept as
//! answers.

use crate::broken::times_to_say;
use crate::http::caller::OptionalKey;
use crate::http::problem::{Code, Problem};
use crate::http::state::Once;
use crate::http::under_way::Turn;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::response::Parts;
use axum::http::{Extensions, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use onrush_base::spans;
use onrush_core::Refusal;
use onrush_core::ids::{BookingId, EventId, UserId};
use onrush_ledger::request::{Begun, RequestKey, StoredAnswer};
use onrush_ledger::{LedgerError, Pending};
use onrush_serve::ProblemCode;
use onrush_store::Failure;
use onrush_store::embedded::Need;
use sha2::{Digest, Sha256};
use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Pauses between attempts to keep an answer. The caller waits meanwhile, so they are short.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(20),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
];

/// The pause between further attempts, for which nobody waits.
const LATER: Duration = Duration::from_secs(5);

/// Requests in doubt that the ledger hears of at once.
const LEFT_AT_ONCE: usize = 256;

impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        if let Some(times) = times_to_say("the ledger", &error) {
            tracing::error!(%error, times, "the ledger failed");
        }
        Self::new(
            Code::LedgerUnavailable,
            "the ledger cannot be used now; ask again with the same key",
        )
    }
}

/// What a key belongs to: the same key elsewhere is another wish.
pub struct Scope {
    /// The operation, and on what.
    name: String,
    /// Who asks, if only so much is kept of what they did.
    asker: Option<String>,
    /// What it is about, where space is running out.
    purpose: Purpose,
    /// Which answers are kept.
    kept: fn(&Parts) -> bool,
    /// Whether it can be done again where nobody knows whether it was done: what was done is found then.
    is_repeatable: bool,
}

impl Scope {
    /// An operation on a booking: what was done is not done again.
    #[must_use]
    pub fn of_booking(what: &str, booking: &BookingId, user: &UserId, purpose: Purpose) -> Self {
        let name = format!("{what} {booking} {user}");
        Self { name, asker: Some(user.to_string()), purpose, kept: was_done, is_repeatable: true }
    }

    /// Units that an organiser moves: what was done is not done again, nor what may have been. All
    /// of it is kept: one that is forgotten would move units a second time.
    #[must_use]
    pub fn of_units(what: &str, event: &EventId, organiser: &str) -> Self {
        let name = format!("{what} {event} {organiser}");
        Self { name, asker: None, purpose: Purpose::More, kept: was_moved, is_repeatable: false }
    }

    /// A claim, which gets its first answer again, whatever it was.
    ///
    /// A claim that was accepted is known to the rules, which say again what they said first. Of one
    /// that was refused the rules know nothing, for a refusal changes nothing; so that answer is
    /// kept. Other requests have their refusals decided afresh.
    #[must_use]
    pub fn of_claim(name: String, asker: &str) -> Self {
        let (asker, purpose) = (Some(asker.to_owned()), Purpose::More);
        Self { name, asker, purpose, kept: was_refused, is_repeatable: true }
    }
}

/// What a request is called that the rules are to know again: 128 bits of its parts, the key among them.
pub(in crate::http) fn name_of(parts: &[&str]) -> u128 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let hash = hash.finalize();
    u128::from_be_bytes(*hash.first_chunk().expect("a hash has 32 bytes"))
}

/// What a request is about, where space is running out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It asks for more of something, and can wait: no new key is noted down.
    More,
    /// It pays or gives something back, and goes on.
    PayOrGiveBack,
}

/// What is known of a request when it is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// It is the first under its key, or has none.
    NotDone,
    /// It was begun before, and may have been done: the process ended, or the engine did not answer.
    MaybeDone,
}

/// How a request ended.
enum End {
    /// With an answer that is kept.
    Answered(StoredAnswer),
    /// Nothing was done: its key is as good as new.
    NothingDone,
    /// It may have been done, and what was done is found when its key comes again.
    Unknown,
}

impl Once {
    /// Runs `work` unless it ran before under this key, and answers as the first time.
    ///
    /// From the note that it begins to the kept answer all goes on if the caller hangs up: nobody
    /// else would say that it ended. `body` stands for what is asked: another body is another wish.
    ///
    /// # Errors
    /// `BOOKING_MISMATCH` if the key came with another body, `IN_PROGRESS`, `LEDGER_UNAVAILABLE`,
    /// `DISK_LOW`. What is not repeatable is answered `OUTCOME_UNKNOWN` if it may have been done.
    pub async fn run<F>(
        self: Arc<Self>,
        scope: Scope,
        key: &str,
        body: &[u8],
        work: F,
    ) -> Result<Response, Problem>
    where
        F: Future<Output = Result<Response, Problem>> + Send + 'static,
    {
        self.run_knowing(scope, key, body, |_| work).await
    }

    /// The same for work that wants to know whether it may have been done already.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub async fn run_knowing<W, F>(
        self: Arc<Self>,
        scope: Scope,
        key: &str,
        body: &[u8],
        work: W,
    ) -> Result<Response, Problem>
    where
        W: FnOnce(Before) -> F + Send + 'static,
        F: Future<Output = Result<Response, Problem>> + Send + 'static,
    {
        let Scope { name, asker, purpose, kept, is_repeatable } = scope;
        let key = RequestKey { scope: name, key: key.to_owned(), asker };
        let hash = Sha256::digest(body).into();
        let done = tokio::spawn(spans::carried(async move {
            let Some(turn) = self.under_way.take(&key) else {
                return self.at_it(key, hash).await;
            };
            let (turn, begun) = self.begin(turn, &key, hash, purpose).await?;
            let before = match begun {
                Begun::Fresh => Before::NotDone,
                Begun::Unfinished => Before::MaybeDone,
                Begun::InProgress => return Err(in_progress()),
                Begun::OtherBody => return Err(Refusal::BookingMismatch.into()),
                Begun::Answered(answer) => return Ok(again(answer)),
            };
            let answer = match before {
                Before::MaybeDone if !is_repeatable => outcome_unknown().into_response(),
                Before::NotDone | Before::MaybeDone => match answer_of(work(before)).await {
                    answer if !is_repeatable && is_unknown(&answer) => {
                        outcome_unknown().into_response()
                    }
                    answer => answer,
                },
            };
            let is_open = is_repeatable && is_unknown(&answer);
            let (answer, stored) = stored(answer, kept).await;
            let end = match stored {
                Some(stored) => End::Answered(stored),
                None if is_open => End::Unknown,
                None => End::NothingDone,
            };
            if let Err(error) = patiently(|| self.end(&key, &end)).await {
                // What was done stays done, and the caller need not wait for a full disk. Until the
                // answer is kept the key is under way; if the process ends before, what is asked
                // again is decided by what was done.
                tracing::error!(%error, scope = key.scope, "an answer is not kept yet");
                tokio::spawn(keep_later(Arc::downgrade(&self), key, end, turn));
            }
            Ok(answer)
        }));
        done.await.unwrap_or_else(|_| Err(broken_down()))
    }

    /// The same where the key is optional: without one, `work` runs each time.
    ///
    /// # Errors
    /// As [`Self::run`]. What is not repeatable is answered `OUTCOME_UNKNOWN` without a key, too: a
    /// retry would do it twice.
    pub async fn run_if_keyed<F>(
        self: Arc<Self>,
        scope: Scope,
        key: &OptionalKey,
        body: &[u8],
        work: F,
    ) -> Result<Response, Problem>
    where
        F: Future<Output = Result<Response, Problem>> + Send + 'static,
    {
        match &key.0 {
            Some(key) => self.run(scope, key.as_str(), body, work).await,
            None if scope.is_repeatable => work.await,
            None => work.await.map_err(|problem| {
                if leaves_open(problem.code()) { outcome_unknown() } else { problem }
            }),
        }
    }

    /// Notes down that a request begins, or finds what came of it.
    async fn begin(
        self: &Arc<Self>,
        mut turn: Turn,
        key: &RequestKey,
        hash: [u8; 32],
        purpose: Purpose,
    ) -> Result<(Turn, Begun), Problem> {
        let now = self.clock.now();
        let space = || self.space.as_ref().is_none_or(|space| space.is_enough_for(Need::Key));
        if purpose != Purpose::PayOrGiveBack && !space() {
            let known = self.ledger.known(key.clone(), hash, self.run_id, now).await?;
            return Ok((turn, known.ok_or(Failure::DiskLow)?));
        }
        if turn.is_in_doubt() {
            self.ledger.leave_behind(turn.key(), self.run_id).await?;
        }
        turn.set_in_doubt(true);
        match self.ledger.begin(key.clone(), hash, self.run_id, now).await {
            Ok(begun) => {
                turn.set_in_doubt(false);
                Ok((turn, begun))
            }
            Err(error) => {
                // It may have begun all the same.
                drop(turn);
                if self.under_way.is_to_be_seen_to() {
                    tokio::spawn(leave_doubted(Arc::downgrade(self)));
                }
                Err(error.into())
            }
        }
    }

    /// Tells the ledger how a request ended.
    fn end(&self, key: &RequestKey, end: &End) -> Pending<()> {
        let key = key.clone();
        match end {
            End::Answered(answer) => self.ledger.finish(key, Some(answer.clone())),
            End::NothingDone => self.ledger.finish(key, None),
            End::Unknown => self.ledger.leave_behind(key, self.run_id),
        }
    }

    /// What is known of a request that somebody here is at.
    async fn at_it(&self, key: RequestKey, hash: [u8; 32]) -> Result<Response, Problem> {
        match self.ledger.known(key, hash, self.run_id, self.clock.now()).await? {
            Some(Begun::Answered(answer)) => Ok(again(answer)),
            Some(Begun::OtherBody) => Err(Refusal::BookingMismatch.into()),
            None | Some(Begun::Fresh | Begun::Unfinished | Begun::InProgress) => Err(in_progress()),
        }
    }

    /// Has the ledger hear of those in doubt that nobody is at them; whether it heard of all.
    async fn leave_those_in_doubt(&self) -> bool {
        let mut is_heard = true;
        while is_heard && !self.under_way.is_seen_through() {
            let turns = self.under_way.take_doubted(LEFT_AT_ONCE);
            let leave = |turn: Turn| (self.ledger.leave_behind(turn.key(), self.run_id), turn);
            for (left, mut turn) in turns.into_iter().map(leave).collect::<Vec<_>>() {
                match left.await {
                    Ok(()) | Err(LedgerError::Conflict) => turn.set_in_doubt(false),
                    Err(LedgerError::Unavailable(_)) => is_heard = false,
                }
            }
        }
        is_heard
    }
}

fn in_progress() -> Problem {
    let why = "the same request is under way; ask again in a moment, with the same key";
    Problem::new(Code::InProgress, why)
}

/// What `work` comes to, also if it panics: the key must not stay under way.
async fn answer_of<F>(work: F) -> Response
where
    F: Future<Output = Result<Response, Problem>> + Send + 'static,
{
    let answer = tokio::spawn(spans::carried(work)).await.unwrap_or_else(|_| Err(broken_down()));
    answer.unwrap_or_else(IntoResponse::into_response)
}

fn broken_down() -> Problem {
    Problem::new(Code::Internal, "the request broke down; the log has more")
}

/// Asks the ledger again for as long as it cannot be used, up to [`PAUSES`].
async fn patiently<F>(mut ask: impl FnMut() -> F) -> Result<(), LedgerError>
where
    F: Future<Output = Result<(), LedgerError>>,
{
    for pause in PAUSES {
        match ask().await {
            Err(LedgerError::Unavailable(_)) => tokio::time::sleep(pause).await,
            asked @ (Ok(()) | Err(LedgerError::Conflict)) => return asked,
        }
    }
    ask().await
}

/// Says of requests in doubt that nobody is at them, as soon as the ledger can be used again, for as
/// long as anybody serves.
async fn leave_doubted(once: Weak<Once>) {
    loop {
        tokio::time::sleep(LATER).await;
        let Some(once) = once.upgrade() else { return };
        if once.leave_those_in_doubt().await {
            return;
        }
    }
}

/// Keeps an answer as soon as the ledger can be used again, for as long as anybody serves.
async fn keep_later(once: Weak<Once>, key: RequestKey, end: End, _turn: Turn) {
    loop {
        tokio::time::sleep(LATER).await;
        let Some(once) = once.upgrade() else { return };
        match once.end(&key, &end).await {
            Err(LedgerError::Unavailable(_)) => {}
            Ok(()) | Err(LedgerError::Conflict) => return,
        }
    }
}

/// The answer, and what is kept of it, if anything is.
async fn stored(answer: Response, kept: fn(&Parts) -> bool) -> (Response, Option<StoredAnswer>) {
    let (parts, body) = answer.into_parts();
    // Bodies of ours are in memory already.
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let status = parts.status;
    let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let stored = kept(&parts).then(|| StoredAnswer {
        status: status.as_u16(),
        content_type: content_type.unwrap_or_default().to_owned(),
        body: bytes.to_vec(),
    });
    (Response::from_parts(parts, Body::from(bytes)), stored)
}

/// Whether something was done that the same request must not do again. What the gateway refused has
/// used an attempt up, and asking again would use up another.
fn was_done(answer: &Parts) -> bool {
    answer.status.is_success() || answer.status == StatusCode::BAD_GATEWAY
}

/// Whether units were moved, or may have been.
fn was_moved(answer: &Parts) -> bool {
    was_done(answer) || code_of(&answer.extensions) == Code::OutcomeUnknown.facts().0
}

/// Whether the state did not allow it, which another state may.
fn was_refused(answer: &Parts) -> bool {
    matches!(answer.status, StatusCode::CONFLICT | StatusCode::PAYMENT_REQUIRED)
}

/// The code of the problem that an answer is; empty if it is none.
fn code_of(extensions: &Extensions) -> &'static str {
    extensions.get::<ProblemCode>().map_or("", |code| code.0)
}

/// Whether what was asked may have been done, although it is not said.
fn is_unknown(answer: &Response) -> bool {
    leaves_open(code_of(answer.extensions()))
}

/// Whether a problem with this code may have come after what was asked was done.
fn leaves_open(code: &str) -> bool {
    let unknown = [Code::EngineUnreachable, Code::Stopped, Code::Internal];
    unknown.map(|code| code.facts().0).contains(&code)
}

/// What is told of units that may have been moved, whatever else went wrong.
pub(in crate::http) fn outcome_unknown() -> Problem {
    let why = "this may have been done, or not; look at what there is now, and ask with a new key if \
               it was not";
    Problem::new(Code::OutcomeUnknown, why)
}

fn again(answer: StoredAnswer) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() =
        StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = HeaderValue::from_str(&answer.content_type) {
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_panics_is_answered_and_not_kept() {
        let answer = answer_of(async { panic!("a planted fault") }).await;
        let (answer, stored) = stored(answer, was_done).await;
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(stored, None);
    }

    #[tokio::test]
    async fn what_did_nothing_is_not_kept() {
        for (code, keep) in [
            (Code::GatewayRefused, true),
            (Code::PaymentsOff, false),
            (Code::InvalidBody, false),
            (Code::GatewayUnavailable, false),
            (Code::LedgerUnavailable, false),
            (Code::Internal, false),
            (Code::RateLimited, false),
            (Code::DiskLow, false),
            (Code::TokenInvalid, false),
            (Code::SagaNotFound, false),
        ] {
            let (_, stored) = stored(Problem::new(code, "why").into_response(), was_done).await;
            assert_eq!(stored.is_some(), keep, "{code:?}");
        }
    }

    #[tokio::test]
    async fn what_may_have_moved_units_is_said_to_be_unknown_and_kept() {
        for (code, unknown) in [
            (Code::EngineUnreachable, true),
            (Code::Stopped, true),
            (Code::Internal, true),
            (Code::EventRebuilding, false),
            (Code::Busy, false),
            (Code::DiskLow, false),
            (Code::LedgerUnavailable, false),
        ] {
            let answer = Problem::new(code, "why").into_response();
            assert_eq!(is_unknown(&answer), unknown, "{code:?}");
        }
        assert!(stored(outcome_unknown().into_response(), was_moved).await.1.is_some());
    }

    #[tokio::test]
    async fn an_answer_is_kept_although_the_ledger_fails_at_first() {
        let unavailable = || Err(LedgerError::Unavailable("broken by a test".into()));
        let mut asked = 0;
        let kept = patiently(|| {
            asked += 1;
            std::future::ready(if asked < 3 { unavailable() } else { Ok(()) })
        });
        assert_eq!((kept.await, asked), (Ok(()), 3));
    }
}
