//! The errors of a monitor.

use std::io;

/// The error of a monitor that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum PresenceError {
    /// No source that would notice a person can be read: the tasks would never give way.
    #[error("no source shows whether a person uses this computer: {reasons}")]
    NoSource {
        /// Each source and the reason why it cannot be read.
        reasons: String,
    },
    /// The thread of the monitor cannot be started.
    #[error("the thread that watches this computer cannot be started: {0}")]
    Thread(#[from] io::Error),
}
