//! The dispatch rule where it matters on which hosts jobs run: some close, or jobs need a single host, a
//! host of one name, devices or licences.
//!
//! The rule is that of [`timetable`](super::timetable): jobs are taken in order, the first that does not
//! fit gets the only reservation, and a later one starts if that job could still start when reserved. A
//! job fits if it would end, by its reserved run time, before its hosts close. It takes processors of the
//! hosts that close first, then of those with the fewest devices.

use tollgate_model::{HostNameIndex, Instant, JobId, MaintenanceCalendar, ResourceCounts};
use tollgate_policy::{HostPart, View};

use super::timetable::{JobGroup, PlannedStart};

/// The free resources of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HostRoom {
    /// The host, as an index into [`tollgate_policy::ClusterState::hosts`].
    host: usize,
    idle: u32,
    devices: ResourceCounts,
    /// [`Instant::MAX`] if the host stays.
    closes: Instant,
    name: Option<HostNameIndex>,
}

/// The resources that jobs take of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RoomPart {
    /// The index of the room.
    room: usize,
    procs: u32,
    devices: ResourceCounts,
}

/// Running jobs that end together.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HostRun {
    /// The assumed end.
    end: Instant,
    /// The end by which the dispatch rule reserves; not before `end`.
    reserved_end: Instant,
    parts: Vec<RoomPart>,
    licences: ResourceCounts,
}

/// The free resources at an instant, on each host and at the site.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FreeRooms {
    rooms: Vec<HostRoom>,
    licences: ResourceCounts,
}

impl FreeRooms {
    /// Returns the place of one job of a group that starts at `at`, if it fits.
    fn place(&self, group: &JobGroup, at: Instant) -> Option<Vec<RoomPart>> {
        if !self.licences.covers(&group.licences) {
            return None;
        }
        let stays = |room: &HostRoom| at + group.reserved <= room.closes;
        if group.one_host {
            let fits = |room: &HostRoom| {
                stays(room)
                    && room.idle >= group.procs
                    && room.devices.covers(&group.devices)
                    && group.accepts_host(room.name)
            };
            let room = self.rooms.iter().position(fits)?;
            return Some(vec![RoomPart {
                room,
                procs: group.procs,
                devices: group.devices,
            }]);
        }
        let mut parts = Vec::new();
        let mut missing = group.procs;
        for (index, room) in self.rooms.iter().enumerate() {
            if room.idle > 0 && stays(room) {
                let procs = room.idle.min(missing);
                missing -= procs;
                parts.push(RoomPart {
                    room: index,
                    procs,
                    devices: ResourceCounts::NONE,
                });
            }
            if missing == 0 {
                return Some(parts);
            }
        }
        None
    }

    /// Returns how many jobs of a group fit where one of them does, one beside the other.
    fn count(&self, group: &JobGroup, parts: &[RoomPart]) -> u32 {
        let [part] = parts else {
            return 1;
        };
        let room = &self.rooms[part.room];
        let by_devices = room.devices.times(&group.devices).unwrap_or(u32::MAX);
        let by_licences = self.licences.times(&group.licences).unwrap_or(u32::MAX);
        (room.idle / group.procs).min(by_devices).min(by_licences)
    }

    fn take(&mut self, parts: &[RoomPart], licences: &ResourceCounts) {
        for part in parts {
            let room = &mut self.rooms[part.room];
            room.idle -= part.procs;
            room.devices = room.devices.minus(&part.devices);
        }
        self.licences = self.licences.minus(licences);
    }

    fn give_back(&mut self, run: &HostRun) {
        for part in &run.parts {
            let room = &mut self.rooms[part.room];
            room.idle += part.procs;
            room.devices = room.devices.plus(&part.devices);
        }
        self.licences = self.licences.plus(&run.licences);
    }
}

/// The reservation of a job that cannot start yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostReservation {
    group: JobGroup,
    /// [`Instant::MAX`] if the hosts that are there can never hold the job.
    at: Instant,
}

/// The hosts at an instant, with the running jobs.
#[derive(Clone, Debug)]
pub(super) struct HostMachine {
    now: Instant,
    free: FreeRooms,
    /// Ascending by the end by which the dispatch rule reserves.
    runs: Vec<HostRun>,
    calendar: MaintenanceCalendar,
}

impl HostMachine {
    /// Creates the machine of the view's instant, in which nothing runs yet.
    pub(super) fn new(view: View<'_>) -> Self {
        let hosts = view.hosts().iter().enumerate();
        let up = hosts.filter(|(_, host)| view.n_up_in(host.nodes) > 0);
        let mut rooms: Vec<HostRoom> = up
            .map(|(index, host)| HostRoom {
                host: index,
                idle: view.n_idle_in(host.nodes),
                devices: host.free_devices(),
                closes: host.terms.closes.unwrap_or(Instant::MAX),
                name: host.terms.name,
            })
            .collect();
        let n_devices = |room: &HostRoom| -> u32 {
            let devices = view.hosts()[room.host].terms.devices;
            devices.iter().map(|(_, count)| u32::from(count)).sum()
        };
        rooms.sort_by_key(|room| (room.closes, n_devices(room), room.host));
        Self {
            now: view.now,
            free: FreeRooms {
                rooms,
                licences: view.free_licences(),
            },
            runs: Vec::new(),
            calendar: view.maintenance().clone(),
        }
    }

    /// Adds a job that runs, with its assumed end and the end by which the dispatch rule reserves.
    pub(super) fn add_running(
        &mut self,
        view: View<'_>,
        id: JobId,
        end: Instant,
        reserved_end: Instant,
    ) {
        let job = view.job(id);
        let mut devices = view.devices_of(&job.spec.needs);
        let mut parts = Vec::new();
        for (index, room) in self.free.rooms.iter().enumerate() {
            let nodes = view.hosts()[room.host].nodes;
            let procs = view.released_procs_in(job, nodes);
            if procs > 0 {
                parts.push(RoomPart {
                    room: index,
                    procs,
                    devices: std::mem::take(&mut devices),
                });
            }
        }
        self.insert(HostRun {
            end,
            reserved_end,
            parts,
            licences: view.licences_of(&job.spec.needs),
        });
    }

    /// Returns the hosts of parts, as [`tollgate_policy::PolicyContext::start_on_hosts`] takes them.
    pub(super) fn host_parts(&self, parts: &[RoomPart]) -> Vec<HostPart> {
        let host_part = |part: &RoomPart| HostPart {
            host: self.free.rooms[part.room].host,
            procs: part.procs,
        };
        parts.iter().map(host_part).collect()
    }

    /// Starts a job of a group on these hosts: their places in the order in which jobs take them, with the
    /// processors of each.
    pub(super) fn launch_on(&mut self, group: &JobGroup, parts: &[(usize, u32)]) {
        let part = |&(room, procs): &(usize, u32)| RoomPart {
            room,
            procs,
            devices: group.devices,
        };
        let parts: Vec<RoomPart> = parts.iter().map(part).collect();
        self.launch(group, 1, &parts);
    }

    /// Returns the place of a job that can start now.
    pub(super) fn place(&self, group: &JobGroup) -> Option<Vec<RoomPart>> {
        let in_time = group.reserved <= self.calendar.room(self.now);
        in_time.then(|| self.free.place(group, self.now)).flatten()
    }

    /// Returns the place of a job that can start now without delaying the one with the reservation.
    pub(super) fn place_beside(
        &self,
        group: &JobGroup,
        head: &HostReservation,
    ) -> Option<Vec<RoomPart>> {
        let parts = self.place(group)?;
        if self.now + group.reserved <= head.at {
            return Some(parts);
        }
        let mut with = self.clone();
        with.launch(group, 1, &parts);
        (with.first_start(&head.group) <= head.at).then_some(parts)
    }

    /// Returns the reservation of a job that cannot start now.
    pub(super) fn reservation(&self, group: &JobGroup) -> HostReservation {
        HostReservation {
            group: *group,
            at: self.first_start(group),
        }
    }

    /// Returns the first instant at which a job could start, if nothing else starts before.
    fn first_start(&self, group: &JobGroup) -> Instant {
        let mut free = self.free.clone();
        let mut runs = self.runs.iter().peekable();
        let mut from = self.now;
        loop {
            let at = self.calendar.first_start(from, group.reserved);
            while let Some(run) = runs.next_if(|run| run.reserved_end <= at) {
                free.give_back(run);
            }
            if free.place(group, at).is_some() {
                return at;
            }
            match runs.peek() {
                Some(run) => from = run.reserved_end,
                None => return Instant::MAX,
            }
        }
    }

    /// Starts `count` jobs of a group that are placed alike.
    pub(super) fn launch(&mut self, group: &JobGroup, count: u32, parts: &[RoomPart]) {
        let mut run = HostRun {
            end: self.now + group.run,
            reserved_end: self.now + group.reserved,
            parts: parts.to_vec(),
            licences: group.licences,
        };
        for _ in 1..count {
            for part in &mut run.parts {
                part.procs += group.procs;
                part.devices = part.devices.plus(&group.devices);
            }
            run.licences = run.licences.plus(&group.licences);
        }
        self.free.take(&run.parts, &run.licences);
        self.insert(run);
    }

    fn insert(&mut self, run: HostRun) {
        let before = |other: &HostRun| other.reserved_end <= run.reserved_end;
        let at = self.runs.partition_point(before);
        self.runs.insert(at, run);
    }

    /// Starts every job that can start now, and reports the group, the number of jobs and the place of
    /// each start, in order. `left` has the number of jobs of each group that wait.
    pub(super) fn dispatch(
        &mut self,
        groups: &[JobGroup],
        left: &mut [u32],
        mut start: impl FnMut(&Self, usize, u32, &[RoomPart]),
    ) {
        let mut head: Option<HostReservation> = None;
        for (at, group) in groups.iter().enumerate() {
            while left[at] > 0 {
                if head.is_some() && self.free.rooms.iter().all(|room| room.idle == 0) {
                    return;
                }
                let is_free = |head: &HostReservation| self.now + group.reserved <= head.at;
                let one_by_one = head.as_ref().is_some_and(|head| !is_free(head));
                let parts = match &head {
                    None => self.place(group),
                    Some(head) => self.place_beside(group, head),
                };
                let Some(parts) = parts else {
                    head.get_or_insert_with(|| self.reservation(group));
                    break;
                };
                let count = match one_by_one {
                    true => 1,
                    false => left[at].min(self.free.count(group, &parts)),
                };
                self.launch(group, count, &parts);
                left[at] -= count;
                start(self, at, count, &parts);
            }
        }
    }

    /// Plays the dispatch rule forward with the assumed run times, and reports each start, until all jobs
    /// have started, those that are left never can, or `report` returns false.
    pub(super) fn play(
        mut self,
        groups: &[JobGroup],
        mut report: impl FnMut(PlannedStart) -> bool,
    ) {
        let mut left: Vec<u32> = groups.iter().map(|group| group.count).collect();
        let mut goes_on = true;
        loop {
            let now = self.now;
            self.dispatch(groups, &mut left, |_, group, count, _| {
                goes_on &= report(PlannedStart::at(now, group, count, groups[group].run));
            });
            if !goes_on || left.iter().all(|&jobs| jobs == 0) {
                return;
            }
            let reopening = self.calendar.next(self.now).map(|window| window.until);
            let end = self.runs.iter().map(|run| run.end).min();
            let Some(next) = reopening.into_iter().chain(end).min() else {
                return;
            };
            self.now = next;
            let free = &mut self.free;
            self.runs.retain(|run| {
                let runs = run.end > next;
                if !runs {
                    free.give_back(run);
                }
                runs
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tollgate_model::{HostTerms, MaintenanceWindow, ResourceIndex, Span};
    use tollgate_policy::ClusterState;

    use crate::plan::timetable;

    const GPU: ResourceIndex = ResourceIndex(0);
    const LICENCE: ResourceIndex = ResourceIndex(1);

    /// A host: processors, GPUs, and when it closes in seconds.
    type Host = (u32, u8, Option<i64>);

    fn at(secs: i64) -> Instant {
        Instant::from_secs(secs)
    }

    fn cluster(hosts: &[Host], licences: u8, windows: &[(i64, i64)]) -> ClusterState {
        let mut state = ClusterState::default();
        for &(procs, gpus, closes) in hosts {
            let nodes = state.add_nodes(procs);
            let terms = HostTerms {
                closes: closes.map(at),
                devices: ResourceCounts::NONE.with(GPU, gpus),
                // The names of neighbours differ, and three hosts and more share some.
                name: Some(HostNameIndex(state.hosts().len() as u32 % 2)),
            };
            state.set_host(Instant::ZERO, nodes, terms);
        }
        state.set_licences(vec![LICENCE], ResourceCounts::NONE.with(LICENCE, licences));
        let window = |&(from, until)| MaintenanceWindow {
            from: at(from),
            until: at(until),
        };
        state.set_maintenance(MaintenanceCalendar::new(
            windows.iter().map(window).collect(),
        ));
        state
    }

    fn group(procs: u32, count: u32, run: i64, more: i64) -> JobGroup {
        JobGroup {
            procs,
            count,
            run: Span::from_secs(run),
            reserved: Span::from_secs(run + more),
            due: Instant::MAX,
            one_host: false,
            host: None,
            devices: ResourceCounts::NONE,
            licences: ResourceCounts::NONE,
        }
    }

    fn gpu_job(gpus: u8, count: u32, run: i64) -> JobGroup {
        JobGroup {
            one_host: true,
            devices: ResourceCounts::NONE.with(GPU, gpus),
            ..group(1, count, run, 0)
        }
    }

    /// Returns (group, end in seconds) of each job, in the order of their starts.
    fn played(state: &ClusterState, groups: &[JobGroup]) -> Vec<(usize, i64)> {
        let mut ends = Vec::new();
        let view = View::new(state, Instant::ZERO);
        HostMachine::new(view).play(groups, |start| {
            let end = start.end.as_micros() / 1_000_000;
            ends.extend((0..start.count).map(|_| (start.group, end)));
            true
        });
        ends
    }

    #[test]
    fn nothing_runs_where_it_would_outlast_its_host() {
        let state = cluster(&[(1, 0, Some(100)), (1, 0, None)], 0, &[]);
        // What fits before the end takes the host that closes.
        let groups = [group(1, 1, 90, 0), group(1, 2, 200, 0)];
        assert_eq!(played(&state, &groups), [(0, 90), (1, 200), (1, 400)]);
        let closing = cluster(&[(4, 0, Some(100))], 0, &[]);
        assert_eq!(played(&closing, &groups), [(0, 90)]);
    }

    #[test]
    fn devices_and_licences_are_counted() {
        let state = cluster(&[(4, 0, None), (4, 2, None)], 1, &[]);
        assert_eq!(
            played(&state, &[gpu_job(1, 3, 10)]),
            [(0, 10), (0, 10), (0, 20)]
        );
        assert_eq!(played(&state, &[gpu_job(3, 1, 10)]), []);
        let licensed = JobGroup {
            licences: ResourceCounts::NONE.with(LICENCE, 1),
            ..group(1, 2, 10, 0)
        };
        assert_eq!(played(&state, &[licensed]), [(0, 10), (0, 20)]);
        // Jobs without devices leave the host with devices to others.
        let groups = [group(1, 4, 50, 0), gpu_job(2, 1, 10)];
        assert_eq!(
            played(&state, &groups),
            [(0, 50), (0, 50), (0, 50), (0, 50), (1, 10)]
        );
    }

    #[test]
    fn a_job_on_a_named_host_waits_for_that_host_alone() {
        let state = cluster(&[(2, 0, None), (2, 0, None), (2, 0, None)], 0, &[]);
        let on = |name, count| JobGroup {
            one_host: true,
            host: Some(HostNameIndex(name)),
            ..group(2, count, 10, 0)
        };
        // One host has the name 1, two have the name 0, none has the name 2.
        assert_eq!(played(&state, &[on(1, 2)]), [(0, 10), (0, 20)]);
        assert_eq!(played(&state, &[on(0, 3)]), [(0, 10), (0, 10), (0, 20)]);
        assert_eq!(played(&state, &[on(2, 1), on(1, 1)]), [(1, 10)]);
    }

    #[test]
    fn a_job_for_one_host_waits_for_one_with_room() {
        let state = cluster(&[(2, 0, None), (2, 0, None)], 0, &[]);
        let one_host = JobGroup {
            one_host: true,
            ..group(2, 1, 10, 0)
        };
        // Three processors of four are taken until 30 s; then the first host has two for the second job.
        let groups = [
            group(3, 1, 30, 0),
            one_host,
            group(1, 1, 20, 0),
            group(1, 1, 40, 0),
        ];
        let ends = [(0, 30), (2, 20), (1, 40), (3, 60)];
        let mut found = played(&state, &groups);
        found.sort_unstable_by_key(|&(group, end)| (end, group));
        let mut expected = ends;
        expected.sort_unstable_by_key(|&(group, end)| (end, group));
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn hosts_that_stay_are_one_pool_to_jobs_without_needs(
            hosts in prop::collection::vec(1u32..5, 1..5),
            jobs in prop::collection::vec((1u32..6, 1i64..20, 0i64..20, 1u32..5), 0..30),
            windows in prop::collection::vec((0i64..60, 1i64..30), 0..3),
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
            let all: Vec<Host> = hosts.iter().map(|&procs| (procs, 0, None)).collect();
            let state = cluster(&all, 0, &windows);
            let groups: Vec<JobGroup> = jobs
                .iter()
                .map(|&(procs, run, more, count)| group(procs, count, run, more))
                .collect();
            let mut pool = Vec::new();
            let idle = hosts.iter().sum();
            timetable::play(Instant::ZERO, idle, state.maintenance(), &[], &groups, |start| {
                for wave in 0..start.waves {
                    let end = start.end + start.run.times(wave);
                    let end_s = end.as_micros() / 1_000_000;
                    pool.extend((0..start.count).map(|_| (start.group, end_s)));
                }
                true
            });
            let mut by_host = played(&state, &groups);
            pool.sort_unstable();
            by_host.sort_unstable();
            prop_assert_eq!(by_host, pool);
        }

        #[test]
        fn no_host_gives_more_than_it_has(
            hosts in prop::collection::vec((1u32..5, 0u8..3, prop::option::of(1i64..80)), 1..5),
            licences in 0u8..3,
            jobs in prop::collection::vec((1u32..6, 1i64..20, 0i64..10, 1u32..4, any::<bool>(), 0u8..3, 0u8..2, prop::option::of(0u32..3)), 0..20),
        ) {
            let state = cluster(&hosts, licences, &[]);
            let groups: Vec<JobGroup> = jobs
                .iter()
                .map(|&(procs, run, more, count, one_host, gpus, licences, host)| JobGroup {
                    one_host: one_host || gpus > 0 || host.is_some(),
                    host: host.map(HostNameIndex),
                    devices: ResourceCounts::NONE.with(GPU, gpus),
                    licences: ResourceCounts::NONE.with(LICENCE, licences),
                    ..group(procs, count, run, more)
                })
                .collect();
            let mut machine = HostMachine::new(View::new(&state, Instant::ZERO));
            let full = machine.free.clone();
            let mut left: Vec<u32> = groups.iter().map(|group| group.count).collect();
            // Each start takes what was free, and what ends gives it back.
            while let Some(next) = {
                let now = machine.now;
                let mut reserved_end = Instant::ZERO;
                machine.dispatch(&groups, &mut left, |after, group, count, parts| {
                    let procs: u32 = parts.iter().map(|part| part.procs).sum();
                    assert_eq!(procs, groups[group].procs, "of each of {count}");
                    assert!(!groups[group].one_host || parts.len() == 1);
                    reserved_end = now + groups[group].reserved;
                    for part in parts {
                        let room = &after.free.rooms[part.room];
                        assert!(reserved_end <= room.closes);
                        let host = groups[group].host;
                        assert!(host.is_none_or(|host| room.name == Some(host)));
                    }
                });
                machine.runs.iter().map(|run| run.end).min()
            } {
                for (room, most) in machine.free.rooms.iter().zip(&full.rooms) {
                    prop_assert!(room.idle <= most.idle && most.devices.covers(&room.devices));
                }
                machine.now = next;
                let (over, still): (Vec<_>, Vec<_>) =
                    machine.runs.drain(..).partition(|run| run.end <= next);
                machine.runs = still;
                over.iter().for_each(|run| machine.free.give_back(run));
            }
            prop_assert_eq!(&machine.free, &full);
            // What could run on hosts that stay has run.
            for (group, &left) in groups.iter().zip(&left) {
                let first = full.place(group, machine.now);
                prop_assert!(left == 0 || first.is_none(), "{group:?}");
            }
        }
    }
}
