//! The evictions from computers that others use, counted since the service was started.

use tollgate_model::{EvictionCause, Span};
use tollgate_service::RowChange;

/// The evictions since the service was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvictionCounts {
    /// By cause: the number of evictions, and the time for which the evicted attempts held their computers.
    pub by_cause: [(EvictionCause, u64, Span); EvictionCause::ALL.len()],
    /// Tasks that were not tried again.
    pub abandoned: u64,
}

impl Default for EvictionCounts {
    fn default() -> Self {
        Self {
            by_cause: EvictionCause::ALL.map(|cause| (cause, 0, Span::ZERO)),
            abandoned: 0,
        }
    }
}

impl EvictionCounts {
    /// Counts the evictions among the changes of a step.
    pub(super) fn count(&mut self, changes: &[RowChange]) {
        for change in changes {
            if let RowChange::Evicted { cause, held, .. } = change {
                let known = self.by_cause.iter_mut();
                for (_, count, time) in known.filter(|(known, ..)| known == cause) {
                    *count += 1;
                    *time += *held;
                }
            }
            self.abandoned += u64::from(matches!(change, RowChange::Abandoned { .. }));
        }
    }
}
