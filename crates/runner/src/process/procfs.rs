//! Processes in `/proc`.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Pid;
use tollgate_engine::BootTime;
use tollgate_model::Span;

/// The identity of a process: its id, which may be reused, and its start in clock ticks since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessIdentity {
    pub(crate) pid: Pid,
    pub(crate) start_ticks: u64,
}

impl ProcessIdentity {
    /// Parses a line of `/proc/<pid>/stat`. The program name is in parentheses and may contain any
    /// character, so fields are counted from the last parenthesis.
    pub(crate) fn parse(stat: &str) -> Option<Self> {
        let pid = stat.split_once(' ')?.0.parse().ok()?;
        let (_, after_name) = stat.rsplit_once(')')?;
        let start_ticks = after_name.split_ascii_whitespace().nth(19)?.parse().ok()?;
        Some(Self {
            pid: Pid::from_raw(pid)?,
            start_ticks,
        })
    }

    /// Returns whether this very process is alive, and not only a zombie.
    pub(crate) fn is_alive(self) -> bool {
        let stat = stat(self.pid);
        Self::parse(&stat) == Some(self) && !is_zombie_or_dead(&stat)
    }

    /// Returns the time since the start of the process, by a clock that cannot be set; at most a clock tick too short.
    pub(crate) fn age(self) -> Duration {
        let (ticks, per_second) = (
            self.start_ticks + 1,
            rustix::param::clock_ticks_per_second(),
        );
        let start = Duration::from_secs(ticks / per_second)
            + Duration::from_secs(ticks % per_second) / u32::try_from(per_second).unwrap_or(1);
        let start = BootTime::after_boot(start);
        BootTime::now().saturating_since(start)
    }

    /// Returns the exit status of this very process, if its parent has not reaped it, as the
    /// operating system encodes it. None if the process is alive, is gone, or does not show its
    /// status.
    pub(crate) fn unreaped_exit(self) -> Option<i32> {
        const EXIT_CODE: usize = 49;
        let stat = stat(self.pid);
        let is_known = Self::parse(&stat) == Some(self) && is_zombie_or_dead(&stat);
        // To other users the kernel shows a status of 0.
        (is_known && shows_all(self.pid)).then_some(())?;
        let (_, after_name) = stat.rsplit_once(')')?;
        let mut fields = after_name.split_ascii_whitespace();
        fields.nth(EXIT_CODE)?.parse().ok()
    }
}

/// Returns whether a process is alive: it exists and has not ended. A zombie is not alive.
pub(crate) fn is_running(pid: Pid) -> bool {
    let stat = stat(pid);
    !stat.is_empty() && !is_zombie_or_dead(&stat)
}

/// Returns whether a process is stopped, or does not exist.
pub(crate) fn is_stopped(pid: Pid) -> bool {
    state(&stat(pid)).is_none_or(|state| matches!(state, 'T' | 't' | 'Z' | 'X'))
}

/// Returns whether the kernel shows this process all data of the other one: this process is root,
/// or both have the same user in every respect.
fn shows_all(pid: Pid) -> bool {
    let own = rustix::process::geteuid();
    let status = format!("/proc/{}/status", pid.as_raw_pid());
    let status = fs::read_to_string(status).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let is_own = |word: &str| word.parse() == Ok(own.as_raw());
    own.is_root() || users.is_some_and(|users| users.split_ascii_whitespace().all(is_own))
}

/// Returns the numbers of the signals that this process ignores. None if `/proc` does not say.
pub(crate) fn ignored_signals() -> Option<Vec<i32>> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some(
        (1..=64)
            .filter(|signal| mask >> (signal - 1) & 1 == 1)
            .collect(),
    )
}

/// Returns the peak of the memory that this process has had resident, in bytes. None if `/proc` does not say.
pub(crate) fn own_peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

fn stat(pid: Pid) -> String {
    fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap_or_default()
}

fn state(stat: &str) -> Option<char> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.trim_start().chars().next()
}

/// Returns whether `stat` is that of a zombie.
fn is_zombie_or_dead(stat: &str) -> bool {
    matches!(state(stat), Some('Z' | 'X'))
}

/// Returns the processor time of a process and of the children that it has reaped. Zero if the
/// process does not exist.
pub(crate) fn cpu_time(pid: Pid) -> Span {
    let stat = stat(pid);
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_ascii_whitespace().skip(11).take(4);
    let ticks: u64 = ticks.filter_map(|word| word.parse::<u64>().ok()).sum();
    Span::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Returns the id of this boot of the machine.
pub fn boot_id() -> io::Result<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(id.trim().to_owned())
}

/// Returns the children of this process, including those that it inherited as a subreaper.
pub(crate) fn children() -> Vec<Pid> {
    let tasks = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let numbers = lists.flat_map(|list| {
        list.split_ascii_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect::<Vec<i32>>()
    });
    numbers.filter_map(Pid::from_raw).collect()
}

/// Returns all processes.
pub(crate) fn all() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).collect()
}

/// Returns whether the initial environment of a process contains all of `entries`.
pub(crate) fn has_env_entries(pid: Pid, entries: &[&str]) -> bool {
    let path = PathBuf::from(format!("/proc/{}/environ", pid.as_raw_pid()));
    let environ = fs::read(path).unwrap_or_default();
    let has = |entry: &&str| {
        let mut own = environ.split(|byte| *byte == 0);
        own.any(|own| own == entry.as_bytes())
    };
    entries.iter().all(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_name_cannot_forge_the_start_time() {
        let mut fields = vec!["S", "1"];
        fields.extend(["0"; 17]);
        fields.extend(["4711", "0"]);
        let stat = format!("42 (a) S 1 (b) {}\n", fields.join(" "));
        let identity = ProcessIdentity::parse(&stat).expect("a process");
        assert_eq!(identity.pid.as_raw_pid(), 42);
        assert_eq!(identity.start_ticks, 4711);
        assert_eq!(ProcessIdentity::parse("42 (a) S"), None);
        assert_eq!(ProcessIdentity::parse(""), None);
    }

    #[test]
    fn own_process_is_alive() {
        let stat = fs::read_to_string("/proc/self/stat").expect("there is /proc");
        let us = ProcessIdentity::parse(&stat).expect("a process");
        assert!(us.is_alive());
        assert!(us.age() < Duration::from_secs(86_400), "{:?}", us.age());
        let forged = ProcessIdentity {
            start_ticks: us.start_ticks + 1,
            ..us
        };
        assert!(!forged.is_alive());
    }
}
