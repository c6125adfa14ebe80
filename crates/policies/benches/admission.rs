//! Benchmark: one admission decision on a large, busy cluster of 10,000 single-processor nodes with
//! ten tasks each.
//!
//! `cargo bench -p tollgate-policies`. The limit is the arithmetic. The total share of a node that may suit
//! is a sum of ten divisions over a row of memory. That of any other one is bounded by one division.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use tollgate_model::{Credits, Instant, JobSpec, Market, NodeId, Sla, Span, UserId};
use tollgate_policies::builtin_registry;
use tollgate_policy::{ClusterState, Policy, PolicyAlarms, PolicyContext, ProbeScratch, View};

const NODES: u32 = 10_000;
const TASKS: u32 = 10;

fn spec(estimate_s: i64, deadline_s: i64, procs: u32) -> JobSpec {
    JobSpec {
        restarts: 0,
        submit: Instant::ZERO,
        estimate: Span::from_secs(estimate_s),
        procs,
        memory: 0,
        needs: Default::default(),
        user: UserId(0),
        sla: Sla {
            deadline: Some(Span::from_secs(deadline_s)),
            budget: Some(Credits::from_f64(1e9)),
            ..Sla::default()
        },
    }
}

/// Returns a cluster with ten tasks on each node, whose shares sum to about 0.9.
fn busy(policy: &mut dyn Policy) -> ClusterState {
    let (mut state, mut clock, mut effects) =
        (ClusterState::default(), PolicyAlarms::default(), Vec::new());
    state.add_nodes(NODES);
    clock.nodes.grow(NODES as usize);
    policy.nodes_changed(View::new(&state, Instant::ZERO));
    for n in 0..NODES * TASKS {
        let node = NodeId(n % NODES);
        let estimate = 500 + i64::from(n * 7919 % 1000);
        let job = state.insert(spec(estimate, estimate * 11 + i64::from(n % 13), 1));
        let mut cx = PolicyContext::new(&mut state, &mut clock, &mut effects, Instant::ZERO);
        cx.start_shared(job, &[node], Credits::ZERO);
        policy.update_shares(&mut cx, node);
        effects.clear();
    }
    state
}

fn admission(criterion: &mut Criterion) {
    for (name, market) in [
        ("libra", Market::None),
        ("libra-risk", Market::None),
        ("libra-dollar", Market::Commodity),
        ("tail-risk", Market::None),
    ] {
        let mut policy = builtin_registry().named(name).unwrap().build(market);
        let state = busy(policy.as_mut());
        let view = View::new(&state, Instant::from_secs(100));
        let mut scratch = ProbeScratch::default();
        for (kind, job) in [
            ("accepted", spec(100, 10_000, 1)),
            ("rejected", spec(5_000, 10_000, 1)),
        ] {
            criterion.bench_function(&format!("admission/{name}/{kind}"), |bencher| {
                bencher.iter(|| policy.probe(view, black_box(&job), None, &mut scratch));
            });
        }
    }
}

criterion_group!(benches, admission);
criterion_main!(benches);
