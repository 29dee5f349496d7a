//! Links of bookings that were withdrawn, and codes that carry visitors.

use super::statements::Statements;
use crate::access::CarryCode;
use onrush_core::Time;
use onrush_core::ids::{BookingId, UserId};
use rusqlite::params;

pub(super) fn generation(db: &Statements<'_>, booking: &BookingId) -> rusqlite::Result<u32> {
    let sql = "SELECT generation FROM link_generations WHERE booking_id = ?1";
    Ok(db.first(sql, [booking.as_str()])?.unwrap_or(0))
}

pub(super) fn withdraw(db: &Statements<'_>, booking: &BookingId) -> rusqlite::Result<u32> {
    db.execute(
        "INSERT INTO link_generations (booking_id, generation) VALUES (?1, 1) \
         ON CONFLICT (booking_id) DO UPDATE SET generation = generation + 1",
        [booking.as_str()],
    )?;
    generation(db, booking)
}

pub(super) fn keep(db: &Statements<'_>, code: &CarryCode, at: Time) -> rusqlite::Result<()> {
    db.execute("DELETE FROM carry_codes WHERE expires_at <= ?1", [at.0])?;
    db.execute(
        "INSERT INTO carry_codes (user_id, hash, expires_at) VALUES (?1, ?2, ?3) \
         ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at",
        params![code.user.as_str(), code.hash, code.expires_at.0],
    )
    .map(drop)
}

pub(super) fn take(
    db: &Statements<'_>,
    hash: &[u8; 32],
    at: Time,
) -> rusqlite::Result<Option<UserId>> {
    db.first(
        "DELETE FROM carry_codes WHERE hash = ?1 AND expires_at > ?2 RETURNING user_id",
        params![hash, at.0],
    )
}
