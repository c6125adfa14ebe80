//! The engine's words in ours, and ours in the engine's.

use tollgate_engine::{Ended, Event, KillReason, Report, Status};
use tollgate_model::{Instant, Span};

use crate::core::{AttemptKey, Command, ExitStatus, Fate, Killed};

/// The engine's name of an attempt.
pub(crate) fn key(attempt: AttemptKey) -> tollgate_engine::AttemptKey {
    tollgate_engine::AttemptKey {
        job: attempt.job,
        task: attempt.task,
        attempt: attempt.attempt,
    }
}

/// Our name of an attempt.
pub(crate) fn key_of(attempt: tollgate_engine::AttemptKey) -> AttemptKey {
    AttemptKey {
        job: attempt.job,
        task: attempt.task,
        attempt: attempt.attempt,
    }
}

/// A report as a command.
pub(crate) fn command(report: &Report) -> Command {
    let fate = match &report.event {
        Event::Started(start) => Fate::Started {
            pid: start.pid,
            at: start.at,
        },
        Event::Ended(ended) => Fate::Ended {
            status: match &ended.status {
                Status::Exited(code) => ExitStatus::Code(*code),
                Status::Signalled(signal) => ExitStatus::Signal(*signal),
                Status::NotStarted { step, reason } => ExitStatus::NotStarted {
                    step: step.clone(),
                    reason: reason.clone(),
                },
            },
            killed: ended.killed.map(killed),
            at: ended.at,
            wall: ended.wall,
            cpu: ended.cpu,
            peak_memory: ended.peak_memory,
        },
        Event::Lost { at } => Fate::Lost { at: *at },
    };
    Command::Report {
        attempt: key_of(report.attempt),
        fate,
    }
}

fn killed(why: KillReason) -> Killed {
    match why {
        KillReason::Cancelled => Killed::Cancelled,
        KillReason::TimeLimit => Killed::TimeLimit,
        KillReason::MemoryLimit => Killed::MemoryLimit,
        KillReason::OutputLimit => Killed::OutputLimit,
        KillReason::Evicted => Killed::Evicted,
    }
}

/// Whether nothing more will be said of the attempt.
pub(crate) fn is_end(report: &Report) -> bool {
    match report.event {
        Event::Started(_) => false,
        Event::Ended(_) | Event::Lost { .. } => true,
    }
}

/// The end of an attempt that no engine is asked to start, for what could not be done.
pub(crate) fn unfit(
    attempt: tollgate_engine::AttemptKey,
    step: &str,
    reason: String,
    at: Instant,
) -> Report {
    let status = Status::NotStarted {
        step: step.to_owned(),
        reason,
    };
    Report {
        attempt,
        event: Event::Ended(Ended {
            status,
            killed: None,
            at,
            wall: Span::ZERO,
            cpu: Span::ZERO,
            peak_memory: None,
        }),
    }
}
