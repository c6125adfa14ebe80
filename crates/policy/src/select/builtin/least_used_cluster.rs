//! Clusters with few users first.

use tollgate_model::NodeId;

use super::{BuiltinSelectPolicy, SelectBuildInputs};
use crate::random_source::RandomSource;
use crate::select::FixedOrderSelect;

pub(super) const LEAST_USED_CLUSTER: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "least-used-cluster",
    alias: "c3",
    summary: "a free computer of the cluster that users use least",
    paper: "McGough et al. 2013, section III, Rank(c)",
    uses_future_logins: true,
    build: |grounds, draw| Box::new(FixedOrderSelect::new(order(grounds, draw))),
};

/// Returns clusters by the mean fraction of idle time of their computers. Within a cluster the
/// order is random but fixed, so that the same computers are used again while they are awake.
fn order(grounds: &SelectBuildInputs<'_>, draw: &mut dyn RandomSource) -> Vec<NodeId> {
    let computers = grounds.pool.computers();
    let clusters = computers.iter().map(|one| one.cluster as usize + 1).max();
    let mut idle = vec![(0.0, 0.0); clusters.unwrap_or(0)];
    for (computer, span) in computers.iter().zip(&grounds.log.idle) {
        let sum = &mut idle[computer.cluster as usize];
        *sum = (sum.0 + span.as_secs_f64(), sum.1 + 1.0);
    }
    let rank = |node: NodeId| {
        let cluster = computers[node.index()].cluster as usize;
        (idle[cluster].0 / idle[cluster].1, cluster)
    };
    let mut order: Vec<NodeId> = (0..computers.len() as u32).map(NodeId).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, draw.below(last + 1));
    }
    // The sort is stable: within a cluster the random order stays.
    order.sort_by(|&a, &b| {
        let ((share_a, a), (share_b, b)) = (rank(a), rank(b));
        share_b.total_cmp(&share_a).then(a.cmp(&b))
    });
    order
}
