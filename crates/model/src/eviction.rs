//! Why an attempt was ended on a computer before its task was done.

use serde::{Deserialize, Serialize};

/// The reason an attempt had to leave its computer, which goes on without it. (A new cause goes at the end, because the
/// index is stored.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvictionCause {
    /// A person uses the computer.
    User,
    /// The computer is about to be rebooted as planned.
    Reboot,
    /// The computer was lost, or the cause is unknown.
    Lost,
    /// The hours in which the computer may run tasks are over.
    Hours,
    /// Another program needs the processors of the computer.
    Load,
    /// The computer runs on its battery.
    Power,
}

impl EvictionCause {
    /// Every cause.
    pub const ALL: [Self; 6] = [
        Self::User,
        Self::Reboot,
        Self::Lost,
        Self::Hours,
        Self::Load,
        Self::Power,
    ];

    /// Returns whether the use of the computer is the cause, at its keyboard or by a program of its user.
    pub const fn is_of_user(self) -> bool {
        matches!(self, Self::User | Self::Load | Self::Power)
    }

    /// Returns whether the cause was planned: no user has come.
    pub const fn is_planned(self) -> bool {
        matches!(self, Self::Reboot | Self::Hours)
    }

    /// Returns the key in JSON, in events and in metrics.
    pub const fn key(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Reboot => "reboot",
            Self::Lost => "lost",
            Self::Hours => "hours",
            Self::Load => "load",
            Self::Power => "power",
        }
    }

    /// Returns the cause in words, for sentences that begin with "evicted because".
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::User => "a person uses the computer",
            Self::Reboot => "the computer is rebooted",
            Self::Lost => "the computer or its runner was lost",
            Self::Hours => "its hours for tasks are over",
            Self::Load => "another program needs the processors",
            Self::Power => "the computer runs on its battery",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_index_and_key_of_each_cause_are_its_own() {
        let mut keys = EvictionCause::ALL.map(EvictionCause::key).to_vec();
        for (index, cause) in EvictionCause::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, index);
            assert!(!(cause.is_of_user() && cause.is_planned()));
        }
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), EvictionCause::ALL.len());
    }
}
