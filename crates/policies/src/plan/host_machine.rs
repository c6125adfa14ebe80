//! The dispatch rule where it matters on which hosts jobs run: some close, or jobs need a single host, a
//! host of one name, devices or licences.
//!
//! The rule is that of [`timetable`](super::timetable). Jobs are taken in order, the first that does not fit
//! gets the only reservation, and a later one starts if that job could still start when reserved. A job fits
//! if it would end, by its reserved run time, before its hosts close. It takes processors of desktops first
//! in their order, then of the hosts that close first, then of those with the fewest devices. Promised jobs take none of desktops.

#[cfg(test)]
pub(super) mod tests;
mod wave_cycle;

use tollgate_model::{
    HostNameIndex, HostSlowdown, Instant, JobId, MaintenanceCalendar, ResourceCounts, Span,
};
use tollgate_policy::{HostPart, View};

use super::host_future::{ComingHost, HostFuture};
use super::host_times::{self, HostTimes};
use super::timetable::{JobGroup, NO_GROUP, PlannedStart};
use wave_cycle::WaveCycle;

/// The free resources of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HostRoom {
    /// The host, as an index into [`tollgate_policy::ClusterState::hosts`].
    host: usize,
    idle: u32,
    devices: ResourceCounts,
    times: HostTimes,
    /// When a user comes to it; [`Instant::MAX`] if none does.
    login: Instant,
    name: Option<HostNameIndex>,
    /// How much longer work takes there.
    slowdown: HostSlowdown,
    /// Its place among desktops; 0 of other hosts.
    rank: u32,
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
    /// The group of the jobs, [`NO_GROUP`] of what ran before the machine's first instant.
    group: usize,
    /// The assumed end.
    end: Instant,
    /// The end by which the dispatch rule reserves; not before `end`.
    reserved_end: Instant,
    /// Number of the jobs.
    count: u32,
    /// Whether they end because a user comes to a host.
    is_evicted: bool,
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
        let stays = |room: &HostRoom, slowdown: HostSlowdown| {
            at + slowdown.time_for(group.reserved) <= room.times.last_end(group.hosts)
        };
        if group.one_host {
            let fits = |room: &HostRoom| {
                stays(room, room.slowdown)
                    && room.idle >= group.procs
                    && room.devices.covers(&group.devices)
                    && group.accepts_host(room.name)
            };
            let room = self
                .order_for(group)
                .find(|&room| fits(&self.rooms[room]))?;
            return Some(vec![RoomPart {
                room,
                procs: group.procs,
                devices: group.devices,
            }]);
        }
        let mut parts = Vec::new();
        let mut missing = group.procs;
        for index in self.order_for(group) {
            let room = &self.rooms[index];
            if room.idle > 0 && stays(room, room.slowdown) {
                let procs = room.idle.min(missing);
                missing -= procs;
                parts.push(RoomPart {
                    room: index,
                    procs,
                    devices: ResourceCounts::NONE,
                });
            }
            if missing == 0 {
                let slowdown = self.slowdown_of(&parts);
                let mut rooms = parts.iter().map(|part| &self.rooms[part.room]);
                return rooms.all(|room| stays(room, slowdown)).then_some(parts);
            }
        }
        None
    }

    /// Returns how much longer work takes on these parts: as on the slowest.
    fn slowdown_of(&self, parts: &[RoomPart]) -> HostSlowdown {
        let slowdowns = parts.iter().map(|part| self.rooms[part.room].slowdown);
        slowdowns.max().unwrap_or_default()
    }

    /// Returns the largest slowdown of all hosts.
    fn largest_slowdown(&self) -> HostSlowdown {
        let slowdowns = self.rooms.iter().map(|room| room.slowdown);
        slowdowns.max().unwrap_or_default()
    }

    /// Returns the order in which jobs of a group take rooms.
    fn order_for(&self, group: &JobGroup) -> impl Iterator<Item = usize> + use<> {
        let is_desktop = |room: &HostRoom| room.times.is_desktop;
        let n_desktops = self.rooms.partition_point(is_desktop);
        host_times::order_for(group.hosts, n_desktops, self.rooms.len())
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

    /// Returns when the first user comes to one of these rooms.
    fn login_at(&self, parts: &[RoomPart]) -> Instant {
        let logins = parts.iter().map(|part| self.rooms[part.room].login);
        logins.min().unwrap_or(Instant::MAX)
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
    /// Creates the machine of the view's instant, in which nothing runs yet. Users come to desktops as in a future of the
    /// hosts, which the dispatch rule does not know, and further hosts come. Until then, such a host is occupied.
    pub(super) fn new(view: View<'_>, hosts: &HostFuture) -> Self {
        let known = view.hosts().iter().enumerate();
        let up = known.filter(|(_, host)| view.n_up_in(host.nodes) > 0);
        let mut rooms: Vec<HostRoom> = up
            .map(|(index, host)| HostRoom {
                host: index,
                idle: view.n_idle_in(host.nodes),
                devices: host.free_devices(),
                times: HostTimes::of(view, host),
                login: hosts.login_at(index),
                name: host.terms.name,
                slowdown: host.slowdown(),
                rank: host.rank,
            })
            .collect();
        let first_coming = view.hosts().len();
        rooms.extend(
            (first_coming..)
                .zip(&hosts.coming)
                .map(|(index, host)| HostRoom {
                    host: index,
                    idle: 0,
                    devices: ResourceCounts::NONE,
                    times: host.times(),
                    login: host.preempted,
                    name: None,
                    slowdown: HostSlowdown::NONE,
                    rank: 0,
                }),
        );
        let n_devices = |room: &HostRoom| -> u32 {
            let devices = view.hosts().get(room.host).map(|host| host.terms.devices);
            let devices = devices.unwrap_or(ResourceCounts::NONE);
            devices.iter().map(|(_, count)| u32::from(count)).sum()
        };
        rooms.sort_by_key(|room| {
            let (is_dedicated, closes) = room.times.order();
            let order = (room.slowdown, room.rank, closes);
            (is_dedicated, order, n_devices(room), room.host)
        });
        let mut machine = Self {
            now: view.now,
            free: FreeRooms {
                rooms,
                licences: view.free_licences(),
            },
            runs: Vec::new(),
            calendar: view.maintenance().clone(),
        };
        for (index, host) in (first_coming..).zip(&hosts.coming) {
            machine.occupy(index, host);
        }
        machine
    }

    /// Occupies a host that is not there yet until it comes.
    fn occupy(&mut self, host: usize, coming: &ComingHost) {
        let room = self.free.rooms.iter().position(|room| room.host == host);
        let parts = room.map(|room| RoomPart {
            room,
            procs: coming.nodes,
            devices: ResourceCounts::NONE,
        });
        self.insert(HostRun {
            group: NO_GROUP,
            end: coming.opens,
            reserved_end: coming.opens,
            count: 1,
            is_evicted: false,
            parts: parts.into_iter().collect(),
            licences: ResourceCounts::NONE,
        });
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
            // Nothing runs on a host that is expected.
            let Some(host) = view.hosts().get(room.host) else {
                continue;
            };
            let procs = view.released_procs_in(job, host.nodes);
            if procs > 0 {
                parts.push(RoomPart {
                    room: index,
                    procs,
                    devices: std::mem::take(&mut devices),
                });
            }
        }
        let login = self.free.login_at(&parts);
        self.insert(HostRun {
            group: NO_GROUP,
            end: end.min(login),
            reserved_end,
            count: 1,
            is_evicted: login < end,
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
        self.launch((NO_GROUP, group), 1, &parts);
    }

    /// Returns the time for which a job is reserved on these hosts.
    fn reserved_on(&self, group: &JobGroup, parts: &[RoomPart]) -> Span {
        self.free.slowdown_of(parts).time_for(group.reserved)
    }

    /// Returns the place of a job that can start now.
    pub(super) fn place(&self, group: &JobGroup) -> Option<Vec<RoomPart>> {
        let in_time = group.reserved <= self.calendar.room(self.now);
        let parts = in_time
            .then(|| self.free.place(group, self.now))
            .flatten()?;
        let reserved = self.reserved_on(group, &parts);
        (reserved <= self.calendar.room(self.now)).then_some(parts)
    }

    /// Returns the place of a job that can start now without delaying the one with the reservation.
    pub(super) fn place_beside(
        &self,
        group: &JobGroup,
        head: &HostReservation,
    ) -> Option<Vec<RoomPart>> {
        let parts = self.place(group)?;
        if self.now + self.reserved_on(group, &parts) <= head.at {
            return Some(parts);
        }
        let mut with = self.clone();
        with.launch((NO_GROUP, group), 1, &parts);
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
        // Wherever it runs, it ends before a window.
        let longest = self.free.largest_slowdown().time_for(group.reserved);
        loop {
            let at = self.calendar.first_start(from, longest);
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

    /// Starts `count` jobs of a group, given with its index, that are placed alike.
    fn launch(&mut self, (index, group): (usize, &JobGroup), count: u32, parts: &[RoomPart]) {
        let slowdown = self.free.slowdown_of(parts);
        let end = self.now + slowdown.time_for(group.run);
        let login = self.free.login_at(parts);
        let mut run = HostRun {
            group: index,
            end: end.min(login),
            reserved_end: self.now + slowdown.time_for(group.reserved),
            count,
            is_evicted: login < end,
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
                let parts = match &head {
                    None => self.place(group),
                    Some(head) => self.place_beside(group, head),
                };
                let Some(parts) = parts else {
                    head.get_or_insert_with(|| self.reservation(group));
                    break;
                };
                let reserved_end = self.now + self.reserved_on(group, &parts);
                let is_free = head.as_ref().is_none_or(|head| reserved_end <= head.at);
                let count = match is_free {
                    false => 1,
                    true => left[at].min(self.free.count(group, &parts)),
                };
                self.launch((at, group), count, &parts);
                left[at] -= count;
                start(self, at, count, &parts);
            }
        }
    }

    /// Takes no more jobs on hosts to which users have come.
    fn close_used(&mut self) {
        let now = self.now;
        let rooms = self.free.rooms.iter_mut();
        for room in rooms.filter(|room| room.login <= now) {
            room.times = room.times.in_use();
        }
    }

    /// Gives back what jobs held that have ended. Those that a user's coming has ended wait again, as often as they may.
    fn end_runs(&mut self, groups: &[JobGroup], left: &mut [u32], evictions: &mut [u32]) {
        let (now, free) = (self.now, &mut self.free);
        self.runs.retain(|run| {
            if run.end > now {
                return true;
            }
            free.give_back(run);
            if run.is_evicted && run.group != NO_GROUP {
                let JobGroup {
                    restarts, count, ..
                } = groups[run.group];
                evictions[run.group] += run.count;
                let is_lost =
                    restarts < u8::MAX && evictions[run.group] > count * u32::from(restarts);
                left[run.group] += if is_lost { 0 } else { run.count };
            }
            false
        });
    }

    /// Plays the dispatch rule forward with the assumed run times, and reports each start, until all jobs
    /// have started, those that are left never can, or `report` returns false. Only a start is reported from which the
    /// jobs run to their ends.
    pub(super) fn play(
        mut self,
        groups: &[JobGroup],
        mut report: impl FnMut(PlannedStart) -> bool,
    ) {
        let mut left: Vec<u32> = groups.iter().map(|group| group.count).collect();
        let mut evictions = vec![0; groups.len()];
        let has_users = self.free.rooms.iter().any(|room| room.login < Instant::MAX);
        let is_slowed = self.free.largest_slowdown().is_slower();
        let mut goes_on = true;
        let mut cycle: Option<WaveCycle> = None;
        let mut starts = Vec::new();
        loop {
            let now = self.now;
            self.close_used();
            self.dispatch(groups, &mut left, |machine, group, count, parts| {
                let slowdown = machine.free.slowdown_of(parts);
                let run = slowdown.time_for(groups[group].run);
                let start = PlannedStart {
                    slowdown,
                    ..PlannedStart::at(now, group, count, run)
                };
                if start.end <= machine.free.login_at(parts) {
                    goes_on &= report(start);
                }
                starts.push(start);
            });
            let none_waits = left.iter().all(|&jobs| jobs == 0);
            if !goes_on || none_waits && !self.runs.iter().any(|run| run.is_evicted) {
                return;
            }
            // The jobs of a wave on unlike hosts do not end together.
            let steady = (!has_users && !is_slowed && !none_waits).then_some(&self);
            cycle =
                steady.and_then(|now| WaveCycle::noted(cycle.take(), now, groups, &left, &starts));
            starts.clear();
            if let Some(waves) = cycle.as_ref().and_then(|cycle| cycle.waves(&self, &left)) {
                waves.skip(&mut self, &mut left, |start| goes_on &= report(start));
                cycle = None;
                if !goes_on {
                    return;
                }
            }
            let reopening = self.calendar.next(self.now).map(|window| window.until);
            let end = self.runs.iter().map(|run| run.end).min();
            let Some(next) = reopening.into_iter().chain(end).min() else {
                return;
            };
            self.now = next;
            self.end_runs(groups, &mut left, &mut evictions);
        }
    }
}
