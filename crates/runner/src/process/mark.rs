//! The mark of an attempt in the environment of its processes. Where no control group counts them,
//! the runner finds them by it.

use std::fmt::{self, Display};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use rustix::process::Pid;

use super::procfs;

/// The variable with the name of the attempt, unique within the runner.
pub(crate) const ATTEMPT_VARIABLE: &str = "TOLLGATE_ATTEMPT";
/// The variable with the id of the runner, unique within the host.
pub(crate) const RUNNER_VARIABLE: &str = "TOLLGATE_RUNNER";

/// The id of a runner: the device and inode of its directory. It is the same for every runner of the
/// directory, and differs between two directories of a host, even if one is a copy of the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunnerId(Arc<str>);

impl RunnerId {
    /// Returns the id of the runner in `folder`.
    pub(crate) fn of(folder: &Path) -> io::Result<Self> {
        let found = fs::metadata(folder)?;
        Ok(Self(format!("{:x}.{:x}", found.dev(), found.ino()).into()))
    }

    /// Returns the mark of an attempt of this runner.
    pub(crate) fn mark(&self, attempt: impl Display) -> AttemptMark {
        AttemptMark {
            attempt: format!("{ATTEMPT_VARIABLE}={attempt}"),
            runner: format!("{RUNNER_VARIABLE}={self}"),
        }
    }
}

impl Display for RunnerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The two entries that the environment of every process of an attempt has. The name of the attempt
/// alone is not enough: the first job of every service on a host has the same number.
#[derive(Clone, Debug)]
pub(crate) struct AttemptMark {
    attempt: String,
    runner: String,
}

impl AttemptMark {
    /// Returns whether the process was started with this mark.
    pub(crate) fn is_on(&self, pid: Pid) -> bool {
        let entries = [self.attempt.as_str(), &self.runner];
        procfs::has_env_entries(pid, &entries)
    }
}
