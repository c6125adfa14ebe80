//! Whether a job fits on a machine; the first few of many nodes, in order of rank.

use tollgate_model::{JobSpec, NodeId, Reason};

use crate::state::View;

/// Whether there are enough nodes for a job, each with enough memory for it: one that would not fit on
/// the smallest node is kept out, since it could not go to whichever is free.
///
/// # Errors
/// What there is too little of.
pub(crate) fn fits_machine(view: View<'_>, spec: &JobSpec) -> Result<(), Reason> {
    if spec.procs > view.n_nodes() {
        return Err(Reason::TooManyProcs);
    }
    match view.min_memory() {
        Some(memory) if spec.memory > memory => Err(Reason::NoMemory),
        Some(_) | None => Ok(()),
    }
}

/// Appends to `nodes` the first `wanted` of `ranked`, in order, that are `allowed`. Only as much
/// is sorted, and as many are asked for, as it takes.
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
