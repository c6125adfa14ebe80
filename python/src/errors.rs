//! Exceptions. Their classes are in `tollgate/_errors.py`, so that people can read them.

use std::fmt::Display;

use pyo3::prelude::*;
use pyo3::types::PyType;
use tollgate_replay::ReplayError;
use tollgate_sim::ReplayFailure;
use tollgate_trace::OpenError;

/// The class of an exception.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ErrorClass {
    /// An argument that is not understood.
    Argument,
    /// A record that cannot be read.
    Record,
    /// A replay that has no result.
    Run,
    /// A policy in Python that answers what it must not.
    Policy,
    /// A defect of tollgate.
    Internal,
}

impl ErrorClass {
    const fn name(self) -> &'static str {
        match self {
            Self::Argument => "ArgumentError",
            Self::Record => "RecordError",
            Self::Run => "RunError",
            Self::Policy => "PolicyError",
            Self::Internal => "InternalError",
        }
    }

    /// Creates an exception with a message and perhaps the next thing to try.
    pub(crate) fn raise(self, message: impl Display, hint: Option<&str>) -> PyErr {
        Python::attach(|py| {
            let class = py
                .import("tollgate._errors")
                .and_then(|module| module.getattr(self.name()))
                .and_then(|class| Ok(class.cast_into::<PyType>()?));
            match class.and_then(|class| class.call1((message.to_string(), hint))) {
                Ok(error) => PyErr::from_value(error),
                Err(error) => error,
            }
        })
    }
}

/// Returns the exception for an argument.
pub(crate) fn argument(name: &str, message: impl Display) -> PyErr {
    ErrorClass::Argument.raise(format_args!("{name}: {message}"), None)
}

/// Returns the exception for a record that cannot be read.
pub(crate) fn unreadable(error: &OpenError) -> PyErr {
    ErrorClass::Record.raise(error, error.hint())
}

/// Returns the exception for a replay that has no result.
pub(crate) fn no_replay(error: &ReplayError) -> PyErr {
    let (class, hint) = match error {
        ReplayError::Open(error) => return unreadable(error),
        ReplayError::Policy(_) => (
            ErrorClass::Argument,
            Some("`tollgate.policies()` lists the policies and their parameters"),
        ),
        ReplayError::WrongMarket { .. } => (
            ErrorClass::Argument,
            Some("add `market=\"bid\"` or `market=\"commodity\"`"),
        ),
        ReplayError::Settings(error) => {
            let name = error.setting.replace('-', "_");
            let text = error.to_string();
            let rest = text.strip_prefix(error.setting).unwrap_or(&text);
            return ErrorClass::Argument.raise(format_args!("{name}{rest}"), None);
        }
        ReplayError::NothingRan { .. } => (
            ErrorClass::Record,
            Some("`never_ran=\"one\"` runs such jobs for one second"),
        ),
        ReplayError::HugeMachine { .. } => (
            ErrorClass::Argument,
            Some(
                "give the size of the machine with `nodes`, at most 10000000 (about 4 GB of memory)",
            ),
        ),
        ReplayError::Speeds(_) => (
            ErrorClass::Argument,
            Some("a last speed without a count takes the rest of the nodes"),
        ),
        ReplayError::NoRequestedMemory { .. } => (
            ErrorClass::Argument,
            Some("leave out `node_memory`: no job needs any"),
        ),
        ReplayError::Treatment { .. } => (ErrorClass::Argument, None),
        ReplayError::FewJobs { .. } => (
            ErrorClass::Argument,
            Some("ask for fewer windows, or for more of the record"),
        ),
        ReplayError::Dateless(_) => (
            ErrorClass::Argument,
            Some("give seconds of the record's clock"),
        ),
        ReplayError::NothingSelected { .. } => (
            ErrorClass::Argument,
            Some("`tollgate.read()` shows the period and the names of a record"),
        ),
        ReplayError::Run { failure, .. } => {
            let hint = match failure {
                ReplayFailure::Violation(_) => {
                    "this is a bug in tollgate; please report it with the input"
                }
                ReplayFailure::Policy(_) | ReplayFailure::Undecided { .. } => failure.hint(),
                ReplayFailure::Stopped => failure.hint(),
            };
            (ErrorClass::Run, Some(hint))
        }
    };
    let name = match error {
        ReplayError::Policy(_) | ReplayError::WrongMarket { .. } => "policies: ",
        ReplayError::Speeds(_) => "speeds: ",
        ReplayError::NoRequestedMemory { .. } => "node_memory: ",
        ReplayError::Treatment { .. } => "unpredictable: ",
        ReplayError::FewJobs { .. } => "windows: ",
        ReplayError::Open(_)
        | ReplayError::Settings(_)
        | ReplayError::NothingRan { .. }
        | ReplayError::HugeMachine { .. }
        | ReplayError::Dateless(_)
        | ReplayError::NothingSelected { .. }
        | ReplayError::Run { .. } => "",
    };
    class.raise(format_args!("{name}{error}"), hint)
}
