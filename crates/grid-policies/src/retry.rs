//! Retry policies: whether an evicted task is tried again.
//!
//! | module | contents |
//! |---|---|
//! | [`history`](TaskHistory) | the history of a task: number, cause and duration of its evictions |
//! | [`rule`](RetryRule) | the axes of the family: the metric, the filter, the criterion |
//! | [`builtin`] | the rules of McGough, Forshaw, Gerrard and Wheater (2013) by name: one table |
//! | `format` | policies as text |
//! | [`parse`](RetryError) | parsing of `max-evictions:3`, `dedicated:100,90h,3` |
//!
//! A policy is a set of rules. The first rule that a task exceeds ends the task, or sends it to
//! dedicated computers if the policy has some. The rules do not know whether a task is good or bad;
//! they see only its attempts.

pub mod builtin;
mod format;
mod history;
mod parse;
mod rule;

pub use builtin::{BuiltinRetryPolicy, REGISTRY};
pub use history::TaskHistory;
pub use parse::RetryError;
pub use rule::{EvictionFilter, FinishedTasks, HistoryMetric, RetryRule};

use serde::{Deserialize, Serialize};
use tollgate_model::{EvictionCause, Span};
use tollgate_policy::RandomSource;

/// The decision on an evicted task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    /// The task goes to the back of the queue.
    Requeue,
    /// The task goes to the dedicated computers, and runs from its beginning.
    Dedicate,
    /// The task is ended.
    Abandon,
}

/// Computers without users and reboots, for tasks that fail elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DedicatedPool {
    /// Number of dedicated computers; at least 1.
    pub computers: u32,
    /// Maximum run time of a task there before it is ended; positive.
    pub max_attempt: Span,
    /// The behaviour of a task while all dedicated computers are taken.
    pub when_full: WhenFull,
}

/// The behaviour of a task that is sent to dedicated computers when all of them are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The task waits for a computer.
    Wait,
    /// The task is tried again elsewhere; if it is evicted once more, it is sent here once more.
    Requeue,
}

/// A retry policy: a set of rules, and the consequence for a task that exceeds one. Its stored form is its text,
/// without what it learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RetryPolicy {
    rules: Vec<RetryRule>,
    max_attempt: Option<Span>,
    dedicated: Option<DedicatedPool>,
}

impl From<RetryPolicy> for String {
    fn from(policy: RetryPolicy) -> Self {
        policy.to_string()
    }
}

impl TryFrom<String> for RetryPolicy {
    type Error = RetryError;

    fn try_from(text: String) -> Result<Self, RetryError> {
        text.parse()
    }
}

impl RetryPolicy {
    /// Returns the policy that tries each task again for ever.
    pub const fn forever() -> Self {
        Self {
            rules: Vec::new(),
            max_attempt: None,
            dedicated: None,
        }
    }

    /// Returns the decision on a task that was just evicted, from its history `seen` and the number
    /// of free dedicated computers.
    pub fn decide(
        &self,
        seen: &TaskHistory,
        free: u32,
        draw: &mut dyn RandomSource,
    ) -> RetryDecision {
        // Every rule is evaluated, so that the number of random draws does not depend on the
        // answers.
        let mut enough = false;
        for rule in &self.rules {
            enough |= rule.is_exceeded(seen, draw);
        }
        match enough {
            true => self.decide_on_timeout(free),
            false => RetryDecision::Requeue,
        }
    }

    /// Returns the decision on a task that ran longer than [`RetryPolicy::max_attempt`].
    pub const fn decide_on_timeout(&self, free: u32) -> RetryDecision {
        match self.dedicated {
            Some(DedicatedPool {
                when_full: WhenFull::Requeue,
                ..
            }) if free == 0 => RetryDecision::Requeue,
            Some(_) => RetryDecision::Dedicate,
            None => RetryDecision::Abandon,
        }
    }

    /// Returns how often a task is tried again that is evicted by users alone; [`u8::MAX`] without a limit. Rules about
    /// the time held do not count: it is not known before.
    pub fn max_restarts(&self, draw: &mut dyn RandomSource) -> u8 {
        if self.rules.is_empty() {
            return u8::MAX;
        }
        let mut history = TaskHistory::default();
        let is_last = |_: &u8| {
            history.record_eviction(EvictionCause::User, Span::ZERO);
            let mut rules = self.rules.iter();
            rules.any(|rule| rule.is_exceeded(&history, draw))
        };
        (0..u8::MAX).find(is_last).unwrap_or(u8::MAX)
    }

    /// Returns the maximum duration of a single attempt, if limited.
    pub const fn max_attempt(&self) -> Option<Span> {
        self.max_attempt
    }

    /// Returns the dedicated computers, if the policy has some.
    pub const fn dedicated(&self) -> Option<DedicatedPool> {
        self.dedicated
    }

    /// Returns the policy's rules.
    pub fn rules(&self) -> &[RetryRule] {
        &self.rules
    }

    /// Returns true if the policy compares tasks with tasks that finished earlier, and so must
    /// learn from them by [`RetryPolicy::learn`]. Until then it keeps retrying.
    pub fn needs_finished_tasks(&self) -> bool {
        self.rules
            .iter()
            .any(|rule| matches!(rule, RetryRule::Percentile { .. }))
    }

    /// Returns the same policy with thresholds learned from the histories of finished tasks.
    #[must_use]
    pub fn learn(&self, finished: &FinishedTasks) -> Self {
        Self {
            rules: self.rules.iter().map(|rule| rule.learn(finished)).collect(),
            ..self.clone()
        }
    }
}
