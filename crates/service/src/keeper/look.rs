//! Questions that change nothing.

use tollgate_engine::Engine;
use tollgate_model::NodeId;
use tollgate_policy::JobPhase;

use super::ask::{ClusterInfo, ControllerRequest, RequestError, StatusSnapshot, TaskOutlook};
use super::due;
use super::owner::Controller;
use crate::core::TaskKey;
use crate::fleet::WorkerState;

impl<E: Engine> Controller<E> {
    pub(super) fn look(&mut self, ask: ControllerRequest) {
        match ask {
            ControllerRequest::Quote {
                mut submission,
                due,
                reply,
            } => {
                let at = self.now();
                let settled = due::settle(&mut submission, due, at);
                let _ = reply.send(settled.map(|()| self.core.quote(at, &submission)));
            }
            ControllerRequest::Pulse { reply } => drop(reply.send(Ok(()))),
            ControllerRequest::Census { reply } => {
                let census = self.census();
                let _ = reply.send(Ok(census));
            }
            ControllerRequest::Nodes { reply } => {
                let site = self.site();
                let _ = reply.send(site);
            }
            ControllerRequest::Explain { task, reply } => {
                let story = self.story(task);
                let _ = reply.send(Ok(story));
            }
            ControllerRequest::Wait {
                job,
                task,
                reply,
                decided,
            } => self.wait(job, task, reply, decided),
            ControllerRequest::Submit { .. }
            | ControllerRequest::Hold { .. }
            | ControllerRequest::Claim { .. }
            | ControllerRequest::Act { .. }
            | ControllerRequest::Worker { .. }
            | ControllerRequest::Wake
            | ControllerRequest::Stop => {}
        }
    }

    fn census(&mut self) -> StatusSnapshot {
        let now = self.now();
        let shadow = self.core.comparison(now);
        let view = self.core.gate().view(now);
        let count = |phase| view.jobs().filter(|(_, job)| job.phase == phase).count() as u64;
        let nodes = (0..view.n_nodes()).filter(|&node| view.is_up(NodeId(node)));
        let (mut queued, mut held) = (count(JobPhase::Queued), count(JobPhase::Held));
        // Beside those that have come into being.
        for (_, array) in self.core.arrays() {
            let (queue, back) = array.asleep_and_held();
            queued += queue;
            held += back;
        }
        let (waiting, by_user) = self.core.n_waiting();
        let sites = self.fleet.sites(self.core.gate());
        let standing = |at| sites.iter().filter(|site| site.standing == at).count() as u32;
        StatusSnapshot {
            now,
            nodes: nodes.count() as u32,
            idle: view.n_idle(),
            queued: (queued + (waiting - by_user) as u64) as u32,
            held: (held + by_user as u64) as u32,
            running: count(JobPhase::Running) as u32,
            workers: standing(WorkerState::Here),
            workers_disconnected: standing(WorkerState::Away),
            commits: self.store.batch().unsigned_abs(),
            engine_failures: self.engine_failures,
            shadow,
        }
    }

    fn site(&mut self) -> Result<ClusterInfo, RequestError> {
        let capacity = self.fleet.capacity();
        let capacity = capacity.map_err(|error| RequestError::Engine(error.to_string()))?;
        let view = self.core.gate().view(self.core.now());
        let tasks = |node: NodeId| view.node(node).tasks().len() as u32;
        let nodes = (0..view.n_nodes()).map(NodeId);
        let nodes = nodes.map(|node| view.is_up(node).then(|| tasks(node)));
        Ok(ClusterInfo {
            capacity,
            nodes: nodes.collect(),
            workers: self.fleet.sites(self.core.gate()),
        })
    }

    fn story(&mut self, task: TaskKey) -> Option<TaskOutlook> {
        let now = self.now();
        let view = self.core.gate().view(now);
        let mut story = TaskOutlook {
            now,
            ahead: 0,
            idle: view.n_idle(),
            reserved: None,
            prospect: None,
            after: Vec::new(),
        };
        if let Some(waiting) = self.core.waiting(task.job) {
            story.after = waiting.after().iter().map(|earlier| earlier.job).collect();
            return Some(story);
        }
        let queued = view.jobs();
        let queued = queued.filter(|(_, other)| other.phase == JobPhase::Queued);
        let Some(live) = self.core.job(task) else {
            let array = self.core.array(task.job);
            array.filter(|array| array.sleeps(task.task))?;
            story.ahead = queued.count() as u32;
            return Some(story);
        };
        let this = view.job(live.slot);
        let ahead = queued.filter(|(_, other)| other.sequence < this.sequence);
        story.ahead = ahead.count() as u32;
        story.reserved = this.planned.filter(|_| this.phase == JobPhase::Queued);
        story.prospect = self.core.outlook(now, task);
        Some(story)
    }
}
