//! Checks of whether a job fits on a machine; selection of the first few of many ranked nodes.

use std::cmp::Reverse;

use tollgate_model::{JobSpec, NodeId, Reason};

use crate::state::View;

/// Checks that there are enough nodes for a job, or are expected, each with enough memory. A job that does not fit
/// on the smallest node is rejected, because not every free node could run it.
///
/// # Errors
/// Returns the resource of which there is too little.
///
/// ```
/// use tollgate_model::{Instant, JobSpec, Reason, Sla, Span, UserId};
/// use tollgate_policy::{ClusterState, View, toolkit::fits_machine};
///
/// let mut state = ClusterState::default();
/// let nodes = state.add_nodes(4);
/// state.set_memory(nodes, Some(1 << 30));
/// let job = |procs, memory| JobSpec {
///     submit: Instant::ZERO,
///     estimate: Span::from_secs(60),
///     procs,
///     memory,
///     needs: Default::default(),
///     restarts: 0,
///     user: UserId(0),
///     sla: Sla::default(),
/// };
/// let view = View::new(&state, Instant::ZERO);
/// assert_eq!(fits_machine(view, &job(4, 1 << 30)), Ok(()));
/// assert_eq!(fits_machine(view, &job(5, 0)), Err(Reason::TooManyProcs));
/// assert_eq!(fits_machine(view, &job(1, 2 << 30)), Err(Reason::NoMemory));
/// ```
pub fn fits_machine(view: View<'_>, spec: &JobSpec) -> Result<(), Reason> {
    if spec.procs > view.n_nodes().saturating_add(view.n_expected()) {
        return Err(Reason::TooManyProcs);
    }
    match view.min_memory() {
        Some(memory) if spec.memory > memory => Err(Reason::NoMemory),
        Some(_) | None => Ok(()),
    }
}

/// The order in which nodes of equal rank are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieOrder {
    /// The lowest index first.
    LowestFirst,
    /// The highest index first.
    HighestFirst,
}

/// Appends to `nodes` those that the `allowed` leads of `ranked` stand for. The lowest ranks come first, and
/// nodes of equal rank in the order of `ties`, until `nodes` has `n_nodes` of them. Sorts only as many leads
/// as needed.
///
/// ```
/// use tollgate_model::{Instant, NodeId};
/// use tollgate_policy::toolkit::{TieOrder, take_first};
/// use tollgate_policy::{ClusterState, View};
///
/// let mut state = ClusterState::default();
/// state.add_nodes(4);
/// let view = View::new(&state, Instant::ZERO);
/// let mut ranked = [(7, NodeId(0)), (3, NodeId(2)), (3, NodeId(1)), (1, NodeId(3))];
/// let mut nodes = Vec::new();
/// let allowed = |node| node != NodeId(3);
/// take_first(view, &mut ranked, 2, TieOrder::LowestFirst, &mut nodes, allowed);
/// assert_eq!(nodes, [NodeId(1), NodeId(2)]);
/// ```
pub fn take_first(
    view: View<'_>,
    mut ranked: &mut [(i64, NodeId)],
    n_nodes: usize,
    ties: TieOrder,
    nodes: &mut Vec<NodeId>,
    allowed: impl Fn(NodeId) -> bool,
) {
    let mut batch = n_nodes.max(16);
    while !ranked.is_empty() {
        let n_selected = select_ranks(ranked, batch);
        let (first, rest) = ranked.split_at_mut(n_selected);
        first.sort_unstable();
        for equals in first.chunk_by(|one, other| one.0 == other.0) {
            let (from, missing) = (nodes.len(), n_nodes - nodes.len());
            let leads = equals.iter().map(|&(_, lead)| lead);
            let groups = leads
                .filter(|&lead| allowed(lead))
                .flat_map(|lead| view.group_of(lead));
            let equal_nodes = groups.flat_map(|range| range.nodes());
            match ties {
                // The nodes of one group are in order.
                TieOrder::LowestFirst if equals.len() == 1 => {
                    nodes.extend(equal_nodes.take(missing));
                }
                TieOrder::LowestFirst => {
                    nodes.extend(equal_nodes);
                    nodes[from..].sort_unstable();
                }
                TieOrder::HighestFirst => {
                    nodes.extend(equal_nodes);
                    nodes[from..].sort_unstable_by_key(|&node| Reverse(node));
                }
            }
            nodes.truncate(n_nodes);
            if nodes.len() == n_nodes {
                return;
            }
        }
        ranked = rest;
        batch *= 2;
    }
}

/// Moves the leads with the lowest ranks to the front, if possible more than `batch`, and returns their
/// number. No other lead has one of their ranks.
fn select_ranks(ranked: &mut [(i64, NodeId)], batch: usize) -> usize {
    if batch >= ranked.len() {
        return ranked.len();
    }
    let (_, &mut (rank, _), higher) = ranked.select_nth_unstable(batch);
    let mut n_equal = 0;
    for at in 0..higher.len() {
        if higher[at].0 == rank {
            higher.swap(at, n_equal);
            n_equal += 1;
        }
    }
    batch + 1 + n_equal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::ClusterState;
    use proptest::prelude::*;
    use tollgate_model::Instant;

    /// Returns the state of a machine on whose nodes jobs of these placements share.
    fn grouped(jobs: &[Vec<bool>]) -> ClusterState {
        let mut state = ClusterState::default();
        state.group_nodes();
        state.add_nodes(24);
        for placed in jobs {
            let nodes: Vec<NodeId> = (0..24)
                .map(NodeId)
                .filter(|node| placed[node.index()])
                .collect();
            if nodes.is_empty() {
                continue;
            }
            state.share_with_new_job(&nodes);
        }
        state
    }

    proptest! {
        #[test]
        fn nodes_are_taken_as_if_all_were_sorted(
            jobs in prop::collection::vec(prop::collection::vec(any::<bool>(), 24), 0..4),
            ranks in prop::collection::vec(0i64..4, 24),
            wanted in 1usize..30,
            highest in any::<bool>(),
        ) {
            let state = grouped(&jobs);
            let view = View::new(&state, Instant::ZERO);
            let rank = |node: NodeId| ranks[view.lead_of(node).index()];
            let allowed = |lead: NodeId| lead != NodeId(5);
            let leads = (0..24).map(NodeId).filter(|&node| view.lead_of(node) == node);
            let mut ranked: Vec<_> = leads.map(|lead| (rank(lead), lead)).collect();
            let mut all: Vec<NodeId> = (0..24).map(NodeId).collect();
            all.retain(|&node| allowed(view.lead_of(node)));
            if highest {
                all.reverse();
            }
            all.sort_by_key(|&node| rank(node));
            all.truncate(wanted);
            let ties = if highest { TieOrder::HighestFirst } else { TieOrder::LowestFirst };
            let mut taken = Vec::new();
            take_first(view, &mut ranked, wanted, ties, &mut taken, allowed);
            prop_assert_eq!(taken, all);
        }
    }
}
