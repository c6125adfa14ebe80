//! The dispatch rule, and the timetable that follows from it when run times are assumed.
//!
//! The jobs are taken in order. What fits starts; the first job that does not fit gets the only
//! reservation, and a later one starts if it fits beside it (EASY backfilling, Lifka 1995). No job
//! starts that would, by its reserved run time, still run when a maintenance window begins. The policy
//! starts real jobs by [`JobOrder::dispatch`], and a plan or a scenario calls the same function at
//! every end that it assumes: what is promised is what is done.
//!
//! Neighbours in the order that are alike are one [`JobGroup`], so that an array costs as much as its
//! waves, not as its tasks.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use tollgate_model::{HostNameIndex, Instant, MaintenanceCalendar, ResourceCounts, Span};
use tollgate_policy::toolkit::{BackfillWindow, HeadReservation};

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
}

impl JobGroup {
    /// Returns true if it matters on which hosts the jobs run.
    pub(super) fn needs_hosts(&self) -> bool {
        self.one_host || !self.devices.is_none() || !self.licences.is_none()
    }

    /// Returns true if the jobs may run on a host of this name.
    pub(super) fn accepts_host(&self, name: Option<HostNameIndex>) -> bool {
        self.host.is_none() || self.host == name
    }

    /// Returns true if the jobs of both groups are alike.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        Self { count: 0, ..*self } == Self { count: 0, ..*other }
    }
}

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
    calendar: &'a MaintenanceCalendar,
    /// The running jobs as the dispatch rule sees them: the end by which it reserves, and processors;
    /// ascending. What ends is at the front and what starts near the back, so that little is moved.
    reserved_ends: VecDeque<(Instant, u32)>,
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

    fn start(&mut self, running: RunningGroup) {
        self.idle -= running.procs;
        let entry = (running.reserved_end, running.procs);
        let at = self.reserved_ends.partition_point(|known| *known < entry);
        self.reserved_ends.insert(at, entry);
    }

    fn end(&mut self, running: RunningGroup) {
        self.now = running.end;
        self.idle += running.procs;
        let entry = (running.reserved_end, running.procs);
        let at = self.reserved_ends.partition_point(|known| *known < entry);
        self.reserved_ends.remove(at);
    }

    /// Returns the reservation of a job that cannot start now: it needs `procs` processors, and as much
    /// time as `reserved` before a maintenance window. What has both, and delays others, waits for the
    /// next end.
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

/// Plays the dispatch rule forward from `now` with the assumed run times, and reports each start, until
/// all jobs have started, those that are left never can, or `report` returns false.
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
        // What a window holds up starts when it ends.
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
const NO_GROUP: usize = usize::MAX;

/// An assumed end, and the group of the jobs that end: the next one is on top of a heap.
type AssumedEnd = Reverse<(RunningGroup, usize)>;

/// Waves of the first group in the order, between which nothing else happens: whenever some of its jobs end, as many
/// start in their place.
struct HeadWaves {
    head: usize,
    /// Number of waves.
    n: u32,
    /// Number of jobs of each wave.
    width: u32,
}

impl JobOrder {
    /// Returns whether the waiting jobs of the first group would fill the machine twice.
    fn has_waves(&self, machine: &ProcPool<'_>) -> bool {
        let busy = machine.reserved_ends.len() as u32;
        self.left[self.first] > 2 * busy.max(1)
    }

    /// Returns the waves of the first group from now on that the timetable need not play one by one, after a dispatch.
    fn waves(&self, machine: &ProcPool<'_>, ends: &BinaryHeap<AssumedEnd>) -> Option<HeadWaves> {
        let head = self.first;
        let JobGroup {
            procs,
            run,
            reserved,
            ..
        } = self.groups[head];
        let waits_for_procs = machine.idle < procs && reserved <= machine.room();
        let others = &self.blocks[head / BLOCK..];
        if !waits_for_procs || run <= Span::ZERO || others.iter().any(|of| of.procs <= machine.idle)
        {
            return None;
        }
        // The last start of which nothing has to be known: before another end, and clear of the next window.
        let window = machine.calendar.next(machine.now);
        let mut until = window.map_or(Instant::MAX, |window| window.from - reserved);
        let (mut width, mut last_end) = (0, machine.now);
        for &Reverse((other, group)) in ends {
            match group == head {
                true => {
                    width += other.procs / procs;
                    last_end = last_end.max(other.end);
                }
                false => until = until.min(other.end - Span::TICK),
            }
        }
        if width == 0 || last_end > until {
            return None;
        }
        let by_time = 1u32.saturating_add(run.number_in(until.since(last_end)));
        let n = by_time.min((self.left[head] - 1) / width);
        (n > 1).then_some(HeadWaves { head, n, width })
    }
}

impl HeadWaves {
    /// Moves a timetable to the start of the last of the waves.
    fn skip(
        &self,
        machine: &mut ProcPool<'_>,
        order: &mut JobOrder,
        ends: &mut BinaryHeap<AssumedEnd>,
        mut report: impl FnMut(PlannedStart),
    ) {
        let JobGroup { procs, run, .. } = order.groups[self.head];
        let by = run.times(self.n);
        order.left[self.head] -= self.n * self.width;
        let mut entries = std::mem::take(ends).into_vec();
        entries.sort_unstable_by_key(|&Reverse(entry)| entry);
        for Reverse((entry, group)) in &mut entries {
            if *group != self.head {
                continue;
            }
            report(PlannedStart {
                group: self.head,
                count: entry.procs / procs,
                waves: self.n,
                run,
                end: entry.end + run,
            });
            machine.end(*entry);
            machine.now += run.times(self.n - 1);
            entry.end += by;
            entry.reserved_end += by;
            machine.start(*entry);
        }
        *ends = entries.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tollgate_model::MaintenanceWindow;

    fn at(secs: i64) -> Instant {
        Instant::from_secs(secs)
    }

    fn group(procs: u32, count: u32, run: i64, reserved: i64) -> JobGroup {
        JobGroup {
            procs,
            count,
            run: Span::from_secs(run),
            reserved: Span::from_secs(reserved),
            due: Instant::MAX,
            one_host: false,
            host: None,
            devices: ResourceCounts::NONE,
            licences: ResourceCounts::NONE,
        }
    }

    fn running(procs: u32, end: i64, reserved_end: i64) -> RunningGroup {
        RunningGroup {
            end: at(end),
            reserved_end: at(reserved_end),
            procs,
        }
    }

    /// Returns (group, count, end in seconds) of each start.
    fn starts(idle: u32, running: &[RunningGroup], groups: &[JobGroup]) -> Vec<(usize, u32, i64)> {
        starts_around(&MaintenanceCalendar::default(), idle, running, groups)
    }

    fn starts_around(
        calendar: &MaintenanceCalendar,
        idle: u32,
        running: &[RunningGroup],
        groups: &[JobGroup],
    ) -> Vec<(usize, u32, i64)> {
        let mut starts = Vec::new();
        play(Instant::ZERO, idle, calendar, running, groups, |start| {
            for wave in 0..start.waves {
                let end = start.end + start.run.times(wave);
                starts.push((start.group, start.count, end.as_micros() / 1_000_000));
            }
            true
        });
        starts
    }

    #[test]
    fn an_array_runs_in_waves() {
        let array = [group(1, 5, 10, 12)];
        assert_eq!(starts(2, &[], &array), [(0, 2, 10), (0, 2, 20), (0, 1, 30)]);
    }

    #[test]
    fn a_later_job_starts_if_it_ends_by_the_reservation() {
        // Four processors, three of them taken until 50 by reservation and until 40 in truth.
        let busy = [running(3, 40, 50)];
        let short = [group(4, 1, 10, 10), group(1, 1, 45, 50)];
        assert_eq!(starts(1, &busy, &short), [(1, 1, 45), (0, 1, 55)]);
        let long = [group(4, 1, 10, 10), group(1, 1, 45, 51)];
        assert_eq!(starts(1, &busy, &long), [(0, 1, 50), (1, 1, 95)]);
    }

    #[test]
    fn a_later_job_may_use_what_the_reservation_leaves_over() {
        let busy = [running(2, 40, 40)];
        let groups = [group(3, 1, 10, 10), group(1, 3, 100, 100)];
        // Two of four processors are idle; the head needs three at 40, and leaves one.
        let played = starts(2, &busy, &groups);
        assert_eq!(played, [(1, 1, 100), (0, 1, 50), (1, 2, 150)]);
    }

    #[test]
    fn a_job_wider_than_what_is_up_never_starts_and_holds_nobody_up() {
        let groups = [group(8, 1, 10, 10), group(1, 2, 10, 10)];
        assert_eq!(starts(4, &[], &groups), [(1, 2, 10)]);
    }

    /// Starts jobs one by one, with a scan of all of them at every end: the rule as it is written
    /// down, without groups and summaries.
    fn naive(nodes: u32, jobs: &[(u32, i64, i64)], windows: &[(i64, i64)]) -> Vec<(usize, i64)> {
        let opens = |start: i64, length: i64| {
            let mut start = start;
            while let Some(window) = windows
                .iter()
                .find(|window| start < window.1 && window.0 < start + length)
            {
                start = window.1;
            }
            start
        };
        let (mut waiting, mut running): (Vec<usize>, Vec<(i64, i64, u32)>) =
            ((0..jobs.len()).collect(), Vec::new());
        let (mut now, mut ends) = (0, Vec::new());
        loop {
            let free =
                |running: &[(i64, i64, u32)]| nodes - running.iter().map(|job| job.2).sum::<u32>();
            let mut head: Option<(i64, u32)> = None;
            let mut rest = Vec::new();
            for &job in &waiting {
                let (procs, run, reserved) = jobs[job];
                let fits = procs <= free(&running) && opens(now, reserved) == now;
                let starts = match head {
                    None => fits,
                    Some((at, extra)) => fits && (now + reserved <= at || procs <= extra),
                };
                if starts {
                    if let Some((at, extra)) = &mut head
                        && now + reserved > *at
                    {
                        *extra -= procs;
                    }
                    running.push((now + run, now + reserved, procs));
                    ends.push((job, now + run));
                    continue;
                }
                rest.push(job);
                if head.is_none() {
                    let mut at: Vec<i64> = running.iter().map(|job| job.1).collect();
                    at.sort_unstable();
                    let freed = |at: i64| {
                        let gone = running.iter().filter(|job| job.1 <= at);
                        free(&running) + gone.map(|job| job.2).sum::<u32>()
                    };
                    at.insert(0, now);
                    let at = at.into_iter().find(|&at| freed(at) >= procs);
                    let at = at.map(|at| opens(at, reserved));
                    head = Some(at.map_or((i64::MAX, 0), |at| (at, freed(at) - procs)));
                }
            }
            waiting = rest;
            let reopening = windows.iter().map(|window| window.1).find(|&end| end > now);
            let next = running.iter().map(|job| job.0).chain(reopening).min();
            let Some(next) = next else {
                return ends;
            };
            now = next;
            running.retain(|job| job.0 > now);
        }
    }

    proptest! {
        #[test]
        fn groups_play_as_single_jobs_do(
            nodes in 1u32..10,
            jobs in prop::collection::vec((1u32..6, 1i64..20, 0i64..20, prop_oneof![4 => 1u32..5, 1 => 5u32..60]), 0..40),
            windows in prop::collection::vec((0i64..60, 1i64..30), 0..4),
        ) {
            let mut from = 0;
            let windows: Vec<(i64, i64)> = windows
                .into_iter()
                .map(|(gap, length)| {
                    from += gap + 1;
                    let window = (from, from + length);
                    from += length;
                    window
                })
                .collect();
            let calendar = MaintenanceCalendar::new(
                windows
                    .iter()
                    .map(|&(from, until)| MaintenanceWindow {
                        from: at(from),
                        until: at(until),
                    })
                    .collect(),
            );
            let groups: Vec<JobGroup> = jobs
                .iter()
                .map(|&(procs, run, more, count)| group(procs, count, run, run + more))
                .collect();
            let mut played = Vec::new();
            for (group, count, end) in starts_around(&calendar, nodes, &[], &groups) {
                played.extend((0..count).map(|_| (group, end)));
            }
            let single: Vec<(usize, (u32, i64, i64))> = jobs
                .iter()
                .enumerate()
                .flat_map(|(group, &(procs, run, more, count))| {
                    (0..count).map(move |_| (group, (procs, run, run + more)))
                })
                .collect();
            let one_by_one: Vec<(u32, i64, i64)> = single.iter().map(|job| job.1).collect();
            let mut walked: Vec<(usize, i64)> = naive(nodes, &one_by_one, &windows)
                .into_iter()
                .map(|(job, end)| (single[job].0, end))
                .collect();
            played.sort_unstable();
            walked.sort_unstable();
            prop_assert_eq!(played, walked);
        }
    }
}
