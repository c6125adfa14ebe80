//! A monitor whose changes a test waits for.

use std::cell::Cell;
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
    /// The latest state that the test has seen.
    last: Cell<Presence>,
}

impl ObservedMonitor {
    pub(crate) fn start(settings: &PresenceSettings) -> Self {
        let (to, changes) = mpsc::channel();
        let report = move |presence| to.send(presence).expect("the test waits");
        let monitor = PresenceMonitor::start(settings, Box::new(report));
        let monitor = monitor.expect("it starts");
        Self {
            last: Cell::new(monitor.current()),
            monitor,
            changes,
        }
    }

    /// Waits until the computer is in use for a cause, or free. The latest state that the test has seen counts.
    #[track_caller]
    pub(crate) fn wait_for(&self, cause: Option<EvictionCause>) -> Presence {
        while cause_of(&self.last.get()) != cause {
            let next = self.changes.recv_timeout(TIMEOUT);
            let last = self.last.get();
            self.last
                .set(next.unwrap_or_else(|_| panic!("no change to {cause:?}: {last:?}")));
        }
        self.last.get()
    }

    /// Returns the cause of the present use; None if the computer is free.
    pub(crate) fn cause(&self) -> Option<EvictionCause> {
        cause_of(&self.monitor.current())
    }

    /// Waits so long for a change that must not come.
    #[track_caller]
    pub(crate) fn assert_no_change_for(&self, wait: Duration) {
        let change = self.changes.recv_timeout(wait);
        assert!(change.is_err(), "{change:?}");
    }
}

/// Waits until `is_so` returns true.
pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !is_so() {
        assert!(began.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(5));
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
