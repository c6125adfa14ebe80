//! The programs of a simulated machine.

use tollgate_model::{AttemptStatus, LaunchFailure, Span};

use crate::LaunchSpec;

/// The behaviour of a simulated program when it is not disturbed.
#[derive(Clone, Debug, PartialEq)]
pub struct SimProgram {
    /// The program's length: processor time on each of its nodes if it is busy, otherwise wall
    /// time.
    pub duration: Span,
    /// Whether the program computes, so that it takes longer when it shares its nodes.
    pub busy: bool,
    /// The status with which the program ends.
    pub status: AttemptStatus,
    /// Whether the program ignores the request to end.
    pub ignores_sigterm: bool,
}

impl SimProgram {
    /// Returns a program that computes for `length` and succeeds.
    pub const fn busy(length: Span) -> Self {
        Self {
            duration: length,
            busy: true,
            status: AttemptStatus::Exited(0),
            ignores_sigterm: false,
        }
    }

    /// Returns the behaviour of the commands of the conformance suite: `true`, `false`, `sleep N`,
    /// and `sh -c` with `exit N`, `kill -N $$` or `trap '' TERM; sleep N`. In addition `work N`
    /// computes for N seconds, and `no-room N` cannot be launched before its attempt N + 1. There are no other
    /// programs on this machine.
    pub fn of_command(launch: &LaunchSpec) -> Self {
        let words: Vec<_> = launch
            .argv
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        match words.as_slice() {
            ["true"] => Self::exit(0),
            ["false"] => Self::exit(1),
            ["sleep", secs] => Self::sleep(secs, false),
            ["work", secs] => Self::busy(span(secs)),
            ["no-room", attempts] if launch.attempt.attempt <= attempts.parse().unwrap_or(0) => {
                Self::unstartable(LaunchFailure::of_host("record", "No space left on device"))
            }
            ["no-room", _] => Self::exit(0),
            ["sh", "-c", script] => Self::of_script(script),
            _ => Self::program_not_found(),
        }
    }

    fn of_script(script: &str) -> Self {
        if let Some(secs) = script.strip_prefix("trap '' TERM; sleep ") {
            return Self::sleep(secs, true);
        }
        let signal = script
            .strip_prefix("kill -")
            .and_then(|rest| rest.strip_suffix(" $$"));
        let signal = signal.and_then(|number| number.parse().ok());
        let code = script
            .strip_prefix("exit ")
            .and_then(|code| code.parse().ok());
        match (code, signal) {
            (Some(code), _) => Self::exit(code),
            (None, Some(signal)) => Self {
                status: AttemptStatus::Signalled(signal),
                ..Self::exit(0)
            },
            (None, None) => Self::program_not_found(),
        }
    }

    const fn exit(code: u8) -> Self {
        Self {
            duration: Span::ZERO,
            busy: false,
            status: AttemptStatus::Exited(code),
            ignores_sigterm: false,
        }
    }

    fn sleep(secs: &str, ignores_sigterm: bool) -> Self {
        Self {
            duration: span(secs),
            ignores_sigterm,
            ..Self::exit(0)
        }
    }

    fn program_not_found() -> Self {
        Self::unstartable(LaunchFailure::of_job(
            "program",
            "No such file or directory",
        ))
    }

    /// Returns a program whose launch fails.
    pub fn unstartable(failure: LaunchFailure) -> Self {
        Self {
            status: AttemptStatus::NotStarted(failure),
            ..Self::exit(0)
        }
    }
}

fn span(secs: &str) -> Span {
    Span::from_secs_f64(secs.parse().unwrap_or(0.0))
}
