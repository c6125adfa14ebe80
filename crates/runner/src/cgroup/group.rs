//! The control groups of one slot: their limits, counters and members.

use std::fs;
use std::io;
use std::path::Path;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use tollgate_host::is_process_alive;
use tollgate_model::Span;

use super::control::ControlDir;

/// The control groups of one slot. They are written to the `started` file, so that the next runner
/// finds them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SlotCgroup {
    pub(crate) unified: Option<ControlDir>,
    pub(crate) cpu: Option<ControlDir>,
    pub(crate) cpuacct: Option<ControlDir>,
    pub(crate) cpuset: Option<ControlDir>,
    pub(crate) memory: Option<ControlDir>,
    pub(crate) pids: Option<ControlDir>,
    /// A group for the freezer alone, which children join by themselves.
    pub(crate) freezer: Option<ControlDir>,
}

/// The calling thread, in a file of members. For another thread than the one that writes, the kernel waits until no
/// process of the host starts or ends.
pub(crate) const THIS_THREAD: &str = "0";

/// The weight of a share of 1; the kernel accepts 2 to 262144 (v1) and 1 to 10000 (v2).
pub(crate) const WEIGHT_V1: f64 = 1024.0;
pub(crate) const WEIGHT_V2: f64 = 100.0;

impl SlotCgroup {
    /// Moves the calling thread into the groups of version 1, without that of the processor if tasks have the lowest
    /// priority.
    pub(crate) fn join_thread(&self, is_low_priority: bool) -> io::Result<()> {
        let avoided = self.cpu.as_ref().filter(|_| is_low_priority);
        // Two controllers may share a hierarchy, and so have one group.
        let is_avoided = |dir: &ControlDir| avoided.is_some_and(|cpu| cpu.path() == dir.path());
        for dir in self.v1().filter(|dir| !is_avoided(dir)) {
            dir.write("tasks", THIS_THREAD)?;
        }
        Ok(())
    }

    /// Returns the open files into which a child has to write [`THIS_THREAD`]: those of the groups that its slot's
    /// thread has not joined.
    pub(crate) fn open_procs_files(
        &self,
        is_low_priority: bool,
    ) -> io::Result<Vec<std::os::fd::OwnedFd>> {
        let unified = self.unified.iter();
        let unified = unified.map(|dir| dir.path().join("cgroup.procs"));
        let freezer = self.freezer.iter();
        let freezer = freezer.map(|dir| dir.path().join(Self::freezer_members_file(dir)));
        let cpu = self.cpu.iter().filter(|_| is_low_priority);
        let cpu = cpu.map(|dir| dir.path().join("tasks"));
        unified
            .chain(freezer)
            .chain(cpu)
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
            dir.write("cpu.shares", &scaled(WEIGHT_V1, 2.0, 262_144.0))?;
        }
        if let Some(dir) = &self.unified {
            dir.write("cpu.weight", &scaled(WEIGHT_V2, 1.0, 10_000.0))?;
        }
        Ok(())
    }

    /// Returns whether a cpuset can pin the group to processors.
    pub(crate) fn can_pin(&self) -> bool {
        let mut dirs = self.cpuset.iter().chain(&self.unified);
        dirs.any(|dir| dir.has("cpuset.cpus"))
    }

    /// Pins the group to these processors, a list such as `0,2-3`. Returns false if no cpuset can.
    pub(crate) fn pin(&self, cpus: &str) -> io::Result<bool> {
        let mut pinned = false;
        for dir in self.cpuset.iter().chain(&self.unified) {
            pinned |= dir.write_if_present("cpuset.cpus", cpus)?;
        }
        Ok(pinned)
    }

    /// Limits memory, or removes the limit. Returns false if no control group can.
    pub(crate) fn limit_memory(&self, bytes: Option<u64>) -> io::Result<bool> {
        if let Some(dir) = &self.memory {
            limit_memory_v1(dir, bytes)?;
            return Ok(true);
        }
        let Some(dir) = &self.unified else {
            return Ok(false);
        };
        let limit = bytes.map_or("max".to_owned(), |bytes| bytes.to_string());
        dir.write_if_present("memory.max", &limit)
    }

    /// Limits the number of processes and threads at a time, or removes the limit. Returns false if
    /// no control group can.
    pub(crate) fn limit_processes(&self, most: Option<u32>) -> io::Result<bool> {
        let mut limited = false;
        for (dir, ours) in self.counting() {
            let most = most.map(|most| u64::from(most) + ours);
            let words = most.map_or("max".to_owned(), |most| most.to_string());
            limited |= dir.write_if_present("pids.max", &words)?;
        }
        Ok(limited)
    }

    /// Returns how often the kernel has killed a process of this group because of its memory limit.
    pub(crate) fn out_of_memory_kills(&self) -> u64 {
        let v1 = self.memory.iter().map(|dir| (dir, "memory.oom_control"));
        let v2 = self.unified.iter().map(|dir| (dir, "memory.events"));
        let counts = v1.chain(v2);
        counts
            .filter_map(|(dir, file)| dir.read_keyed(file, "oom_kill"))
            .sum()
    }

    /// Returns the anonymous and the shared memory in use, in bytes: what no page cache is.
    pub(crate) fn needed_memory(&self) -> Option<u64> {
        if let Some(dir) = &self.memory {
            let shared = dir.read_keyed("memory.stat", "total_shmem").unwrap_or(0);
            return Some(dir.read_keyed("memory.stat", "total_rss")? + shared);
        }
        let dir = self.unified.as_ref()?;
        let shared = dir.read_keyed("memory.stat", "shmem").unwrap_or(0);
        Some(dir.read_keyed("memory.stat", "anon")? + shared)
    }

    /// Returns the kernel's peak of all memory in bytes, with page cache, since
    /// [`SlotCgroup::reset_peak_memory`] if the kernel can reset it.
    pub(crate) fn kernel_peak_memory(&self) -> Option<u64> {
        match &self.memory {
            Some(dir) => dir.read_number("memory.max_usage_in_bytes"),
            None => self.unified.as_ref()?.read_number("memory.peak"),
        }
    }

    /// Resets the memory peak, where the kernel supports it.
    pub(crate) fn reset_peak_memory(&self) {
        let v1 = self
            .memory
            .iter()
            .map(|dir| (dir, "memory.max_usage_in_bytes"));
        for (dir, file) in v1.chain(self.unified.iter().map(|dir| (dir, "memory.peak"))) {
            let _ = dir.write(file, "0");
        }
    }

    /// Returns the processor time used in this group since it was created.
    pub(crate) fn cpu(&self) -> Option<Span> {
        let micros = match &self.cpuacct {
            Some(dir) => dir.read_number("cpuacct.usage")? / 1_000,
            None => self
                .unified
                .as_ref()?
                .read_keyed("cpu.stat", "usage_usec")?,
        };
        i64::try_from(micros).ok().map(Span::from_micros)
    }

    /// Returns whether every process of a task can be found in this group.
    pub(crate) fn tracks_descendants(&self) -> bool {
        self.tree().is_some()
    }

    /// Returns whether the group is empty but for the first process of a task, which has ended and
    /// was not reaped. May be false all the same.
    pub(crate) fn holds_only_leader(&self) -> bool {
        let mut counted = self.counting();
        counted.any(|(dir, ours)| dir.read_number("pids.current") == Some(ours + 1))
    }

    /// Returns every live process in the group, except this process. Version 1 also lists processes
    /// that have ended and were not reaped; they are omitted. None if there is no group to query.
    pub(crate) fn members(&self) -> Option<Vec<Pid>> {
        let us = rustix::process::getpid();
        let list = fs::read_to_string(self.tree()?.path().join("cgroup.procs")).ok()?;
        let pids = list
            .lines()
            .filter_map(|line| Pid::from_raw(line.parse().ok()?));
        Some(
            pids.filter(|pid| *pid != us && is_process_alive(*pid))
                .collect(),
        )
    }

    /// Prevents the processes in the group from starting others, or allows it again.
    pub(crate) fn set_fork_allowed(&self, allowed: bool) {
        let limit = if allowed { "max" } else { "0" };
        for dir in self.pids.iter().chain(&self.unified) {
            let _ = dir.write("pids.max", limit);
        }
    }

    /// Has the kernel kill every process in the group. Returns false if the kernel cannot.
    pub(crate) fn kill(&self) -> bool {
        let dir = self.unified.as_ref();
        dir.is_some_and(|dir| dir.write("cgroup.kill", "1").is_ok())
    }

    fn tree(&self) -> Option<&ControlDir> {
        self.unified.as_ref().or(self.pids.as_ref())
    }

    /// Returns the groups that count processes, each with the number of threads of this process that
    /// it counts, too: in version 1 a thread waits in the group.
    fn counting(&self) -> impl Iterator<Item = (&ControlDir, u64)> {
        let v1 = self.pids.iter().map(|dir| (dir, 1));
        v1.chain(self.unified.iter().map(|dir| (dir, 0)))
    }

    fn v1(&self) -> impl Iterator<Item = &ControlDir> {
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
fn limit_memory_v1(dir: &ControlDir, bytes: Option<u64>) -> io::Result<()> {
    let limit = bytes.map_or("-1".to_owned(), |bytes| bytes.to_string());
    let _ = dir.write("memory.memsw.limit_in_bytes", "-1");
    dir.write("memory.limit_in_bytes", &limit)?;
    let _ = dir.write("memory.memsw.limit_in_bytes", &limit);
    Ok(())
}

pub(crate) fn write(dir: &Path, file: &str, text: &str) -> io::Result<()> {
    // A control file exists or not, and must never be created.
    let mut open = fs::OpenOptions::new().write(true).open(dir.join(file))?;
    io::Write::write_all(&mut open, text.as_bytes())
}

/// Returns a list of processors in the kernel's format: `0,2,5`.
pub(crate) fn cpu_list(cpus: &[usize]) -> String {
    let words: Vec<String> = cpus.iter().map(usize::to_string).collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use tollgate_needs::{Need, lacks};

    use super::*;

    /// Returns groups in a directory with the control files of version 2, here ordinary files.
    fn unified(dir: &Path) -> SlotCgroup {
        for (file, text) in [
            ("cpu.weight", "100"),
            ("cpu.stat", "usage_usec 1500\nuser_usec 1000\n"),
            ("cpuset.cpus", ""),
            ("memory.max", "max"),
            ("pids.max", "max"),
            ("memory.stat", "anon 7\nfile 21\nkernel 1\nshmem 2\n"),
            ("memory.peak", "30"),
            ("memory.events", "low 0\noom 2\noom_kill 1\n"),
            ("cgroup.procs", "1\n2\n"),
            ("cgroup.kill", ""),
        ] {
            fs::write(dir.join(file), text).expect("written");
        }
        SlotCgroup {
            unified: Some(dir.to_owned().into()),
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
        assert_eq!(group.kernel_peak_memory(), Some(30));
        assert_eq!(group.needed_memory(), Some(9));
        assert_eq!(group.out_of_memory_kills(), 1);
        assert_eq!(group.members().map(|members| members.len()), Some(2));
        assert!(group.kill());
        assert_eq!(read("cgroup.kill"), "1");
    }

    #[test]
    fn cgroup_v1_memory_is_that_of_the_whole_tree_without_page_cache() {
        let dir = tempfile::tempdir().expect("a folder");
        for (file, text) in [
            (
                "memory.stat",
                "cache 400\nrss 1\nshmem 0\ntotal_cache 400\ntotal_rss 5\ntotal_shmem 2\n",
            ),
            ("memory.max_usage_in_bytes", "412"),
        ] {
            fs::write(dir.path().join(file), text).expect("written");
        }
        let group = SlotCgroup {
            memory: Some(dir.path().to_owned().into()),
            ..SlotCgroup::default()
        };
        assert_eq!(group.needed_memory(), Some(7));
        assert_eq!(group.kernel_peak_memory(), Some(412));
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
            lacks(Need::Cgroups, "no group of version 2 can be made");
            return;
        };
        let group = SlotCgroup {
            unified: Some(dir.clone().into()),
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
        assert_eq!(group.needed_memory(), None);
        assert_eq!(group.members(), None);
    }
}
