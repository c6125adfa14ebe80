//! Notes about a job that may not be what its user means.

use std::env;
use std::ffi::OsStr;
use std::path::Path;

use jiff::Zoned;

use super::job_args::JobArgs;
use crate::parse;
use crate::parse::TypedSpan;

/// Returns notes about a job on the command line: values with two meanings, options behind the program, and
/// directories that are missing.
pub(crate) fn notes(job: &JobArgs, now: &Zoned) -> Vec<String> {
    let span = |span: Option<TypedSpan>, option| span.and_then(|span| span.note(option));
    let deadline = job.deadline.as_deref();
    let before_command = env::args_os().rev().nth(job.command.len());
    let is_separated = before_command.as_deref() == Some(OsStr::new("--"));
    let behind = match is_separated {
        true => None,
        false => note_of_options_behind(&job.command, now),
    };
    [
        span(job.estimate, "estimate"),
        span(job.time_limit, "time-limit"),
        deadline.and_then(|words| parse::note_of_deadline(words, now)),
        job.begin
            .as_deref()
            .and_then(|words| parse::note_of_begin(words, now)),
        behind,
        job.dir.as_deref().and_then(note_of_missing_dir),
        job.output
            .as_deref()
            .and_then(|output| note_of_missing_parent(output, job.dir.as_deref())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns a note if the arguments of a program contain an option of a job.
fn note_of_options_behind(command: &[String], now: &Zoned) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let next = arguments.iter().skip(1).map(Some).chain([None]);
    let mut pairs = arguments.iter().zip(next);
    let (option, _) =
        pairs.find(|(word, value)| is_job_option(word, value.map(String::as_str), now))?;
    Some(format!(
        "{option} stands behind {program}, so it is an argument of the program; a `--` before \
         the program says so"
    ))
}

/// Returns whether a word is an option of a job: a long one that few programs have, or a short one with a
/// fitting value.
fn is_job_option(word: &str, value: Option<&str>, now: &Zoned) -> bool {
    const LONG: [&str; 10] = [
        "--deadline",
        "--begin",
        "--estimate",
        "--time-limit",
        "--budget",
        "--procs",
        "--mem",
        "--confidence",
        "--at-least",
        "--requeue",
    ];
    let has_unit = |value: &str| value.parse::<f64>().is_err();
    let value = value.filter(|value| has_unit(value));
    match word {
        "-d" => value.is_some_and(|value| parse::parse_moment(value, now).is_ok()),
        "-e" | "-t" => value.is_some_and(|value| parse::parse_span(value).is_ok()),
        _ => LONG.contains(&word.split('=').next().unwrap_or(word)),
    }
}

fn note_of_missing_dir(dir: &Path) -> Option<String> {
    (!dir.is_dir()).then(|| {
        format!(
            "--dir {}: no such directory here; the job fails unless it is there when the job starts",
            dir.display()
        )
    })
}

/// Returns a note if the directory of an output file is missing. The job makes the last directory itself.
fn note_of_missing_parent(output: &str, dir: Option<&Path>) -> Option<String> {
    let output_path = dir.unwrap_or(Path::new(".")).join(output);
    let grandparent = output_path.parent()?.parent()?;
    let is_there = grandparent.as_os_str().is_empty() || grandparent.is_dir();
    let is_pattern = grandparent.to_string_lossy().contains('%');
    (!is_there && !is_pattern).then(|| {
        format!(
            "--output {output}: no directory {} here; the job fails unless it is there when the job starts",
            grandparent.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind(words: &str) -> Option<String> {
        let command: Vec<String> = words.split(' ').map(str::to_owned).collect();
        note_of_options_behind(&command, &Zoned::now())
    }

    #[test]
    fn options_behind_the_program_have_a_note() {
        for words in [
            "./sim.sh --deadline 17:00",
            "./sim.sh --mem=2G",
            "./sim.sh x -d +3h",
            "sh job.sh -e 5m",
        ] {
            assert!(behind(words).is_some(), "{words}");
        }
        for words in ["ls -t", "head -e 5", "tar -d file", "./sim.sh --steps 4"] {
            assert_eq!(behind(words), None, "{words}");
        }
    }

    #[test]
    fn missing_directories_have_a_note() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        assert!(note_of_missing_dir(&at("missing")).is_some());
        assert_eq!(note_of_missing_dir(dir.path()), None);
        let output = |path: &str| note_of_missing_parent(at(path).to_str().unwrap(), None);
        assert!(output("a/b/c.out").is_some());
        for path in ["c.out", "made/c.out"] {
            assert_eq!(output(path), None, "{path}");
        }
        for path in ["c.out", "%j/%a.out", "x-%j/%u/%a.out"] {
            assert_eq!(note_of_missing_parent(path, None), None, "{path}");
            assert_eq!(
                note_of_missing_parent(path, Some(dir.path())),
                None,
                "{path}"
            );
        }
    }
}
