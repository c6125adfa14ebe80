//! Attempts in a transaction: what happened to one in a step is one row, written once.

use std::collections::BTreeMap;

use rusqlite::{Transaction, params};
use tollgate_gate::{Ending, WorkerId};

use super::write::ending_key;
use crate::core::{AttemptKey, ExitStatus, Fate, Killed};
use crate::fleet::muster::LOCAL;

/// What happened to attempts in a step.
#[derive(Debug, Default)]
pub(super) struct Attempts(BTreeMap<AttemptKey, News>);

/// What is new of an attempt; the rest is as it was. Instants and spans in microseconds.
#[derive(Debug, Default)]
struct News {
    ordered: Option<i64>,
    start: Option<i64>,
    pid: Option<u32>,
    finish: Option<i64>,
    status: Option<String>,
    wall: Option<i64>,
    cpu: Option<i64>,
    peak_memory: Option<i64>,
    ending: Option<&'static str>,
}

impl Attempts {
    /// It is to run.
    pub(super) fn ordered(&mut self, attempt: AttemptKey, at: i64) {
        self.0.entry(attempt).or_default().ordered = Some(at);
    }

    /// With it its task is over.
    pub(super) fn over(&mut self, attempt: AttemptKey, ending: Ending) {
        self.0.entry(attempt).or_default().ending = Some(ending_key(ending));
    }

    /// The engine said what became of it.
    pub(super) fn fate(&mut self, attempt: AttemptKey, fate: &Fate) {
        let news = self.0.entry(attempt).or_default();
        match fate {
            Fate::Started { pid, at } => {
                news.start = Some(at.as_micros());
                news.pid = *pid;
            }
            Fate::Ended {
                status,
                killed,
                at,
                wall,
                cpu,
                peak_memory,
            } => {
                news.finish = Some(at.as_micros());
                news.status = Some(status_words(status, *killed));
                news.wall = Some(wall.as_micros());
                news.cpu = Some(cpu.as_micros());
                news.peak_memory = peak_memory.map(|bytes| bytes as i64);
            }
            Fate::Lost { at } => {
                news.finish = Some(at.as_micros());
                news.status = Some("lost".to_owned());
            }
        }
    }

    /// Its worker is lost, and the attempt with it.
    pub(super) fn worker_lost(&mut self, attempt: AttemptKey, worker: WorkerId) {
        let status = match worker {
            LOCAL => "lost (nodes of the service changed)",
            _ => "lost (worker disconnected)",
        };
        self.0.entry(attempt).or_default().status = Some(status.to_owned());
    }

    pub(super) fn write(self, to: &Transaction<'_>) -> rusqlite::Result<()> {
        for (key, news) in self.0 {
            let sql = match news.ordered {
                Some(_) => {
                    "INSERT INTO attempt (job, task, attempt, ordered, start, pid, finish, status,
                         wall, cpu, peak_memory, ending)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
                }
                None => {
                    "UPDATE attempt SET ordered = coalesce(?4, ordered), start = coalesce(?5, start),
                         pid = coalesce(?6, pid), finish = coalesce(?7, finish),
                         status = coalesce(?8, status), wall = coalesce(?9, wall),
                         cpu = coalesce(?10, cpu), peak_memory = coalesce(?11, peak_memory),
                         ending = coalesce(?12, ending)
                     WHERE job = ?1 AND task = ?2 AND attempt = ?3"
                }
            };
            to.prepare_cached(sql)?.execute(params![
                key.job,
                key.task,
                key.attempt,
                news.ordered,
                news.start,
                news.pid,
                news.finish,
                news.status,
                news.wall,
                news.cpu,
                news.peak_memory,
                news.ending,
            ])?;
        }
        Ok(())
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
        Some(Killed::OutputLimit) => format!("{how} (output limit)"),
        Some(Killed::Evicted) => format!("{how} (evicted)"),
    }
}
