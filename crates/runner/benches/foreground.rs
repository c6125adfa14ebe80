//! Benchmark: how late a timer of another process is while tasks run, and while they are suspended and resumed.
//!
//! `cargo bench -p tollgate-runner --bench foreground -- SECONDS`: the length of each measurement, by default 10. The
//! timer of 10 ms stands for a program of the user of a desktop. Two busy tasks run on each core.

use std::time::{Duration, Instant};

use tollgate_engine::{Engine, LaunchSpec};
use tollgate_model::{AttemptEvent, AttemptId, KillReason, NodeId};
use tollgate_runner::{LocalEngine, LocalEngineConfig};

const TIMER: Duration = Duration::from_millis(10);

fn main() {
    let seconds = std::env::args().find_map(|word| word.parse().ok());
    let span = Duration::from_secs(seconds.unwrap_or(10));
    println!("no tasks: {}", delays(span, |_| {}));
    for (name, low_priority) in [("low priority", true), ("usual priority", false)] {
        let dir = tempfile::tempdir().expect("a folder");
        let runner = env!("CARGO_BIN_EXE_tollgate-runner");
        let mut settings = LocalEngineConfig::new(dir.path().join("runner"), [runner]);
        settings.idle_timeout = Duration::ZERO;
        settings.low_priority = low_priority;
        let mut engine = LocalEngine::open(settings).expect("it opens");
        let attempts = start(&mut engine);
        println!("tasks of {name}: {}", delays(span, |_| {}));
        if low_priority {
            // Every tenth of a second, for half of the time.
            let given_way = delays(span, |n| match n % 20 {
                0 => drop(engine.suspend(&attempts).expect("suspended")),
                10 => engine.resume(&attempts).expect("resumed"),
                _ => {}
            });
            println!("tasks of {name} that give way: {given_way}");
        }
        end(&mut engine, &attempts);
    }
}

/// Waits for timers for this time, with a call after each one, and returns how late they were.
fn delays(span: Duration, mut between: impl FnMut(usize)) -> String {
    let began = Instant::now();
    let mut delays = Vec::new();
    while began.elapsed() < span {
        let before = Instant::now();
        std::thread::sleep(TIMER);
        let late = before.elapsed().saturating_sub(TIMER);
        delays.push(late.as_secs_f64() * 1e3);
        between(delays.len());
    }
    delays.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| delays[(delays.len() as f64 * part) as usize];
    let (median, late) = (at(0.5), at(0.99));
    format!("{median:.2} ms late median, {late:.2} ms at the 99th percentile")
}

fn start(engine: &mut LocalEngine) -> Vec<AttemptId> {
    let nodes = engine.capacity().expect("known").nodes;
    let launches = (0..2 * nodes).map(|n| {
        let attempt = AttemptId {
            job: u64::from(n) + 1,
            task: 0,
            attempt: 1,
        };
        let words = ["/bin/sh", "-c", "while :; do :; done"];
        LaunchSpec::new(attempt, vec![NodeId(n / 2)], words, "/")
    });
    let launches: Vec<LaunchSpec> = launches.collect();
    engine.start(&launches).expect("taken on");
    wait_for(engine, launches.len(), |event| {
        matches!(event, AttemptEvent::Started(_))
    });
    launches.iter().map(|launch| launch.attempt).collect()
}

fn end(engine: &mut LocalEngine, attempts: &[AttemptId]) {
    engine
        .kill(attempts, KillReason::Cancelled)
        .expect("killed");
    wait_for(engine, attempts.len(), AttemptEvent::is_end);
}

fn wait_for(engine: &mut LocalEngine, mut n_left: usize, is_it: impl Fn(&AttemptEvent) -> bool) {
    while n_left > 0 {
        let reports = engine.poll(Duration::from_secs(1)).expect("it answers");
        n_left -= reports.iter().filter(|report| is_it(&report.event)).count();
    }
}
