//! A job that is asked about, from the words that would submit it.

use std::fs;
use std::io::{self, Read};

use tollgate_beside::RequestedJob;
use tollgate_frontends::SubmitPlace;
use tollgate_frontends::slurm::{SbatchScript, UnsubmittedSbatch};
use tollgate_model::Span;

use super::error::{BesideError, file_error};
use crate::output::format;

/// Returns the job that a command would submit. Nothing is submitted.
///
/// # Errors
/// If the words are not those of a known command, or its script cannot be read.
pub(super) fn requested_job(words: &[String], user: &str) -> Result<RequestedJob, BesideError> {
    let rest = sbatch_options(words)?;
    let place = SubmitPlace::here(format::now());
    let wrong = |error: tollgate_frontends::slurm::SlurmError| BesideError::Submission(error.text);
    let call = UnsubmittedSbatch::parse(rest, &place).map_err(wrong)?;
    let text = match call.script() {
        SbatchScript::Wrapped(text) => text.clone(),
        SbatchScript::File(name) => {
            fs::read_to_string(name).map_err(|error| file_error(name, error))?
        }
        SbatchScript::StandardInput => {
            let mut text = String::new();
            let read = io::stdin().lock().read_to_string(&mut text);
            read.map_err(|error| file_error("standard input", error))?;
            text
        }
    };
    let job = call.job(&text).map_err(wrong)?;
    Ok(RequestedJob {
        user: user.to_owned(),
        queue: job.partition.unwrap_or_default(),
        procs: job.procs,
        limit: job.limit_s.map(Span::from_secs_f64),
    })
}

/// Returns the words behind `sbatch`.
///
/// # Errors
/// If the words are those of another command, or of none.
pub(super) fn sbatch_options(words: &[String]) -> Result<&[String], BesideError> {
    let (program, rest) = match words {
        [program, rest @ ..] => (program.as_str(), rest),
        [] => return Err(BesideError::NotASubmission(String::new())),
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    match name == "sbatch" {
        true => Ok(rest),
        false => Err(BesideError::NotASubmission(program.to_owned())),
    }
}
