//! The signals that an attempt gets: before its time limit, or when its user sends one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Span;

/// A signal that the processes of an attempt get some time before its time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitWarning {
    /// The signal.
    pub signal: WarningSignal,
    /// The time before the limit. Positive, and less than the limit.
    pub before: Span,
}

/// A signal that a program can handle: one to announce the time limit, or to send to a running job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum WarningSignal {
    /// SIGHUP.
    Hup,
    /// SIGINT.
    Int,
    /// SIGQUIT.
    Quit,
    /// SIGUSR1.
    Usr1,
    /// SIGUSR2.
    Usr2,
    /// SIGTERM.
    Term,
    /// SIGXCPU.
    Xcpu,
}

impl WarningSignal {
    /// Every signal.
    pub const ALL: [Self; 7] = [
        Self::Hup,
        Self::Int,
        Self::Quit,
        Self::Usr1,
        Self::Usr2,
        Self::Term,
        Self::Xcpu,
    ];

    /// Returns the number on Linux.
    pub const fn number(self) -> u8 {
        match self {
            Self::Hup => 1,
            Self::Int => 2,
            Self::Quit => 3,
            Self::Usr1 => 10,
            Self::Usr2 => 12,
            Self::Term => 15,
            Self::Xcpu => 24,
        }
    }

    /// Returns the name without `SIG`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Hup => "HUP",
            Self::Int => "INT",
            Self::Quit => "QUIT",
            Self::Usr1 => "USR1",
            Self::Usr2 => "USR2",
            Self::Term => "TERM",
            Self::Xcpu => "XCPU",
        }
    }
}

/// The error for text that names no such signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownSignal;

impl fmt::Display for UnknownSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of ")?;
        for (index, signal) in WarningSignal::ALL.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{}", signal.key())?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownSignal {}

/// Reads a name with or without `SIG`, in any case.
impl FromStr for WarningSignal {
    type Err = UnknownSignal;

    fn from_str(word: &str) -> Result<Self, UnknownSignal> {
        let name = word.to_ascii_uppercase();
        let name = name.strip_prefix("SIG").unwrap_or(&name);
        let mut all = Self::ALL.into_iter();
        all.find(|signal| signal.key() == name).ok_or(UnknownSignal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_read_with_and_without_prefix_in_any_case() {
        for signal in WarningSignal::ALL {
            let key = signal.key();
            for word in [key.to_owned(), format!("SIG{key}"), key.to_lowercase()] {
                assert_eq!(word.parse(), Ok(signal), "{word}");
            }
        }
        for word in ["", "KILL", "STOP", "USR3", "SIG"] {
            assert_eq!(word.parse::<WarningSignal>(), Err(UnknownSignal), "{word}");
        }
    }
}
