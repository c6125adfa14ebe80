//! Further arguments of an engine's submit command, as users pass them on.
//!
//! An argument that would change the name, the number or the place of a job, or the way to its answers, is
//! rejected. Otherwise the job would not be found again, and another one submitted in its place, for ever.
//! Every spelling that the engine accepts is known: abbreviated, joined with its value, or bundled.

mod htcondor;
mod options;
mod sge;
mod slurm;

use crate::EngineKind;

/// The meaning of a user's arguments for the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassedArguments {
    /// The queue (of Slurm: the partition) that they name. None if they name none, or several.
    pub queue: Option<String>,
}

/// An argument that is not passed on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("argument `{word}`: {reason}")]
pub struct RejectedArgument {
    /// The argument, as it was given.
    pub word: String,
    /// Why it is not passed on, and what takes its place.
    pub reason: &'static str,
}

impl PassedArguments {
    /// Reads the further arguments of an engine's submit command.
    ///
    /// # Errors
    /// The first argument that is not passed on.
    pub fn read(engine: EngineKind, words: &[String]) -> Result<Self, RejectedArgument> {
        match engine {
            EngineKind::Slurm => slurm::read(words),
            EngineKind::Sge => sge::read(words),
            EngineKind::Htcondor => htcondor::read(words),
            EngineKind::Local => match words.first() {
                Some(word) => Err(rejected(word, "the engine `local` has no submit command")),
                None => Ok(Self::default()),
            },
        }
    }

    fn in_queue(value: &str) -> Self {
        let is_one = !value.is_empty() && !value.contains([',', '@', '*', '&']);
        Self {
            queue: is_one.then(|| value.to_owned()),
        }
    }
}

fn rejected(word: &str, reason: &'static str) -> RejectedArgument {
    RejectedArgument {
        word: word.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests;
