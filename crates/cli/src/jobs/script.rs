//! Job scripts, and the options in their `#TOLLGATE` lines.

use std::fs::File;
use std::io::{ErrorKind, Read};

use clap::Parser;
use tollgate_frontends::words::split_words;

use super::job_args::JobArgs;
use super::script_text::{self, ScriptReader};
use crate::connection::error::ClientCommandError;
use crate::exit::CliFailure;

/// The maximum size of a script that is copied, in bytes. A script of this size fits into a
/// request.
pub(crate) const MAX_SCRIPT_LEN: u64 = 700_000;
/// The prefix of a line with options.
const DIRECTIVE_PREFIX: &str = "#TOLLGATE";

/// A script at the time of its submission.
#[derive(Debug)]
pub(crate) struct JobScript {
    file: String,
    /// The text of the script.
    pub(crate) text: String,
}

/// The words of one line.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct ScriptLineArgs {
    #[command(flatten)]
    job: JobArgs,
}

impl JobScript {
    /// Reads the script that a command begins with: a file given by a path whose text begins with
    /// `#!`.
    ///
    /// # Errors
    /// An error if there is such a script and it cannot be copied, or its lines end as on DOS.
    pub(crate) fn from_command(command: &[String]) -> Result<Option<Self>, CliFailure> {
        let Some(name) = command.first().filter(|name| name.contains('/')) else {
            return Ok(None);
        };
        // Only the job reads a pipe or a device. Reading it here could take forever.
        if std::fs::metadata(name).is_ok_and(|file| !file.is_file()) {
            return Ok(None);
        }
        // A file that is missing here may exist where the job runs. The engine reports a missing
        // program.
        let Ok(mut file) = File::open(name) else {
            return Ok(None);
        };
        let failed = |error| CliFailure::read_failed(name.clone(), error);
        let mut mark = [0; 2];
        match file.read_exact(&mut mark) {
            Ok(()) if mark == *b"#!" => {}
            Ok(()) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(failed(error)),
        }
        let mut bytes = mark.to_vec();
        file.take(MAX_SCRIPT_LEN)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        let text = String::from_utf8(bytes).ok();
        let text = text.filter(|text| text.len() as u64 <= MAX_SCRIPT_LEN);
        let text =
            text.ok_or_else(|| ClientCommandError::ScriptNotReadable { file: name.clone() })?;
        let file = name.clone();
        script_text::check_line_ends(&file, &text)?;
        script_text::note_unread_lines(&file, &text, ScriptReader::Submit);
        Ok(Some(Self { file, text }))
    }

    /// Returns a script with this text; `file` names the script in messages.
    pub(crate) fn of_text(file: &str, text: &str) -> Self {
        Self {
            file: file.to_owned(),
            text: text.to_owned(),
        }
    }

    /// Returns the options in the `#TOLLGATE` lines before the first command. A later option
    /// overrides an earlier one.
    ///
    /// # Errors
    /// The first line that is not understood.
    pub(crate) fn directives(&self) -> Result<JobArgs, ClientCommandError> {
        let head = self.text.lines().zip(1_usize..);
        let head = head.take_while(|(line, _)| line.trim().is_empty() || line.starts_with('#'));
        let mut options = JobArgs::default();
        for (line, number) in head {
            let Some(rest) = line.strip_prefix(DIRECTIVE_PREFIX) else {
                continue;
            };
            let wrong = |message: String| ClientCommandError::ScriptLine {
                file: self.file.clone(),
                line: number,
                message,
            };
            let words =
                split_words(rest).ok_or_else(|| wrong("a quote is not closed".to_owned()))?;
            let read =
                ScriptLineArgs::try_parse_from(words).map_err(|error| wrong(first_line(&error)))?;
            if let Some(word) = read.job.command.first() {
                return Err(wrong(format!("expected options, got `{word}`")));
            }
            options = read.job.override_defaults(options);
        }
        Ok(options)
    }
}

/// Parses the options in a script, for the fuzz target. Returns false if they are invalid.
#[cfg(feature = "fuzz")]
pub(crate) fn parses(text: &str) -> bool {
    let script = JobScript {
        file: "script".to_owned(),
        text: text.to_owned(),
    };
    let options = script.directives();
    if let Err(error) = &options {
        assert!(error.to_string().starts_with("script:"), "{error}");
    }
    options.is_ok()
}

/// Returns the message of the parser, without its prefix and without the usage.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> JobScript {
        JobScript {
            file: "job.sh".to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn last_directive_before_the_first_command_wins() {
        let options = script(
            "#!/bin/sh\n# a remark\n#TOLLGATE --procs 4 --deadline 'tomorrow 9am' # by then\n\n\
             #TOLLGATE -n 2 --env A=1\necho\n#TOLLGATE --procs 8\n",
        )
        .directives()
        .unwrap();
        assert_eq!(options.procs, Some(2));
        assert_eq!(options.deadline.as_deref(), Some("tomorrow 9am"));
        assert_eq!(options.env, ["A=1"]);
    }

    #[test]
    fn command_line_overrides_script_directives() {
        let typed = JobArgs {
            procs: Some(1),
            ..JobArgs::default()
        };
        let options = script("#!/bin/sh\n#TOLLGATE --procs 4 --budget 3\n").directives();
        let job = typed.override_defaults(options.unwrap());
        assert_eq!((job.procs, job.budget), (Some(1), Some(3.0)));
    }

    #[test]
    fn invalid_directive_is_named() {
        for (line, expected) in [
            (
                "--prox 4",
                "job.sh:2: #TOLLGATE: unexpected argument '--prox' found",
            ),
            ("--name 'x", "job.sh:2: #TOLLGATE: a quote is not closed"),
            ("echo", "job.sh:2: #TOLLGATE: expected options, got `echo`"),
        ] {
            let read = script(&format!("#!/bin/sh\n#TOLLGATE {line}\n")).directives();
            assert_eq!(read.unwrap_err().to_string(), expected);
        }
    }
}
