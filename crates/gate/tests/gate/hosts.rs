//! Promises under `plan` where hosts close, have devices, or are wanted alone.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tollgate_gate::{GateInput, WorkerId};
use tollgate_model::{
    HostNameIndex, HostTerms, Instant, JobId, PlacementNeeds, Reason, ResourceCounts,
    ResourceIndex, Span,
};

use crate::cluster::{Cluster, FinishedJob, Job, job};

const GPU: ResourceIndex = ResourceIndex(0);
const LICENCE: ResourceIndex = ResourceIndex(1);

fn closing(secs: i64) -> HostTerms {
    HostTerms {
        closes: Some(Instant::from_secs(secs)),
        ..HostTerms::default()
    }
}

fn with_gpus(count: u8) -> HostTerms {
    HostTerms {
        devices: ResourceCounts::NONE.with(GPU, count),
        ..HostTerms::default()
    }
}

fn taking(index: ResourceIndex, count: u8, job: Job) -> Job {
    let units = job.needs.units.with(index, count);
    let needs = PlacementNeeds { units, ..job.needs };
    Job { needs, ..job }
}

fn named(name: u32, terms: HostTerms) -> HostTerms {
    HostTerms {
        name: Some(HostNameIndex(name)),
        ..terms
    }
}

fn on(name: u32, job: Job) -> Job {
    let host = Some(HostNameIndex(name));
    let needs = PlacementNeeds { host, ..job.needs };
    Job { needs, ..job }
}

fn reason_keys(cluster: &Cluster) -> Vec<(JobId, &'static str)> {
    let keys = cluster.rejected.iter();
    keys.map(|&(job, reason): &(JobId, Reason)| (job, reason.key()))
        .collect()
}

#[test]
fn job_that_fits_before_the_host_closes_is_promised() {
    let mut cluster = Cluster::with_hosts("plan", &[(1, closing(4000))]);
    assert!(cluster.submit(job(1, 1500, 20_000)));
    assert!(cluster.submit(job(1, 1500, 20_000)));
    // The third could start at 3,000 s, and the host closes a quarter of an hour later.
    assert!(!cluster.submit(job(1, 1500, 20_000)));
    // A job for which no host lasts is refused at once.
    assert!(!cluster.submit(job(1, 6000, 90_000)));
    assert_eq!(reason_keys(&cluster), [(JobId(3), "closes_too_soon")]);
    cluster.run_until(Instant::from_secs(10_000));
    assert_eq!(cluster.ended.len(), 2, "the third waits for another host");
    let up = GateInput::WorkerUp {
        worker: WorkerId(1),
        incarnation: 1,
        nodes: 1,
        memory: None,
        terms: closing(14_000),
        in_use: None,
    };
    cluster.now = Instant::from_secs(10_000);
    cluster.simulation.handle(cluster.now, up).unwrap();
    cluster.run();
    assert_eq!(cluster.ended.len(), 3);
    assert_eq!(cluster.promised.len(), 3);
}

#[test]
fn a_gpu_is_taken_by_one_job_at_a_time() {
    let mut cluster = Cluster::with_hosts("plan", &[(4, HostTerms::default()), (4, with_gpus(2))]);
    for _ in 0..4 {
        assert!(cluster.submit(taking(GPU, 1, job(1, 600, 7200))));
    }
    assert!(!cluster.submit(taking(GPU, 3, job(1, 600, 7200))));
    assert_eq!(reason_keys(&cluster), [(JobId(4), "host_too_small")]);
    cluster.run();
    let devices: Vec<&Vec<u32>> = cluster.started.iter().map(|start| &start.2).collect();
    assert_eq!(devices, [&[0], &[1], &[0], &[1]]);
    assert!(cluster.started.iter().all(|start| start.1[0].first >= 4));
    assert_eq!(cluster.now, Instant::from_secs(1200));
}

#[test]
fn jobs_on_one_licence_run_one_after_the_other() {
    let mut cluster = Cluster::with_hosts("plan", &[(8, HostTerms::default())]);
    let one = ResourceCounts::NONE.with(LICENCE, 1);
    let now = cluster.now;
    cluster.simulation.set_licences(now, vec![LICENCE], one);
    for _ in 0..3 {
        assert!(cluster.submit(taking(LICENCE, 1, job(2, 1000, 7200))));
    }
    // A job without devices is not held up.
    assert!(cluster.submit(job(2, 1000, 1500)));
    cluster.run();
    let mut ends: Vec<i64> = (0..4).map(|n| cluster.end_s(JobId(n))).collect();
    ends.sort_unstable();
    assert_eq!(ends, [1000, 1000, 2000, 3000]);
}

#[test]
fn one_host_means_one_host() {
    let hosts = [(3, HostTerms::default()), (3, HostTerms::default())];
    let mut cluster = Cluster::with_hosts("plan", &hosts);
    let needs = PlacementNeeds {
        one_host: true,
        ..PlacementNeeds::default()
    };
    let together = |procs| Job {
        needs,
        ..job(procs, 1000, 9000)
    };
    assert!(cluster.submit(job(2, 500, 9000)));
    assert!(cluster.submit(together(2)));
    assert!(cluster.submit(together(3)));
    assert!(!cluster.submit(together(4)));
    assert!(cluster.submit(job(6, 100, 9000)));
    assert_eq!(reason_keys(&cluster), [(JobId(3), "host_too_small")]);
    cluster.run();
    for (id, nodes, _) in &cluster.started {
        let hosts: Vec<u32> = nodes.iter().map(|range| range.first / 3).collect();
        let is_one = nodes
            .iter()
            .all(|range| range.first / 3 == (range.first + range.len - 1) / 3);
        if [JobId(1), JobId(2)].contains(id) {
            assert!(
                hosts.windows(2).all(|pair| pair[0] == pair[1]) && is_one,
                "{nodes:?}"
            );
        }
    }
    assert_eq!(cluster.ended.len(), 4);
}

#[test]
fn a_job_on_a_named_host_waits_for_that_host() {
    let any = HostTerms::default();
    let hosts = [0, 1, 1, 2].map(|name| (2, named(name, any)));
    let mut cluster = Cluster::with_hosts("plan", &hosts);
    // The second host with the name 1 takes what the first has no room for; the name 0 has one host.
    for _ in 0..2 {
        assert!(cluster.submit_surely(on(1, job(2, 1000, 9000))));
    }
    assert!(cluster.submit_surely(on(0, job(2, 1000, 9000))));
    assert!(cluster.submit_surely(on(0, job(2, 1000, 9000))));
    assert!(!cluster.submit(on(0, job(3, 1000, 9000))));
    assert_eq!(reason_keys(&cluster), [(JobId(4), "host_too_small")]);
    cluster.run_until(Instant::from_secs(1));
    let first = |id: u32| {
        let start = cluster.started.iter().find(|start| start.0 == JobId(id));
        start.map(|start| start.1[0].first)
    };
    assert_eq!(
        [0, 1, 2, 3].map(first),
        [Some(2), Some(4), Some(0), None],
        "the last one waits for its host although the host with the name 2 is idle"
    );
    cluster.now = Instant::from_secs(1);
    assert!(
        !cluster.submit_surely(on(0, job(2, 1000, 1500))),
        "the host has no room in time"
    );
    assert!(cluster.submit_surely(on(2, job(2, 1000, 1500))));
    cluster.run();
    assert_eq!(cluster.end_s(JobId(3)), 2000);
}

/// A host: processors, GPUs, and when it closes in seconds.
type HostSample = (u32, u8, Option<i64>);
/// A job: processors, seconds, deadline, one host, GPUs, licences, seconds after the one before, and the
/// name of its host.
type JobSample = (u32, i64, Option<i64>, bool, u8, u8, i64, Option<u32>);

fn sampled((procs, run_s, deadline_s, one_host, gpus, licences, _, host): JobSample) -> Job {
    let units = ResourceCounts::NONE.with(GPU, gpus).with(LICENCE, licences);
    Job {
        procs,
        run_s,
        estimate_s: run_s,
        deadline_s,
        needs: PlacementNeeds {
            set_aside: false,
            dedicated: false,
            one_host,
            host: host.map(HostNameIndex),
            units,
        },
        user: 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With exact knowledge of run times every promise is kept, and nothing runs on a host that has closed.
    #[test]
    fn promises_are_kept_whatever_hosts_close(
        hosts in prop::collection::vec((1u32..5, 0u8..3, prop::option::of(10i64..4000)), 1..5),
        jobs in prop::collection::vec((1u32..6, 1i64..600, prop::option::of(1i64..4000), any::<bool>(), 0u8..3, 0u8..3, 0i64..200, prop::option::of(0u32..3)), 1..25),
    ) {
        // Three names for up to four hosts: two of them can have the same.
        let terms = |(at, &(nodes, gpus, closes)): (u32, &HostSample)| {
            let closes = closes.map(Instant::from_secs);
            (nodes, named(at % 3, HostTerms { closes, ..with_gpus(gpus) }))
        };
        let hosts: Vec<(u32, HostTerms)> = (0..).zip(&hosts).map(terms).collect();
        let names: Vec<Option<u32>> = jobs.iter().map(|sample| sample.7).collect();
        let mut cluster = Cluster::with_hosts("plan", &hosts);
        let now = cluster.now;
        let two = ResourceCounts::NONE.with(LICENCE, 2);
        cluster.simulation.set_licences(now, vec![LICENCE], two);
        for sample in jobs {
            let next = cluster.now + Span::from_secs(sample.6);
            cluster.run_until(next);
            cluster.now = next;
            cluster.submit_surely(sampled(sample));
        }
        cluster.run();
        let host_of = |node: u32| {
            let mut first = 0;
            let host = hosts.iter().position(|(len, _)| {
                first += len;
                node < first
            });
            host.unwrap()
        };
        for FinishedJob { end, due, host, nodes } in &cluster.finished {
            prop_assert!(due.is_none_or(|due| *end <= due), "late at {end}");
            let nodes: Vec<u32> = nodes.iter().flat_map(|range| range.nodes()).map(|node| node.0).collect();
            for &node in &nodes {
                let closes = hosts[host_of(node)].1.closes;
                prop_assert!(closes.is_none_or(|closes| *end <= closes), "{node} at {end}");
            }
            if host.is_some() {
                let ran_on: BTreeSet<usize> = nodes.iter().map(|&node| host_of(node)).collect();
                prop_assert_eq!(ran_on.len(), 1);
                prop_assert!(ran_on.iter().all(|&at| hosts[at].1.name == *host));
            }
        }
        // Only what was rejected, or no host that is there can hold, has not run.
        let waiting = cluster.simulation.gate().view(cluster.now).jobs().count();
        let is_known = |name: u32| hosts.iter().any(|(_, terms)| terms.name == Some(HostNameIndex(name)));
        let all_known = names.iter().flatten().all(|&name| is_known(name));
        let some_close = hosts.iter().any(|(_, terms)| terms.closes.is_some());
        prop_assert!(waiting == 0 || some_close || !all_known);
    }
}

/// Moves the end of the only host.
fn close_at(cluster: &mut Cluster, secs: i64) {
    let closes = GateInput::WorkerCloses {
        worker: WorkerId(0),
        incarnation: 1,
        closes: Instant::from_secs(secs),
    };
    cluster.simulation.handle(cluster.now, closes).unwrap();
}

#[test]
fn host_that_closes_later_takes_a_longer_job() {
    let mut cluster = Cluster::with_hosts("plan", &[(1, closing(2000))]);
    assert!(cluster.submit(job(1, 1500, 20_000)));
    assert!(!cluster.submit(job(1, 1500, 20_000)));
    close_at(&mut cluster, 9000);
    cluster.run();
    assert_eq!((cluster.ended.len(), cluster.promised.len()), (2, 2));
}

#[test]
fn a_host_that_closes_earlier_starts_nothing_that_would_outlive_it() {
    let mut cluster = Cluster::with_hosts("plan", &[(1, closing(9000))]);
    assert!(cluster.submit(job(1, 1500, 20_000)));
    assert!(cluster.submit(job(1, 1500, 20_000)));
    close_at(&mut cluster, 2000);
    cluster.run_until(Instant::from_secs(5000));
    assert_eq!(cluster.ended.len(), 1, "what runs goes on, the other waits");
    assert!(
        !cluster.submit(job(1, 1500, 20_000)),
        "no promise rests on it"
    );
}
