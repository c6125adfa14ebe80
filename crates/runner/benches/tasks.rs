//! Benchmark: the number of tasks of `true` per second that the local engine starts, ends and
//! reports. The reference is a loop of `posix_spawn` and wait, on as many threads as there are
//! cores.
//!
//! `cargo bench -p tollgate-runner`. Rounds of each variant alternate and the medians are compared,
//! so that other load on the machine slows all variants alike.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tollgate_engine::{Engine, LaunchSpec, LaunchUser};
use tollgate_model::{AttemptEvent, AttemptId, NodeId};
use tollgate_runner::{LocalEngine, LocalEngineConfig};

const TASKS: u32 = 2_000;
const ROUNDS: usize = 5;

/// A measured variant.
#[derive(Clone, Copy)]
enum LaunchVariant {
    Bare,
    WithoutGroups,
    WithGroups,
    AsAnotherUser,
}

fn main() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut kinds = vec![
        (LaunchVariant::Bare, "posix_spawn and wait"),
        (LaunchVariant::WithoutGroups, "engine, no control groups"),
        (LaunchVariant::WithGroups, "engine, control groups"),
    ];
    if rustix::process::geteuid().is_root() {
        let name = "engine, control groups, output, another user";
        kinds.push((LaunchVariant::AsAnotherUser, name));
    }
    let mut rates = vec![Vec::new(); kinds.len()];
    for _ in 0..ROUNDS {
        for ((kind, _), rates) in kinds.iter().zip(&mut rates) {
            let took = match kind {
                LaunchVariant::Bare => bare(cores),
                LaunchVariant::WithoutGroups
                | LaunchVariant::WithGroups
                | LaunchVariant::AsAnotherUser => engine(*kind),
            };
            rates.push(f64::from(TASKS) / took.as_secs_f64());
        }
    }
    println!("{cores} cores, {TASKS} tasks, medians of {ROUNDS} rounds");
    let bare = median(&mut rates[0]);
    for ((_, name), rates) in kinds.iter().zip(&mut rates) {
        let rate = median(rates);
        println!("{rate:8.0} tasks/s {:6.2} of bare  {name}", rate / bare);
    }
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Runs the reference loop. The standard library starts a program by `posix_spawn` unless it needs
/// more.
fn bare(threads: usize) -> Duration {
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                for _ in 0..TASKS as usize / threads {
                    let mut command = Command::new("/bin/true");
                    command
                        .stdin(Stdio::null())
                        .stdout(Stdio::null())
                        .env_clear();
                    assert!(command.status().expect("it runs").success());
                }
            });
        }
    });
    began.elapsed()
}

fn engine(kind: LaunchVariant) -> Duration {
    let dir = tempfile::tempdir().expect("a folder");
    let runner = env!("CARGO_BIN_EXE_tollgate-runner");
    let mut settings = LocalEngineConfig::new(dir.path().join("runner"), [runner]);
    settings.idle_timeout = Duration::ZERO;
    settings.control_groups = !matches!(kind, LaunchVariant::WithoutGroups);
    settings.other_users = matches!(kind, LaunchVariant::AsAnotherUser);
    let mut engine = LocalEngine::open(settings).expect("it opens");
    let nodes = engine.capacity().expect("known").nodes;
    let launches: Vec<LaunchSpec> = (0..TASKS).map(|task| launch(task, nodes, kind)).collect();
    // Slots and their groups are made once, outside the measurement.
    run(
        &mut engine,
        &(TASKS..TASKS + 64)
            .map(|task| launch(task, nodes, kind))
            .collect::<Vec<_>>(),
    );
    let began = Instant::now();
    run(&mut engine, &launches);
    began.elapsed()
}

fn launch(task: u32, nodes: u32, kind: LaunchVariant) -> LaunchSpec {
    let attempt = AttemptId {
        job: 1,
        task,
        attempt: 1,
    };
    let mut launch = LaunchSpec::new(attempt, vec![NodeId(task % nodes)], ["/bin/true"], "/tmp");
    if matches!(kind, LaunchVariant::AsAnotherUser) {
        launch.output = Some("/dev/null".into());
        launch.user = Some(LaunchUser {
            uid: 65_534,
            gid: 65_534,
            groups: Vec::new(),
        });
    }
    launch
}

fn run(engine: &mut LocalEngine, launches: &[LaunchSpec]) {
    engine.start(launches).expect("taken on");
    let mut open = launches.len();
    while open > 0 {
        let reports = engine.poll(Duration::from_secs(60)).expect("it answers");
        let mut over = Vec::new();
        for report in &reports {
            if let AttemptEvent::Ended(ended) = &report.event {
                assert!(ended.status.is_success(), "{}", ended.status);
                over.push(report.attempt);
            }
        }
        open -= over.len();
        engine.acknowledge(&over).expect("acknowledged");
    }
}
