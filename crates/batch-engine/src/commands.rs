//! How the commands of an engine are run.

use tollgate_batch::{CommandAnswer, EngineCommand};
use tollgate_sites::{EngineShell, ShellError};

/// A way to run the commands of an engine, each with a time limit.
pub trait CommandRunner: Send + Sync {
    /// Runs a command and waits for its end.
    ///
    /// # Errors
    /// If the program cannot be started, or does not end in time. It may have been carried out all the same
    /// in the second case.
    fn run(&self, command: &EngineCommand) -> Result<CommandAnswer, ShellError>;
}

impl CommandRunner for EngineShell {
    fn run(&self, command: &EngineCommand) -> Result<CommandAnswer, ShellError> {
        Self::run(self, command)
    }
}
