//! A signal that ends a replay before its last job.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A signal to replays, which another thread may give. The default is never given.
#[derive(Clone, Debug, Default)]
pub struct StopSignal(Option<Arc<AtomicBool>>);

impl StopSignal {
    /// Creates a signal that is not given yet. Its clones are the same signal.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Gives the signal: each replay with it ends at its next event.
    pub fn stop(&self) {
        if let Some(given) = &self.0 {
            given.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether the signal is given.
    pub fn is_given(&self) -> bool {
        let given = self.0.as_ref();
        given.is_some_and(|given| given.load(Ordering::Relaxed))
    }
}

/// Two signals are equal if they are the same, or are never given.
impl PartialEq for StopSignal {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}
