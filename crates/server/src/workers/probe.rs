//! A trivial task that a worker runs before it offers its cores, so that jobs are not lost on a host
//! on which nothing can be started.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use tollgate_engine::{Engine, EngineError, LaunchSpec};
use tollgate_model::{AttemptEvent, AttemptId, AttemptStatus, NodeId};

/// Time that the task may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest wait for a report.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The attempt of the task. Jobs are numbered from 1.
const PROBE: AttemptId = AttemptId {
    job: 0,
    task: 0,
    attempt: 1,
};

/// Runs `program --version` in `dir` on an engine that runs nothing else.
///
/// # Errors
/// The reason for which the task did not run and end with 0.
pub(super) fn run<E: Engine>(engine: &mut E, program: &OsString, dir: &Path) -> Result<(), String> {
    let words = [program.clone(), "--version".into()];
    let launch = LaunchSpec::new(PROBE, vec![NodeId(0)], words, dir);
    let failed = |error: EngineError| error.to_string();
    engine.start(&[launch]).map_err(failed)?;
    let deadline = Instant::now() + PROBE_TIMEOUT;
    let status = loop {
        let reports = engine.poll(POLL_INTERVAL).map_err(failed)?;
        let ends = reports.into_iter().filter(|report| report.attempt == PROBE);
        let mut ends = ends.filter_map(|report| match report.event {
            AttemptEvent::Ended(outcome) => Some(Some(outcome.status)),
            AttemptEvent::Lost { .. } => Some(None),
            AttemptEvent::Started(_) => None,
        });
        if let Some(end) = ends.next() {
            break end;
        }
        if Instant::now() >= deadline {
            return Err("a trivial task has not ended within 30 s".to_owned());
        }
    };
    engine.acknowledge(&[PROBE]).map_err(failed)?;
    match status {
        Some(AttemptStatus::Exited(0)) => Ok(()),
        Some(AttemptStatus::NotStarted { step, reason }) => {
            Err(format!("a trivial task was not started: {step}: {reason}"))
        }
        Some(other) => Err(format!("a trivial task failed: {other:?}")),
        None => Err("a trivial task was lost".to_owned()),
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
            &"tollgate".into(),
            Path::new("/"),
        );
        assert!(probed.is_err(), "there is no node");
    }
}
