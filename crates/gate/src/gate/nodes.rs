//! Workers that come, go and are drained, maintenance, licences, and what is known of users.

use std::collections::BTreeMap;

use tollgate_model::{
    EvictionCause, ForeignLoad, HostNameIndex, HostSlowdown, HostTerms, Instant, JobId, JobSpec,
    MaintenanceCalendar, NodeRange, ResourceCounts, ResourceIndex, UserId,
};
use tollgate_policy::{ExpectedHosts, JobPhase, LoginForecast, View};

use super::{Effects, Gate};
use crate::input::{InputAck, InputError, WorkerId};
use crate::workers::WorkerIncarnation;

impl Gate {
    pub(super) fn worker_up(
        &mut self,
        now: Instant,
        id: WorkerId,
        epoch: u32,
        (nodes, memory, terms, in_use): (u32, Option<u64>, HostTerms, Option<EvictionCause>),
    ) -> Result<InputAck, InputError> {
        let known = self.workers.get(id);
        if known.is_some_and(|worker| worker.up || epoch <= worker.number) {
            return Err(InputError::StaleWorker);
        }
        if nodes == 0 {
            return Err(InputError::Malformed);
        }
        let own = known.map(|worker| worker.nodes);
        let nodes = match own.filter(|own| own.len == nodes) {
            Some(own) => {
                own.nodes().for_each(|node| self.state.set_up(node));
                own
            }
            None => self.state.add_nodes(nodes),
        };
        self.state.set_memory(nodes, memory);
        self.state.set_host(now, nodes, terms);
        self.alarms.nodes.grow(self.state.n_nodes() as usize);
        let drained = known.is_some_and(|worker| worker.drained);
        let worker = WorkerIncarnation {
            number: epoch,
            nodes,
            up: true,
            drained,
            in_use,
        };
        if !worker.starts_jobs() {
            nodes.nodes().for_each(|node| self.state.drain(node));
        }
        self.workers.set(id, worker);
        self.policy.nodes_changed(View::new(&self.state, now));
        Ok(InputAck::Nodes(nodes))
    }

    pub(super) fn worker_lost(
        &mut self,
        now: Instant,
        id: WorkerId,
        epoch: u32,
        effects: &mut Effects,
    ) -> Result<InputAck, InputError> {
        let worker = self.workers.get(id).ok_or(InputError::StaleWorker)?;
        if !worker.up || worker.number != epoch {
            return Err(InputError::StaleWorker);
        }
        for job in self.jobs_on(worker.nodes) {
            self.evict(now, job, effects);
        }
        worker
            .nodes
            .nodes()
            .for_each(|node| self.state.set_down(node));
        self.workers.set(
            id,
            WorkerIncarnation {
                up: false,
                ..worker
            },
        );
        self.policy.nodes_changed(View::new(&self.state, now));
        Ok(InputAck::Done)
    }

    pub(super) fn worker_closes(
        &mut self,
        now: Instant,
        id: WorkerId,
        epoch: u32,
        closes: Instant,
    ) -> Result<InputAck, InputError> {
        let worker = self.workers.get(id);
        let worker = worker.filter(|worker| worker.up && worker.number == epoch);
        let worker = worker.ok_or(InputError::StaleWorker)?;
        self.state.set_closing(worker.nodes, closes);
        self.policy.nodes_changed(View::new(&self.state, now));
        Ok(InputAck::Done)
    }

    pub(super) fn worker_slowed(
        &mut self,
        now: Instant,
        (id, incarnation): (WorkerId, u32),
        slowdown: HostSlowdown,
    ) -> Result<InputAck, InputError> {
        let worker = self.workers.get(id);
        let worker = worker.filter(|worker| worker.up && worker.number == incarnation);
        let worker = worker.ok_or(InputError::StaleWorker)?;
        self.state.set_slowdown(now, worker.nodes, slowdown);
        self.policy.nodes_changed(View::new(&self.state, now));
        Ok(InputAck::Done)
    }

    /// Returns the load of a worker's host that is not of jobs, as far as it slows them.
    pub fn foreign_load(&self, id: WorkerId) -> Option<ForeignLoad> {
        let host = self.state.host_of(self.workers.get(id)?.nodes)?;
        self.state.hosts()[host].foreign_load
    }

    /// Returns the instant by which everything on a worker's host has to have ended. None if the host stays.
    pub fn closing_of(&self, id: WorkerId) -> Option<Instant> {
        let host = self.state.host_of(self.workers.get(id)?.nodes)?;
        self.state.hosts()[host].terms.closes
    }

    /// Returns the jobs with a running task on these nodes, in order of submission.
    fn jobs_on(&self, nodes: NodeRange) -> Vec<JobId> {
        let running = self
            .state
            .jobs()
            .filter(|(_, job)| job.phase == JobPhase::Running);
        let mut jobs: Vec<(u64, JobId)> = running
            .filter(|(id, _)| nodes.nodes().any(|node| self.state.runs_on(*id, node)))
            .map(|(id, job)| (job.sequence, id))
            .collect();
        jobs.sort_unstable();
        jobs.into_iter().map(|(_, id)| id).collect()
    }

    /// Drains a worker's nodes or lets jobs start there again. A worker that is down stays drained.
    pub(super) fn drain(
        &mut self,
        now: Instant,
        id: WorkerId,
        drained: bool,
    ) -> Result<InputAck, InputError> {
        let worker = self.workers.get(id).ok_or(InputError::StaleWorker)?;
        self.change_worker(now, id, worker, WorkerIncarnation { drained, ..worker });
        Ok(InputAck::Done)
    }

    /// Lets no other job start on the nodes of a worker whose host is in use by others, or lets jobs start there
    /// again.
    pub(super) fn worker_in_use(
        &mut self,
        now: Instant,
        id: WorkerId,
        epoch: u32,
        in_use: Option<EvictionCause>,
    ) -> Result<InputAck, InputError> {
        let worker = self.workers.get(id);
        let worker = worker.filter(|worker| worker.up && worker.number == epoch);
        let worker = worker.ok_or(InputError::StaleWorker)?;
        self.change_worker(now, id, worker, WorkerIncarnation { in_use, ..worker });
        Ok(InputAck::Done)
    }

    fn change_worker(
        &mut self,
        now: Instant,
        id: WorkerId,
        before: WorkerIncarnation,
        after: WorkerIncarnation,
    ) {
        if before == after {
            return;
        }
        self.workers.set(id, after);
        if before.starts_jobs() == after.starts_jobs() {
            return;
        }
        for node in after.nodes.nodes().filter(|_| after.up) {
            match after.starts_jobs() {
                true => self.state.resume(node),
                false => self.state.drain(node),
            }
        }
        self.policy.nodes_changed(View::new(&self.state, now));
    }

    /// Sets the order in which jobs take desktops; see [`tollgate_policy::ClusterState::set_host_order`]. The next input
    /// shows what changes by it.
    pub fn set_host_order(&mut self, order: &[usize]) {
        self.state.set_host_order(order);
    }

    /// Sets the log-ins to be expected at desktops; see [`tollgate_policy::ClusterState::set_logins`]. The next input
    /// shows what changes by it.
    pub fn set_logins(
        &mut self,
        now: Instant,
        forecasts: Vec<LoginForecast>,
        of_host: impl Fn(usize) -> Option<u32>,
    ) {
        self.state.set_logins(forecasts, of_host);
        self.policy.nodes_changed(View::new(&self.state, now));
    }

    /// Sets the hosts that are expected at a site, in place of those that were; see
    /// [`tollgate_policy::ClusterState::expect_hosts`]. The next input shows what changes by it.
    pub fn expect_hosts(
        &mut self,
        now: Instant,
        site: &str,
        (expected, there): (ExpectedHosts, &[HostNameIndex]),
    ) {
        self.state.expect_hosts(site, expected, there);
        self.policy.nodes_changed(View::new(&self.state, now));
    }

    /// Sets the times in which no job runs. The next input shows what changes by it.
    pub fn set_maintenance(&mut self, now: Instant, calendar: MaintenanceCalendar) {
        self.state.set_maintenance(calendar);
        self.policy.nodes_changed(View::new(&self.state, now));
    }

    /// Sets the weights of users in the fair order; see [`tollgate_policy::ClusterState::set_user_weights`]. The next
    /// input shows what changes by it.
    pub fn set_user_weights(&mut self, now: Instant, weights: BTreeMap<UserId, f64>) {
        self.state.set_user_weights(weights);
        self.policy.nodes_changed(View::new(&self.state, now));
    }

    /// Records that a user asks for a number of jobs like this one; see
    /// [`tollgate_policy::ClusterState::note_request`]. An array is one request, however its tasks are
    /// submitted.
    pub fn note_request(&mut self, now: Instant, spec: &JobSpec, count: u64) {
        self.state.note_request(spec, count, now);
    }

    /// Sets aside the hosts of these names, and no other, before the gate is saved for a policy under other rules.
    pub fn set_hosts_aside(&mut self, names: &[HostNameIndex]) {
        self.state.set_hosts_aside(names);
    }

    /// Sets the licences of the site: which resources they are, and how many there are of each. The next
    /// input shows what changes by it.
    pub fn set_licences(&mut self, now: Instant, known: Vec<ResourceIndex>, total: ResourceCounts) {
        self.state.set_licences(known, total);
        self.policy.nodes_changed(View::new(&self.state, now));
    }
}
