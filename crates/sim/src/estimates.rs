//! The run time estimates and beliefs that policies receive: from users, from what was learned before
//! and inside the run, or from the truth.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use tollgate_forecast::{
    Belief, BeliefQuery, ClassId, CompletedJob, Forecast, ForecastJob, JobAttributes,
    LearnedHistory, RatioSource,
};
use tollgate_model::distribution::N_LEVELS;
use tollgate_model::{BeliefSource, Distribution, Instant, JobSpec, Probability, Span, UserId};
use tollgate_workload::JobArrival;

/// The request of a job without one, at a site where no job has had one: policies believe something
/// of every job, and the run time of the record is unknown to them.
const DEFAULT_REQUEST: Span = Span::from_secs(3600);

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

/// The run time information of a replay.
#[derive(Clone, Copy, Debug)]
pub struct EstimateSetup<'a> {
    /// The source of the estimates.
    pub origin: EstimateOrigin,
    /// The source of the beliefs that the policy plans with; None if it has none.
    pub belief: Option<BeliefSource>,
    /// One row per job, in order of arrival; jobs beyond its last row get the default. Read only
    /// where something is learned.
    pub contexts: &'a [JobContext],
    /// The knowledge at the beginning of the run.
    pub history: &'a LearnedHistory,
}

/// The run time information that a policy receives about a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobEstimate {
    /// The job with the estimate for the policy.
    pub spec: JobSpec,
    /// The whole distribution, where there is a forecast or a belief.
    pub forecast: Option<Distribution>,
    /// False if a belief follows from the site or from other sites alone, because too few jobs of the
    /// user have ended.
    pub is_known: bool,
}

/// The source of estimates, which learns from the jobs of the run as they end.
#[derive(Clone, Debug)]
pub struct EstimateProvider<'a> {
    origin: EstimateOrigin,
    belief: Option<BeliefSource>,
    contexts: &'a [JobContext],
    history: LearnedHistory,
    /// The unfinished jobs from which something is to be learned, by place in the order of arrival.
    issued: BTreeMap<usize, IssuedEstimate>,
}

/// A job as it was known at its submission.
#[derive(Clone, Debug)]
struct IssuedEstimate {
    user: UserId,
    job: ForecastJob,
    forecast: Option<Forecast>,
}

impl IssuedEstimate {
    fn record(&self, submit: Instant, runtime: Span, finish: Instant) -> CompletedJob {
        CompletedJob {
            job: self.job,
            submit,
            finish,
            runtime,
        }
    }
}

impl<'a> EstimateProvider<'a> {
    /// Creates a provider without beliefs that has learned nothing. `known` has one row per job, in
    /// order of arrival; jobs beyond it get the default.
    pub fn new(estimates: EstimateOrigin, known: &'a [JobContext]) -> Self {
        Self {
            origin: estimates,
            belief: None,
            contexts: known,
            history: LearnedHistory::default(),
            issued: BTreeMap::new(),
        }
    }

    /// Creates the provider of a replay.
    pub fn of(setup: &EstimateSetup<'a>) -> Self {
        Self {
            belief: setup.belief,
            history: setup.history.clone(),
            ..Self::new(setup.origin, setup.contexts)
        }
    }

    /// Returns the run time information on the job that arrives as the `index`-th.
    pub fn estimate(&mut self, index: usize, arrival: &JobArrival) -> JobEstimate {
        let user = arrival.spec.estimate;
        let issued = self.learns().then(|| self.issue(index, &arrival.spec));
        let class_forecast = issued.as_ref().and_then(|issued| issued.forecast.as_ref());
        let class_forecast = class_forecast.map(Forecast::distribution);
        let quantile = |level| class_forecast.map_or(user, |forecast| forecast.quantile(level));
        let estimate = match self.origin {
            EstimateOrigin::User => user,
            EstimateOrigin::True => arrival.runtime,
            EstimateOrigin::Forecast(level) => quantile(level),
            EstimateOrigin::Larger(level) => {
                let said = self.context(index).has_user_estimate.then_some(user);
                let bound = quantile(level);
                said.map_or(bound, |said| said.max(bound))
            }
        };
        let (forecast, is_known) = match (self.belief, &issued) {
            // The estimate is the run time.
            (Some(_), None) => (Some(Distribution::new([estimate; N_LEVELS])), true),
            (Some(source), Some(issued)) => {
                let belief = self.belief(source, issued, issued.forecast.as_ref());
                let is_known = match belief.ratios {
                    Some(RatioSource::Table | RatioSource::Site) => false,
                    Some(RatioSource::User) | None => true,
                };
                (Some(belief.distribution), is_known)
            }
            (None, _) => (class_forecast, true),
        };
        if let Some(issued) = issued {
            self.issued.insert(index, issued);
        }
        JobEstimate {
            spec: JobSpec {
                estimate,
                ..arrival.spec
            },
            forecast,
            is_known,
        }
    }

    /// Returns whether beliefs change as jobs end.
    pub(crate) const fn revises_beliefs(&self) -> bool {
        self.belief.is_some() && !matches!(self.origin, EstimateOrigin::True)
    }

    /// Returns the belief about the unfinished `index`-th job by all that is known now.
    pub fn revised_belief(&self, index: usize) -> Option<Distribution> {
        let source = self.belief.filter(|_| self.revises_beliefs())?;
        let issued = self.issued.get(&index)?;
        let forecast = self.forecast(&issued.job);
        let belief = self.belief(source, issued, forecast.as_ref());
        Some(belief.distribution)
    }

    fn belief(
        &self,
        source: BeliefSource,
        issued: &IssuedEstimate,
        forecast: Option<&Forecast>,
    ) -> Belief {
        let query = BeliefQuery {
            user: issued.user,
            job: &issued.job,
            forecast: None,
            source,
            default_request: DEFAULT_REQUEST,
        };
        self.history.belief(&query, forecast)
    }

    fn context(&self, index: usize) -> JobContext {
        self.contexts.get(index).copied().unwrap_or_default()
    }

    fn learns(&self) -> bool {
        self.revises_beliefs() || self.origin.uses_forecast()
    }

    fn issue(&self, index: usize, spec: &JobSpec) -> IssuedEstimate {
        let known = self.context(index);
        let job = ForecastJob {
            class: known.class,
            procs: spec.procs,
            request: known.has_user_estimate.then_some(spec.estimate),
            context: known.context,
        };
        IssuedEstimate {
            user: spec.user,
            job,
            forecast: self.forecast(&job),
        }
    }

    /// Returns the forecast of the job's class, if anything depends on it.
    fn forecast(&self, job: &ForecastJob) -> Option<Forecast> {
        let is_believed = match self.belief.filter(|_| self.revises_beliefs()) {
            Some(BeliefSource::Mixture | BeliefSource::Forecast) => true,
            Some(BeliefSource::User) | None => false,
        };
        let is_used = is_believed || self.origin.uses_forecast();
        is_used.then(|| self.history.forecaster.forecast(job))
    }

    /// Learns that the `index`-th job, submitted at `submit`, has run for `runtime` and ended.
    pub fn observe_completion(
        &mut self,
        index: usize,
        submit: Instant,
        runtime: Span,
        finish: Instant,
    ) {
        if let Some(issued) = self.issued.remove(&index) {
            let record = issued.record(submit, runtime, finish);
            self.history
                .learn(issued.user, &record, issued.forecast.as_ref());
        }
    }

    /// Learns that the `index`-th job, submitted at `submit`, needs more than `runtime`, after which it
    /// was killed. Returns whether that taught anything.
    pub(crate) fn observe_limit(
        &mut self,
        index: usize,
        submit: Instant,
        runtime: Span,
        finish: Instant,
    ) -> bool {
        let Some(issued) = self.issued.remove(&index) else {
            return false;
        };
        let record = issued.record(submit, runtime, finish);
        let forecaster = &mut self.history.forecaster;
        let said = issued.forecast.as_ref();
        said.is_some_and(|said| forecaster.learn_lower_bound(&record, said).unwrap_or(false))
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
    use tollgate_model::Sla;

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

    fn provider(
        origin: EstimateOrigin,
        belief: Option<BeliefSource>,
        contexts: &[JobContext],
    ) -> EstimateProvider<'_> {
        EstimateProvider {
            belief,
            ..EstimateProvider::new(origin, contexts)
        }
    }

    fn arrival(estimate: i64, runtime: i64) -> JobArrival {
        JobArrival {
            spec: JobSpec {
                submit: Instant::ZERO,
                estimate: Span::from_secs(estimate),
                procs: 1,
                memory: 0,
                needs: Default::default(),
                user: UserId(0),
                sla: Sla::default(),
            },
            runtime: Span::from_secs(runtime),
            is_requested: true,
        }
    }

    #[test]
    fn forecaster_learns_only_from_finished_jobs() {
        let level = Probability::new(0.9).unwrap();
        let mut teller = provider(EstimateOrigin::Forecast(level), None, &[]);
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
                let mut teller = provider(estimates, None, &known);
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
        let mut teller = provider(EstimateOrigin::Larger(level), None, &[]);
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

    #[test]
    fn belief_leaves_the_user_s_estimate_and_follows_what_jobs_needed() {
        let belief = Some(BeliefSource::Mixture);
        let mut provider = provider(EstimateOrigin::User, belief, &[]);
        let first = provider.estimate(0, &arrival(10_000, 50));
        assert_eq!(first.spec.estimate, Span::from_secs(10_000));
        let waiting = provider.estimate(1, &arrival(10_000, 50)).forecast.unwrap();
        assert_eq!(provider.revised_belief(1), Some(waiting));
        for job in 2..60 {
            provider.estimate(job, &arrival(10_000, 50));
            let runtime = Span::from_secs(50);
            provider.observe_completion(job, Instant::ZERO, runtime, Instant::from_secs(50));
        }
        let revised = provider.revised_belief(1).unwrap();
        assert!(
            revised.median() < Span::from_secs(60),
            "{}",
            revised.median()
        );
        assert!(
            waiting.median() > Span::from_secs(1_000),
            "{}",
            waiting.median()
        );
    }

    #[test]
    fn belief_under_true_estimates_is_the_run_time() {
        let belief = Some(BeliefSource::User);
        let mut provider = provider(EstimateOrigin::True, belief, &[]);
        let told = provider.estimate(0, &arrival(10_000, 50));
        assert_eq!(told.spec.estimate, Span::from_secs(50));
        assert_eq!(
            told.forecast.unwrap().quantiles(),
            &[Span::from_secs(50); N_LEVELS]
        );
        assert_eq!(provider.revised_belief(0), None);
    }

    #[test]
    fn no_belief_depends_on_the_run_time_of_a_job_without_a_request() {
        let known = [JobContext {
            has_user_estimate: false,
            ..JobContext::default()
        }];
        let told = |runtime| {
            let belief = Some(BeliefSource::Mixture);
            let mut provider = provider(EstimateOrigin::User, belief, &known);
            provider.estimate(0, &arrival(runtime, runtime)).forecast
        };
        assert_eq!(told(5), told(500_000));
    }
}
