//! A trivial task that an engine runs before its cores are offered, so that jobs are not lost on a host
//! on which nothing can be started.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use tollgate_engine::{Engine, EngineError, LaunchSpec};
use tollgate_model::{AttemptEvent, AttemptId, AttemptStatus, KillReason, NodeId};

/// Time that the task may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest wait for a report.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The attempt of the task on a worker, whose engine forgets it at its end. Jobs are numbered from 1.
pub(super) const PROBE: AttemptId = AttemptId {
    job: 0,
    task: 0,
    attempt: 1,
};

/// The result of a trivial task that did not run and end with 0.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProbeError {
    /// The task may still run: the host may be busy.
    #[error("a trivial task has not ended within 30 s")]
    TimedOut,
    /// The task was not started, failed or was lost.
    #[error("{0}")]
    Failed(String),
}

/// Runs `program --version` in `dir` on an engine that runs nothing else.
///
/// # Errors
/// The reason for which the task did not run and end with 0.
pub(crate) fn run<E: Engine>(
    engine: &mut E,
    attempt: AttemptId,
    program: &OsString,
    dir: &Path,
) -> Result<(), ProbeError> {
    let words = [program.clone(), "--version".into()];
    let launch = LaunchSpec {
        is_probe: true,
        ..LaunchSpec::new(attempt, vec![NodeId(0)], words, dir)
    };
    let failed = |error: EngineError| ProbeError::Failed(error.to_string());
    engine.start(&[launch]).map_err(failed)?;
    let deadline = Instant::now() + PROBE_TIMEOUT;
    let status = loop {
        let reports = engine.poll(POLL_INTERVAL).map_err(failed)?;
        let ends = reports
            .into_iter()
            .filter(|report| report.attempt == attempt);
        let mut ends = ends.filter_map(|report| match report.event {
            AttemptEvent::Ended(outcome) => Some(Some(outcome.status)),
            AttemptEvent::Lost { .. } => Some(None),
            AttemptEvent::Started(_) => None,
        });
        if let Some(end) = ends.next() {
            break end;
        }
        if Instant::now() >= deadline {
            engine
                .kill(&[attempt], KillReason::Cancelled)
                .map_err(failed)?;
            return Err(ProbeError::TimedOut);
        }
    };
    engine.acknowledge(&[attempt]).map_err(failed)?;
    match status {
        Some(AttemptStatus::Exited(0)) => Ok(()),
        Some(AttemptStatus::NotStarted(failure)) => Err(ProbeError::Failed(format!(
            "a trivial task was not started: {failure}"
        ))),
        Some(other) => Err(ProbeError::Failed(format!(
            "a trivial task failed: {other}"
        ))),
        None => Err(ProbeError::Failed("a trivial task was lost".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use tollgate_engine::sim_engine::SimProgram;
    use tollgate_engine::{SimEngine, SimHost};

    use super::*;

    #[test]
    fn host_that_cannot_run_a_task_is_found_out() {
        let host = SimHost::new(0, 1 << 30, SimProgram::of_command);
        let probed = run(
            &mut SimEngine::open(&host),
            PROBE,
            &"tollgate".into(),
            Path::new("/"),
        );
        assert!(probed.is_err(), "there is no node");
    }
}
