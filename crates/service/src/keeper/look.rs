//! Questions that change nothing.

use tollgate_engine::Engine;
use tollgate_model::NodeId;
use tollgate_policy::Phase;

use super::ask::{Ask, Census, Failed, Site, Story};
use super::owner::Keeper;

impl<E: Engine> Keeper<E> {
    pub(super) fn look(&mut self, ask: Ask) {
        match ask {
            Ask::Quote { submission, reply } => {
                let at = self.now();
                let _ = reply.send(Ok(self.core.quote(at, &submission)));
            }
            Ask::Census { reply } => {
                let census = self.census();
                let _ = reply.send(Ok(census));
            }
            Ask::Nodes { reply } => {
                let site = self.site();
                let _ = reply.send(site);
            }
            Ask::Explain { job, reply } => {
                let story = self.story(job);
                let _ = reply.send(Ok(story));
            }
            Ask::Wait {
                job,
                reply,
                decided,
            } => self.wait(job, reply, decided),
            Ask::Submit { .. }
            | Ask::Hold { .. }
            | Ask::Claim { .. }
            | Ask::Act { .. }
            | Ask::Worker { .. }
            | Ask::Wake
            | Ask::Stop => {}
        }
    }

    fn census(&mut self) -> Census {
        let now = self.now();
        let view = self.core.gate().view(now);
        let count = |phase| view.jobs().filter(|(_, job)| job.phase == phase).count() as u32;
        let nodes = (0..view.n_nodes()).filter(|&node| view.is_up(NodeId(node)));
        Census {
            now,
            nodes: nodes.count() as u32,
            idle: view.n_idle(),
            queued: count(Phase::Queued),
            held: count(Phase::Held),
            running: count(Phase::Running),
        }
    }

    fn site(&mut self) -> Result<Site, Failed> {
        let capacity = self.fleet.capacity();
        let capacity = capacity.map_err(|error| Failed::Engine(error.to_string()))?;
        let view = self.core.gate().view(self.core.now());
        let tasks = |node: NodeId| view.node(node).tasks().len() as u32;
        let nodes = (0..view.n_nodes()).map(NodeId);
        let nodes = nodes.map(|node| view.is_up(node).then(|| tasks(node)));
        Ok(Site {
            capacity,
            nodes: nodes.collect(),
            workers: self.fleet.sites(self.core.gate()),
        })
    }

    fn story(&mut self, job: u64) -> Option<Story> {
        let now = self.now();
        let live = self.core.job(job)?;
        let view = self.core.gate().view(now);
        let this = view.job(live.slot);
        let ahead = view
            .jobs()
            .filter(|(_, other)| other.phase == Phase::Queued && other.sequence < this.sequence);
        Some(Story {
            now,
            ahead: ahead.count() as u32,
            idle: view.n_idle(),
            reserved: this.planned.filter(|_| this.phase == Phase::Queued),
            prospect: self.core.outlook(now, job),
        })
    }
}
