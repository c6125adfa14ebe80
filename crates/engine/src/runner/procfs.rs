//! Processes as `/proc` shows them.

use std::fs;
use std::io;
use std::path::PathBuf;

use rustix::process::Pid;
use tollgate_model::Span;

/// A process by more than its number, which is used again: its start, in clock ticks since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessIdentity {
    pub(super) pid: Pid,
    pub(super) start_ticks: u64,
}

impl ProcessIdentity {
    /// Reads a line of `/proc/<pid>/stat`. The name of the program stands in parentheses and
    /// may hold anything, so fields are counted from the last of these.
    pub(super) fn parse(stat: &str) -> Option<Self> {
        let pid = stat.split_once(' ')?.0.parse().ok()?;
        let (_, after_name) = stat.rsplit_once(')')?;
        let start_ticks = after_name.split_ascii_whitespace().nth(19)?.parse().ok()?;
        Some(Self {
            pid: Pid::from_raw(pid)?,
            start_ticks,
        })
    }

    /// Whether this very process is there, and not merely what is left of it.
    pub(super) fn is_alive(self) -> bool {
        let stat = stat(self.pid);
        Self::parse(&stat) == Some(self) && !is_zombie_or_dead(&stat)
    }

    /// How this very process has ended that its parent has not waited for, as the operating system packs
    /// it. None if it goes on, is not there any more, or does not show it.
    pub(super) fn unreaped_exit(self) -> Option<i32> {
        const EXIT_CODE: usize = 49;
        let stat = stat(self.pid);
        let is_known = Self::parse(&stat) == Some(self) && is_zombie_or_dead(&stat);
        // The kernel tells others that it was 0.
        (is_known && shows_all(self.pid)).then_some(())?;
        let (_, after_name) = stat.rsplit_once(')')?;
        let mut fields = after_name.split_ascii_whitespace();
        fields.nth(EXIT_CODE)?.parse().ok()
    }
}

/// Whether a process goes on: it is there and has not ended, whether or not its parent has waited for it.
pub(super) fn is_running(pid: Pid) -> bool {
    let stat = stat(pid);
    !stat.is_empty() && !is_zombie_or_dead(&stat)
}

/// Whether a process does nothing since it was stopped, or is not there.
pub(super) fn is_stopped(pid: Pid) -> bool {
    state(&stat(pid)).is_none_or(|state| matches!(state, 'T' | 't' | 'Z' | 'X'))
}

/// Whether the kernel shows this process everything about that one: it is root's, or the other's user
/// is its own in every respect.
fn shows_all(pid: Pid) -> bool {
    let own = rustix::process::geteuid();
    let status = format!("/proc/{}/status", pid.as_raw_pid());
    let status = fs::read_to_string(status).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let is_own = |word: &str| word.parse() == Ok(own.as_raw());
    own.is_root() || users.is_some_and(|users| users.split_ascii_whitespace().all(is_own))
}

fn stat(pid: Pid) -> String {
    fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap_or_default()
}

fn state(stat: &str) -> Option<char> {
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.trim_start().chars().next()
}

/// Whether `stat` is that of a process of which only its entry is left.
fn is_zombie_or_dead(stat: &str) -> bool {
    matches!(state(stat), Some('Z' | 'X'))
}

/// Processor time of a process and of those of its children that it has waited for. Zero if it is
/// not there.
pub(super) fn cpu_time(pid: Pid) -> Span {
    let stat = stat(pid);
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_ascii_whitespace().skip(11).take(4);
    let ticks: u64 = ticks.filter_map(|word| word.parse::<u64>().ok()).sum();
    Span::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// What this boot of the machine is called.
pub(super) fn boot_id() -> io::Result<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(id.trim().to_owned())
}

/// The children of this process, those included that it inherited as a subreaper.
pub(super) fn children() -> Vec<Pid> {
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

/// Every process that there is.
pub(super) fn all() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).collect()
}

/// Whether the environment that a process was started with holds `entry`.
pub(super) fn has_env_entry(pid: Pid, entry: &str) -> bool {
    let path = PathBuf::from(format!("/proc/{}/environ", pid.as_raw_pid()));
    let environ = fs::read(path).unwrap_or_default();
    environ
        .split(|byte| *byte == 0)
        .any(|own| own == entry.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_forge_a_start() {
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
    fn we_are_alive() {
        let stat = fs::read_to_string("/proc/self/stat").expect("there is /proc");
        let us = ProcessIdentity::parse(&stat).expect("a process");
        assert!(us.is_alive());
        let forged = ProcessIdentity {
            start_ticks: us.start_ticks + 1,
            ..us
        };
        assert!(!forged.is_alive());
    }
}
