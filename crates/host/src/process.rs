//! Processes of this host, as `/proc` shows them.

use std::fs;

use rustix::process::Pid;

/// The state, the relatives and the times of a process: a line of `/proc/PID/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    pid: Pid,
    /// The fields behind the name of the program, which is the second of the line.
    fields: Vec<String>,
}

/// The identity of a process: its id, which may be used again, and its start in clock ticks since boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Process id.
    pub pid: Pid,
    /// Start in clock ticks since boot.
    pub start_ticks: u64,
}

/// Returns whether a process exists and has not ended. A zombie has ended.
pub fn is_process_alive(pid: Pid) -> bool {
    ProcessStat::read(pid).is_some_and(|stat| !stat.has_ended())
}

/// Returns the ids of all processes.
pub fn all_processes() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(Pid::from_raw).collect()
}

impl ProcessStat {
    /// Reads the line of a process. None if there is no such process.
    pub fn read(pid: Pid) -> Option<Self> {
        let line = fs::read(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
        Self::parse(&String::from_utf8_lossy(&line))
    }

    /// Parses a line. The program name is in parentheses and may contain any character, so fields are
    /// counted from the last parenthesis.
    pub fn parse(line: &str) -> Option<Self> {
        let pid = line.split_once(' ')?.0.parse().ok()?;
        let (_, fields) = line.rsplit_once(')')?;
        Some(Self {
            pid: Pid::from_raw(pid)?,
            fields: fields.split_ascii_whitespace().map(str::to_owned).collect(),
        })
    }

    /// Returns field `number` of the line, counted from 1 as in proc(5). None if the kernel does not show it.
    fn field<T: std::str::FromStr>(&self, number: usize) -> Option<T> {
        const FIRST: usize = 3;
        self.fields.get(number.checked_sub(FIRST)?)?.parse().ok()
    }

    fn state(&self) -> char {
        self.field(3).unwrap_or('?')
    }

    /// Returns whether the process has ended, and only its exit status is left.
    pub fn has_ended(&self) -> bool {
        matches!(self.state(), 'Z' | 'X')
    }

    /// Returns whether the process is stopped, by a signal or a debugger, or has ended.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state(), 'T' | 't') || self.has_ended()
    }

    /// Returns the process id of the parent; 0 if it is in another namespace.
    pub fn parent(&self) -> Option<i32> {
        self.field(4)
    }

    /// Returns the id of the session.
    pub fn session(&self) -> Option<i32> {
        self.field(6)
    }

    /// Returns the processor time of the process and of the children that it has reaped, in clock ticks.
    pub fn cpu_ticks(&self) -> u64 {
        let ticks = (14..=17).filter_map(|number| self.field::<u64>(number));
        ticks.sum()
    }

    /// Returns which process it is.
    pub fn identity(&self) -> Option<ProcessIdentity> {
        Some(ProcessIdentity {
            pid: self.pid,
            start_ticks: self.field(22)?,
        })
    }
}

impl ProcessIdentity {
    /// Returns the process that has an id now. None if no process has it.
    pub fn of(pid: Pid) -> Option<Self> {
        ProcessStat::read(pid)?.identity()
    }

    /// Returns the line of this very process. None if it is gone.
    fn stat(self) -> Option<ProcessStat> {
        ProcessStat::read(self.pid).filter(|stat| stat.identity() == Some(self))
    }

    /// Returns whether this very process exists and has not ended.
    pub fn is_alive(self) -> bool {
        self.stat().is_some_and(|stat| !stat.has_ended())
    }

    /// Returns the exit status of this very process, if its parent has not reaped it, as the
    /// operating system encodes it. None if the process is alive, is gone, or does not show its
    /// status.
    pub fn unreaped_exit(self) -> Option<i32> {
        let stat = self.stat().filter(ProcessStat::has_ended)?;
        // To other users the kernel shows a status of 0.
        shows_all(self.pid).then(|| stat.field(52))?
    }
}

/// Returns whether the kernel shows this process all data of the other one: this process is root,
/// or both have the same user in every respect.
fn shows_all(pid: Pid) -> bool {
    let own = rustix::process::geteuid();
    let status = format!("/proc/{}/status", pid.as_raw_pid());
    let status = fs::read(status).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let is_own = |word: &str| word.parse() == Ok(own.as_raw());
    own.is_root() || users.is_some_and(|users| users.split_ascii_whitespace().all(is_own))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn fields_are_counted_behind_the_name_of_the_program() {
        let line = "7 (a) b) (c) S 3 7 5 0 -1 4194560 9 8 7 6 10 20 30 40 20 0 1 0 99 1000 0";
        let stat = ProcessStat::parse(line).unwrap();
        assert_eq!((stat.parent(), stat.session()), (Some(3), Some(5)));
        assert_eq!(stat.cpu_ticks(), 100);
        let identity = stat.identity().unwrap();
        let (pid, start_ticks) = (identity.pid.as_raw_pid(), identity.start_ticks);
        assert_eq!((pid, start_ticks), (7, 99));
        assert!(!stat.has_ended() && !stat.is_stopped());
        for (state, has_ended, is_stopped) in [('Z', true, true), ('T', false, true)] {
            let line = line.replacen(" S ", &format!(" {state} "), 1);
            let stat = ProcessStat::parse(&line).unwrap();
            assert_eq!(
                (stat.has_ended(), stat.is_stopped()),
                (has_ended, is_stopped)
            );
        }
        assert_eq!(ProcessStat::parse("7 (a"), None);
        assert_eq!(ProcessStat::parse(""), None);
    }

    #[test]
    fn own_process_is_alive_until_another_has_its_id() {
        let own = rustix::process::getpid();
        assert!(is_process_alive(own) && all_processes().contains(&own));
        let identity = ProcessIdentity::of(own).unwrap();
        assert!(identity.is_alive() && identity.unreaped_exit().is_none());
        let other = ProcessIdentity {
            start_ticks: identity.start_ticks + 1,
            ..identity
        };
        assert!(!other.is_alive());
    }

    #[test]
    fn ended_process_shows_its_exit_status_until_it_is_reaped() {
        let mut command = Command::new("/bin/sh");
        let mut child = command
            .args(["-c", "read line; exit 3"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        let identity = ProcessIdentity::of(pid).unwrap();
        assert!(identity.is_alive());
        drop(child.stdin.take());
        let options =
            rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(pid), options).unwrap();
        assert!(!identity.is_alive());
        assert_eq!(identity.unreaped_exit(), Some(3 << 8));
        child.wait().unwrap();
        assert_eq!(identity.unreaped_exit(), None);
        assert!(!is_process_alive(pid));
    }
}
