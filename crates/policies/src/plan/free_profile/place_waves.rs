//! The places of equal jobs, as many at once as nothing changes in between.

use tollgate_model::{HostSlowdown, Instant, ResourceCounts, ResourceIndex, Span};

use super::{FreeProfile, HostProfile, PlannedPlace, UnitProfile};
use crate::plan::timetable::JobGroup;

/// Places of equal jobs: waves of some jobs side by side, in which each job begins where one of the wave before ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plan) struct PlaceWaves {
    /// The work of each job.
    work: Span,
    /// How much longer it takes: as on the slowest host.
    slowdown: HostSlowdown,
    /// The jobs of the first wave in the order in which they are placed. Never empty.
    beside: Vec<EqualPlaces>,
    /// Number of waves. At least 1.
    waves: u32,
}

/// Places of a wave that begin together on the same hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EqualPlaces {
    at: Instant,
    /// Hosts and processors of a job, as a [`PlannedPlace`] has them.
    parts: Vec<(usize, u32)>,
    /// Number of jobs. At least 1.
    count: u32,
}

impl PlaceWaves {
    /// Returns the number of jobs.
    pub(in crate::plan) fn n_jobs(&self) -> u32 {
        self.width() * self.waves
    }

    /// Returns the time of each place.
    fn length(&self) -> Span {
        self.slowdown.time_for(self.work)
    }

    /// Returns the number of jobs of a wave.
    fn width(&self) -> u32 {
        self.beside.iter().map(|alike| alike.count).sum()
    }

    /// Returns the starts of the first wave, and the first one of the second wave.
    pub(in crate::plan) fn first_starts(&self) -> impl Iterator<Item = Instant> {
        let second = (self.waves > 1).then_some(self.beside[0].at + self.length());
        let first = self.beside.iter().map(|alike| alike.at);
        first.chain(second)
    }

    /// Returns the starts of all jobs, wave by wave, and how much longer each takes.
    pub(in crate::plan) fn starts(&self) -> impl Iterator<Item = (Instant, HostSlowdown)> {
        (0..self.waves).flat_map(move |wave| {
            let begin = self.length().times(wave);
            let beside = self.beside.iter();
            beside.flat_map(move |alike| {
                let start = (alike.at + begin, self.slowdown);
                std::iter::repeat_n(start, alike.count as usize)
            })
        })
    }

    /// Returns the end of the first job.
    pub(in crate::plan) fn first_end(&self) -> Instant {
        self.beside[0].at + self.length()
    }

    /// Returns the places of the first wave that begin at an instant, in the order in which they were taken.
    pub(in crate::plan) fn first_at(&self, at: Instant) -> impl Iterator<Item = PlannedPlace> {
        let alike = self.beside.iter().enumerate();
        let alike = alike.filter(move |(_, alike)| alike.at == at);
        alike.flat_map(|(choice, alike)| {
            std::iter::repeat_n(self.first_on(choice), alike.count as usize)
        })
    }

    /// Returns the number of choices of hosts in each wave.
    pub(in crate::plan) fn n_choices(&self) -> usize {
        self.beside.len()
    }

    /// Returns the place of a job of the first wave on one of the choices of hosts, counted from 0.
    pub(in crate::plan) fn first_on(&self, choice: usize) -> PlannedPlace {
        let EqualPlaces { at, parts, .. } = &self.beside[choice];
        PlannedPlace {
            at: *at,
            work: self.work,
            slowdown: self.slowdown,
            parts: parts.clone(),
        }
    }

    /// Returns the places that are left without [one](Self::first_on) of the first wave, in order of time.
    pub(in crate::plan) fn without_first_on(self, choice: usize) -> impl Iterator<Item = Self> {
        let mut behind = self.clone().later(self.length());
        behind.waves -= 1;
        let mut beside = Self { waves: 1, ..self };
        beside.beside[choice].count -= 1;
        beside.beside.retain(|alike| alike.count > 0);
        let both = [beside, behind].into_iter();
        both.filter(|places| places.n_jobs() > 0)
    }

    /// Returns these places and those of further waves: up to `fit` of them, of up to `most` jobs.
    fn repeated(self, fit: u32, most: u32) -> Self {
        let waves = fit.min(most / self.width()).max(1);
        Self { waves, ..self }
    }

    fn later(mut self, by: Span) -> Self {
        for alike in &mut self.beside {
            alike.at += by;
        }
        self
    }
}

impl FreeProfile {
    /// Returns the first places of up to `most` jobs of a group that run for `length`. Of fewer where what is free
    /// changes, or other load slows hosts. The places that are left over are no earlier.
    pub(in crate::plan) fn earliest_waves(
        &self,
        group: &JobGroup,
        length: Span,
        most: u32,
    ) -> Option<PlaceWaves> {
        let first = self.earliest(group, length)?;
        if self.is_slowed() {
            return Some(self.alike(group, first, most));
        }
        let at = first.at;
        if let Some(columns) = self.columns(group, length, at, most) {
            return Some(columns);
        }
        let (_, until) = self.steady_around(group, length, at);
        Some(self.waves(group, length, at, until.since(at), most))
    }

    /// Returns the last places of up to `most` jobs of a group that run for `length` and end by `end`. Of fewer
    /// where what is free changes, or other load slows hosts. The places that are left over are no later.
    pub(in crate::plan) fn latest_waves(
        &self,
        group: &JobGroup,
        length: Span,
        end: Instant,
        most: u32,
    ) -> Option<PlaceWaves> {
        let last = self.latest(group, length, end)?;
        if self.is_slowed() {
            return Some(self.alike(group, last, most));
        }
        let at = last.at;
        let end = at + length;
        let (from, until) = self.steady_around(group, length, at);
        let room = match until >= end {
            true => end.since(from.max(self.now)),
            false => length,
        };
        let all = self.waves(group, length, at, room, most);
        let earlier = Span::ZERO - length.times(all.waves - 1);
        Some(all.later(earlier))
    }

    /// Takes the places of jobs of a group.
    pub(in crate::plan) fn book_waves(&mut self, group: &JobGroup, places: &PlaceWaves) {
        let work = places.work.times(places.waves);
        for (choice, alike) in places.beside.iter().enumerate() {
            let whole = PlannedPlace {
                work,
                ..places.first_on(choice)
            };
            self.book_alike(group, &whole, alike.count);
        }
    }

    /// Returns a place as a wave, with as many more of up to `most` jobs as have room beside it on a host.
    fn alike(&self, group: &JobGroup, place: PlannedPlace, most: u32) -> PlaceWaves {
        let (at, end) = (place.at, place.at + place.length());
        let n_beside = match place.parts.as_slice() {
            [(host, _)] => {
                let host = &self.hosts[*host];
                let by_procs = host.procs.fewest(at, end) / group.procs;
                let by_devices = units_for(&host.devices, &group.devices, at, end);
                by_procs
                    .min(by_devices)
                    .min(units_for(&self.licences, &group.licences, at, end))
            }
            _ => 1,
        };
        PlaceWaves {
            work: place.work,
            slowdown: place.slowdown,
            beside: vec![EqualPlaces {
                at,
                parts: place.parts,
                count: n_beside.clamp(1, most),
            }],
            waves: 1,
        }
    }

    /// Returns as many full waves as fit into `room` from an instant on, of up to `most` jobs: at least the first one.
    fn waves(
        &self,
        group: &JobGroup,
        length: Span,
        at: Instant,
        room: Span,
        most: u32,
    ) -> PlaceWaves {
        let beside = self.beside(group, at, at + length, most);
        let fit = length.max(Span::TICK).number_in(room).max(1);
        PlaceWaves {
            work: length,
            slowdown: HostSlowdown::NONE,
            beside,
            waves: 1,
        }
        .repeated(fit, most)
    }

    /// Returns the first places of up to `most` jobs that begin at `at` and, as more becomes free, in the
    /// time up to the end of the first of them. These then follow each other on their own processors. None if
    /// less becomes free, or if which hosts the later ones take depends on what all hosts have.
    fn columns(
        &self,
        group: &JobGroup,
        length: Span,
        at: Instant,
        most: u32,
    ) -> Option<PlaceWaves> {
        let by_host = group.one_host || group.procs == 1 || self.hosts.len() == 1;
        if !by_host || !group.licences.is_none() {
            return None;
        }
        let first_end = at + length;
        // The end of a job that starts when it last may.
        let last_end = |last_start: Instant| last_start - group.reserved + length;
        let window = self.calendar.next(at);
        let mut until = window.map_or(Instant::MAX, |window| last_end(window.from));
        let mut beside = Vec::new();
        for (index, host) in self.hosts_for(group, at) {
            until = until.min(last_end(host.times.last_end(group.hosts)));
            let (mut from, mut n_before) = (at, 0);
            while from < first_end {
                let (n, next) = host.room_for(group, from);
                if n < n_before {
                    return None;
                }
                if n > n_before {
                    beside.push(EqualPlaces {
                        at: from,
                        parts: vec![(index, group.procs)],
                        count: n - n_before,
                    });
                }
                (from, n_before) = (next, n);
            }
            until = until.min(from);
        }
        beside.sort_by_key(|alike| alike.at);
        let last = beside.last()?.at;
        let fit = length.max(Span::TICK).number_in(until.since(last));
        let wave = PlaceWaves {
            work: length,
            slowdown: HostSlowdown::NONE,
            beside,
            waves: 1,
        };
        let all_fit = fit > 0 && wave.width() <= most;
        all_fit.then(|| wave.repeated(fit, most))
    }

    /// Returns the places of up to `most` jobs of a group from `at` until `end`, of which the first has one.
    fn beside(&self, group: &JobGroup, at: Instant, end: Instant, most: u32) -> Vec<EqualPlaces> {
        let by_licences = units_for(&self.licences, &group.licences, at, end);
        let mut left = most.min(by_licences);
        let mut all = Vec::new();
        let mut take = |parts: Vec<(usize, u32)>, count: u32| {
            let count = count.min(left);
            left -= count;
            if count > 0 {
                all.push(EqualPlaces { at, parts, count });
            }
            left > 0
        };
        // The processors that the job still misses, once it has taken some of several hosts.
        let (mut parts, mut missing) = (Vec::new(), group.procs);
        for (index, host) in self.hosts_for(group, at) {
            let mut idle = host.procs.fewest(at, end);
            if group.one_host {
                let by_devices = units_for(&host.devices, &group.devices, at, end);
                if !take(
                    vec![(index, group.procs)],
                    by_devices.min(idle / group.procs),
                ) {
                    break;
                }
                continue;
            }
            if !parts.is_empty() {
                let procs = idle.min(missing);
                parts.extend((procs > 0).then_some((index, procs)));
                (idle, missing) = (idle - procs, missing - procs);
                if missing > 0 {
                    continue;
                }
                missing = group.procs;
                if !take(std::mem::take(&mut parts), 1) {
                    break;
                }
            }
            let count = idle / group.procs;
            if count > 0 && !take(vec![(index, group.procs)], count) {
                break;
            }
            let rest = idle % group.procs;
            if rest > 0 {
                parts.push((index, rest));
                missing -= rest;
            }
        }
        all
    }

    /// Returns the hosts, by their places in the order, that take jobs of a group which start at an instant.
    fn hosts_for(
        &self,
        group: &JobGroup,
        at: Instant,
    ) -> impl Iterator<Item = (usize, &HostProfile)> {
        let takes = move |host: &HostProfile| {
            let accepts = !group.one_host || group.accepts_host(host.name);
            accepts && at + group.reserved <= host.times.last_end(group.hosts)
        };
        let order = self.order_for(group);
        let hosts = order.map(|index| (index, &self.hosts[index]));
        hosts.filter(move |(_, host)| takes(host))
    }

    /// Returns the time around an instant during which nothing changes for jobs of a group that run for
    /// `length`. It is the begin of the first and the end of the last of them, of which the first begins
    /// there. They end by then only if nothing changes until that job ends.
    fn steady_around(&self, group: &JobGroup, length: Span, at: Instant) -> (Instant, Instant) {
        let (mut from, mut until) = (Instant::ZERO, Instant::MAX);
        let mut within = |(begin, end): (Instant, Instant)| {
            from = from.max(begin);
            until = until.min(end);
        };
        // The end of a job that starts when it last may.
        let last_end = |last_start: Instant| last_start - group.reserved + length;
        let of_units = |profiles: &[UnitProfile], needed: &ResourceCounts| {
            let needed = profiles.iter().filter(|of| needed.of(of.kind) > 0);
            let steady: Vec<_> = needed.map(|of| of.free.steady_around(at)).collect();
            steady
        };
        for steady in of_units(&self.licences, &group.licences) {
            within(steady);
        }
        for host in &self.hosts {
            if group.one_host && !group.accepts_host(host.name) {
                continue;
            }
            match at + group.reserved <= host.times.last_end(group.hosts) {
                true => {
                    within(host.procs.steady_around(at));
                    within((Instant::ZERO, last_end(host.times.last_end(group.hosts))));
                    for steady in of_units(&host.devices, &group.devices) {
                        within(steady);
                    }
                }
                // An earlier one would have this host, too.
                false => within((
                    host.times.last_end(group.hosts) - group.reserved + Span::TICK,
                    Instant::MAX,
                )),
            }
        }
        if let Some(window) = self.calendar.next(at) {
            within((Instant::ZERO, last_end(window.from)));
        }
        let windows = self.calendar.windows().iter();
        for window in windows.filter(|window| window.until <= at) {
            within((window.until, Instant::MAX));
        }
        (from, until)
    }
}

impl HostProfile {
    /// Returns for how many jobs of a group there is room at an instant, and the next instant at which something
    /// changes.
    fn room_for(&self, group: &JobGroup, at: Instant) -> (u32, Instant) {
        let next = at + Span::TICK;
        let by_procs = self.procs.fewest(at, next) / group.procs;
        let by_devices = units_for(&self.devices, &group.devices, at, next);
        let devices = self.devices.iter().map(|kind| &kind.free);
        let ends = devices
            .chain([&self.procs])
            .map(|free| free.steady_around(at).1);
        (by_procs.min(by_devices), ends.min().unwrap_or(Instant::MAX))
    }
}

/// Returns for how many jobs that want these units each they suffice from `at` until `end`.
fn units_for(profiles: &[UnitProfile], needed: &ResourceCounts, at: Instant, end: Instant) -> u32 {
    let of = |(kind, count): (ResourceIndex, u8)| {
        let profile = profiles.iter().find(|profile| profile.kind == kind);
        let free = profile.map_or(0, |profile| profile.free.fewest(at, end));
        free / u32::from(count).max(1)
    };
    needed.iter().map(of).min().unwrap_or(u32::MAX)
}
