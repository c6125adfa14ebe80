//! Groups of nodes that hold equal tasks, whose numbers are computed once.
//!
//! Nodes on which the same jobs started at the same instants, since the nodes were last idle, do the same
//! work at the same rates, to the last bit. Such nodes form a group, whose last node, the *lead*, stands for
//! all. The tasks, their shares and the alarms of the group are those of the lead. A job ends on all nodes of
//! the group at once. A job that starts on a part of a group parts it. Groups never merge; nodes that become
//! idle are alone again.
//!
//! Leads are last nodes because the tasks that end at an instant end in order of the nodes. The last task of
//! a job ends on its last node. So groups that are handled in order of their leads close jobs in the same
//! order as single nodes do.

use tollgate_model::{JobId, NodeId, NodeRange};

use super::ClusterState;
use super::node_set::NodeSet;

/// The work that is left after a start on shared nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedStart {
    /// The leads of the job's nodes, whose shares must be set. In the order of the nodes if no nodes form
    /// groups.
    pub leads: Vec<NodeId>,
    /// For each group of which the job took the lead: the lead, and the one of the nodes that are left. They
    /// go on as they were.
    pub parted: Vec<(NodeId, NodeId)>,
}

/// The groups of a machine. Without groups every node is its own lead.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeGroups {
    is_enabled: bool,
    /// By node: the lead of its group. Empty until the first group forms.
    leads: Vec<NodeId>,
    /// By lead of at least two nodes: the nodes of its group, in ascending order.
    members: Vec<Vec<NodeRange>>,
    /// The nodes that are not their own leads.
    followers: NodeSet,
}

/// The parts of a group of which a job takes some nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PartedGroup {
    /// The lead of the nodes taken.
    pub(super) taken: NodeId,
    /// The lead that the group has lost: it leads one of the two parts now, and this node the other.
    pub(super) new_lead: Option<NodeId>,
}

impl NodeGroups {
    /// Lets groups form.
    pub(super) fn enable(&mut self) {
        self.is_enabled = true;
    }

    /// Returns true if groups may form.
    pub(super) fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// Returns the node that stands for a node, which may be itself.
    #[inline]
    pub(super) fn lead(&self, node: NodeId) -> NodeId {
        self.leads.get(node.index()).copied().unwrap_or(node)
    }

    /// Returns the nodes for which another node stands.
    pub(super) fn followers(&self) -> &NodeSet {
        &self.followers
    }

    /// Returns the nodes of a group in ascending order.
    #[inline]
    pub(super) fn nodes_of(&self, lead: NodeId) -> impl Iterator<Item = NodeRange> {
        let several = self
            .members
            .get(lead.index())
            .map_or(&[][..], Vec::as_slice);
        let alone = several.is_empty().then_some(NodeRange {
            first: lead.0,
            len: 1,
        });
        alone.into_iter().chain(several.iter().copied())
    }

    /// Returns the number of nodes of a group.
    #[inline]
    pub(super) fn size(&self, lead: NodeId) -> u32 {
        self.nodes_of(lead).map(|range| range.len).sum()
    }

    /// Returns the end of the run of nodes from this one on for which the same node stands.
    fn run_end(&self, node: NodeId) -> u32 {
        let lead = self.lead(node);
        match self.members.get(lead.index()).map(Vec::as_slice) {
            // The lead is the last node of its group.
            None | Some([] | [_]) => lead.0 + 1,
            Some(ranges) => {
                let ends = |range: &NodeRange| range.first + range.len;
                let at = ranges.partition_point(|range| ends(range) <= node.0);
                ends(&ranges[at])
            }
        }
    }

    /// Forms a group of nodes that are alone, of a machine of `n_nodes` nodes, and returns its lead.
    /// `nodes` are in ascending order, at least one.
    pub(super) fn join(&mut self, nodes: Vec<NodeRange>, n_nodes: u32) -> NodeId {
        let lead = last(&nodes);
        if nodes.iter().map(|range| range.len).sum::<u32>() > 1 {
            for node in (self.leads.len() as u32..n_nodes).map(NodeId) {
                self.leads.push(node);
            }
            self.members.resize(self.leads.len(), Vec::new());
            self.assign(lead, nodes);
        }
        lead
    }

    /// Parts a group if `taken`, some of its nodes in ascending order, are not all of them.
    pub(super) fn part(&mut self, lead: NodeId, taken: Vec<NodeRange>) -> PartedGroup {
        let n_taken: u32 = taken.iter().map(|range| range.len).sum();
        if n_taken == self.size(lead) {
            return PartedGroup {
                taken: lead,
                new_lead: None,
            };
        }
        let rest = without(&self.members[lead.index()], &taken);
        let (of_taken, of_rest) = (last(&taken), last(&rest));
        let (new_lead, moved, kept) = if of_taken == lead {
            (of_rest, rest, taken)
        } else {
            (of_taken, taken, rest)
        };
        self.followers.remove(new_lead);
        self.assign(new_lead, moved);
        self.set_members(lead, kept);
        PartedGroup {
            taken: of_taken,
            new_lead: Some(new_lead),
        }
    }

    /// Makes the nodes of a group alone again.
    pub(super) fn dissolve(&mut self, lead: NodeId) {
        let Some(nodes) = self.members.get_mut(lead.index()).map(std::mem::take) else {
            return;
        };
        for node in nodes.iter().flat_map(|range| range.nodes()) {
            self.leads[node.index()] = node;
            self.followers.remove(node);
        }
    }

    fn assign(&mut self, lead: NodeId, nodes: Vec<NodeRange>) {
        for node in nodes.iter().flat_map(|range| range.nodes()) {
            self.leads[node.index()] = lead;
            if node != lead {
                self.followers.insert(node);
            }
        }
        self.set_members(lead, nodes);
    }

    fn set_members(&mut self, lead: NodeId, nodes: Vec<NodeRange>) {
        let is_alone = matches!(nodes[..], [NodeRange { len: 1, .. }]);
        self.members[lead.index()] = if is_alone { Vec::new() } else { nodes };
    }
}

impl ClusterState {
    /// Lets nodes that hold equal tasks form groups, whose last nodes stand for them, before a job
    /// starts.
    pub fn group_nodes(&mut self) {
        self.groups.enable();
    }

    /// Returns true if nodes that hold equal tasks form groups.
    pub fn is_grouped(&self) -> bool {
        self.groups.is_enabled()
    }

    /// Returns the nodes of a range that are up, have a task, and stand for a group of nodes that are
    /// alike: in ascending order.
    pub fn busy_leads(&self, range: NodeRange) -> impl Iterator<Item = NodeId> {
        let others = [&self.idle, self.groups.followers()];
        self.up.nodes_without(others, range)
    }

    /// Returns the nodes of a range that are up, in ascending order, in runs of nodes that hold equal tasks.
    /// These are either nodes without a task, or nodes for which the same node stands. The nodes of the range
    /// have equal speeds.
    pub fn runs_of_equals(&self, range: NodeRange) -> impl Iterator<Item = NodeRange> {
        let end = range.first + range.len;
        let mut next = range.first;
        std::iter::from_fn(move || {
            let first = self
                .up
                .first_from(NodeId(next))
                .filter(|node| node.0 < end)?;
            let run_end = match self.idle.contains(first) {
                true => self.idle.run_end(first),
                false => self.groups.run_end(first),
            };
            next = run_end.min(end);
            Some(NodeRange {
                first: first.0,
                len: next - first.0,
            })
        })
    }

    /// Returns the node that stands for a node: the last of a group of nodes that hold equal tasks. Each
    /// node stands for itself unless [`ClusterState::group_nodes`] was called.
    #[inline]
    pub fn lead_of(&self, node: NodeId) -> NodeId {
        self.groups.lead(node)
    }

    /// Returns the nodes that a lead stands for, in ascending order.
    #[inline]
    pub fn group_of(&self, lead: NodeId) -> impl Iterator<Item = NodeRange> {
        self.groups.nodes_of(lead)
    }

    /// Returns the number of nodes that a lead stands for.
    #[inline]
    pub fn group_size(&self, lead: NodeId) -> u32 {
        self.groups.size(lead)
    }

    /// Parts groups of nodes so that the nodes of a job that is about to start there are whole groups.
    /// Nodes that are idle and equal form a group.
    pub(super) fn group_for(&mut self, id: JobId, nodes: &[NodeId]) -> SharedStart {
        if !self.is_grouped() {
            return SharedStart {
                leads: nodes.to_vec(),
                parted: Vec::new(),
            };
        }
        let mut started = SharedStart::default();
        let mut idle_kinds: Vec<NodeId> = Vec::new();
        let mut runs: Vec<(NodeId, NodeRange)> = Vec::new();
        let placement = self.jobs[id.index()].placement.iter();
        for node in placement.flat_map(|range| range.nodes()) {
            let kind = if self.idle.contains(node) {
                let own = &self.nodes[node.index()];
                let alike = |kind: &NodeId| self.nodes[kind.index()].is_equipped_like(own);
                let known = idle_kinds.iter().copied().find(alike);
                known.unwrap_or_else(|| {
                    idle_kinds.push(node);
                    node
                })
            } else {
                self.lead_of(node)
            };
            match runs.last_mut() {
                Some((last_kind, run)) if *last_kind == kind && run.first + run.len == node.0 => {
                    run.len += 1;
                }
                _ => runs.push((
                    kind,
                    NodeRange {
                        first: node.0,
                        len: 1,
                    },
                )),
            }
        }
        runs.sort_by_key(|&(kind, _)| kind);
        for runs in runs.chunk_by(|one, other| one.0 == other.0) {
            let kind = runs[0].0;
            let taken = runs.iter().map(|&(_, run)| run).collect();
            if self.idle.contains(kind) {
                started.leads.push(self.groups.join(taken, self.n_nodes));
                continue;
            }
            let parts = self.groups.part(kind, taken);
            started.leads.push(parts.taken);
            if let Some(new) = parts.new_lead {
                let tasks = self.nodes[kind.index()].clone();
                self.nodes[new.index()] = tasks;
                if new != parts.taken {
                    started.parted.push((kind, new));
                }
            }
        }
        started
    }
}

fn last(nodes: &[NodeRange]) -> NodeId {
    let range = nodes.last().expect("a group has a node");
    NodeId(range.first + range.len - 1)
}

/// Returns `nodes` without `taken`, which are some of them; both are in ascending order.
fn without(nodes: &[NodeRange], taken: &[NodeRange]) -> Vec<NodeRange> {
    let mut rest = Vec::with_capacity(nodes.len());
    let mut taken = taken.iter().peekable();
    for range in nodes {
        let (mut first, end) = (range.first, range.first + range.len);
        while let Some(hole) = taken.next_if(|hole| hole.first < end) {
            if hole.first > first {
                rest.push(NodeRange {
                    first,
                    len: hole.first - first,
                });
            }
            first = hole.first + hole.len;
            // Ranges are never adjacent, so no hole reaches beyond its range.
            debug_assert!(first <= end, "{hole} is not within {range}");
        }
        if first < end {
            rest.push(NodeRange {
                first,
                len: end - first,
            });
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NODES: u32 = 200;

    proptest! {
        #[test]
        fn runs_of_equals_are_those_of_a_walk_over_single_nodes(
            jobs in prop::collection::vec((0..NODES, 1..NODES, 1u32..4), 0..6),
            down in prop::collection::btree_set(0..NODES, 0..3),
            (first, len) in (0..NODES).prop_flat_map(|first| (Just(first), 1..=NODES - first)),
            grouped in any::<bool>(),
        ) {
            let mut state = ClusterState::default();
            if grouped {
                state.group_nodes();
            }
            state.add_nodes(NODES);
            down.iter().for_each(|&node| state.set_down(NodeId(node)));
            for (first, len, step) in jobs {
                let nodes = (first..NODES.min(first + len)).step_by(step as usize).map(NodeId);
                let nodes: Vec<NodeId> = nodes.filter(|&node| state.is_up(node)).collect();
                state.share_with_new_job(&nodes);
            }
            let kind = |node: &NodeId| {
                let own = state.is_up(*node).then(|| state.lead_of(*node));
                own.map(|lead| (!state.idle.contains(*node)).then_some(lead))
            };
            let nodes: Vec<NodeId> = (first..first + len).map(NodeId).collect();
            let walked = nodes.chunk_by(|one, other| kind(one) == kind(other));
            let walked: Vec<&[NodeId]> = walked.filter(|run| state.is_up(run[0])).collect();
            let runs = state.runs_of_equals(NodeRange { first, len });
            let runs: Vec<Vec<NodeId>> = runs.map(|run| run.nodes().collect()).collect();
            prop_assert_eq!(runs, walked);
        }
    }
}
