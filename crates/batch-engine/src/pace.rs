//! The pause after an error of an engine.

use std::time::{Duration, Instant};

/// The first pause, doubled with each error in a row.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The pauses of one kind of command.
#[derive(Debug, Default)]
pub(crate) struct CommandPace {
    errors: u32,
    resume_at: Option<Instant>,
}

impl CommandPace {
    /// Counts an error. Returns the pause.
    pub(crate) fn fail(&mut self, now: Instant) -> Duration {
        let doubled = FIRST_PAUSE.saturating_mul(1 << self.errors.min(10));
        self.errors = self.errors.saturating_add(1);
        let pause = doubled.min(MAX_PAUSE);
        self.resume_at = Some(now + pause);
        pause
    }

    /// Ends the pauses.
    pub(crate) fn succeed(&mut self) {
        *self = Self::default();
    }

    /// Returns the rest of the pause; zero without a pause.
    pub(crate) fn rest(&self, now: Instant) -> Duration {
        let rest = self.resume_at.map(|at| at.saturating_duration_since(now));
        rest.unwrap_or(Duration::ZERO)
    }

    /// Returns the number of errors in a row.
    pub(crate) fn errors(&self) -> u32 {
        self.errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_doubles_up_to_a_minute() {
        let (mut pace, now) = (CommandPace::default(), Instant::now());
        let pauses: Vec<u64> = (0..8).map(|_| pace.fail(now).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pace.rest(now + Duration::from_secs(50)).as_secs(), 10);
        pace.succeed();
        assert_eq!(pace.rest(now), Duration::ZERO);
        assert_eq!(pace.fail(now).as_secs(), 1);
    }
}
