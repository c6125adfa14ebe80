//! A monitor whose changes a test waits for.

use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use tollgate_model::EvictionCause;
use tollgate_presence::{
    Presence, PresenceMonitor, PresenceSettings, PresenceSource, PresenceState,
};

/// The maximum wait for a change that must come; a passing test waits far less.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A monitor and its changes.
pub(crate) struct ObservedMonitor {
    pub(crate) monitor: PresenceMonitor,
    changes: Receiver<Presence>,
}

impl ObservedMonitor {
    pub(crate) fn start(settings: &PresenceSettings) -> Self {
        let (to, changes) = mpsc::channel();
        let report = move |presence| to.send(presence).expect("the test waits");
        let monitor = PresenceMonitor::start(settings, Box::new(report));
        Self {
            monitor: monitor.expect("it starts"),
            changes,
        }
    }

    /// Waits until the computer is in use for a cause, or free. The present state counts.
    #[track_caller]
    pub(crate) fn wait_for(&self, cause: Option<EvictionCause>) -> Presence {
        let mut presence = self.monitor.current();
        while cause_of(&presence) != cause {
            let next = self.changes.recv_timeout(TIMEOUT);
            presence = next.unwrap_or_else(|_| panic!("no change to {cause:?}: {presence:?}"));
        }
        presence
    }
}

/// Returns the cause of a use; None if the computer is free.
pub(crate) fn cause_of(presence: &Presence) -> Option<EvictionCause> {
    match presence.state {
        PresenceState::Free { .. } => None,
        PresenceState::InUse { cause, .. } => Some(cause),
    }
}

/// Returns settings with one source, and no wait after an activity.
pub(crate) fn settings(source: PresenceSource) -> PresenceSettings {
    PresenceSettings {
        idle_for: Duration::from_millis(500),
        sources: [source].into(),
        ..PresenceSettings::new()
    }
}
