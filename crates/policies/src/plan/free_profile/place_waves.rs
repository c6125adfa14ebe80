//! The places of equal jobs, as many at once as nothing changes in between.

use tollgate_model::{Instant, ResourceCounts, ResourceIndex, Span};

use super::{FreeProfile, HostProfile, PlannedPlace, UnitProfile};
use crate::plan::timetable::JobGroup;

/// Places of equal jobs: waves, of which each begins where the one before ends, of some jobs side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plan) struct PlaceWaves {
    /// The start of the first wave.
    at: Instant,
    /// The time of each place.
    length: Span,
    /// The jobs of each wave in the order in which they are placed: hosts and processors of a job, as a
    /// [`PlannedPlace`] has them, and the number of jobs there. Never empty.
    beside: Vec<AlikeParts>,
    /// Number of waves. At least 1.
    waves: u32,
}

/// Host and processors of each part of a job, and the number of such jobs.
type AlikeParts = (Vec<(usize, u32)>, u32);

impl PlaceWaves {
    /// Returns the number of jobs.
    pub(in crate::plan) fn n_jobs(&self) -> u32 {
        self.width() * self.waves
    }

    /// Returns the number of jobs of a wave.
    fn width(&self) -> u32 {
        self.beside.iter().map(|(_, count)| count).sum()
    }

    /// Returns whether the first wave starts at an instant.
    pub(in crate::plan) fn starts_at(&self, at: Instant) -> bool {
        self.at == at
    }

    /// Returns the starts of the first two waves.
    pub(in crate::plan) fn first_starts(&self) -> impl Iterator<Item = Instant> {
        let second = (self.waves > 1).then_some(self.at + self.length);
        std::iter::once(self.at).chain(second)
    }

    /// Returns the end of the first wave.
    pub(in crate::plan) fn first_end(&self) -> Instant {
        self.at + self.length
    }

    /// Returns the places of the first wave, in the order in which they were taken.
    pub(in crate::plan) fn first_wave(&self) -> impl Iterator<Item = PlannedPlace> {
        let jobs = self
            .beside
            .iter()
            .flat_map(|(parts, count)| std::iter::repeat_n(parts, *count as usize));
        jobs.map(|parts| self.place(parts))
    }

    /// Returns the number of choices of hosts in each wave.
    pub(in crate::plan) fn n_choices(&self) -> usize {
        self.beside.len()
    }

    /// Returns the place of a job of the first wave on one of the choices of hosts, counted from 0.
    pub(in crate::plan) fn first_on(&self, choice: usize) -> PlannedPlace {
        self.place(&self.beside[choice].0)
    }

    fn place(&self, parts: &[(usize, u32)]) -> PlannedPlace {
        PlannedPlace {
            at: self.at,
            length: self.length,
            parts: parts.to_vec(),
        }
    }

    /// Returns the places that are left without [one](Self::first_on) of the first wave, in order of time.
    pub(in crate::plan) fn without_first_on(self, choice: usize) -> impl Iterator<Item = Self> {
        let behind = Self {
            at: self.at + self.length,
            waves: self.waves - 1,
            ..self.clone()
        };
        let mut beside = Self { waves: 1, ..self };
        beside.beside[choice].1 -= 1;
        beside.beside.retain(|&(_, count)| count > 0);
        let both = [beside, behind].into_iter();
        both.filter(|places| places.n_jobs() > 0)
    }
}

impl FreeProfile {
    /// Returns the first places of up to `most` jobs of a group that run for `length`: of fewer where what is free
    /// changes. The places that are left over are no earlier.
    pub(in crate::plan) fn earliest_waves(
        &self,
        group: &JobGroup,
        length: Span,
        most: u32,
    ) -> Option<PlaceWaves> {
        let at = self.earliest(group, length)?.at;
        let (_, until) = self.steady_around(group, length, at);
        Some(self.waves(group, length, at, until.since(at), most))
    }

    /// Returns the last places of up to `most` jobs of a group that run for `length` and end by `end`: of fewer
    /// where what is free changes. The places that are left over are no later.
    pub(in crate::plan) fn latest_waves(
        &self,
        group: &JobGroup,
        length: Span,
        end: Instant,
        most: u32,
    ) -> Option<PlaceWaves> {
        let at = self.latest(group, length, end)?.at;
        let end = at + length;
        let (from, until) = self.steady_around(group, length, at);
        let room = match until >= end {
            true => end.since(from.max(self.now)),
            false => length,
        };
        let all = self.waves(group, length, at, room, most);
        let at = end - length.times(all.waves);
        Some(PlaceWaves { at, ..all })
    }

    /// Takes the places of jobs of a group.
    pub(in crate::plan) fn book_waves(&mut self, group: &JobGroup, places: &PlaceWaves) {
        let length = places.length.times(places.waves);
        for (parts, count) in &places.beside {
            let whole = PlannedPlace {
                length,
                ..places.place(parts)
            };
            self.book_alike(group, &whole, *count);
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
        let wave = PlaceWaves {
            at,
            length,
            beside,
            waves: 1,
        };
        let fit = length.max(Span::TICK).number_in(room);
        let waves = fit.min(most / wave.width()).max(1);
        PlaceWaves { waves, ..wave }
    }

    /// Returns the places of up to `most` jobs of a group from `at` until `end`, of which the first has one.
    fn beside(&self, group: &JobGroup, at: Instant, end: Instant, most: u32) -> Vec<AlikeParts> {
        let by_licences = units_for(&self.licences, &group.licences, at, end);
        let stays = |host: &HostProfile| at + group.reserved <= host.closes;
        let mut left = most.min(by_licences);
        let mut all = Vec::new();
        let mut take = |parts: Vec<(usize, u32)>, count: u32| {
            let count = count.min(left);
            left -= count;
            if count > 0 {
                all.push((parts, count));
            }
            left > 0
        };
        // What a job still misses that has begun to take processors of several hosts.
        let (mut parts, mut missing) = (Vec::new(), group.procs);
        for (index, host) in self.hosts.iter().enumerate() {
            if !stays(host) || (group.one_host && !group.accepts_host(host.name)) {
                continue;
            }
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

    /// Returns the time around an instant during which nothing changes for jobs of a group that run for `length`: the
    /// begin of the first, and the end of the last of them, of which the first begins there. They end by then only if
    /// nothing changes until that job ends.
    fn steady_around(&self, group: &JobGroup, length: Span, at: Instant) -> (Instant, Instant) {
        let (mut from, mut until) = (Instant::ZERO, Instant::MAX);
        let mut within = |(begin, end): (Instant, Instant)| {
            from = from.max(begin);
            until = until.min(end);
        };
        // The end of a job that starts when it last may.
        let last_end = |last_start: Instant| last_start - group.reserved + length;
        let of_units = |profiles: &[UnitProfile], wanted: &ResourceCounts| {
            let wanted = profiles.iter().filter(|of| wanted.of(of.kind) > 0);
            let steady: Vec<_> = wanted.map(|of| of.free.steady_around(at)).collect();
            steady
        };
        for steady in of_units(&self.licences, &group.licences) {
            within(steady);
        }
        for host in &self.hosts {
            if group.one_host && !group.accepts_host(host.name) {
                continue;
            }
            match at + group.reserved <= host.closes {
                true => {
                    within(host.procs.steady_around(at));
                    within((Instant::ZERO, last_end(host.closes)));
                    for steady in of_units(&host.devices, &group.devices) {
                        within(steady);
                    }
                }
                // An earlier one would have this host, too.
                false => within((host.closes - group.reserved + Span::TICK, Instant::MAX)),
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

/// Returns for how many jobs that want these units each they suffice from `at` until `end`.
fn units_for(profiles: &[UnitProfile], wanted: &ResourceCounts, at: Instant, end: Instant) -> u32 {
    let of = |(kind, count): (ResourceIndex, u8)| {
        let profile = profiles.iter().find(|profile| profile.kind == kind);
        let free = profile.map_or(0, |profile| profile.free.fewest(at, end));
        free / u32::from(count).max(1)
    };
    wanted.iter().map(of).min().unwrap_or(u32::MAX)
}
