//! The properties that make a class.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A property that the jobs of a class may have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassKey {
    /// The user.
    User,
    /// The group of the user.
    Group,
    /// The account.
    Account,
    /// The executable.
    Executable,
    /// The queue.
    Queue,
    /// The number of processors.
    Procs,
    /// The user's estimate.
    Estimate,
}

impl ClassKey {
    /// Every key.
    pub const ALL: [Self; 7] = [
        Self::User,
        Self::Group,
        Self::Account,
        Self::Executable,
        Self::Queue,
        Self::Procs,
        Self::Estimate,
    ];
}

impl fmt::Display for ClassKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Group => "group",
            Self::Account => "account",
            Self::Executable => "executable",
            Self::Queue => "queue",
            Self::Procs => "procs",
            Self::Estimate => "estimate",
        })
    }
}
