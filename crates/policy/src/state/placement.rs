//! Starts and ends of jobs on their nodes.

use tollgate_model::{Credits, Instant, JobId, JobSpec, NodeId, NodeRange, UserId};

use super::fading_use::FadingUses;
use super::{ClusterState, JobPhase, NodeTask, SharedStart};
use crate::toolkit::BlockEntry as _;

/// Starts and ends of jobs.
impl ClusterState {
    /// Starts a queued job exclusively on the lowest idle nodes. Hosts that other load
    /// slows come last. A job without a deadline takes processors of desktops first, in their order, and another those of
    /// desktops last.
    pub fn start_exclusive(&mut self, id: JobId, now: Instant, price: Credits) {
        if self.has_preferred_hosts() {
            let parts = self.idle_parts(&self.jobs[id.index()].spec);
            return self.start_on_hosts(id, now, price, &parts);
        }
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Queued, "{id:?}");
        debug_assert!(job.spec.needs.units.is_none(), "{id:?} needs a host");
        self.idle.take_lowest(job.spec.procs, &mut job.placement);
        job.begin_attempt(now, price);
        let runner = job.running_job();
        self.running_jobs.insert(runner);
        self.note_use(id, now);
    }

    /// Starts a held job exclusively on these nodes, all of them idle. It takes no devices and no licences.
    pub fn start_held(&mut self, id: JobId, nodes: &[NodeRange], now: Instant, price: Credits) {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Held, "{id:?}");
        assert!(job.spec.needs.units.is_none(), "{id:?} needs a host");
        for node in nodes.iter().flat_map(|range| range.nodes()) {
            assert!(self.idle.contains(node), "{node:?} is not idle");
            self.idle.remove(node);
        }
        job.placement = nodes.to_vec();
        job.begin_attempt(now, price);
        let runner = job.running_job();
        self.running_jobs.insert(runner);
        self.note_slowdown(id, now);
        self.note_use(id, now);
    }

    /// Counts the run of a running job that has its nodes to itself from `at` on. Returns false, and changes
    /// nothing, for a job that shares nodes.
    pub fn restart_alone(&mut self, id: JobId, at: Instant) -> bool {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Running, "{id:?}");
        let is_alone = self.running_jobs.remove(job.running_job().key()).is_some();
        if is_alone {
            job.start = Some(at);
            self.running_jobs.insert(job.running_job());
            self.note_slowdown(id, at);
        }
        is_alone
    }

    /// Returns whether all of these nodes are up and idle.
    pub fn are_idle(&self, nodes: &[NodeRange]) -> bool {
        let mut nodes = nodes.iter().flat_map(|range| range.nodes());
        nodes.all(|node| self.idle.contains(node))
    }

    /// Starts a queued job on these nodes, beside the tasks running there. The caller must then set
    /// the shares on each of the returned nodes.
    pub fn start_shared(
        &mut self,
        id: JobId,
        nodes: &[NodeId],
        now: Instant,
        price: Credits,
    ) -> SharedStart {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Queued, "{id:?}");
        assert_eq!(nodes.len(), job.spec.procs as usize, "{id:?}");
        job.begin_attempt(now, price);
        job.placement = ranges(nodes);
        let started = self.group_for(id, nodes);
        for &node in nodes {
            assert!(self.up.contains(node), "{node:?} is down");
            self.idle.remove(node);
        }
        self.note_use(id, now);
        let job = &self.jobs[id.index()];
        let slowest = self.speeds.slowest_of(&job.placement);
        let is_rigid = self.is_rigid();
        for &lead in &started.leads {
            let node = &mut self.nodes[lead.index()];
            node.add_task(id, &job.spec, now);
            if is_rigid {
                node.keep_last_in_step(slowest);
            }
        }
        started
    }

    /// Ends the task of a shared job on a lead and on all nodes that it stands for; returns true if the
    /// job has no other task. The caller must then set the shares of the lead.
    pub fn end_task(&mut self, id: JobId, lead: NodeId, now: Instant) -> bool {
        let node = &mut self.nodes[lead.index()];
        let at = node.place_of(id);
        node.remove_task(at.expect("the job has a task on this node"), now);
        let is_idle = node.tasks.is_empty() && self.up.contains(lead);
        let job = &mut self.jobs[id.index()];
        job.tasks_left -= self.groups.size(lead);
        if is_idle {
            for range in self.groups.nodes_of(lead) {
                self.idle.insert_range(range);
            }
            self.groups.dissolve(lead);
        }
        job.tasks_left == 0
    }

    /// Takes a running job off all its nodes and queues it. For a shared job the leads that held
    /// one of its tasks are returned, because their shares must be set.
    pub fn unplace(&mut self, id: JobId, now: Instant) -> Vec<NodeId> {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Running, "{id:?}");
        job.phase = JobPhase::Queued;
        if let Some(uses) = &mut self.uses {
            uses.give_back(job.spec.user, job.spec.procs, now);
        }
        self.release_units(id);
        let job = &mut self.jobs[id.index()];
        if self.running_jobs.remove(job.running_job().key()).is_some() {
            let has_closed = self.up.len() < self.n_nodes;
            for &range in &job.placement {
                match has_closed {
                    false => self.idle.insert_range(range),
                    true => {
                        for node in range.nodes().filter(|&node| self.up.contains(node)) {
                            self.idle.insert(node);
                        }
                    }
                }
            }
            return Vec::new();
        }
        let job = &self.jobs[id.index()];
        if job.tasks_left == 0 {
            return Vec::new();
        }
        let nodes: Vec<NodeId> = job
            .placement
            .iter()
            .flat_map(|range| range.nodes())
            .filter(|&node| self.lead_of(node) == node && self.is_shared_on(id, node))
            .collect();
        for &node in &nodes {
            self.end_task(id, node, now);
        }
        nodes
    }

    /// Follows what each user asks for, and how much of the machine each uses, from now on, if that is not followed
    /// already. Running jobs count since their starts.
    pub fn follow_uses(&mut self) {
        self.requests.get_or_insert_default();
        if self.uses.is_some() {
            return;
        }
        let running = self
            .jobs()
            .filter(|(_, job)| job.phase == JobPhase::Running);
        let mut running: Vec<(Instant, UserId, u32)> = running
            .map(|(_, job)| {
                let start = job.start.unwrap_or(Instant::ZERO);
                (start, job.spec.user, job.spec.procs)
            })
            .collect();
        running.sort_unstable();
        let mut uses = FadingUses::default();
        for (start, user, procs) in running {
            uses.take(user, procs, start);
        }
        self.uses = Some(uses);
    }

    /// Records that a user asks for a number of jobs like this one, if that is followed. The estimates count.
    /// `now` never goes back.
    pub fn note_request(&mut self, spec: &JobSpec, count: u64, now: Instant) {
        let Some(requests) = self.requests.as_mut().filter(|_| count > 0) else {
            return;
        };
        let seconds = f64::from(spec.procs) * spec.estimate.as_secs_f64() * count as f64;
        requests.add(spec.user, seconds, now);
    }

    /// Records that a job has started.
    pub(super) fn note_use(&mut self, id: JobId, now: Instant) {
        let JobSpec { user, procs, .. } = self.jobs[id.index()].spec;
        if let Some(uses) = &mut self.uses {
            uses.take(user, procs, now);
        }
    }

    /// Discards the attempt of a job that [`ClusterState::unplace`] queued, so that it can start
    /// afresh.
    pub fn reset_attempt(&mut self, id: JobId) {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Queued, "{id:?}");
        job.start = None;
        job.slowed = None;
        job.placement.clear();
    }

    /// Sets the shares of a lead's tasks, in order, after bringing their work up to `now`. Returns
    /// the latest instant at which they must be set again: a deadline passes, or a task has done
    /// the seconds of work that are its `mark`.
    pub fn set_shares(
        &mut self,
        node: NodeId,
        now: Instant,
        share: impl Fn(&NodeTask) -> f64,
        mark: impl Fn(&NodeTask) -> f64,
    ) -> Option<Instant> {
        self.nodes[node.index()].set_rates(now, share, mark)
    }

    /// Returns the latest instant at which the shares of a node must be set again, after its rates
    /// changed; as [`ClusterState::set_shares`] does.
    pub fn next_change(&self, node: NodeId, mark: impl Fn(&NodeTask) -> f64) -> Option<Instant> {
        self.node(node).next_change(mark)
    }
}

/// Groups ascending nodes into ranges of neighbours.
fn ranges(nodes: &[NodeId]) -> Vec<NodeRange> {
    let mut sorted = nodes.to_vec();
    sorted.sort_unstable();
    let mut ranges: Vec<NodeRange> = Vec::new();
    for node in sorted {
        match ranges.last_mut() {
            Some(last) if last.first + last.len == node.0 => last.len += 1,
            _ => ranges.push(NodeRange {
                first: node.0,
                len: 1,
            }),
        }
    }
    ranges
}

#[cfg(test)]
impl ClusterState {
    /// Starts a new job of a minute on these nodes, one task on each, beside the jobs that are there.
    pub(crate) fn share_with_new_job(&mut self, nodes: &[NodeId]) {
        let job = self.insert(tollgate_model::JobSpec {
            restarts: 0,
            submit: Instant::ZERO,
            estimate: tollgate_model::Span::from_secs(60),
            procs: nodes.len() as u32,
            memory: 0,
            needs: Default::default(),
            user: tollgate_model::UserId(0),
            sla: tollgate_model::Sla::default(),
        });
        self.start_shared(job, nodes, Instant::ZERO, Credits::ZERO);
    }
}
