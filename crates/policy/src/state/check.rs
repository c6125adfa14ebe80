//! The invariants that hold of a state after every event.

use tollgate_model::NodeId;

use super::{ClusterState, JobPhase, JobSlot};
use crate::context::InvariantViolation;

/// Tolerance for rounding by which the rates of a node's tasks may sum to more than 1.
const RATE_TOLERANCE: f64 = 1e-9;

impl ClusterState {
    /// Verifies that nodes and jobs agree on placements. No node is both idle and busy, or held by two
    /// exclusive jobs. No device and no licence is taken twice, and the rates of a node's tasks sum to at
    /// most 1.
    ///
    /// # Errors
    /// Returns the first violation.
    pub fn check(&self) -> Result<(), InvariantViolation> {
        let is_group = |job: &JobSlot| job.count != 1;
        let waits = |job: &JobSlot| job.count > 1 && job.phase != JobPhase::Running;
        if let Some((id, job)) = self.jobs().find(|(_, job)| is_group(job) && !waits(job)) {
            let count = job.count;
            return Err(InvariantViolation(format!(
                "{id:?} stands for {count} jobs"
            )));
        }
        let mut holders = vec![0u32; self.n_nodes as usize];
        for (id, job) in self
            .jobs()
            .filter(|(_, job)| job.phase == JobPhase::Running)
        {
            let wide: u32 = job.placement.iter().map(|range| range.len).sum();
            if wide != job.spec.procs {
                return Err(InvariantViolation(format!(
                    "{id:?} wants {} nodes and has {wide}",
                    job.spec.procs
                )));
            }
            if job.start.is_none_or(|start| start < job.spec.submit) {
                return Err(InvariantViolation(format!(
                    "{id:?} started before it was submitted"
                )));
            }
            for node in job.placement.iter().flat_map(|range| range.nodes()) {
                holders[node.index()] += 1;
            }
        }
        self.check_units()?;
        (0..self.n_nodes)
            .map(NodeId)
            .try_for_each(|node| self.check_node(node, holders[node.index()]))
    }

    fn check_node(&self, id: NodeId, holders: u32) -> Result<(), InvariantViolation> {
        let wrong = |what: &str| Err(InvariantViolation(format!("node {}: {what}", id.0)));
        let node = self.node(id);
        let idle = self.idle.contains(id);
        if node.tasks.is_empty() {
            // A job keeps the nodes of ended tasks in its placement, so shared nodes may be idle.
            if holders > 1 && !self.running_jobs.is_empty() {
                return wrong("held by two jobs that want it to themselves");
            }
        } else if idle {
            return wrong("idle with tasks on it");
        }
        if idle && !self.up.contains(id) {
            return wrong("idle and down");
        }
        let lead = self.lead_of(id);
        if lead != id {
            let is_member = self.group_of(lead).any(|range| range.contains(id));
            if idle || lead < id || !is_member || self.lead_of(lead) != lead {
                return wrong("not one of the busy nodes before its lead");
            }
            if !self.nodes[id.index()].tasks.is_empty() {
                return wrong("has tasks of its own, and a lead");
            }
        }
        let rates: f64 = node.tasks.iter().map(|task| task.rate).sum();
        if rates > 1.0 + RATE_TOLERANCE {
            return wrong(&format!("rates sum to {rates}"));
        }
        Ok(())
    }
}
