//! Findings in the text of a script before its job is submitted: line ends of another system, and lines with
//! options that another command reads.

use std::ops::RangeInclusive;

use crate::connection::error::ClientCommandError;
use crate::output::messages::Verbosity;

/// A command that reads options in scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptReader {
    /// `tollgate submit`.
    Submit,
    /// `qsub`.
    Qsub,
    /// Slurm's `sbatch`.
    Sbatch,
}

impl ScriptReader {
    const fn name(self) -> &'static str {
        match self {
            Self::Submit => "tollgate submit",
            Self::Qsub => "qsub",
            Self::Sbatch => "sbatch",
        }
    }
}

/// The beginnings of lines with options, and their readers.
const DIRECTIVES: [(&str, ScriptReader); 4] = [
    ("#TOLLGATE", ScriptReader::Submit),
    ("#PBS", ScriptReader::Qsub),
    ("#$", ScriptReader::Qsub),
    ("#SBATCH", ScriptReader::Sbatch),
];

/// Rejects a script with line ends of DOS: its interpreter would not be found, or read a carriage return in
/// each line.
///
/// # Errors
/// If a line ends with CR LF.
pub(crate) fn check_line_ends(file: &str, text: &str) -> Result<(), ClientCommandError> {
    match text.contains("\r\n") {
        true => Err(ClientCommandError::DosLineEnds {
            file: file.to_owned(),
        }),
        false => Ok(()),
    }
}

/// Prints a note for each kind of lines before the first command that hold options for a command other than
/// `reader`.
pub(crate) fn note_unread_lines(file: &str, text: &str, reader: ScriptReader) {
    for note in unread_lines(file, text, reader) {
        Verbosity::Notes.note(note);
    }
}

fn unread_lines(file: &str, text: &str, reader: ScriptReader) -> Vec<String> {
    let others = DIRECTIVES.iter().filter(|(_, other)| *other != reader);
    let found = others.filter_map(|(mark, other)| {
        let numbers = directive_lines(text, mark);
        let (noun, verb) = match numbers.as_slice() {
            [] => return None,
            [one] if one.start() == one.end() => ("line", "is"),
            _ => ("lines", "are"),
        };
        let numbers: Vec<String> = numbers.iter().map(format_range).collect();
        let (numbers, name) = (numbers.join(", "), other.name());
        Some(format!(
            "{file}: {noun} {numbers}: {mark} {verb} ignored here: only `{name}` reads such lines"
        ))
    });
    found.collect()
}

/// Returns the numbers of the lines before the first command that begin with `mark` as a word, ascending.
fn directive_lines(text: &str, mark: &str) -> Vec<RangeInclusive<usize>> {
    let head = text.lines().zip(1_usize..);
    let head = head.take_while(|(line, _)| line.trim().is_empty() || line.starts_with('#'));
    let mut found: Vec<RangeInclusive<usize>> = Vec::new();
    for (line, number) in head {
        let rest = line.strip_prefix(mark);
        if !rest.is_some_and(|rest| rest.starts_with(char::is_whitespace)) {
            continue;
        }
        match found.last_mut() {
            Some(last) if last.end() + 1 == number => *last = *last.start()..=number,
            Some(_) | None => found.push(number..=number),
        }
    }
    found
}

fn format_range(numbers: &RangeInclusive<usize>) -> String {
    match numbers.start() == numbers.end() {
        true => numbers.start().to_string(),
        false => format!("{}-{}", numbers.start(), numbers.end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_other_commands_are_named_with_their_reader() {
        let text = "#!/bin/sh\n#SBATCH -n 8\n#SBATCH --mem=4G\n\n#SBATCH -t 1:00\n#PBS -l mem=1gb\n\
                    #$ -cwd\n#TOLLGATE -n 2\n#$HOME is not an option\n#SBATCHED\necho\n#SBATCH -n 9\n";
        let notes = |reader| unread_lines("job.sh", text, reader);
        assert_eq!(
            notes(ScriptReader::Submit),
            [
                "job.sh: line 6: #PBS is ignored here: only `qsub` reads such lines",
                "job.sh: line 7: #$ is ignored here: only `qsub` reads such lines",
                "job.sh: lines 2-3, 5: #SBATCH are ignored here: only `sbatch` reads such lines",
            ]
        );
        assert_eq!(
            notes(ScriptReader::Qsub),
            [
                "job.sh: line 8: #TOLLGATE is ignored here: only `tollgate submit` reads such lines",
                "job.sh: lines 2-3, 5: #SBATCH are ignored here: only `sbatch` reads such lines",
            ]
        );
    }

    #[test]
    fn line_ends_of_dos_are_rejected_anywhere() {
        assert!(check_line_ends("job.sh", "#!/bin/sh\necho\rhi\n").is_ok());
        for text in ["#!/bin/sh\r\necho\r\n", "#!/bin/sh\necho\r\n"] {
            let refused = check_line_ends("job.sh", text).unwrap_err();
            assert_eq!(
                refused.to_string(),
                "job.sh: lines end with CR LF, as on DOS"
            );
        }
    }
}
