//! Jobs that are typed into the window: as the user has them on this host.

use std::env;
use std::path::PathBuf;

use jiff::Zoned;
use tollgate_client::typed_span::parse_typed_span;
use tollgate_client::types::JobRequest;
use tollgate_frontends::words::split_words;
use tollgate_web::{TypedJob, UserHost};

use crate::exit::CliFailure;
use crate::jobs::job_args::JobArgs;
use crate::jobs::output_tail::ThisHost;

impl UserHost for ThisHost {
    fn job_request(&self, typed: &TypedJob, now: Zoned) -> Result<JobRequest, String> {
        let args = job_args(typed)?;
        args.request(&now).map_err(|failure| in_one_line(&failure))
    }

    fn dir(&self) -> Option<String> {
        env::current_dir().ok()?.into_os_string().into_string().ok()
    }
}

/// Returns a failure with its hint, for a page.
pub(crate) fn in_one_line(failure: &CliFailure) -> String {
    match failure.hint() {
        Some(hint) => format!("{failure}; {hint}"),
        None => failure.to_string(),
    }
}

/// Returns a typed job as the options of `tollgate submit`.
pub(crate) fn job_args(typed: &TypedJob) -> Result<JobArgs, String> {
    let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let number = |field: &str, text: &str| match given(text) {
        None => Ok(None),
        Some(text) => match text.parse::<f64>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(format!("{field}: expected a number, got `{text}`")),
        },
    };
    let mut command = split_words(&typed.command)
        .ok_or("Command: a quotation mark is not closed, or a backslash ends it")?;
    let dir = given(&typed.dir).map(PathBuf::from);
    if let (Some(program), Some(dir)) = (command.first_mut(), &dir) {
        // A script is read here, and the working directory of this program is another one.
        let is_relative = program.contains('/') && !program.starts_with('/');
        let whole = dir.join(&*program);
        if let Some(whole) = whole.to_str().filter(|_| is_relative) {
            *program = whole.to_owned();
        }
    }
    let procs = match given(&typed.procs) {
        None => None,
        Some(text) => Some(
            text.parse()
                .ok()
                .filter(|procs| *procs > 0)
                .ok_or_else(|| {
                    format!("Processors: expected a whole number of at least 1, got `{text}`")
                })?,
        ),
    };
    let estimate = given(&typed.estimate).map(|text| parse_typed_span(&text));
    Ok(JobArgs {
        command,
        dir,
        procs,
        estimate: estimate
            .transpose()
            .map_err(|message| format!("Takes about: {message}"))?,
        deadline: given(&typed.deadline),
        confidence: number("At least as sure as", &typed.confidence)?,
        budget: number("At most, credits", &typed.budget)?,
        name: given(&typed.name),
        ..JobArgs::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(command: &str) -> TypedJob {
        TypedJob {
            command: command.to_owned(),
            ..TypedJob::default()
        }
    }

    #[test]
    fn typed_job_becomes_the_options_of_submit() {
        let args = job_args(&TypedJob {
            dir: "/tmp".to_owned(),
            procs: "2".to_owned(),
            estimate: "20m".to_owned(),
            deadline: "+2h".to_owned(),
            confidence: "0.9".to_owned(),
            budget: " ".to_owned(),
            ..typed("./run.sh 'two words'")
        })
        .unwrap();
        assert_eq!(args.command, ["/tmp/./run.sh", "two words"]);
        assert_eq!((args.procs, args.budget), (Some(2), None));
        assert_eq!(args.estimate.unwrap().secs, 1_200.0);
        assert_eq!(args.confidence, Some(0.9));
    }

    #[test]
    fn field_that_is_not_understood_is_named() {
        let wrong = [
            TypedJob {
                procs: "none".to_owned(),
                ..TypedJob::default()
            },
            TypedJob {
                procs: "0".to_owned(),
                ..TypedJob::default()
            },
            TypedJob {
                estimate: "soon".to_owned(),
                ..TypedJob::default()
            },
            TypedJob {
                budget: "much".to_owned(),
                ..TypedJob::default()
            },
            typed("echo 'open"),
        ];
        let fields = [
            "Processors:",
            "Processors:",
            "Takes about:",
            "At most, credits:",
            "Command:",
        ];
        for (wrong, field) in wrong.iter().zip(fields) {
            let message = job_args(wrong).unwrap_err();
            assert!(message.starts_with(field), "{message}");
        }
    }
}
