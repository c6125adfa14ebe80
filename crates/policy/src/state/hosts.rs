//! Hosts: what the processors of one machine have in common.
//!
//! Nodes are processors, and a worker's nodes are those of one host. A host can close at a known time,
//! as a pilot does at the end of its job, and it can have devices. Licences belong to the whole site.

use serde::{Deserialize, Serialize};
use tollgate_model::{
    Credits, ForeignLoad, HostNameIndex, HostSlowdown, HostTerms, Instant, JobId, JobSpec,
    MAX_RESOURCES, NodeId, NodeRange, PlacementNeeds, ResourceCounts, ResourceIndex, WorkProgress,
};

use crate::context::InvariantViolation;

use super::{ClusterState, ExpectedHost, ExpectedHosts, JobPhase, JobSlot};

/// A host, with the devices that are taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Its nodes.
    pub nodes: NodeRange,
    /// The instant from which it has been there.
    pub opened: Instant,
    /// Its resources.
    pub terms: HostTerms,
    /// Its place in the order in which jobs take desktops; 0 without an order.
    pub rank: u32,
    /// The load of the host that is not of jobs, as far as it slows them; None if it does not.
    pub foreign_load: Option<ForeignLoad>,
    /// How often an hour its site ends it before its time; 0 if it never does.
    pub preempted_per_h: f64,
    /// The forecast of log-ins at it, by its index, if people work at it and enough of them were seen.
    pub(super) logins: Option<u32>,
    /// By resource: the devices that are taken, lowest first, a bit each.
    taken: Vec<u64>,
}

impl Host {
    /// Returns the devices that no job takes.
    pub fn free_devices(&self) -> ResourceCounts {
        let taken = self.taken.iter().zip(ResourceIndex::all());
        let taken = taken.fold(ResourceCounts::NONE, |counts, (bits, index)| {
            counts.with(index, bits.count_ones() as u8)
        });
        self.terms.devices.minus(&taken)
    }

    /// Returns how much slower jobs are on the host because of load that is not of jobs.
    pub fn slowdown(&self) -> HostSlowdown {
        self.foreign_load
            .map_or(HostSlowdown::NONE, |load| load.slowdown)
    }

    /// Takes the lowest free devices.
    fn take(&mut self, needed: &ResourceCounts) -> Vec<HeldDevices> {
        self.taken.resize(MAX_RESOURCES, 0);
        let mut held = Vec::new();
        for (index, count) in needed.iter() {
            let taken = &mut self.taken[usize::from(index.0)];
            let mut bits = 0;
            for _ in 0..count {
                let free = (!(*taken | bits)).trailing_zeros();
                bits |= 1 << free;
            }
            *taken |= bits;
            held.push(HeldDevices { index, bits });
        }
        held
    }

    fn release(&mut self, held: &[HeldDevices]) {
        for HeldDevices { index, bits } in held {
            if let Some(taken) = self.taken.get_mut(usize::from(index.0)) {
                *taken &= !bits;
            }
        }
    }
}

/// The devices of one resource that a job takes on its host, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldDevices {
    /// The resource.
    pub index: ResourceIndex,
    bits: u64,
}

impl HeldDevices {
    /// Returns the numbers of the devices, from 0 on each host.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        let bits = self.bits;
        (0..u64::BITS).filter(move |number| bits >> number & 1 == 1)
    }
}

/// The processors that a job gets on one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPart {
    /// The host, as an index into [`ClusterState::hosts`].
    pub host: usize,
    /// Number of processors. At least 1.
    pub procs: u32,
}

/// The licences of the site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LicencePool {
    /// The resources that are licences.
    known: Vec<ResourceIndex>,
    total: ResourceCounts,
    taken: ResourceCounts,
}

impl LicencePool {
    fn of(&self, units: ResourceCounts) -> ResourceCounts {
        units.filter(|index| self.known.contains(&index))
    }
}

/// Queries.
impl ClusterState {
    /// Returns all hosts that ever were there. Nothing starts on one whose nodes are down.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Returns the host of a range of nodes.
    pub fn host_of(&self, nodes: NodeRange) -> Option<usize> {
        self.host_with(NodeId(nodes.first))
    }

    /// Returns the host with a node.
    pub fn host_with(&self, node: NodeId) -> Option<usize> {
        self.hosts
            .iter()
            .rposition(|host| host.nodes.contains(node))
    }

    /// Returns the number of idle nodes of a range.
    pub fn n_idle_in(&self, nodes: NodeRange) -> u32 {
        self.idle.count_in(nodes)
    }

    /// Returns the number of nodes of a range on which jobs may start.
    pub fn n_up_in(&self, nodes: NodeRange) -> u32 {
        self.up.count_in(nodes)
    }

    /// Returns the number of a job's processors in a range of nodes that other jobs can have once it ends:
    /// those of nodes that are up.
    pub fn released_procs_in(&self, job: &JobSlot, nodes: NodeRange) -> u32 {
        let end = |range: &NodeRange| range.first + range.len;
        let counts = job.placement.iter().map(|range| {
            let first = range.first.max(nodes.first);
            match end(range).min(end(&nodes)).checked_sub(first) {
                None | Some(0) => 0,
                Some(len) => self.up.count_in(NodeRange { first, len }),
            }
        });
        counts.sum()
    }

    /// Returns the licences that no job takes.
    pub fn free_licences(&self) -> ResourceCounts {
        self.licences.total.minus(&self.licences.taken)
    }

    /// Returns all licences of the site.
    pub fn licences(&self) -> ResourceCounts {
        self.licences.total
    }

    /// Returns the licences among the units that a job needs.
    pub fn licences_of(&self, needs: &PlacementNeeds) -> ResourceCounts {
        self.licences.of(needs.units)
    }

    /// Returns the devices among the units that a job needs.
    pub fn devices_of(&self, needs: &PlacementNeeds) -> ResourceCounts {
        needs.units.minus(&self.licences_of(needs))
    }

    /// Returns true if it matters on which hosts a job without needs runs. One of them closes, is set aside, is slowed by
    /// other load, or people work at it; or it is not there yet.
    pub fn has_distinct_hosts(&self) -> bool {
        let differs = |host: &Host| {
            let terms = &host.terms;
            let is_slowed = host.foreign_load.is_some();
            terms.closes.is_some() || terms.is_desktop || terms.is_set_aside || is_slowed
        };
        let mut hosts = self.hosts.iter();
        !self.expected.is_empty() || hosts.any(|host| differs(host) && self.n_up_in(host.nodes) > 0)
    }

    /// Returns true if it matters to jobs whose policy leaves open where they run: people work at one of the hosts that ever
    /// were there, or other load slows it.
    pub(super) fn has_preferred_hosts(&self) -> bool {
        let differs = |host: &Host| host.terms.is_desktop || host.foreign_load.is_some();
        self.hosts.iter().any(differs)
    }

    /// Returns the largest slowdown of the hosts with some of these nodes.
    pub(super) fn slowdown_of(&self, nodes: &[NodeRange]) -> HostSlowdown {
        let hosts = self.hosts.iter().filter(|host| host.foreign_load.is_some());
        let touches = |host: &Host| nodes.iter().any(|range| range.touches(host.nodes));
        let slowed = hosts.filter(|host| touches(host)).map(Host::slowdown);
        slowed.max().unwrap_or_default()
    }

    /// Returns true if jobs may have to leave one of the hosts that ever were there, or are expected. People work at it, or its
    /// site ends it before its time.
    pub fn may_lose_hosts(&self) -> bool {
        let mut expected = self.expected.by_site().values();
        let is_uncertain = |host: &Host| host.terms.is_desktop || host.preempted_per_h > 0.0;
        self.hosts.iter().any(is_uncertain)
            || expected.any(|expected| expected.preempted_per_h > 0.0)
    }
}

/// Changes.
impl ClusterState {
    /// Sets what a host offers from `now` on. Nothing runs there.
    pub fn set_host(&mut self, now: Instant, nodes: NodeRange, terms: HostTerms) {
        let name = terms.name;
        let preempted_per_h = name.map_or(0.0, |name| self.expected.note_arrival(name));
        let host = Host {
            nodes,
            opened: now,
            terms,
            rank: 0,
            foreign_load: None,
            preempted_per_h,
            logins: None,
            taken: Vec::new(),
        };
        match self.hosts.iter_mut().find(|host| host.nodes == nodes) {
            Some(known) => *known = host,
            None => self.hosts.push(host),
        }
    }

    /// Sets the hosts that are expected at a site, in place of those that were. Hosts of a name that is there are left out.
    /// `there` are the hosts of the site that are there, which may be ended before their time as well.
    pub fn expect_hosts(&mut self, site: &str, expected: ExpectedHosts, there: &[HostNameIndex]) {
        let is_of_site =
            |host: &&mut Host| host.terms.name.is_some_and(|name| there.contains(&name));
        let of_site = self.hosts.iter_mut().filter(is_of_site);
        of_site.for_each(|host| host.preempted_per_h = expected.preempted_per_h);
        let is_there = |host: &ExpectedHost| {
            let name = host.name;
            name.is_some() && self.hosts.iter().any(|there| there.terms.name == name)
        };
        let mut expected = expected;
        expected.hosts.retain(|host| !is_there(host));
        self.expected.set(site, expected);
    }

    /// Sets the instant by which everything on a host has to have ended. Tasks that run there go on.
    pub fn set_closing(&mut self, nodes: NodeRange, closes: Instant) {
        if let Some(host) = self.host_of(nodes) {
            self.hosts[host].terms.closes = Some(closes);
        }
    }

    /// Sets how much slower jobs are on a host because of load that is not of jobs. The rest of the work of those that have
    /// their nodes there to themselves takes as much longer from now on.
    pub fn set_slowdown(&mut self, now: Instant, nodes: NodeRange, slowdown: HostSlowdown) {
        let Some(host) = self.host_of(nodes) else {
            return;
        };
        let host = &mut self.hosts[host];
        let since = host.foreign_load.map_or(now, |load| load.since);
        let load = ForeignLoad { slowdown, since };
        host.foreign_load = slowdown.is_slower().then_some(load);
        let there = |job: &JobSlot| {
            job.phase == JobPhase::Running && job.placement.iter().any(|range| range.touches(nodes))
        };
        for index in 0..self.jobs.len() {
            let job = &self.jobs[index];
            if !there(job) || !self.is_exclusive(job) {
                continue;
            }
            let slowdown = self.slowdown_of(&job.placement);
            let progress = job.progress();
            if progress.slowdown != slowdown {
                self.jobs[index].slowed = Some(progress.slowed(now, slowdown));
            }
        }
    }

    /// Notes how fast a job runs that has got nodes to itself.
    pub(super) fn note_slowdown(&mut self, id: JobId, now: Instant) {
        let slowdown = self.slowdown_of(&self.jobs[id.index()].placement);
        let slowed = slowdown
            .is_slower()
            .then(|| WorkProgress::from_start(now, slowdown));
        self.jobs[id.index()].slowed = slowed;
    }

    /// Sets aside the hosts of these names, and no other. Without any, waiting jobs run on all hosts.
    pub fn set_hosts_aside(&mut self, names: &[HostNameIndex]) {
        for host in &mut self.hosts {
            let name = host.terms.name;
            host.terms.is_set_aside = name.is_some_and(|name| names.contains(&name));
        }
        if names.is_empty() {
            let waiting = self
                .jobs
                .iter_mut()
                .filter(|job| job.phase == JobPhase::Queued);
            waiting.for_each(|job| job.spec.needs.set_aside = false);
        }
    }

    /// Sets the order in which jobs take desktops, as indices into [`ClusterState::hosts`]. The others come after them.
    pub fn set_host_order(&mut self, order: &[usize]) {
        let last = u32::try_from(order.len()).unwrap_or(u32::MAX);
        let desktops = self.hosts.iter_mut().filter(|host| host.terms.is_desktop);
        desktops.for_each(|host| host.rank = last);
        for (rank, &host) in (0..).zip(order) {
            self.hosts[host].rank = rank;
        }
    }

    /// Returns the idle processors that a job takes if its policy leaves open on which hosts it runs: a job without a
    /// deadline takes desktops first, another takes them last. Of either, those that other load slows least come first.
    pub(super) fn idle_parts(&self, spec: &JobSpec) -> Vec<HostPart> {
        let desktops_last = spec.sla.deadline.is_some();
        let mut hosts: Vec<usize> = (0..self.hosts.len()).collect();
        hosts.sort_by_key(|&host| {
            let host = &self.hosts[host];
            (
                host.terms.is_desktop == desktops_last,
                host.slowdown(),
                host.rank,
            )
        });
        let mut missing = spec.procs;
        let mut parts = Vec::new();
        for host in hosts {
            let procs = self.n_idle_in(self.hosts[host].nodes).min(missing);
            missing -= procs;
            if procs > 0 {
                parts.push(HostPart { host, procs });
            }
        }
        parts
    }

    /// Sets the licences of the site: which resources they are, and how many there are of each.
    pub fn set_licences(&mut self, known: Vec<ResourceIndex>, total: ResourceCounts) {
        self.licences.known = known;
        self.licences.total = total;
        let running = self
            .jobs
            .iter()
            .filter(|job| job.phase == JobPhase::Running);
        let taken = running.fold(ResourceCounts::NONE, |taken, job| {
            taken.plus(&self.licences.of(job.spec.needs.units))
        });
        self.licences.taken = taken;
    }

    /// Starts a queued job exclusively on the lowest idle nodes of these hosts, with the devices and
    /// licences that it needs. `parts` have as many processors as the job, and more than one part only
    /// if it needs no device.
    pub fn start_on_hosts(&mut self, id: JobId, now: Instant, price: Credits, parts: &[HostPart]) {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Queued, "{id:?}");
        let needs = job.spec.needs;
        for part in parts {
            let nodes = self.hosts[part.host].nodes;
            self.idle
                .take_lowest_in(nodes, part.procs, &mut job.placement);
        }
        job.placement.sort_unstable();
        let licences = self.licences.of(needs.units);
        let devices = needs.units.minus(&licences);
        self.licences.taken = self.licences.taken.plus(&licences);
        if let ([part], false) = (parts, devices.is_none()) {
            job.devices = self.hosts[part.host].take(&devices);
        }
        job.begin_attempt(now, price);
        let runner = job.running_job();
        self.running_jobs.insert(runner);
        self.note_slowdown(id, now);
        self.note_use(id, now);
    }

    /// Releases the devices and licences of a job that stops running.
    pub(super) fn release_units(&mut self, id: JobId) {
        let job = &mut self.jobs[id.index()];
        if job.spec.needs.units.is_none() {
            return;
        }
        let licences = self.licences.of(job.spec.needs.units);
        self.licences.taken = self.licences.taken.minus(&licences);
        let held = std::mem::take(&mut job.devices);
        let placement = job.placement.first().copied();
        let host = placement.and_then(|nodes| self.host_of(nodes));
        if let Some(host) = host {
            self.hosts[host].release(&held);
        }
    }
}

/// Invariants.
impl ClusterState {
    /// Verifies that what running jobs take of devices and licences is what is taken, and no more than
    /// there is.
    pub(super) fn check_units(&self) -> Result<(), InvariantViolation> {
        let wrong = |what: &str| Err(InvariantViolation(what.to_owned()));
        let mut licences = ResourceCounts::NONE;
        let mut taken = vec![[0_u64; MAX_RESOURCES]; self.hosts.len()];
        let running = self.jobs.iter();
        for job in running.filter(|job| job.phase == JobPhase::Running) {
            licences = licences.plus(&self.licences_of(&job.spec.needs));
            let host = job.placement.first().and_then(|&nodes| self.host_of(nodes));
            for held in &job.devices {
                let Some(host) = host else {
                    return wrong("devices are taken of no host");
                };
                let bits = &mut taken[host][usize::from(held.index.0)];
                if *bits & held.bits != 0 {
                    return wrong("a device is taken twice");
                }
                *bits |= held.bits;
            }
        }
        if licences != self.licences.taken {
            return wrong("the licences of running jobs are not those that are taken");
        }
        for (host, taken) in self.hosts.iter().zip(&taken) {
            let booked = host.taken.iter().copied().chain(std::iter::repeat(0));
            if taken
                .iter()
                .zip(booked)
                .any(|(taken, booked)| *taken != booked)
            {
                return wrong("the devices of running jobs are not those that are taken");
            }
            for (bits, index) in taken.iter().zip(ResourceIndex::all()) {
                if bits.count_ones() > u32::from(host.terms.devices.of(index)) {
                    return wrong("more devices are taken than there are");
                }
            }
        }
        Ok(())
    }
}

impl JobSlot {
    /// Returns the devices that the present attempt takes on its host.
    pub fn devices(&self) -> &[HeldDevices] {
        &self.devices
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_model::{JobSpec, Sla, Span, UserId};

    const GPU: ResourceIndex = ResourceIndex(0);
    const LICENCE: ResourceIndex = ResourceIndex(1);

    fn job(state: &mut ClusterState, units: ResourceCounts) -> JobId {
        state.insert(JobSpec {
            restarts: 0,
            submit: Instant::ZERO,
            estimate: Span::from_secs(60),
            procs: 1,
            memory: 0,
            needs: PlacementNeeds {
                units,
                ..PlacementNeeds::default()
            },
            user: UserId(0),
            sla: Sla::default(),
        })
    }

    #[test]
    fn devices_and_licences_are_taken_and_released() {
        let mut state = ClusterState::default();
        let first = state.add_nodes(2);
        let second = state.add_nodes(4);
        let terms = |gpus| HostTerms {
            devices: ResourceCounts::NONE.with(GPU, gpus),
            ..HostTerms::default()
        };
        state.set_host(Instant::ZERO, first, terms(0));
        state.set_host(Instant::ZERO, second, terms(3));
        state.set_licences(vec![LICENCE], ResourceCounts::NONE.with(LICENCE, 2));
        let units = ResourceCounts::NONE.with(GPU, 1).with(LICENCE, 1);
        let jobs = [job(&mut state, units), job(&mut state, units.with(GPU, 2))];
        let part = [HostPart { host: 1, procs: 1 }];
        for id in jobs {
            state.start_on_hosts(id, Instant::ZERO, Credits::ZERO, &part);
        }
        assert_eq!((state.n_idle_in(first), state.n_idle_in(second)), (2, 2));
        assert!(state.free_licences().is_none());
        assert!(state.hosts()[1].free_devices().is_none());
        let numbers = |id: JobId| -> Vec<u32> {
            let devices = state.job(id).devices().iter();
            devices.flat_map(HeldDevices::numbers).collect()
        };
        assert_eq!((numbers(jobs[0]), numbers(jobs[1])), (vec![0], vec![1, 2]));
        state.unplace(jobs[0], Instant::ZERO);
        assert_eq!(state.hosts()[1].free_devices().of(GPU), 1);
        assert_eq!(state.free_licences().of(LICENCE), 1);
        state.reset_attempt(jobs[0]);
        state.start_on_hosts(jobs[0], Instant::ZERO, Credits::ZERO, &part);
        let again = state.job(jobs[0]).devices()[0].numbers();
        assert_eq!(again.collect::<Vec<_>>(), [0]);
    }
}
