//! A shutdown that an administrator has scheduled, as `shutdown +60` does.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tollgate_model::EvictionCause;

use super::{LOOK_INTERVAL, ObservedSource};
use crate::clock::BothClocks;
use crate::settings::PresenceSource;
use crate::state::PresenceObservation;

pub(crate) struct ShutdownSource {
    /// The file with the time, while a shutdown is scheduled.
    file: PathBuf,
    /// The time of the shutdown, as a span since 1970.
    at: Option<Duration>,
    next_look: Duration,
}

impl ShutdownSource {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            file: root.join("run/systemd/shutdown/scheduled"),
            at: None,
            next_look: Duration::ZERO,
        }
    }
}

impl ObservedSource for ShutdownSource {
    fn source(&self) -> PresenceSource {
        PresenceSource::Shutdown
    }

    fn next_look(&self) -> Option<Duration> {
        Some(self.next_look)
    }

    fn look(&mut self, now: BothClocks) -> Vec<PresenceObservation> {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        self.at = parse(&text);
        let left = self.at.map(|at| at.saturating_sub(now.wall));
        let is_due = left.is_some_and(|left| left.is_zero());
        // The shutdown may come before the next regular look.
        let coming = left.filter(|left| !left.is_zero()).unwrap_or(LOOK_INTERVAL);
        self.next_look = now.boot + coming.min(LOOK_INTERVAL);
        let cause = is_due.then_some(EvictionCause::Reboot);
        vec![PresenceObservation::Use(PresenceSource::Shutdown, cause)]
    }

    fn closes(&self) -> Option<Duration> {
        self.at
    }
}

/// Parses the lines `USEC=..`, in microseconds since 1970, and `MODE=..`. None if no shutdown is scheduled.
fn parse(text: &str) -> Option<Duration> {
    let value = |key| text.lines().find_map(|line| line.strip_prefix(key));
    // A rehearsal only sends messages.
    let is_real = !value("MODE=").unwrap_or_default().starts_with("dry-");
    let micros = value("USEC=")?.trim().parse().ok();
    micros.filter(|_| is_real).map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheduled_shutdown_is_parsed() {
        let text = "USEC=1781000000000000\nWARN_WALL=1\nMODE=reboot\n";
        assert_eq!(parse(text), Some(Duration::from_secs(1_781_000_000)));
        assert_eq!(parse("USEC=1\nMODE=dry-reboot\n"), None);
        assert_eq!(parse(""), None);
    }
}
