//! The dispatch rule, and the timetable that follows from it when run times are assumed.
//!
//! The jobs are taken in order. A job that fits starts; the first job that does not fit gets the only
//! reservation, and a later one starts if it fits beside it (EASY backfilling, Lifka 1995). No job starts
//! that would, by its reserved run time, still run when a maintenance window begins. The policy starts real
//! jobs by [`JobOrder::dispatch`], and a plan or a scenario calls the same function at every end that it
//! assumes: what is promised is what is done.
//!
//! Neighbours in the order that are alike are one [`JobGroup`], so that an array costs as much as its
//! waves, not as its tasks.

mod head_waves;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tollgate_model::{
    HostNameIndex, HostSlowdown, Instant, MaintenanceCalendar, ResourceCounts, Span,
};
use tollgate_policy::View;
use tollgate_policy::toolkit::BackfillWindow;

use super::host_times::HostChoice;
use super::proc_pool::{ProcPool, RunningGroup};

/// Number of groups under one summary: a scan for a job that fits skips blocks, not groups.
const BLOCK: usize = 32;

/// Waiting jobs that are alike and neighbours in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JobGroup {
    /// Processors of each job. At least 1.
    pub(super) procs: u32,
    /// Number of jobs.
    pub(super) count: u32,
    /// The assumed run time of each job.
    pub(super) run: Span,
    /// The run time by which the dispatch rule reserves and backfills; at least `run`.
    pub(super) reserved: Span,
    /// The deadline of each job.
    pub(super) due: Instant,
    /// Whether all processors of a job have to be on one host. This and the next three matter to a machine
    /// by hosts alone.
    pub(super) one_host: bool,
    /// The name of that host, if only hosts of one name will do; then `one_host` is true.
    pub(super) host: Option<HostNameIndex>,
    /// Devices of that host that each job takes.
    pub(super) devices: ResourceCounts,
    /// Licences that each job takes.
    pub(super) licences: ResourceCounts,
    /// The hosts on which they may run.
    pub(super) hosts: HostChoice,
    /// Number of times that each of them starts anew after a user has come to its host; [`u8::MAX`] without a limit.
    pub(super) restarts: u8,
}

impl JobGroup {
    /// Returns true if it matters on which hosts the jobs run.
    pub(super) fn needs_hosts(&self) -> bool {
        self.one_host
            || !self.devices.is_none()
            || !self.licences.is_none()
            || self.hosts != HostChoice::Any
    }

    /// Returns true if all processors of a job are on one host.
    pub(super) fn is_on_one_host(&self) -> bool {
        self.one_host || self.procs == 1
    }

    /// Returns true if the jobs may run on a host of this name.
    pub(super) fn accepts_host(&self, name: Option<HostNameIndex>) -> bool {
        self.host.is_none() || self.host == name
    }

    /// Returns the jobs as they run once they are promised.
    pub(super) fn promised(self, view: View<'_>) -> Self {
        let hosts = match self.hosts {
            HostChoice::Any if view.may_lose_hosts() => HostChoice::Promised,
            HostChoice::Any
            | HostChoice::Promised
            | HostChoice::Dedicated
            | HostChoice::SetAside => self.hosts,
        };
        Self { hosts, ..self }
    }

    /// Returns true if the jobs of both groups are alike.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        Self { count: 0, ..*self } == Self { count: 0, ..*other }
    }
}

/// The waiting jobs in order.
#[derive(Clone, Debug, Default)]
pub(super) struct JobOrder {
    groups: Vec<JobGroup>,
    /// Number of jobs of each group that wait.
    left: Vec<u32>,
    /// The first group with a job that waits.
    first: usize,
    blocks: Vec<BlockLeast>,
}

/// Number of classes of width: jobs of 1, 2, 3 to 4, 5 to 8, .. processors, and all that are wider.
const WIDTHS: usize = 12;

/// The least needs of the waiting jobs of a block of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BlockLeast {
    procs: u32,
    /// By class of width: the least reserved run time of the jobs up to that width.
    reserved: [Span; WIDTHS],
}

impl BlockLeast {
    const NONE: Self = Self {
        procs: u32::MAX,
        reserved: [Span::MAX; WIDTHS],
    };

    /// Returns false only if the summary is the same without this group of the block.
    fn is_due_to(&self, group: &JobGroup) -> bool {
        self.procs == group.procs || self.reserved[width_class(group.procs)] == group.reserved
    }

    /// Returns false only if no job of the block fits.
    fn may_fit(&self, window: &BackfillWindow, room: Span) -> bool {
        if self.reserved[WIDTHS - 1] > room {
            return false;
        }
        let may_end_in_time = self.reserved[width_class(window.idle)] <= window.length;
        may_end_in_time || self.procs <= window.extra.min(window.idle)
    }
}

/// Returns the class of a width: the exponent of the least power of two that is not below it.
fn width_class(procs: u32) -> usize {
    let exponent = u32::BITS - procs.saturating_sub(1).leading_zeros();
    (exponent as usize).min(WIDTHS - 1)
}

impl JobOrder {
    /// Creates an order of groups, none of which is empty.
    pub(super) fn new(groups: Vec<JobGroup>) -> Self {
        let left: Vec<u32> = groups.iter().map(|group| group.count).collect();
        let mut order = Self {
            groups,
            left,
            first: 0,
            blocks: Vec::new(),
        };
        order.blocks = (0..order.groups.len().div_ceil(BLOCK))
            .map(|block| order.least_of(block))
            .collect();
        order
    }

    fn is_done(&self) -> bool {
        self.first == self.groups.len()
    }

    fn least_of(&self, block: usize) -> BlockLeast {
        let range = block * BLOCK..((block + 1) * BLOCK).min(self.groups.len());
        let mut least = BlockLeast::NONE;
        for at in range.filter(|&at| self.left[at] > 0) {
            let group = &self.groups[at];
            least.procs = least.procs.min(group.procs);
            let reserved = &mut least.reserved[width_class(group.procs)];
            *reserved = group.reserved.min(*reserved);
        }
        for class in 1..WIDTHS {
            least.reserved[class] = least.reserved[class].min(least.reserved[class - 1]);
        }
        least
    }

    /// Starts every job that can start at the machine's instant, and reports the group and the number
    /// of jobs of each start, in order.
    pub(super) fn dispatch(
        &mut self,
        machine: &mut ProcPool<'_>,
        mut start: impl FnMut(usize, u32),
    ) {
        let Some(head) = self.start_heads(machine, &mut start) else {
            return;
        };
        let room = machine.room();
        if machine.idle == 0 || room == Span::ZERO {
            return;
        }
        let JobGroup {
            procs, reserved, ..
        } = self.groups[head];
        let mut reservation = machine.reservation(procs, reserved);
        let mut from = head + 1;
        while machine.idle > 0 {
            let window = reservation.window(machine.now, machine.idle);
            let Some(at) = self.next_fitting(from, &window, room) else {
                return;
            };
            let group = self.groups[at];
            let usable = if group.reserved <= window.length {
                window.idle
            } else {
                window.idle.min(window.extra)
            };
            let count = self.left[at].min(usable / group.procs);
            if group.reserved > window.length {
                reservation.extra -= count * group.procs;
            }
            self.launch(machine, at, count);
            start(at, count);
            from = at + 1;
        }
    }

    /// Starts jobs from the first on, until one does not fit; returns its group.
    fn start_heads(
        &mut self,
        machine: &mut ProcPool<'_>,
        start: &mut impl FnMut(usize, u32),
    ) -> Option<usize> {
        let room = machine.room();
        while !self.is_done() {
            let at = self.first;
            let count = match self.groups[at].reserved <= room {
                true => self.left[at].min(machine.idle / self.groups[at].procs),
                false => 0,
            };
            if count > 0 {
                self.launch(machine, at, count);
                start(at, count);
            }
            if self.left[at] > 0 {
                return Some(at);
            }
            while !self.is_done() && self.left[self.first] == 0 {
                self.first += 1;
            }
        }
        None
    }

    /// Returns the first group from `from` on with a job that fits.
    fn next_fitting(&self, from: usize, window: &BackfillWindow, room: Span) -> Option<usize> {
        let mut at = from;
        while at < self.groups.len() {
            let block = at / BLOCK;
            let end = ((block + 1) * BLOCK).min(self.groups.len());
            if self.blocks[block].may_fit(window, room) {
                let fits = |&at: &usize| {
                    let group = &self.groups[at];
                    self.left[at] > 0
                        && group.reserved <= room
                        && window.fits(group.procs, group.reserved)
                };
                if let Some(found) = (at..end).find(fits) {
                    return Some(found);
                }
            }
            at = end;
        }
        None
    }

    fn launch(&mut self, machine: &mut ProcPool<'_>, at: usize, count: u32) {
        let group = self.groups[at];
        machine.start(RunningGroup {
            end: machine.now + group.run,
            reserved_end: machine.now + group.reserved,
            procs: count * group.procs,
        });
        self.left[at] -= count;
        if self.left[at] == 0 && self.blocks[at / BLOCK].is_due_to(&group) {
            self.blocks[at / BLOCK] = self.least_of(at / BLOCK);
        }
    }
}

/// Starts of jobs of one group in a timetable: waves, of which each starts where the one before ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlannedStart {
    pub(super) group: usize,
    /// Number of jobs of each wave.
    pub(super) count: u32,
    /// Number of waves. At least 1.
    pub(super) waves: u32,
    /// The run time of each job; positive if there are several waves.
    pub(super) run: Span,
    /// How much slower the slowest of their hosts is.
    pub(super) slowdown: HostSlowdown,
    /// The end of the first wave.
    pub(super) end: Instant,
}

impl PlannedStart {
    /// Returns the starts of jobs that start together at an instant.
    pub(super) fn at(start: Instant, group: usize, count: u32, run: Span) -> Self {
        Self {
            group,
            count,
            waves: 1,
            run,
            slowdown: HostSlowdown::NONE,
            end: start + run,
        }
    }

    /// Returns the number of jobs.
    pub(super) fn n_jobs(&self) -> u32 {
        self.count * self.waves
    }

    /// Returns the start of the first wave.
    pub(super) fn start(&self) -> Instant {
        self.end - self.run
    }

    /// Returns the end of the last wave.
    pub(super) fn last_end(&self) -> Instant {
        self.end + self.run.times(self.waves - 1)
    }

    /// Returns the number of jobs that end by an instant.
    pub(super) fn n_ended_by(&self, due: Instant) -> u32 {
        match (self.end <= due, self.waves) {
            (false, _) => 0,
            (true, 1) => self.count,
            (true, waves) => self.count * waves.min(1 + self.run.number_in(due.since(self.end))),
        }
    }
}

/// Plays the dispatch rule forward from `now` with the assumed run times, and reports each start. It stops
/// when all jobs have started, those that are left never can, or `report` returns false.
pub(super) fn play(
    now: Instant,
    idle: u32,
    calendar: &MaintenanceCalendar,
    running: &[RunningGroup],
    groups: &[JobGroup],
    mut report: impl FnMut(PlannedStart) -> bool,
) {
    let mut machine = ProcPool::new(now, idle, running, calendar);
    let mut order = JobOrder::new(groups.to_vec());
    let running = running.iter().map(|&running| (running, NO_GROUP));
    let mut ends: BinaryHeap<AssumedEnd> = running.map(Reverse).collect();
    // The waves of the head are skipped once for each stretch in which nothing else ends.
    let mut may_skip = true;
    let mut goes_on = true;
    loop {
        let at = machine.now;
        order.dispatch(&mut machine, |group, count| {
            let JobGroup {
                procs,
                run,
                reserved,
                ..
            } = groups[group];
            let started = RunningGroup {
                end: at + run,
                reserved_end: at + reserved,
                procs: count * procs,
            };
            ends.push(Reverse((started, group)));
            goes_on &= report(PlannedStart::at(at, group, count, run));
        });
        if order.is_done() || !goes_on {
            return;
        }
        if may_skip && order.has_waves(&machine) {
            may_skip = false;
            if let Some(waves) = order.waves(&machine, &ends) {
                waves.skip(&mut machine, &mut order, &mut ends, |start| {
                    goes_on &= report(start);
                });
                if !goes_on {
                    return;
                }
            }
        }
        // Jobs that a window delays start when it ends.
        let reopening = calendar.next(machine.now).map(|window| window.until);
        let end = ends.peek().map(|Reverse((next, _))| next.end);
        if let Some(reopening) = reopening
            && end.is_none_or(|end| reopening < end)
        {
            machine.now = reopening;
            continue;
        }
        let Some(&Reverse((next, _))) = ends.peek() else {
            return;
        };
        while let Some(&Reverse((other, group))) = ends.peek()
            && other.end == next.end
        {
            ends.pop();
            machine.end(other);
            may_skip |= group != order.first;
        }
    }
}

/// The group of what ran before the timetable began.
pub(super) const NO_GROUP: usize = usize::MAX;

/// An assumed end, and the group of the jobs that end: the next one is on top of a heap.
type AssumedEnd = Reverse<(RunningGroup, usize)>;
