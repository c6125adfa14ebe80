//! What can go wrong between a caller and its engine.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::AttemptKey;

/// Why a call could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No engine could start this.
    #[error("attempt {attempt}: {field}: expected {expected}")]
    Invalid {
        /// The launch, or the attempt whose share was to be set.
        attempt: AttemptKey,
        /// Which part of it.
        field: &'static str,
        /// What would do.
        expected: &'static str,
    },
    /// Nobody answers.
    #[error("the engine cannot be reached: {reason}")]
    Unreachable {
        /// Why, in words.
        reason: String,
    },
    /// It did not answer in time.
    #[error("the engine did not answer `{call}` within {} s", after.as_secs_f64())]
    TimedOut {
        /// Which call.
        call: &'static str,
        /// How long was waited.
        after: Duration,
    },
    /// It has no room to keep a record of more attempts.
    #[error("the directory of the engine is full: {reason}")]
    Full {
        /// Why, in words.
        reason: String,
    },
    /// What answers speaks another language.
    #[error("protocol version mismatch: the engine has {theirs}, this program {ours}")]
    OtherVersion {
        /// Its version.
        theirs: u32,
        /// Ours.
        ours: u32,
    },
    /// What it needs on this machine cannot be prepared.
    #[error("{}: {step}: {source}", path.display())]
    Setup {
        /// The file or folder.
        path: PathBuf,
        /// What was to be done with it.
        step: &'static str,
        /// What the operating system said.
        source: io::Error,
    },
    /// What it keeps on disk is damaged where that cannot be passed over.
    #[error("{}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Whether trying again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retryability {
    /// The same call may succeed at once, after the engine was opened again if need be.
    Now,
    /// It may succeed when somebody has made room or repaired something.
    Later,
    /// It will never succeed.
    Never,
}

impl EngineError {
    /// Whether trying again can help.
    pub const fn retryability(&self) -> Retryability {
        match self {
            Self::Unreachable { .. } | Self::TimedOut { .. } => Retryability::Now,
            Self::Full { .. } | Self::Setup { .. } => Retryability::Later,
            Self::Invalid { .. } | Self::OtherVersion { .. } | Self::Damaged { .. } => {
                Retryability::Never
            }
        }
    }
}
