//! Benchmark: the deviation of processor time from the requested shares, for tasks that never
//! sleep.
//!
//! `cargo bench -p tollgate-runner --bench shares`. Each line is a task, with its share of the time
//! that all tasks on its nodes used together, and the deviation from its requested share.

use std::time::Duration;

use tollgate_engine::{Engine, LaunchSpec};
use tollgate_model::{AttemptEvent, AttemptId, KillReason, NodeId};
use tollgate_runner::{LocalEngine, LocalEngineConfig};

/// The run time of the tasks.
const RUN: Duration = Duration::from_secs(10);

/// A task: its nodes, its share on them, and its number of loops.
struct ShareTask {
    nodes: &'static [u32],
    share: f64,
    loops: u32,
}

const fn task(nodes: &'static [u32], share: f64, loops: u32) -> ShareTask {
    ShareTask {
        nodes,
        share,
        loops,
    }
}

fn main() {
    for control_groups in [true, false] {
        measure(
            "3:1 on one core",
            control_groups,
            &[task(&[0], 0.75, 1), task(&[0], 0.25, 1)],
        );
        measure(
            "four loops on two cores, 3:1 on each",
            control_groups,
            &[
                task(&[0], 0.75, 1),
                task(&[0], 0.25, 1),
                task(&[1], 0.75, 1),
                task(&[1], 0.25, 1),
            ],
        );
        measure(
            "four loops on two cores, two tasks 3:1 on both",
            control_groups,
            &[task(&[0, 1], 0.75, 2), task(&[0, 1], 0.25, 2)],
        );
    }
}

fn measure(name: &str, control_groups: bool, tasks: &[ShareTask]) {
    let dir = tempfile::tempdir().expect("a folder");
    let runner = env!("CARGO_BIN_EXE_tollgate-runner");
    let mut settings = LocalEngineConfig::new(dir.path().join("runner"), [runner]);
    settings.idle_timeout = Duration::ZERO;
    settings.control_groups = control_groups;
    let mut engine = LocalEngine::open(settings).expect("it opens");
    let capacity = engine.capacity().expect("known");
    println!("{name}: {}", capacity.shares.describe());
    let needed = tasks.iter().flat_map(|task| task.nodes).max();
    if needed.is_some_and(|node| *node >= capacity.nodes) {
        return println!("  skipped: too few cores");
    }
    let launches: Vec<LaunchSpec> = tasks.iter().zip(1..).map(launch).collect();
    let used = run(&mut engine, &launches);
    for (task, time) in tasks.iter().zip(&used) {
        let here = |other: &&ShareTask| other.nodes == task.nodes;
        let promised = task.share
            / tasks
                .iter()
                .filter(here)
                .map(|task| task.share)
                .sum::<f64>();
        let both = tasks.iter().zip(&used).filter(|(other, _)| here(other));
        let got = time / both.map(|(_, used)| used).sum::<f64>();
        let error = (got / promised - 1.0) * 100.0;
        println!(
            "  nodes {:?}: {time:6.2} s, {:5.1} % of its nodes, promised {:5.1} %, off by {error:+.1} %",
            task.nodes,
            got * 100.0,
            promised * 100.0
        );
    }
}

fn launch((task, job): (&ShareTask, u64)) -> LaunchSpec {
    let attempt = AttemptId {
        job,
        task: 0,
        attempt: 1,
    };
    let nodes = task.nodes.iter().map(|node| NodeId(*node)).collect();
    let one = "while :; do :; done";
    let more = format!("{one} & ").repeat(task.loops as usize - 1);
    let mut launch = LaunchSpec::new(attempt, nodes, ["/bin/sh", "-c", &(more + one)], "/");
    launch.share = task.share;
    launch
}

/// Returns the processor seconds of each task.
fn run(engine: &mut LocalEngine, launches: &[LaunchSpec]) -> Vec<f64> {
    engine.start(launches).expect("taken on");
    std::thread::sleep(RUN);
    let attempts: Vec<AttemptId> = launches.iter().map(|launch| launch.attempt).collect();
    engine
        .kill(&attempts, KillReason::Cancelled)
        .expect("killed");
    let mut used = vec![None; launches.len()];
    while used.iter().any(Option::is_none) {
        for report in engine.poll(Duration::from_secs(1)).expect("it answers") {
            let place = attempts
                .iter()
                .position(|attempt| *attempt == report.attempt);
            if let (Some(place), AttemptEvent::Ended(ended)) = (place, report.event) {
                used[place] = Some(ended.cpu.as_secs_f64());
            }
        }
    }
    used.into_iter().flatten().collect()
}
