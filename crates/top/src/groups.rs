//! The jobs in the order of the screen: promises at risk first, then what runs, then what waits.

use std::collections::BTreeSet;

use tollgate_client::types::{JobDetails, JobState};
use tollgate_model::Instant;
use tollgate_overview::outlook::{OpenPromise, is_waiting, least_sure_promises, waiting_jobs};
use tollgate_overview::words::instant;

/// Jobs under one heading.
#[derive(Debug)]
pub(crate) struct JobSection<'a> {
    /// The heading.
    pub(crate) heading: &'static str,
    /// The jobs.
    pub(crate) jobs: Vec<&'a JobDetails>,
}

/// Returns the groups that have jobs. Each job is in one of them.
pub(crate) fn groups(live: &[JobDetails]) -> Vec<JobSection<'_>> {
    let unsure = least_sure_promises(live);
    let unsure = unsure.into_iter().filter(OpenPromise::is_at_risk);
    let at_risk: Vec<&JobDetails> = unsure.map(|open| open.job).collect();
    let risky: BTreeSet<u64> = at_risk.iter().map(|job| job.id).collect();
    let is_calm = |job: &&JobDetails| !risky.contains(&job.id);
    let others = |is_in: fn(&JobDetails) -> bool| {
        let jobs = live.iter().filter(move |job| is_in(job));
        jobs.filter(is_calm).collect::<Vec<_>>()
    };
    let mut running = others(|job| job.started_at.is_some());
    running.sort_by_key(|job| (expected_finish(job).unwrap_or(Instant::MAX), job.id));
    let waiting = waiting_jobs(live).into_iter().filter(is_calm).collect();
    let reserved = others(|job| job.started_at.is_none() && !is_waiting(job));
    debug_assert!(reserved.iter().all(|job| job.state == JobState::Reserved));
    let groups = [
        ("At risk or late", at_risk),
        ("Running", running),
        ("Waiting", waiting),
        ("Reserved quotes", reserved),
    ];
    let groups = groups
        .into_iter()
        .map(|(heading, jobs)| JobSection { heading, jobs });
    groups.filter(|group| !group.jobs.is_empty()).collect()
}

fn expected_finish(job: &JobDetails) -> Option<Instant> {
    instant(&job.expected.as_ref()?.expected_finish_at)
}
