//! The joint forecasts of the two models: all experts together, and the belief.

use tollgate_forecast::{
    BeliefJob, BeliefModel, ClassEvent, ClassStage, CompletedJob, Doubt, FeedbackTiming, Forecast,
    RecordedMoment, observe_moments,
};
use tollgate_model::{Distribution, UserId};

use super::evaluation::ln;
use super::margin::{FIRST_LEVEL, N_BOUND_LEVELS};

/// The joint forecast of a job. Times are logarithms of seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct JointForecast {
    pub(super) point: f64,
    pub(super) bounds: [f64; N_BOUND_LEVELS],
    pub(super) stage: ClassStage,
}

/// The beliefs about the jobs of a record, and the changes of classes that their ends show.
#[derive(Debug)]
pub(super) struct StatedBeliefs {
    stated: Vec<Option<(Distribution, Doubt)>>,
    events: Vec<ClassEvent>,
}

impl JointForecast {
    pub(super) fn of_experts(forecast: &Forecast) -> Self {
        Self {
            point: ln(forecast.point()),
            bounds: bounds(&forecast.distribution()),
            stage: forecast.stage(),
        }
    }
}

fn bounds(distribution: &Distribution) -> [f64; N_BOUND_LEVELS] {
    let quantiles = distribution.quantiles();
    std::array::from_fn(|level| ln(quantiles[FIRST_LEVEL + level]))
}

impl StatedBeliefs {
    /// States the beliefs about jobs in order of submission.
    pub(super) fn of(jobs: &[CompletedJob], timing: FeedbackTiming) -> Self {
        let believed = jobs.iter().map(|ended| {
            let user = UserId(ended.job.class.0);
            (BeliefJob::new(user, &ended.job), *ended)
        });
        let believed: Vec<(BeliefJob, CompletedJob)> = believed.collect();
        let mut stated = vec![None; jobs.len()];
        let mut events = vec![ClassEvent::Usual; jobs.len()];
        let mut model = BeliefModel::default();
        observe_moments(&mut model, &believed, timing, |at, moment| match moment {
            RecordedMoment::Submission(belief) => {
                stated[at] = Some((belief.distribution, belief.basis.doubt));
            }
            RecordedMoment::Start(_) | RecordedMoment::End(None) => {}
            // A change is an alarm. Its class runs as believed again once its new mode is adopted.
            RecordedMoment::End(Some(change)) => {
                events[at] = match change.doubt.is_change() {
                    true => ClassEvent::Alarm,
                    false => ClassEvent::NewMode,
                };
            }
        });
        Self { stated, events }
    }

    /// Returns the forecast of a job. A class with too few jobs for the experts has the stage that it has for them, so that
    /// margins of both models are compared on the same jobs.
    pub(super) fn forecast(&self, nth: usize, by_experts: ClassStage) -> JointForecast {
        let (distribution, doubt) = self.stated[nth].expect("the jobs of a record ran");
        JointForecast {
            point: ln(distribution.median()),
            bounds: bounds(&distribution),
            stage: match doubt {
                _ if by_experts.is_cold() => by_experts,
                Doubt::None => ClassStage::Settled,
                Doubt::Longer | Doubt::ChangedLonger | Doubt::ChangedShorter => {
                    ClassStage::Changing
                }
            },
        }
    }

    /// Returns the effect of the end of a job on its class.
    pub(super) fn event(&self, nth: usize) -> ClassEvent {
        self.events[nth]
    }
}
