//! The features of a job by which a forest forecasts its run time, and the jobs from which they come.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span, TaskId, UserId};

use super::{BeliefJob, Program};

/// Number of remembered run times of a group of jobs.
const RECENT_RUNS: usize = 16;
/// Number of run times of the user that are features each.
const LAST_RUNS: usize = 5;
/// Number of remembered run times of the site.
const SITE_RUNS: usize = 100;
/// The value of a feature that is not known: below all others.
const UNKNOWN: f64 = -1.0;

/// Number of features.
pub(crate) const N_RUN_FEATURES: usize = 43;

/// The values of the features of a job.
pub(crate) type RunFeatures = Vec<f32>;

/// A group of jobs whose last run times are features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum AlikeKey {
    User(UserId),
    /// The jobs of a user that ask for the same: look-alikes.
    Ask(UserId, u32, Option<Span>),
    Program(UserId, Program),
    Width(UserId, u32),
}

/// The last jobs of a group, and those that have not ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct AlikeJobs {
    /// Logarithms of the last run times.
    runs: VecDeque<f32>,
    /// Logarithms of the last run times less those of the requests.
    ratios: VecDeque<f32>,
    n_ended: u32,
    n_open: u32,
    running: BTreeSet<(Instant, TaskId)>,
    last_submit: Option<Instant>,
    last_end: Option<Instant>,
}

/// The jobs of a site, as far as features come from them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunFeatureState {
    #[serde(with = "crate::map_entries")]
    groups: BTreeMap<AlikeKey, AlikeJobs>,
    /// Logarithms of the last run times of all.
    site: VecDeque<f32>,
}

impl AlikeKey {
    fn of(job: &BeliefJob) -> [Option<Self>; 4] {
        [
            Some(Self::User(job.user)),
            Some(Self::Ask(job.user, job.procs, job.request)),
            job.program.map(|program| Self::Program(job.user, program)),
            Some(Self::Width(job.user, job.procs)),
        ]
    }
}

impl RunFeatureState {
    /// Adds a job that is submitted now.
    pub(crate) fn submit(&mut self, job: &BeliefJob, now: Instant) {
        for key in AlikeKey::of(job).into_iter().flatten() {
            let group = self.groups.entry(key).or_default();
            group.n_open += 1;
            group.last_submit = Some(now);
        }
    }

    /// Records that a job starts now.
    pub(crate) fn start(&mut self, id: TaskId, job: &BeliefJob, now: Instant) {
        for key in AlikeKey::of(job).into_iter().flatten() {
            self.groups
                .entry(key)
                .or_default()
                .running
                .insert((now, id));
        }
    }

    /// Removes a job that has ended, or will never end.
    pub(crate) fn close(&mut self, id: TaskId, job: &BeliefJob, started: Option<Instant>) {
        for key in AlikeKey::of(job).into_iter().flatten() {
            let Some(group) = self.groups.get_mut(&key) else {
                continue;
            };
            group.n_open = group.n_open.saturating_sub(1);
            if let Some(started) = started {
                group.running.remove(&(started, id));
            }
            if group.n_open == 0 && group.n_ended == 0 {
                self.groups.remove(&key);
            }
        }
    }

    /// Learns the run time, a logarithm, of a job that ended now.
    pub(crate) fn learn(&mut self, job: &BeliefJob, ln_run: f64, now: Instant) {
        for key in AlikeKey::of(job).into_iter().flatten() {
            let group = self.groups.entry(key).or_default();
            push(&mut group.runs, ln_run, RECENT_RUNS);
            if let Some(ln_request) = job.ln_request() {
                push(&mut group.ratios, ln_run - ln_request, RECENT_RUNS);
            }
            group.n_ended = group.n_ended.saturating_add(1);
            group.last_end = Some(now);
        }
        push(&mut self.site, ln_run, SITE_RUNS);
    }

    /// Returns the features, as of now, of a job that was submitted at `submitted`.
    pub(crate) fn features(
        &self,
        job: &BeliefJob,
        (submitted, now): (Instant, Instant),
    ) -> RunFeatures {
        let none = AlikeJobs::default();
        let groups = AlikeKey::of(job).map(|key| {
            let group = key.and_then(|key| self.groups.get(&key));
            group.unwrap_or(&none)
        });
        let [user, look_alikes, _, _] = groups;
        let ln_request = job.ln_request();
        let day = submitted.as_secs_f64() / 86_400.0;
        let hour = day.rem_euclid(1.0) * TAU;
        let of_request = |ratio: Option<f64>| {
            ratio
                .zip(ln_request)
                .map_or(UNKNOWN, |(ratio, ln_request)| ratio + ln_request)
        };
        let program = match job.program {
            None => UNKNOWN,
            Some(Program::Executable(number)) => f64::from(number),
            Some(Program::Named(class)) => f64::from(class.0),
        };
        let since = |at: Option<Instant>| at.map_or(UNKNOWN, |at| ln_span(now.since(at)));
        let running = |group: &AlikeJobs| since(group.running.first().map(|(start, _)| *start));
        let mut row: Vec<f64> = Vec::with_capacity(N_RUN_FEATURES);
        row.extend([
            f64::from(job.user.0),
            program,
            job.queue.map_or(UNKNOWN, f64::from),
            f64::from(job.procs).ln(),
            ln_request.unwrap_or(UNKNOWN),
            hour.sin(),
            hour.cos(),
            day.floor().rem_euclid(7.0),
            f64::from(job.n_tasks).ln(),
            f64::from(user.n_open).ln_1p(),
            f64::from(look_alikes.n_open).ln_1p(),
            (user.running.len() as f64).ln_1p(),
            (look_alikes.running.len() as f64).ln_1p(),
            running(user),
            running(look_alikes),
            f64::from(user.n_ended).ln_1p(),
            f64::from(look_alikes.n_ended).ln_1p(),
            since(user.last_submit),
            since(user.last_end),
            since(look_alikes.last_end),
            of_request(median(&user.ratios)),
            of_request(user.ratios.back().copied().map(f64::from)),
            median(&self.site).unwrap_or(UNKNOWN),
        ]);
        let last = user.runs.iter().rev().copied().map(f64::from);
        row.extend(last.chain([UNKNOWN; LAST_RUNS]).take(LAST_RUNS));
        for (at, group) in groups.into_iter().enumerate() {
            let runs = || group.runs.iter().copied().map(f64::from);
            if at > 0 {
                row.push(group.runs.back().map_or(UNKNOWN, |run| f64::from(*run)));
            }
            row.extend([
                median(&group.runs).unwrap_or(UNKNOWN),
                runs().reduce(f64::max).unwrap_or(UNKNOWN),
                runs().reduce(f64::min).unwrap_or(UNKNOWN),
            ]);
        }
        debug_assert_eq!(row.len(), N_RUN_FEATURES, "features of a row");
        row.into_iter().map(|value| value as f32).collect()
    }
}

fn push(values: &mut VecDeque<f32>, value: f64, capacity: usize) {
    if values.len() == capacity {
        values.pop_front();
    }
    values.push_back(value as f32);
}

fn ln_span(span: Span) -> f64 {
    span.as_secs_f64().max(0.0).ln_1p()
}

/// Returns the lower median.
fn median(values: &VecDeque<f32>) -> Option<f64> {
    let mut sorted: Vec<f32> = values.iter().copied().collect();
    let middle = sorted.len().checked_sub(1)? / 2;
    let (_, median, _) = sorted.select_nth_unstable_by(middle, f32::total_cmp);
    Some(f64::from(*median))
}
