//! Errors in the words of Slurm's commands.

/// An error of one of Slurm's commands, as standard error shows it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct SlurmError {
    /// Every line, with the name of the command in it.
    pub text: String,
    /// The exit code.
    pub code: u8,
}

/// The exit code of `sbatch` and `srun` for a call that they do not understand.
pub(crate) const USAGE_CODE: u8 = 255;

impl SlurmError {
    /// Returns an error with a text that needs nothing before it.
    pub fn new(text: impl Into<String>, code: u8) -> Self {
        let text = text.into();
        Self { text, code }
    }

    /// Returns the error `TOOL: error: MESSAGE` with exit code 1. Each line of the message has the beginning.
    pub fn of(tool: &str, message: impl AsRef<str>) -> Self {
        let lines = message.as_ref().lines();
        let lines: Vec<String> = lines.map(|line| format!("{tool}: error: {line}")).collect();
        Self::new(lines.join("\n"), 1)
    }

    /// Returns the error about a call that is not understood, with Slurm's exit code for that.
    pub(crate) fn usage(tool: &str, message: impl AsRef<str>) -> Self {
        Self {
            code: USAGE_CODE,
            ..Self::of(tool, message)
        }
    }

    /// Returns the error about an option that cannot be honoured: the option, the reason and a way out.
    pub(crate) fn refused(tool: &str, option: &str, reason: &str) -> Self {
        Self::of(tool, format!("{option}: {reason}"))
    }

    /// Returns the error that a service rejects or refuses a job.
    pub fn submission(tool: &str, message: &str) -> Self {
        Self::of(tool, format!("Batch job submission failed: {message}"))
    }

    /// Returns the error about a job that does not exist, in the words of `squeue` and `scontrol`.
    pub fn unknown_job() -> Self {
        Self::new("slurm_load_jobs error: Invalid job id specified", 1)
    }
}
