//! The clock of an agent, which is never set back.

use std::time::{Instant as MonotonicInstant, SystemTime, UNIX_EPOCH};
use tollgate_model::{Instant, Span};

/// A clock that begins with the system's and never goes back.
pub(crate) struct AgentClock {
    pub(crate) began: MonotonicInstant,
    pub(crate) at: Instant,
}

impl AgentClock {
    pub(crate) fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = since_epoch.unwrap_or_default().as_micros();
        Self {
            began: MonotonicInstant::now(),
            at: Instant::from_micros(i64::try_from(micros).unwrap_or(i64::MAX)),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        let passed = self.began.elapsed().as_micros();
        let passed = i64::try_from(passed).unwrap_or(i64::MAX);
        self.at + Span::from_micros(passed)
    }
}
