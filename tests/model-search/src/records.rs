//! Records of jobs from traces, as `tollgate forecast evaluate` reads them without `--by`.

use std::collections::HashSet;

use tollgate_forecast::{ClassId, CompletedJob, ForecastJob, JobAttributes};
use tollgate_model::{Instant, Span};
use tollgate_trace::name_column::NameColumn;
use tollgate_trace::{Finding, Trace, TraceMetadata};

/// Returns the jobs of a trace that ran, in order of submission; the user is the class. The trace was read with all
/// columns. Records of the same job are one.
pub fn completed_jobs(trace: &Trace) -> Vec<CompletedJob> {
    let nameless = TraceMetadata::default();
    let names = trace.metadata.as_ref().unwrap_or(&nameless);
    // The tasks of an array share their number, and often all other values too.
    let has_arrays = trace.diagnostics.count(Finding::SharedNumber) > 0;
    let mut known = HashSet::new();
    let mut jobs = Vec::new();
    for (row, job) in trace.jobs.iter().enumerate() {
        if job.runtime <= Span::ZERO {
            continue;
        }
        let id = |names: &NameColumn| names.id(row).map(|id| id.index() as u32);
        // Jobs without a user are a class of their own.
        let class = ClassId(id(&names.user).map_or(0, |user| user + 1));
        let wait = names.usage.get(row).and_then(|usage| usage.wait);
        let finish = job.submit + wait.unwrap_or(Span::ZERO) + job.runtime;
        let key = (job.number, job.submit, finish, job.procs, class.0);
        if !has_arrays && !known.insert(key) {
            continue;
        }
        jobs.push(CompletedJob {
            job: ForecastJob {
                class,
                procs: job.procs,
                request: job.is_estimated.then_some(job.estimate),
                context: JobAttributes {
                    executable: id(&names.executable),
                    queue: id(&names.queue),
                    account: id(&names.account),
                },
            },
            submit: job.submit,
            finish,
            runtime: job.runtime,
        });
    }
    jobs.sort_by_key(|record: &CompletedJob| -> Instant { record.submit });
    jobs
}
