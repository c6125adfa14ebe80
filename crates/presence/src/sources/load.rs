//! The processors that processes outside of tasks use.
//!
//! The load average of the kernel counts tasks, too, and waits for disks. So this is the busy time of all processors less
//! that of the control groups of runners, over a minute.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, access};
use rustix::param::clock_ticks_per_second;
use tollgate_model::EvictionCause;

use super::{LOOK_INTERVAL, ObservedSource};
use crate::clock::BothClocks;
use crate::settings::PresenceSource;
use crate::state::PresenceObservation;

/// The time over which the load is averaged.
const WINDOW: Duration = Duration::from_secs(60);

pub(crate) struct LoadSource {
    stat: PathBuf,
    /// Directories in which runners create their control groups, and the files of the processor time used there.
    parents: Vec<(PathBuf, UsageFile)>,
    /// The processor time of each runner's group at the last look.
    of_runners: BTreeMap<PathBuf, Duration>,
    busy: Option<Duration>,
    average: LoadAverage,
    next_look: Duration,
}

/// The file with the processor time of a control group.
#[derive(Clone, Copy)]
enum UsageFile {
    /// `cpuacct.usage`, in nanoseconds.
    V1,
    /// `cpu.stat`, in microseconds.
    V2,
}

impl LoadSource {
    /// `limit` is the number of processors from which on the computer is in use.
    pub(crate) fn new(root: &Path, limit: f64, has_root_runner: bool) -> Self {
        Self {
            stat: root.join("proc/stat"),
            parents: parents(root, has_root_runner),
            of_runners: BTreeMap::new(),
            busy: None,
            average: LoadAverage::new(limit),
            next_look: Duration::ZERO,
        }
    }

    /// Returns the processor time that others have used since the last look.
    fn foreign_time(&mut self) -> Option<Duration> {
        let now = busy_time(&fs::read_to_string(&self.stat).ok()?)?;
        let of_runners = usage_of_runners(&self.parents);
        let own: Duration = of_runners
            .iter()
            .map(|(dir, used)| {
                // A group that is new has used all of its time since the last look.
                let before = self.of_runners.get(dir).copied().unwrap_or_default();
                used.saturating_sub(before)
            })
            .sum();
        self.of_runners = of_runners;
        let all = now.saturating_sub(self.busy.replace(now)?);
        Some(all.saturating_sub(own))
    }
}

impl ObservedSource for LoadSource {
    fn source(&self) -> PresenceSource {
        PresenceSource::Load
    }

    fn next_look(&self) -> Option<Duration> {
        Some(self.next_look)
    }

    fn look(&mut self, now: BothClocks) -> Vec<PresenceObservation> {
        self.next_look = now.boot + LOOK_INTERVAL;
        if self.parents.is_empty() {
            return Vec::new();
        }
        if let Some(used) = self.foreign_time() {
            self.average.add(now.boot, used);
        }
        let cause = self.average.is_above.then_some(EvictionCause::Load);
        vec![PresenceObservation::Use(PresenceSource::Load, cause)]
    }

    fn problem(&self) -> Option<String> {
        let reason = "no control groups tell the load of tasks from that of others";
        self.parents.is_empty().then(|| reason.to_owned())
    }
}

/// The load over a minute, with a limit: above it the computer is in use until the load is below half of it.
#[derive(Debug)]
struct LoadAverage {
    limit: f64,
    /// The processor time used until each of the last looks, from the first on.
    samples: VecDeque<(Duration, Duration)>,
    is_above: bool,
}

impl LoadAverage {
    const fn new(limit: f64) -> Self {
        Self {
            limit,
            samples: VecDeque::new(),
            is_above: false,
        }
    }

    /// Adds the processor time that was used since the last call.
    fn add(&mut self, now: Duration, used: Duration) {
        let before = self
            .samples
            .back()
            .map_or(Duration::ZERO, |(_, used)| *used);
        self.samples.push_back((now, before + used));
        // The oldest sample is the youngest that is a window ago.
        let is_old = |(at, _): &(Duration, Duration)| now.saturating_sub(*at) >= WINDOW;
        while self.samples.get(1).is_some_and(is_old) {
            self.samples.pop_front();
        }
        let Some((at, first)) = self.samples.front().copied().filter(is_old) else {
            return;
        };
        let span = now.saturating_sub(at).as_secs_f64();
        let load = (before + used).saturating_sub(first).as_secs_f64() / span;
        let limit = match self.is_above {
            true => self.limit / 2.0,
            false => self.limit,
        };
        self.is_above = load > limit;
    }
}

/// Returns the busy time of all processors from the first line of `/proc/stat`. It has no time of waiting for disks,
/// and none of other virtual machines.
fn busy_time(stat: &str) -> Option<Duration> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    let [user, nice, system, _idle, _wait, irq, softirq, ..] = ticks.as_slice() else {
        return None;
    };
    let busy = user + nice + system + irq + softirq;
    Some(Duration::from_secs_f64(
        busy as f64 / clock_ticks_per_second() as f64,
    ))
}

/// Returns the directories in which a runner of this process can create control groups.
fn parents(root: &Path, has_root_runner: bool) -> Vec<(PathBuf, UsageFile)> {
    let text = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mount = root.join("sys/fs/cgroup");
    let mut parents = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let (mounts, file) = match controllers {
            "" => (vec![mount.clone(), mount.join("unified")], UsageFile::V2),
            _ if controllers.split(',').any(|one| one == "cpuacct") => (
                vec![mount.join(controllers), mount.join("cpuacct")],
                UsageFile::V1,
            ),
            _ => continue,
        };
        for mount in mounts {
            let own = mount.join(path.trim_start_matches('/'));
            let above = own.ancestors().take_while(|dir| dir.starts_with(&mount));
            parents.extend(above.map(|dir| (dir.to_owned(), file)));
        }
    }
    parents.retain(|(dir, file)| {
        let has_time = dir.join(file.name()).exists();
        has_time && (has_root_runner || access(dir, Access::WRITE_OK).is_ok())
    });
    // Where both versions count, one does.
    if parents
        .iter()
        .any(|(_, file)| matches!(file, UsageFile::V1))
    {
        parents.retain(|(_, file)| matches!(file, UsageFile::V1));
    }
    parents.dedup_by(|one, other| one.0 == other.0);
    parents
}

fn usage_of_runners(parents: &[(PathBuf, UsageFile)]) -> BTreeMap<PathBuf, Duration> {
    let mut usage = BTreeMap::new();
    for (parent, file) in parents {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let is_runner = entry
                .file_name()
                .to_string_lossy()
                .starts_with("tollgate-runner-");
            if is_runner && let Some(used) = file.read(&entry.path()) {
                usage.insert(entry.path(), used);
            }
        }
    }
    usage
}

impl UsageFile {
    const fn name(self) -> &'static str {
        match self {
            Self::V1 => "cpuacct.usage",
            Self::V2 => "cpu.stat",
        }
    }

    fn read(self, group: &Path) -> Option<Duration> {
        let text = fs::read_to_string(group.join(self.name())).ok()?;
        match self {
            Self::V1 => text.trim().parse().ok().map(Duration::from_nanos),
            Self::V2 => {
                let mut lines = text.lines();
                let micros = lines.find_map(|line| line.strip_prefix("usage_usec "))?;
                micros.trim().parse().ok().map(Duration::from_micros)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_has_no_idle_and_no_waiting_time() {
        let stat = "cpu  100 20 30 4000 500 6 7 8 0 0\ncpu0 1 2 3 4\n";
        let ticks = 163.0 / clock_ticks_per_second() as f64;
        assert_eq!(busy_time(stat), Some(Duration::from_secs_f64(ticks)));
        assert_eq!(busy_time("intr 5\n"), None);
        assert_eq!(busy_time("cpu  1 2\n"), None);
    }

    #[test]
    fn load_is_that_of_a_minute_with_hysteresis() {
        let mut average = LoadAverage::new(0.3);
        let mut add = |from: u64, to: u64, load: f64| {
            for at in (from..to).step_by(5) {
                average.add(Duration::from_secs(at), Duration::from_secs_f64(load * 5.0));
            }
            average.is_above
        };
        assert!(!add(0, 60, 2.0), "less than a minute is known");
        assert!(add(60, 65, 2.0));
        assert!(!add(65, 130, 0.0));
        assert!(!add(130, 200, 0.29));
        assert!(add(200, 270, 0.31));
        assert!(add(270, 340, 0.2), "not below half of the limit");
        assert!(!add(340, 410, 0.1));
        assert!(!add(410, 480, 0.2));
    }
    /// A computer with one processor, whose time passes in steps of five seconds.
    struct TestComputer {
        dir: tempfile::TempDir,
        source: LoadSource,
        secs: u64,
        busy_ticks: u64,
        task_micros: u64,
    }

    impl TestComputer {
        /// Creates a computer with control groups of version 2 if `cgroup` is a line of `/proc/self/cgroup` of that.
        fn new(cgroup: &str) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let runner = dir
                .path()
                .join("sys/fs/cgroup/user.slice/tollgate-runner-1");
            fs::create_dir_all(dir.path().join("proc/self")).unwrap();
            fs::create_dir_all(&runner).unwrap();
            fs::write(dir.path().join("proc/self/cgroup"), cgroup).unwrap();
            fs::write(runner.with_file_name("cpu.stat"), "usage_usec 0\n").unwrap();
            let source = LoadSource::new(dir.path(), 0.3, false);
            Self {
                dir,
                source,
                secs: 0,
                busy_ticks: 0,
                task_micros: 0,
            }
        }

        /// Runs tasks and others with these loads for two minutes.
        fn run(&mut self, of_tasks: f64, of_others: f64) -> Vec<PresenceObservation> {
            let mut observed = Vec::new();
            for _ in 0..24 {
                let ticks = clock_ticks_per_second() as f64 * 5.0;
                self.busy_ticks += (ticks * (of_tasks + of_others)) as u64;
                self.task_micros += (of_tasks * 5e6) as u64;
                let stat = format!("cpu  {} 0 0 0 0 0 0 0 0 0\n", self.busy_ticks);
                fs::write(self.dir.path().join("proc/stat"), stat).unwrap();
                let usage = format!("usage_usec {}\n", self.task_micros);
                let group = "sys/fs/cgroup/user.slice/tollgate-runner-1/cpu.stat";
                fs::write(self.dir.path().join(group), usage).unwrap();
                self.secs += 5;
                let boot = Duration::from_secs(self.secs);
                observed = self.source.look(BothClocks { boot, wall: boot });
            }
            observed
        }
    }

    #[test]
    fn load_of_tasks_does_not_count() {
        let mut computer = TestComputer::new("0::/user.slice\n");
        assert_eq!(computer.source.problem(), None);
        let is_loaded = |cause| [PresenceObservation::Use(PresenceSource::Load, cause)];
        assert_eq!(computer.run(0.9, 0.1), is_loaded(None));
        assert_eq!(computer.run(0.5, 0.5), is_loaded(Some(EvictionCause::Load)));
        assert_eq!(computer.run(0.0, 0.1), is_loaded(None));
    }

    #[test]
    fn load_is_not_read_without_control_groups() {
        let mut computer = TestComputer::new("");
        assert!(computer.source.problem().is_some());
        assert_eq!(computer.run(0.0, 1.0), []);
    }
}
