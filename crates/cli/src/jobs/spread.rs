//! `tollgate spread`.

use std::borrow::Cow;
use std::ffi::OsString;

use tollgate_spread::hosts::JobHostsError;
use tollgate_spread::{SpreadError, SpreadOptions, spread};

use crate::args::parse_count;
use crate::connection::error::ClientCommandError;
use crate::exit::{CliError, CliFailure, ExitKind};
use crate::operate::serve::current_program;
use crate::output::messages;

/// The options of `tollgate spread`.
#[derive(Debug, clap::Args)]
pub(crate) struct SpreadArgs {
    /// Copies over the job's processors [default: one on each host]
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_count::<std::num::NonZeroU32>)]
    copies: Option<std::num::NonZeroU32>,
    /// Run on this host of the job only
    #[arg(long, value_name = "HOST", conflicts_with = "agent")]
    on: Option<String>,
    /// Read a host and a shell command, as ssh does for mpirun
    #[arg(long, conflicts_with = "copies")]
    agent: bool,
    /// Command and its arguments
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true
    )]
    command: Vec<OsString>,
}

/// `tollgate spread`.
pub(crate) fn run(args: &SpreadArgs) -> Result<(), CliFailure> {
    let (on, command) = match args.agent {
        true => shell_command(&args.command),
        false => (args.on.clone(), args.command.clone()),
    };
    let options = SpreadOptions {
        copies: args.copies.map(Into::into),
        on,
        command,
        program: current_program()?.into(),
    };
    match spread(&options, |sentence| messages::print_error(sentence, None))? {
        0 => Ok(()),
        code => Err(ClientCommandError::JobStatus(code).into()),
    }
}

/// Returns the host and the command of words in the order of ssh: a host, and words that a shell there
/// reads as one line.
fn shell_command(words: &[OsString]) -> (Option<String>, Vec<OsString>) {
    let (host, words) = words.split_first().map_or((None, words), |(host, words)| {
        (Some(host.to_string_lossy().into_owned()), words)
    });
    let line = words.join(&OsString::from(" "));
    (host, vec!["/bin/sh".into(), "-c".into(), line])
}

/// The copies cannot be started.
impl CliError for SpreadError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Hosts(_) => ExitKind::Usage,
            Self::Listen(_) | Self::System { .. } => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Hosts(JobHostsError::OutsideJob(_)) => Some(
                "submit it as a job: `tollgate submit -n 8 -- tollgate spread -- ./program`".into(),
            ),
            Self::Hosts(
                JobHostsError::UnknownHost { .. } | JobHostsError::TooManyCopies { .. },
            )
            | Self::Listen(_)
            | Self::System { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_passes_its_words_to_a_shell_as_one_line() {
        let words = [
            "beta",
            "PATH=/opt:$PATH",
            ";",
            "orted",
            "-mca",
            "ess",
            "\"env\"",
        ];
        let (host, command) = shell_command(&words.map(OsString::from));
        assert_eq!(host.as_deref(), Some("beta"));
        assert_eq!(
            command,
            ["/bin/sh", "-c", "PATH=/opt:$PATH ; orted -mca ess \"env\""]
        );
    }
}
