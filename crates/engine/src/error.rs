//! The errors between a caller and its engine.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tollgate_model::AttemptId;

/// The error of a call to an engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No engine could start this launch.
    #[error("attempt {attempt}: {field}: expected {expected}")]
    Invalid {
        /// The launch, or the attempt whose share was to be set.
        attempt: AttemptId,
        /// The field that is invalid.
        field: &'static str,
        /// The values that are valid.
        expected: &'static str,
    },
    /// The engine does not answer.
    #[error("the engine cannot be reached: {reason}")]
    Unreachable {
        /// The cause, as a text.
        reason: String,
    },
    /// The engine did not answer in time.
    #[error("the engine did not answer `{call}` within {} s", after.as_secs_f64())]
    TimedOut {
        /// The name of the call.
        call: &'static str,
        /// The time that the caller waited.
        after: Duration,
    },
    /// The engine does nothing of this kind.
    #[error("the engine does not support {what}")]
    Unsupported {
        /// What was requested, as a noun.
        what: &'static str,
    },
    /// The engine has no disk space to record more attempts.
    #[error("the directory of the engine is full: {reason}")]
    Full {
        /// The cause, as a text.
        reason: String,
    },
    /// The other side speaks another version of the protocol.
    #[error("protocol version mismatch: the engine has {theirs}, this program {ours}")]
    OtherVersion {
        /// The other side's version.
        theirs: u32,
        /// Our version.
        ours: u32,
    },
    /// The engine cannot prepare a file or directory that it needs.
    #[error("{}: {step}: {source}", path.display())]
    Setup {
        /// The file or directory.
        path: PathBuf,
        /// The step that failed.
        step: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file of the engine is damaged, and the damage cannot be skipped.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage.
        reason: String,
    },
}

/// The time at which a retry can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retryability {
    /// The same call may succeed at once, if necessary after the engine is opened again.
    Now,
    /// The call may succeed after an operator has freed space or repaired the cause.
    Later,
    /// The call will never succeed.
    Never,
}

impl EngineError {
    /// Returns whether and when a retry can help.
    pub const fn retryability(&self) -> Retryability {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } => Retryability::Now,
            Self::Full { .. } | Self::Setup { .. } => Retryability::Later,
            Self::Invalid { .. }
            | Self::Unsupported { .. }
            | Self::OtherVersion { .. }
            | Self::Damaged { .. } => Retryability::Never,
        }
    }
}
