//! The pause between two looks at a queue that is followed: longer for an engine that answers slowly.
//!
//! The looks at the pilots of a site have another rule: [`QueueQueries`](crate::QueueQueries).

use std::collections::VecDeque;
use std::time::Duration;

/// Number of the last answers whose median decides.
const REMEMBERED: usize = 5;
/// The pause for each second that the engine needs for an answer: at most 1 % of its time is taken.
const PER_SECOND: u32 = 100;
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(600);

/// A pace that slows down with the engine.
#[derive(Clone, Debug)]
pub struct AnswerPace {
    every: Duration,
    took: VecDeque<Duration>,
    n_failed: u32,
}

impl AnswerPace {
    /// Creates a pace with a shortest pause.
    pub fn new(every: Duration) -> Self {
        Self {
            every,
            took: VecDeque::new(),
            n_failed: 0,
        }
    }

    /// Learns how long the engine needed for an answer.
    pub fn answered(&mut self, took: Duration) {
        self.n_failed = 0;
        if self.took.len() == REMEMBERED {
            self.took.pop_front();
        }
        self.took.push_back(took);
    }

    /// Learns that the engine did not answer.
    pub fn failed(&mut self) {
        self.n_failed = self.n_failed.saturating_add(1);
    }

    /// Returns the pause before the next question: the shortest one, longer for an engine that answers slowly, and twice
    /// as long after each failure.
    pub fn pause(&self) -> Duration {
        let mut took: Vec<Duration> = self.took.iter().copied().collect();
        took.sort_unstable();
        let median = took.get(took.len() / 2).copied().unwrap_or_default();
        let pause = self.every.max(median * PER_SECOND);
        let doubled = 2u32.saturating_pow(self.n_failed.min(10));
        pause.saturating_mul(doubled).min(LONGEST.max(self.every))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn pause_grows_with_the_time_of_an_answer() {
        let mut pace = AnswerPace::new(15 * SECOND);
        pace.answered(SECOND / 50);
        assert_eq!(pace.pause(), 15 * SECOND);
        // One slow answer of three changes nothing.
        pace.answered(SECOND / 50);
        pace.answered(9 * SECOND);
        assert_eq!(pace.pause(), 15 * SECOND);
        (0..3).for_each(|_| pace.answered(SECOND));
        assert_eq!(pace.pause(), 100 * SECOND);
    }

    #[test]
    fn pause_doubles_with_each_failure() {
        let mut pace = AnswerPace::new(15 * SECOND);
        let pauses: Vec<u64> = (0..8)
            .map(|_| {
                pace.failed();
                pace.pause().as_secs()
            })
            .collect();
        assert_eq!(pauses, [30, 60, 120, 240, 480, 600, 600, 600]);
        pace.answered(SECOND / 50);
        assert_eq!(pace.pause(), 15 * SECOND);
    }
}
