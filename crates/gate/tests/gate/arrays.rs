//! Jobs that wait as one: a group of equal jobs in one slot is decided and started as its jobs in slots of their own.

use proptest::prelude::*;
use tollgate_model::{HostTerms, Instant, PlacementNeeds, Span};

use crate::cluster::{Cluster, FinishedJob, Job, job};

/// A job, or an array if there are several, and when it is submitted.
#[derive(Clone)]
struct SubmittedJobs {
    at_s: i64,
    job: Job,
    count: u32,
    is_sure: bool,
}

impl std::fmt::Debug for SubmittedJobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Job {
            procs,
            run_s,
            estimate_s,
            deadline_s,
            user,
            needs,
            ..
        } = self.job;
        write!(
            f,
            "{} jobs at {} s: {procs} processors (on one host: {}), {run_s} s, asks for {estimate_s} s (sure: {}), \
             due {deadline_s:?}, user {user}",
            self.count, self.at_s, needs.one_host, self.is_sure,
        )
    }
}

fn submitted_jobs() -> impl Strategy<Value = SubmittedJobs> {
    let count = prop_oneof![3 => Just(1u32), 1 => 2u32..8, 1 => 8u32..40];
    let deadline = prop_oneof![1 => Just(None), 4 => (50i64..3000).prop_map(Some)];
    (
        0i64..600,
        1u32..4,
        1i64..200,
        0i64..100,
        deadline,
        count,
        0u32..3,
        (any::<bool>(), prop::bool::weighted(0.3)),
    )
        .prop_map(
            |(at_s, procs, run_s, more_s, deadline_s, count, user, (is_sure, one_host))| {
                SubmittedJobs {
                    at_s,
                    job: Job {
                        estimate_s: run_s + more_s,
                        // Arrays are decided on together for their deadlines.
                        deadline_s: deadline_s.or((count > 1).then_some(2000)),
                        user,
                        needs: PlacementNeeds {
                            one_host,
                            ..PlacementNeeds::default()
                        },
                        ..job(procs, run_s, 0)
                    },
                    count,
                    is_sure,
                }
            },
        )
}

/// A single host that stays, or several, of which some close.
fn hosts() -> impl Strategy<Value = Vec<(u32, HostTerms)>> {
    let one = (1u32..8).prop_map(|nodes| vec![(nodes, HostTerms::default())]);
    let closes = prop_oneof![1 => Just(None), 1 => (100i64..5000).prop_map(Some)];
    let several = prop::collection::vec((1u32..5, closes), 1..4).prop_map(|hosts| {
        let terms = |closes: Option<i64>| HostTerms {
            closes: closes.map(Instant::from_secs),
            ..HostTerms::default()
        };
        let host = |(nodes, closes)| (nodes, terms(closes));
        hosts.into_iter().map(host).collect()
    });
    prop_oneof![one, several]
}

/// How the jobs of an array wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArraySlots {
    /// As a group in one slot.
    One,
    /// In slots of their own, as jobs that have nothing to do with each other.
    OneByOne,
    /// In slots of their own, as tasks of one batch: the policy plans neighbours as one group.
    OneByOneInBatch,
}

/// The promises, starts and ends of a run.
#[derive(Clone, Debug, PartialEq)]
struct PlayedJobs {
    /// The number of promises after each submission.
    promised: Vec<usize>,
    /// The submission and the instant of each start.
    starts: Vec<(usize, Instant)>,
    ends: Vec<Instant>,
    n_broken: usize,
}

fn play(
    policy: &str,
    hosts: &[(u32, HostTerms)],
    jobs: &[SubmittedJobs],
    longer_s: i64,
    slots: ArraySlots,
) -> PlayedJobs {
    let mut cluster = Cluster::with_hosts(policy, hosts);
    cluster.longer = Span::from_secs(longer_s);
    cluster.arrays_are_batches = slots == ArraySlots::OneByOneInBatch;
    let mut promised = Vec::new();
    for next in jobs {
        let at = Instant::from_secs(next.at_s);
        if at > cluster.now {
            cluster.run_until(at);
            cluster.now = at;
        }
        match (next.count, next.is_sure) {
            (1, false) => _ = cluster.submit(next.job),
            (1, true) => _ = cluster.submit_surely(next.job),
            (count, false) => _ = cluster.submit_array(next.job, count),
            (count, true) => _ = cluster.submit_array_surely(next.job, count),
        }
        if next.count > 1 && slots != ArraySlots::One {
            cluster.split_last();
        }
        cluster.pass();
        promised.push(cluster.promised.len());
    }
    cluster.run();
    let is_late = |job: &&FinishedJob| job.due.is_some_and(|due| job.end > due);
    PlayedJobs {
        promised,
        ends: cluster.ended.iter().map(|&(_, end)| end).collect(),
        n_broken: cluster.finished.iter().filter(is_late).count(),
        starts: cluster.starts,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn array_is_promised_and_started_as_its_jobs_one_by_one(
        hosts in hosts(),
        policy in prop::sample::select(vec!["plan", "plan:otherwise=wait", "plan:otherwise=reject", "plan:share=auto"]),
        jobs in prop::collection::vec(submitted_jobs(), 1..12),
        longer_s in prop_oneof![Just(0i64), 1i64..30],
    ) {
        let mut jobs = jobs;
        jobs.sort_by_key(|asked| asked.at_s);
        let played = |slots| play(policy, &hosts, &jobs, longer_s, slots);
        let one_by_one = played(ArraySlots::OneByOne);
        // Broken promises belong to single jobs, but to no job of a group in particular.
        if one_by_one.n_broken == 0 {
            prop_assert_eq!(played(ArraySlots::One), one_by_one.clone());
            prop_assert_eq!(played(ArraySlots::OneByOneInBatch), one_by_one);
        }
    }
}
