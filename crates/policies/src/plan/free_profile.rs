//! Free processors, devices and licences over time, on each host: what running and planned jobs leave.
//!
//! Where it does not matter on which hosts jobs run, all processors are those of one host.

mod one_host;
mod place_waves;
#[cfg(test)]
mod tests;

use tollgate_model::{
    HostNameIndex, HostSlowdown, Instant, JobId, MaintenanceCalendar, ResourceCounts,
    ResourceIndex, Span,
};
use tollgate_policy::toolkit::CapacityProfile;
use tollgate_policy::{HostPart, View};

use super::host_future::HostFuture;
use super::host_times::{self, HostTimes};
use super::timetable::JobGroup;

pub(super) use place_waves::PlaceWaves;

/// The free resources of a site from the present on.
#[derive(Clone, Debug)]
pub(super) struct FreeProfile {
    now: Instant,
    /// The hosts in the order in which jobs take them: first desktops, then those that other load slows least, then those
    /// that close first, then those with the fewest devices.
    hosts: Vec<HostProfile>,
    licences: Vec<UnitProfile>,
    calendar: MaintenanceCalendar,
    /// Whether jobs are started on named hosts.
    by_host: bool,
    /// The slowdowns of the hosts, ascending, each once.
    slowdowns: Vec<HostSlowdown>,
}

/// The free resources of a host.
#[derive(Clone, Debug)]
struct HostProfile {
    /// The host, as an index into [`tollgate_policy::ClusterState::hosts`].
    host: usize,
    name: Option<HostNameIndex>,
    times: HostTimes,
    /// How much longer work takes there.
    slowdown: HostSlowdown,
    /// Its place among desktops; 0 of other hosts.
    rank: u32,
    procs: CapacityProfile,
    devices: Vec<UnitProfile>,
}

/// The free units of one kind of devices or licences.
#[derive(Clone, Debug)]
struct UnitProfile {
    kind: ResourceIndex,
    free: CapacityProfile,
}

/// The place of a job in time and on hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlannedPlace {
    pub(super) at: Instant,
    /// The time that the job would take on hosts without other load.
    pub(super) work: Span,
    /// How much longer it takes on these hosts: as on the slowest.
    pub(super) slowdown: HostSlowdown,
    /// Host, by its place in the order in which jobs take them, and processors of each.
    pub(super) parts: Vec<(usize, u32)>,
}

impl PlannedPlace {
    /// Returns the time that the job takes.
    pub(super) fn length(&self) -> Span {
        self.slowdown.time_for(self.work)
    }
}

/// A running job, and the instant by which it ends as far as the profile knows.
pub(super) type RunningUntil = (JobId, Instant);

impl FreeProfile {
    /// Creates the profile of the view's instant. `by_host` says whether it matters where jobs run; only then further hosts
    /// come as in `future`.
    pub(super) fn new(
        view: View<'_>,
        by_host: bool,
        running: &[RunningUntil],
        future: &HostFuture,
    ) -> Self {
        let calendar = view.maintenance().clone();
        if by_host {
            let hosts = HostProfile::all(view, running, future);
            let mut slowdowns: Vec<HostSlowdown> = hosts.iter().map(|host| host.slowdown).collect();
            slowdowns.sort_unstable();
            slowdowns.dedup();
            return Self {
                now: view.now,
                hosts,
                slowdowns,
                licences: licence_profiles(view, running),
                calendar,
                by_host,
            };
        }
        let released = |id: JobId| view.released_procs(view.job(id));
        Self::of_pool(view.now, view.n_idle(), running, released, calendar)
    }

    /// Creates the profile of one pool of processors. `released` returns how many a running job gives back.
    pub(super) fn of_pool(
        now: Instant,
        idle: u32,
        running: &[RunningUntil],
        released: impl Fn(JobId) -> u32,
        calendar: MaintenanceCalendar,
    ) -> Self {
        let pool = HostProfile {
            host: 0,
            name: None,
            times: HostTimes::FOREVER,
            slowdown: HostSlowdown::NONE,
            rank: 0,
            procs: profile(now, idle, running, released),
            devices: Vec::new(),
        };
        Self {
            now,
            hosts: vec![pool],
            licences: Vec::new(),
            calendar,
            by_host: false,
            slowdowns: vec![HostSlowdown::NONE],
        }
    }

    /// Returns the present instant.
    pub(super) fn instant(&self) -> Instant {
        self.now
    }

    /// Returns the longest time that work takes on any host.
    pub(super) fn longest(&self, work: Span) -> Span {
        let slowest = self.slowdowns.last().copied().unwrap_or_default();
        slowest.time_for(work)
    }

    /// Returns whether other load slows a host.
    fn is_slowed(&self) -> bool {
        self.slowdowns.last().is_some_and(|last| last.is_slower())
    }

    /// Returns the number of processors that are free now.
    pub(super) fn n_idle(&self) -> u32 {
        let next = self.now + Span::TICK;
        let idle = self
            .hosts
            .iter()
            .map(|host| host.procs.fewest(self.now, next));
        idle.sum()
    }

    /// Returns the place of a job of a group that starts now with this work, if there is one.
    pub(super) fn now(&self, group: &JobGroup, work: Span) -> Option<PlannedPlace> {
        self.at(group, work, (self.now, Instant::MAX))
    }

    /// Returns the first place of a job of a group with this work. On one of several hosts that other load slows
    /// unequally it is the place that ends first.
    pub(super) fn earliest(&self, group: &JobGroup, work: Span) -> Option<PlannedPlace> {
        let mut from = self.now;
        if let [pool] = self.hosts.as_slice()
            && !group.needs_hosts()
        {
            // Only the processors and the calendar matter.
            let [length, reserved] =
                [work, group.reserved].map(|time| pool.slowdown.time_for(time));
            loop {
                from = pool.procs.first_hole(from, group.procs, length)?;
                let open = self.calendar.first_start(from, reserved);
                if open == from {
                    return self.at(group, work, (from, Instant::MAX));
                }
                from = open;
            }
        }
        if group.is_on_one_host() {
            let places = self.hosts.iter().filter_map(|host| {
                let at = self.earliest_on(host, group, work)?;
                Some((at + host.slowdown.time_for(work), at))
            });
            let (end, at) = places.min()?;
            return self.at(group, work, (at, end));
        }
        let later = self.changes().into_iter().filter(|&at| at > from);
        let mut instants = std::iter::once(from).chain(later);
        instants.find_map(|at| {
            let at = self.calendar.first_start(at, group.reserved);
            self.at(group, work, (at, Instant::MAX))
        })
    }

    /// Returns the last place of a job of a group with this work that ends by `end`.
    pub(super) fn latest(
        &self,
        group: &JobGroup,
        work: Span,
        end: Instant,
    ) -> Option<PlannedPlace> {
        let [length, reserved] = [work, group.reserved].map(|time| self.longest(time));
        let mut end = end;
        if let [pool] = self.hosts.as_slice()
            && !group.needs_hosts()
        {
            loop {
                let at = pool.procs.latest(group.procs, length, end)?;
                let at = Some(at).filter(|&at| at >= self.now)?;
                let open = self.last_start(
                    at.min(pool.times.last_end(group.hosts) - reserved),
                    reserved,
                );
                if open == at {
                    return self.at(group, work, (at, Instant::MAX));
                }
                end = open + length;
            }
        }
        if group.is_on_one_host() {
            let hosts = self.hosts.iter();
            let starts = hosts.filter_map(|host| self.latest_on(host, group, work, end));
            return self.at(group, work, (starts.max()?, end));
        }
        let slowdowns = self.slowdowns.iter();
        let places =
            slowdowns.filter_map(|&slowdown| self.latest_at_speed(group, (work, slowdown), end));
        // Of equal starts the one on the fastest hosts.
        places.rev().max_by_key(|place| place.at)
    }

    /// Returns the last place of a job of a group on hosts that other load slows by no more than this, if there is one.
    fn latest_at_speed(
        &self,
        group: &JobGroup,
        (work, slowdown): (Span, HostSlowdown),
        end: Instant,
    ) -> Option<PlannedPlace> {
        let [length, reserved] = [work, group.reserved].map(|time| slowdown.time_for(time));
        // A later place begins at a change, or when a host closes.
        let closes = self
            .hosts
            .iter()
            .map(|host| host.times.last_end(group.hosts));
        let last_ends = closes.map(|closes| closes - reserved + length);
        let mut earlier: Vec<Instant> = self.changes().into_iter().chain(last_ends).collect();
        earlier.retain(|&at| at < end);
        earlier.sort_unstable();
        let mut ends = std::iter::once(end).chain(earlier.into_iter().rev());
        ends.find_map(|end| {
            let at = self.last_start(end - length, reserved);
            let at = Some(at).filter(|&at| at >= self.now)?;
            self.at_speed(group, (work, slowdown), at)
        })
    }

    /// Returns the last instant up to `at` from which a job can run for `length` before a maintenance window.
    fn last_start(&self, at: Instant, length: Span) -> Instant {
        let mut start = at;
        while let Some(next) = self.calendar.next(start)
            && next.from < start + length
        {
            start = next.from - length;
        }
        start
    }

    /// Returns the place of a job that starts at an instant and ends by another, if there is one: on the hosts that
    /// other load slows least.
    fn at(
        &self,
        group: &JobGroup,
        work: Span,
        (at, by): (Instant, Instant),
    ) -> Option<PlannedPlace> {
        let slowdowns = self.slowdowns.iter();
        let mut places =
            slowdowns.filter_map(|&slowdown| self.at_speed(group, (work, slowdown), at));
        places.find(|place| at + place.length() <= by)
    }

    /// Returns the place of a job that starts at an instant on hosts that other load slows by no more than this, if there
    /// is one.
    fn at_speed(
        &self,
        group: &JobGroup,
        (work, slowdown): (Span, HostSlowdown),
        at: Instant,
    ) -> Option<PlannedPlace> {
        let end = at + slowdown.time_for(work);
        let reserved = slowdown.time_for(group.reserved);
        if self.calendar.room(at) < reserved || !covers(&self.licences, &group.licences, at, end) {
            return None;
        }
        let place = |parts| PlannedPlace {
            at,
            work,
            slowdown,
            parts,
        };
        let stays = |host: &HostProfile| {
            host.slowdown <= slowdown && at + reserved <= host.times.last_end(group.hosts)
        };
        if group.one_host {
            let fits = |host: &HostProfile| {
                stays(host)
                    && group.accepts_host(host.name)
                    && host.procs.fewest(at, end) >= group.procs
                    && covers(&host.devices, &group.devices, at, end)
            };
            let host = self
                .order_for(group)
                .find(|&host| fits(&self.hosts[host]))?;
            return Some(place(vec![(host, group.procs)]));
        }
        let mut parts = Vec::new();
        let mut missing = group.procs;
        for index in self.order_for(group) {
            let host = &self.hosts[index];
            if missing > 0 && stays(host) {
                let procs = host.procs.fewest(at, end).min(missing);
                missing -= procs;
                parts.extend((procs > 0).then_some((index, procs)));
            }
        }
        (missing == 0).then(|| place(parts))
    }

    /// Returns the order in which jobs of a group take hosts.
    fn order_for(&self, group: &JobGroup) -> impl Iterator<Item = usize> + use<> {
        let is_desktop = |host: &HostProfile| host.times.is_desktop;
        let n_desktops = self.hosts.partition_point(is_desktop);
        host_times::order_for(group.hosts, n_desktops, self.hosts.len())
    }

    /// Takes the place of a job.
    pub(super) fn book(&mut self, group: &JobGroup, place: &PlannedPlace) {
        self.book_alike(group, place, 1);
    }

    /// Takes a place for each of `count` jobs, on the same hosts.
    fn book_alike(&mut self, group: &JobGroup, place: &PlannedPlace, count: u32) {
        self.change(group, place, |profile, units| {
            profile.reserve(place.at, units * count, place.length());
        });
    }

    /// Gives the place of a job back.
    pub(super) fn lift(&mut self, group: &JobGroup, place: &PlannedPlace) {
        self.change(group, place, |profile, units| {
            profile.release(place.at, units, place.length());
        });
    }

    fn change(
        &mut self,
        group: &JobGroup,
        place: &PlannedPlace,
        mut change: impl FnMut(&mut CapacityProfile, u32),
    ) {
        let units = |profiles: &mut [UnitProfile], counts: &ResourceCounts| {
            for profile in profiles {
                match counts.of(profile.kind) {
                    0 => {}
                    count => change(&mut profile.free, u32::from(count)),
                }
            }
        };
        let mut units = units;
        units(&mut self.licences, &group.licences);
        for &(host, _) in &place.parts {
            units(&mut self.hosts[host].devices, &group.devices);
        }
        for &(host, procs) in &place.parts {
            change(&mut self.hosts[host].procs, procs);
        }
    }

    /// Returns the hosts of a place, if it matters which.
    pub(super) fn host_parts(&self, place: &PlannedPlace) -> Option<Vec<HostPart>> {
        let host_part = |&(host, procs): &(usize, u32)| HostPart {
            host: self.hosts[host].host,
            procs,
        };
        self.by_host
            .then(|| place.parts.iter().map(host_part).collect())
    }

    /// Returns the instants at which something changes, ascending.
    fn changes(&self) -> Vec<Instant> {
        let of_host = |host: &HostProfile| -> Vec<Instant> {
            let devices = host.devices.iter().flat_map(|device| device.free.changes());
            host.procs.changes().chain(devices).collect()
        };
        let licences = self.licences.iter().flat_map(|kind| kind.free.changes());
        let mut all: Vec<Instant> = licences
            .chain(self.hosts.iter().flat_map(of_host))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl HostProfile {
    /// Returns the hosts with a node that is up, and those that come.
    fn all(view: View<'_>, running: &[RunningUntil], future: &HostFuture) -> Vec<Self> {
        let hosts = view.hosts().iter().enumerate();
        let up = hosts.filter(|(_, host)| view.n_up_in(host.nodes) > 0);
        let n_devices = |host: usize| -> u32 {
            let devices = view.hosts().get(host).map(|host| host.terms.devices);
            let devices = devices.unwrap_or(ResourceCounts::NONE);
            devices.iter().map(|(_, count)| u32::from(count)).sum()
        };
        let mut all: Vec<Self> = up
            .map(|(index, host)| {
                let released = |id: JobId| view.released_procs_in(view.job(id), host.nodes);
                let is_here = |id: JobId| released(id) > 0;
                let free = host.free_devices();
                let devices = host.terms.devices.iter().map(|(kind, _)| {
                    let of = |id: JobId| {
                        let devices = view.devices_of(&view.job(id).spec.needs);
                        u32::from(devices.of(kind)) * u32::from(is_here(id))
                    };
                    UnitProfile {
                        kind,
                        free: profile(view.now, u32::from(free.of(kind)), running, of),
                    }
                });
                Self {
                    host: index,
                    name: host.terms.name,
                    times: HostTimes::of(view, host),
                    slowdown: host.slowdown(),
                    rank: host.rank,
                    procs: profile(view.now, view.n_idle_in(host.nodes), running, released),
                    devices: devices.collect(),
                }
            })
            .collect();
        let coming = (view.hosts().len()..).zip(&future.coming);
        all.extend(coming.map(|(index, host)| Self {
            host: index,
            name: None,
            times: host.times(),
            slowdown: HostSlowdown::NONE,
            rank: 0,
            procs: CapacityProfile::of_steps(&[(view.now, 0), (host.opens, host.nodes)]),
            devices: Vec::new(),
        }));
        all.sort_by_key(|host| {
            let (is_dedicated, closes) = host.times.order();
            let order = (host.slowdown, host.rank, closes);
            (is_dedicated, order, n_devices(host.host), host.host)
        });
        all
    }
}

fn licence_profiles(view: View<'_>, running: &[RunningUntil]) -> Vec<UnitProfile> {
    let free = view.free_licences();
    let kinds = view.licences();
    let profiles = kinds.iter().map(|(kind, _)| {
        let of = |id: JobId| u32::from(view.licences_of(&view.job(id).spec.needs).of(kind));
        UnitProfile {
            kind,
            free: profile(view.now, u32::from(free.of(kind)), running, of),
        }
    });
    profiles.collect()
}

/// Returns whether as many units as `needed` are free from `at` until `end`.
fn covers(profiles: &[UnitProfile], needed: &ResourceCounts, at: Instant, end: Instant) -> bool {
    needed.iter().all(|(kind, count)| {
        let profile = profiles.iter().find(|profile| profile.kind == kind);
        profile.is_some_and(|profile| profile.free.fewest(at, end) >= u32::from(count))
    })
}

/// Returns the free units over time, if `idle` are free now and each running job gives some back at its end.
fn profile(
    now: Instant,
    idle: u32,
    running: &[RunningUntil],
    released: impl Fn(JobId) -> u32,
) -> CapacityProfile {
    let ends = running
        .iter()
        .map(|&(id, end)| (end.max(now + Span::TICK), released(id)));
    let mut ends: Vec<(Instant, u32)> = ends.filter(|&(_, units)| units > 0).collect();
    ends.sort_unstable();
    let mut steps = vec![(now, idle)];
    let mut free = idle;
    for (end, units) in ends {
        free += units;
        match steps.last_mut() {
            Some(step) if step.0 == end => step.1 = free,
            Some(_) | None => steps.push((end, free)),
        }
    }
    CapacityProfile::of_steps(&steps)
}
