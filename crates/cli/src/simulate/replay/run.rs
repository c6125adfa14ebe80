//! Runs every policy over the jobs, with a bar on a terminal, and writes the files of the schedules.

use std::path::Path;

use tollgate_replay::{JobCsvWriter, PolicyAnswer, ReplayInput, RunControl, run_policies};
use tollgate_sim::{ReplayResult, StopSignal};

use super::gantt::{self, PolicySchedule};
use super::plan::ReplayPlan;
use crate::exit::CliFailure;
use crate::output::atomic::AtomicOutput;
use crate::output::progress::CountProgress;

/// Runs every policy over the same jobs. The results are in the requested order, and do not depend
/// on the number of threads.
pub(super) fn run_all_policies(
    plan: &ReplayPlan,
    input: &ReplayInput,
) -> Result<Vec<PolicyAnswer>, CliFailure> {
    let mut jobs_out = match &plan.jobs_out {
        Some(path) => Some(JobsCsvFile::create(path, input)?),
        None => None,
    };
    let n_runs = plan.settings.policies.len() * input.machines.len();
    let n_replays = n_runs * (1 + input.reseeded.len());
    let bar = CountProgress::on_terminal((input.workload.len() * n_replays) as u64, "jobs");
    let advance = bar.as_ref().map(|bar| |jobs: u64| bar.advance(jobs));
    let control = RunControl {
        threads: plan.threads(),
        stop: StopSignal::default(),
        progress: advance.as_ref().map(|advance| advance as _),
    };
    let mut schedules = Vec::new();
    let done = run_policies(
        &plan.settings,
        input,
        &control,
        |answer, replay| -> Result<(), CliFailure> {
            if let (Some(jobs_out), Some(replay)) = (&mut jobs_out, &replay) {
                jobs_out.write(&answer.policy, replay)?;
            }
            if let Some(replay) = replay.filter(|_| plan.gantt.is_some()) {
                let policy = answer.policy.clone();
                schedules.push(PolicySchedule { policy, replay });
            }
            Ok(())
        },
    );
    drop(bar);
    let answers = done?;
    if let Some(path) = &plan.gantt {
        gantt::write(path, input, &schedules)?;
    }
    if let Some(jobs_out) = jobs_out {
        jobs_out.finish()?;
    }
    Ok(answers)
}

/// The file with a row for each policy and job, open for writing.
struct JobsCsvFile<'a> {
    file: String,
    rows: JobCsvWriter<'a, AtomicOutput>,
}

impl<'a> JobsCsvFile<'a> {
    /// Creates the file and writes its header, before the first policy runs.
    fn create(path: &Path, input: &'a ReplayInput) -> Result<Self, CliFailure> {
        let file = path.display().to_string();
        let rows = AtomicOutput::file(path).and_then(|out| JobCsvWriter::new(out, &input.workload));
        match rows {
            Ok(rows) => Ok(Self { file, rows }),
            Err(error) => Err(CliFailure::write_failed(file, error)),
        }
    }

    /// Writes the outcome of every job under a policy.
    fn write(&mut self, policy: &str, replay: &ReplayResult) -> Result<(), CliFailure> {
        let written = self.rows.write(policy, replay);
        written.map_err(|error| CliFailure::write_failed(self.file.clone(), error))
    }

    /// Writes out all buffered rows.
    fn finish(self) -> Result<(), CliFailure> {
        let written = self.rows.finish().and_then(AtomicOutput::finish);
        written.map_err(|error| CliFailure::write_failed(self.file, error))
    }
}
