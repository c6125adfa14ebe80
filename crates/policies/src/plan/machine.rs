//! The machine of a plan: one pool of processors, or its hosts where it matters on which of them jobs
//! run.

use tollgate_model::{Instant, JobId, MaintenanceCalendar};
use tollgate_policy::toolkit::HeadReservation;
use tollgate_policy::{HostPart, View};

use super::host_machine::{HostMachine, HostReservation, RoomPart};
use super::timetable::{self, JobGroup, JobOrder, PlannedStart, ProcPool, RunningGroup};

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

/// Where a job can start.
#[derive(Clone, Debug)]
pub(super) enum StartPlace {
    /// On any processors.
    Anywhere,
    /// On these hosts.
    Hosts(Vec<RoomPart>),
}

/// The reservation of a job that cannot start yet.
#[derive(Clone, Debug)]
pub(super) enum PlanReservation {
    /// In a pool.
    Pool(HeadReservation),
    /// On hosts.
    Hosts(HostReservation),
}

impl PlanMachine {
    /// Creates the machine of the view's instant. `by_host` says whether it matters where jobs run.
    pub(super) fn new(
        view: View<'_>,
        by_host: bool,
        running: impl Iterator<Item = AssumedRun>,
    ) -> Self {
        if by_host {
            let mut machine = HostMachine::new(view);
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

    /// Returns where a job of a group can start now.
    pub(super) fn place(&self, group: &JobGroup) -> Option<StartPlace> {
        match self {
            Self::Pool {
                now,
                idle,
                calendar,
                ..
            } => {
                let fits = group.procs <= *idle && group.reserved <= calendar.room(*now);
                fits.then_some(StartPlace::Anywhere)
            }
            Self::Hosts(hosts) => hosts.place(group).map(StartPlace::Hosts),
        }
    }

    /// Returns where a job can start now without delaying the one with the reservation.
    pub(super) fn place_beside(
        &self,
        group: &JobGroup,
        head: &PlanReservation,
    ) -> Option<StartPlace> {
        match (self, head) {
            (Self::Pool { now, idle, .. }, PlanReservation::Pool(head)) => {
                let window = head.window(*now, *idle);
                let fits = window.fits(group.procs, group.reserved);
                self.place(group).filter(|_| fits)
            }
            (Self::Hosts(hosts), PlanReservation::Hosts(head)) => {
                hosts.place_beside(group, head).map(StartPlace::Hosts)
            }
            (Self::Pool { .. }, PlanReservation::Hosts(_))
            | (Self::Hosts(_), PlanReservation::Pool(_)) => None,
        }
    }

    /// Returns the reservation of a job that cannot start now.
    pub(super) fn reservation(&self, group: &JobGroup) -> PlanReservation {
        match self {
            Self::Pool {
                now,
                idle,
                calendar,
                running,
            } => {
                let pool = ProcPool::new(*now, *idle, running, calendar);
                PlanReservation::Pool(pool.reservation(group.procs, group.reserved))
            }
            Self::Hosts(hosts) => PlanReservation::Hosts(hosts.reservation(group)),
        }
    }

    /// Returns the hosts of a place, if it names them.
    pub(super) fn host_parts(&self, place: &StartPlace) -> Option<Vec<HostPart>> {
        match (self, place) {
            (Self::Hosts(hosts), StartPlace::Hosts(parts)) => Some(hosts.host_parts(parts)),
            (Self::Pool { .. } | Self::Hosts(_), _) => None,
        }
    }

    /// Returns the machine after one job of a group has started; None if it does not fit.
    pub(super) fn with_started(&self, group: &JobGroup) -> Option<Self> {
        let place = self.place(group)?;
        let mut with = self.clone();
        match (&mut with, place) {
            (
                Self::Pool {
                    now, idle, running, ..
                },
                _,
            ) => {
                *idle -= group.procs;
                running.push(RunningGroup {
                    end: *now + group.run,
                    reserved_end: *now + group.reserved,
                    procs: group.procs,
                });
            }
            (Self::Hosts(hosts), StartPlace::Hosts(parts)) => hosts.launch(group, 1, &parts),
            (Self::Hosts(_), StartPlace::Anywhere) => return None,
        }
        Some(with)
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

    /// Reports each job that the dispatch rule starts now by its group, with its hosts if they matter.
    /// Each group has one job.
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
                JobOrder::new(groups).dispatch(&mut pool, |group, _| start(group, None));
            }
            Self::Hosts(mut hosts) => {
                let mut left = vec![1; groups.len()];
                hosts.dispatch(&groups, &mut left, |hosts, group, _, parts| {
                    start(group, Some(hosts.host_parts(parts)));
                });
            }
        }
    }
}
