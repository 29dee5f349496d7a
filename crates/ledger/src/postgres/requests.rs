//! Requests with a key, and the answers they were given.

use super::database::{Ask, all, execute};
use super::fault::Fault;
use super::nodes::Membership;
use super::rows::signed;
use super::writer::Slot;
use crate::request::{
    Begun, KEPT_MS, KEPT_PER_ASKER, KEPT_PER_SCOPE, NOBODY, RequestKey, StoredAnswer,
};
use deadpool_postgres::{Client, Transaction};
use onrush_core::Time;
use std::collections::{HashMap, HashSet};
use tokio_postgres::Row;

/// A request that begins.
pub(super) struct Beginning {
    pub(super) key: RequestKey,
    pub(super) body_hash: [u8; 32],
    pub(super) owner: u64,
    pub(super) at: Time,
}

/// A request that ended.
pub(super) struct Finishing {
    pub(super) key: RequestKey,
    pub(super) answer: Option<StoredAnswer>,
}

/// A request that nobody is at, and that may have begun.
pub(super) struct Leaving {
    pub(super) key: RequestKey,
    pub(super) owner: u64,
}

/// Requests that have an answer.
const ANSWERED: &str = "status IS NOT NULL";
/// Requests that nobody is at: [`NOBODY`] in words by which their index is found.
const LEFT_BEHIND: &str = "status IS NULL AND owner = -1";

/// No key that is kept has a NUL in it, as PostgreSQL has none.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Who asked, as it is kept: nobody's name is empty.
fn asker_of(key: &RequestKey) -> String {
    key.asker.as_deref().map(clean).unwrap_or_default()
}

/// Has different requests begin at once.
pub(super) async fn begin(
    db: &Transaction<'_>,
    membership: &Membership,
    mut jobs: Vec<(&Beginning, &mut Slot<Begun>)>,
) -> Result<(), Fault> {
    // Everybody locks requests in the same order.
    jobs.sort_by(|(one, _), (other, _)| {
        (&one.key.scope, &one.key.key).cmp(&(&other.key.scope, &other.key.key))
    });
    let owners: HashSet<u64> = jobs.iter().map(|(job, _)| job.owner).collect();
    // What another node is still at was not left behind.
    let alive = membership.others(db, &owners).await?;
    let scopes: Vec<String> = jobs.iter().map(|(job, _)| clean(&job.key.scope)).collect();
    let keys: Vec<String> = jobs.iter().map(|(job, _)| clean(&job.key.key)).collect();
    let hashes: Vec<&[u8]> = jobs.iter().map(|(job, _)| &job.body_hash[..]).collect();
    let of: Vec<i64> = jobs.iter().map(|(job, _)| signed(job.owner)).collect();
    let times: Vec<i64> = jobs.iter().map(|(job, _)| job.at.0).collect();
    let askers: Vec<String> = jobs.iter().map(|(job, _)| asker_of(&job.key)).collect();
    // Another body is told apart also if another run left the first unfinished: that run may have
    // done what it says. A row that is updated, as its `xmax` tells, was there before.
    let begun = all(
        db,
        "WITH asked AS (SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[], \
         $5::bigint[], $8::text[]) AS asked (scope, request_key, body_hash, owner, begun_at, asker)), \
         expired AS (SELECT scope, request_key FROM asked JOIN requests USING (scope, request_key) \
         WHERE asked.begun_at - requests.begun_at >= $6) \
         INSERT INTO requests AS known (scope, request_key, body_hash, owner, begun_at, asker) \
         SELECT * FROM asked ON CONFLICT (scope, request_key) DO UPDATE SET body_hash = excluded.body_hash, \
         owner = excluded.owner, begun_at = excluded.begun_at, asker = excluded.asker, \
         status = NULL, content_type = NULL, body = NULL WHERE excluded.begun_at - known.begun_at >= $6 \
         OR (known.body_hash = excluded.body_hash AND known.status IS NULL \
         AND known.owner <> excluded.owner AND known.owner <> ALL ($7)) \
         RETURNING scope, request_key, known.xmax::text <> '0' AND NOT EXISTS (SELECT FROM expired \
         WHERE expired.scope = known.scope AND expired.request_key = known.request_key)",
        &[&scopes, &keys, &hashes, &of, &times, &KEPT_MS, &alive, &askers],
    )
    .await?;
    let name =
        |row: &Row| -> Result<(String, String), Fault> { Ok((row.try_get(0)?, row.try_get(1)?)) };
    let fresh_or_not = |row: &Row| -> Result<((String, String), Begun), Fault> {
        Ok((name(row)?, if row.try_get(2)? { Begun::Unfinished } else { Begun::Fresh }))
    };
    let mut begun = begun.iter().map(fresh_or_not).collect::<Result<HashMap<_, _>, Fault>>()?;
    let mut known = HashMap::new();
    if begun.len() < jobs.len() {
        let rows = all(
            db,
            "SELECT scope, request_key, body_hash, status, content_type, body FROM requests \
             JOIN unnest($1::text[], $2::text[]) AS asked (scope, request_key) \
             USING (scope, request_key)",
            &[&scopes, &keys],
        )
        .await?;
        for row in rows {
            known.insert(name(&row)?, row);
        }
    }
    for ((job, slot), name) in jobs.into_iter().zip(scopes.into_iter().zip(keys)) {
        let begun = match (begun.remove(&name), known.get(&name)) {
            (Some(begun), _) => begun,
            (None, Some(row)) => what_is_known(row, &job.body_hash)?,
            // Rows that a conflict was found with are locked until the end.
            (None, None) => return Err(Fault::Unreadable("a request is there and is not".into())),
        };
        slot.put(Ok(begun));
    }
    Ok(())
}

fn what_is_known(row: &Row, body_hash: &[u8; 32]) -> Result<Begun, Fault> {
    if row.try_get::<_, &[u8]>(2)? != body_hash {
        return Ok(Begun::OtherBody);
    }
    let Some(status) = row.try_get::<_, Option<i64>>(3)? else { return Ok(Begun::InProgress) };
    Ok(Begun::Answered(StoredAnswer {
        status: u16::try_from(status)
            .map_err(|_| Fault::Unreadable(format!("{status} is no status")))?,
        content_type: row.try_get(4)?,
        body: row.try_get(5)?,
    }))
}

/// What is known of a request, which does not begin. What was left unfinished counts as under way,
/// by whichever node.
pub(super) struct Known {
    pub(super) key: RequestKey,
    pub(super) body_hash: [u8; 32],
    pub(super) at: Time,
}

impl Ask<Option<Begun>> for Known {
    async fn run(&self, db: &mut Client) -> Result<Option<Begun>, Fault> {
        let (scope, key) = (clean(&self.key.scope), clean(&self.key.key));
        let rows = all(
            db,
            "SELECT scope, request_key, body_hash, status, content_type, body FROM requests \
             WHERE scope = $1 AND request_key = $2 AND $3 - begun_at < $4",
            &[&scope, &key, &self.at.0, &KEPT_MS],
        )
        .await?;
        rows.first().map(|row| what_is_known(row, &self.body_hash)).transpose()
    }
}

/// Keeps first answers, or forgets beginnings, of different requests at once.
pub(super) async fn finish(db: &Transaction<'_>, jobs: &[&Finishing]) -> Result<(), Fault> {
    let limited = jobs.iter().filter(|job| job.answer.is_some() && job.key.asker.is_some());
    let (limited, askers): (Vec<String>, Vec<String>) =
        limited.map(|job| (clean(&job.key.scope), asker_of(&job.key))).unzip();
    let mut jobs: Vec<_> = jobs
        .iter()
        .map(|job| (clean(&job.key.scope), clean(&job.key.key), job.answer.as_ref()))
        .collect();
    jobs.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
    let scopes: Vec<&str> = jobs.iter().map(|(scope, ..)| scope.as_str()).collect();
    let keys: Vec<&str> = jobs.iter().map(|(_, key, _)| key.as_str()).collect();
    // Everybody locks requests in the same order.
    all(
        db,
        "SELECT 1 FROM requests JOIN unnest($1::text[], $2::text[]) AS ended (scope, request_key) \
         USING (scope, request_key) ORDER BY scope, request_key FOR UPDATE OF requests",
        &[&scopes, &keys],
    )
    .await?;
    let (mut kept_scopes, mut kept_keys) = (Vec::new(), Vec::new());
    let (mut statuses, mut types, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
    let (mut dropped_scopes, mut dropped_keys) = (Vec::new(), Vec::new());
    for (scope, key, answer) in &jobs {
        match answer {
            Some(StoredAnswer { status, content_type, body }) => {
                kept_scopes.push(scope.as_str());
                kept_keys.push(key.as_str());
                statuses.push(i64::from(*status));
                types.push(clean(content_type));
                bodies.push(body.as_slice());
            }
            None => {
                dropped_scopes.push(scope.as_str());
                dropped_keys.push(key.as_str());
            }
        }
    }
    if !kept_keys.is_empty() {
        execute(
            db,
            "UPDATE requests SET status = ended.status, content_type = ended.content_type, \
             body = ended.body FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], \
             $5::bytea[]) AS ended (scope, request_key, status, content_type, body) \
             WHERE requests.scope = ended.scope AND requests.request_key = ended.request_key \
             AND requests.status IS NULL",
            &[&kept_scopes, &kept_keys, &statuses, &types, &bodies],
        )
        .await?;
    }
    if !askers.is_empty() {
        forget_surplus(db, ANSWERED, &limited, &askers).await?;
    }
    if !dropped_keys.is_empty() {
        execute(
            db,
            "DELETE FROM requests USING unnest($1::text[], $2::text[]) AS ended (scope, request_key) \
             WHERE requests.scope = ended.scope AND requests.request_key = ended.request_key \
             AND requests.status IS NULL",
            &[&dropped_scopes, &dropped_keys],
        )
        .await?;
    }
    Ok(())
}

/// Leaves what this node began and nobody is at to whoever asks next: different requests at once. As
/// many of one scope and of one asker are kept as answers: an engine that is away would have everybody
/// leave any number.
///
/// A transaction that was given up may still be on its way to the end, and its row be seen only then.
/// To insert the same row is to wait for it.
pub(super) async fn leave_behind(db: &Transaction<'_>, jobs: &[&Leaving]) -> Result<(), Fault> {
    let mut jobs: Vec<_> = jobs
        .iter()
        .map(|job| (clean(&job.key.scope), clean(&job.key.key), signed(job.owner)))
        .collect();
    // Everybody locks requests in the same order.
    jobs.sort();
    let scopes: Vec<&str> = jobs.iter().map(|(scope, ..)| scope.as_str()).collect();
    let keys: Vec<&str> = jobs.iter().map(|(_, key, _)| key.as_str()).collect();
    let owners: Vec<i64> = jobs.iter().map(|(.., owner)| *owner).collect();
    execute(
        db,
        "INSERT INTO requests AS known (scope, request_key, owner, body_hash, begun_at) \
         SELECT left_behind.*, ''::bytea, 0 \
         FROM unnest($1::text[], $2::text[], $3::bigint[]) AS left_behind \
         ON CONFLICT (scope, request_key) DO UPDATE SET owner = $4 \
         WHERE known.owner = excluded.owner AND known.status IS NULL",
        &[&scopes, &keys, &owners, &signed(NOBODY)],
    )
    .await?;
    // What is this node's own by now was inserted just before, and nobody has seen it.
    execute(
        db,
        "DELETE FROM requests USING unnest($1::text[], $2::text[], $3::bigint[]) \
         AS left_behind (scope, request_key, owner) WHERE requests.scope = left_behind.scope \
         AND requests.request_key = left_behind.request_key \
         AND requests.owner = left_behind.owner AND requests.status IS NULL",
        &[&scopes, &keys, &owners],
    )
    .await?;
    // Whoever leaves what they are in doubt about does not know who asked.
    let left = all(
        db,
        "SELECT scope, asker FROM requests JOIN unnest($1::text[], $2::text[]) \
         AS left_behind (scope, request_key) USING (scope, request_key) \
         WHERE status IS NULL AND owner = -1 AND asker <> ''",
        &[&scopes, &keys],
    )
    .await?;
    let scope_and_asker =
        |row: &Row| -> Result<(String, String), Fault> { Ok((row.try_get(0)?, row.try_get(1)?)) };
    let left = left.iter().map(scope_and_asker).collect::<Result<Vec<_>, Fault>>()?;
    let (limited, askers): (Vec<String>, Vec<String>) = left.into_iter().unzip();
    if !askers.is_empty() {
        forget_surplus(db, LEFT_BEHIND, &limited, &askers).await?;
    }
    Ok(())
}

/// Forgets the oldest answers of scopes and askers above what is kept of each, or, by the same measure,
/// the oldest requests that were left behind.
async fn forget_surplus(
    db: &Transaction<'_>,
    which: &str,
    scopes: &[String],
    askers: &[String],
) -> Result<(), Fault> {
    let (per_scope, per_asker) = (i64::from(KEPT_PER_SCOPE), i64::from(KEPT_PER_ASKER));
    // What another node is at, it deals with itself; so it does with what it has taken up since.
    let sql = format!(
        "WITH surplus AS (SELECT scope, request_key FROM (SELECT scope, request_key, \
         row_number() OVER (PARTITION BY scope ORDER BY begun_at DESC, request_key) AS place \
         FROM requests WHERE scope = ANY ($1) AND {which}) AS of_scope \
         WHERE place > $3 UNION SELECT scope, request_key FROM (SELECT scope, request_key, \
         row_number() OVER (PARTITION BY asker ORDER BY begun_at DESC, scope, request_key) \
         AS place FROM requests WHERE asker = ANY ($2) AND {which}) AS of_asker \
         WHERE place > $4) DELETE FROM requests WHERE (scope, request_key) IN (SELECT \
         requests.scope, requests.request_key FROM requests JOIN surplus USING \
         (scope, request_key) WHERE {which} FOR UPDATE OF requests SKIP LOCKED)"
    );
    execute(db, &sql, &[&scopes, &askers, &per_scope, &per_asker]).await.map(drop)
}

/// Requests forgotten in one go at most: nobody shall wait long for it.
pub(super) const FORGOTTEN_AT_ONCE: u64 = 500;

/// Forgets the oldest of the requests that began before a time.
pub(super) struct Forget(pub(super) Time);

impl Ask<u64> for Forget {
    async fn run(&self, db: &mut Client) -> Result<u64, Fault> {
        // Several nodes may do so at once: what one is at, the others leave to it.
        execute(
            db,
            "DELETE FROM requests WHERE (scope, request_key) IN (SELECT scope, request_key \
             FROM requests WHERE begun_at < $1 ORDER BY begun_at LIMIT $2 FOR UPDATE SKIP LOCKED)",
            &[&self.0.0, &signed(FORGOTTEN_AT_ONCE)],
        )
        .await
    }
}
