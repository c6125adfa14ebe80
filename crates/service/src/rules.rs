//! The admission rules: the part of the configuration that decisions depend on.

use serde::{Deserialize, Serialize};
use tollgate_grid_policies::retry::RetryPolicy;
use tollgate_model::{
    Bytes, Credits, CreditsPerSecond, Instant, JobSpec, Market, Probability, Sla, Span, UserId,
};
use tollgate_policy::{PolicyRegistry, PolicySpec};

use crate::command::Submission;
use crate::desktop_logins::{DesktopChoice, StoredChoice};
use crate::unpredictable_terms::UnpredictableTerms;

/// Seconds of one core that the price refers to.
const CORE_HOUR_S: f64 = 3600.0;

/// The rules that decisions depend on besides the jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct AdmissionRules {
    /// The admission policy.
    pub policy: PolicySpec,
    /// The policies that stored rules may name.
    pub registry: PolicyRegistry,
    /// The market model.
    pub market: Market,
    /// Price of a core-hour, in credits; above 0.
    pub price: f64,
    /// Estimate for a job about which nothing is known. Positive.
    pub default_estimate: Span,
    /// Probability that a job without an estimate ends within the estimate that it is given.
    pub level: Probability,
    /// Minimum probability at which a deadline is promised, in millionths; at most 1,000,000.
    pub confidence: u32,
    /// Maximum number of tasks that share a node. At least 1.
    pub max_resident: u32,
    /// The shadow policy, which is followed on paper only.
    pub shadow: Option<PolicySpec>,
    /// Maximum time from a decision to start a job until its program runs. It counts as run time. Not
    /// negative.
    pub start_delay: Span,
    /// The rule for tasks that are evicted from computers that others use.
    pub evictions: RetryPolicy,
    /// The choice among idle computers that others use; None takes them in the order in which they came.
    pub choose: Option<DesktopChoice>,
    /// The rule for jobs whose run time cannot be predicted.
    pub unpredictable: UnpredictableTerms,
}

/// The serialisable form of the rules. Equal forms decide alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredRules {
    policy: String,
    market: String,
    price: f64,
    default_estimate: Span,
    level: f64,
    confidence: u32,
    max_resident: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shadow: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    start_delay: Span,
    #[serde(default = "RetryPolicy::forever")]
    evictions: RetryPolicy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    choose: Option<StoredChoice>,
    #[serde(default, skip_serializing_if = "is_default")]
    unpredictable: UnpredictableTerms,
}

fn is_default(terms: &UnpredictableTerms) -> bool {
    *terms == UnpredictableTerms::default()
}

fn is_zero(span: &Span) -> bool {
    *span == Span::ZERO
}

impl AdmissionRules {
    /// Returns the rules in their stored form.
    pub fn to_stored(&self) -> StoredRules {
        StoredRules {
            policy: self.policy.to_string(),
            market: self.market.name().to_owned(),
            price: self.price,
            default_estimate: self.default_estimate,
            level: self.level.as_f64(),
            confidence: self.confidence,
            max_resident: self.max_resident,
            shadow: self.shadow.as_ref().map(ToString::to_string),
            start_delay: self.start_delay,
            evictions: self.evictions.clone(),
            choose: self.choose.as_ref().map(DesktopChoice::to_stored),
            unpredictable: self.unpredictable.clone(),
        }
    }

    /// Parses stored rules; None if this version or the registry does not know them.
    pub fn from_stored(written: &StoredRules, registry: &PolicyRegistry) -> Option<Self> {
        let one = |words: &String| {
            let mut policies = registry.parse_list(words).ok()?;
            policies.pop().filter(|_| policies.is_empty())
        };
        Some(Self {
            policy: one(&written.policy)?,
            registry: registry.clone(),
            market: written.market.parse().ok()?,
            price: written.price,
            default_estimate: written.default_estimate,
            level: Probability::new(written.level)?,
            confidence: written.confidence,
            max_resident: written.max_resident,
            shadow: match &written.shadow {
                Some(words) => Some(one(words)?),
                None => None,
            },
            start_delay: written.start_delay,
            evictions: written.evictions.clone(),
            choose: match &written.choose {
                Some(stored) => Some(DesktopChoice::from_stored(stored)?),
                None => None,
            },
            unpredictable: written.unpredictable.clone(),
        })
    }

    /// Returns the old and the new form of the market and the price if they differ: the prices of
    /// unfinished jobs could not be kept.
    pub(crate) fn other_prices(&self, other: &Self) -> Option<[String; 2]> {
        let words = |rules: &Self| {
            let StoredRules { market, price, .. } = rules.to_stored();
            format!("market {market}, {price} credits a core-hour")
        };
        let words = [self, other].map(words);
        (words[0] != words[1]).then_some(words)
    }

    /// Returns whether jobs are ended at their time limits: how fast a task progresses on nodes that it
    /// shares is not its own doing.
    pub fn enforces_time_limits(&self) -> bool {
        !self.policy.shares_nodes()
    }

    /// Returns the time after which a job is ended, if any.
    pub(crate) fn enforced_limit(&self, submission: &Submission) -> Option<Span> {
        let limit = submission.options.shortest_limit();
        limit.filter(|_| self.enforces_time_limits())
    }

    /// Returns the job in the policy's units. Policies charge one credit a second for a whole job
    /// (Yeo & Buyya 2008, section 5.2); users pay by the core-hour.
    pub(crate) fn for_policy(&self, spec: &JobSpec) -> JobSpec {
        let scale = self.price_factor(spec.procs);
        let sla = Sla {
            budget: spec
                .sla
                .budget
                .map(|budget| Credits::from_f64(budget.as_f64() / scale)),
            penalty: CreditsPerSecond::from_f64(spec.sla.penalty.as_f64() / scale),
            ..spec.sla
        };
        JobSpec { sla, ..*spec }
    }

    /// Converts an amount of the policy into the user's credits.
    pub(crate) fn for_user(&self, procs: u32, amount: Credits) -> Credits {
        Credits::from_f64(amount.as_f64() * self.price_factor(procs))
    }

    fn price_factor(&self, procs: u32) -> f64 {
        f64::from(procs.max(1)) * self.price / CORE_HOUR_S
    }
}

/// Returns the specification of a job with its estimate, as if submitted at `now`. A deadline that counts
/// from an earlier instant is reduced to the time left, which may be nothing. A node has its share of the
/// machine's memory, and the job is as wide as its memory needs. `level` is that at which the policy promises.
pub(crate) fn spec(
    submission: &Submission,
    estimate: Span,
    now: Instant,
    memory_per_node: Option<u64>,
    level: Option<Probability>,
) -> JobSpec {
    let since = submission.options.submitted.unwrap_or(now);
    let spec = JobSpec {
        submit: now,
        estimate,
        procs: submission.procs,
        memory: 0,
        needs: Default::default(),
        restarts: 0,
        user: UserId(submission.user),
        sla: Sla {
            deadline: submission.deadline.map(|span| (since + span).since(now)),
            budget: submission.budget,
            penalty: submission.penalty,
            confidence: submission.promise_level(level),
            otherwise: Some(submission.options.otherwise),
            drop_late: submission.options.drop_late,
        },
    };
    let memory = submission.booked_memory().map_or(Bytes::ZERO, Bytes::new);
    spec.with_memory(memory, memory_per_node.map(Bytes::new))
}
