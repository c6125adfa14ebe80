//! A job that is asked about, from the words that would submit it.

use std::fs;
use std::io::{self, Read};

use tollgate_beside::RequestedJob;
use tollgate_frontends::slurm::{SbatchScript, SlurmError, UnsubmittedSbatch};
use tollgate_frontends::{
    CondorSubmitError, FrontendError, ScriptSource, SubmitPlace, UnsubmittedCondorSubmit,
    UnsubmittedQsub,
};
use tollgate_model::Span;

use super::engine::FollowedEngine;
use super::error::{BesideError, file_error};
use crate::output::format;

/// A command that would submit a job.
pub(super) struct TypedSubmission<'a> {
    /// The engine of the command.
    pub(super) engine: FollowedEngine,
    /// The words behind the program.
    rest: &'a [String],
}

impl<'a> TypedSubmission<'a> {
    /// Takes the words of a command apart.
    ///
    /// # Errors
    /// If they are those of another command, or of none.
    pub(super) fn new(words: &'a [String]) -> Result<Self, BesideError> {
        let (program, rest) = match words {
            [program, rest @ ..] => (program.as_str(), rest),
            [] => return Err(BesideError::NotASubmission(String::new())),
        };
        let engine = FollowedEngine::of_submit_program(program);
        let engine = engine.ok_or_else(|| BesideError::NotASubmission(program.to_owned()))?;
        Ok(Self { engine, rest })
    }

    /// Returns the job that the command would submit. Nothing is submitted.
    ///
    /// # Errors
    /// If the words are not understood, or a script cannot be read.
    pub(super) fn job(&self, user: &str) -> Result<RequestedJob, BesideError> {
        let place = SubmitPlace::here(format::now());
        let job = match self.engine {
            FollowedEngine::Slurm => {
                let wrong = |error: SlurmError| BesideError::Submission(error.text);
                let call = UnsubmittedSbatch::parse(self.rest, &place).map_err(wrong)?;
                let text = match call.script() {
                    SbatchScript::Wrapped(text) => text.clone(),
                    SbatchScript::File(name) => file_text(name)?,
                    SbatchScript::StandardInput => input_text()?,
                };
                call.job(&text).map_err(wrong)?
            }
            FollowedEngine::Sge => {
                let wrong = |error: FrontendError| BesideError::Submission(error.to_string());
                let call = UnsubmittedQsub::parse(self.rest, &place).map_err(wrong)?;
                let text = call.script().map_or(Ok(String::new()), script_text)?;
                call.job(&text, &place).map_err(wrong)?
            }
            FollowedEngine::Htcondor => {
                let wrong = |error: CondorSubmitError| BesideError::Submission(error.to_string());
                let call = UnsubmittedCondorSubmit::parse(self.rest).map_err(wrong)?;
                call.job(&script_text(call.file())?).map_err(wrong)?
            }
        };
        Ok(RequestedJob {
            user: user.to_owned(),
            queue: job.queue.unwrap_or_default(),
            procs: job.procs,
            limit: job.limit_s.map(Span::from_secs_f64),
        })
    }
}

fn script_text(source: ScriptSource<'_>) -> Result<String, BesideError> {
    match source {
        ScriptSource::File(name) => file_text(name),
        ScriptSource::StandardInput => input_text(),
    }
}

fn file_text(name: &str) -> Result<String, BesideError> {
    fs::read_to_string(name).map_err(|error| file_error(name, error))
}

fn input_text() -> Result<String, BesideError> {
    let mut text = String::new();
    let read = io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| file_error("standard input", error))?;
    Ok(text)
}
