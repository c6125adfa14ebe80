//! Commands and daemons of schedulers.

use std::process::Command;

use tollgate_batch::{CommandAnswer, EngineCommand};
use tollgate_sites::EngineShell;

use crate::InsideError;

/// Runs a command of a scheduler with variables of its own.
pub(crate) fn run_in(
    shell: &EngineShell,
    environment: &[(String, String)],
    words: &[&str],
) -> Result<CommandAnswer, InsideError> {
    let variables = environment
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let words = words.iter().map(|word| (*word).to_owned());
    let command = EngineCommand {
        words: ["env".to_owned()]
            .into_iter()
            .chain(variables)
            .chain(words)
            .collect(),
        input: String::new(),
    };
    Ok(shell.run(&command)?)
}

/// Returns the answer of a command that succeeded.
pub(crate) fn succeed(words: &[&str], answer: CommandAnswer) -> Result<CommandAnswer, InsideError> {
    match answer.is_success() {
        true => Ok(answer),
        false => Err(InsideError::Command {
            command: words.join(" "),
            reason: format!("exit code {}: {}", answer.exit, answer.errors.trim()),
        }),
    }
}

/// Runs a program that makes a daemon of itself, or fails.
pub(crate) fn run(command: &mut Command) -> Result<(), InsideError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| InsideError::File {
        path: name.clone().into(),
        action: "cannot be started",
        error,
    })?;
    match output.status.success() {
        true => Ok(()),
        false => Err(InsideError::Command {
            command: name,
            reason: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }),
    }
}
