//! Rows of steps: what `sacct` shows of a step is what it shows of a job, with the step's own times and end.

use tollgate_client::types::{JobState, StepDetails};

use super::row::SlurmRow;
use super::states::{SlurmState, SlurmStatus};

impl SlurmRow {
    /// Returns whether a step is one of the last attempt of the job or task of this row.
    pub fn has_step(&self, step: &StepDetails) -> bool {
        let job = &self.job;
        let is_waiting = self.waiting.is_some();
        let is_task = job.task.unwrap_or(0) == step.task.unwrap_or(0);
        !is_waiting && job.id == step.id && is_task && job.attempts == step.attempt
    }

    /// Returns the row of a step of this job or task. A step without an end ran as long as its job.
    pub fn of_step(&self, step: &StepDetails) -> Self {
        let mut row = self.clone();
        let hosts = step.hosts.iter();
        let hosts = hosts.map(|host| format!("{host}:1"));
        row.job.name.clone_from(&step.name);
        row.job.procs = step.procs;
        row.job.host = step.hosts.first().cloned();
        row.job.hosts = (step.hosts.len() > 1).then(|| hosts.collect::<Vec<_>>().join(","));
        row.job.started_at = Some(step.started_at.clone());
        row.job.cpu_s = None;
        row.job.peak_memory_bytes = None;
        if step.finished_at.is_some() {
            row.job.finished_at.clone_from(&step.finished_at);
        }
        row.status = status(self, step);
        row
    }
}

fn status(of: &SlurmRow, step: &StepDetails) -> SlurmStatus {
    let ended = step.exit_code.filter(|_| step.finished_at.is_some());
    let (state, exit) = match (ended, step.exit_signal) {
        (Some(_), Some(signal)) => {
            let is_cancelled = of.job.state == JobState::Cancelled;
            let state = match is_cancelled {
                true => SlurmState::Cancelled,
                false => SlurmState::Failed,
            };
            (state, (0, signal))
        }
        (Some(0), None) => (SlurmState::Completed, (0, 0)),
        (Some(code), None) => (SlurmState::Failed, (code, 0)),
        (None, _) if of.status.state.is_over() => (SlurmState::Cancelled, (0, 15)),
        (None, _) => (SlurmState::Running, (0, 0)),
    };
    SlurmStatus {
        state,
        reason: "None".into(),
        exit,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::job;
    use super::*;

    fn step(fields: serde_json::Value) -> StepDetails {
        let mut step = serde_json::json!({
            "id": 7, "attempt": 1, "step": 0, "name": "sim", "tasks": 2, "procs": 2, "hosts": ["n1", "n2"],
            "started_at": "2026-12-01T10:00:10Z",
        });
        let all = step.as_object_mut().unwrap();
        all.extend(fields.as_object().unwrap().clone());
        serde_json::from_value(step).unwrap()
    }

    fn shown(state: &str, ended: serde_json::Value) -> String {
        let of = job(serde_json::json!({
            "state": state, "status": "exit 0", "attempts": 1, "started_at": "2026-12-01T10:00:00Z",
        }));
        let of = SlurmRow::of_job(of).unwrap();
        let step = step(ended);
        assert!(of.has_step(&step));
        let row = of.of_step(&step);
        let (word, _) = row.status.state.words();
        format!(
            "{word} {} {}",
            row.status.exit_words(),
            row.hosts().join(",")
        )
    }

    #[test]
    fn step_without_an_end_has_that_of_its_job() {
        assert_eq!(shown("running", serde_json::json!({})), "RUNNING 0:0 n1,n2");
        assert_eq!(
            shown("finished", serde_json::json!({})),
            "CANCELLED 0:15 n1,n2"
        );
    }

    #[test]
    fn step_with_an_end_has_its_own() {
        let ended = |code: u8, signal: Option<u8>| {
            serde_json::json!({
                "finished_at": "2026-12-01T10:00:12Z", "exit_code": code, "exit_signal": signal,
            })
        };
        assert_eq!(shown("running", ended(0, None)), "COMPLETED 0:0 n1,n2");
        assert_eq!(shown("finished", ended(3, None)), "FAILED 3:0 n1,n2");
        assert_eq!(shown("finished", ended(137, Some(9))), "FAILED 0:9 n1,n2");
        assert_eq!(
            shown("cancelled", ended(143, Some(15))),
            "CANCELLED 0:15 n1,n2"
        );
    }

    #[test]
    fn steps_of_an_earlier_attempt_are_not_those_of_the_row() {
        let of = SlurmRow::of_job(job(serde_json::json!({"attempts": 2}))).unwrap();
        assert!(!of.has_step(&step(serde_json::json!({}))));
    }
}
