//! The order of a queue.

use tollgate_model::Instant;
use tollgate_policy::{JobSlot, ParameterEnum};

use super::slack::SlackTest;

/// The sort criterion of a queue; ties are broken by order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOrder {
    /// First come, first served.
    Fcfs,
    /// Shortest estimate first.
    Sjf,
    /// Earliest absolute deadline first; jobs without one come last.
    Edf,
    /// Highest reward first (Yeo & Buyya 2008, §5.2).
    Reward,
}

impl ParameterEnum for QueueOrder {
    const KEYWORDS: &'static [(&'static str, Self)] = &[
        ("fcfs", Self::Fcfs),
        ("sjf", Self::Sjf),
        ("edf", Self::Edf),
        ("reward", Self::Reward),
    ];
}

/// A position in a queue: the order's own key, then the order of submission.
pub(super) type QueueKey = (i64, u64);

impl QueueOrder {
    pub(super) fn key(self, job: &JobSlot, slack: &SlackTest) -> QueueKey {
        let key = match self {
            Self::Fcfs => 0,
            Self::Sjf => job.spec.estimate.as_micros(),
            Self::Edf => job.spec.due().unwrap_or(Instant::MAX).as_micros(),
            Self::Reward => descending(slack.reward(&job.spec)),
        };
        (key, job.sequence)
    }
}

/// Returns an integer that decreases as `number` increases, equal for equal numbers. Finite numbers
/// only.
fn descending(number: f64) -> i64 {
    let bits = (number + 0.0).to_bits() as i64;
    // Two's complement orders negative floats backwards: flip all their bits but the sign.
    let ascending = bits ^ (((bits >> 63) as u64) >> 1) as i64;
    !ascending
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_numbers_come_first() {
        let numbers = [f64::MAX, 3.5, 1.0, 1e-300, 0.0, -1e-300, -2.0, f64::MIN];
        let keys: Vec<i64> = numbers.iter().map(|&number| descending(number)).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        assert_eq!(descending(0.0), descending(-0.0));
    }
}
