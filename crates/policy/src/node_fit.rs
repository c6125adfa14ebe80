//! Checks of whether a job fits on a machine; selection of the first few of many ranked nodes.

use tollgate_model::{JobSpec, NodeId, Reason};

use crate::state::View;

/// Checks that there are enough nodes for a job, each with enough memory. A job that does not fit
/// on the smallest node is rejected, because not every free node could run it.
///
/// # Errors
/// Returns the resource of which there is too little.
pub(crate) fn fits_machine(view: View<'_>, spec: &JobSpec) -> Result<(), Reason> {
    if spec.procs > view.n_nodes() {
        return Err(Reason::TooManyProcs);
    }
    match view.min_memory() {
        Some(memory) if spec.memory > memory => Err(Reason::NoMemory),
        Some(_) | None => Ok(()),
    }
}

/// Appends to `nodes` the first `wanted` of `ranked`, in order, that are `allowed`. Sorts and tests
/// only as many nodes as needed.
pub(crate) fn take_first(
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
