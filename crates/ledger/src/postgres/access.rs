//! Links of bookings that were withdrawn, and codes that carry visitors.

use super::database::{Ask, execute, first};
use super::fault::Fault;
use crate::access::CarryCode;
use deadpool_postgres::{Client, GenericClient};
use onrush_core::Time;
use onrush_core::ids::{BookingId, UserId};

/// Withdraws the links of the bookings that `whose` selects; a statement begins with it.
macro_rules! withdrawing {
    ($whose:expr) => {
        concat!(
            "WITH withdrawn AS (INSERT INTO link_generations AS known (booking_id, generation) \
             SELECT booking_id, 1 FROM (",
            $whose,
            ") AS theirs ON CONFLICT (booking_id) \
             DO UPDATE SET generation = known.generation + 1 RETURNING generation) "
        )
    };
}
pub(super) use withdrawing;

/// The generation of a booking's link.
pub(super) struct Generation(pub(super) BookingId);

impl Ask<u32> for Generation {
    async fn run(&self, db: &mut Client) -> Result<u32, Fault> {
        let sql = "SELECT generation FROM link_generations WHERE booking_id = $1";
        let found = first(db, sql, &[&self.0.as_str()]).await?;
        found.map_or(Ok(0), |row| number(row.try_get(0)?))
    }
}

/// Withdraws a booking's link.
pub(super) struct Withdraw(pub(super) BookingId);

impl Ask<u32> for Withdraw {
    async fn run(&self, db: &mut Client) -> Result<u32, Fault> {
        withdraw(db, &self.0).await
    }
}

/// Withdraws a booking's link; says which generation counts from then on.
pub(super) async fn withdraw(db: &impl GenericClient, booking: &BookingId) -> Result<u32, Fault> {
    let sql =
        concat!(withdrawing!("SELECT $1::text AS booking_id"), "SELECT generation FROM withdrawn");
    let row = first(db, sql, &[&booking.as_str()]).await?;
    let row = row.ok_or_else(|| Fault::Unreadable("a link was withdrawn from nobody".into()))?;
    number(row.try_get(0)?)
}

fn number(generation: i64) -> Result<u32, Fault> {
    generation.try_into().map_err(|_| Fault::Unreadable("a link's generation is no number".into()))
}

/// Keeps a code.
pub(super) struct KeepCode(pub(super) CarryCode, pub(super) Time);

impl Ask<()> for KeepCode {
    async fn run(&self, db: &mut Client) -> Result<(), Fault> {
        let Self(code, at) = self;
        execute(db, "DELETE FROM carry_codes WHERE expires_at <= $1", &[&at.0]).await?;
        execute(
            db,
            "INSERT INTO carry_codes (user_id, hash, expires_at) VALUES ($1, $2, $3) \
             ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at",
            &[&code.user.as_str(), &code.hash.as_slice(), &code.expires_at.0],
        )
        .await
        .map(drop)
    }
}

/// Takes a code, so that nobody else can.
pub(super) struct TakeCode(pub(super) [u8; 32], pub(super) Time);

impl Ask<Option<UserId>> for TakeCode {
    async fn run(&self, db: &mut Client) -> Result<Option<UserId>, Fault> {
        let sql = "DELETE FROM carry_codes WHERE hash = $1 AND expires_at > $2 RETURNING user_id";
        let found = first(db, sql, &[&self.0.as_slice(), &self.1.0]).await?;
        let Some(row) = found else { return Ok(None) };
        let user: &str = row.try_get(0)?;
        let user = user.parse();
        user.map(Some).map_err(|_| Fault::Unreadable("a code's user is no id".into()))
    }
}
