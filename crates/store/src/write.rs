//! Writes of the store: one transaction per step.

use std::collections::BTreeMap;

use rusqlite::{Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use tollgate_engine::LaunchScript;
use tollgate_gate::BookingKind;
use tollgate_model::{AttemptId, CreditsPerSecond, Instant, LimitWarning, Otherwise, Reason, Span};
use tollgate_service::{
    AdmissionState, Core, NamedResources, RejectReason, RetryRule, RowChange, ServiceCommand,
    Submission, SubmitOutcome,
};

use crate::answers::{self, KeyedAnswer};
use crate::attempts::AttemptUpdates;
use crate::content::{self, ProgramTexts};
use crate::error::{StoreError, sqlite};
use crate::format::FORMAT;
use crate::store::Store;
use crate::{arrays, books};

/// The program of a job: the part of a submission that decisions do not depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobProgram {
    /// The program and its arguments; at least one word.
    pub argv: Vec<String>,
    /// The script that the first of `argv` names, if the submission contained its text. The stored
    /// program has no text, because jobs share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<LaunchScript>,
    /// Environment variables: name and value.
    pub env: Vec<(String, String)>,
    /// Working directory; absolute.
    pub dir: String,
    /// Output file, relative to `dir`; None discards the output.
    pub output: Option<String>,
    /// Whether the first attempt, too, keeps what the output file holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub append: bool,
    /// Permission bits that new files of the job do not get.
    pub umask: u32,
    /// Maximum memory, in bytes.
    pub memory: Option<u64>,
    /// The time limit of the request, for those who look at the job: the decision has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<Span>,
    /// The signal before the time limit, if the user wants one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<LimitWarning>,
    /// The kinds of notices that the user wants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<String>,
    /// Which failed ends are followed by another try, for those who look at the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<RetryRule>,
    /// The instant before which the job was not to be decided about, for those who look at the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<Instant>,
    /// The options that a job submitted again needs besides; None of a job that an earlier version took up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<RepeatOptions>,
    /// The key with which the job was claimed as a reserved quote, if its claim had one. The same claim
    /// again changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_key: Option<String>,
}

/// The options of a submission that only decisions use, and that have no column: with them the job can be submitted
/// again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RepeatOptions {
    /// Whether the job may run again after it was lost.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub requeue: bool,
    /// Whether all processors have to be on one host.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub one_host: bool,
    /// The name of the host on which all processors have to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Devices and licences that each of its tasks takes.
    #[serde(skip_serializing_if = "NamedResources::is_empty")]
    pub resources: NamedResources,
    /// The provider's cost of each second past the deadline.
    #[serde(skip_serializing_if = "is_zero")]
    pub penalty: CreditsPerSecond,
    /// The user's minimum probability of keeping the deadline, in millionths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<u32>,
    /// The probability at which a promise is enough, in millionths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<u32>,
    /// What becomes of the job if it cannot be promised.
    pub otherwise: Otherwise,
    /// Whether the job, while it has no promise, is cancelled once it could hardly end in time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drop_late: bool,
    /// Whether as many tasks of an array as possible are promised.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

fn is_zero(penalty: &CreditsPerSecond) -> bool {
    *penalty == CreditsPerSecond::ZERO
}

impl JobProgram {
    /// Returns the stored size in bytes, without the overhead of JSON. A script counts in full for
    /// each of the jobs that share it.
    pub fn bytes(&self) -> u64 {
        let words = self.argv.iter().chain([&self.dir]).chain(&self.output);
        let variables = self.env.iter().flat_map(|(name, value)| [name, value]);
        let lengths = words.chain(variables).map(|word| word.len() as u64);
        let script = self.script.as_ref().and_then(LaunchScript::text);
        lengths.sum::<u64>() + script.map_or(0, |text| text.len() as u64)
    }
}

/// A step of the core with the data that the core does not know.
#[derive(Clone, Debug)]
pub struct CommandBatch<'a> {
    /// Time of the step.
    pub at: Instant,
    /// The commands of the step.
    pub commands: &'a [ServiceCommand],
    /// The resulting changes.
    pub changes: &'a [RowChange],
    /// The programs of the jobs submitted in the step, by job number.
    pub programs: &'a BTreeMap<u64, &'a JobProgram>,
    /// The hosts of the attempts started in the step, by name.
    pub hosts: &'a BTreeMap<AttemptId, String>,
    /// The answers to those requests of the step that their clients may send again.
    pub answers: &'a [KeyedAnswer],
}

impl Store {
    /// Writes a step atomically. The step is on disk when this function returns.
    ///
    /// # Errors
    /// If the write failed; nothing of the step is stored then.
    pub fn commit(&mut self, batch: &CommandBatch<'_>) -> Result<(), StoreError> {
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
        let mut attempts = AttemptUpdates::default();
        for change in batch.changes {
            write(&transaction, &mut attempts, batch, change).map_err(failed)?;
        }
        attempts.write(&transaction).map_err(failed)?;
        content::drop_above(&transaction, self.max_kept).map_err(failed)?;
        for answer in batch.answers {
            answers::insert(&transaction, batch.at, answer).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        self.batch = seq;
        self.since_snapshot += 1;
        Ok(())
    }

    /// Returns the number of batches that a recovery would have to replay.
    pub fn since_snapshot(&self) -> u32 {
        self.since_snapshot
    }

    /// Writes a snapshot of the state and deletes the batches that it replaces.
    ///
    /// # Errors
    /// If the write failed; the previous snapshot stays valid then.
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
                "INSERT INTO snapshot (id, seq, format, body, checksum)
                 VALUES (0, ?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET seq = excluded.seq, format = excluded.format,
                     body = excluded.body, checksum = excluded.checksum",
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
    attempts: &mut AttemptUpdates,
    batch: &CommandBatch<'_>,
    change: &RowChange,
) -> rusqlite::Result<()> {
    let at = batch.at.as_micros();
    match change {
        RowChange::Submitted {
            job,
            submission,
            answer,
        } => {
            // The array row comes first: it makes the triggers count the tasks instead of the job.
            if let Some(plan) = &submission.options.array {
                arrays::insert(to, *job, plan)?;
            }
            let program = batch.programs.get(job).copied();
            insert_job(to, *job, at, submission, answer, program)
        }
        RowChange::Decided { job, answer } => decide(to, *job, at, answer),
        RowChange::Granted { job, by, reason } => run(
            to,
            "INSERT INTO granted VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (job) DO UPDATE SET at = ?2, user = ?3, reason = ?4",
            params![job, at, by, reason],
        ),
        RowChange::Altered {
            job,
            name,
            estimate,
            due,
            max_at_once,
        } => {
            run(
                to,
                "UPDATE job SET name = ?2, estimate = ?3, due = ?4 WHERE id = ?1",
                params![job, name, estimate.as_micros(), due.map(Instant::as_micros)],
            )?;
            run(
                to,
                "UPDATE array SET most = ?2 WHERE job = ?1",
                params![job, max_at_once],
            )
        }
        RowChange::Deferred { job, held } => set_state(to, *job, deferred_state(*held)),
        RowChange::DependencyFailed { job, by } => run(
            to,
            "UPDATE job SET state = 'cancelled', finish = ?2, reasons = ?3 WHERE id = ?1",
            params![job, at, format!("after:{by}")],
        ),
        RowChange::TasksDropped { job, tasks, cause } => {
            arrays::dropped(to, *job, at, tasks, cause)
        }
        RowChange::HeldTasks { job, tasks } => arrays::held(to, *job, at, tasks),
        RowChange::ArrayCounts { job, counts: tally } => arrays::tally(to, *job, at, tally),
        RowChange::TaskEnded { attempt, ending } => {
            attempts.set_ended(*attempt, *ending);
            Ok(())
        }
        RowChange::Claimed { job } => claim(to, *job, batch.programs.get(job).copied()),
        RowChange::Expired { job } => run(
            to,
            "UPDATE job SET state = 'expired', finish = ?2 WHERE id = ?1",
            params![job, at],
        ),
        RowChange::Accepted { job, price } => run(
            to,
            "UPDATE job SET decided = coalesce(decided, ?2), price = coalesce(price, ?3) WHERE id = ?1",
            params![job, at, price.as_micros()],
        ),
        RowChange::Priced { job, price } => run(
            to,
            "UPDATE job SET decided = coalesce(decided, ?2), price = coalesce(price, ?3) WHERE id = ?1",
            params![job, at, price.as_micros()],
        ),
        RowChange::Promised {
            job,
            probability,
            n_batches,
        } => run(
            to,
            "UPDATE job SET probability = ?2, batches = ?3, reasons = NULL WHERE id = ?1",
            params![job, probability.as_f64(), n_batches],
        ),
        RowChange::Rejected { job, reason } => {
            run(
                to,
                "UPDATE job SET state = 'rejected', decided = ?2, finish = ?2, reasons = ?3 WHERE id = ?1",
                params![job, at, reason.key()],
            )?;
            books::enter_rejected(to, *job, at)
        }
        RowChange::DroppedLate { job } => run(
            to,
            "UPDATE job SET state = 'cancelled', finish = ?2, reasons = ?3 WHERE id = ?1",
            params![job, at, Reason::LATE.key()],
        ),
        RowChange::Queued { job } => set_state(to, *job, "queued"),
        RowChange::Held { job } => set_state(to, *job, "held"),
        RowChange::Started { attempt, of_array } => {
            attempts.set_ordered(*attempt, at, batch.hosts.get(attempt));
            match of_array {
                true => Ok(()),
                false => run(
                    to,
                    "UPDATE job SET state = 'running', attempts = ?2, start = coalesce(start, ?3)
                     WHERE id = ?1",
                    params![attempt.job, attempt.attempt, at],
                ),
            }
        }
        RowChange::AttemptReported(report) => {
            attempts.set_reported(report);
            Ok(())
        }
        // Nothing of it outlasts the attempt.
        RowChange::AtRisk { .. } => Ok(()),
        RowChange::WorkMeasured { attempt, work } => {
            attempts.set_work(*attempt, *work);
            Ok(())
        }
        RowChange::WorkerLost { attempt, worker } => {
            attempts.set_worker_lost(*attempt, *worker);
            Ok(())
        }
        RowChange::Booked {
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
        RowChange::Entered {
            attempt,
            entry,
            wait,
            of_array,
        } => {
            match of_array {
                true if attempt.attempt > 0 => attempts.set_entry(*attempt, *entry),
                true => {}
                false => run(
                    to,
                    "UPDATE job SET promise = ?2 WHERE id = ?1",
                    params![attempt.job, entry.key()],
                )?,
            }
            books::enter(to, attempt.job, at, *entry, 1, *wait)
        }
        RowChange::EnteredTogether {
            job,
            tasks,
            entry,
            wait,
        } => books::enter(to, *job, at, *entry, tasks.len(), *wait),
        RowChange::StartedLate { attempt, entry } => {
            attempts.set_entry(*attempt, *entry);
            Ok(())
        }
        RowChange::JobEnded { job, ending } => run(
            to,
            "UPDATE job SET state = ?2, finish = ?3 WHERE id = ?1",
            params![job, ending.key(), at],
        ),
    }
}

pub(crate) fn run(
    to: &Transaction<'_>,
    sql: &str,
    values: impl rusqlite::Params,
) -> rusqlite::Result<()> {
    to.prepare_cached(sql)?.execute(values).map(|_| ())
}

fn insert_job(
    to: &Transaction<'_>,
    job: u64,
    at: i64,
    submission: &Submission,
    answer: &SubmitOutcome,
    program: Option<&JobProgram>,
) -> rusqlite::Result<()> {
    let DecisionColumns {
        state,
        decided,
        price,
        reasons,
        probability,
        forecast,
    } = DecisionColumns::of(answer, at);
    let texts = ProgramTexts::of(program).map_err(unwritable)?;
    let program = texts.rest(program).map_err(unwritable)?;
    let state = match (answer.reserved_until, state) {
        (Some(_), _) => "reserved",
        (None, "dependent") => deferred_state(submission.options.held),
        (None, state) => state,
    };
    let is_rejected = state == "rejected";
    let after = submission.options.dependencies.iter();
    let after: Vec<String> = after.map(|earlier| earlier.job.to_string()).collect();
    let after = Some(after.join(",")).filter(|after| !after.is_empty());
    run(
        to,
        "INSERT INTO job (id, user, name, state, program, procs, submit, estimate, source, due,
             budget, penalty, decided, price, reasons, probability, finish, after,
             account, queue, forecast, script, environment, command, batches)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
             ?20, ?21, ?22, ?23, ?24, ?25)",
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
            probability,
            decided.filter(|_| state == "rejected"),
            after,
            submission.account,
            submission.queue,
            forecast,
            texts.script.as_ref().filter(|_| !is_rejected),
            texts.environment().filter(|_| !is_rejected),
            texts.command(),
            answer.basis.n_batches(),
        ],
    )?;
    // Nobody needs the texts of a job that will never run.
    if is_rejected {
        books::enter_rejected(to, job, at)
    } else {
        texts.insert(to)
    }
}

/// Updates a job whose decision was deferred.
fn decide(to: &Transaction<'_>, job: u64, at: i64, answer: &SubmitOutcome) -> rusqlite::Result<()> {
    let verdict = DecisionColumns::of(answer, at);
    // A promise that was broken before its job was changed keeps the probability at which it is in the books. Of an array,
    // whose tasks may be in the books, one that is promised no more keeps its own.
    run(
        to,
        "UPDATE job SET state = ?2, decided = ?3, price = ?4, reasons = ?5,
             probability = CASE WHEN promise IS NOT NULL THEN probability
                 WHEN id IN (SELECT job FROM array) THEN coalesce(?6, probability) ELSE ?6 END,
             estimate = ?7, source = ?8, finish = ?9, forecast = ?10,
             batches = CASE WHEN promise IS NOT NULL THEN batches
                 WHEN id IN (SELECT job FROM array) THEN coalesce(?11, batches) ELSE ?11 END
         WHERE id = ?1",
        params![
            job,
            verdict.state,
            verdict.decided,
            verdict.price,
            verdict.reasons,
            verdict.probability,
            answer.spec.estimate.as_micros(),
            answer.source.key(),
            verdict.decided.filter(|_| verdict.state == "rejected"),
            verdict.forecast,
            answer.basis.n_batches(),
        ],
    )?;
    match verdict.state {
        "rejected" => books::enter_rejected(to, job, at),
        _ => Ok(()),
    }
}

/// The decision about a job, as columns.
struct DecisionColumns {
    state: &'static str,
    decided: Option<i64>,
    price: Option<i64>,
    reasons: Option<String>,
    probability: Option<f64>,
    /// The forecast end of a job that is not an array.
    forecast: Option<i64>,
}

impl DecisionColumns {
    fn of(answer: &SubmitOutcome, at: i64) -> Self {
        let (state, decided, price, reasons) = match &answer.admission {
            AdmissionState::Accepted { price } => {
                ("queued", Some(at), Some(price.as_micros()), None)
            }
            AdmissionState::Queued | AdmissionState::Waitlisted { .. } => {
                ("queued", None, None, None)
            }
            AdmissionState::Unpromised(reasons) => ("queued", None, None, Some(keys(reasons))),
            AdmissionState::Deferred => ("dependent", None, None, None),
            AdmissionState::Rejected(refusals) => {
                ("rejected", Some(at), None, Some(keys(refusals)))
            }
        };
        let probability = answer.prediction.and_then(|prospect| prospect.probability);
        Self {
            state,
            decided,
            price,
            reasons,
            probability: probability.map(|probability| probability.as_f64()),
            forecast: answer
                .prediction
                .filter(|_| answer.groups.is_empty() && state != "rejected")
                .map(|prospect| prospect.finish.as_micros()),
        }
    }
}

fn deferred_state(held: bool) -> &'static str {
    if held { "held" } else { "dependent" }
}

/// Updates a reserved quote that became a job.
fn claim(to: &Transaction<'_>, job: u64, program: Option<&JobProgram>) -> rusqlite::Result<()> {
    let texts = ProgramTexts::of(program).map_err(unwritable)?;
    texts.insert(to)?;
    run(
        to,
        "UPDATE job SET state = 'queued', program = ?2, script = ?3, environment = ?4, command = ?5
         WHERE id = ?1",
        params![
            job,
            texts.rest(program).map_err(unwritable)?,
            texts.script,
            texts.environment(),
            texts.command(),
        ],
    )
}

fn unwritable(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

pub(crate) fn keys(refusals: &[RejectReason]) -> String {
    let keys: Vec<&str> = refusals.iter().map(RejectReason::key).collect();
    keys.join(",")
}

fn set_state(to: &Transaction<'_>, job: u64, state: &str) -> rusqlite::Result<()> {
    run(
        to,
        "UPDATE job SET state = ?2 WHERE id = ?1",
        params![job, state],
    )
}

fn entry_key(entry: BookingKind) -> &'static str {
    match entry {
        BookingKind::Charge => "charge",
        BookingKind::Penalty => "penalty",
    }
}
