//! Launches that failed: the program of the attempt never ran.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The side at fault for a failed launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LaunchFault {
    /// The job: its program, directory, output file or user. Another launch would fail alike.
    #[default]
    Job,
    /// The file systems of the job's own paths: no room, an error of a disk, a server that does not answer. Another
    /// launch may succeed. A user's own file system can fail so, too.
    Storage,
    /// The host itself: its own disk, memory or control groups. Other jobs would fail alike on it.
    Host,
}

impl LaunchFault {
    /// Returns whether the site is at fault, and another launch may succeed.
    pub const fn is_of_site(self) -> bool {
        match self {
            Self::Job => false,
            Self::Storage | Self::Host => true,
        }
    }
}

/// A failed launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchFailure {
    /// The step that failed: `program`, `dir`, `output`, `user`, ..
    pub step: String,
    /// The cause, as a text.
    pub reason: String,
    /// The side at fault. Programs of earlier versions do not name it.
    #[serde(default)]
    pub fault: LaunchFault,
}

impl LaunchFailure {
    /// Creates a failure that is the job's fault.
    pub fn of_job(step: &str, reason: impl Into<String>) -> Self {
        Self {
            step: step.to_owned(),
            reason: reason.into(),
            fault: LaunchFault::Job,
        }
    }

    /// Creates a failure that is the host's fault.
    pub fn of_host(step: &str, reason: impl Into<String>) -> Self {
        Self {
            fault: LaunchFault::Host,
            ..Self::of_job(step, reason)
        }
    }
}

/// Writes `dir: No such file or directory`.
impl fmt::Display for LaunchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.reason)
    }
}
