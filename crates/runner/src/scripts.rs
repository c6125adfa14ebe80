//! The scripts of unfinished tasks: their texts, and the copies that tasks run. The files that list the
//! hosts of tasks (`node_files`) are beside the copies.
//!
//! The runner writes a text into `scripts` in its own directory, which no task can enter. A child that needs
//! the text makes the copy in the directory beside the runner's, before it becomes the user. The runner
//! itself must not make the copy. Every child that is set up while the runner has a file open for writing
//! inherits that file, and the system runs no file that is open for writing.
//!
//! A copy belongs to the runner's user, the only user that may change it. The user of its task can
//! read it and no other user can, because the arguments of a process, including the name of its
//! script, are visible to every user. A copy is created and removed, and the runner never reads it,
//! so tampering with its directory does no harm.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, XattrFlags, fchmod, openat, renameat, sendfile, statat};
use rustix::io::Errno;
use tollgate_engine::{EngineError, LaunchSpec, LaunchUser};

use crate::node_files;
use crate::state_dir::make_private;

/// The directory of the texts in the runner's own.
const ORIGINALS_DIR: &str = "scripts";
/// The suffix of the name of the copies' directory, after the name of the runner's.
const COPIES_DIR_SUFFIX: &str = "-scripts";
/// The prefix of the name of an incomplete copy, before the name of its attempt.
const PARTIAL_PREFIX: &str = "half-";
/// The maximum number of bytes that one call copies.
const CHUNK_BYTES: usize = 1 << 20;

/// The open directories.
pub(crate) struct ScriptDirs {
    originals: OwnedFd,
    copies: OwnedFd,
    path: PathBuf,
}

/// The directories, and the number of tasks that need each file.
pub(crate) struct ScriptCache {
    dirs: Arc<ScriptDirs>,
    /// By the name of a script, and by the stem of the names of two node files.
    task_counts: BTreeMap<String, usize>,
}

/// The data that a child needs to make its copy of a script, prepared in advance like the rest of
/// its plan.
pub(crate) struct ScriptCopySpec {
    dirs: Arc<ScriptDirs>,
    text: OwnedFd,
    name: CString,
    partial_name: CString,
    /// None if the task runs as the runner's own user.
    read_grant: Option<ScriptReadGrant>,
}

/// A user that may read a copy of another owner.
struct ScriptReadGrant {
    user: rustix::process::Uid,
    /// The access control list for this user, in the system's format.
    acl: Vec<u8>,
}

impl ScriptCache {
    /// Opens the directories of the runner in `runner`. Other users may pass through the copies'
    /// directory if tasks of `other_users` run.
    pub(crate) fn open(runner: &Path, other_users: bool) -> Result<Self, EngineError> {
        let failed = |path: &Path, step| {
            let path = path.to_owned();
            move |source| EngineError::Setup { path, step, source }
        };
        let texts = runner.join(ORIGINALS_DIR);
        make_private(&texts).map_err(failed(&texts, "making it"))?;
        let texts = File::open(&texts).map_err(failed(&texts, "opening it"))?;
        let path = copies_of(runner).map_err(failed(runner, "looking at it"))?;
        let copies = open_copies(&path, other_users).map_err(failed(&path, "making it"))?;
        let folders = ScriptDirs {
            originals: texts.into(),
            copies,
            path,
        };
        Ok(Self {
            dirs: Arc::new(folders),
            task_counts: BTreeMap::new(),
        })
    }

    pub(crate) fn dirs(&self) -> Arc<ScriptDirs> {
        Arc::clone(&self.dirs)
    }

    /// Counts an unfinished task, and writes the files that no other task needed. The first task that
    /// needs a script contains its text, unless an earlier runner has written the text.
    pub(crate) fn retain(&mut self, launch: &LaunchSpec, text: Option<&str>) -> io::Result<()> {
        let (stem, script) = (node_files::stem(launch), file_name(launch));
        let is_new = |name: &String| !self.task_counts.contains_key(name);
        if let Some(stem) = stem.as_ref().filter(|stem| is_new(stem)) {
            let files = node_files::names(stem).into_iter();
            for (name, text) in files.zip(node_files::texts(launch)) {
                // Every user may read it, and users of tasks can reach it.
                let mode = Mode::RUSR | Mode::RGRP | Mode::ROTH;
                self.write(&self.dirs.copies, &name, &text, mode)?;
            }
        }
        if let (Some(name), Some(text)) = (script.as_ref().filter(|name| is_new(name)), text) {
            let mode = Mode::RUSR | Mode::WUSR;
            self.write(&self.dirs.originals, name, text, mode)?;
        }
        for name in stem.into_iter().chain(script) {
            *self.task_counts.entry(name).or_default() += 1;
        }
        Ok(())
    }

    /// Removes a finished task, and the files that no other task needs.
    pub(crate) fn release(&mut self, launch: &LaunchSpec) {
        if let Some(stem) = node_files::stem(launch)
            && self.is_last(&stem)
        {
            for name in node_files::names(&stem) {
                self.remove(&self.dirs.copies, &name);
            }
        }
        let Some(name) = file_name(launch) else {
            return;
        };
        // A child that was killed while it made its copy has left an incomplete one.
        self.remove(&self.dirs.copies, &partial_name(launch));
        if self.is_last(&name) {
            self.remove(&self.dirs.copies, &name);
            self.remove(&self.dirs.originals, &name);
        }
    }

    /// Removes one task that needs a file. Returns whether no other task needs the file.
    fn is_last(&mut self, name: &str) -> bool {
        let Some(tasks) = self.task_counts.get_mut(name) else {
            return false;
        };
        *tasks -= 1;
        let is_last = *tasks == 0;
        if is_last {
            self.task_counts.remove(name);
        }
        is_last
    }

    /// Removes the files of an earlier runner that no task needs.
    pub(crate) fn remove_unused(&self) {
        for folder in [&self.dirs.copies, &self.dirs.originals] {
            let entries = rustix::fs::Dir::read_from(folder).into_iter().flatten();
            for entry in entries.flatten() {
                let name = String::from_utf8_lossy(entry.file_name().to_bytes()).into_owned();
                let stem = name.rsplit_once('.').map_or(&*name, |(stem, _)| stem);
                if !self.task_counts.contains_key(stem) {
                    self.remove(folder, &name);
                }
            }
        }
    }

    /// Writes a text under a temporary name first, so that an existing text is always complete.
    fn write(&self, folder: &OwnedFd, name: &str, text: &str, mode: Mode) -> io::Result<()> {
        self.remove(folder, PARTIAL_PREFIX);
        let mut file = File::from(create(folder, c"half-")?);
        file.write_all(text.as_bytes())?;
        fchmod(&file, mode)?;
        Ok(renameat(folder, c"half-", folder, name)?)
    }

    /// Removes a file. The next runner retries a removal that fails. Directories are never ours,
    /// and stay.
    fn remove(&self, folder: &OwnedFd, name: &str) {
        let _ = rustix::fs::unlinkat(folder, name, AtFlags::empty());
    }
}

impl ScriptDirs {
    /// Returns the path of the copy that a launch runs. None if the launch comes without a script.
    pub(crate) fn path_of(&self, launch: &LaunchSpec) -> Option<PathBuf> {
        Some(self.path.join(file_name(launch)?))
    }

    /// Returns the directory of the copies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl ScriptCopySpec {
    /// Prepares the copy that a launch runs. None if the launch comes without a script.
    pub(crate) fn new(folders: &Arc<ScriptDirs>, launch: &LaunchSpec) -> io::Result<Option<Self>> {
        let Some(name) = file_name(launch) else {
            return Ok(None);
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let own = rustix::process::geteuid().as_raw();
        let user = launch.user.as_ref().filter(|user| user.uid != own);
        Ok(Some(Self {
            dirs: Arc::clone(folders),
            text: openat(&folders.originals, name.as_str(), flags, Mode::empty())?,
            name: CString::new(name)?,
            partial_name: CString::new(partial_name(launch))?,
            read_grant: user.map(ScriptReadGrant::new),
        }))
    }

    /// Makes the copy, unless it exists. A child calls this function: it makes nothing but system
    /// calls.
    pub(crate) fn create_copy(&self) -> Result<(), Errno> {
        let copies = &self.dirs.copies;
        match statat(copies, self.name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => return Ok(()),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
        let file = create(copies, &self.partial_name)?;
        // The descriptor's own position does not move: other processes may have the text open.
        let mut position = 0;
        while sendfile(&file, &self.text, Some(&mut position), CHUNK_BYTES)? > 0 {}
        fchmod(&file, Mode::RUSR | Mode::XUSR)?;
        if let Some(reader) = &self.read_grant {
            reader.grant(&file)?;
        }
        drop(file);
        renameat(
            copies,
            self.partial_name.as_c_str(),
            copies,
            self.name.as_c_str(),
        )
    }
}

impl ScriptReadGrant {
    fn new(user: &LaunchUser) -> Self {
        Self {
            user: rustix::process::Uid::from_raw(user.uid),
            acl: read_acl(user.uid),
        }
    }

    /// Lets the user read the copy. Where the file system has no access control lists, the user
    /// becomes the owner of the file, and may then change the program of their own tasks.
    fn grant(&self, file: &OwnedFd) -> Result<(), Errno> {
        let attribute = c"system.posix_acl_access";
        match rustix::fs::fsetxattr(file, attribute, &self.acl, XattrFlags::empty()) {
            Err(Errno::OPNOTSUPP) => rustix::fs::fchown(file, Some(self.user), None),
            result => result,
        }
    }
}

/// Returns an access control list with which only the owner and this user can read and execute a
/// file, in the format of `linux/posix_acl_xattr.h`, version 2.
fn read_acl(user: u32) -> Vec<u8> {
    const VERSION: u32 = 2;
    const READ_AND_EXECUTE: u16 = 5;
    const NOTHING: u16 = 0;
    const NOBODY: u32 = u32::MAX;
    // The entries: the owner, a user, the group, the maximum for users and groups, others.
    let entries: [(u16, u16, u32); 5] = [
        (0x01, READ_AND_EXECUTE, NOBODY),
        (0x02, READ_AND_EXECUTE, user),
        (0x04, NOTHING, NOBODY),
        (0x10, READ_AND_EXECUTE, NOBODY),
        (0x20, NOTHING, NOBODY),
    ];
    let mut list = VERSION.to_le_bytes().to_vec();
    for (about, rights, id) in entries {
        list.extend(about.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

fn create(folder: &OwnedFd, name: &std::ffi::CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, name, flags, Mode::RUSR | Mode::WUSR)
}

/// Returns the file name for the text and the copies of a launch's script, the same for equal
/// scripts of one user. None if the launch comes without a script.
fn file_name(launch: &LaunchSpec) -> Option<String> {
    let script = launch.script.as_ref()?;
    let own = || rustix::process::geteuid().as_raw();
    let user = launch.user.as_ref().map_or_else(own, |user| user.uid);
    Some(format!("{user}-{}", script.sha256()))
}

fn partial_name(launch: &LaunchSpec) -> String {
    format!("{PARTIAL_PREFIX}{}", launch.attempt)
}

/// Returns the directory of the copies: beside the runner's, because other users may not pass
/// through that one. The path is valid in any working directory of a child.
fn copies_of(runner: &Path) -> io::Result<PathBuf> {
    let runner = fs::canonicalize(runner)?;
    let mut name = runner
        .file_name()
        .unwrap_or(OsStr::new(""))
        .as_bytes()
        .to_vec();
    name.extend(COPIES_DIR_SUFFIX.as_bytes());
    Ok(runner.with_file_name(OsStr::from_bytes(&name)))
}

/// Opens the directory of the copies, or creates it. The directory gets the permissions that it
/// needs, with any umask.
fn open_copies(path: &Path, other_users: bool) -> io::Result<OwnedFd> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if folder.metadata()?.uid() != rustix::process::geteuid().as_raw() {
        let expected = "expected a directory of this user";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, expected));
    }
    let mode = match other_users {
        true => Mode::RWXU | Mode::XGRP | Mode::XOTH,
        false => Mode::RWXU,
    };
    fchmod(&folder, mode)?;
    Ok(folder.into())
}
