//! Numbers of pilots of a site, and their waits.

use std::fmt;

use tollgate_model::{Instant, Span};

use crate::journal::SiteState;

/// The numbers of pilots that wait, run and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PilotCounts {
    /// The number that waits, or may do so.
    pub pending: usize,
    /// The number that runs.
    pub running: usize,
    /// The number that is cancelled and that the engine has not ended yet.
    pub ending: usize,
}

/// `1 pending, 2 running`, and `, 3 ending` if some end.
impl fmt::Display for PilotCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pending, {} running", self.pending, self.running)?;
        match self.ending {
            0 => Ok(()),
            ending => write!(f, ", {ending} ending"),
        }
    }
}

impl PilotCounts {
    /// Returns the number of pilots that the engine still has.
    pub const fn total(self) -> usize {
        self.pending + self.running + self.ending
    }
}

impl SiteState {
    /// Returns the numbers of pilots that wait, run and end.
    pub fn counts(&self) -> PilotCounts {
        let counted = || self.pilots.iter().filter(|pilot| pilot.counts());
        let live = self.pilots.iter().filter(|pilot| pilot.is_live());
        let pending = counted().filter(|pilot| pilot.is_pending()).count();
        PilotCounts {
            pending,
            running: counted().count() - pending,
            ending: live.count() - counted().count(),
        }
    }

    /// Returns the waits of the pilots that started, oldest first.
    pub fn waits(&self, now: Instant) -> Vec<Span> {
        let started = self
            .pilots
            .iter()
            .filter(|pilot| pilot.started_at.is_some());
        started.filter_map(|pilot| pilot.waited(now)).collect()
    }
}
