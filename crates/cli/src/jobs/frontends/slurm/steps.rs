//! The steps of jobs, as the service has recorded them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use tollgate_client::types::{StepDetails, StepList};
use tollgate_client::{ApiClient, ClientError};
use tollgate_frontends::slurm::SlurmRow;

use super::failure::SlurmFailure;

/// The maximum number of jobs in one request.
const JOBS_AT_ONCE: usize = 500;

/// Steps by the number of their job.
#[derive(Debug, Default)]
pub(super) struct JobSteps(BTreeMap<u64, Vec<StepDetails>>);

impl JobSteps {
    /// Asks for the steps of the jobs in rows.
    pub(super) fn of(client: &mut ApiClient, rows: &[SlurmRow]) -> Result<Self, SlurmFailure> {
        let started = rows.iter().filter(|row| row.job.attempts > 0);
        let mut ids: Vec<u64> = started.map(|row| row.job.id).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut steps: BTreeMap<u64, Vec<StepDetails>> = BTreeMap::new();
        for ids in ids.chunks(JOBS_AT_ONCE) {
            let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
            let list = match client.get::<StepList>(&format!("/v1/steps?ids={}", ids.join(","))) {
                Ok(list) => list,
                // An earlier service records none.
                Err(ClientError::Refused { status, .. }) if status.as_u16() == 404 => {
                    return Ok(Self::default());
                }
                Err(error) => return Err(error.into()),
            };
            if list.more {
                // A closed standard error is ignored.
                let _ = writeln!(
                    io::stderr().lock(),
                    "sacct: note: not every step is listed; name fewer jobs, as in -j"
                );
            }
            for step in list.steps {
                steps.entry(step.id).or_default().push(step);
            }
        }
        Ok(Self(steps))
    }

    /// Returns the steps of the last attempt of a job or task, ascending.
    pub(super) fn of_row<'a>(
        &'a self,
        row: &'a SlurmRow,
    ) -> impl Iterator<Item = &'a StepDetails> + 'a {
        let steps = self.0.get(&row.job.id).into_iter().flatten();
        steps.filter(|step| row.has_step(step))
    }
}
