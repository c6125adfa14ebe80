//! One attempt at a batch system.

use std::time::Instant as MonotonicInstant;

use tollgate_batch::{BatchJobId, BatchLimit};
use tollgate_model::{AttemptEvent, AttemptStart, AttemptStatus, KillReason};
use tollgate_runner::attempt::files::OfferedAttempt;

/// The job of an attempt, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobStage {
    /// There is certainly no job.
    New,
    /// A command submits the job at this moment.
    Submitting,
    /// There may be a job, whose id is not known.
    Uncertain,
    /// The engine accepted the job.
    Accepted(BatchJobId),
}

/// An attempt that is on disk and not acknowledged.
pub(crate) struct BookEntry {
    pub(crate) offer: OfferedAttempt,
    pub(crate) stage: JobStage,
    /// Since when the stage is known. Answers to earlier queries say nothing about it.
    pub(crate) since: MonotonicInstant,
    pub(crate) started: Option<AttemptStart>,
    /// The first reason for which the attempt is to end.
    pub(crate) killed: Option<KillReason>,
    pub(crate) end: Option<AttemptEvent>,
    /// Number of queries in a row that showed no job that can still run.
    pub(crate) absent: u32,
    /// Number of times that the job was submitted again because it had vanished before it ran.
    pub(crate) repetitions: u32,
    /// The engine's words for why the job waits in its queue; may be empty.
    pub(crate) waits_for: String,
    /// The engine's words for why the job ended or is stuck; may be empty.
    pub(crate) reason: String,
    /// The limit by which the engine ended the job.
    pub(crate) limit: Option<BatchLimit>,
}

impl BookEntry {
    pub(crate) fn new(offer: OfferedAttempt, stage: JobStage, now: MonotonicInstant) -> Self {
        Self {
            offer,
            stage,
            since: now,
            started: None,
            killed: None,
            end: None,
            absent: 0,
            repetitions: 0,
            waits_for: String::new(),
            reason: String::new(),
            limit: None,
        }
    }

    pub(crate) fn set_stage(&mut self, stage: JobStage) {
        self.stage = stage;
        self.since = MonotonicInstant::now();
        self.absent = 0;
    }

    /// Returns an end with the reason for which the service ended the attempt. The job knows only that it
    /// was asked to end.
    pub(crate) fn with_reason(&self, event: AttemptEvent) -> AttemptEvent {
        match event {
            AttemptEvent::Ended(mut ended) => {
                ended.killed = match (ended.killed, &ended.status) {
                    (Some(KillReason::Evicted), _) => self.killed.or(ended.killed),
                    (Some(_), _) | (None, AttemptStatus::Exited(_)) => ended.killed,
                    // The engine's signal may reach the task first.
                    (None, AttemptStatus::Signalled(_) | AttemptStatus::NotStarted(_)) => {
                        self.killed
                    }
                };
                AttemptEvent::Ended(ended)
            }
            AttemptEvent::Started(_) | AttemptEvent::Lost { .. } => event,
        }
    }
}
