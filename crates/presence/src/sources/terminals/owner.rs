//! The owners of pseudo-terminals: tasks or people.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::statfs;
use rustix::process::Pid;
use tollgate_host::all_processes;

/// The owner of a pseudo-terminal: of the processes that hold its master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TerminalOwner {
    /// Processes of tasks alone.
    Task,
    /// Another process, too.
    Person,
    /// No process that this one may see. The file of a terminal appears before its process has opened it.
    Unknown,
}

/// The holders of all masters that this process may see: whether each is a process of a task.
#[derive(Debug, Default)]
pub(super) struct TerminalMasters(BTreeMap<u32, Vec<bool>>);

impl TerminalMasters {
    /// Returns the owner of a terminal.
    pub(super) fn owner(&self, number: u32) -> TerminalOwner {
        match self.0.get(&number) {
            None => TerminalOwner::Unknown,
            Some(holders) if holders.iter().all(|is_of_task| *is_of_task) => TerminalOwner::Task,
            Some(_) => TerminalOwner::Person,
        }
    }
}

/// Returns the owner of a terminal of the directory `pts`.
pub(super) fn owner(pts: &Path, number: u32) -> TerminalOwner {
    match masters(pts).owner(number) {
        // A process of a task has no environment for a moment while another program replaces its own.
        TerminalOwner::Person => masters(pts).owner(number),
        found @ (TerminalOwner::Task | TerminalOwner::Unknown) => found,
    }
}

/// Finds the holders of all masters of the terminals in the directory `pts`.
pub(super) fn masters(pts: &Path) -> TerminalMasters {
    let mut masters = TerminalMasters::default();
    for pid in all_processes() {
        let numbers = masters_of(pid, pts);
        if numbers.is_empty() {
            continue;
        }
        let is_of_task = is_task(pid);
        for number in numbers {
            masters.0.entry(number).or_default().push(is_of_task);
        }
    }
    masters
}

/// Returns the numbers of the terminals whose masters a process holds. Empty for processes of other users, unless this
/// process is root.
fn masters_of(pid: Pid, pts: &Path) -> Vec<u32> {
    let process = format!("/proc/{}", pid.as_raw_pid());
    let files = fs::read_dir(format!("{process}/fd"));
    let files = files.into_iter().flatten().flatten();
    let masters = files.filter(|file| is_master(&file.path(), pts));
    let numbers = masters.filter_map(|file| {
        let name = file.file_name().into_string().ok()?;
        let info = fs::read_to_string(format!("{process}/fdinfo/{name}")).ok()?;
        let number = info
            .lines()
            .find_map(|line| line.strip_prefix("tty-index:"))?;
        number.trim().parse().ok()
    });
    numbers.collect()
}

/// Returns whether an open file is a master of a terminal in the directory `pts`. Terminals of a container have the same
/// numbers, and a directory of their own.
fn is_master(file: &Path, pts: &Path) -> bool {
    const DEVPTS: u64 = 0x1cd1; // DEVPTS_SUPER_MAGIC
    let is_ptmx = |to: PathBuf| to.file_name().is_some_and(|name| name == "ptmx");
    if !fs::read_link(file).is_ok_and(is_ptmx) {
        return false;
    }
    let device = |path| fs::metadata(path).map_or(0, |file| file.dev());
    // The file may also be one in `/dev`, which belongs to the directory beside it.
    let is_in_pts = statfs(file).is_ok_and(|system| system.f_type as u64 == DEVPTS);
    !is_in_pts || device(file) == device(pts)
}

/// Returns whether a process is one of a task: in a control group of a runner, or with the variable of an attempt.
fn is_task(pid: Pid) -> bool {
    let read = |file| fs::read(format!("/proc/{}/{file}", pid.as_raw_pid())).unwrap_or_default();
    let has = |text: &[u8], word: &[u8]| text.windows(word.len()).any(|part| part == word);
    let environment = read("environ");
    let mut variables = environment.split(|byte| *byte == 0);
    has(&read("cgroup"), b"/tollgate-runner-")
        || variables.any(|variable| variable.starts_with(b"TOLLGATE_ATTEMPT="))
}
