//! Processors that are all alike, and the jobs that run on them.

use std::collections::VecDeque;

use tollgate_model::{Instant, MaintenanceCalendar, Span};
use tollgate_policy::toolkit::HeadReservation;

/// A running job, or several that end together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunningGroup {
    /// The assumed end.
    pub(super) end: Instant,
    /// The end by which the dispatch rule reserves; not before `end`.
    pub(super) reserved_end: Instant,
    /// Processors of all its jobs.
    pub(super) procs: u32,
}

/// Processors that are all alike, at an instant.
#[derive(Clone, Debug)]
pub(super) struct ProcPool<'a> {
    pub(super) now: Instant,
    pub(super) idle: u32,
    pub(super) calendar: &'a MaintenanceCalendar,
    /// The running jobs as the dispatch rule sees them: the end by which it reserves, and processors;
    /// ascending. Jobs that end are at the front and jobs that start near the back, so that few entries move.
    pub(super) reserved_ends: VecDeque<(Instant, u32)>,
}

impl<'a> ProcPool<'a> {
    /// Creates a machine with idle processors and running jobs.
    pub(super) fn new(
        now: Instant,
        idle: u32,
        running: &[RunningGroup],
        calendar: &'a MaintenanceCalendar,
    ) -> Self {
        let ends = running
            .iter()
            .map(|group| (group.reserved_end, group.procs));
        let mut reserved_ends: Vec<(Instant, u32)> = ends.collect();
        reserved_ends.sort_unstable();
        Self {
            now,
            idle,
            calendar,
            reserved_ends: reserved_ends.into(),
        }
    }

    /// Returns the longest reserved run time of a job that may start now.
    pub(super) fn room(&self) -> Span {
        self.calendar.room(self.now)
    }

    pub(super) fn start(&mut self, running: RunningGroup) {
        self.idle -= running.procs;
        let entry = (running.reserved_end, running.procs);
        let at = self.reserved_ends.partition_point(|known| *known < entry);
        self.reserved_ends.insert(at, entry);
    }

    pub(super) fn end(&mut self, running: RunningGroup) {
        self.now = running.end;
        self.idle += running.procs;
        let entry = (running.reserved_end, running.procs);
        let at = self.reserved_ends.partition_point(|known| *known < entry);
        self.reserved_ends.remove(at);
    }

    /// Returns the reservation of a job that cannot start now: it needs `procs` processors, and as much time
    /// as `reserved` before a maintenance window. A job that has both, and delays others, waits for the next
    /// end.
    pub(super) fn reservation(&self, procs: u32, reserved: Span) -> HeadReservation {
        let waits_for_window = procs <= self.idle && reserved > self.room();
        let at = match waits_for_window {
            true => self.now,
            false => self.free_at(procs),
        };
        if at == Instant::MAX {
            return HeadReservation { at, extra: 0 };
        }
        let at = self.calendar.first_start(at, reserved);
        let freed = self.reserved_ends.iter().take_while(|end| end.0 <= at);
        let free = self.idle + freed.map(|end| end.1).sum::<u32>();
        HeadReservation {
            at,
            extra: free - procs,
        }
    }

    /// Returns the first instant from the next end on at which this many processors are free.
    fn free_at(&self, procs: u32) -> Instant {
        let mut free = self.idle;
        for &(at, freed) in &self.reserved_ends {
            free += freed;
            if free >= procs {
                return at;
            }
        }
        Instant::MAX
    }
}
