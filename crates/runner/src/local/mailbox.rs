//! Reports and outputs that the runner has sent, until the engine takes them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tollgate_engine::{OutputAnswer, WakeCallback};
use tollgate_model::AttemptReport;

/// The reports and outputs that arrived from the runner, and the callback for new ones.
#[derive(Default)]
pub(crate) struct ReportMailbox {
    pub(crate) reports: Mutex<VecDeque<AttemptReport>>,
    pub(crate) outputs: Mutex<Vec<OutputAnswer>>,
    pub(crate) arrived: std::sync::Condvar,
    pub(crate) wake: Mutex<Option<WakeCallback>>,
}

impl ReportMailbox {
    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<AttemptReport>> {
        self.reports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn outputs(&self) -> std::sync::MutexGuard<'_, Vec<OutputAnswer>> {
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signals that a report arrived, or that no more will arrive.
    pub(crate) fn notify(&self) {
        self.arrived.notify_all();
        let wake = self
            .wake
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(wake) = wake {
            wake();
        }
    }

    /// Returns all reports that have arrived. Waits at most `timeout` for the first report, or
    /// until the connection is closed.
    pub(crate) fn take(&self, timeout: Duration) -> Vec<AttemptReport> {
        let mut reports = self.lock();
        if reports.is_empty() && !timeout.is_zero() {
            let waited = self.arrived.wait_timeout(reports, timeout);
            reports = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        reports.drain(..).collect()
    }
}
