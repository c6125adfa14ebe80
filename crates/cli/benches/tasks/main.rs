//! Benchmark of the whole service beside what this machine can do at most. The benchmark uses the
//! real programs: `tollgate serve`, `tollgate submit`, the runner, and the store with full
//! synchronisation.
//!
//! `cargo bench -p tollgate-cli --bench tasks [-- TASKS [PROGRAM...]]`. In each round every row is
//! measured once and so is its yardstick, so that other load on the machine slows both down alike.
//! Processor time counts all processes of a row. Each PROGRAM, a path with a `/`, is another build
//! of `tollgate` that is measured in the same rounds. HyperQueue (`python3` with the module
//! `hyperqueue`, or TOLLGATE_BENCH_PYTHON) and task-spooler (`tsp`) are measured where they are
//! installed.
//!
//! `cargo bench -p tollgate-cli --bench tasks -- arrays [TASKS [ASKED [PROGRAM...]]]` measures arrays of TASKS tasks with a
//! deadline beside those without one, and the answers about one of ASKED tasks, as many without it.

mod arrays;
#[path = "../parts/cpu_time.rs"]
mod cpu_time;
mod others;
mod site;
mod submissions;
mod yardsticks;

use std::path::PathBuf;

use others::OtherQueue;
use site::{BenchRound, BenchSite};

const ROUNDS: usize = 3;
/// Number of starts whose latency is measured.
const STARTS: usize = 100;
/// The kinds: a name, the configuration of the service, and the goal as a part of the bare loop.
const KINDS: [(&str, &str, f64); 4] = [
    (
        "array, libra-risk (time-shared)",
        "policy = \"libra-risk\"\n",
        0.70,
    ),
    (
        "array, tail-risk (time-shared)",
        "policy = \"tail-risk\"\n",
        0.70,
    ),
    ("array, easy (space-shared)", "policy = \"easy\"\n", 0.65),
    ("array, plan (space-shared)", "policy = \"plan\"\n", 0.65),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut numbers = args.iter().filter_map(|word| word.parse().ok());
    let number: Option<u32> = numbers.next();
    let tasks = number.unwrap_or(5_000);
    let others = args.iter().filter(|word| word.contains('/'));
    let programs: Vec<PathBuf> = [PathBuf::from(env!("CARGO_BIN_EXE_tollgate"))]
        .into_iter()
        .chain(others.map(PathBuf::from))
        .collect();
    if args.iter().any(|word| word == "arrays") {
        let tasks = number.unwrap_or(1_000);
        let n_answers = numbers.next().unwrap_or(tasks);
        for program in &programs {
            println!("# {}", program.display());
            arrays::measure(tasks, n_answers, program);
        }
        return;
    }
    let queues = OtherQueue::installed();
    for program in &programs {
        println!("# {}", program.display());
        let sites =
            KINDS.map(|(name, settings, goal)| (name, goal, BenchSite::start(program, settings)));
        measure_arrays(tasks, &sites, &queues);
        // The last site is that of the default policy.
        let (.., site) = &sites[KINDS.len() - 1];
        submissions::measure(site, ROUNDS);
        measure_starts(site);
    }
}

/// Measures tasks a second.
fn measure_arrays(tasks: u32, sites: &[(&str, f64, BenchSite)], queues: &[OtherQueue]) {
    let mut bare: Vec<BenchRound> = Vec::new();
    let mut of_sites: Vec<Vec<BenchRound>> = vec![Vec::new(); sites.len()];
    let mut of_queues: Vec<Vec<f64>> = vec![Vec::new(); queues.len()];
    for _ in 0..ROUNDS {
        bare.push(yardsticks::bare(tasks));
        for ((.., site), rounds) in sites.iter().zip(&mut of_sites) {
            rounds.push(site.array(tasks, &[]));
        }
        for (queue, rates) in queues.iter().zip(&mut of_queues) {
            rates.push(queue.rate(tasks.min(500)));
        }
    }
    println!("\n{tasks} tasks of `true`, medians of {ROUNDS} rounds");
    let yardstick = median(bare.iter().map(|round| round.rate));
    let cpu_us = |rounds: &[BenchRound]| {
        median(rounds.iter().map(|round| round.cpu_s)) * 1e6 / f64::from(tasks)
    };
    println!(
        "{yardstick:8.0} tasks/s, {:5.0} us of processor time each: posix_spawn and wait; nothing is stored",
        cpu_us(&bare)
    );
    for ((name, goal, site), rounds) in sites.iter().zip(&of_sites) {
        let rate = median(rounds.iter().map(|round| round.rate));
        println!(
            "{rate:8.0} tasks/s, {:5.0} us; {:.2} of the bare loop (goal {goal:.2}); submitted in {:.0} ms, {:.1} MB resident: \
             {name}; every task on disk before it starts, every end before it counts",
            cpu_us(rounds),
            rate / yardstick,
            median(rounds.iter().map(|round| round.answer_s)) * 1e3,
            site.resident_mb(),
        );
    }
    for (queue, rates) in queues.iter().zip(&of_queues) {
        let rate = median(rates.iter().copied());
        println!(
            "{rate:8.0} tasks/s; {:.2} of the bare loop: {}",
            rate / yardstick,
            queue.description()
        );
    }
}

/// Measures the time from the exec of the client to what its task writes first.
fn measure_starts(site: &BenchSite) {
    // The rows alternate, so that other load slows all of them down alike.
    let (mut shells, mut submitted, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    let inserts = yardsticks::InsertLoop::create(site.folder());
    for _ in 0..STARTS {
        shells.push(site.alone() * 1e3);
        syncs.push(1e3 / inserts.rate(1));
        submitted.push(site.submit_to_start() * 1e3);
    }
    let [shell, sync, start] =
        [&shells, &syncs, &submitted].map(|times| median(times.iter().copied()));
    println!("\nmedians of {STARTS}, in ms");
    println!("{shell:8.2} from the exec of a shell to what it writes");
    println!("{sync:8.2} for a one-row insert with a full sync");
    println!(
        "{start:8.2} from the exec of the client to what its task writes, the same shell (goal {:.2}: both and 2)",
        shell + sync + 2.0
    );
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
