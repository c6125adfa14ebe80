//! Statistics of the whole service as responses: objectives, kept promises, nodes.

use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{
    CalibrationBin, CalibrationByBatches, CalibrationFigures, CalibrationReport,
    ExpectedHostStatus, HostUseCause, NodeAvailability, NodeList, NodeStatus, ResourceStatus,
    ServiceObjectives, ShadowStatus, SlowedHost, WorkerLinkState, WorkerStatus,
};
use tollgate_engine::EngineCapacity;
use tollgate_model::{BookEntry, BreakCause, ForeignLoad, NodeId};
use tollgate_risk::calibration::score_interval;
use tollgate_service::{ExpectedArrival, ObjectiveSums, PolicyComparison};
use tollgate_store::PromiseSums;
use tollgate_workers::WorkerState;

use crate::controller::{ClusterInfo, ResourceUse};

/// Computes the objectives from the sums.
pub(super) fn objectives(sums: &ObjectiveSums) -> ServiceObjectives {
    let books = &sums.books;
    let broken_by = |cause| books.count(BookEntry::Broken(cause));
    let budgets = sums.budgets.as_f64();
    ServiceObjectives {
        submitted: books.submitted(),
        accepted: books.accepted(),
        kept: books.kept(),
        broken: books.broken(),
        broken_by_own_run: broken_by(BreakCause::OwnRun),
        broken_by_others: broken_by(BreakCause::Others),
        broken_by_site: broken_by(BreakCause::Site),
        broken_by_eviction: broken_by(BreakCause::Evicted),
        void: books.void(),
        unpromised: books.unpromised(),
        unpromised_in_time: books.unpromised_in_time(),
        unpromised_late: books.count(BookEntry::UnpromisedLate),
        unpromised_dropped: books.count(BookEntry::UnpromisedDropped),
        unpromised_void: books.count(BookEntry::UnpromisedVoid),
        no_deadline: books.no_deadline(),
        wait_s: (books.kept() > 0).then(|| sums.wait.as_secs_f64() / books.kept() as f64),
        sla_pct: books.sla_pct(),
        reliability_pct: books.reliability_pct(),
        in_time_pct: books.in_time_pct(),
        profitability_pct: (budgets > 0.0).then(|| 100.0 * sums.utility.as_f64() / budgets),
    }
}

/// Returns the comparison of the two policies.
pub(super) fn shadow_status(comparison: &PolicyComparison) -> ShadowStatus {
    ShadowStatus {
        policy: comparison.policy.clone(),
        since_at: format_iso(comparison.since),
        running: comparison.running,
        queued: comparison.queued,
        undecided: comparison.undecided,
        by_forecast: comparison.by_forecast,
        real_objectives: objectives(&comparison.real),
        paper_objectives: objectives(&comparison.paper),
    }
}

/// Returns promised against kept probabilities, by tenths of the probability and by batches known; of those that counted on
/// hosts that were not there by tenths.
pub(super) fn calibration(
    tenths: &[(u32, PromiseSums)],
    batches: &[(u32, PromiseSums)],
    on_expected: &[(u32, PromiseSums)],
) -> CalibrationReport {
    let bin = |(tenth, sums): &(u32, PromiseSums)| CalibrationBin {
        from: f64::from(*tenth) / 10.0,
        to: f64::from(tenth + 1) / 10.0,
        figures: calibration_figures(sums),
    };
    let by_batches = batches.iter().map(|(batches, sums)| CalibrationByBatches {
        batches: *batches,
        figures: calibration_figures(sums),
    });
    CalibrationReport {
        bins: tenths.iter().map(bin).collect(),
        by_batches: by_batches.collect(),
        on_expected_hosts: on_expected.iter().map(bin).collect(),
    }
}

fn calibration_figures(sums: &PromiseSums) -> CalibrationFigures {
    let has_any = sums.promises > 0;
    let interval = has_any.then(|| score_interval(sums.kept, sums.promises));
    let mean = |sum: f64| has_any.then(|| sum / sums.promises as f64);
    CalibrationFigures {
        promises: sums.promises,
        promised: mean(sums.expected),
        kept: sums.kept,
        kept_part: mean(sums.kept as f64),
        kept_part_low: interval.map(|[low, _]| low),
        kept_part_high: interval.map(|[_, high]| high),
        void: sums.void,
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
                None => NodeAvailability::Down,
                Some(_) if worker.is_some_and(|worker| worker.in_use.is_some()) => {
                    NodeAvailability::InUse
                }
                Some(0) if is_drained(id) => NodeAvailability::Drained,
                Some(_) if is_drained(id) => NodeAvailability::Draining,
                Some(0) => NodeAvailability::Idle,
                Some(_) => NodeAvailability::Busy,
            }
            .into(),
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
        slowed_hosts: site.slowed_hosts.iter().map(slowed_host).collect(),
        expected_hosts: site.expected_hosts.iter().map(expected_host).collect(),
    }
}

fn expected_host(host: &ExpectedArrival) -> ExpectedHostStatus {
    let [median_start_at, late_start_at] = host.starts.map(|at| at.map(format_iso));
    ExpectedHostStatus {
        site: host.site.clone(),
        worker: host.name.clone(),
        nodes: host.nodes,
        stays_s: host.stays.as_secs_f64(),
        median_start_at,
        late_start_at,
    }
}

fn slowed_host((host, load): &(String, ForeignLoad)) -> SlowedHost {
    SlowedHost {
        host: host.clone(),
        slowdown: load.slowdown.as_f64(),
        since: format_iso(load.since),
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
        WorkerState::Connected if site.is_leaving => WorkerLinkState::Leaving,
        WorkerState::Connected => WorkerLinkState::Connected,
        WorkerState::Disconnected => WorkerLinkState::Disconnected,
        WorkerState::Lost => WorkerLinkState::Lost,
    };
    let capacity = site.capacity.as_ref();
    WorkerStatus {
        name: site.name.clone(),
        state: state.into(),
        incarnation: site.incarnation,
        first_node: site.nodes.first,
        nodes: site.nodes.len,
        until: site.until.map(format_iso),
        site: site.site.clone(),
        is_desktop: site.desktop.is_some(),
        in_use: site.in_use.map(|cause| HostUseCause::from(cause).into()),
        retired: site.retired.clone(),
        memory_per_node_bytes: capacity.map(|capacity| capacity.memory_per_node),
        enforced: {
            let enforced = capacity.map(sentences).unwrap_or_default().into_iter();
            enforced
                .chain(site.desktop.iter().flatten().cloned())
                .collect()
        },
    }
}

fn sentences(capacity: &EngineCapacity) -> Vec<String> {
    capacity.to_string().lines().map(str::to_owned).collect()
}
