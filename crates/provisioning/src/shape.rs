//! The size and the time of a pilot.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_model::Span;

/// The time of a pilot that no job can use: a worker begins to leave at most 10 s before its end.
pub(crate) const ENDING: Span = Span::from_secs(10);

/// The number of cores and the time limit of a pilot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PilotShape {
    /// The number of cores; at least 1.
    pub cores: u32,
    /// The time limit.
    pub time: Span,
}

impl PilotShape {
    /// Returns the time in which a pilot can run tasks.
    pub fn usable(self) -> Span {
        (self.time - ENDING).max(Span::ZERO)
    }

    /// Returns the core-seconds of a pilot that uses its whole time.
    pub fn core_seconds(self) -> f64 {
        f64::from(self.cores) * self.time.as_secs_f64()
    }
}

/// `2 cores for 30 min`.
impl fmt::Display for PilotShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = if self.cores == 1 { "core" } else { "cores" };
        let minutes = (self.time.as_secs_f64() / 6.0).round() / 10.0;
        write!(f, "{} {cores} for {minutes} min", self.cores)
    }
}
