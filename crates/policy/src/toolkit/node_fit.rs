//! Checks of whether a job fits on a machine; selection of the first few of many ranked nodes.

use tollgate_model::{JobSpec, NodeId, Reason};

use crate::state::View;

/// Checks that there are enough nodes for a job, each with enough memory. A job that does not fit
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
///     user: UserId(0),
///     sla: Sla::default(),
/// };
/// let view = View::new(&state, Instant::ZERO);
/// assert_eq!(fits_machine(view, &job(4, 1 << 30)), Ok(()));
/// assert_eq!(fits_machine(view, &job(5, 0)), Err(Reason::TooManyProcs));
/// assert_eq!(fits_machine(view, &job(1, 2 << 30)), Err(Reason::NoMemory));
/// ```
pub fn fits_machine(view: View<'_>, spec: &JobSpec) -> Result<(), Reason> {
    if spec.procs > view.n_nodes() {
        return Err(Reason::TooManyProcs);
    }
    match view.min_memory() {
        Some(memory) if spec.memory > memory => Err(Reason::NoMemory),
        Some(_) | None => Ok(()),
    }
}

/// Appends to `nodes` those of `ranked` that are `allowed`, the lowest ranks first and ties by lowest
/// index, until `nodes` has `wanted` of them. Sorts and tests only as many nodes as needed.
///
/// ```
/// use tollgate_model::NodeId;
/// use tollgate_policy::toolkit::take_first;
///
/// let mut ranked = [(7, NodeId(0)), (3, NodeId(2)), (3, NodeId(1)), (1, NodeId(3))];
/// let mut nodes = Vec::new();
/// take_first(&mut ranked, 2, &mut nodes, |node| node != NodeId(3));
/// assert_eq!(nodes, [NodeId(1), NodeId(2)]);
/// ```
pub fn take_first(
    mut ranked: &mut [(i64, NodeId)],
    wanted: usize,
    nodes: &mut Vec<NodeId>,
    allowed: impl Fn(NodeId) -> bool,
) {
    let mut batch = wanted.max(16);
    while !ranked.is_empty() {
        if batch < ranked.len() {
            ranked.select_nth_unstable(batch);
        }
        let (first, rest) = ranked.split_at_mut(batch.min(ranked.len()));
        first.sort_unstable();
        for &mut (_, node) in first {
            if nodes.len() == wanted {
                return;
            }
            if allowed(node) {
                nodes.push(node);
            }
        }
        ranked = rest;
        batch *= 2;
    }
}
