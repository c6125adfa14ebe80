//! Jobs whose tasks run in step on nodes that they share.

use tollgate_model::{Instant, JobId, NodeId, NodeRange};

use super::ClusterState;
use super::node_set::NodeSet;
use crate::parameters::ParameterEnum;

/// Whether the tasks of a job progress together on nodes that they share with other jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskCoupling {
    /// Each task progresses by the part of its own node, as in the papers.
    #[default]
    Independent,
    /// The tasks run in step, as the processes of a parallel program do. A job progresses at the rate of its
    /// slowest task, and what it leaves of its parts stays unused.
    Rigid,
}

impl ParameterEnum for TaskCoupling {
    const KEYWORDS: &'static [(&'static str, Self)] =
        &[("rigid", Self::Rigid), ("independent", Self::Independent)];
}

impl ClusterState {
    /// Returns true if the tasks of a job run in step.
    pub fn is_rigid(&self) -> bool {
        self.coupling == TaskCoupling::Rigid
    }

    /// Sets whether the tasks of a job run in step, before any job starts.
    pub fn set_coupling(&mut self, coupling: TaskCoupling) {
        self.coupling = coupling;
    }

    /// Sets the rates of the jobs on `nodes`, all those whose shares were set since the last call, to those
    /// of their slowest tasks. The speed of a task is its part of its node, times the speed of the node.
    /// Returns the nodes on which a rate changed, in ascending order.
    ///
    /// A job whose slowest task on `nodes` is as fast as the job was stays so, because no other task can be
    /// slower: only its tasks on `nodes` are set. For the other jobs, one pass over all their nodes takes the
    /// minima and another one sets them. To find the task of each job on each of its nodes takes longer than
    /// to visit every task.
    pub fn couple_rates(&mut self, nodes: &[NodeId], now: Instant) -> Vec<NodeId> {
        // By slot: the speed of the slowest task; None of jobs that are not on `nodes`.
        let mut speeds: Vec<Option<f64>> = vec![None; self.jobs.len()];
        let mut concerned = NodeSet::default();
        for &node in nodes {
            concerned.insert(node);
            for (job, speed) in self.node(node).speeds() {
                let slowest = &mut speeds[job.index()];
                *slowest = Some(slowest.map_or(speed, |other| speed.min(other)));
            }
        }
        for (job, speed) in self.jobs.iter().zip(&speeds) {
            if speed.is_some_and(|speed| speed != job.speed_in_step) {
                let placement = job.placement.iter();
                placement.for_each(|&range| concerned.cover(range));
            }
        }
        let others = [&self.idle, self.groups.followers()];
        let machine = NodeRange {
            first: 0,
            len: self.n_nodes,
        };
        let leads: Vec<NodeId> = concerned.nodes_without(others, machine).collect();
        for &lead in &leads {
            for (job, speed) in self.nodes[lead.index()].speeds() {
                if let Some(slowest) = &mut speeds[job.index()] {
                    *slowest = speed.min(*slowest);
                }
            }
        }
        for (job, speed) in self.jobs.iter_mut().zip(&speeds) {
            job.speed_in_step = speed.unwrap_or(job.speed_in_step);
        }
        let speed_of = |job: JobId| speeds[job.index()];
        let mut changed = leads;
        changed.retain(|lead| self.nodes[lead.index()].set_speeds(now, speed_of));
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::NodeTask;
    use proptest::prelude::*;
    use tollgate_model::SpeedList;

    const NODES: u32 = 8;

    /// Returns a machine whose first nodes are twice as fast, on whose nodes jobs of these placements share;
    /// no share is set.
    fn machine(placed: &[Vec<bool>], grouped: bool) -> ClusterState {
        let mut state = ClusterState::default();
        let list: SpeedList = "3*2,5*1".parse().expect("a list of speeds");
        state.set_speeds(list.of_machine(NODES).expect("as many nodes"));
        if grouped {
            state.group_nodes();
        }
        state.add_nodes(NODES);
        for placed in placed {
            let nodes = (0..NODES).map(NodeId);
            let nodes: Vec<NodeId> = nodes.filter(|node| placed[node.index()]).collect();
            state.share_with_new_job(&nodes);
        }
        state
    }

    fn leads(state: &ClusterState) -> impl Iterator<Item = NodeId> {
        let nodes = (0..NODES).map(NodeId);
        nodes.filter(|&node| state.lead_of(node) == node)
    }

    proptest! {
        #[test]
        fn job_progresses_as_its_slowest_task_and_other_jobs_as_before(
            placed in prop::collection::vec(prop::collection::vec(any::<bool>(), NODES as usize), 1..6),
            shares in prop::collection::vec(prop::sample::select(vec![0.0, 0.25, 0.5, 1.0]), 97),
            is_set in prop::collection::vec(any::<bool>(), NODES as usize),
            grouped in any::<bool>(),
        ) {
            let mut state = machine(&placed, grouped);
            let set_shares = |state: &mut ClusterState, node: NodeId, salt: usize| {
                let share = |task: &NodeTask| shares[(node.index() * 13 + task.job.index() * 29 + salt) % shares.len()];
                state.set_shares(node, Instant::ZERO, share, |_| f64::INFINITY);
            };
            let all: Vec<NodeId> = leads(&state).collect();
            all.iter().for_each(|&node| set_shares(&mut state, node, 0));
            state.couple_rates(&all, Instant::ZERO);
            let set: Vec<NodeId> = all.iter().copied().filter(|node| is_set[node.index()]).collect();
            set.iter().for_each(|&node| set_shares(&mut state, node, 1));
            let before = state.clone();
            let changed = state.couple_rates(&set, Instant::ZERO);
            for &node in &all {
                for (at, task) in state.nodes[node.index()].tasks().iter().enumerate() {
                    let is_on = |node: &NodeId| state.is_shared_on(task.job, *node);
                    let old = before.nodes[node.index()].tasks()[at].rate;
                    let expected = if set.iter().any(is_on) {
                        let speeds = all.iter().flat_map(|node| state.nodes[node.index()].speeds());
                        let own = speeds.filter(|(job, _)| *job == task.job).map(|(_, speed)| speed);
                        own.fold(f64::INFINITY, f64::min) / state.node(node).speed().as_f64()
                    } else {
                        old
                    };
                    prop_assert_eq!(task.rate, expected);
                }
                let is_changed = before.nodes[node.index()] != state.nodes[node.index()];
                prop_assert_eq!(changed.contains(&node), is_changed);
            }
            prop_assert!(changed.is_sorted());
        }
    }
}
