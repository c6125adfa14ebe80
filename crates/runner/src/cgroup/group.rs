//! The control groups of one slot: their limits, counters and members.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use tollgate_model::Span;

use crate::process::procfs;

/// The control groups of one slot. They are written to the `started` file, so that the next runner
/// finds them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SlotCgroup {
    pub(crate) unified: Option<PathBuf>,
    pub(crate) cpu: Option<PathBuf>,
    pub(crate) cpuacct: Option<PathBuf>,
    pub(crate) cpuset: Option<PathBuf>,
    pub(crate) memory: Option<PathBuf>,
    pub(crate) pids: Option<PathBuf>,
}

/// The weight of a share of 1; the kernel accepts 2 to 262144 (v1) and 1 to 10000 (v2).
pub(crate) const WEIGHT_V1: f64 = 1024.0;
const WEIGHT_V2: f64 = 100.0;

impl SlotCgroup {
    /// Moves the calling thread into the groups of version 1.
    pub(crate) fn join_thread(&self) -> io::Result<()> {
        let thread = rustix::thread::gettid().as_raw_pid().to_string();
        for dir in self.v1() {
            write(dir, "tasks", &thread)?;
        }
        Ok(())
    }

    /// Returns the open files into which a child has to write its process id.
    pub(crate) fn open_procs_files(&self) -> io::Result<Vec<std::os::fd::OwnedFd>> {
        let files = self.unified.iter().map(|dir| dir.join("cgroup.procs"));
        files
            .map(|file| Ok(fs::OpenOptions::new().write(true).open(file)?.into()))
            .collect()
    }

    /// Sets the weight of a task with `share` on each of `nodes` nodes. The kernel distributes a
    /// group's weight over the cores that it runs on.
    pub(crate) fn set_share(&self, share: f64, nodes: usize) -> io::Result<()> {
        let scaled = |one: f64, least: f64, most: f64| {
            (share * nodes as f64 * one)
                .round()
                .clamp(least, most)
                .to_string()
        };
        if let Some(dir) = &self.cpu {
            write(dir, "cpu.shares", &scaled(WEIGHT_V1, 2.0, 262_144.0))?;
        }
        if let Some(dir) = &self.unified {
            write(dir, "cpu.weight", &scaled(WEIGHT_V2, 1.0, 10_000.0))?;
        }
        Ok(())
    }

    /// Returns whether a cpuset can pin the group to processors.
    pub(crate) fn can_pin(&self) -> bool {
        let mut dirs = self.cpuset.iter().chain(&self.unified);
        dirs.any(|dir| dir.join("cpuset.cpus").exists())
    }

    /// Pins the group to these processors, a list such as `0,2-3`. Returns false if no cpuset can.
    pub(crate) fn pin(&self, cpus: &str) -> io::Result<bool> {
        let dirs = self.cpuset.iter().chain(&self.unified);
        let mut pinned = false;
        for dir in dirs.filter(|dir| dir.join("cpuset.cpus").exists()) {
            write(dir, "cpuset.cpus", cpus)?;
            pinned = true;
        }
        Ok(pinned)
    }

    /// Limits memory, or removes the limit. Returns false if no control group can.
    pub(crate) fn limit_memory(&self, bytes: Option<u64>) -> io::Result<bool> {
        if let Some(dir) = &self.memory {
            limit_memory_v1(dir, bytes)?;
            return Ok(true);
        }
        let Some(dir) = self
            .unified
            .as_ref()
            .filter(|dir| dir.join("memory.max").exists())
        else {
            return Ok(false);
        };
        write(
            dir,
            "memory.max",
            &bytes.map_or("max".to_owned(), |bytes| bytes.to_string()),
        )?;
        Ok(true)
    }

    /// Limits the number of processes and threads at a time, or removes the limit. Returns false if
    /// no control group can.
    pub(crate) fn limit_processes(&self, most: Option<u32>) -> io::Result<bool> {
        let mut limited = false;
        // The thread that waits in a group of version 1 counts too.
        let dirs = self.pids.iter().map(|dir| (dir, 1));
        for (dir, ours) in dirs.chain(self.unified.iter().map(|dir| (dir, 0))) {
            if !dir.join("pids.max").exists() {
                continue;
            }
            let most = most.map(|most| u64::from(most) + ours);
            let words = most.map_or("max".to_owned(), |most| most.to_string());
            write(dir, "pids.max", &words)?;
            limited = true;
        }
        Ok(limited)
    }

    /// Returns how often the kernel has killed a process of this group because of its memory limit.
    pub(crate) fn out_of_memory_kills(&self) -> u64 {
        let v1 = self.memory.iter().map(|dir| dir.join("memory.oom_control"));
        let v2 = self.unified.iter().map(|dir| dir.join("memory.events"));
        let counts = v1
            .chain(v2)
            .filter_map(|file| read_keyed(&file, "oom_kill"));
        counts.sum()
    }

    /// Returns the bytes of memory in use, and the peak since [`SlotCgroup::reset_peak_memory`].
    pub(crate) fn memory(&self) -> Option<(u64, u64)> {
        if let Some(dir) = &self.memory {
            let now = read_number(&dir.join("memory.usage_in_bytes"))?;
            return Some((now, read_number(&dir.join("memory.max_usage_in_bytes"))?));
        }
        let dir = self.unified.as_ref()?;
        Some((
            read_number(&dir.join("memory.current"))?,
            read_number(&dir.join("memory.peak"))?,
        ))
    }

    /// Resets the memory peak, where the kernel supports it.
    pub(crate) fn reset_peak_memory(&self) {
        let v1 = self
            .memory
            .iter()
            .map(|dir| (dir, "memory.max_usage_in_bytes"));
        for (dir, file) in v1.chain(self.unified.iter().map(|dir| (dir, "memory.peak"))) {
            let _ = write(dir, file, "0");
        }
    }

    /// Returns the processor time used in this group since it was created.
    pub(crate) fn cpu(&self) -> Option<Span> {
        let nanos = |dir: &PathBuf| read_number(&dir.join("cpuacct.usage"));
        let micros = match &self.cpuacct {
            Some(dir) => nanos(dir)? / 1_000,
            None => read_keyed(&self.unified.as_ref()?.join("cpu.stat"), "usage_usec")?,
        };
        i64::try_from(micros).ok().map(Span::from_micros)
    }

    /// Returns whether every process of a task can be found in this group.
    pub(crate) fn tracks_descendants(&self) -> bool {
        self.tree().is_some()
    }

    /// Returns every live process in the group, except this process. Version 1 also lists processes
    /// that have ended and were not reaped; they are omitted. None if there is no group to query.
    pub(crate) fn members(&self) -> Option<Vec<Pid>> {
        let us = rustix::process::getpid();
        let list = fs::read_to_string(self.tree()?.join("cgroup.procs")).ok()?;
        let pids = list
            .lines()
            .filter_map(|line| Pid::from_raw(line.parse().ok()?));
        Some(
            pids.filter(|pid| *pid != us && procfs::is_running(*pid))
                .collect(),
        )
    }

    /// Prevents the processes in the group from starting others, or allows it again.
    pub(crate) fn set_fork_allowed(&self, allowed: bool) {
        let limit = if allowed { "max" } else { "0" };
        for dir in self.pids.iter().chain(&self.unified) {
            let _ = write(dir, "pids.max", limit);
        }
    }

    /// Has the kernel kill every process in the group. Returns false if the kernel cannot.
    pub(crate) fn kill(&self) -> bool {
        let killed = self
            .unified
            .as_ref()
            .map(|dir| write(dir, "cgroup.kill", "1"));
        killed.is_some_and(|done| done.is_ok())
    }

    fn tree(&self) -> Option<&PathBuf> {
        self.unified.as_ref().or(self.pids.as_ref())
    }

    fn v1(&self) -> impl Iterator<Item = &PathBuf> {
        let v1 = [
            &self.cpu,
            &self.cpuacct,
            &self.cpuset,
            &self.memory,
            &self.pids,
        ];
        v1.into_iter().flatten()
    }
}

/// Sets the limits of memory and of memory with swap, in the order in which the first never exceeds
/// the second.
fn limit_memory_v1(dir: &Path, bytes: Option<u64>) -> io::Result<()> {
    let limit = bytes.map_or("-1".to_owned(), |bytes| bytes.to_string());
    let _ = write(dir, "memory.memsw.limit_in_bytes", "-1");
    write(dir, "memory.limit_in_bytes", &limit)?;
    let _ = write(dir, "memory.memsw.limit_in_bytes", &limit);
    Ok(())
}

pub(crate) fn write(dir: &Path, file: &str, text: &str) -> io::Result<()> {
    // A control file exists or not, and must never be created.
    let mut open = fs::OpenOptions::new().write(true).open(dir.join(file))?;
    io::Write::write_all(&mut open, text.as_bytes())
}

fn read_number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Returns the number after `key` in a file with a key and a number per line.
fn read_keyed(file: &Path, key: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(name, _)| *name == key)?.1.trim().parse().ok()
}

/// Returns a list of processors in the kernel's format: `0,2,5`.
pub(crate) fn cpu_list(cpus: &[usize]) -> String {
    let words: Vec<String> = cpus.iter().map(usize::to_string).collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns groups in a directory with the control files of version 2, here ordinary files.
    fn unified(dir: &Path) -> SlotCgroup {
        for (file, text) in [
            ("cpu.weight", "100"),
            ("cpu.stat", "usage_usec 1500\nuser_usec 1000\n"),
            ("cpuset.cpus", ""),
            ("memory.max", "max"),
            ("pids.max", "max"),
            ("memory.current", "10"),
            ("memory.peak", "30"),
            ("memory.events", "low 0\noom 2\noom_kill 1\n"),
            ("cgroup.procs", "1\n2\n"),
            ("cgroup.kill", ""),
        ] {
            fs::write(dir.join(file), text).expect("written");
        }
        SlotCgroup {
            unified: Some(dir.to_owned()),
            ..SlotCgroup::default()
        }
    }

    #[test]
    fn cgroup_v2_limits_and_usage_use_its_files() {
        let dir = tempfile::tempdir().expect("a folder");
        let group = unified(dir.path());
        let read = |file| fs::read_to_string(dir.path().join(file)).expect("it is there");
        group.set_share(0.75, 2).expect("set");
        assert_eq!(read("cpu.weight"), "150");
        group.set_share(1e-9, 1).expect("set");
        assert_eq!(&read("cpu.weight")[..1], "1");
        assert!(group.pin("0,3").expect("pinned"));
        assert_eq!(read("cpuset.cpus"), "0,3");
        assert!(group.limit_memory(Some(7 << 20)).expect("limited"));
        assert_eq!(read("memory.max"), "7340032");
        assert!(group.limit_processes(Some(300)).expect("limited"));
        assert_eq!(read("pids.max"), "300");
        assert!(group.limit_processes(None).expect("lifted"));
        assert_eq!(&read("pids.max")[..3], "max");
        assert_eq!(group.cpu(), Some(Span::from_micros(1500)));
        assert_eq!(group.memory(), Some((10, 30)));
        assert_eq!(group.out_of_memory_kills(), 1);
        assert_eq!(group.members().map(|members| members.len()), Some(2));
        assert!(group.kill());
        assert_eq!(read("cgroup.kill"), "1");
    }

    #[test]
    fn cgroup_v2_kill_ends_all_descendants() {
        let own = super::super::unified_dirs();
        let name = format!("tollgate-test-{}", std::process::id());
        let made = own.iter().find_map(|dir| {
            let dir = dir.join(&name);
            fs::create_dir(&dir).is_ok().then_some(dir)
        });
        let Some(dir) = made.filter(|dir| dir.join("cgroup.kill").exists()) else {
            eprintln!("skipped: no control group of version 2 can be made here");
            return;
        };
        let group = SlotCgroup {
            unified: Some(dir.clone()),
            ..SlotCgroup::default()
        };
        let script = "read line; sleep 600 & setsid sleep 600 & sleep 600";
        let mut shell = std::process::Command::new("sh")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("it starts");
        write(&dir, "cgroup.procs", &shell.id().to_string()).expect("joined");
        drop(shell.stdin.take());
        while group.members().expect("listed").len() < 4 {
            std::thread::yield_now();
        }
        assert!(group.kill());
        shell.wait().expect("it ended");
        while !group.members().expect("listed").is_empty() {
            std::thread::yield_now();
        }
        while fs::remove_dir(&dir).is_err() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn cgroup_operations_without_cgroups_report_no_effect() {
        let group = SlotCgroup::default();
        assert!(!group.pin("0").expect("nothing to do"));
        assert!(!group.limit_memory(Some(1)).expect("nothing to do"));
        assert!(!group.limit_processes(Some(1)).expect("nothing to do"));
        assert!(!group.tracks_descendants() && !group.kill() && !group.can_pin());
        assert_eq!(group.cpu(), None);
        assert_eq!(group.members(), None);
    }
}
