//! Statistics of the whole service as responses: objectives, kept promises, nodes.

use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{
    CalibrationBin, CalibrationReport, NodeList, NodeStatus, ServiceObjectives, ShadowStatus,
    WorkerStatus,
};
use tollgate_engine::EngineCapacity;
use tollgate_service::{PolicyComparison, ShadowTotals};
use tollgate_store::{ObjectiveSums, PromiseBin};
use tollgate_workers::WorkerState;

use crate::controller::ClusterInfo;

/// Computes the objectives from the sums.
pub(super) fn objectives(sums: &ObjectiveSums) -> ServiceObjectives {
    let pct = |part: u64, of: u64| (of > 0).then(|| 100.0 * part as f64 / of as f64);
    let budgets = sums.budgets.as_f64();
    ServiceObjectives {
        submitted: sums.submitted,
        accepted: sums.accepted,
        kept: sums.kept,
        broken: sums.broken,
        void: sums.void,
        unpromised: sums.unpromised,
        wait_s: (sums.kept > 0).then(|| sums.wait.as_secs_f64() / sums.kept as f64),
        sla_pct: pct(sums.kept, sums.submitted),
        reliability_pct: pct(sums.kept, sums.kept + sums.broken),
        profitability_pct: (budgets > 0.0).then(|| 100.0 * sums.utility.as_f64() / budgets),
    }
}

/// Returns the comparison of the two policies.
pub(super) fn shadow_status(comparison: &PolicyComparison) -> ShadowStatus {
    let sums = |of: &ShadowTotals| {
        objectives(&ObjectiveSums {
            submitted: of.submitted,
            accepted: of.accepted,
            kept: of.kept,
            broken: of.broken,
            void: of.void,
            unpromised: of.unpromised,
            wait: of.wait,
            budgets: of.budgets,
            utility: of.utility,
        })
    };
    ShadowStatus {
        policy: comparison.policy.clone(),
        since_at: format_iso(comparison.since),
        running: comparison.running,
        queued: comparison.queued,
        undecided: comparison.undecided,
        by_forecast: comparison.by_forecast,
        real_objectives: sums(&comparison.real),
        paper_objectives: sums(&comparison.paper),
    }
}

/// Returns promised against kept probabilities.
pub(super) fn calibration(bins: &[PromiseBin]) -> CalibrationReport {
    let bin = |bin: &PromiseBin| {
        let interval = (bin.promises > 0).then(|| wilson_interval(bin.kept, bin.promises));
        let mean = |sum: f64| (bin.promises > 0).then(|| sum / bin.promises as f64);
        CalibrationBin {
            from: f64::from(bin.tenth) / 10.0,
            to: f64::from(bin.tenth + 1) / 10.0,
            promises: bin.promises,
            promised: mean(bin.expected),
            kept: bin.kept,
            kept_part: mean(bin.kept as f64),
            kept_part_low: interval.map(|[low, _]| low),
            kept_part_high: interval.map(|[_, high]| high),
            void: bin.void,
        }
    };
    CalibrationReport {
        bins: bins.iter().map(bin).collect(),
    }
}

/// Returns the 95 % score interval of a share (Wilson 1927), which stays within 0 and 1 and is wide
/// for few promises even if all of them were kept. `of` is at least 1.
fn wilson_interval(kept: u64, of: u64) -> [f64; 2] {
    /// The 0.975-quantile of the normal distribution.
    const Z: f64 = 1.959_964;
    let (n, share) = (of as f64, kept as f64 / of as f64);
    let z2 = Z * Z;
    let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let spread = (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    let half = Z * spread / (1.0 + z2 / n);
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

/// Lists the nodes. Nodes of workers that are gone are left out, because there may be many of them.
pub(super) fn node_list(site: &ClusterInfo) -> NodeList {
    let worker_of = |id: u32| {
        let has =
            |worker: &&tollgate_workers::WorkerInfo| worker.nodes.nodes().any(|node| node.0 == id);
        site.workers.iter().find(has)
    };
    let node = |(id, tasks): (u32, &Option<u32>)| {
        let worker = worker_of(id);
        let node = NodeStatus {
            id,
            state: match tasks {
                None => "down",
                Some(0) => "idle",
                Some(_) => "busy",
            }
            .to_owned(),
            tasks: tasks.unwrap_or(0),
            worker: worker.map(|worker| worker.name.clone()),
        };
        let is_gone = worker.is_some_and(|worker| worker.state == WorkerState::Lost);
        (!is_gone).then_some(node)
    };
    NodeList {
        nodes: (0..).zip(&site.nodes).filter_map(node).collect(),
        memory_per_node_bytes: site.capacity.memory_per_node,
        enforced: sentences(&site.capacity),
        workers: site.workers.iter().map(worker_status).collect(),
    }
}

fn worker_status(site: &tollgate_workers::WorkerInfo) -> WorkerStatus {
    let state = match site.state {
        WorkerState::Connected => "connected",
        WorkerState::Disconnected => "disconnected",
        WorkerState::Lost => "lost",
    };
    let capacity = site.capacity.as_ref();
    WorkerStatus {
        name: site.name.clone(),
        state: state.to_owned(),
        incarnation: site.incarnation,
        first_node: site.nodes.first,
        nodes: site.nodes.len,
        memory_per_node_bytes: capacity.map(|capacity| capacity.memory_per_node),
        enforced: capacity.map(sentences).unwrap_or_default(),
    }
}

fn sentences(capacity: &EngineCapacity) -> Vec<String> {
    capacity.to_string().lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_of_a_share_is_that_of_the_literature() {
        // Newcombe 1998, table I: 81 of 263, and 0 of 20, by the score method without continuity
        // correction.
        for (kept, of, expected) in [(81, 263, [0.2553, 0.3662]), (0, 20, [0.0, 0.1611])] {
            let found = wilson_interval(kept, of);
            for (found, expected) in found.into_iter().zip(expected) {
                assert!((found - expected).abs() < 5e-5, "{kept} of {of}: {found}");
            }
        }
    }
}
