//! The load of the host, and the demand of the attempts that run.

use tollgate_engine::{AttemptDemand, HostLoad};

use super::RunnerSupervisor;
use super::task::RunnerTask;
use crate::demand::{MAX_ATTEMPTS, processors_and_runnable};
use crate::process::stop;

impl RunnerSupervisor {
    /// Returns the load of the host, if the kernel says what it is.
    pub(super) fn host_load(&mut self) -> Option<HostLoad> {
        let (processors, runnable) = processors_and_runnable()?;
        let tasks = &self.tasks;
        let runs = |attempt| tasks.get(&attempt).and_then(RunnerTask::process).is_some();
        self.demand.retain(runs);
        let running = tasks
            .iter()
            .filter_map(|(attempt, task)| Some((*attempt, task, task.process()?)));
        let mut attempts = Vec::new();
        for (attempt, task, process) in running.take(MAX_ATTEMPTS) {
            let mark = self.host.runner_id.mark(attempt);
            let processes = stop::processes(&process.group, &mark);
            if let Some(times) = self.demand.look(attempt, &processes) {
                attempts.push(AttemptDemand {
                    attempt,
                    nodes: u32::try_from(task.launch.nodes.len())
                        .unwrap_or(u32::MAX)
                        .max(1),
                    is_alone: !task.has_own_share,
                    ran: times.ran(),
                    waited: times.waited(),
                });
            }
        }
        Some(HostLoad {
            processors,
            runnable,
            attempts,
        })
    }
}
