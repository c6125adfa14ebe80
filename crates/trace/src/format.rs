//! The formats of records.

use std::fmt;

/// A format of records of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::VariantArray)]
pub enum TraceFormat {
    /// The Standard Workload Format.
    Swf,
    /// The Grid Workloads Format.
    Gwf,
    /// Grid Engine's `accounting`.
    GridEngine,
    /// The output of `sacct -P`.
    Slurm,
    /// The output of `sacct --json`.
    SlurmJson,
    /// Events of the simulator of Slurm.
    SlurmEvents,
    /// Accounting records of PBS and Torque.
    Pbs,
    /// LSF's `lsb.acct`.
    Lsf,
    /// HTCondor's job ads, a line an attribute.
    CondorHistory,
    /// HTCondor's job ads in JSON.
    CondorJson,
    /// HTCondor's job event log.
    CondorEvents,
    /// Tollgate's own job table.
    Table,
}

impl TraceFormat {
    /// Returns the format as it is written in machine-readable output.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Swf => "swf",
            Self::Gwf => "gwf",
            Self::GridEngine => "grid_engine",
            Self::Slurm => "sacct",
            Self::SlurmJson => "sacct_json",
            Self::SlurmEvents => "slurm_simulator_events",
            Self::Pbs => "pbs",
            Self::Lsf => "lsf",
            Self::CondorHistory => "condor_history",
            Self::CondorJson => "condor_history_json",
            Self::CondorEvents => "condor_event_log",
            Self::Table => "job_table",
        }
    }

    /// Returns the format in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Swf => "Standard Workload Format",
            Self::Gwf => "Grid Workloads Format",
            Self::GridEngine => "Grid Engine accounting",
            Self::Slurm => "Slurm accounting (sacct -P)",
            Self::SlurmJson => "Slurm accounting (sacct --json)",
            Self::SlurmEvents => "Slurm simulator events",
            Self::Pbs => "PBS or Torque accounting",
            Self::Lsf => "LSF accounting (lsb.acct)",
            Self::CondorHistory => "HTCondor history",
            Self::CondorJson => "HTCondor history in JSON",
            Self::CondorEvents => "HTCondor job event log",
            Self::Table => "job table",
        }
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use strum::VariantArray;

    use super::*;

    #[test]
    fn format_names_are_unique() {
        let formats = TraceFormat::VARIANTS;
        let names: BTreeSet<_> = formats.iter().map(|format| format.name()).collect();
        assert_eq!(names.len(), formats.len());
    }
}
