//! The state of the service: what a step changes, and what is stored of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tollgate_forecast::{LearnedHistory, UsageBeliefs};
use tollgate_gate::{Effect, Gate, GateSnapshot, ProbeScratch, PromiseCorrections, WorkerId};
use tollgate_model::{Instant, JobId};

use crate::abandonment::FinishedHistory;
use crate::command::Submission;
use crate::desktop_logins::DesktopLogins;
use crate::job_classes::JobClasses;
use crate::jobs::JobTable;
use crate::output::{AdmissionState, SubmitOutcome};
use crate::prediction::LookAheadCache;
use crate::resources::{HostNames, ResourceNames};
use crate::rules::AdmissionRules;
use crate::shadow::{PolicyComparison, ShadowPolicy, ShadowSnapshot};
use crate::start_floor::RefusedStart;

/// The worker that is the service's own host.
pub const LOCAL_WORKER: WorkerId = WorkerId(0);

/// The state of the service.
#[derive(Debug)]
pub struct Core {
    pub(crate) rules: AdmissionRules,
    pub(crate) gate: Gate,
    pub(crate) jobs: JobTable,
    pub(crate) history: LearnedHistory,
    /// The experience with the use of memory and of processors.
    pub(crate) usage: UsageBeliefs,
    /// The correction of probabilities that are stated from futures.
    pub(crate) corrections: PromiseCorrections,
    /// The digests of the learned records.
    pub(crate) learned_records: BTreeSet<u64>,
    pub(crate) classes: JobClasses,
    pub(crate) resources: ResourceNames,
    pub(crate) host_names: HostNames,
    pub(crate) now: Instant,
    pub(crate) effects: Vec<Effect>,
    pub(crate) scratch: ProbeScratch,
    /// The evictions of tasks that finished.
    pub(crate) finished: FinishedHistory,
    /// The log-ins at computers that people work at.
    pub(crate) desktops: DesktopLogins,
    /// Within a step: jobs that need not wait any more and get their decision now.
    pub(crate) released: Vec<u64>,
    /// Within a step: finished jobs that ended with success, as dependent jobs may require.
    pub(crate) succeeded: BTreeSet<u64>,
    /// Within a step: jobs that the policy admits and the service does not, by slot.
    pub(crate) refused: BTreeMap<JobId, RefusedStart>,
    pub(crate) look_ahead: LookAheadCache,
    /// The shadow policy. It follows each step, and no decision reads it.
    pub(crate) shadow: Option<Box<ShadowPolicy>>,
}

/// The serialisable state of a [`Core`]. The rules come from the configuration.
#[derive(Debug, Serialize, Deserialize)]
pub struct CoreSnapshot {
    gate: GateSnapshot,
    jobs: JobTable,
    history: LearnedHistory,
    usage: UsageBeliefs,
    corrections: PromiseCorrections,
    /// The digests of the learned records.
    learned_records: BTreeSet<u64>,
    classes: JobClasses,
    resources: ResourceNames,
    host_names: HostNames,
    finished: FinishedHistory,
    desktops: DesktopLogins,
    now: Instant,
    shadow: Option<ShadowSnapshot>,
}

impl Core {
    /// Creates an empty service.
    pub fn new(rules: AdmissionRules) -> Self {
        let mut gate = Gate::new(rules.policy.build(rules.market), rules.market);
        gate.set_task_limit(Some(rules.max_resident));
        let mut core = Self {
            gate,
            rules,
            jobs: JobTable::default(),
            history: LearnedHistory::default(),
            usage: UsageBeliefs::default(),
            corrections: PromiseCorrections::default(),
            learned_records: BTreeSet::new(),
            classes: JobClasses::default(),
            resources: ResourceNames::default(),
            host_names: HostNames::default(),
            finished: FinishedHistory::default(),
            desktops: DesktopLogins::default(),
            now: Instant::ZERO,
            effects: Vec::new(),
            scratch: ProbeScratch::default(),
            released: Vec::new(),
            succeeded: BTreeSet::new(),
            refused: BTreeMap::new(),
            look_ahead: LookAheadCache::default(),
            shadow: None,
        };
        core.believe_default();
        core.start_shadow();
        core
    }

    /// Creates a service without unfinished jobs that goes on at `now`, after the job `last`. It has learned
    /// nothing.
    pub fn going_on(rules: AdmissionRules, last: u64, now: Instant) -> Self {
        let mut core = Self::new(rules);
        core.jobs.number_after(last);
        core.now = now;
        core
    }

    /// Returns the outcome that a job submitted at `at` would get. A quote binds nothing and
    /// changes nothing.
    pub fn quote(&mut self, at: Instant, submission: &Submission) -> SubmitOutcome {
        let at = self.now.max(at);
        let submission = &*self.treated(submission);
        let deferred = self.deferral_outcome(at, submission);
        deferred.unwrap_or_else(|| self.evaluate(at, submission))
    }

    /// Returns a quote that, if the job would be promised, names surer promises with their prices.
    pub fn quote_with_levels(&mut self, at: Instant, submission: &Submission) -> SubmitOutcome {
        let at = self.now.max(at);
        let submission = &*self.treated(submission);
        let mut answer = self.quote(at, submission);
        if matches!(answer.admission, AdmissionState::Accepted { .. }) {
            let forecast = self.forecast(submission, None);
            answer.offers = self.surer_promises(at, submission, &forecast);
        }
        answer
    }

    /// Returns the latest time of the next step if no command comes.
    pub fn next_wake(&self) -> Option<Instant> {
        let lapse = self.jobs.next_expiry().map(|(lapses, _)| lapses);
        let deadline = self.jobs.next_deadline();
        let follower = self.jobs.next_follower_end();
        let gate = self.gate.next_wake();
        let believes = self.rules.policy.uses_beliefs();
        let revision = self.history.beliefs.next_revision().filter(|_| believes);
        let launch = self.jobs.next_launch_retry();
        let begin = self.jobs.next_begin();
        let recount = self.jobs.next_recount();
        let own = lapse.into_iter().chain(deadline).chain(follower);
        let own = own
            .chain(revision)
            .chain(launch)
            .chain(begin)
            .chain(recount);
        gate.into_iter().chain(own).min()
    }

    /// Returns the last handled instant.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the gate for queries.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Returns the rules of the decisions.
    pub fn rules(&self) -> &AdmissionRules {
        &self.rules
    }

    /// Returns the whole state, to be stored.
    pub fn save(&mut self) -> CoreSnapshot {
        CoreSnapshot {
            gate: self.gate.save(self.now),
            jobs: self.jobs.clone(),
            history: self.history.clone(),
            usage: self.usage.clone(),
            corrections: self.corrections.clone(),
            learned_records: self.learned_records.clone(),
            classes: self.classes.clone(),
            resources: self.resources.clone(),
            host_names: self.host_names.clone(),
            finished: self.finished.clone(),
            desktops: self.desktops.clone(),
            now: self.now,
            shadow: self.shadow.as_mut().map(|shadow| shadow.save()),
        }
    }

    /// Restores a saved service. The rules must be those of the save, except for the shadow policy:
    /// another one begins now.
    pub fn restore(saved: CoreSnapshot, rules: AdmissionRules) -> Self {
        let policy = rules.policy.build(rules.market);
        let mut gate = Gate::restore(saved.gate, policy, rules.market, saved.now);
        gate.set_task_limit(Some(rules.max_resident));
        let known = saved.shadow.zip(rules.shadow.as_ref());
        let known = known.and_then(|(saved, policy)| ShadowPolicy::restore(saved, policy, &rules));
        let mut core = Self {
            gate,
            jobs: saved.jobs,
            history: saved.history,
            usage: saved.usage,
            corrections: saved.corrections,
            learned_records: saved.learned_records,
            classes: saved.classes,
            resources: saved.resources,
            host_names: saved.host_names,
            finished: saved.finished,
            desktops: saved.desktops,
            now: saved.now,
            shadow: known.map(Box::new),
            ..Self::new(rules)
        };
        core.believe_default();
        if core.shadow.is_none() {
            core.start_shadow();
        }
        core
    }

    /// Passes the setting for jobs without a request to the beliefs.
    fn believe_default(&mut self) {
        let default = self.rules.default_estimate;
        self.history.beliefs.set_default_runtime(default);
    }

    fn start_shadow(&mut self) {
        let policy = self.rules.shadow.clone();
        self.shadow = policy.map(|policy| Box::new(ShadowPolicy::start(&policy, self)));
    }

    /// Returns the comparison of the shadow policy with the real one as of `at`; None without a
    /// shadow policy.
    pub fn comparison(&mut self, at: Instant) -> Option<PolicyComparison> {
        let at = self.now.max(at);
        self.shadow.as_mut().map(|shadow| shadow.compare(at))
    }

    /// Sets the time back to `at`, if no job is unfinished: their instants would lie in the future. A shadow policy
    /// begins anew.
    ///
    /// # Errors
    /// The number of unfinished jobs.
    pub fn set_back(&mut self, at: Instant) -> Result<(), usize> {
        let unfinished = self.jobs().len();
        if unfinished > 0 {
            return Err(unfinished);
        }
        let saved = CoreSnapshot {
            now: at,
            shadow: None,
            ..self.save()
        };
        *self = Self::restore(saved, self.rules.clone());
        Ok(())
    }
}
