//! Requests with an `Idempotency-Key`: the first answer is kept and given again.

/// An answer is kept for this long after its request began; then the key is as good as new.
pub const KEPT_MS: i64 = 24 * 3_600_000;

/// Answers that are kept of one scope, and of all that one asker did; older ones go before their
/// time. Nobody who behaves comes near it, and nobody who does not can fill the disk with what they
/// did to their own bookings. As many requests are kept that were left unfinished. Organisers may fill
/// it as they like: a request without an asker is kept for its time.
pub const KEPT_PER_SCOPE: u32 = 32;
/// See [`KEPT_PER_SCOPE`].
pub const KEPT_PER_ASKER: u32 = 256;

/// Who is at a request that was left behind: no run of a process has this name.
pub(crate) const NOBODY: u64 = u64::MAX;

/// What names a request: who asks, of what, under which key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestKey {
    /// Who asks, and which operation on what: the same key elsewhere is another request.
    pub scope: String,
    /// The key as the caller chose it.
    pub key: String,
    /// Who asks, where what is kept of their answers is limited.
    pub asker: Option<String>,
}

/// An answer as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// Its status.
    pub status: u16,
    /// Its content type.
    pub content_type: String,
    /// Its body.
    pub body: Vec<u8>,
}

/// What is known of a request when it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is new. It has begun now.
    Fresh,
    /// It was left unfinished, by a run of the process that is over or by this one, and may have been
    /// done. It has begun anew.
    Unfinished,
    /// It is under way.
    InProgress,
    /// It was answered.
    Answered(StoredAnswer),
    /// The same key came with another body.
    OtherBody,
}
