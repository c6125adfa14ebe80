//! Ends of attempts that may be the batch system's doing: it signals every process of a pilot, and an attempt may
//! be gone before its worker has seen the signal. Such an end is reported a few seconds late. If the worker
//! leaves meanwhile, the attempt was evicted; if the worker is lost, the attempt is lost with it.

use std::time::Duration;

use rustix::process::Signal;
use tollgate_engine::Engine;
use tollgate_model::{AttemptEvent, AttemptReport, AttemptStatus, KillReason};

use super::WorkerAgent;
use crate::departure::SUSPICION_TIME;

/// The signals with which batch systems announce the end of a job, and end it.
const ENDING: [Signal; 6] = [
    Signal::TERM,
    Signal::KILL,
    Signal::INT,
    Signal::USR1,
    Signal::USR2,
    Signal::XCPU,
];

impl<E: Engine> WorkerAgent<E> {
    /// Keeps the reports of suspicious ends back, and returns the others. A worker that leaves in any case
    /// evicts.
    pub(super) fn set_suspicious_aside(
        &mut self,
        reports: Vec<AttemptReport>,
        now: Duration,
    ) -> Vec<AttemptReport> {
        let (aside, others): (Vec<_>, Vec<_>) = reports.into_iter().partition(|report| {
            let known = self.reports.get(&report.attempt);
            is_suspicious(report) && !known.is_some_and(|known| known.contains(report))
        });
        for report in aside {
            self.suspicious
                .entry(report.attempt)
                .or_insert((now, report));
        }
        if !self.departure.starts_attempts() {
            self.evict_suspicious();
        }
        others
    }

    /// Reports the suspicious ends that nothing has explained in time: the attempts ended by themselves.
    pub(super) fn judge_suspicious(&mut self, now: Duration) {
        let due = self.suspicious.extract_if(.., |_, (seen, _)| {
            now.saturating_sub(*seen) >= SUSPICION_TIME
        });
        let reports: Vec<AttemptReport> = due.map(|(_, (_, report))| report).collect();
        self.record_reports(reports);
    }

    /// Reports the suspicious ends of a worker that leaves: the attempts were evicted.
    pub(super) fn evict_suspicious(&mut self) {
        let suspicious = std::mem::take(&mut self.suspicious);
        let reports = suspicious.into_values().map(|(_, report)| evicted(report));
        self.record_reports(reports.collect());
    }

    /// Returns when the first suspicious end is to be reported.
    pub(super) fn suspicion_ends(&self) -> Option<Duration> {
        let seen = self.suspicious.values().map(|(seen, _)| *seen).min()?;
        Some(seen + SUSPICION_TIME)
    }
}

/// Returns whether an attempt ended by a signal of a batch system, without anything of ours asking it to.
fn is_suspicious(report: &AttemptReport) -> bool {
    let AttemptEvent::Ended(ended) = &report.event else {
        return false;
    };
    let signal = match ended.status {
        AttemptStatus::Signalled(signal) => Some(signal),
        // A shell whose command was ended by a signal says so.
        AttemptStatus::Exited(code) => code.checked_sub(128),
        AttemptStatus::NotStarted(_) => None,
    };
    let mut ending = ENDING.iter().map(|ending| ending.as_raw());
    let by_signal = signal.is_some_and(|signal| ending.any(|ending| ending == i32::from(signal)));
    by_signal && ended.killed.is_none()
}

fn evicted(report: AttemptReport) -> AttemptReport {
    match report.event {
        AttemptEvent::Ended(ended) => AttemptReport {
            event: AttemptEvent::Ended(tollgate_model::AttemptOutcome {
                killed: Some(KillReason::Evicted),
                ..ended
            }),
            ..report
        },
        AttemptEvent::Started(_) | AttemptEvent::Lost { .. } => report,
    }
}
