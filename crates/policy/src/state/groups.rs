//! Groups of nodes that hold equal tasks, whose numbers are computed once.
//!
//! Nodes on which the same jobs started at the same instants, since the nodes were last idle, do the same
//! work at the same rates, to the last bit. Such nodes form a group, whose last node, the *lead*, stands
//! for all: the tasks, their shares and the alarms of the group are those of the lead, and a job ends on
//! all nodes of the group at once. A job that starts on a part of a group parts it. Groups never merge;
//! nodes that become idle are alone again.
//!
//! Leads are last nodes because the tasks that end at an instant end in order of the nodes: the last task
//! of a job ends on its last node, so groups that are handled in order of their leads close jobs in the
//! same order as single nodes do.

use tollgate_model::{JobId, NodeId, NodeRange};

use super::ClusterState;
use super::idle::NodeSet;

/// What a start on shared nodes leaves to be done.
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
