//! The use of computers that people work at, evictions there, and abandoned tasks.

use rusqlite::{Connection, Row, Transaction, params};
use tollgate_model::{AttemptId, EvictionCause, Instant, LimitOwner, Span};
use tollgate_service::{Abandonment, HostUse};

use crate::error::StoreError;
use crate::read::StoreReader;
use crate::statement::run;
use crate::usage::RecordFilter;

/// An eviction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvictionRow {
    /// The attempt.
    pub attempt: AttemptId,
    /// When it was reported.
    pub at: Instant,
    /// The cause.
    pub cause: EvictionCause,
    /// The time for which the attempt held its computer.
    pub held: Span,
    /// The computer, if it is known.
    pub host: Option<String>,
}

/// Sums of evictions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvictionSums {
    /// Number of evictions by cause, with the time for which these attempts held computers.
    pub by_cause: Vec<(EvictionCause, u64, Span)>,
    /// Number of tasks that are not tried again.
    pub abandoned: u64,
    /// The time for which their attempts held computers.
    pub abandoned_held: Span,
}

/// A task that is not tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbandonmentRow {
    /// The task's index in its array; 0 for a single job.
    pub task: u32,
    /// When its last attempt was evicted.
    pub at: Instant,
    /// The owner of the rule.
    pub by: LimitOwner,
    /// The rule, as text.
    pub rule: String,
    /// The number of its evictions.
    pub evictions: u32,
    /// The time for which its evicted attempts held computers.
    pub held: Span,
}

/// A time in which a computer was in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostUseRow {
    /// The name of the computer.
    pub host: String,
    /// The begin.
    pub from: Instant,
    /// The end; None if the computer is in use still.
    pub until: Option<Instant>,
    /// The cause.
    pub cause: EvictionCause,
}

pub(crate) fn used(to: &Transaction<'_>, at: i64, host: &HostUse) -> rusqlite::Result<()> {
    run(
        to,
        "INSERT INTO host_use VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET cause = excluded.cause",
        params![host.host, at, host.cause.map(EvictionCause::key)],
    )
}

pub(crate) fn evicted(
    to: &Transaction<'_>,
    attempt: AttemptId,
    at: i64,
    cause: EvictionCause,
    held: Span,
) -> rusqlite::Result<()> {
    run(
        to,
        "INSERT OR IGNORE INTO eviction VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            attempt.job,
            attempt.task,
            attempt.attempt,
            at,
            cause.key(),
            held.as_micros()
        ],
    )
}

pub(crate) fn abandoned(
    to: &Transaction<'_>,
    attempt: AttemptId,
    at: i64,
    why: &Abandonment,
) -> rusqlite::Result<()> {
    run(
        to,
        "INSERT OR IGNORE INTO abandonment VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            attempt.job,
            attempt.task,
            at,
            owner_key(why.by),
            why.rule.to_string(),
            why.evictions,
            why.held.as_micros()
        ],
    )
}

/// Removes the uses of computers before an instant, but for the last one of each: it says what held at that instant.
pub(crate) fn forget_uses(from: &Connection, before: i64) -> rusqlite::Result<()> {
    let sql = "DELETE FROM host_use WHERE at < ?1
         AND at < (SELECT max(at) FROM host_use AS h WHERE h.host = host_use.host AND h.at < ?1)";
    from.prepare_cached(sql)?.execute([before]).map(drop)
}

const fn owner_key(owner: LimitOwner) -> &'static str {
    match owner {
        LimitOwner::User => "user",
        LimitOwner::Site => "site",
    }
}

fn cause(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<EvictionCause>> {
    let key: Option<String> = row.get(column)?;
    let mut causes = EvictionCause::ALL.into_iter();
    Ok(causes.find(|cause| Some(cause.key()) == key.as_deref()))
}

const EVICTIONS: &str = "SELECT e.job, e.task, e.attempt, e.at, e.cause, e.held, a.host
     FROM eviction e LEFT JOIN attempt a USING (job, task, attempt)";

fn eviction(row: &Row<'_>) -> rusqlite::Result<EvictionRow> {
    Ok(EvictionRow {
        attempt: AttemptId {
            job: row.get(0)?,
            task: row.get(1)?,
            attempt: row.get(2)?,
        },
        at: Instant::from_micros(row.get(3)?),
        cause: cause(row, 4)?.unwrap_or(EvictionCause::Lost),
        held: Span::from_micros(row.get(5)?),
        host: row.get(6)?,
    })
}

impl StoreReader {
    /// Returns the evictions of a job's tasks, or of one task, in the order of their attempts.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn evictions(&self, job: u64, task: Option<u32>) -> Result<Vec<EvictionRow>, StoreError> {
        let sql = format!(
            "{EVICTIONS} WHERE e.job = ?1 AND (?2 IS NULL OR e.task = ?2) ORDER BY e.task, e.attempt"
        );
        self.rows(&sql, params![job, task], eviction)
    }

    /// Returns evictions in the order of their attempts, at most `limit`, from the one after `after` on.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn evictions_after(
        &self,
        filter: &RecordFilter,
        after: AttemptId,
        limit: u32,
    ) -> Result<Vec<EvictionRow>, StoreError> {
        let sql = format!(
            "{EVICTIONS} JOIN job ON job.id = e.job
             WHERE (e.job, e.task, e.attempt) > (?1, ?2, ?3) AND (?4 IS NULL OR job.user = ?4)
                 AND e.at >= coalesce(?5, e.at) AND e.at < coalesce(?6, e.at + 1)
             ORDER BY e.job, e.task, e.attempt LIMIT ?7"
        );
        let values = params![
            after.job,
            after.task,
            after.attempt,
            filter.user,
            filter.since.map(Instant::as_micros),
            filter.until.map(Instant::as_micros),
            limit
        ];
        self.rows(&sql, values, eviction)
    }

    /// Returns the sums of evictions by cause, and of abandoned tasks, of one user or of all. Removed jobs are not in them.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn eviction_sums(&self, user: Option<u32>) -> Result<EvictionSums, StoreError> {
        let sql = "SELECT cause, count(*), coalesce(saturating_sum(held), 0)
             FROM eviction JOIN job ON job.id = eviction.job WHERE ?1 IS NULL OR user = ?1 GROUP BY cause";
        let by_cause = self.rows(sql, [user], |row| {
            let cause = cause(row, 0)?.unwrap_or(EvictionCause::Lost);
            Ok((cause, row.get(1)?, Span::from_micros(row.get(2)?)))
        })?;
        let sql = "SELECT count(*), coalesce(saturating_sum(held), 0)
             FROM abandonment JOIN job ON job.id = abandonment.job WHERE ?1 IS NULL OR user = ?1";
        let abandoned = self.rows(sql, [user], |row| {
            Ok((row.get(0)?, Span::from_micros(row.get(1)?)))
        })?;
        let (abandoned, abandoned_held) = abandoned.first().copied().unwrap_or((0, Span::ZERO));
        Ok(EvictionSums {
            by_cause,
            abandoned,
            abandoned_held,
        })
    }

    /// Returns why tasks of a job are not tried again, by task.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn abandonments(&self, job: u64) -> Result<Vec<AbandonmentRow>, StoreError> {
        let sql = "SELECT task, at, owner, rule, evictions, held FROM abandonment WHERE job = ?1
             ORDER BY task";
        self.rows(sql, [job], |row| {
            let owner: String = row.get(2)?;
            Ok(AbandonmentRow {
                task: row.get(0)?,
                at: Instant::from_micros(row.get(1)?),
                by: match owner.as_str() {
                    "user" => LimitOwner::User,
                    _ => LimitOwner::Site,
                },
                rule: row.get(3)?,
                evictions: row.get(4)?,
                held: Span::from_micros(row.get(5)?),
            })
        })
    }

    /// Returns the times in which computers were in use, by computer and begin, at most `limit`, from the one after `after`
    /// on. The end of the last time of a computer may be missing.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn host_uses(
        &self,
        filter: &RecordFilter,
        after: &(String, Instant),
        limit: u32,
    ) -> Result<Vec<HostUseRow>, StoreError> {
        let sql = "SELECT host, at, until, cause FROM (
                 SELECT host, at, lead(at) OVER (PARTITION BY host ORDER BY at) AS until, cause FROM host_use)
             WHERE cause IS NOT NULL AND (host, at) > (?1, ?2)
                 AND at >= coalesce(?3, at) AND at < coalesce(?4, at + 1)
             ORDER BY host, at LIMIT ?5";
        let values = params![
            after.0,
            after.1.as_micros(),
            filter.since.map(Instant::as_micros),
            filter.until.map(Instant::as_micros),
            limit
        ];
        self.rows(sql, values, |row| {
            Ok(HostUseRow {
                host: row.get(0)?,
                from: Instant::from_micros(row.get(1)?),
                until: row.get::<_, Option<i64>>(2)?.map(Instant::from_micros),
                cause: cause(row, 3)?.unwrap_or(EvictionCause::User),
            })
        })
    }
}
