//! One transaction a step.

use std::collections::BTreeMap;

use rusqlite::{Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use tollgate_gate::{Ending, Entry};
use tollgate_model::Instant;

use super::{FORMAT, Store, StoreError, sqlite};
use crate::core::{
    Answer, AttemptKey, Change, Command, Core, ExitStatus, Fate, Killed, Refusal, Standing,
    Submission,
};

/// What a job runs: nothing that decisions depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The program and its arguments; at least one word.
    pub argv: Vec<String>,
    /// The environment that it gets, by name.
    pub env: Vec<(String, String)>,
    /// The folder that it starts in; absolute.
    pub dir: String,
    /// Where its output goes, relative to `dir`; none throws it away.
    pub output: Option<String>,
    /// Permission bits that files it makes do not get.
    pub umask: u32,
    /// Bytes of memory that it may use at most.
    pub memory: Option<u64>,
}

/// A change with what the core does not know of it.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
    /// When it was handled.
    pub at: Instant,
    /// What was handled.
    pub commands: &'a [Command],
    /// What followed.
    pub changes: &'a [Change],
    /// What the jobs run that are new in it, by their numbers.
    pub programs: &'a BTreeMap<u64, Program>,
}

impl Store {
    /// Writes everything about a step, or nothing. When this returns, it is on the disk.
    ///
    /// # Errors
    /// If it could not be written; nothing of it is then.
    pub fn commit(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let failed = sqlite(&self.path, "cannot be written");
        let seq = self.batch + 1;
        let commands =
            postcard::to_stdvec(batch.commands).map_err(|error| StoreError::Damaged {
                path: self.path.clone(),
                what: format!("commands cannot be encoded: {error}"),
            })?;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        transaction
            .prepare_cached(
                "INSERT INTO batch (seq, at, commands, checksum) VALUES (?1, ?2, ?3, ?4)",
            )
            .and_then(|mut insert| {
                let sum = crc32fast::hash(&commands);
                insert.execute(params![seq, batch.at.as_micros(), commands, sum])
            })
            .map_err(failed)?;
        for change in batch.changes {
            write(&transaction, batch.at, change, batch.programs).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        self.batch = seq;
        self.since_snapshot += 1;
        Ok(())
    }

    /// How many batches a recovery would have to handle again.
    pub fn since_snapshot(&self) -> u32 {
        self.since_snapshot
    }

    /// Writes down the state, so that what led to it need not be handled again.
    ///
    /// # Errors
    /// If it could not be written; the last snapshot then stands.
    pub fn save(&mut self, core: &mut Core) -> Result<(), StoreError> {
        let failed = sqlite(&self.path, "cannot be written");
        let body = postcard::to_stdvec(&core.save()).map_err(|error| StoreError::Damaged {
            path: self.path.clone(),
            what: format!("the state cannot be encoded: {error}"),
        })?;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        transaction
            .execute(
                "INSERT OR REPLACE INTO snapshot (id, seq, format, body, checksum)
                 VALUES (0, ?1, ?2, ?3, ?4)",
                params![self.batch, FORMAT, body, crc32fast::hash(&body)],
            )
            .map_err(failed)?;
        transaction
            .execute("DELETE FROM batch WHERE seq <= ?1", [self.batch])
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
        self.since_snapshot = 0;
        Ok(())
    }
}

fn write(
    to: &Transaction<'_>,
    at: Instant,
    change: &Change,
    programs: &BTreeMap<u64, Program>,
) -> rusqlite::Result<()> {
    let at = at.as_micros();
    match change {
        Change::Submitted {
            job,
            submission,
            answer,
        } => insert_job(to, *job, at, submission, answer, programs.get(job)),
        Change::Claimed { job } => run(
            to,
            "UPDATE job SET state = 'queued', program = ?2 WHERE id = ?1",
            params![job, program_words(programs.get(job))?],
        ),
        Change::Lapsed { job } => run(
            to,
            "UPDATE job SET state = 'lapsed', finish = ?2 WHERE id = ?1",
            params![job, at],
        ),
        Change::Accepted { job, price } => run(
            to,
            "UPDATE job SET decided = coalesce(decided, ?2), price = coalesce(price, ?3) WHERE id = ?1",
            params![job, at, price.as_micros()],
        ),
        Change::Rejected { job, reason } => run(
            to,
            "UPDATE job SET state = 'rejected', decided = ?2, finish = ?2, reasons = ?3 WHERE id = ?1",
            params![job, at, reason.key()],
        ),
        Change::Queued { job } => set_state(to, *job, "queued"),
        Change::Held { job } => set_state(to, *job, "held"),
        Change::Started { attempt } => start(to, at, *attempt),
        Change::Fate { attempt, fate } => write_fate(to, *attempt, fate),
        Change::Booked {
            attempt,
            user,
            entry,
            amount,
        } => run(
            to,
            "INSERT INTO ledger (job, task, attempt, kind, at, user, amount)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                attempt.job,
                attempt.task,
                attempt.attempt,
                entry_key(*entry),
                at,
                user,
                amount.as_micros()
            ],
        ),
        Change::Over { job, ending } => run(
            to,
            "UPDATE job SET state = ?2, finish = ?3 WHERE id = ?1",
            params![job, ending_key(*ending), at],
        ),
    }
}

fn run(to: &Transaction<'_>, sql: &str, values: impl rusqlite::Params) -> rusqlite::Result<()> {
    to.prepare_cached(sql)?.execute(values).map(|_| ())
}

fn insert_job(
    to: &Transaction<'_>,
    job: u64,
    at: i64,
    submission: &Submission,
    answer: &Answer,
    program: Option<&Program>,
) -> rusqlite::Result<()> {
    let (state, decided, price, reasons) = match &answer.standing {
        Standing::Accepted { price } => ("queued", Some(at), Some(price.as_micros()), None),
        Standing::Queued => ("queued", None, None, None),
        Standing::Rejected(refusals) => ("rejected", Some(at), None, Some(keys(refusals))),
    };
    let prospect = answer.prospect;
    let probability = prospect.and_then(|prospect| prospect.probability);
    let program = program_words(program)?;
    let state = match answer.held_until {
        Some(_) => "quoted",
        None => state,
    };
    run(
        to,
        "INSERT INTO job (id, user, name, state, program, procs, submit, estimate, source, due,
             budget, penalty, decided, price, reasons, probability, finish)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        params![
            job,
            submission.user,
            submission.name,
            state,
            program,
            submission.procs,
            answer.spec.submit.as_micros(),
            answer.spec.estimate.as_micros(),
            answer.source.key(),
            answer.spec.due().map(Instant::as_micros),
            submission.budget.map(|budget| budget.as_micros()),
            submission.penalty.as_f64(),
            decided,
            price,
            reasons,
            probability.map(|probability| probability.as_f64()),
            decided.filter(|_| state == "rejected"),
        ],
    )
}

fn program_words(program: Option<&Program>) -> rusqlite::Result<String> {
    serde_json::to_string(&program)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn keys(refusals: &[Refusal]) -> String {
    let keys: Vec<&str> = refusals.iter().map(Refusal::key).collect();
    keys.join(",")
}

fn set_state(to: &Transaction<'_>, job: u64, state: &str) -> rusqlite::Result<()> {
    run(
        to,
        "UPDATE job SET state = ?2 WHERE id = ?1",
        params![job, state],
    )
}

fn start(to: &Transaction<'_>, at: i64, key: AttemptKey) -> rusqlite::Result<()> {
    run(
        to,
        "UPDATE job SET state = 'running', attempts = ?2, start = coalesce(start, ?3) WHERE id = ?1",
        params![key.job, key.attempt, at],
    )?;
    run(
        to,
        "INSERT INTO attempt (job, task, attempt, ordered) VALUES (?1, ?2, ?3, ?4)",
        params![key.job, key.task, key.attempt, at],
    )
}

fn write_fate(to: &Transaction<'_>, key: AttemptKey, fate: &Fate) -> rusqlite::Result<()> {
    let AttemptKey { job, task, attempt } = key;
    match fate {
        Fate::Started { pid, at } => run(
            to,
            "UPDATE attempt SET start = ?4, pid = ?5 WHERE job = ?1 AND task = ?2 AND attempt = ?3",
            params![job, task, attempt, at.as_micros(), pid],
        ),
        Fate::Ended {
            status,
            killed,
            at,
            wall,
            cpu,
            peak_memory,
        } => run(
            to,
            "UPDATE attempt SET finish = ?4, status = ?5, wall = ?6, cpu = ?7, peak_memory = ?8
             WHERE job = ?1 AND task = ?2 AND attempt = ?3",
            params![
                job,
                task,
                attempt,
                at.as_micros(),
                status_words(status, *killed),
                wall.as_micros(),
                cpu.as_micros(),
                peak_memory.map(|bytes| bytes as i64),
            ],
        ),
        Fate::Lost { at } => run(
            to,
            "UPDATE attempt SET finish = ?4, status = 'lost'
             WHERE job = ?1 AND task = ?2 AND attempt = ?3",
            params![job, task, attempt, at.as_micros()],
        ),
    }
}

/// `exit 0`, `signal 9`, `signal 15 (cancelled)`, `not started: program: no such file`.
fn status_words(status: &ExitStatus, killed: Option<Killed>) -> String {
    let how = match status {
        ExitStatus::Code(code) => format!("exit {code}"),
        ExitStatus::Signal(signal) => format!("signal {signal}"),
        ExitStatus::NotStarted { step, reason } => format!("not started: {step}: {reason}"),
    };
    match killed {
        None => how,
        Some(Killed::Cancelled) => format!("{how} (cancelled)"),
        Some(Killed::TimeLimit) => format!("{how} (time limit)"),
        Some(Killed::MemoryLimit) => format!("{how} (memory limit)"),
        Some(Killed::Evicted) => format!("{how} (evicted)"),
    }
}

fn entry_key(entry: Entry) -> &'static str {
    match entry {
        Entry::Charge => "charge",
        Entry::Penalty => "penalty",
    }
}

fn ending_key(ending: Ending) -> &'static str {
    match ending {
        Ending::Finished => "finished",
        Ending::Cancelled => "cancelled",
        Ending::Lost => "lost",
    }
}
