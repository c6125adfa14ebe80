//! The output of a job that ran on another host.

use std::time::Duration;

use axum::Extension;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use schemars::JsonSchema;
use serde::Deserialize;
use tollgate_client::types::{JobOutput, OutputSource};
use tollgate_engine::output::{AttemptOutput, AttemptStream, OutputFile, OutputPosition};
use tollgate_model::AttemptId;
use tollgate_store::JobRow;

use super::error::ApiError;
use super::job_selector::JobSelector;
use super::jobs::own_job;
use super::state::{ApiState, JsonResult, query_controller};
use crate::access::Peer;
use crate::controller::{ControllerRequest, OutputLookup};
use crate::kept_outputs::{KeptName, KeptPiece, removed_until};

/// Maximum time for a worker to answer. It gives a read up by itself before.
const WORKER_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of bytes of a kept output in an answer.
const MAX_PIECE: u64 = 256 << 10;

/// The wanted part of an output.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OutputQuery {
    /// Position of the first byte: 0 if left out.
    from: Option<u64>,
    /// In place of a position: at most this number of bytes before the end.
    last: Option<u64>,
    /// Whether standard error is read, of a job that has a file of its own for it.
    #[serde(default)]
    error: bool,
}

impl OutputQuery {
    fn position(self) -> Result<OutputPosition, ApiError> {
        match (self.from, self.last) {
            (Some(_), Some(_)) => Err(ApiError::field("last", "no position beside it")),
            (None, Some(bytes)) => Ok(OutputPosition::End(bytes)),
            (from, None) => Ok(OutputPosition::Start(from.unwrap_or(0))),
        }
    }
}

/// Returns some of the output of a job, or of one task: read now at its worker, or kept since its end.
pub(super) async fn output(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
    query: Result<Query<OutputQuery>, QueryRejection>,
) -> JsonResult<JobOutput> {
    let Query(query) = query?;
    let from = query.position()?;
    let row = own_job(&service, &peer, &JobSelector::find(&service, &id).await?).await?;
    if row.array.is_some() {
        return Err(ApiError::field("id", "one task of the array, as in 7_3"));
    }
    let program = row.program.as_ref();
    if query.error && program.is_none_or(|program| program.error.is_none()) {
        return Err(ApiError::field(
            "error",
            "a job with a file of its own for errors",
        ));
    }
    if row.attempts == 0 {
        return Ok(Json(JobOutput::empty(OutputSource::Worker, 0)));
    }
    let attempt = AttemptId {
        job: row.id,
        task: row.task.unwrap_or(0),
        attempt: row.attempts,
    };
    let stream = match query.error {
        true => AttemptStream::Error,
        false => AttemptStream::Output,
    };
    let stored = AttemptOutput { attempt, stream };
    let looked_up = query_controller(&service, |reply| ControllerRequest::ReadOutput {
        output: stored,
        user: row.user,
        from,
        reply,
    });
    let found = match tokio::time::timeout(WORKER_TIMEOUT, looked_up).await {
        Ok(found) => found?,
        Err(_) => OutputLookup::Failed("its worker does not answer".to_owned()),
    };
    let output = match found {
        OutputLookup::Here => JobOutput::empty(OutputSource::Host, attempt.attempt),
        OutputLookup::Read(piece) => {
            let output = JobOutput::empty(OutputSource::Worker, attempt.attempt);
            with_bytes(output, piece.start, piece.bytes.0, piece.file)
        }
        OutputLookup::Failed(problem) => kept(&service, &row, stored, from, Some(problem)).await?,
        OutputLookup::Gone(host) => {
            let kept = kept(&service, &row, stored, from, None).await?;
            // A worker may have the name of this host.
            let is_here = row.host == Some(host) && kept.inode.is_none() && !is_lost(&row);
            match is_here {
                true => JobOutput::empty(OutputSource::Host, attempt.attempt),
                false => kept,
            }
        }
    };
    Ok(Json(output))
}

/// Returns what is kept; `problem` is the reason why a worker could not be asked.
async fn kept(
    service: &ApiState,
    row: &JobRow,
    AttemptOutput { attempt, stream }: AttemptOutput,
    from: OutputPosition,
    problem: Option<String>,
) -> Result<JobOutput, ApiError> {
    let directory = service.info.outputs.clone();
    let empty = JobOutput::empty(OutputSource::Kept, attempt.attempt);
    let Some(dir) = directory else {
        let problem = problem.unwrap_or_else(|| "the service keeps no outputs".to_owned());
        return Ok(empty.with_problem(problem));
    };
    let finish = row.finish;
    let is_lost = is_lost(row);
    let read = tokio::task::spawn_blocking(move || {
        let task = attempt.task();
        let name = KeptName { task, stream };
        let from = match from {
            OutputPosition::Start(from) => from,
            OutputPosition::End(bytes) => start_of_last(&dir, name, bytes)?,
        };
        let kept = KeptPiece::read(&dir, name, from, MAX_PIECE)?;
        Ok::<_, std::io::Error>((kept, removed_until(&dir)))
    });
    let read = read.await.map_err(|_| ApiError::stopping())?;
    let (kept, removed_until) = match read {
        Ok(read) => read,
        Err(error) => return Ok(empty.with_problem(format!("it cannot be read: {error}"))),
    };
    let kept = kept.filter(|kept| kept.header.attempt == attempt.attempt);
    let Some(kept) = kept else {
        let was_removed = finish.is_some_and(|finish| finish <= removed_until);
        return Ok(match (problem, was_removed) {
            (Some(problem), _) => empty.with_problem(problem),
            (None, _) if is_lost => {
                empty.with_problem("its worker was lost before the output was read".to_owned())
            }
            (None, true) => {
                empty.with_problem("if there was any, newer outputs have taken its room".to_owned())
            }
            (None, false) => empty,
        });
    };
    let cut = kept.is_cut.then(|| "its end is missing".to_owned());
    let problem = kept.header.problem.or(problem).or(cut);
    let output = with_bytes(empty, kept.start, kept.bytes, kept.header.file);
    Ok(match problem {
        Some(problem) => output.with_problem(problem),
        None => output,
    })
}

/// Returns whether the last attempt was lost together with its worker.
fn is_lost(row: &JobRow) -> bool {
    let status = row.status.as_deref();
    status.is_some_and(|status| status.starts_with("lost (worker"))
}

/// Returns the position of the last bytes of an output that is kept.
fn start_of_last(dir: &std::path::Path, name: KeptName, bytes: u64) -> std::io::Result<u64> {
    let kept = KeptPiece::read(dir, name, 0, 0)?;
    let size = kept.map_or(0, |kept| kept.header.file.size);
    Ok(OutputPosition::End(bytes).resolve(size))
}

fn with_bytes(output: JobOutput, start: u64, bytes: Vec<u8>, file: OutputFile) -> JobOutput {
    let (text, bytes) = match String::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(error.into_bytes())),
    };
    JobOutput {
        start,
        size_bytes: file.size,
        text,
        bytes,
        inode: Some(file.inode),
        modified_us: Some(file.modified_us),
        ..output
    }
}
