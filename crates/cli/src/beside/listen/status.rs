//! The state of the cluster.

use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{ServiceMarket, ServiceStatus, WireWord};

use super::view::FollowerView;

/// Returns the state of the cluster as a service has its own. Nodes are processors: as many as ran jobs at once in the last
/// 60 days.
pub(super) fn of(view: &FollowerView) -> ServiceStatus {
    let follower = &view.follower;
    let counts = follower.counts();
    let (capacity, in_use) = (follower.capacity(), follower.procs_in_use());
    let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    ServiceStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        now_at: format_iso(view.now()),
        clock_ahead_s: None,
        up_since_at: format_iso(view.since),
        // The scheduler decides, and no policy of tollgate.
        policy: format!("{} of {}", view.engine.kind().title(), view.cluster),
        market: WireWord::Known(ServiceMarket::None),
        nodes: count(capacity),
        idle_nodes: count(capacity.saturating_sub(in_use)),
        queued: count(counts.waiting as u64),
        held: count(counts.held as u64),
        running: count(counts.running as u64),
        suspended: 0,
        at_risk: 0,
        risks: Vec::new(),
        open_promises: 0,
        open_unpromised: 0,
        workers: 0,
        workers_disconnected: 0,
        maintenance_from_at: None,
        maintenance_until_at: None,
        sends_notices: false,
        notice_targets: Vec::new(),
        user: None,
        may_operate: false,
        shadow: None,
    }
}
