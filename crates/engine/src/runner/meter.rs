//! What an attempt used, by the control groups that it ran in.

use serde::{Deserialize, Serialize};
use tollgate_model::Span;

use super::group::SlotCgroup;

/// What a slot's control groups said before an attempt began: they have served others before.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct CgroupUsageBaseline {
    cpu_micros: i64,
    memory: u64,
    kills: u64,
}

impl CgroupUsageBaseline {
    /// Reads the groups before an attempt begins in them.
    pub(super) fn read(group: &SlotCgroup) -> Self {
        group.reset_peak_memory();
        Self {
            cpu_micros: group.cpu().unwrap_or(Span::ZERO).as_micros(),
            memory: group.memory().map_or(0, |(now, _)| now),
            kills: group.out_of_memory_kills(),
        }
    }

    /// Processor time since then; none if no group can tell.
    pub(super) fn cpu(self, group: &SlotCgroup) -> Option<Span> {
        Some(group.cpu()? - Span::from_micros(self.cpu_micros))
    }

    /// The most memory since then. What files of earlier attempts have left in the cache is not
    /// held by this one.
    pub(super) fn peak_memory(self, group: &SlotCgroup) -> Option<u64> {
        let (_, peak) = group.memory()?;
        Some(peak.saturating_sub(self.memory))
    }

    /// Whether the kernel has killed somebody since then for want of memory.
    pub(super) fn ran_out_of_memory(self, group: &SlotCgroup) -> bool {
        group.out_of_memory_kills() > self.kills
    }
}
