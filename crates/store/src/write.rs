//! Writes of the store: one transaction per step.

use std::collections::BTreeMap;

use rusqlite::{Transaction, TransactionBehavior, params};
use tollgate_gate::BookingKind;
use tollgate_model::{AttemptId, BookEntry, Instant, Reason};
use tollgate_service::{Core, HostUse, RowChange, ServiceCommand, TaskRanges};

use crate::answers::{self, KeyedAnswer};
use crate::attempts::AttemptUpdates;
use crate::content;
use crate::error::{StoreError, sqlite};
use crate::format::FORMAT;
use crate::job_program::JobProgram;
use crate::job_rows::{alter_program, claim, decide, deferred_state, insert_job, set_state};
use crate::statement::run;
use crate::store::Store;
use crate::{arrays, books, desktops, expected_hosts, history, places};

/// The hosts of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptHosts {
    /// The name of the host on which its program runs.
    pub main: String,
    /// All of them with the number of its processors on each, as in `n1:4,n2:2`; None if there is one.
    pub all: Option<String>,
    /// The numbers of its nodes, as in `0-3,8`.
    pub nodes: String,
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
    /// The hosts of the attempts started in the step.
    pub hosts: &'a BTreeMap<AttemptId, AttemptHosts>,
    /// The computers that came into use in the step, or are free again.
    pub host_uses: &'a [HostUse],
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
        for host in batch.host_uses {
            desktops::used(&transaction, batch.at.as_micros(), host).map_err(failed)?;
        }
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
            time_limit,
            comment,
        } => {
            history::turn(to, *job, at, "altered", None, None)?;
            if time_limit.is_some() || comment.is_some() {
                alter_program(to, *job, *time_limit, comment.as_ref())?;
            }
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
        RowChange::Deferred { job, held } => {
            let state = deferred_state(*held);
            let kind = if *held { "held" } else { "deferred" };
            history::turn(to, *job, at, kind, None, None)?;
            set_state(to, *job, state)
        }
        RowChange::DependencyFailed { job, by } => run(
            to,
            "UPDATE job SET state = 'cancelled', finish = ?2, reasons = ?3 WHERE id = ?1",
            params![job, at, format!("after:{by}")],
        ),
        RowChange::TasksDropped { job, tasks, cause } => {
            arrays::dropped(to, *job, at, tasks, cause)
        }
        RowChange::HeldTasks { job, tasks } => {
            history::turn(to, *job, at, "held", Some(tasks), None)?;
            arrays::held(to, *job, at, tasks)
        }
        RowChange::ArrayCounts { job, counts: tally } => arrays::tally(to, *job, at, tally),
        RowChange::TaskEnded { attempt, ending } => {
            attempts.set_ended(*attempt, *ending);
            Ok(())
        }
        RowChange::Claimed { job } => {
            history::turn(to, *job, at, "claimed", None, None)?;
            claim(to, *job, batch.programs.get(job).copied())
        }
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
            on_expected,
        } => {
            history::promise_late(to, *job, at)?;
            expected_hosts::mark(to, *job, *on_expected)?;
            run(
                to,
                "UPDATE job SET probability = ?2, batches = ?3, reasons = NULL WHERE id = ?1",
                params![job, probability.as_f64(), n_batches],
            )
        }
        RowChange::NotPromised { job, reason } => {
            history::turn(to, *job, at, "unpromised", None, None)?;
            run(
                to,
                "UPDATE job SET reasons = ?2 WHERE id = ?1",
                params![job, reason.key()],
            )
        }
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
        RowChange::Queued { job } => {
            history::turn(to, *job, at, "queued", None, None)?;
            set_state(to, *job, "queued")
        }
        RowChange::Held { job } => {
            history::turn(to, *job, at, "held", None, None)?;
            set_state(to, *job, "held")
        }
        RowChange::Started { attempt, of_array } => {
            let hosts = batch.hosts.get(attempt);
            attempts.set_ordered(*attempt, at, hosts.map(|hosts| &hosts.main));
            if let Some(hosts) = hosts {
                places::begin(to, *attempt, at, &hosts.nodes)?;
            }
            if let Some(all) = hosts.and_then(|hosts| hosts.all.as_ref()) {
                // A replaced row would fire no trigger that takes it out of the sum of its table.
                run(
                    to,
                    "INSERT INTO placement VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET hosts = excluded.hosts",
                    params![attempt.job, attempt.task, attempt.attempt, all],
                )?;
            }
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
        RowChange::AtRisk { job, risk } => {
            let note = format!("{}: {}", risk.probability, risk.cause);
            history::turn(to, *job, at, "at_risk", None, Some(&note))
        }
        RowChange::Evicted {
            attempt,
            cause,
            held,
        } => {
            let note = cause.phrase();
            let task = (attempt.task > 0).then(|| TaskRanges::new(attempt.task, attempt.task));
            history::turn(to, attempt.job, at, "evicted", task.as_ref(), Some(note))?;
            desktops::evicted(to, *attempt, at, *cause, *held)
        }
        RowChange::Abandoned { attempt, why } => desktops::abandoned(to, *attempt, at, why),
        RowChange::WorkMeasured { attempt, work } => {
            attempts.set_work(*attempt, *work);
            Ok(())
        }
        RowChange::WorkerLost { attempt, worker } => {
            attempts.set_worker_lost(*attempt, *worker);
            places::end(to, *attempt, at)
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
            if let BookEntry::Broken(_) = entry {
                let task = of_array.then(|| TaskRanges::new(attempt.task, attempt.task));
                history::turn(to, attempt.job, at, "broken", task.as_ref(), None)?;
            }
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

fn entry_key(entry: BookingKind) -> &'static str {
    match entry {
        BookingKind::Charge => "charge",
        BookingKind::Penalty => "penalty",
    }
}
