//! The run time estimates and beliefs that policies receive: from users, from what was learned before
//! and inside the run, or from the truth.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use tollgate_forecast::{
    BeliefJob, ClassId, ForecastJob, JobAttributes, JobKin, LearnedHistory, UnpredictableJob,
    UnpredictableRule,
};
use tollgate_model::distribution::N_LEVELS;
use tollgate_model::{
    Distribution, Instant, JobSpec, Kinship, RuntimeBelief, Span, TaskId, UserId,
};
use tollgate_workload::JobArrival;

use crate::estimate_origin::EstimateOrigin;

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
    /// True if the policy plans with beliefs.
    pub uses_beliefs: bool,
    /// One row per job, in order of arrival; jobs beyond its last row get the default. Read only
    /// where something is learned.
    pub contexts: &'a [JobContext],
    /// The knowledge at the beginning of the run.
    pub history: &'a LearnedHistory,
    /// The rule by which jobs count as unpredictable. None if no one asks.
    pub unpredictable: Option<UnpredictableRule>,
}

/// The run time information that a policy receives about a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobEstimate {
    /// The job with the estimate for the policy.
    pub spec: JobSpec,
    /// The whole distribution, where there is a forecast or a belief.
    pub forecast: Option<Distribution>,
    /// The jobs with which it is long or short together, where there is a belief.
    pub kinship: Option<Kinship>,
    /// False if a belief follows from the site or from other sites alone, because no job of the user has
    /// ended.
    pub is_known: bool,
    /// Number of ended batches of jobs like it on which the belief rests.
    pub n_batches: u32,
    /// The run times of its class, if the rule of the run says that they cannot be predicted.
    pub unpredictable: Option<UnpredictableJob>,
}

impl JobEstimate {
    /// Returns what a policy gets of it.
    pub(crate) fn belief(&self) -> Option<RuntimeBelief> {
        self.forecast.map(|distribution| RuntimeBelief {
            distribution,
            kinship: self.kinship,
        })
    }
}

/// The source of estimates, which learns from the jobs of the run as they end.
#[derive(Clone, Debug)]
pub struct EstimateProvider<'a> {
    origin: EstimateOrigin,
    uses_beliefs: bool,
    unpredictable: Option<UnpredictableRule>,
    contexts: &'a [JobContext],
    history: LearnedHistory,
    /// The unfinished jobs from which something is to be learned, by place in the order of arrival.
    issued: BTreeMap<usize, IssuedEstimate>,
    /// The changes of jobs of which beliefs have not taken note, by place in the order of arrival.
    changes: BTreeMap<usize, JobChange>,
}

/// A change of a job that beliefs follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobChange {
    /// It was submitted, and not rejected.
    Admitted(Instant),
    /// It started.
    Started(Instant),
    /// It was rejected.
    Discarded,
}

/// A job as it was known at its submission.
#[derive(Clone, Debug)]
struct IssuedEstimate {
    user: UserId,
    job: ForecastJob,
}

impl<'a> EstimateProvider<'a> {
    /// Creates a provider without beliefs that has learned nothing. `known` has one row per job, in
    /// order of arrival; jobs beyond it get the default.
    pub fn new(estimates: EstimateOrigin, known: &'a [JobContext]) -> Self {
        Self {
            origin: estimates,
            uses_beliefs: false,
            unpredictable: None,
            contexts: known,
            history: LearnedHistory::default(),
            issued: BTreeMap::new(),
            changes: BTreeMap::new(),
        }
    }

    /// Creates the provider of a replay.
    pub fn of(setup: &EstimateSetup<'a>) -> Self {
        Self {
            uses_beliefs: setup.uses_beliefs,
            unpredictable: setup.unpredictable,
            history: setup.history.clone(),
            ..Self::new(setup.origin, setup.contexts)
        }
    }

    /// Returns the run time information on the job that arrives as the `index`-th. Beliefs know the job once
    /// it is admitted.
    pub fn estimate(&mut self, index: usize, arrival: &JobArrival) -> JobEstimate {
        self.history.beliefs.advance(arrival.spec.submit);
        let (estimate, issued) = self.issue_estimate(index, arrival);
        if let Some(issued) = issued {
            self.issued.insert(index, issued);
        }
        estimate
    }

    /// Records that the `index`-th job was not rejected at its submission, which is now.
    pub fn admit(&mut self, index: usize, now: Instant) {
        if self.issued.contains_key(&index) {
            self.changes.insert(index, JobChange::Admitted(now));
        }
    }

    /// Passes the outcomes of jobs to the beliefs, in the order of arrival, as a service does after each
    /// pass. The beliefs about jobs that start together depend on their order.
    pub(crate) fn follow_jobs(&mut self) {
        for (index, change) in std::mem::take(&mut self.changes) {
            let beliefs = &mut self.history.beliefs;
            let (JobChange::Admitted(now) | JobChange::Started(now)) = change else {
                beliefs.remove(task(index));
                continue;
            };
            if let Some(issued) = self.issued.get(&index) {
                let job = BeliefJob::new(issued.user, &issued.job);
                beliefs.submit(task(index), job, now);
            }
            if matches!(change, JobChange::Started(_)) {
                beliefs.start(task(index), now);
            }
        }
    }

    /// Returns the run time information on the `index`-th job as if it arrived now, which changes nothing.
    pub(crate) fn quote(&self, index: usize, arrival: &JobArrival) -> JobEstimate {
        self.issue_estimate(index, arrival).0
    }

    fn issue_estimate(
        &self,
        index: usize,
        arrival: &JobArrival,
    ) -> (JobEstimate, Option<IssuedEstimate>) {
        let user = arrival.spec.estimate;
        let issued = self.learns().then(|| self.issue(index, &arrival.spec));
        let believed = issued.as_ref().map(|issued| {
            let job = BeliefJob::new(issued.user, &issued.job);
            (job, self.history.beliefs.belief(&job, arrival.spec.submit))
        });
        let judged = believed.zip(self.unpredictable);
        let unpredictable = judged.and_then(|((job, belief), rule)| rule.judge(&job, &belief));
        let belief = believed
            .map(|(_, belief)| belief)
            .filter(|_| self.informs());
        let n_batches = belief.map_or(0, |belief| belief.basis.n_batches);
        let quantile = |level| belief.map_or(user, |belief| belief.distribution.quantile(level));
        let estimate = match self.origin {
            EstimateOrigin::User => user,
            EstimateOrigin::True => arrival.runtime,
            EstimateOrigin::Forecast(level) => quantile(level),
            EstimateOrigin::Larger(level) => {
                let stated = self.context(index).has_user_estimate.then_some(user);
                let bound = quantile(level);
                stated.map_or(bound, |stated| stated.max(bound))
            }
        };
        let (forecast, kinship, is_known) = match (self.uses_beliefs, &belief) {
            // The estimate is the run time.
            (true, None) => (Some(Distribution::new([estimate; N_LEVELS])), None, true),
            (true, Some(belief)) => {
                let [user, ..] = belief.basis.groups;
                let is_known = user.n_batches > 0;
                (Some(belief.distribution), Some(belief.kinship), is_known)
            }
            (false, _) => (belief.map(|belief| belief.distribution), None, true),
        };
        let estimate = JobEstimate {
            spec: JobSpec {
                estimate,
                ..arrival.spec
            },
            forecast,
            kinship,
            is_known,
            n_batches,
            unpredictable,
        };
        (estimate, issued)
    }

    /// Returns whether the policy is told of beliefs that change as jobs end.
    pub(crate) const fn revises_beliefs(&self) -> bool {
        self.uses_beliefs && !matches!(self.origin, EstimateOrigin::True)
    }

    /// Returns whether beliefs follow jobs from their starts, as those of a service do.
    pub(crate) fn follows_starts(&self) -> bool {
        self.revises_beliefs() || self.unpredictable.is_some()
    }

    /// Records that the `index`-th job starts, perhaps at its submission.
    pub fn observe_start(&mut self, index: usize, now: Instant) {
        if self.learns() {
            self.changes.insert(index, JobChange::Started(now));
        }
    }

    /// Returns the waiting jobs about which more is known than at the last call, by place in the order of
    /// arrival, with what is believed of each now.
    pub fn take_revised(&mut self, now: Instant) -> Vec<(usize, RuntimeBelief)> {
        if !self.revises_beliefs() {
            return Vec::new();
        }
        self.follow_jobs();
        let revised = self.history.beliefs.take_revised(now);
        let known = |index: &usize| self.issued.contains_key(index);
        let revised = revised.into_iter();
        let revised = revised.map(|(task, belief)| (task.job as usize, belief.runtime()));
        revised.filter(|(index, _)| known(index)).collect()
    }

    /// Returns the next instant at which a belief about a waiting job changes though nothing happens.
    pub(crate) fn next_revision(&self) -> Option<Instant> {
        self.revises_beliefs()
            .then(|| self.history.beliefs.next_revision())?
    }

    fn context(&self, index: usize) -> JobContext {
        self.contexts.get(index).copied().unwrap_or_default()
    }

    fn learns(&self) -> bool {
        self.informs() || self.unpredictable.is_some()
    }

    /// Returns whether a policy gets anything of beliefs.
    fn informs(&self) -> bool {
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
        }
    }

    /// Returns the jobs with which the `index`-th job counts, which has not ended; None if beliefs do not know it.
    pub(crate) fn kin(&mut self, index: usize) -> Option<JobKin> {
        self.follow_jobs();
        self.history.beliefs.kin(task(index))
    }

    /// Learns that the `index`-th job has run for `runtime` and ended.
    pub fn observe_completion(&mut self, index: usize, runtime: Span, finish: Instant) {
        self.follow_jobs();
        if self.issued.remove(&index).is_some() {
            self.history.beliefs.end(task(index), runtime, finish);
        }
    }

    /// Learns that the `index`-th job needs more than `runtime`, after which it was killed.
    pub(crate) fn observe_limit(&mut self, index: usize, runtime: Span, finish: Instant) {
        self.follow_jobs();
        if self.issued.remove(&index).is_some() {
            self.history
                .beliefs
                .end_at_least(task(index), runtime, finish);
        }
    }

    /// Forgets the `index`-th job after its rejection: it never runs, and nothing is learned from
    /// it.
    pub(crate) fn discard(&mut self, index: usize) {
        if self.issued.remove(&index).is_some() {
            self.changes.insert(index, JobChange::Discarded);
        }
    }
}

/// Returns the id of a job by its place in the order of arrival.
fn task(index: usize) -> TaskId {
    TaskId::from(index as u64)
}
