//! The end of the output of a job: from its file if that is here, else from the service.

use std::sync::Arc;

use serde::Serialize;
use tollgate_client::types::{JobDetails, JobOutput, OutputSource};
use tollgate_client::{ClientError, PathWithQuery, ServiceForwarder};

use crate::job_facts::job_id;
use crate::words;

/// Maximum number of bytes of the output that are read, and of lines that are shown.
const TAIL_BYTES: u64 = 64 * 1024;
const TAIL_LINES: usize = 200;

/// The end of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputTail {
    /// The last bytes.
    pub bytes: Vec<u8>,
    /// Size of the whole output, in bytes.
    pub size: u64,
}

/// Where a job ran whose output is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunHost {
    /// The output counts only if the job ran on this host.
    Here,
    /// The service does not read the output, so a file system that both hosts share may have it.
    Anywhere,
}

/// A reader of the files on the host of the user. Its method may block.
pub trait OutputReader: Send + Sync {
    /// Returns the last `most` bytes of the output of a job. None if there is no such file here.
    fn output_tail(&self, job: &JobDetails, most: u64, run: RunHost) -> Option<OutputTail>;
}

/// The end of the output of a job, or why there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShownOutput {
    /// The last lines.
    pub text: Option<String>,
    /// Where these lines stand, or why there are none.
    pub note: String,
}

/// Reads the end of the output of a job.
///
/// # Errors
/// If the service does not answer.
pub async fn read_output<R: OutputReader + ?Sized + 'static>(
    service: &ServiceForwarder,
    reader: &Arc<R>,
    job: &JobDetails,
) -> Result<ShownOutput, ClientError> {
    if job.array.is_some() {
        return Ok(ShownOutput::without("Each task has an output of its own."));
    }
    let Some(file) = &job.output else {
        return Ok(ShownOutput::without("The output is discarded."));
    };
    if job.attempts == 0 {
        return Ok(ShownOutput::without(&format!(
            "It will be written to {file}."
        )));
    }
    if let Some(tail) = tail_of_file(reader, job, RunHost::Here).await {
        return Ok(ShownOutput::of_tail(file, &tail));
    }
    let path = format!("/v1/jobs/{}/output", job_id(job));
    let path = PathWithQuery::new(path).with("last", TAIL_BYTES);
    let answer: Result<JobOutput, ClientError> = service.get(&path).await;
    match answer {
        Ok(output) if output.source == OutputSource::Host => {
            match tail_of_file(reader, job, RunHost::Anywhere).await {
                Some(tail) => Ok(ShownOutput::of_tail(file, &tail)),
                None => Ok(ShownOutput::of_answer(file, &output)),
            }
        }
        Ok(output) => Ok(ShownOutput::of_answer(file, &output)),
        Err(ClientError::Refused { problem, .. }) => Ok(ShownOutput::without(&problem.error)),
        Err(error) => Err(error),
    }
}

async fn tail_of_file<R: OutputReader + ?Sized + 'static>(
    reader: &Arc<R>,
    job: &JobDetails,
    run: RunHost,
) -> Option<OutputTail> {
    let (job, reader) = (job.clone(), Arc::clone(reader));
    let read = move || reader.output_tail(&job, TAIL_BYTES, run);
    tokio::task::spawn_blocking(read).await.ok().flatten()
}

impl ShownOutput {
    fn without(note: &str) -> Self {
        Self {
            text: None,
            note: note.to_owned(),
        }
    }

    fn of_answer(file: &str, output: &JobOutput) -> Self {
        let problem = output.problem.as_deref();
        match output.source.known() {
            Some(OutputSource::Host) => Self::without(&format!(
                "{file} is on the host of the service, and cannot be read from here."
            )),
            Some(OutputSource::Worker | OutputSource::Kept) | None => {
                let tail = OutputTail {
                    bytes: output.content().to_vec(),
                    size: output.size_bytes,
                };
                match problem {
                    Some(problem) if tail.bytes.is_empty() => Self::without(problem),
                    _ => Self::of_tail(file, &tail),
                }
            }
        }
    }

    /// Returns the last lines of an output.
    pub fn of_tail(file: &str, tail: &OutputTail) -> Self {
        let text = String::from_utf8_lossy(&tail.bytes);
        let all: Vec<&str> = text.lines().collect();
        let is_cut = tail.size > tail.bytes.len() as u64 || all.len() > TAIL_LINES;
        // The first line of a part may have lost its beginning.
        let whole = all
            .get(usize::from(is_cut && all.len() > 1)..)
            .unwrap_or_default();
        let shown = &whole[whole.len().saturating_sub(TAIL_LINES)..];
        let size = words::bytes(tail.size);
        if tail.size == 0 {
            return Self::without(&format!("{file} is empty so far."));
        }
        Self {
            text: Some(shown.join("\n")),
            note: match is_cut {
                true => format!("the last {} lines of {file}, {size}", shown.len()),
                false => format!("{file}, {size}"),
            },
        }
    }
}
