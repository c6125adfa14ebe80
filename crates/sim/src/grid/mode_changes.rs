//! The fate of planted mode changes and anomalies.

use std::collections::BTreeMap;

use tollgate_forecast::ClassEvent;

use super::accuracy::{coverage, mean, median, share};
use super::evaluation::{EvaluatedJob, GridEvaluation};
use super::record::PlantedTruth;

/// Minimum number of jobs of a user before a change, so that a model is trained.
const MIN_JOBS_BEFORE: usize = 30;
/// Minimum number of jobs of a user after a change.
const MIN_JOBS_AFTER: usize = 30;
/// The number of completions after a change within which it must be noticed and adopted.
const WINDOW: usize = 20;
/// The number of jobs after a change that count as during the change.
const DURING: usize = 10;
/// The number of completions after an anomaly within which a new mode is blamed on it.
const ANOMALY_WINDOW: usize = 15;

/// The fate of planted mode changes and anomalies. None where a value is undefined.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChangeHandling {
    /// Users with a planted change and enough jobs.
    pub changes: usize,
    /// Share of changes with an alarm within 20 completions.
    pub noticed: Option<f64>,
    /// Share of changes with an alarm within 3 completions.
    pub noticed_soon: Option<f64>,
    /// Median number of completions until the alarm.
    pub notice_jobs: Option<f64>,
    /// Median hours from the first submission after the change until the alarm.
    pub notice_hours: Option<f64>,
    /// Share of changes after which a new model took over within 20 completions.
    pub adopted: Option<f64>,
    /// Alarms per 1000 usual jobs of users without a change.
    pub false_alarms: Option<f64>,
    /// Share of anomalies of users without a change with a new mode within 15 completions.
    pub adopted_anomalies: Option<f64>,
    /// Mean |ln error| of the last 30 jobs before a change.
    pub error_before: Option<f64>,
    /// The same of the first 10 jobs after it.
    pub error_during: Option<f64>,
    /// The same of jobs 11 to 30.
    pub error_after: Option<f64>,
    /// Share of the first 10 jobs within their bound.
    pub kept_during: Option<f64>,
    /// Share of jobs 11 to 30 within their bound.
    pub kept_after: Option<f64>,
}

/// The jobs of a user around a planted change.
struct ChangedUser<'a> {
    /// In order of submission.
    before: Vec<&'a EvaluatedJob>,
    /// In order of submission.
    after: Vec<&'a EvaluatedJob>,
    /// The jobs after the change in the order in which they were learned.
    learned: Vec<&'a EvaluatedJob>,
}

impl ChangeHandling {
    /// Computes the handling of changes; errors and bounds are those of the source with this index, at
    /// the level of this index.
    pub fn of(evaluation: &GridEvaluation, source: usize, level: usize) -> Self {
        let mut users = BTreeMap::<Option<u32>, Vec<&EvaluatedJob>>::new();
        for job in &evaluation.jobs {
            users.entry(job.job.user).or_default().push(job);
        }
        let changed: Vec<ChangedUser<'_>> = users
            .values()
            .filter_map(|jobs| ChangedUser::of(jobs))
            .collect();
        let steady: Vec<&Vec<&EvaluatedJob>> = users
            .values()
            .filter(|jobs| {
                jobs.iter()
                    .all(|job| job.job.truth != PlantedTruth::Changed)
            })
            .collect();
        let alarms: Vec<usize> = changed
            .iter()
            .filter_map(|user| user.alarm(WINDOW))
            .collect();
        let soon = changed.iter().filter_map(|user| user.alarm(3)).count();
        let adopted = changed.iter().filter(|user| user.is_adopted());
        let error =
            |jobs: &dyn Fn(&ChangedUser<'_>) -> Vec<f64>| mean(changed.iter().flat_map(jobs));
        let ln_error = |job: &&EvaluatedJob| (job.points[source] - job.ln_run).abs();
        let kept = |first: usize, last: usize| {
            let jobs = changed.iter().flat_map(|user| &user.after[first..last]);
            let jobs: Vec<_> = jobs.map(|job| (*job, source)).collect();
            coverage(&jobs, level)
        };
        let mut hours: Vec<f64> = changed
            .iter()
            .filter_map(ChangedUser::notice_hours)
            .collect();
        Self {
            changes: changed.len(),
            noticed: share(alarms.len(), changed.len()),
            noticed_soon: share(soon, changed.len()),
            notice_jobs: median(&mut alarms.iter().map(|jobs| *jobs as f64).collect::<Vec<_>>()),
            notice_hours: median(&mut hours),
            adopted: share(adopted.count(), changed.len()),
            false_alarms: false_alarms(&steady).map(|share| 1000.0 * share),
            adopted_anomalies: adopted_anomalies(&steady),
            error_before: error(&|user| {
                let last = user.before.len() - MIN_JOBS_BEFORE;
                user.before[last..].iter().map(ln_error).collect()
            }),
            error_during: error(&|user| user.after[..DURING].iter().map(ln_error).collect()),
            error_after: error(&|user| {
                user.after[DURING..MIN_JOBS_AFTER]
                    .iter()
                    .map(ln_error)
                    .collect()
            }),
            kept_during: kept(0, DURING),
            kept_after: kept(DURING, MIN_JOBS_AFTER),
        }
    }
}

impl<'a> ChangedUser<'a> {
    fn of(jobs: &[&'a EvaluatedJob]) -> Option<Self> {
        let first = jobs
            .iter()
            .position(|job| job.job.truth == PlantedTruth::Changed)?;
        let (before, after) = jobs.split_at(first);
        if before.len() < MIN_JOBS_BEFORE || after.len() < MIN_JOBS_AFTER {
            return None;
        }
        let mut learned = after.to_vec();
        learned.sort_by_key(|job| job.learned_at);
        Some(Self {
            before: before.to_vec(),
            after: after.to_vec(),
            learned,
        })
    }

    /// Returns the number of completions until the alarm or the new model, if there is one among the
    /// first.
    fn alarm(&self, within: usize) -> Option<usize> {
        let first = self.learned.iter().take(within);
        let mut alarms = first
            .zip(1..)
            .filter(|(job, _)| job.event == ClassEvent::Alarm);
        alarms.next().map(|(_, number)| number)
    }

    fn notice_hours(&self) -> Option<f64> {
        let alarm = self.learned[self.alarm(WINDOW)? - 1];
        let waited = alarm.job.finish.since(self.after[0].job.submit);
        Some(waited.as_secs_f64() / 3600.0)
    }

    fn is_adopted(&self) -> bool {
        let mut first = self.learned.iter().take(WINDOW);
        first.any(|job| job.event == ClassEvent::NewMode)
    }
}

/// Returns the share of usual jobs that raise an alarm, after the first ones of each user.
fn false_alarms(users: &[&Vec<&EvaluatedJob>]) -> Option<f64> {
    let trained = users
        .iter()
        .flat_map(|jobs| jobs.iter().skip(MIN_JOBS_BEFORE));
    let usual = trained.filter(|job| job.job.truth == PlantedTruth::Usual);
    let alarms = usual.clone().filter(|job| job.event == ClassEvent::Alarm);
    share(alarms.count(), usual.count())
}

fn adopted_anomalies(users: &[&Vec<&EvaluatedJob>]) -> Option<f64> {
    let (mut anomalies, mut adopted) = (0, 0);
    for jobs in users {
        let mut learned = jobs.to_vec();
        learned.sort_by_key(|job| job.learned_at);
        for (at, job) in learned.iter().enumerate().skip(MIN_JOBS_BEFORE) {
            if job.job.truth == PlantedTruth::Anomaly {
                let mut next = learned[at..].iter().take(ANOMALY_WINDOW);
                anomalies += 1;
                adopted += usize::from(next.any(|job| job.event == ClassEvent::NewMode));
            }
        }
    }
    share(adopted, anomalies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::evaluation::evaluate;
    use crate::grid::generator::draw;
    use crate::grid::settings::GridConfig;
    use crate::grid::source::{ForecastSource, ModelVariant};
    use tollgate_forecast::FeedbackTiming;

    #[test]
    fn planted_changes_are_noticed_unless_alarms_are_off() {
        let record = draw(&GridConfig {
            jobs: 4_000,
            programs: 1,
            failed: 0.0,
            long: 0.0,
            mode_days: 0.0,
            noise: 0.1,
            change_factor: 4.5,
            ..GridConfig::default()
        });
        let scheme = "user".parse().unwrap();
        let handling = [ModelVariant::Floating, ModelVariant::Unstaged].map(|variant| {
            let source = ForecastSource::experts(variant);
            let evaluation = evaluate(&record, &scheme, source.model(), FeedbackTiming::OneStep);
            let source = source.index().unwrap();
            ChangeHandling::of(&evaluation, source, 4)
        });
        assert!(handling[0].changes >= 5, "{handling:?}");
        assert!(handling[0].noticed > Some(0.9), "{handling:?}");
        assert!(
            handling[0].error_after < handling[1].error_after,
            "{handling:?}"
        );
        assert_eq!(handling[1].noticed, Some(0.0));
        assert_eq!(handling[1].false_alarms, Some(0.0));
    }
}
