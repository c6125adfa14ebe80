//! The steps of a child between its birth and its replacement by the program.
//!
//! The child shares the runner's memory (see [`super::spawn`]), so every step is a system call on
//! data of the [`SpawnSpec`]: no allocation, no lock, no panic.

use std::ffi::CStr;
use std::io::IoSlice;
use std::os::fd::OwnedFd;

use rustix::fs::{FileType, Mode, OFlags, RenameFlags, ftruncate, openat, renameat_with};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, Signal};

use super::spawn;
use super::spec::{SpawnSpec, WrittenFile};
use crate::cgroup::group::THIS_THREAD;
use crate::failpoint;
use crate::slot::output::FileId;

/// What stands before the line of a `started` file that names the file of the output: nothing, as ever.
pub(crate) const OUTPUT_LINE: &str = "";
/// The same for the file of standard error.
pub(crate) const ERROR_LINE: &str = "error ";

/// The badness of a process of low priority when memory is short, up to 1000: it is killed before those of a user.
const OOM_SCORE: &[u8] = b"800";

/// A step of a child, named in the error if it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpawnPhase {
    Begin,
    Started,
    Script,
    Confine,
    User,
    Dir,
    Input,
    Output,
    Error,
    Program,
}

impl SpawnPhase {
    /// Returns the name of the step in an [`tollgate_model::AttemptStatus::NotStarted`].
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Begin => "start",
            Self::Started => "record",
            Self::Script => "script",
            Self::Confine => "limits",
            Self::User => "user",
            Self::Dir => "dir",
            Self::Input => "input",
            Self::Output => "output",
            Self::Error => "error",
            Self::Program => "program",
        }
    }
}

/// Runs all steps but the last. Calls `reached` before each step.
pub(crate) fn prepare(plan: &SpawnSpec, reached: impl Fn(SpawnPhase)) -> Result<(), Errno> {
    reached(SpawnPhase::Begin);
    set_death_signal(plan)?;
    rustix::process::setsid()?;
    failpoint::kill_at_in_child("child-begun");
    reached(SpawnPhase::Started);
    let started = record_start(plan)?;
    failpoint::kill_at_in_child("child-recorded");
    reached(SpawnPhase::Script);
    if let Some(script) = &plan.script {
        script.create_copy()?;
        failpoint::kill_at_in_child("child-copied");
    }
    reached(SpawnPhase::Confine);
    confine(plan)?;
    reached(SpawnPhase::User);
    become_user(plan)?;
    failpoint::stop_at_in_child("child-stopped");
    reached(SpawnPhase::Dir);
    rustix::process::chdir(plan.dir.as_c_str())?;
    reached(SpawnPhase::Input);
    open_input(plan)?;
    reached(SpawnPhase::Output);
    let output = open_written(&plan.output, plan.append)?;
    rustix::stdio::dup2_stdout(&output)?;
    match &plan.error {
        None => rustix::stdio::dup2_stderr(&output)?,
        Some(file) => {
            reached(SpawnPhase::Error);
            rustix::stdio::dup2_stderr(&open_written(file, plan.append)?)?;
        }
    }
    record_files(plan, &started)?;
    reached(SpawnPhase::Program);
    failpoint::kill_at_in_child("child-ready");
    // From here on the attempt outlives the runner.
    rustix::process::set_parent_process_death_signal(None)
}

/// Makes the child end with the runner until its program replaces it. So the next runner finds only
/// running programs, and `started` files of children that are gone.
fn set_death_signal(plan: &SpawnSpec) -> Result<(), Errno> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    match rustix::process::getppid() {
        Some(parent) if parent == plan.runner => Ok(()),
        Some(_) | None => Err(Errno::SRCH),
    }
}

/// Creates the `started` file, and returns it. The process that creates it starts the attempt, and no other
/// process ever does. Its second line, `/proc/self/stat`, identifies the process by id and start time.
fn record_start(plan: &SpawnSpec) -> Result<OwnedFd, Errno> {
    if let Some(spare) = &plan.spare {
        match rename_spare(plan, spare) {
            Ok(file) => return Ok(file),
            Err(Errno::EXIST) => return Err(Errno::EXIST),
            // Not every file system renames without replacing.
            Err(_) => {}
        }
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let file = openat(&plan.started_files.dir, &plan.started, flags, mode)?;
    failpoint::kill_at_in_child("child-created");
    write_start(plan, &file)?;
    Ok(file)
}

/// Makes a spare the `started` file, unless there is one.
fn rename_spare(plan: &SpawnSpec, spare: &CStr) -> Result<OwnedFd, Errno> {
    let files = &plan.started_files;
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(&files.spare_dir, spare, flags, Mode::empty())?;
    let length = write_start(plan, &file)?;
    ftruncate(&file, length as u64)?;
    let flags = RenameFlags::NOREPLACE;
    renameat_with(&files.spare_dir, spare, &files.dir, &plan.started, flags)?;
    Ok(file)
}

/// Writes the contents of a `started` file, and returns their length in bytes.
fn write_start(plan: &SpawnSpec, file: &OwnedFd) -> Result<usize, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let stat = rustix::fs::open(c"/proc/self/stat", flags, Mode::empty())?;
    let mut line = [0; 1024];
    let length = rustix::io::read(&stat, &mut line)?;
    let parts = [&plan.header, line.get(..length).unwrap_or_default()];
    let length = parts[0].len() + parts[1].len();
    match rustix::io::writev(file, &parts.map(IoSlice::new))? < length {
        true => Err(Errno::NOSPC),
        false => Ok(length),
    }
}

/// Adds to the `started` file which files the output and the errors are, so that a later runner limits them, too.
fn record_files(plan: &SpawnSpec, started: &OwnedFd) -> Result<(), Errno> {
    for (name, file) in [
        (OUTPUT_LINE, Some(&plan.output)),
        (ERROR_LINE, plan.error.as_ref()),
    ] {
        let Some(file) = file else {
            continue;
        };
        let mut line = [0; FileId::LINE_BYTES];
        let line = file.id.write_line(&mut line);
        if line.is_empty() {
            continue;
        }
        let parts = [name.as_bytes(), line];
        let length = name.len() + line.len();
        if rustix::io::writev(started, &parts.map(IoSlice::new))? < length {
            return Err(Errno::NOSPC);
        }
    }
    Ok(())
}

fn confine(plan: &SpawnSpec) -> Result<(), Errno> {
    for group in &plan.cgroup_files {
        rustix::io::write(group, THIS_THREAD.as_bytes())?;
    }
    if let Some(cpus) = &plan.affinity {
        rustix::thread::sched_setaffinity(None, cpus)?;
    }
    if let Some(bytes) = plan.address_space {
        let limit = Rlimit {
            current: Some(bytes),
            maximum: Some(bytes),
        };
        rustix::process::setrlimit(Resource::As, limit)?;
    }
    if plan.nice > 0 {
        rustix::process::setpriority_process(None, plan.nice)?;
    }
    if plan.is_low_priority {
        // A sandbox may forbid either, and the task runs all the same.
        let _ = spawn::set_idle_io_priority();
        let _ = raise_oom_score();
    }
    rustix::process::umask(Mode::from_raw_mode(plan.umask & 0o777));
    Ok(())
}

/// Lets the kernel kill the child before processes of users when memory is short.
fn raise_oom_score() -> Result<(), Errno> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let score = rustix::fs::open(c"/proc/self/oom_score_adj", flags, Mode::empty())?;
    rustix::io::write(&score, OOM_SCORE).map(drop)
}

/// Sets the groups, then the user: a process that is no longer root cannot change its groups.
fn become_user(plan: &SpawnSpec) -> Result<(), Errno> {
    let Some(user) = &plan.user else {
        return Ok(());
    };
    rustix::thread::set_thread_groups(&user.groups)?;
    rustix::thread::set_thread_res_gid(user.gid, user.gid, user.gid)?;
    rustix::thread::set_thread_res_uid(user.uid, user.uid, user.uid)?;
    rustix::thread::set_no_new_privs(true)?;
    // The kernel has cleared the death signal with the change of user.
    set_death_signal(plan)
}

/// Opens the input as the user. The open does not wait for a writer if the file is a named pipe.
fn open_input(plan: &SpawnSpec) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK;
    let input = open_file(&plan.input, flags)?;
    let mode = rustix::fs::fstat(&input)?.st_mode;
    if FileType::from_raw_mode(mode) == FileType::Directory {
        return Err(Errno::ISDIR);
    }
    rustix::fs::fcntl_setfl(&input, OFlags::empty())?;
    rustix::stdio::dup2_stdin(&input)
}

/// Opens a file to write to as the user, so that no user can write through the runner to files without
/// permission. A symbolic link is rejected, since in a directory that others may write to it may
/// lead to any file of the user. The open does not wait for a reader if the file is a named pipe. Each write
/// goes to the end of the file, so that processes that share it do not overwrite each other.
fn open_written(file: &WrittenFile, append: bool) -> Result<OwnedFd, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NOCTTY;
    let begin = match append {
        true => OFlags::empty(),
        false => OFlags::TRUNC,
    };
    let flags = flags | begin | OFlags::APPEND | OFlags::NONBLOCK;
    let open = match (open_file(&file.path, flags), &file.dir) {
        (Err(Errno::NOENT), Some(dir)) => {
            make_dir(dir)?;
            open_file(&file.path, flags)?
        }
        (opened, _) => opened?,
    };
    rustix::fs::fcntl_setfl(&open, OFlags::APPEND)?;
    file.id.set(&rustix::fs::fstat(&open)?);
    Ok(open)
}

/// Creates one directory, as the user and with the user's umask. Another task of the same job may
/// have created it meanwhile.
fn make_dir(path: &CStr) -> Result<(), Errno> {
    match rustix::fs::mkdir(path, Mode::from_raw_mode(0o777)) {
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}

fn open_file(path: &CStr, flags: OFlags) -> Result<rustix::fd::OwnedFd, Errno> {
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o666))
}
