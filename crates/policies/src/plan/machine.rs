//! The machine of a plan: one pool of processors, or its hosts where it matters on which of them jobs
//! run.

use tollgate_model::{Instant, JobId, MaintenanceCalendar};
use tollgate_policy::{HostPart, View};

use super::free_profile::RunningUntil;
use super::host_future::HostFuture;
use super::host_machine::HostMachine;
use super::proc_pool::{ProcPool, RunningGroup};
use super::timetable::{self, JobGroup, JobOrder, PlannedStart};

/// A running job with its assumed end, and the end by which the dispatch rule reserves.
pub(super) type AssumedRun = (JobId, Instant, Instant);

/// The processors at an instant, with the running jobs.
#[derive(Clone, Debug)]
pub(super) enum PlanMachine {
    /// All processors are alike.
    Pool {
        now: Instant,
        idle: u32,
        calendar: MaintenanceCalendar,
        running: Vec<RunningGroup>,
    },
    /// Processors differ by host.
    Hosts(HostMachine),
}

impl PlanMachine {
    /// Creates the machine of the view's instant, on which running jobs end at these instants.
    pub(super) fn until(
        view: View<'_>,
        by_host: bool,
        running: &[RunningUntil],
        hosts: &HostFuture,
    ) -> Self {
        let runs = running.iter().map(|&(id, end)| (id, end, end));
        Self::new(view, by_host, runs, hosts)
    }

    /// Creates the machine of the view's instant. `by_host` says whether it matters where jobs run; only then users come
    /// to desktops, and further hosts come, as in `hosts`.
    pub(super) fn new(
        view: View<'_>,
        by_host: bool,
        running: impl Iterator<Item = AssumedRun>,
        hosts: &HostFuture,
    ) -> Self {
        if by_host {
            let mut machine = HostMachine::new(view, hosts);
            for (id, end, reserved_end) in running {
                machine.add_running(view, id, end, reserved_end);
            }
            return Self::Hosts(machine);
        }
        let groups = running.map(|(id, end, reserved_end)| RunningGroup {
            end,
            reserved_end,
            procs: view.released_procs(view.job(id)),
        });
        Self::Pool {
            now: view.now,
            idle: view.n_idle(),
            calendar: view.maintenance().clone(),
            // Nothing starts where a job ends on a node that is drained.
            running: groups.filter(|group| group.procs > 0).collect(),
        }
    }

    /// Plays the dispatch rule forward with the assumed run times; see [`timetable::play`].
    pub(super) fn play(&self, groups: &[JobGroup], report: impl FnMut(PlannedStart) -> bool) {
        match self {
            Self::Pool {
                now,
                idle,
                calendar,
                running,
            } => timetable::play(*now, *idle, calendar, running, groups, report),
            Self::Hosts(hosts) => hosts.clone().play(groups, report),
        }
    }

    /// Returns the machine after one job of a group has started on these hosts, of which there is one where it
    /// does not matter on which jobs run.
    pub(super) fn with_started(&self, group: &JobGroup, parts: &[(usize, u32)]) -> Self {
        let mut with = self.clone();
        match &mut with {
            Self::Pool {
                now, idle, running, ..
            } => {
                *idle -= group.procs;
                running.push(RunningGroup {
                    end: *now + group.run,
                    reserved_end: *now + group.reserved,
                    procs: group.procs,
                });
            }
            Self::Hosts(hosts) => hosts.launch_on(group, parts),
        }
        with
    }

    /// Returns the machine whose first free processors are kept for a job until it ends, if the machine is
    /// one pool. These are those that are idle, and then those of the running jobs that end first.
    pub(super) fn with_kept(&self, procs: u32, until: Instant) -> Option<Self> {
        let mut with = self.clone();
        let Self::Pool { idle, running, .. } = &mut with else {
            return None;
        };
        let kept = |procs| RunningGroup {
            end: until,
            reserved_end: until,
            procs,
        };
        let mut missing = procs - procs.min(*idle);
        running.sort_unstable_by_key(|group| group.reserved_end);
        let n_running = running.len();
        running.push(kept(procs - missing));
        *idle -= procs - missing;
        for at in 0..n_running {
            let taken = missing.min(running[at].procs);
            missing -= taken;
            running[at].procs -= taken;
            running.push(kept(taken));
        }
        running.retain(|group| group.procs > 0);
        (missing == 0).then_some(with)
    }

    /// Reports each job that the dispatch rule starts now by its group, with its hosts if they matter.
    pub(super) fn dispatch(
        self,
        groups: Vec<JobGroup>,
        mut start: impl FnMut(usize, Option<Vec<HostPart>>),
    ) {
        match self {
            Self::Pool {
                now,
                idle,
                calendar,
                running,
            } => {
                let mut pool = ProcPool::new(now, idle, &running, &calendar);
                JobOrder::new(groups).dispatch(&mut pool, |group, count| {
                    (0..count).for_each(|_| start(group, None));
                });
            }
            Self::Hosts(mut hosts) => {
                let mut left: Vec<u32> = groups.iter().map(|group| group.count).collect();
                hosts.dispatch(&groups, &mut left, |hosts, group, count, parts| {
                    (0..count).for_each(|_| start(group, Some(hosts.host_parts(parts))));
                });
            }
        }
    }
}
