//! Queries, which change no state.

use tollgate_engine::Engine;
use tollgate_model::{ForeignLoad, HostNameIndex, NodeId, NodeRange, TaskId};
use tollgate_policy::{JobPhase, WaitOrder};
use tollgate_service::{ActiveArray, ActiveTask};
use tollgate_workers::WorkerState;

use super::request::ControllerRequest;
use super::request_error::RequestError;
use super::snapshots::{
    ClusterInfo, DesktopCounts, NamedHost, StatusSnapshot, TaskOutlook, WaitFacts,
};
use super::state::Controller;

impl<E: Engine> Controller<E> {
    pub(super) fn query(&mut self, request: ControllerRequest) {
        match request {
            ControllerRequest::Quote {
                mut submission,
                times,
                with_levels,
                reply,
            } => {
                let at = self.now();
                let settled = times.resolve(&mut submission, at);
                let quote = |()| match with_levels {
                    true => self.core.quote_with_levels(at, &submission),
                    false => self.core.quote(at, &submission),
                };
                let _ = reply.send(settled.map(quote));
            }
            ControllerRequest::Ping { reply } => drop(reply.send(Ok(()))),
            ControllerRequest::Now { reply } => {
                let now = self.now();
                let _ = reply.send(Ok(now));
            }
            ControllerRequest::Status { user, reply } => {
                let census = self.status(user);
                let _ = reply.send(Ok(census));
            }
            ControllerRequest::Nodes { reply } => {
                let site = self.cluster_info();
                let _ = reply.send(site);
            }
            ControllerRequest::Explain { task, reply } => {
                let task_outlook = self.outlook(task);
                let _ = reply.send(Ok(task_outlook));
            }
            ControllerRequest::WaitCauses { jobs, reply } => {
                let facts = jobs.iter();
                let facts = facts.map(|&(job, task)| self.wait_facts(job, task));
                let _ = reply.send(Ok(facts.collect()));
            }
            ControllerRequest::Suspensions { tasks, reply } => {
                let causes = tasks.into_iter().map(|task| self.core.suspended_by(task));
                let _ = reply.send(Ok(causes.collect()));
            }
            ControllerRequest::Predict { jobs, reply } => {
                let now = self.now();
                let _ = reply.send(Ok(self.core.predict_all(now, &jobs)));
            }
            ControllerRequest::ExplainArray { job, reply } => {
                let now = self.now();
                let outlook = self.core.array_outlook(now, job);
                let _ = reply.send(Ok(outlook));
            }
            ControllerRequest::PromiseRisk { job, level, reply } => {
                let risk = self.core.risk_below(job, level);
                let _ = reply.send(Ok(risk.map(|risk| (risk, self.core.now()))));
            }
            ControllerRequest::Wait {
                job,
                task,
                reply,
                decided,
            } => self.add_waiter(job, task, reply, decided),
            ControllerRequest::ReadOutput {
                output,
                user,
                from,
                reply,
            } => self.read_output((output, user), from, reply),
            ControllerRequest::Signal {
                user,
                job,
                tasks,
                signal,
                reply,
            } => {
                let sent = self.send_signal((user, job), tasks.as_ref(), signal);
                let _ = reply.send(sent);
            }
            ControllerRequest::BeginStep { user, step, reply } => {
                let begun = self.begin_step(user, &step);
                let _ = reply.send(begun);
            }
            ControllerRequest::EndStep {
                user,
                attempt,
                step,
                ending,
                reply,
            } => {
                let ended = self.end_step(user, (attempt, step), ending);
                let _ = reply.send(ended);
            }
            // A worker answers with its new end.
            ControllerRequest::MoveEnds { mut ends, reply } => {
                ends.retain(|(name, until)| self.workers.move_end(name, *until));
                let moved = ends.into_iter().map(|(name, _)| name);
                let _ = reply.send(Ok(moved.collect()));
            }
            ControllerRequest::ReleaseWorkers { mut workers, reply } => {
                let now = self.now();
                let gate = self.core.gate();
                workers.retain(|name| self.workers.release(gate, now, name));
                let _ = reply.send(Ok(workers));
            }
            // No decision depends on jobs that are over.
            ControllerRequest::Prune { before, reply } => {
                let removed = self.prune(before);
                let _ = reply.send(removed);
            }
            ControllerRequest::Submit { .. }
            | ControllerRequest::Keyed(_)
            | ControllerRequest::Reserve { .. }
            | ControllerRequest::Claim { .. }
            | ControllerRequest::Command { .. }
            | ControllerRequest::Alter { .. }
            | ControllerRequest::Drain { .. }
            | ControllerRequest::ExpectHosts { .. }
            | ControllerRequest::Maintain { .. }
            | ControllerRequest::WeighUsers { .. }
            | ControllerRequest::HostSlowed { .. }
            | ControllerRequest::SetLicences { .. }
            | ControllerRequest::Learn { .. }
            | ControllerRequest::Worker { .. }
            | ControllerRequest::Part(_)
            | ControllerRequest::EngineReady
            | ControllerRequest::Stop => {}
        }
    }

    fn status(&mut self, user: Option<u32>) -> StatusSnapshot {
        let now = self.now();
        let shadow = self.core.comparison(now);
        let view = self.core.gate().view(now);
        let count = |phase| -> u64 {
            let jobs = view.jobs().filter(|(_, job)| job.phase == phase);
            jobs.map(|(_, job)| u64::from(job.count)).sum()
        };
        let nodes = (0..view.n_nodes()).filter(|&node| view.is_up(NodeId(node)));
        let mut held = self.core.n_held() as u64;
        // The gate also holds tasks that follow others or wait for their turn: to users they are queued.
        let mut queued = count(JobPhase::Queued) + count(JobPhase::Held) - held;
        // Adds the tasks that are not yet materialised.
        for (_, array) in self.core.arrays() {
            let (queue, back) = array.n_pending_and_held();
            queued += queue;
            held += back;
        }
        let (waiting, by_user) = self.core.n_waiting();
        let sites = self.workers.worker_infos(self.core.gate());
        let n_in_state = |at| sites.iter().filter(|site| site.state == at).count() as u32;
        StatusSnapshot {
            now,
            clock_ahead: self.clock.notable_difference(),
            at_risk: self.core.n_at_risk(),
            open_promises: self.core.n_open_promises(user) as u32,
            open_unpromised: self.core.n_open_unpromised(user) as u32,
            nodes: nodes.count() as u32,
            idle: view.n_idle(),
            queued: (queued + (waiting - by_user) as u64) as u32,
            held: (held + by_user as u64) as u32,
            running: count(JobPhase::Running) as u32,
            suspended: self.core.n_suspended() as u32,
            workers: n_in_state(WorkerState::Connected),
            maintenance: self.core.gate().view(now).maintenance().next(now),
            workers_disconnected: n_in_state(WorkerState::Disconnected),
            commits: self.store.batch().unsigned_abs(),
            engine_failures: self.engine_failures,
            class_changes: self.class_changes,
            evictions: self.evictions.clone(),
            desktops: self.desktop_counts(),
            slowed_hosts: self.slowed_hosts(),
            shadow,
        }
    }

    fn desktop_counts(&self) -> DesktopCounts {
        let gate = self.core.gate();
        let view = gate.view(self.core.now());
        let mut counts = DesktopCounts::default();
        for (_, live) in gate.workers().filter(|(_, live)| live.up) {
            let host = view.host_of(live.nodes).map(|host| &view.hosts()[host]);
            if host.is_some_and(|host| host.terms.is_desktop) {
                match live.in_use {
                    None => counts.free += 1,
                    Some(_) => counts.in_use += 1,
                }
            }
        }
        counts
    }

    fn slowed_hosts(&self) -> Vec<(String, ForeignLoad)> {
        let gate = self.core.gate();
        let up = gate.workers().filter(|(_, live)| live.up);
        let slowed = up.filter_map(|(worker, _)| {
            let load = gate.foreign_load(worker)?;
            Some((self.host_name(worker), load))
        });
        slowed.collect()
    }

    fn cluster_info(&mut self) -> Result<ClusterInfo, RequestError> {
        let capacity = self.workers.capacity();
        let capacity = capacity.map_err(|error| RequestError::Engine(error.to_string()))?;
        let view = self.core.gate().view(self.core.now());
        let nodes = (0..view.n_nodes()).map(NodeId);
        let up = self.core.gate().workers().filter(|(_, live)| live.up);
        let drained: Vec<NodeRange> = up
            .filter(|(_, live)| !live.starts_jobs())
            .map(|(_, live)| live.nodes)
            .collect();
        let is_drained = |node| drained.iter().any(|range| range.contains(node));
        let mut nodes: Vec<Option<u32>> = nodes
            .map(|node| (view.is_up(node) || is_drained(node)).then_some(0))
            .collect();
        // A job that has its nodes to itself runs one task on each, which no node lists.
        let running = view
            .jobs()
            .filter(|(_, job)| job.phase == JobPhase::Running);
        for (id, job) in running {
            let placement = job.placement().iter().flat_map(|range| range.nodes());
            for node in placement.filter(|&node| view.runs_on(id, node)) {
                nodes[node.index()] = nodes[node.index()].map(|tasks| tasks + 1);
            }
        }
        Ok(ClusterInfo {
            capacity,
            nodes,
            drained,
            offers_local_nodes: self.offers_local_nodes,
            slowed_hosts: self.slowed_hosts(),
            expected_hosts: self.core.expected_arrivals(),
            workers: self.workers.worker_infos(self.core.gate()),
            resources: self.resource_use(),
        })
    }

    fn named_host(&self, index: HostNameIndex) -> NamedHost {
        let view = self.core.gate().view(self.core.now());
        let hosts = view.hosts().iter();
        let hosts = hosts.filter(|host| host.terms.name == Some(index));
        let up = hosts.filter(|host| view.n_up_in(host.nodes) > 0);
        let name = self.core.host_names().name_of(index);
        NamedHost {
            name: name.unwrap_or_default().to_owned(),
            idle: up.map(|host| view.n_idle_in(host.nodes)).max(),
        }
    }

    /// Returns why a job or task waits; None if it does not, or is not known. It takes no look ahead.
    fn wait_facts(&self, job: u64, task: Option<u32>) -> Option<WaitFacts> {
        let cause = self.core.wait_cause(job, task)?;
        let view = self.core.gate().view(self.core.now());
        let array = self.core.array(job);
        let deferred = self.core.deferred_job(job).map(|waiting| &waiting.options);
        let task = task.or_else(|| array?.groups().first()?.tasks.first());
        let task = TaskId {
            job,
            task: task.unwrap_or(0),
        };
        let live = self.core.job(task);
        let first = || Some(self.core.tasks_of(job).next()?.1);
        let needs = live.or_else(first).map(|live| live.spec.needs);
        let named = needs.and_then(|needs| needs.host);
        let earlier = deferred
            .into_iter()
            .flat_map(|options| &options.dependencies);
        Some(WaitFacts {
            cause,
            idle: view.n_idle(),
            has_nodes: (0..view.n_nodes()).any(|node| view.is_up(NodeId(node))),
            reached_limit: array.and_then(ActiveArray::reached_limit),
            host: named.map(|host| self.named_host(host)),
            dependencies: earlier.map(|earlier| earlier.job).collect(),
            begin: deferred.and_then(|options| options.begin),
            failed_launches: live.and_then(ActiveTask::failed_launches),
        })
    }

    fn outlook(&mut self, task: TaskId) -> Option<TaskOutlook> {
        let now = self.now();
        let view = self.core.gate().view(now);
        let mut task_outlook = TaskOutlook {
            now,
            queued_ahead: 0,
            order: None,
            idle: view.n_idle(),
            has_nodes: (0..view.n_nodes()).any(|node| view.is_up(NodeId(node))),
            tasks_ahead: None,
            reached_limit: (self.core.array(task.job)).and_then(ActiveArray::reached_limit),
            host: None,
            reserved: None,
            prediction: None,
            dependencies: Vec::new(),
            begin: None,
            failures: 0,
            failed_launches: None,
            engine_wait: None,
            closes_before_end: None,
            foreign_load: None,
            in_use: None,
            risk: None,
        };
        if let Some(waiting) = self.core.deferred_job(task.job) {
            if !waiting.has_task(task.task) {
                return None;
            }
            let earlier = waiting.options.dependencies.iter();
            task_outlook.dependencies = earlier.map(|earlier| earlier.job).collect();
            task_outlook.begin = waiting.options.begin;
            return Some(task_outlook);
        }
        let queued = view.jobs();
        let queued = queued.filter(|(_, other)| other.phase == JobPhase::Queued);
        let Some(live) = self.core.job(task) else {
            let array = self.core.array(task.job);
            let array = array.filter(|array| array.is_pending(task.task))?;
            task_outlook.queued_ahead = queued.map(|(_, other)| other.count).sum();
            task_outlook.tasks_ahead = Some(array.n_pending_before(task.task));
            return Some(task_outlook);
        };
        let this = view.job(live.slot);
        let ahead = queued.filter(|(_, other)| other.sequence < this.sequence);
        let in_group = self.core.array(task.job);
        let in_group = in_group.and_then(|array| array.group_of(task.task));
        let n_before = in_group.map_or(0, |group| group.n_before(task.task));
        task_outlook.queued_ahead = ahead.map(|(_, other)| other.count).sum::<u32>() + n_before;
        let order = self.core.gate().wait_order(now, live.slot);
        task_outlook.order = order.map(|order| WaitOrder {
            own_before: order.own_before + n_before,
            ..order
        });
        task_outlook.reserved = this.planned.filter(|_| this.phase == JobPhase::Queued);
        task_outlook.host = this.spec.needs.host.map(|host| self.named_host(host));
        task_outlook.failures = self.core.n_failures(live);
        task_outlook.failed_launches = live.failed_launches();
        task_outlook.engine_wait = live.engine_wait;
        task_outlook.in_use = self.core.suspended_by(task);
        task_outlook.foreign_load = self.core.foreign_load_of(task);
        task_outlook.closes_before_end = self.core.closes_before_end(task);
        task_outlook.risk = self.core.promise_at_risk(task.job);
        task_outlook.prediction = self.core.predict(now, task);
        Some(task_outlook)
    }
}
