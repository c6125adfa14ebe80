//! The options of a reader.

use crate::usage::TraceUsage;

/// The columns of each job that a reader keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnSelection {
    /// The columns that a policy or a world needs: 40 bytes per job.
    #[default]
    Core,
    /// Names and usage as well: up to 86 more bytes per job, for what the records have, and the names.
    All,
}

impl ColumnSelection {
    /// Returns the usage of a job, computed by `read`, if usage is kept.
    pub(crate) fn usage(self, read: impl FnOnce() -> TraceUsage) -> TraceUsage {
        match self {
            Self::Core => TraceUsage::default(),
            Self::All => read(),
        }
    }
}

/// Options for reading a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The columns that are kept.
    pub columns: ColumnSelection,
}
