//! Whether a task that was taken off its computer is tried again.
//!
//! | module | what it holds |
//! |---|---|
//! | [`seen`](Seen) | what is known of a task: how often it was evicted, by whom, after how long |
//! | [`rule`](Rule) | the axes of the family: what is measured, what counts, how it is judged |
//! | [`named`] | the rules of McGough, Forshaw, Gerrard and Wheater (2013), one file each |
//! | [`words`](RetryError) | `max-evictions:3`, `dedicated:100,90h,3` made into a policy and back |
//!
//! A policy is a set of rules. The first that has had enough of a task ends it - or sends it to
//! dedicated computers, if the policy has some. Nobody here knows whether a task is good or bad:
//! all there is to go by are its attempts.

pub mod builtin;
mod history;
mod parse;
mod rule;

pub use builtin::{BuiltinRetryPolicy, REGISTRY};
pub use history::{EvictionCause, TaskHistory};
pub use parse::RetryError;
pub use rule::{EvictionFilter, FinishedTasks, HistoryMetric, RetryRule};

use tollgate_model::Span;

use crate::random_source::RandomSource;

/// What becomes of a task that was evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    /// It goes to the back of the queue.
    Requeue,
    /// It goes to the dedicated computers, and runs from its beginning.
    Dedicate,
    /// It is ended.
    Abandon,
}

/// Computers without users and reboots, for tasks that fail elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DedicatedPool {
    /// How many; at least 1.
    pub computers: u32,
    /// How long a task may run there before it is ended; positive.
    pub max_attempt: Span,
    /// What a task does while all of them are taken.
    pub when_full: WhenFull,
}

/// What a task does that is sent to dedicated computers and finds all of them taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It waits for one.
    Wait,
    /// It is tried again elsewhere; should it be evicted once more, it is sent here once more.
    Requeue,
}

/// A policy: rules, and what happens to a task of which one has had enough.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryPolicy {
    rules: Vec<RetryRule>,
    max_attempt: Option<Span>,
    dedicated: Option<DedicatedPool>,
}

impl RetryPolicy {
    /// What becomes of a task that was just evicted, of which `seen` is all that is known, while
    /// so many dedicated computers are free.
    pub fn decide(
        &self,
        seen: &TaskHistory,
        free: u32,
        draw: &mut dyn RandomSource,
    ) -> RetryDecision {
        // Every rule is asked, so that how much is drawn does not depend on the answers.
        let mut enough = false;
        for rule in &self.rules {
            enough |= rule.is_exceeded(seen, draw);
        }
        match enough {
            true => self.decide_on_timeout(free),
            false => RetryDecision::Requeue,
        }
    }

    /// What becomes of a task that ran longer than [`RetryPolicy::longest_attempt`].
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

    /// How long a single attempt may take, if there is a limit.
    pub const fn max_attempt(&self) -> Option<Span> {
        self.max_attempt
    }

    /// The dedicated computers, if it has some.
    pub const fn dedicated(&self) -> Option<DedicatedPool> {
        self.dedicated
    }

    /// Its rules.
    pub fn rules(&self) -> &[RetryRule] {
        &self.rules
    }

    /// Whether it compares tasks with those that finished earlier, and so has to be told of them
    /// by [`RetryPolicy::learn`]. Until then it keeps trying.
    pub fn needs_finished_tasks(&self) -> bool {
        self.rules
            .iter()
            .any(|rule| matches!(rule, RetryRule::Percentile { .. }))
    }

    /// The same policy, told how tasks that finished had fared.
    #[must_use]
    pub fn learn(&self, finished: &FinishedTasks) -> Self {
        Self {
            rules: self.rules.iter().map(|rule| rule.learn(finished)).collect(),
            ..self.clone()
        }
    }
}
