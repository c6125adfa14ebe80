//! Computers with long gaps between users.

use tollgate_model::NodeId;

use super::{BuiltinSelectPolicy, SelectBuildInputs};
use crate::select::FixedOrderSelect;

pub(super) const LONGEST_IDLE: BuiltinSelectPolicy = BuiltinSelectPolicy {
    name: "longest-idle",
    alias: "c2",
    summary: "the free computer with the longest idle time between users",
    paper: "McGough et al. 2013, section III",
    uses_future_logins: true,
    build: |grounds, _| Box::new(FixedOrderSelect::new(order(grounds))),
};

fn order(grounds: &SelectBuildInputs<'_>) -> Vec<NodeId> {
    let gap = |node: NodeId| {
        let idle_s = grounds.log.idle[node.index()].as_secs_f64();
        idle_s / (f64::from(grounds.log.sessions[node.index()]) + 1.0)
    };
    let mut order: Vec<NodeId> = (0..grounds.pool.computers().len() as u32)
        .map(NodeId)
        .collect();
    order.sort_by(|&a, &b| gap(b).total_cmp(&gap(a)).then(a.cmp(&b)));
    order
}
