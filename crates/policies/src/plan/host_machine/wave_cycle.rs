//! Equal waves of the first group on hosts, which a timetable skips by arithmetic.
//!
//! Assume that nothing but jobs of the first waiting group ends and starts. Then the machine is after one of
//! their run times as it was before, but for the jobs that are left. So it is after each further one. Where
//! jobs of several processors move between hosts it need not be; then every wave is played.

use tollgate_model::{Instant, Span};

use super::super::host_times::HostChoice;
use super::super::timetable::{JobGroup, PlannedStart};
use super::{FreeRooms, HostMachine, HostRun};

/// The starts since an instant at which jobs of the first waiting group started: only jobs of that group have
/// started, and no other waiting job had a place.
#[derive(Clone, Debug)]
pub(super) struct WaveCycle {
    head: usize,
    /// The run time of each of its jobs, and the time that the dispatch rule reserves.
    run: Span,
    reserved: Span,
    hosts: HostChoice,
    since: Instant,
    free: FreeRooms,
    /// The running jobs of the group.
    runs: Vec<HostRun>,
    /// The jobs that have started after that instant.
    starts: Vec<PlannedStart>,
}

/// Waves that follow each other, of all that started in the last of them.
pub(super) struct EqualWaves<'a> {
    cycle: &'a WaveCycle,
    /// Their number. At least 1.
    n: u32,
}

impl WaveCycle {
    /// Goes on with a cycle, or begins one, after a dispatch in which these jobs have started; None if something else
    /// happens.
    pub(super) fn noted(
        before: Option<Self>,
        machine: &HostMachine,
        groups: &[JobGroup],
        left: &[u32],
        starts: &[PlannedStart],
    ) -> Option<Self> {
        let head = left.iter().position(|&jobs| jobs > 0)?;
        let JobGroup {
            run,
            reserved,
            hosts,
            ..
        } = groups[head];
        let is_long = left[head] as usize > 2 * machine.runs.len();
        let is_alone = starts.iter().all(|start| start.group == head);
        let waits_for_hosts = reserved <= machine.calendar.room(machine.now);
        let is_steady = is_long && is_alone && waits_for_hosts && run > Span::ZERO;
        if !is_steady || machine.has_place_beside(head, groups, left) {
            return None;
        }
        let goes_on = before.filter(|cycle| cycle.head == head && machine.now <= cycle.since + run);
        if let Some(mut cycle) = goes_on {
            cycle.starts.extend_from_slice(starts);
            return Some(cycle);
        }
        (!starts.is_empty()).then(|| Self {
            head,
            run,
            reserved,
            hosts,
            since: machine.now,
            free: machine.free.clone(),
            runs: machine.runs_of(head).cloned().collect(),
            starts: Vec::new(),
        })
    }

    /// Returns the waves that need not be played, if the machine is as it was one run time ago.
    pub(super) fn waves(&self, machine: &HostMachine, left: &[u32]) -> Option<EqualWaves<'_>> {
        if machine.now != self.since + self.run || !self.is_over(machine) {
            return None;
        }
        let n_started: u32 = self.starts.iter().map(PlannedStart::n_jobs).sum();
        let by_jobs = (left[self.head] - 1) / n_started;
        let n = by_jobs.min(self.run.number_in(self.until(machine).since(machine.now)));
        (n > 0).then_some(EqualWaves { cycle: self, n })
    }

    fn is_over(&self, machine: &HostMachine) -> bool {
        let later = |run: &HostRun| HostRun {
            end: run.end + self.run,
            reserved_end: run.reserved_end + self.run,
            ..run.clone()
        };
        !self.starts.is_empty()
            && machine.free == self.free
            && machine
                .runs_of(self.head)
                .cloned()
                .eq(self.runs.iter().map(later))
    }

    /// Returns the last instant up to which the waves are equal: before another job ends, and while the hosts stay and
    /// the next window is far enough.
    fn until(&self, machine: &HostMachine) -> Instant {
        let others = machine.runs.iter().filter(|run| run.group != self.head);
        let ends = others.map(|run| run.end - Span::TICK);
        let rooms = machine.free.rooms.iter();
        let last_starts = rooms.map(|room| room.times.last_end(self.hosts) - self.reserved);
        let open = last_starts.filter(|&last| self.since <= last);
        let window = machine.calendar.next(machine.now);
        let window = window.map(|window| window.from - self.reserved);
        let all = ends.chain(open).chain(window);
        all.min().unwrap_or(Instant::MAX)
    }
}

impl EqualWaves<'_> {
    /// Moves a timetable to the last start of the last of the waves.
    pub(super) fn skip(
        &self,
        machine: &mut HostMachine,
        left: &mut [u32],
        mut report: impl FnMut(PlannedStart),
    ) {
        let WaveCycle {
            head, run, starts, ..
        } = self.cycle;
        for start in starts {
            left[*head] -= self.n * start.n_jobs();
            report(PlannedStart {
                waves: self.n,
                end: start.end + *run,
                ..*start
            });
        }
        let by = run.times(self.n);
        machine.now += by;
        for run in machine.runs.iter_mut().filter(|run| run.group == *head) {
            run.end += by;
            run.reserved_end += by;
        }
        machine.runs.sort_by_key(|run| run.reserved_end);
    }
}

impl HostMachine {
    /// Returns the running jobs of a group, in the order in which their hosts are reserved.
    fn runs_of(&self, group: usize) -> impl Iterator<Item = &HostRun> {
        self.runs.iter().filter(move |run| run.group == group)
    }

    /// Returns whether a waiting job of another group would have a place now, whomever it delays.
    fn has_place_beside(&self, head: usize, groups: &[JobGroup], left: &[u32]) -> bool {
        let has_idle = self.free.rooms.iter().any(|room| room.idle > 0);
        let mut others = (head + 1..groups.len()).filter(|&group| left[group] > 0);
        has_idle && others.any(|group| self.free.place(&groups[group], self.now).is_some())
    }
}
