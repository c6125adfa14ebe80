//! The engine's words in ours, and ours in the engine's.

use tollgate_engine::{AttemptEvent, AttemptOutcome, AttemptReport, AttemptStatus, KillReason};
use tollgate_model::{Instant, Span};

use crate::core::{AttemptExit, AttemptProgress, KillCause, ServiceCommand, TaskAttemptKey};

/// The engine's name of an attempt.
pub(crate) fn engine_key(attempt: TaskAttemptKey) -> tollgate_engine::AttemptKey {
    tollgate_engine::AttemptKey {
        job: attempt.job,
        task: attempt.task,
        attempt: attempt.attempt,
    }
}

/// Our name of an attempt.
pub(crate) fn from_engine_key(attempt: tollgate_engine::AttemptKey) -> TaskAttemptKey {
    TaskAttemptKey {
        job: attempt.job,
        task: attempt.task,
        attempt: attempt.attempt,
    }
}

/// A report as a command.
pub(crate) fn report_command(report: &AttemptReport) -> ServiceCommand {
    let fate = match &report.event {
        AttemptEvent::Started(start) => AttemptProgress::Started {
            pid: start.pid,
            at: start.at,
        },
        AttemptEvent::Ended(ended) => AttemptProgress::Ended {
            status: match &ended.status {
                AttemptStatus::Exited(code) => AttemptExit::Code(*code),
                AttemptStatus::Signalled(signal) => AttemptExit::Signal(*signal),
                AttemptStatus::NotStarted { step, reason } => AttemptExit::NotStarted {
                    step: step.clone(),
                    reason: reason.clone(),
                },
            },
            killed: ended.killed.map(kill_cause),
            at: ended.at,
            wall: ended.wall,
            cpu: ended.cpu,
            peak_memory: ended.peak_memory,
        },
        AttemptEvent::Lost { at } => AttemptProgress::Lost { at: *at },
    };
    ServiceCommand::Report {
        attempt: from_engine_key(report.attempt),
        progress: fate,
    }
}

fn kill_cause(why: KillReason) -> KillCause {
    match why {
        KillReason::Cancelled => KillCause::Cancelled,
        KillReason::TimeLimit => KillCause::TimeLimit,
        KillReason::MemoryLimit => KillCause::MemoryLimit,
        KillReason::OutputLimit => KillCause::OutputLimit,
        KillReason::Evicted => KillCause::Evicted,
    }
}

/// Whether nothing more will be said of the attempt.
pub(crate) fn is_end(report: &AttemptReport) -> bool {
    match report.event {
        AttemptEvent::Started(_) => false,
        AttemptEvent::Ended(_) | AttemptEvent::Lost { .. } => true,
    }
}

/// The end of an attempt that no engine is asked to start, for what could not be done.
pub(crate) fn not_started_report(
    attempt: tollgate_engine::AttemptKey,
    step: &str,
    reason: String,
    at: Instant,
) -> AttemptReport {
    let status = AttemptStatus::NotStarted {
        step: step.to_owned(),
        reason,
    };
    AttemptReport {
        attempt,
        event: AttemptEvent::Ended(AttemptOutcome {
            status,
            killed: None,
            at,
            wall: Span::ZERO,
            cpu: Span::ZERO,
            peak_memory: None,
        }),
    }
}
