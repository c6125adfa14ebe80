//! The run times of jobs that have ended, for jobs that run and for time limits that no job had.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use tollgate_forecast::wait::{JobWidth, N_WAIT_LEVELS, WAIT_LEVELS, WaitJob};
use tollgate_model::Span;

/// Number of run times that are kept of a group.
const KEPT: usize = 200;
/// The fewest run times of a group that are taken, before a wider group takes its place.
const MIN_ALIKE: usize = 20;
/// The level from which a bound rises for a limit that no job had: .5.
const RAISED_FROM: usize = 2;

/// The last run times of groups of jobs, from narrow to wide.
///
/// A job that has run for some time is like those that ran for longer: the quantiles of their run times are its own. That
/// is the empirical distribution under the condition of survival, of the narrowest group with enough survivors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndedRunTimes {
    groups: BTreeMap<RunGroup, VecDeque<EndedRun>>,
}

/// Jobs whose run times are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum RunGroup {
    UserRequest(Option<u32>, Option<Span>),
    User(Option<u32>),
    Class(Option<u32>, JobWidth),
    Site,
}

/// A run that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct EndedRun {
    run: Span,
    request: Option<Span>,
}

/// When a job that runs ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RunBounds {
    /// The run time that is not exceeded, by level. Each is longer than the time for which the job has run.
    pub(crate) runs: [Span; N_WAIT_LEVELS],
    /// Number of run times from which they come.
    pub(crate) n_alike: usize,
}

impl RunGroup {
    fn of(job: &WaitJob) -> [Self; 4] {
        [
            Self::UserRequest(job.user, job.request),
            Self::User(job.user),
            Self::Class(job.queue, JobWidth::of_procs(job.procs)),
            Self::Site,
        ]
    }
}

impl EndedRunTimes {
    /// Learns the run time of a job that has ended.
    pub(crate) fn learn(&mut self, job: &WaitJob, run: Span) {
        let ended = EndedRun {
            run,
            request: job.request,
        };
        for group in RunGroup::of(job) {
            let runs = self.groups.entry(group).or_default();
            if runs.len() == KEPT {
                runs.pop_front();
            }
            runs.push_back(ended);
        }
    }

    /// Returns the run times of a job that has run for `elapsed`. None if too few jobs ran for longer.
    pub(crate) fn rest(&self, job: &WaitJob, elapsed: Span) -> Option<RunBounds> {
        let longer = |group: RunGroup| {
            let runs = self.groups.get(&group).into_iter().flatten();
            let runs = runs.map(|ended| ended.run);
            let mut longer: Vec<Span> = runs.filter(|run| *run > elapsed).collect();
            longer.sort_unstable();
            (longer.len() >= MIN_ALIKE).then_some(longer)
        };
        let longer = RunGroup::of(job).into_iter().find_map(longer)?;
        let most = |run: Span| job.request.map_or(run, |limit| run.min(limit.max(elapsed)));
        Some(RunBounds {
            runs: WAIT_LEVELS.map(|level| most(longer[place(longer.len(), level)])),
            n_alike: longer.len(),
        })
    }

    /// Returns the least difference of the bounds of the end and of the start, for a job whose limit is above the known
    /// ones. It has the quantiles of the part of a limit that jobs used. None for a usual limit.
    pub(crate) fn beyond_known(&self, job: &WaitJob) -> Option<[Span; N_WAIT_LEVELS]> {
        let request = job.request?;
        let site = self.groups.get(&RunGroup::Site)?;
        let requested = || site.iter().filter_map(|ended| ended.request);
        // A limit is known if some jobs of the site had one as long, or half as long.
        let n_as_long = requested().filter(|known| *known + *known >= request);
        if site.len() < MIN_ALIKE || n_as_long.count() >= MIN_ALIKE {
            return None;
        }
        let part = |ended: &EndedRun| {
            let request = ended.request.filter(|request| *request > Span::ZERO)?;
            Some((ended.run.as_secs_f64() / request.as_secs_f64()).min(1.0))
        };
        let mut parts: Vec<f64> = site.iter().filter_map(part).collect();
        if parts.len() < MIN_ALIKE {
            return None;
        }
        parts.sort_unstable_by(f64::total_cmp);
        let seconds = request.as_secs_f64();
        Some(std::array::from_fn(|idx| match idx < RAISED_FROM {
            true => Span::ZERO,
            false => Span::from_secs_f64(seconds * parts[place(parts.len(), WAIT_LEVELS[idx])]),
        }))
    }
}

/// Returns the place, from 0, of the smallest of `n` sorted values below which the next one lies with the probability, as
/// one of n + 1 that are alike. The last place if no value is large enough.
fn place(n: usize, level: f64) -> usize {
    let place = (level * (n + 1) as f64).ceil() as usize;
    place.clamp(1, n) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(user: u32, request: i64) -> WaitJob {
        WaitJob {
            user: Some(user),
            queue: Some(1),
            procs: 4,
            request: Some(Span::from_secs(request)),
        }
    }

    #[test]
    fn job_that_runs_is_like_those_that_ran_longer() {
        let mut runs = EndedRunTimes::default();
        (1..=100).for_each(|n| runs.learn(&job(1, 1_000), Span::from_secs(n)));
        let young = runs.rest(&job(1, 1_000), Span::ZERO).expect("known");
        assert_eq!((young.n_alike, young.runs[2]), (100, Span::from_secs(51)));
        let old = runs
            .rest(&job(1, 1_000), Span::from_secs(70))
            .expect("known");
        assert_eq!((old.n_alike, old.runs[2]), (30, Span::from_secs(86)));
        assert!(old.runs.iter().all(|run| *run > Span::from_secs(70)));
        assert_eq!(runs.rest(&job(1, 1_000), Span::from_secs(95)), None);
        // Another user has none of his own. A limit is not exceeded.
        let other = runs.rest(&job(2, 80), Span::from_secs(70)).expect("known");
        assert_eq!(other.runs[4], Span::from_secs(80));
    }

    #[test]
    fn limit_above_all_known_ones_raises_the_end() {
        let mut runs = EndedRunTimes::default();
        (1..=100).for_each(|n| runs.learn(&job(1, 100), Span::from_secs(n)));
        assert_eq!(runs.beyond_known(&job(1, 200)), None);
        let beyond = runs.beyond_known(&job(1, 10_000)).expect("not known");
        assert_eq!(beyond[1], Span::ZERO);
        let [.., half, high, _] = beyond.map(Span::as_secs_f64);
        assert!((half - 5_100.0).abs() < 1.0, "{half}");
        assert!((high - 9_100.0).abs() < 1.0, "{high}");
    }
}
