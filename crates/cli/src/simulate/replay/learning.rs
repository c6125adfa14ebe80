//! The records that a replay learns from before its first submission.

use std::path::PathBuf;

use tollgate_sim::learning::job_names::JobNames;
use tollgate_sim::learning::{EarlierJobs, LearnedJobs};
use tollgate_trace::{ColumnSelection, ReadOptions, Trace, open};

use crate::exit::CliFailure;

/// The records that a replay learns from.
#[derive(Clone, Debug, Default)]
pub(super) struct LearnedRecords {
    /// Files of records.
    pub(super) files: Vec<PathBuf>,
    /// True if the records before those of the run are learned.
    pub(super) earlier: bool,
}

impl LearnedRecords {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && !self.earlier
    }

    /// Learns for the run of `trace`, which was cut from `record`. `names` has the names of the run.
    pub(super) fn learn(
        &self,
        trace: &Trace,
        record: &Trace,
        names: &mut JobNames,
    ) -> Result<LearnedJobs, CliFailure> {
        let mut jobs = EarlierJobs::before(trace);
        for file in &self.files {
            let options = ReadOptions {
                columns: ColumnSelection::All,
            };
            jobs.add_record(&open(file, options)?, names);
        }
        if self.earlier {
            jobs.add_before_last(record, trace.jobs.len(), names);
        }
        Ok(jobs.learn())
    }
}
