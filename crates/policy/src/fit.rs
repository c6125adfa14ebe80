//! The first few of many nodes, in order of rank.

use tollgate_model::NodeId;

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
