//! A policy in a crate of its own: the widest waiting job starts first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tollgate_model::{Credits, Distribution, JobId, JobSpec, Market, Reason};
use tollgate_policy::{
    AdmissionDecision, ParameterEnum, ParameterTable, Policy, PolicyContext, PolicyDefinition,
    PolicyParameter, PolicySettings, ProbeScratch, View,
};

/// The policy as [`tollgate_policy::PolicyRegistry::with`] takes it.
pub const WIDEST_FIRST: PolicyDefinition = PolicyDefinition {
    name: "widest-first",
    summary: "the widest waiting job starts first; never rejects, and charges nothing",
    source: "examples/widest-first",
    markets: &[Market::None],
    settings: &WidestFirstSettings { overtake: false },
};

/// The parameters of the policy.
#[derive(Clone, Copy, Debug)]
struct WidestFirstSettings {
    overtake: bool,
}

impl ParameterTable for WidestFirstSettings {
    const PARAMETERS: &'static [PolicyParameter<Self>] = &[PolicyParameter {
        key: "overtake",
        values: "true or false",
        meaning: "narrower jobs may start while the widest does not fit",
        applies: |_| true,
        get: |settings| settings.overtake.keyword(),
        set: |settings, word| ParameterEnum::read(&mut settings.overtake, word),
    }];
}

impl PolicySettings for WidestFirstSettings {
    fn build(&self, _: Market) -> Box<dyn Policy> {
        Box::new(WidestFirst {
            settings: *self,
            queue: BTreeMap::new(),
        })
    }
}

/// The waiting jobs, the widest first; ties break by the order of submission.
#[derive(Clone, Debug)]
struct WidestFirst {
    settings: WidestFirstSettings,
    queue: BTreeMap<(Reverse<u32>, u64), JobId>,
}

fn key(view: View<'_>, id: JobId) -> (Reverse<u32>, u64) {
    let job = view.job(id);
    (Reverse(job.spec.procs), job.sequence)
}

impl Policy for WidestFirst {
    fn probe(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        _: Option<&Distribution>,
        _: &mut ProbeScratch,
    ) -> AdmissionDecision {
        if spec.procs > view.n_nodes() {
            return AdmissionDecision::Reject(Reason::TooManyProcs);
        }
        match view.min_memory() {
            Some(memory) if spec.memory > memory => AdmissionDecision::Reject(Reason::NoMemory),
            Some(_) | None => AdmissionDecision::Queue,
        }
    }

    fn clear(&mut self) {
        self.queue.clear();
    }

    fn queued(&mut self, view: View<'_>, job: JobId) {
        self.queue.insert(key(view, job), job);
    }

    fn dequeued(&mut self, view: View<'_>, job: JobId) {
        self.queue.remove(&key(view, job));
    }

    fn pass(&mut self, cx: &mut PolicyContext<'_>) {
        let waiting: Vec<JobId> = self.queue.values().copied().collect();
        for job in waiting {
            if cx.job(job).spec.procs <= cx.n_idle() {
                self.dequeued(cx.view(), job);
                cx.start(job, Credits::ZERO);
            } else if !self.settings.overtake {
                break;
            }
        }
    }
}
