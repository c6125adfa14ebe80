//! The run time estimates that policies receive: from users, from forecasts learned inside the run,
//! or from the truth.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use tollgate_forecast::{ClassId, CompletedJob, Forecast, ForecastJob, Forecaster, JobAttributes};
use tollgate_model::{Distribution, Instant, JobSpec, Probability, Span};
use tollgate_workload::JobArrival;

/// The source of the estimate that replaces a job's own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum EstimateOrigin {
    /// The user's estimate.
    #[default]
    User,
    /// The true run time, which is unknown in reality: the value of perfect forecasts.
    True,
    /// The quantile of its forecast at this level.
    Forecast(Probability),
    /// The user's estimate, or the quantile of the job's forecast at this level if the quantile is
    /// longer or the user gave no estimate.
    Larger(Probability),
}

/// An error for a word that names no source of estimates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is none: expected user, true, forecast:LEVEL or user+forecast:LEVEL, with a LEVEL above 0 \
     and below 1"
)]
pub struct EstimateOriginError(pub String);

impl EstimateOrigin {
    /// Returns true if forecasts are made.
    pub const fn uses_forecast(self) -> bool {
        match self {
            Self::User | Self::True => false,
            Self::Forecast(_) | Self::Larger(_) => true,
        }
    }
}

impl FromStr for EstimateOrigin {
    type Err = EstimateOriginError;

    fn from_str(word: &str) -> Result<Self, EstimateOriginError> {
        let level = |word: &str| {
            let level = word.parse().ok().and_then(Probability::new);
            level.filter(|level| 0.0 < level.as_f64() && level.as_f64() < 1.0)
        };
        let read = match word.split_once(':') {
            None if word == "user" => Some(Self::User),
            None if word == "true" => Some(Self::True),
            Some(("forecast", word)) => level(word).map(Self::Forecast),
            Some(("user+forecast", word)) => level(word).map(Self::Larger),
            None | Some(_) => None,
        };
        read.ok_or_else(|| EstimateOriginError(word.to_owned()))
    }
}

impl fmt::Display for EstimateOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("user"),
            Self::True => f.write_str("true"),
            Self::Forecast(level) => write!(f, "forecast:{}", level.as_f64()),
            Self::Larger(level) => write!(f, "user+forecast:{}", level.as_f64()),
        }
    }
}

/// The facts about a job that a forecaster sees and a policy does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobContext {
    /// The job's class.
    pub class: ClassId,
    /// The job's program and location.
    pub context: JobAttributes,
    /// True if the user gave the estimate. Otherwise the estimate is the run time, which no
    /// forecaster may see.
    pub has_user_estimate: bool,
}

/// The default: no facts beyond those that a policy sees.
impl Default for JobContext {
    fn default() -> Self {
        Self {
            class: ClassId(0),
            context: JobAttributes::default(),
            has_user_estimate: true,
        }
    }
}

/// The run time information that a policy receives about a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobEstimate {
    /// The job with the estimate for the policy.
    pub spec: JobSpec,
    /// The whole distribution, where there is a forecast.
    pub forecast: Option<Distribution>,
}

/// The source of estimates, which learns from the jobs of the run as they end.
#[derive(Clone, Debug)]
pub struct EstimateProvider<'a> {
    origin: EstimateOrigin,
    contexts: &'a [JobContext],
    forecaster: Forecaster,
    /// The forecasts of unfinished jobs, by place in the order of arrival.
    issued: BTreeMap<usize, (ForecastJob, Forecast)>,
}

impl<'a> EstimateProvider<'a> {
    /// Creates a provider. `known` has one row per job, in order of arrival; jobs beyond it get the
    /// default.
    pub fn new(estimates: EstimateOrigin, known: &'a [JobContext]) -> Self {
        Self {
            origin: estimates,
            contexts: known,
            forecaster: Forecaster::default(),
            issued: BTreeMap::new(),
        }
    }

    /// Returns the run time information on the job that arrives as the `index`-th.
    pub fn estimate(&mut self, index: usize, arrival: &JobArrival) -> JobEstimate {
        let user = arrival.spec.estimate;
        let (estimate, forecast) = match self.origin {
            EstimateOrigin::User => (user, None),
            EstimateOrigin::True => (arrival.runtime, None),
            EstimateOrigin::Forecast(level) => {
                let forecast = self.forecast(index, &arrival.spec);
                (forecast.quantile(level), Some(forecast))
            }
            EstimateOrigin::Larger(level) => {
                let forecast = self.forecast(index, &arrival.spec);
                let bound = forecast.quantile(level);
                let said = self.context(index).has_user_estimate.then_some(user);
                (said.map_or(bound, |said| said.max(bound)), Some(forecast))
            }
        };
        JobEstimate {
            spec: JobSpec {
                estimate,
                ..arrival.spec
            },
            forecast,
        }
    }

    fn context(&self, index: usize) -> JobContext {
        self.contexts.get(index).copied().unwrap_or_default()
    }

    fn forecast(&mut self, index: usize, spec: &JobSpec) -> Distribution {
        let known = self.context(index);
        let job = ForecastJob {
            class: known.class,
            procs: spec.procs,
            request: known.has_user_estimate.then_some(spec.estimate),
            context: known.context,
        };
        let forecast = self.forecaster.forecast(&job);
        let distribution = forecast.distribution();
        self.issued.insert(index, (job, forecast));
        distribution
    }

    /// Learns that the `index`-th job, submitted at `submit`, has run for `runtime` and ended.
    pub fn observe_completion(
        &mut self,
        index: usize,
        submit: Instant,
        runtime: Span,
        finish: Instant,
    ) {
        if let Some((job, said)) = self.issued.remove(&index) {
            let record = CompletedJob {
                job,
                submit,
                finish,
                runtime,
            };
            let learned = self.forecaster.learn(&record, &said);
            debug_assert!(learned.is_ok(), "a job that ended has run: {learned:?}");
        }
    }

    /// Forgets the `index`-th job after its rejection: it never runs, and nothing is learned from
    /// it.
    pub(crate) fn discard(&mut self, index: usize) {
        self.issued.remove(&index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_model::{Sla, UserId};

    #[test]
    fn estimate_origins_round_trip() {
        for word in ["user", "true", "forecast:0.9", "user+forecast:0.95"] {
            assert_eq!(word.parse::<EstimateOrigin>().unwrap().to_string(), word);
        }
        for word in [
            "",
            "usr",
            "forecast",
            "forecast:",
            "forecast:1",
            "user+forecast:0",
            "forecast:NaN",
        ] {
            assert!(word.parse::<EstimateOrigin>().is_err(), "{word}");
        }
    }

    fn arrival(estimate: i64, runtime: i64) -> JobArrival {
        JobArrival {
            spec: JobSpec {
                submit: Instant::ZERO,
                estimate: Span::from_secs(estimate),
                procs: 1,
                memory: 0,
                user: UserId(0),
                sla: Sla::default(),
            },
            runtime: Span::from_secs(runtime),
        }
    }

    #[test]
    fn forecaster_learns_only_from_finished_jobs() {
        let level = Probability::new(0.9).unwrap();
        let mut teller = EstimateProvider::new(EstimateOrigin::Forecast(level), &[]);
        let before = teller.estimate(0, &arrival(10_000, 50)).spec.estimate;
        for job in 1..50 {
            teller.estimate(job, &arrival(10_000, 50));
        }
        assert_eq!(
            teller.estimate(50, &arrival(10_000, 50)).spec.estimate,
            before
        );
        for job in 0..50 {
            teller.observe_completion(
                job,
                Instant::ZERO,
                Span::from_secs(50),
                Instant::from_secs(50),
            );
        }
        let after = teller.estimate(51, &arrival(10_000, 50));
        assert!(
            after.spec.estimate.as_secs_f64() < before.as_secs_f64() / 10.0,
            "{}",
            after.spec.estimate
        );
        assert_eq!(after.forecast.unwrap().quantile(level), after.spec.estimate);
    }

    #[test]
    fn estimate_not_given_by_the_user_is_hidden_from_the_forecaster() {
        let level = Probability::new(0.9).unwrap();
        let known = [JobContext {
            has_user_estimate: false,
            ..JobContext::default()
        }; 2];
        let told = |job, runtime| {
            [
                EstimateOrigin::Forecast(level),
                EstimateOrigin::Larger(level),
            ]
            .map(|estimates| {
                let mut teller = EstimateProvider::new(estimates, &known);
                teller
                    .estimate(job, &arrival(runtime, runtime))
                    .spec
                    .estimate
            })
        };
        assert_eq!(told(0, 5), told(1, 500_000));
    }

    #[test]
    fn larger_estimate_is_never_below_the_user_estimate() {
        let level = Probability::new(0.9).unwrap();
        let mut teller = EstimateProvider::new(EstimateOrigin::Larger(level), &[]);
        for job in 0..50 {
            teller.estimate(job, &arrival(10_000, 50));
            teller.observe_completion(
                job,
                Instant::ZERO,
                Span::from_secs(50),
                Instant::from_secs(50),
            );
        }
        let told = teller.estimate(50, &arrival(10_000, 50));
        assert_eq!(told.spec.estimate, Span::from_secs(10_000));
        assert!(told.forecast.unwrap().quantile(level) < Span::from_secs(5_000));
    }
}
