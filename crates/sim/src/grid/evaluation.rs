//! Forecasts of all jobs of a record by all sources.

use std::collections::BTreeMap;

use tollgate_forecast::expert::N_EXPERTS;
use tollgate_forecast::{
    ClassEvent, ClassId, ClassStage, CompletedJob, Expert, FeedbackTiming, Forecast, ForecastJob,
    Forecaster, JobFeedback, OnlineForecaster,
};
use tollgate_model::Span;

use super::classes::ClassScheme;
use super::joint::{JointForecast, StatedBeliefs};
use super::margin::{N_BOUND_LEVELS, RecentErrors};
use super::record::{GridJob, GridRecord};
use super::source::{ForecastSource, JointModel, N_POINTS};
use super::univariate::UnivariateSeries;

/// The first jobs of a record, as a share, are learned without being scored.
const WARM_UP: f64 = 0.1;

/// A job with all forecasts of its run time. Times are logarithms of seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatedJob {
    /// The job.
    pub job: GridJob,
    /// The class.
    pub class: ClassId,
    /// The run time.
    pub ln_run: f64,
    /// The forecast of each source, by [`ForecastSource::index`]; the joint one where a source has none.
    pub points: [f64; N_POINTS],
    /// The bounds of the joint forecast.
    pub joint_bounds: [f64; N_BOUND_LEVELS],
    /// By source: whether the run time is within the bound at each level, a bit each.
    pub kept: [u8; N_POINTS],
    /// The stage of the class at the submission, by the joint model.
    pub stage: ClassStage,
    /// The effect on the class when the job ended, by the joint model.
    pub event: ClassEvent,
    /// Number of jobs that ended before this one, in the order in which they were learned.
    pub learned_at: usize,
    /// Whether the job counts for errors: the first jobs do not.
    pub is_scored: bool,
}

/// The forecasts of all jobs of a record under one rule for classes and with one joint model.
#[derive(Clone, Debug, PartialEq)]
pub struct GridEvaluation {
    /// The jobs in order of submission.
    pub jobs: Vec<EvaluatedJob>,
    /// By source and level: the sum of the bounds of scored jobs in seconds.
    pub bound_secs: [[f64; N_BOUND_LEVELS]; N_POINTS],
}

/// Forecasts and learns every job of a record.
pub fn evaluate(
    record: &GridRecord,
    scheme: &ClassScheme,
    model: JointModel,
    timing: FeedbackTiming,
) -> GridEvaluation {
    let forecaster = Forecaster::new(model.experts().triggers());
    let forecaster = match scheme {
        ClassScheme::Discovered => forecaster,
        ClassScheme::Fixed(_) => forecaster.without_splitting(),
    };
    let mut course = OnlineForecaster::new(forecaster, timing);
    let classes = scheme.number(&record.jobs).into_iter();
    let jobs: Vec<CompletedJob> = record
        .jobs
        .iter()
        .zip(classes)
        .map(|(job, class)| completed(job, class))
        .collect();
    let mut state = SourceState {
        beliefs: match model {
            JointModel::Experts(_) => None,
            JointModel::Belief => Some(StatedBeliefs::of(&jobs, timing)),
        },
        ..SourceState::default()
    };
    let first_scored = (WARM_UP * jobs.len() as f64) as usize;
    for (nth, (job, completed)) in record.jobs.iter().zip(&jobs).enumerate() {
        let mut ended = Vec::new();
        let forecast = course.submit(completed, |learned| ended.push(learned));
        let forecast = forecast.expect("the jobs of a record ran");
        // With one-step feedback the job itself is among those that ended.
        let (own, earlier): (Vec<JobFeedback>, Vec<JobFeedback>) = ended
            .into_iter()
            .partition(|learned| learned.nth == nth as u64);
        for learned in &earlier {
            state.learn(learned);
        }
        state.forecast(job, completed.job.class, &forecast, nth >= first_scored);
        for learned in &own {
            state.learn(learned);
        }
    }
    course.finish(|learned| state.learn(&learned));
    GridEvaluation {
        jobs: state.jobs,
        bound_secs: state.bound_secs,
    }
}

fn completed(job: &GridJob, class: ClassId) -> CompletedJob {
    CompletedJob {
        job: ForecastJob {
            class,
            procs: job.procs,
            request: job.request,
            context: ClassScheme::context(job),
        },
        submit: job.submit,
        finish: job.finish,
        runtime: job.runtime,
    }
}

/// The state of the sources besides the forecaster, and the jobs so far.
#[derive(Default)]
struct SourceState {
    /// The joint forecasts, unless they are those of all experts together.
    beliefs: Option<StatedBeliefs>,
    series: BTreeMap<ClassId, UnivariateSeries>,
    errors: BTreeMap<ClassId, RecentErrors>,
    site_errors: RecentErrors,
    jobs: Vec<EvaluatedJob>,
    bound_secs: [[f64; N_BOUND_LEVELS]; N_POINTS],
    n_learned: usize,
}

impl SourceState {
    fn forecast(&mut self, job: &GridJob, class: ClassId, experts: &Forecast, is_scored: bool) {
        let joint = match &self.beliefs {
            None => JointForecast::of_experts(experts),
            Some(beliefs) => beliefs.forecast(self.jobs.len(), experts.stage()),
        };
        let mut points = [joint.point; N_POINTS];
        for expert in Expert::ALL {
            points[expert as usize] = experts.expert_forecast(expert).map_or(joint.point, ln);
        }
        let series = self.series.entry(class).or_default();
        let others = [
            (ForecastSource::Cubic, series.cubic()),
            (ForecastSource::Arma, series.arma()),
            (ForecastSource::ArmaSeconds, series.arma_seconds()),
            (ForecastSource::Request, job.request.map(ln)),
        ];
        for (source, point) in others {
            if let Some((index, point)) = source.index().zip(point) {
                points[index] = point;
            }
        }
        let own = self.errors.get(&class).filter(|errors| errors.is_known());
        let errors = own.unwrap_or(&self.site_errors);
        let ln_run = ln(job.runtime);
        let mut kept = [0; N_POINTS];
        for (source, kept) in kept.iter_mut().enumerate() {
            let bounds = match source {
                N_EXPERTS => joint.bounds,
                _ => errors.margins(source).map(|margin| points[source] + margin),
            };
            for (level, bound) in bounds.into_iter().enumerate() {
                // A bound of exactly the run time is kept, whatever its logarithm is rounded to.
                *kept |= u8::from(ln_run <= bound + 1e-9) << level;
                if is_scored {
                    self.bound_secs[source][level] += bound.exp();
                }
            }
        }
        self.jobs.push(EvaluatedJob {
            job: *job,
            class,
            ln_run,
            points,
            joint_bounds: joint.bounds,
            kept,
            stage: joint.stage,
            event: ClassEvent::Usual,
            learned_at: usize::MAX,
            is_scored,
        });
    }

    fn learn(&mut self, learned: &JobFeedback) {
        let job = &mut self.jobs[learned.nth as usize];
        job.event = match &self.beliefs {
            None => learned.event,
            Some(beliefs) => beliefs.event(learned.nth as usize),
        };
        job.learned_at = self.n_learned;
        self.n_learned += 1;
        self.series.entry(job.class).or_default().learn(job.ln_run);
        for errors in [
            self.errors.entry(job.class).or_default(),
            &mut self.site_errors,
        ] {
            errors.learn(&job.points, job.ln_run);
        }
    }
}

/// Returns the logarithm of a span of at least one second.
pub(super) fn ln(span: Span) -> f64 {
    span.as_secs_f64().max(1.0).ln()
}

impl GridEvaluation {
    /// Returns the jobs that count for errors.
    pub fn scored(&self) -> impl Iterator<Item = &EvaluatedJob> {
        self.jobs.iter().filter(|job| job.is_scored)
    }

    /// Returns the scored jobs of each class, in order of submission.
    pub fn scored_by_class(&self) -> BTreeMap<ClassId, Vec<&EvaluatedJob>> {
        let mut classes = BTreeMap::<ClassId, Vec<&EvaluatedJob>>::new();
        for job in self.scored() {
            classes.entry(job.class).or_default().push(job);
        }
        classes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::generator::draw;
    use crate::grid::settings::GridConfig;

    #[test]
    fn feedback_is_later_when_causal() {
        let settings = GridConfig {
            jobs: 400,
            ..GridConfig::default()
        };
        let record = draw(&settings);
        let scheme = "user".parse().unwrap();
        let errors = [FeedbackTiming::OneStep, FeedbackTiming::Causal].map(|timing| {
            let evaluation = evaluate(&record, &scheme, JointModel::default(), timing);
            assert_eq!(evaluation.jobs.len(), record.jobs.len());
            let mut order: Vec<usize> = evaluation.jobs.iter().map(|job| job.learned_at).collect();
            if timing == FeedbackTiming::OneStep {
                assert!(order.is_sorted());
            }
            order.sort_unstable();
            assert!(order.into_iter().eq(0..record.jobs.len()));
            let last = ForecastSource::Single(Expert::Last).index().unwrap();
            let sum: f64 = evaluation
                .scored()
                .map(|job| (job.points[last] - job.ln_run).abs())
                .sum();
            sum
        });
        assert!(errors[0] < errors[1]);
    }
}
