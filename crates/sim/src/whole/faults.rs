//! What may go wrong around a server.

use super::planted::Planted;

/// What goes wrong, and how often.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// The server is killed, and starts again after a while.
    pub kills: bool,
    /// Answers of the bank are late or get lost, and so do its messages; some come twice.
    pub bank: bool,
    /// The disk takes its time, and has little space at times.
    pub disk: bool,
    /// Receivers of messages are slow, ill and away, and lose answers.
    pub receivers: bool,
    /// Connections break and fall silent, in either direction.
    pub net: bool,
    /// The system's clock is set and drifts, and the process stands still.
    pub clocks: bool,
    /// The power goes, also in the middle of writes, and takes what was not synced; the disk is
    /// full at times.
    pub power: bool,
    /// Bits flip in files at rest.
    pub flips: bool,
    /// Parts of the files come back from a backup.
    pub restores: bool,
    /// The ledger comes back from a backup, or is lost, and the sale goes on.
    pub losses: bool,
    /// The files were written by a version before.
    pub upgrades: bool,
    /// A fault that the judges must find.
    pub planted: Option<Planted>,
}

impl Faults {
    /// All of them.
    pub const ALL: Self = Self {
        kills: true,
        bank: true,
        disk: true,
        receivers: true,
        net: true,
        clocks: true,
        power: true,
        flips: true,
        restores: true,
        losses: true,
        upgrades: true,
        planted: None,
    };
    /// None of them.
    pub const NONE: Self = Self {
        kills: false,
        bank: false,
        disk: false,
        receivers: false,
        net: false,
        clocks: false,
        power: false,
        flips: false,
        restores: false,
        losses: false,
        upgrades: false,
        planted: None,
    };
}
