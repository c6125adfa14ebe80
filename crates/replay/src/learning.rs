//! The records that a replay learns from before its first submission.

use tollgate_sim::learning::job_names::JobNames;
use tollgate_sim::learning::{EarlierJobs, LearnedJobs};
use tollgate_trace::{OpenError, Trace};
use tollgate_workload::Workload;

use crate::error::ReplayError;
use crate::settings::ReplaySettings;

/// Learns for the run of `workload`, which was cut from `selected`: from earlier records, and from those of
/// `selected` before the run if the settings say so. `names` has the names of the run.
pub(crate) fn learn(
    settings: &ReplaySettings,
    workload: &Workload,
    selected: &Trace,
    earlier: impl IntoIterator<Item = Result<Trace, OpenError>>,
    names: &mut JobNames,
) -> Result<LearnedJobs, ReplayError> {
    let trace = workload.trace();
    let mut jobs = EarlierJobs::before(trace);
    for record in earlier {
        jobs.add_record(&record?, names);
    }
    if settings.learn_before {
        jobs.add_before_last(selected, trace.jobs.len(), names);
    }
    Ok(jobs.learn())
}
