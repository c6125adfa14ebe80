//! The data that a child needs to become an attempt, prepared in advance: a child shares the
//! runner's memory until its program replaces it, and must not allocate.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::Pid;
use rustix::thread::{CpuSet, Gid, Uid};
use tollgate_engine::LaunchSpec;

use crate::process::mark::{self, RunnerId};
use crate::scripts::ScriptCopySpec;
use crate::slot::output::{FileId, WrittenFileIds};
use crate::started_files::StartedFiles;

/// The plan of a child, in the order of its steps.
pub(crate) struct SpawnSpec {
    /// The process id of the runner; a child with another parent ends.
    pub(crate) runner: Pid,
    /// The directory of `started` files, the file's name in it, the spare that it is made of if there
    /// is one, and its first line.
    pub(crate) started_files: Arc<StartedFiles>,
    pub(crate) started: CString,
    pub(crate) spare: Option<CString>,
    pub(crate) header: Vec<u8>,
    /// The script to be copied, if the launch comes with one.
    pub(crate) script: Option<ScriptCopySpec>,
    /// Control groups to join, as their open `cgroup.procs`.
    pub(crate) cgroup_files: Vec<OwnedFd>,
    /// Processors to start on, unless a cpuset sets them.
    pub(crate) affinity: Option<CpuSet>,
    /// The maximum address space of a process, unless a control group limits memory.
    pub(crate) address_space: Option<u64>,
    pub(crate) nice: i32,
    /// Whether the child gives way to all other processes.
    pub(crate) is_low_priority: bool,
    pub(crate) umask: u32,
    pub(crate) user: Option<ProcessCredentials>,
    pub(crate) dir: CString,
    pub(crate) input: CString,
    pub(crate) output: WrittenFile,
    /// The file of standard error; None if it is that of the output.
    pub(crate) error: Option<WrittenFile>,
    /// Whether output and errors begin behind what their files hold.
    pub(crate) append: bool,
    /// The candidate files of the program, in the order of the search path.
    pub(crate) programs: Vec<CString>,
    pub(crate) argv: Vec<CString>,
    pub(crate) env: Vec<CString>,
}

/// A file to which a child writes.
pub(crate) struct WrittenFile {
    pub(crate) path: CString,
    /// Its directory, relative to that of the child; None if it is that.
    pub(crate) dir: Option<CString>,
    /// The file that the child has opened.
    pub(crate) id: FileId,
}

impl WrittenFile {
    fn new(path: &OsStr) -> Self {
        let dir = Path::new(path).parent();
        let dir = dir.map(|dir| dir.as_os_str().as_bytes());
        Self {
            path: c_string(path.as_bytes().to_owned()),
            dir: dir
                .filter(|dir| !dir.is_empty())
                .map(|dir| c_string(dir.to_owned())),
            id: FileId::default(),
        }
    }
}

/// The user and groups that a child takes.
pub(crate) struct ProcessCredentials {
    pub(crate) uid: Uid,
    pub(crate) gid: Gid,
    pub(crate) groups: Vec<Gid>,
}

impl SpawnSpec {
    /// Creates the part of the plan that follows from the launch; `script` is the copy to run, if
    /// the launch comes with a script.
    pub(crate) fn new(
        launch: &LaunchSpec,
        (runner_id, runner): (&RunnerId, Pid),
        started_files: Arc<StartedFiles>,
        script: Option<PathBuf>,
    ) -> Self {
        let path = |file: &Option<PathBuf>| {
            let path = file.as_ref().map(|path| path.as_os_str().to_owned());
            path.unwrap_or_else(|| "/dev/null".into())
        };
        Self {
            runner,
            spare: started_files.take_spare(),
            started_files,
            started: c_string(launch.attempt.to_string().into_bytes()),
            header: Vec::new(),
            script: None,
            cgroup_files: Vec::new(),
            affinity: None,
            address_space: None,
            nice: 0,
            is_low_priority: false,
            umask: launch.umask,
            user: launch.user.as_ref().map(|user| ProcessCredentials {
                uid: Uid::from_raw(user.uid),
                gid: Gid::from_raw(user.gid),
                groups: user
                    .groups
                    .iter()
                    .map(|group| Gid::from_raw(*group))
                    .collect(),
            }),
            dir: c_string(launch.dir.as_os_str().as_bytes().to_owned()),
            input: c_string(path(&launch.input).into_vec()),
            output: WrittenFile::new(&path(&launch.output)),
            error: launch
                .error
                .as_ref()
                .map(|path| WrittenFile::new(path.as_os_str())),
            append: launch.append,
            programs: match script {
                Some(path) => vec![c_string(path.into_os_string().into_vec())],
                None => programs(launch),
            },
            argv: launch
                .argv
                .iter()
                .map(|word| c_string(word.as_bytes().to_owned()))
                .collect(),
            env: environment(launch, runner_id),
        }
    }
}

impl SpawnSpec {
    /// Returns the files to which the child writes, as it has opened them.
    pub(crate) fn files(&self) -> WrittenFileIds<'_> {
        WrittenFileIds {
            output: &self.output.id,
            error: self.error.as_ref().map(|file| &file.id),
        }
    }
}

/// Returns the variables that every attempt has in its environment, besides those of its launch.
fn attempt_variables(launch: &LaunchSpec, runner_id: &RunnerId) -> [(&'static str, String); 7] {
    let nodes: Vec<String> = launch.nodes.iter().map(|node| node.0.to_string()).collect();
    [
        (mark::RUNNER_VARIABLE, runner_id.to_string()),
        (mark::ATTEMPT_VARIABLE, launch.attempt.to_string()),
        ("TOLLGATE_JOB", launch.attempt.job.to_string()),
        ("TOLLGATE_TASK", launch.attempt.task.to_string()),
        ("TOLLGATE_TRY", launch.attempt.attempt.to_string()),
        (
            "TOLLGATE_RESTARTS",
            launch.attempt.attempt.saturating_sub(1).to_string(),
        ),
        ("TOLLGATE_NODES", nodes.join(",")),
    ]
}

fn environment(launch: &LaunchSpec, runner_id: &RunnerId) -> Vec<CString> {
    let marks = attempt_variables(launch, runner_id)
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let theirs = launch
        .env
        .iter()
        .filter(|(name, _)| marks.iter().all(|(own, _)| own != name));
    let both = theirs.chain(&marks);
    both.map(|(name, value)| {
        let mut entry = name.clone().into_vec();
        entry.push(b'=');
        entry.extend(value.as_bytes());
        c_string(entry)
    })
    .collect()
}

/// Returns the candidate paths of the first word: the word itself if it has a slash, otherwise one
/// path in each directory of the launch's own `PATH`.
fn programs(launch: &LaunchSpec) -> Vec<CString> {
    let word = launch.argv.first().map_or(&b""[..], |word| word.as_bytes());
    if word.contains(&b'/') {
        return vec![c_string(word.to_owned())];
    }
    let path = launch.env.iter().find(|(name, _)| name == "PATH");
    let folders = path.map_or(&b"/usr/bin:/bin"[..], |(_, value)| value.as_bytes());
    let folders = folders
        .split(|byte| *byte == b':')
        .filter(|folder| !folder.is_empty());
    folders
        .map(|folder| c_string([folder, b"/", word].concat()))
        .collect()
}

/// Converts text of a launch. Launches are checked when they are submitted, so no text with a NUL
/// byte comes this far.
fn c_string(bytes: Vec<u8>) -> CString {
    CString::new(bytes).unwrap_or_default()
}
