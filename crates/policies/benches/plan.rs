//! Benchmark: decisions of `plan` on a full machine.
//!
//! `cargo bench -p tollgate-policies --bench plan`. A decision plays the plan with the job, and once more
//! without it where a promise would suffer. It is limited by the scan for a waiting job that fits, at every
//! end of the plan. A probability plays it 32 times more. Two lines are printed beside Criterion's: how long
//! decisions on many different jobs take, and the memory of a large plan.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::{Duration, Instant as MonotonicInstant};
use tollgate_model::{Credits, Instant, JobId, JobSpec, Market, Sla, Span, UserId};
use tollgate_policies::builtin_registry;
use tollgate_policy::{
    AdmissionDecision, ClusterState, OutlookSubject, Policy, PolicyAlarms, PolicyContext,
    ProbeScratch, View,
};

/// A cluster under `plan`.
struct Cluster {
    state: ClusterState,
    policy: Box<dyn Policy>,
}

fn spec(procs: u32, estimate_s: i64, deadline_s: i64, user: u32) -> JobSpec {
    JobSpec {
        restarts: 0,
        submit: Instant::ZERO,
        estimate: Span::from_secs(estimate_s),
        procs,
        memory: 0,
        needs: Default::default(),
        user: UserId(user),
        sla: Sla {
            deadline: Some(Span::from_secs(deadline_s)),
            ..Sla::default()
        },
    }
}

/// A number that looks random, below `end`.
fn scattered(n: u32, end: u32) -> u32 {
    (n.wrapping_mul(2_654_435_761) >> 7) % end
}

impl Cluster {
    fn new(nodes: u32) -> Self {
        let policy = builtin_registry().named("plan").unwrap();
        let mut state = ClusterState::default();
        state.add_nodes(nodes);
        Self {
            state,
            policy: policy.build(Market::None),
        }
    }

    /// Fills the machine with jobs of one processor that run for about two hours.
    fn full(nodes: u32) -> Self {
        let mut cluster = Self::new(nodes);
        for n in 0..nodes {
            let estimate_s = 3600 + i64::from(scattered(n, 7200));
            assert!(cluster.promise(spec(1, estimate_s, 100_000, n % 20)));
        }
        cluster.pass();
        assert_eq!(cluster.state.n_idle(), 0);
        cluster
    }

    fn pass(&mut self) {
        let (mut alarms, mut effects) = (PolicyAlarms::default(), Vec::new());
        let mut cx = PolicyContext::new(&mut self.state, &mut alarms, &mut effects, Instant::ZERO);
        self.policy.pass(&mut cx);
    }

    /// Submits a job; returns whether it is promised.
    fn promise(&mut self, spec: JobSpec) -> bool {
        let view = View::new(&self.state, Instant::ZERO);
        let decision = self
            .policy
            .probe(view, &spec, None, &mut ProbeScratch::default());
        let AdmissionDecision::Promise { due, .. } = decision else {
            return false;
        };
        let job = self.state.insert(spec);
        self.state.accept(job, Instant::ZERO, Credits::ZERO, due);
        self.policy
            .queued(View::new(&self.state, Instant::ZERO), job);
        true
    }

    /// Promises an array of this many equal tasks, decided as one.
    fn promise_array(&mut self, task: JobSpec, count: u32) {
        let view = View::new(&self.state, Instant::ZERO);
        let decision = self.policy.probe_array(view, &task, None, count);
        let Some(AdmissionDecision::Promise { due, .. }) = decision else {
            panic!("{decision:?}");
        };
        for _ in 0..count {
            let job = self.state.insert(task);
            self.state.accept(job, Instant::ZERO, Credits::ZERO, due);
            self.policy
                .queued(View::new(&self.state, Instant::ZERO), job);
        }
    }

    /// Promises jobs of 1 to 64 processors and one to five hours, until this many wait.
    fn with_mixed(mut self, jobs: u32) -> Self {
        let mut waiting = 0;
        for n in 0.. {
            let procs = 1 << scattered(n, 7);
            let estimate_s = 600 + i64::from(scattered(n + 1, 18_000));
            let deadline_s = 200_000 + i64::from(scattered(n + 2, 4_000_000));
            waiting += u32::from(self.promise(spec(procs, estimate_s, deadline_s, n % 20)));
            if waiting == jobs {
                break;
            }
        }
        self
    }
}

/// Measures a pass on a machine of 1,000 processors with 10 idle ones, and 1,000 jobs that wait for 16 to 64.
/// Each second one has a promise, the others no deadline. Nothing can start.
fn pass(criterion: &mut Criterion) {
    let mut cluster = Cluster::full(990);
    cluster.state.add_nodes(10);
    let mut promised = 0;
    for n in 0.. {
        let procs = 16 << scattered(n, 3);
        let estimate_s = 600 + i64::from(scattered(n + 1, 18_000));
        let deadline_s = 200_000 + i64::from(scattered(n + 2, 4_000_000));
        let job = spec(procs, estimate_s, deadline_s, n % 20);
        if !cluster.promise(job) {
            continue;
        }
        let free = cluster.state.insert(JobSpec {
            sla: Sla::default(),
            ..job
        });
        let view = View::new(&cluster.state, Instant::ZERO);
        cluster.policy.queued(view, free);
        promised += 1;
        if promised == 500 {
            break;
        }
    }
    cluster.pass();
    assert_eq!(cluster.state.n_idle(), 10);
    criterion.bench_function("plan/1,000 waiting on 1,000/pass", |bencher| {
        bencher.iter(|| cluster.pass());
    });
}

fn plan(criterion: &mut Criterion) {
    for waiting in [100, 1000] {
        let cluster = Cluster::full(256).with_mixed(waiting);
        let view = View::new(&cluster.state, Instant::ZERO);
        let mut scratch = ProbeScratch::default();
        for (kind, job) in [
            ("promised", spec(8, 3600, 5_000_000, 3)),
            ("refused", spec(64, 3600, 9000, 3)),
        ] {
            criterion.bench_function(&format!("plan/{waiting} mixed/{kind}"), |bencher| {
                bencher.iter(|| {
                    cluster
                        .policy
                        .probe(view, black_box(&job), None, &mut scratch)
                });
            });
        }
        let job = spec(8, 3600, 5_000_000, 3);
        criterion.bench_function(&format!("plan/{waiting} mixed/probability"), |bencher| {
            let subject = OutlookSubject::New((&job, None), 1, None);
            bencher.iter(|| cluster.policy.possible_runs(view, black_box(subject), None));
        });
    }
    let cluster = Cluster::full(64);
    let view = View::new(&cluster.state, Instant::ZERO);
    let task = spec(1, 240, 1_000_000, 3);
    criterion.bench_function("plan/array of 10,000/decision", |bencher| {
        bencher.iter(|| {
            cluster
                .policy
                .probe_array(view, black_box(&task), None, 10_000)
        });
    });
    criterion.bench_function("plan/array of 10,000/probability", |bencher| {
        let subject = OutlookSubject::New((&task, None), 10_000, None);
        bencher.iter(|| cluster.policy.possible_runs(view, black_box(subject), None));
    });
    let mut group = criterion.benchmark_group("plan");
    group.sample_size(10);
    group.bench_function("10,000 single tasks", |bencher| {
        bencher.iter_batched(
            || Cluster::full(64),
            |mut cluster| {
                for _ in 0..10_000 {
                    assert!(cluster.promise(task));
                }
                cluster.state.job(JobId(0)).sequence
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

/// Prints how long decisions on jobs of all widths, run times and deadlines take beside 1000 waiting jobs.
fn spread(_: &mut Criterion) {
    let cluster = Cluster::full(256).with_mixed(1000);
    let view = View::new(&cluster.state, Instant::ZERO);
    let mut scratch = ProbeScratch::default();
    let mut promised = 0;
    let mut times: Vec<Duration> = (0..5_000)
        .map(|n| {
            let estimate_s = 60 + i64::from(scattered(n + 7, 40_000));
            let latest = if n % 2 == 0 { 40_000 } else { 4_000_000 };
            let deadline_s = estimate_s + i64::from(scattered(n + 9, latest));
            let job = spec(1 << scattered(n + 8, 9), estimate_s, deadline_s, n % 20);
            let begun = MonotonicInstant::now();
            let decision = cluster.policy.probe(view, &job, None, &mut scratch);
            let taken = begun.elapsed();
            promised += u32::from(matches!(decision, AdmissionDecision::Promise { .. }));
            taken
        })
        .collect();
    times.sort_unstable();
    println!(
        "plan/1000 mixed/5,000 decisions ({promised} promises): median {:?}, 99 % within {:?}, slowest {:?}",
        times[2_500], times[4_950], times[4_999]
    );
}

/// Prints the memory that 100,000 promised tasks on 10,000 nodes take.
fn memory(_: &mut Criterion) {
    let before = resident_mb();
    let mut cluster = Cluster::full(10_000);
    let full = resident_mb();
    cluster.promise_array(spec(1, 240, 1_000_000, 3), 100_000);
    println!(
        "plan/10,000 nodes: {:.1} MB with as many running tasks, {:.1} MB with 100,000 promised ones more",
        full - before,
        resident_mb() - before
    );
}

/// Returns the memory of this process in megabytes.
fn resident_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes
        .and_then(|text| text.parse::<f64>().ok())
        .expect("a number")
        / 1024.0
}

criterion_group!(benches, spread, memory, pass, plan);
criterion_main!(benches);
