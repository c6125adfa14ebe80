//! Writes about attempts, within a transaction. All updates of an attempt in one step are one
//! write.

use std::collections::BTreeMap;

use rusqlite::{Transaction, params};
use tollgate_gate::WorkerId;
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptReport, AttemptStatus, BookEntry, JobEndState, KillReason, Span,
};
use tollgate_service::LOCAL_WORKER;

use crate::places;

/// The updates of all attempts in one step.
#[derive(Debug, Default)]
pub(crate) struct AttemptUpdates(BTreeMap<AttemptId, AttemptUpdate>);

/// The update of an attempt; None leaves a column unchanged. Instants and spans are in
/// microseconds.
#[derive(Debug, Default)]
struct AttemptUpdate {
    ordered: Option<i64>,
    start: Option<i64>,
    pid: Option<u32>,
    finish: Option<i64>,
    status: Option<String>,
    wall: Option<i64>,
    cpu: Option<i64>,
    peak_memory: Option<i64>,
    ending: Option<&'static str>,
    promise: Option<&'static str>,
    work: Option<i64>,
    host: Option<String>,
}

impl AttemptUpdates {
    /// Records the order to start the attempt, and its host.
    pub(crate) fn set_ordered(&mut self, attempt: AttemptId, at: i64, host: Option<&String>) {
        let update = self.0.entry(attempt).or_default();
        update.ordered = Some(at);
        update.host = host.cloned();
    }

    /// Records that the task ended with this attempt.
    pub(crate) fn set_ended(&mut self, attempt: AttemptId, ending: JobEndState) {
        self.0.entry(attempt).or_default().ending = Some(ending.key());
    }

    /// Records the entry of the attempt's task in the books.
    pub(crate) fn set_entry(&mut self, attempt: AttemptId, entry: BookEntry) {
        self.0.entry(attempt).or_default().promise = Some(entry.key());
    }

    /// Records the work of the attempt.
    pub(crate) fn set_work(&mut self, attempt: AttemptId, work: Span) {
        self.0.entry(attempt).or_default().work = Some(work.as_micros());
    }

    /// Records what the engine reported.
    pub(crate) fn set_reported(&mut self, report: &AttemptReport) {
        let update = self.0.entry(report.attempt).or_default();
        match &report.event {
            AttemptEvent::Started(start) => {
                update.start = Some(start.at.as_micros());
                update.pid = start.pid;
            }
            AttemptEvent::Ended(ended) => {
                update.finish = Some(ended.at.as_micros());
                update.status = Some(status_text(&ended.status, ended.killed));
                update.wall = Some(ended.wall.as_micros());
                update.cpu = Some(ended.cpu.as_micros());
                update.peak_memory = ended.peak_memory.map(|bytes| bytes as i64);
            }
            AttemptEvent::Lost { at } => {
                update.finish = Some(at.as_micros());
                update.status = Some("lost".to_owned());
            }
        }
    }

    /// Records that the attempt was lost together with its worker.
    pub(crate) fn set_worker_lost(&mut self, attempt: AttemptId, worker: WorkerId) {
        let status = match worker {
            LOCAL_WORKER => "lost (nodes of the service changed)",
            _ => "lost (worker disconnected)",
        };
        self.0.entry(attempt).or_default().status = Some(status.to_owned());
    }

    pub(crate) fn write(self, to: &Transaction<'_>) -> rusqlite::Result<()> {
        for (key, update) in self.0 {
            let sql = match update.ordered {
                Some(_) => {
                    "INSERT INTO attempt (job, task, attempt, ordered, start, pid, finish, status,
                         wall, cpu, peak_memory, ending, promise, work, host)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
                }
                None => {
                    "UPDATE attempt SET ordered = coalesce(?4, ordered), start = coalesce(?5, start),
                         pid = coalesce(?6, pid), finish = coalesce(?7, finish),
                         status = coalesce(?8, status), wall = coalesce(?9, wall),
                         cpu = coalesce(?10, cpu), peak_memory = coalesce(?11, peak_memory),
                         ending = coalesce(?12, ending), promise = coalesce(?13, promise),
                         work = coalesce(?14, work), host = coalesce(?15, host)
                     WHERE job = ?1 AND task = ?2 AND attempt = ?3"
                }
            };
            to.prepare_cached(sql)?.execute(params![
                key.job,
                key.task,
                key.attempt,
                update.ordered,
                update.start,
                update.pid,
                update.finish,
                update.status,
                update.wall,
                update.cpu,
                update.peak_memory,
                update.ending,
                update.promise,
                update.work,
                update.host,
            ])?;
            if let Some(finish) = update.finish {
                places::end(to, key, finish)?;
            }
        }
        Ok(())
    }
}

/// Formats a status: `exit 0`, `signal 9`, `signal 15 (cancelled)`, `not started: program: no such
/// file`.
fn status_text(status: &AttemptStatus, killed: Option<KillReason>) -> String {
    match killed {
        None => status.to_string(),
        Some(KillReason::Cancelled) => format!("{status} (cancelled)"),
        Some(KillReason::TimeLimit) => format!("{status} (time limit)"),
        Some(KillReason::MemoryLimit) => format!("{status} (memory limit)"),
        Some(KillReason::OutputLimit) => format!("{status} (output limit)"),
        Some(KillReason::Evicted) => format!("{status} (evicted)"),
        Some(KillReason::Withdrawn) => format!("{status} (withdrawn)"),
        Some(KillReason::GaveWay(cause)) => format!("{status} (evicted: {})", cause.key()),
    }
}
