//! The places of jobs that run on one host each: a search on each host, instead of a look at all hosts whenever something
//! changes on any.

use tollgate_model::{Instant, Span};
use tollgate_policy::toolkit::CapacityProfile;

use super::{FreeProfile, HostProfile};
use crate::plan::timetable::JobGroup;

impl FreeProfile {
    /// Returns the first start of a job of a group with this work on a host.
    pub(super) fn earliest_on(
        &self,
        host: &HostProfile,
        group: &JobGroup,
        work: Span,
    ) -> Option<Instant> {
        let [length, reserved] = [work, group.reserved].map(|time| host.slowdown.time_for(time));
        let taken = self.taken_on(host, group)?;
        let mut from = self.now;
        // Until all agree: each finds its first place from that of the others on.
        loop {
            let mut all = taken.iter();
            let at = all.try_fold(from, |at, (free, units)| {
                free.first_hole(at, *units, length)
            })?;
            let at = self.calendar.first_start(at, reserved);
            if at + reserved > host.times.last_end(group.hosts) {
                return None;
            }
            if at == from {
                return Some(at);
            }
            from = at;
        }
    }

    /// Returns the last start of a job of a group with this work on a host that ends by `end`.
    pub(super) fn latest_on(
        &self,
        host: &HostProfile,
        group: &JobGroup,
        work: Span,
        end: Instant,
    ) -> Option<Instant> {
        let [length, reserved] = [work, group.reserved].map(|time| host.slowdown.time_for(time));
        let taken = self.taken_on(host, group)?;
        let mut last = end - length;
        loop {
            let mut all = taken.iter();
            let at = all.try_fold(last, |at, (free, units)| {
                free.latest(*units, length, at + length)
            })?;
            let at = self.last_start(
                at.min(host.times.last_end(group.hosts) - reserved),
                reserved,
            );
            if at < self.now {
                return None;
            }
            if at == last {
                return Some(at);
            }
            last = at;
        }
    }

    /// Returns what is free of all that a job of a group takes on a host, with the units that it takes of
    /// each. None if the host is not one for it.
    fn taken_on<'a>(
        &'a self,
        host: &'a HostProfile,
        group: &JobGroup,
    ) -> Option<Vec<(&'a CapacityProfile, u32)>> {
        let mut taken = vec![(&host.procs, group.procs)];
        for (profiles, needed) in [
            (&host.devices, group.devices),
            (&self.licences, group.licences),
        ] {
            for (kind, count) in needed.iter() {
                let profile = profiles.iter().find(|profile| profile.kind == kind)?;
                taken.push((&profile.free, u32::from(count)));
            }
        }
        group.accepts_host(host.name).then_some(taken)
    }
}
