//! Benchmark: the time from the call that suspends a task until all its processes are frozen.
//!
//! `cargo bench -p tollgate-runner --bench suspensions`. The task is four busy processes at the lowest weight. A line
//! has the times of 50 suspensions beside that number of busy processes of others, and those of the calls that resume it.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tollgate_engine::{Engine, LaunchSpec};
use tollgate_model::{AttemptEvent, AttemptId, KillReason, NodeId};
use tollgate_runner::{LocalEngine, LocalEngineConfig};

const RUNS: usize = 50;
/// The time for which the task runs between two suspensions.
const PAUSE: Duration = Duration::from_millis(50);

/// A mount namespace without control groups of version 2, so that the runner uses version 1.
const WITHOUT_V2: &str = "for at in $(awk '$3 == \"cgroup2\" { print $2 }' /proc/self/mounts)
    do umount -l $at || exit; done; exec \"$0\" \"$@\"";

fn main() {
    let v1 = ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", WITHOUT_V2];
    for n_busy in [0, 2] {
        measure("freezer of version 2", n_busy, true, &[]);
        measure("freezer of version 1", n_busy, true, &v1);
        measure("signals", n_busy, false, &[]);
    }
}

fn measure(name: &str, n_busy: usize, control_groups: bool, before: &[&str]) {
    let dir = tempfile::tempdir().expect("a folder");
    let runner = env!("CARGO_BIN_EXE_tollgate-runner");
    let words = before.iter().chain([&runner]);
    let mut settings = LocalEngineConfig::new(dir.path().join("runner"), words);
    settings.idle_timeout = Duration::ZERO;
    settings.control_groups = control_groups;
    settings.low_priority = true;
    let mut engine = LocalEngine::open(settings).expect("it opens");
    let mut busy: Vec<Child> = (0..n_busy).map(|_| loop_forever()).collect();
    let attempt = start(&mut engine);
    let (mut suspensions, mut resumptions) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        std::thread::sleep(PAUSE);
        suspensions.push(time(|| {
            drop(engine.suspend(&[attempt]).expect("suspended"))
        }));
        resumptions.push(time(|| engine.resume(&[attempt]).expect("resumed")));
    }
    let ended = time(|| end(&mut engine, attempt));
    println!(
        "{name}, {n_busy} busy: suspended {}, resumed {}, ended in {:.1} ms",
        summary(suspensions),
        summary(resumptions),
        millis(ended)
    );
    for child in &mut busy {
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn loop_forever() -> Child {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "while :; do :; done"]);
    command.spawn().expect("it starts")
}

fn start(engine: &mut LocalEngine) -> AttemptId {
    let attempt = AttemptId {
        job: 1,
        task: 0,
        attempt: 1,
    };
    let one = "while :; do :; done";
    let script = format!("{one} & {one} & {one} & {one}");
    let launch = LaunchSpec::new(attempt, vec![NodeId(0)], ["/bin/sh", "-c", &script], "/");
    engine.start(&[launch]).expect("taken on");
    poll_until(engine, |event| matches!(event, AttemptEvent::Started(_)));
    attempt
}

fn end(engine: &mut LocalEngine, attempt: AttemptId) {
    engine.suspend(&[attempt]).expect("suspended");
    engine
        .kill(&[attempt], KillReason::Evicted)
        .expect("killed");
    poll_until(engine, AttemptEvent::is_end);
}

fn poll_until(engine: &mut LocalEngine, is_it: impl Fn(&AttemptEvent) -> bool) {
    loop {
        let reports = engine.poll(Duration::from_secs(1)).expect("it answers");
        if reports.iter().any(|report| is_it(&report.event)) {
            return;
        }
    }
}

fn time(call: impl FnOnce()) -> Duration {
    let began = Instant::now();
    call();
    began.elapsed()
}

fn summary(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let median = millis(times[times.len() / 2]);
    let most = times.last().copied().map_or(0.0, millis);
    format!("{median:.2} ms median, {most:.2} at most")
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
