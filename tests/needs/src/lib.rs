//! Needs of tests that not every machine fulfils: traces, the rights of root, control groups and the like.
//!
//! A test that cannot run calls [`lacks`] and returns, so that a green run on a poor machine says what it left out:
//!
//! - `TOLLGATE_REQUIRE=traces,root` makes a test fail that lacks one of these;
//! - `TOLLGATE_NOT_RUN=FILE` names a file to which each lack is appended: the need, the test and the reason.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use strum::IntoStaticStr;

/// The need of a test. The words are those of `TOLLGATE_REQUIRE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Need {
    /// A directory of workload traces and accounting records, named by `TOLLGATE_TRACES`.
    Traces,
    /// The rights of root.
    Root,
    /// Control groups that can be made here.
    Cgroups,
    /// Control groups of version 1 with a memory controller.
    CgroupsV1,
    /// The right to mount a file system.
    Mounts,
    /// The right to make device files.
    Devices,
    /// FUSE.
    Fuse,
    /// A directory for temporary files that is not in memory.
    Disk,
    /// The library libfaketime.
    Faketime,
    /// The database of time zones.
    Zones,
    /// A batch system that runs.
    BatchSystem,
    /// The kernel's count of the time that threads wait for a processor.
    WaitTimes,
    /// A program that is not installed everywhere.
    Program,
}

/// Returns the directory that `TOLLGATE_TRACES` names; None, after [`lacks`], without one.
///
/// # Panics
/// If `TOLLGATE_REQUIRE` contains `traces`.
pub fn traces() -> Option<PathBuf> {
    let named = std::env::var_os("TOLLGATE_TRACES").map(PathBuf::from);
    if named.is_none() {
        lacks(Need::Traces, "TOLLGATE_TRACES names no directory");
    }
    named
}

/// Returns whether this is root; false after [`lacks`].
///
/// # Panics
/// If `TOLLGATE_REQUIRE` contains `root`.
pub fn root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        lacks(Need::Root, "only root can do this");
    }
    is_root
}

/// Records that the calling test, or a part of it, does not run here.
///
/// # Panics
/// If `TOLLGATE_REQUIRE` contains the need, or the file of `TOLLGATE_NOT_RUN` cannot be written.
pub fn lacks(need: Need, reason: impl Display) {
    let word: &str = need.into();
    let required = std::env::var("TOLLGATE_REQUIRE").unwrap_or_default();
    let is_required = required.split(',').any(|name| name.trim() == word);
    assert!(!is_required, "{word} is required here, but {reason}");
    eprintln!("not run: {word}: {reason}");
    let Some(file) = std::env::var_os("TOLLGATE_NOT_RUN") else {
        return;
    };
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a thread of a test");
    let line = format!("{word}: {test}: {reason}\n");
    // One write, so that the lines of tests in other processes stay whole.
    let file = File::options().append(true).create(true).open(file);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.expect("the file of TOLLGATE_NOT_RUN can be written");
}
