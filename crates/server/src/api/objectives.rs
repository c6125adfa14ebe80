//! Statistics of the whole service as responses: objectives, kept promises, nodes.

use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{
    CalibrationBin, CalibrationReport, NodeList, NodeStatus, ResourceStatus, ServiceObjectives,
    ShadowStatus, WorkerStatus,
};
use tollgate_engine::EngineCapacity;
use tollgate_model::NodeId;
use tollgate_risk::calibration::score_interval;
use tollgate_service::{PolicyComparison, ShadowTotals};
use tollgate_store::{ObjectiveSums, PromiseBin};
use tollgate_workers::WorkerState;

use crate::controller::{ClusterInfo, ResourceUse};

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
        let interval = (bin.promises > 0).then(|| score_interval(bin.kept, bin.promises));
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

/// Lists the nodes. Nodes of workers that are gone are left out, because there may be many of them.
pub(super) fn node_list(site: &ClusterInfo) -> NodeList {
    let worker_of = |id: u32| {
        let has =
            |worker: &&tollgate_workers::WorkerInfo| worker.nodes.nodes().any(|node| node.0 == id);
        site.workers.iter().find(has)
    };
    let is_drained = |id: u32| site.drained.iter().any(|range| range.contains(NodeId(id)));
    let node = |(id, tasks): (u32, &Option<u32>)| {
        let worker = worker_of(id);
        let node = NodeStatus {
            id,
            state: match tasks {
                None => "down",
                Some(0) if is_drained(id) => "drained",
                Some(_) if is_drained(id) => "draining",
                Some(0) => "idle",
                Some(_) => "busy",
            }
            .to_owned(),
            tasks: tasks.unwrap_or(0),
            worker: worker.map(|worker| worker.name.clone()),
        };
        // Nodes of this host that are down are offered no more.
        let is_gone = match worker {
            Some(worker) => worker.state == WorkerState::Lost,
            None => tasks.is_none(),
        };
        (!is_gone).then_some(node)
    };
    let local = Some(&site.capacity).filter(|_| site.offers_local_nodes);
    NodeList {
        nodes: (0..).zip(&site.nodes).filter_map(node).collect(),
        memory_per_node_bytes: local.map_or(0, |capacity| capacity.memory_per_node),
        enforced: local.map(sentences).unwrap_or_default(),
        workers: site.workers.iter().map(worker_status).collect(),
        resources: site.resources.iter().map(resource_status).collect(),
    }
}

fn resource_status(found: &ResourceUse) -> ResourceStatus {
    ResourceStatus {
        name: found.name.clone(),
        host: found.host.clone(),
        total: found.total,
        taken: found.taken,
    }
}

fn worker_status(site: &tollgate_workers::WorkerInfo) -> WorkerStatus {
    let state = match site.state {
        WorkerState::Connected if site.is_leaving => "leaving",
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
        until: site.until.map(format_iso),
        site: site.site.clone(),
        retired: site.retired.clone(),
        memory_per_node_bytes: capacity.map(|capacity| capacity.memory_per_node),
        enforced: capacity.map(sentences).unwrap_or_default(),
    }
}

fn sentences(capacity: &EngineCapacity) -> Vec<String> {
    capacity.to_string().lines().map(str::to_owned).collect()
}
