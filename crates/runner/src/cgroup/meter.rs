//! The resource usage of an attempt, measured by its control groups.

use serde::{Deserialize, Serialize};
use tollgate_model::Span;

use super::group::SlotCgroup;

/// The counters of a slot's control groups before an attempt starts: earlier attempts have used the
/// same groups.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CgroupUsageBaseline {
    cpu_micros: i64,
    kills: u64,
}

impl CgroupUsageBaseline {
    /// Reads the counters before an attempt starts in the groups.
    pub(crate) fn read(group: &SlotCgroup) -> Self {
        group.reset_peak_memory();
        Self {
            cpu_micros: group.cpu().unwrap_or(Span::ZERO).as_micros(),
            kills: group.out_of_memory_kills(),
        }
    }

    /// Returns the processor time since the baseline; None if no group measures it.
    pub(crate) fn cpu(self, group: &SlotCgroup) -> Option<Span> {
        Some(group.cpu()? - Span::from_micros(self.cpu_micros))
    }

    /// Returns whether the kernel has killed a process since the baseline because of the memory
    /// limit.
    pub(crate) fn ran_out_of_memory(self, group: &SlotCgroup) -> bool {
        group.out_of_memory_kills() > self.kills
    }
}
