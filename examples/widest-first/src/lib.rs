//! A policy in a crate of its own: the widest waiting job starts first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tollgate_model::{Credits, Distribution, JobId, JobSpec, Market, OtherReason, Reason, Span};
use tollgate_policy::toolkit::fits_machine;
use tollgate_policy::{
    AdmissionDecision, ParameterTable, ParameterWord, Policy, PolicyContext, PolicyDefinition,
    PolicyParameter, PolicySettings, ProbeScratch, View, parameter_table,
};

/// The policy as [`tollgate_policy::PolicyRegistry::with`] takes it.
pub const WIDEST_FIRST: PolicyDefinition = PolicyDefinition {
    name: "widest-first",
    summary: "the widest waiting job starts first; charges nothing",
    limits: "knows no deadlines; narrow jobs may wait for ever",
    source: "examples/widest-first",
    markets: &[Market::None],
    settings: &WidestFirstSettings {
        overtake: false,
        max_hours: MaxHours(None),
    },
};

/// The refusal that no other policy has.
const ESTIMATE_TOO_LONG: Reason = Reason::Other(&OtherReason::new(
    "estimate_too_long",
    "its estimate is longer than this policy allows",
));

/// The parameters of the policy.
#[derive(Clone, Copy, Debug)]
struct WidestFirstSettings {
    overtake: bool,
    max_hours: MaxHours,
}

/// The longest estimate of a job, in hours; None without a limit.
#[derive(Clone, Copy, Debug)]
struct MaxHours(Option<u32>);

impl ParameterWord for MaxHours {
    fn values(&self) -> String {
        "a count or `none`".to_owned()
    }

    fn word(&self) -> String {
        let hours = self.0.map(|hours| hours.to_string());
        hours.unwrap_or_else(|| "none".to_owned())
    }

    fn set_word(&mut self, word: &str) -> bool {
        let hours = match word {
            "none" => Some(None),
            _ => word.parse().ok().map(Some),
        };
        hours.map(|hours| self.0 = hours).is_some()
    }
}

impl ParameterTable for WidestFirstSettings {
    const PARAMETERS: &'static [PolicyParameter<Self>] = parameter_table! {
        "overtake" => Word(overtake): "narrower jobs may start while the widest does not fit";
        "max-hours" => Word(max_hours): "the longest estimate of a job, in hours";
    };
}

impl WidestFirstSettings {
    fn max_estimate(&self) -> Span {
        let seconds = |hours| Span::from_secs(i64::from(hours) * 3600);
        self.max_hours.0.map_or(Span::MAX, seconds)
    }
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
        match fits_machine(view, spec) {
            Err(reason) => AdmissionDecision::Reject(reason),
            Ok(()) if spec.estimate > self.settings.max_estimate() => {
                AdmissionDecision::Reject(ESTIMATE_TOO_LONG)
            }
            Ok(()) => AdmissionDecision::Queue,
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
