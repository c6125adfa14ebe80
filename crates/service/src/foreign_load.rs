//! Load of hosts that is not of jobs: it slows the tasks there, and their promises may be at risk.

use std::collections::BTreeSet;

use tollgate_gate::{GateInput, WorkerId};
use tollgate_model::{ForeignLoad, HostSlowdown, TaskId};
use tollgate_policy::Host;

use crate::active_task::ActiveTask;
use crate::core::Core;
use crate::output::{CommandError, PromiseRisk, StepOutput};

impl Core {
    /// Takes note of how much slower work is on a worker's host, and reports the promises that this puts at risk.
    pub(crate) fn slow_worker(
        &mut self,
        (worker, incarnation): (WorkerId, u32),
        slowdown: HostSlowdown,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let input = GateInput::WorkerSlowed {
            worker,
            incarnation,
            slowdown,
        };
        self.apply_input(input, step)?;
        self.look_ahead.clear();
        let before = self.jobs.risks.by_cause(PromiseRisk::HostSlowed);
        let tasks = self.jobs.iter();
        let now = tasks.filter(|(_, live)| self.load_at(live).is_some());
        let jobs: BTreeSet<u64> = before.chain(now.map(|(task, _)| task.job)).collect();
        for job in jobs {
            self.look_at_promise(job, step);
        }
        Ok(())
    }

    /// Returns how much longer work takes on the slowest of the hosts that are up.
    pub(crate) fn slowest_host(&self) -> HostSlowdown {
        let view = self.gate.view(self.now);
        let up = view
            .hosts()
            .iter()
            .filter(|host| view.n_up_in(host.nodes) > 0);
        up.map(Host::slowdown).max().unwrap_or_default()
    }

    /// Returns the load that is not of jobs on the slowest host of a running task, as far as it slows the task.
    pub fn foreign_load_of(&self, task: impl Into<TaskId>) -> Option<ForeignLoad> {
        self.load_at(self.jobs.get(task.into())?)
    }

    /// Returns how much longer the rest of the work of a running task takes.
    pub(crate) fn slowdown_at(&self, live: &ActiveTask) -> HostSlowdown {
        self.load_at(live)
            .map_or(HostSlowdown::NONE, |load| load.slowdown)
    }

    pub(crate) fn load_at(&self, live: &ActiveTask) -> Option<ForeignLoad> {
        let view = self.gate.view(self.now);
        let job = view.find_job(live.slot).filter(|_| live.is_running())?;
        let hosts = view.hosts().iter().filter(|host| {
            let mut placement = job.placement().iter();
            placement.any(|range| range.touches(host.nodes))
        });
        let loads = hosts.filter_map(|host| host.foreign_load);
        loads.max_by_key(|load| load.slowdown)
    }
}
