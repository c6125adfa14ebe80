//! A directory with a runner, for the tests of the local engine.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tollgate_engine::{Engine, LaunchSpec};
use tollgate_model::{AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, NodeId};
use tollgate_needs::{Need, lacks};
use tollgate_runner::{LocalEngine, LocalEngineConfig};

/// The maximum wait of a test for a required event; a passing test waits far less.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A directory with a runner. The runner ends soon after the test.
pub(crate) struct EngineTestDir {
    pub(crate) dir: TempDir,
    pub(crate) settings: LocalEngineConfig,
}

impl EngineTestDir {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let runner = env!("CARGO_BIN_EXE_tollgate-runner");
        let mut settings = LocalEngineConfig::new(dir.path().join("runner"), [runner]);
        settings.grace = Duration::from_millis(300);
        settings.idle_timeout = Duration::from_millis(200);
        // A test that is killed removes no directory; then the end of the lease ends its tasks.
        settings.lease = Some(10 * TIMEOUT);
        Self { dir, settings }
    }

    /// Creates a directory whose runner uses no control groups, only means that every user has.
    pub(crate) fn without_control_groups() -> Self {
        let mut home = Self::new();
        home.settings.control_groups = false;
        home
    }

    /// Creates a directory whose runner lets tasks give way to all other processes, and can freeze them.
    pub(crate) fn with_low_priority() -> Self {
        let mut home = Self::new();
        home.settings.low_priority = true;
        home
    }

    /// Creates the same with control groups of version 1 alone. None, after [`lacks`], if this host has no freezer of
    /// version 1.
    pub(crate) fn with_low_priority_v1() -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("there is /proc");
        let has_v1 = mounts.lines().any(|line| line.ends_with(",freezer"));
        if !has_v1 || !tollgate_needs::root() {
            lacks(Need::CgroupsV1, "no freezer of version 1");
            return None;
        }
        let mut home = Self::with_low_priority();
        // A mount namespace without version 2.
        let script = "for at in $(awk '$3 == \"cgroup2\" { print $2 }' /proc/self/mounts)
            do umount -l $at || exit; done; exec \"$0\" \"$@\"";
        let words = ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", script];
        home.settings.runner.splice(0..0, words.map(Into::into));
        Some(home)
    }

    /// Sets a fault point at which the first runner is killed. The next runner has no fault.
    pub(crate) fn with_fault(mut self, point: &str) -> Self {
        let once = self.dir.path().join("fault");
        let script = format!(
            "mkdir {} 2> /dev/null && export TOLLGATE_RUNNER_FAULT={point}; exec {} \"$0\"",
            once.display(),
            env!("CARGO_BIN_EXE_tollgate-runner"),
        );
        self.settings.runner = vec!["/bin/sh".into(), "-c".into(), script.into()];
        self
    }

    pub(crate) fn open(&self) -> LocalEngine {
        LocalEngine::open(self.settings.clone()).expect("the engine opens")
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Returns a launch of `sh -c script` on node 0.
pub(crate) fn script(job: u64, script: &str) -> LaunchSpec {
    command(job, &["sh", "-c", script])
}

pub(crate) fn command(job: u64, argv: &[&str]) -> LaunchSpec {
    let attempt = AttemptId {
        job,
        task: 0,
        attempt: 1,
    };
    let mut launch = LaunchSpec::new(attempt, vec![NodeId(0)], argv.iter().copied(), "/");
    launch.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    launch
}

/// Polls until `enough` returns true for all reports so far.
pub(crate) fn poll_until(
    engine: &mut dyn Engine,
    enough: impl Fn(&[AttemptReport]) -> bool,
) -> Vec<AttemptReport> {
    let began = Instant::now();
    let mut reports = Vec::new();
    while !enough(&reports) {
        assert!(began.elapsed() < TIMEOUT, "only {reports:?}");
        // The next call replaces a runner that was killed on purpose.
        reports.extend(engine.poll(Duration::from_millis(100)).unwrap_or_default());
    }
    reports
}

/// Returns the end or the loss of each of `attempts`.
pub(crate) fn wait_for_ends(engine: &mut dyn Engine, attempts: &[AttemptId]) -> Vec<AttemptEvent> {
    let began = Instant::now();
    let mut ends = BTreeMap::new();
    while attempts.iter().any(|attempt| !ends.contains_key(attempt)) {
        assert!(began.elapsed() < TIMEOUT, "only {ends:?}");
        // The next call replaces a runner that was killed on purpose.
        for report in engine.poll(Duration::from_millis(100)).unwrap_or_default() {
            if !matches!(report.event, AttemptEvent::Started(_)) {
                ends.insert(report.attempt, report.event);
            }
        }
    }
    let end = |attempt| ends.remove(attempt);
    attempts.iter().filter_map(end).collect()
}

/// Runs one launch to its end.
pub(crate) fn run(engine: &mut dyn Engine, launch: &LaunchSpec) -> AttemptOutcome {
    engine
        .start(std::slice::from_ref(launch))
        .expect("it is taken on");
    match wait_for_ends(engine, &[launch.attempt]).remove(0) {
        AttemptEvent::Ended(ended) => ended,
        other @ (AttemptEvent::Started(_) | AttemptEvent::Lost { .. }) => panic!("{other:?}"),
    }
}

pub(crate) fn wait_for_start(engine: &mut dyn Engine, attempt: AttemptId) -> u32 {
    let is_start = |report: &&AttemptReport| {
        report.attempt == attempt && matches!(report.event, AttemptEvent::Started(_))
    };
    let reports = poll_until(engine, |reports| {
        reports.iter().any(|report| is_start(&report))
    });
    let start = reports.iter().find(is_start).map(|report| &report.event);
    let Some(AttemptEvent::Started(start)) = start else {
        panic!("{start:?}");
    };
    start.pid.expect("a process")
}

/// Returns whether the process exists and has not ended.
pub(crate) fn is_alive(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| !environ.is_empty())
}

/// Sends a signal to a process that may have ended.
pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let _ = pid.map(|pid| kill_process(pid, signal));
}

/// Waits until `there` returns true.
pub(crate) fn wait_until(what: &str, there: impl Fn() -> bool) {
    let began = Instant::now();
    while !there() {
        assert!(began.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
