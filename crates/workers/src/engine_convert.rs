//! Conversion between the engine's types and the core's.

use tollgate_engine::{AttemptEvent, AttemptOutcome, AttemptReport, AttemptStatus, KillReason};
use tollgate_model::{Instant, Span};
use tollgate_service::{AttemptExit, AttemptProgress, KillCause, ServiceCommand, TaskAttemptKey};

/// Returns the engine's key of an attempt.
pub fn engine_key(attempt: TaskAttemptKey) -> tollgate_engine::AttemptKey {
    tollgate_engine::AttemptKey {
        job: attempt.job,
        task: attempt.task,
        attempt: attempt.attempt,
    }
}

/// Returns the core's key of an attempt.
pub fn from_engine_key(attempt: tollgate_engine::AttemptKey) -> TaskAttemptKey {
    TaskAttemptKey {
        job: attempt.job,
        task: attempt.task,
        attempt: attempt.attempt,
    }
}

/// Converts a report of the engine to a command.
pub fn report_command(report: &AttemptReport) -> ServiceCommand {
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

/// Returns whether the report is the last one of its attempt.
pub fn is_end(report: &AttemptReport) -> bool {
    match report.event {
        AttemptEvent::Started(_) => false,
        AttemptEvent::Ended(_) | AttemptEvent::Lost { .. } => true,
    }
}

/// Returns the command that ends an attempt that cannot be started, with the reason.
pub fn not_started_report(
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
