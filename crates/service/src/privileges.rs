//! Root gives itself up: what root does for a service or a worker of all users, before it becomes an account
//! that is nobody's.
//!
//! What parses the network and decides needs no rights over users. Root prepares the data folder, starts the
//! [starter](tollgate_engine::starter), which is all that stays root beside the runner, and becomes the
//! account for good, before anything is listened to.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::process::Child;

use nix::unistd;
use rustix::thread::{Gid, Uid};
use tollgate_engine::starter::{LaunchGuard, StarterLink};

use crate::data_dir::{ACCOUNT_DIR_MODE, DataDirError, SETTINGS, check_parents, engine_dir_in};

/// The account that a service of root's becomes where the settings name no other.
pub const ACCOUNT: &str = "tollgate";

/// An account of the system that a service becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    name: String,
    uid: u32,
    gid: u32,
}

/// What a service that has given up root starts its runners by.
#[derive(Debug)]
pub struct PrivilegeDrop {
    /// The way to the starter.
    pub starter: StarterLink,
    /// Whether the data folder was given to the account just now.
    pub took_over: bool,
}

/// Why root cannot give itself up.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegeError {
    /// There is no such account.
    #[error(
        "account: the system knows no user `{0}`: expected an account for what parses the network"
    )]
    NoAccount(String),
    /// The system cannot say.
    #[error("account: `{name}` cannot be looked up: {reason}")]
    Account {
        /// Who was looked for.
        name: String,
        /// What it said.
        reason: String,
    },
    /// The folder is not as it must be.
    #[error(transparent)]
    Folder(#[from] DataDirError),
    /// Threads that were started before would stay root.
    #[error("root cannot be given up: expected one thread, found {0}")]
    Threads(usize),
    /// The system says no.
    #[error("{action}: {error}")]
    System {
        /// What was being done.
        action: &'static str,
        /// What it said.
        error: io::Error,
    },
}

impl PrivilegeError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoAccount(name) => Some(format!("create it with `useradd --system {name}`")),
            Self::Folder(error) => error.hint().map(str::to_owned),
            Self::Account { .. } | Self::Threads(_) | Self::System { .. } => None,
        }
    }
}

fn system(action: &'static str) -> impl Fn(io::Error) -> PrivilegeError {
    move |error| PrivilegeError::System { action, error }
}

impl ServiceAccount {
    /// Looks an account up by its name. None if it is root: then nothing is given up.
    ///
    /// # Errors
    /// If there is none, or the system cannot say.
    pub fn by_name(name: &str) -> Result<Option<Self>, PrivilegeError> {
        let found = unistd::User::from_name(name).map_err(|error| PrivilegeError::Account {
            name: name.to_owned(),
            reason: error.desc().to_owned(),
        })?;
        let user = found.ok_or_else(|| PrivilegeError::NoAccount(name.to_owned()))?;
        let account = Self {
            name: user.name,
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
        };
        Ok(Some(account).filter(|account| account.uid != 0))
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the data folder to the account, starts a starter of runners that hold launches to what is
    /// said here, and becomes the account for good. To be called by root, before any other thread is started.
    ///
    /// `starter` and `runner` are programs with their first arguments.
    ///
    /// # Errors
    /// If the folder cannot be one of this account's, or the system says no.
    pub fn switch_to(
        &self,
        folder: &Path,
        root_jobs: bool,
        starter: &[OsString],
        runner: &[OsString],
    ) -> Result<PrivilegeDrop, PrivilegeError> {
        let (folder, took_over) = self.take_over(folder)?;
        let guard = LaunchGuard {
            account: self.uid,
            root_jobs,
        };
        let started = StarterLink::start(starter, &engine_dir_in(&folder), guard, runner);
        let (starter, process) = started.map_err(system("the starter cannot be started"))?;
        self.give_up_root()?;
        exit_with_starter(process).map_err(system("no thread can be started"))?;
        Ok(PrivilegeDrop { starter, took_over })
    }

    /// Makes the data folder one that root keeps and the account writes to: root's with the account's group,
    /// which may make files in it, and rename or delete its own alone (sticky). Says where it is, and
    /// whether it was another one before.
    fn take_over(&self, path: &Path) -> Result<(PathBuf, bool), PrivilegeError> {
        let failed = |action| {
            let path = path.to_owned();
            move |error| DataDirError::System {
                path,
                action,
                error,
            }
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(failed("cannot be made"))?;
        let path = fs::canonicalize(path).map_err(failed("cannot be found"))?;
        check_parents(&path)?;
        let metadata = fs::metadata(&path).map_err(failed("cannot be looked at"))?;
        let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
        let is_ours = owner == 0 && metadata.gid() == self.gid && mode == ACCOUNT_DIR_MODE;
        if is_ours {
            self.take_socket(&path)
                .map_err(failed("cannot be given to the account"))?;
            close_settings(&path).map_err(failed("cannot be closed to others"))?;
            return Ok((path, false));
        }
        if owner != 0 && owner != self.uid {
            return Err(DataDirError::Foreign { path, owner, me: 0 }.into());
        }
        if mode & 0o022 != 0 {
            return Err(DataDirError::WritableByOthers { path, mode }.into());
        }
        // Nobody but root could write to a folder of root's so far, so that what is in it is what root made.
        if owner == 0 {
            self.take_files(&path)
                .map_err(failed("cannot be given to the account"))?;
        }
        lchown(&path, Some(0), Some(self.gid)).map_err(failed("cannot be given to the account"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(ACCOUNT_DIR_MODE))
            .map_err(failed("cannot be opened to the account"))?;
        close_settings(&path).map_err(failed("cannot be closed to others"))?;
        Ok((path, true))
    }

    /// Files alone: the folders of the runner stay root's, and so do the settings.
    fn take_files(&self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            let kind = metadata.file_type();
            let is_alone = kind.is_file() && metadata.nlink() == 1;
            if (is_alone || kind.is_socket()) && entry.file_name() != SETTINGS {
                lchown(entry.path(), Some(self.uid), Some(self.gid))?;
            }
        }
        Ok(())
    }

    /// A socket that a service of root's has left behind, which the account could not remove.
    fn take_socket(&self, folder: &Path) -> io::Result<()> {
        let socket = crate::data_dir::socket(folder);
        match fs::symlink_metadata(&socket) {
            Ok(found) if found.file_type().is_socket() && found.uid() == 0 => {
                lchown(&socket, Some(self.uid), Some(self.gid))
            }
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Groups first: who is no longer root cannot change them. All threads that are started later are born
    /// as the account; one that is there already would stay root.
    fn give_up_root(&self) -> Result<(), PrivilegeError> {
        let threads = fs::read_dir("/proc/self/task").map_err(system("/proc cannot be read"))?;
        let threads = threads.count();
        if threads != 1 {
            return Err(PrivilegeError::Threads(threads));
        }
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        let given_up = rustix::thread::set_thread_groups(&[])
            .and_then(|()| rustix::thread::set_thread_res_gid(gid, gid, gid))
            .and_then(|()| rustix::thread::set_thread_res_uid(uid, uid, uid))
            .and_then(|()| rustix::thread::set_no_new_privs(true));
        given_up.map_err(|error| system("root cannot be given up")(error.into()))
    }
}

/// The settings in a folder are root's to read, if they are root's: the account is told what is in them.
fn close_settings(folder: &Path) -> io::Result<()> {
    let file = folder.join(SETTINGS);
    match fs::symlink_metadata(&file) {
        // Nobody but root can put something else in its place.
        Ok(found) if found.is_file() && found.uid() == 0 => {
            fs::set_permissions(&file, fs::Permissions::from_mode(found.mode() & 0o700))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Without a starter no runner can be started any more: then this process exits as one that failed, so that a
/// service manager starts it again as root. As after a crash nothing is lost, and jobs go on.
fn exit_with_starter(mut starter: Child) -> io::Result<()> {
    let watching = move || {
        let ended = starter.wait();
        let ended = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
        tracing::error!(%ended, "the starter has ended, and so does this process");
        std::process::exit(1);
    };
    let thread = std::thread::Builder::new().name("starter".to_owned());
    thread.spawn(watching).map(drop)
}
