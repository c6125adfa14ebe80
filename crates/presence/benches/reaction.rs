//! Benchmark: the time from an event at a terminal or an input device until the monitor reports it, and the cost of a
//! monitor of all sources while nothing happens.
//!
//! `cargo bench -p tollgate-presence --bench reaction -- SECONDS`: the length of the idle time, by default 60. A named pipe
//! stands in for an input device. A line has the times of 50 events.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use rustix::process::{Pid, getpid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tollgate_host::ProcessStat;
use tollgate_presence::{
    Presence, PresenceMonitor, PresenceSettings, PresenceSource, PresenceState,
};

const RUNS: usize = 50;

fn main() {
    let seconds = std::env::args().find_map(|word| word.parse().ok());
    println!("input device: {}", device());
    println!("terminal: {}", terminal());
    println!("{}", idle(Duration::from_secs(seconds.unwrap_or(60))));
}

/// Starts a monitor of one source, which calls a computer free after 20 ms.
fn start(source: PresenceSource, root: &Path) -> (PresenceMonitor, Receiver<(Instant, Presence)>) {
    let settings = PresenceSettings {
        idle_for: Duration::from_millis(20),
        sys_root: root.to_owned(),
        sources: [source].into(),
        ..PresenceSettings::new()
    };
    let (to, changes) = mpsc::channel();
    // The benchmark may have ended.
    let report = move |presence| {
        let _ = to.send((Instant::now(), presence));
    };
    let monitor = PresenceMonitor::start(&settings, Box::new(report));
    (monitor.expect("it starts"), changes)
}

fn device() -> String {
    let root = tempfile::tempdir().expect("a folder");
    let input = root.path().join("dev/input");
    std::fs::create_dir_all(&input).expect("created");
    let path = input.join("event0");
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("it runs").success());
    let mut options = File::options();
    let mut keyboard = options.read(true).write(true).open(&path).expect("opened");
    let mut event = [0; 24];
    event[16] = 1;
    let (_monitor, changes) = start(PresenceSource::InputDevices, root.path());
    measure(&changes, || keyboard.write_all(&event).expect("written"))
}

fn terminal() -> String {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
    let master = openpt(flags).expect("a terminal");
    grantpt(&master).expect("granted");
    unlockpt(&master).expect("unlocked");
    let name = ptsname(&master, Vec::new()).expect("a name");
    let path = name.to_str().expect("a path").to_owned();
    let mut terminal = File::options().read(true).open(path).expect("opened");
    std::thread::spawn(move || {
        // It reads as a shell does.
        let mut line = [0; 64];
        while std::io::Read::read(&mut terminal, &mut line).is_ok_and(|length| length > 0) {}
    });
    let (_monitor, changes) = start(PresenceSource::Terminals, Path::new("/"));
    measure(&changes, || {
        rustix::io::write(&master, b"x\n").expect("written");
    })
}

/// Returns the times from an event to its report.
fn measure(changes: &Receiver<(Instant, Presence)>, mut act: impl FnMut()) -> String {
    let mut times = Vec::new();
    for _ in 0..RUNS {
        std::thread::sleep(Duration::from_millis(100));
        // Reports of earlier events.
        changes.try_iter().for_each(drop);
        let began = Instant::now();
        act();
        let (reported, presence) = changes.recv().expect("a change");
        assert!(matches!(presence.state, PresenceState::InUse { .. }));
        times.push(reported.duration_since(began).as_secs_f64() * 1e3);
    }
    times.sort_unstable_by(f64::total_cmp);
    let (median, most) = (times[RUNS / 2], times[RUNS - 1]);
    format!("{median:.2} ms median, {most:.2} at most")
}

/// Returns the processor time of a monitor with every source.
fn idle(span: Duration) -> String {
    let settings = PresenceSettings {
        hours: Some("mon-fri 18:00-08:00".parse().expect("hours")),
        ..PresenceSettings::new()
    };
    let monitor = PresenceMonitor::start(&settings, Box::new(|_| {})).expect("it starts");
    let before = ticks(getpid());
    std::thread::sleep(span);
    let used = (ticks(getpid()) - before) as f64 / rustix::param::clock_ticks_per_second() as f64;
    let sources = monitor.sources();
    let readable = sources.iter().filter(|status| status.problem.is_none());
    let readable: Vec<&str> = readable.map(|status| status.source.key()).collect();
    let percent = used / span.as_secs_f64() * 100.0;
    format!("idle, {}: {percent:.3} % of a core", readable.join(" "))
}

fn ticks(pid: Pid) -> u64 {
    ProcessStat::read(pid).map_or(0, |stat| stat.cpu_ticks())
}
