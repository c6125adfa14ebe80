//! The switch from root to an unprivileged account, and the work that root does before it, for a
//! service or a worker that serves all users.
//!
//! The code that parses network input and decides needs no rights over users. Root prepares the
//! data directory and starts the [starter](tollgate_runner::starter), the only process besides the
//! runner that stays root. Then root switches to the account for good, before the process listens
//! for connections.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::process::Child;

use rustix::thread::{CapabilitySet, CapabilitySets, Gid, Uid};
use tollgate_host::UserAccount;
use tollgate_runner::guard::{LaunchGuard, UserFloor};
use tollgate_runner::starter::StarterLink;
use tollgate_store::data_dir::{
    ACCOUNT_DIR_MODE, DataDirError, SETTINGS, check_parents, engine_dir_in,
};

/// The default account of a service that root starts.
pub const ACCOUNT: &str = "tollgate";

/// The system account of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    name: String,
    uid: u32,
    gid: u32,
}

/// The right of root that the account keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptRight {
    /// None.
    None,
    /// To read every file (`CAP_DAC_READ_SEARCH`). The input devices and terminals of a computer tell so when its users are
    /// there.
    ReadFiles,
}

/// The handle by which an unprivileged service starts its runners.
#[derive(Debug)]
pub struct PrivilegeDrop {
    /// Connection to the starter.
    pub starter: StarterLink,
    /// Whether the data directory was given to the account by this call.
    pub took_over: bool,
}

/// An error of the switch to the account.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegeError {
    /// The account does not exist.
    #[error(
        "account: the system knows no user `{0}`: expected an account for what parses the network"
    )]
    NoAccount(String),
    /// The lookup failed.
    #[error("account: `{name}` cannot be looked up: {reason}")]
    Account {
        /// Name of the account.
        name: String,
        /// The system's error.
        reason: String,
    },
    /// The data directory cannot be used.
    #[error(transparent)]
    Folder(#[from] DataDirError),
    /// The process has other threads, which would stay root.
    #[error("root cannot be given up: expected one thread, found {0}")]
    Threads(usize),
    /// A system call failed.
    #[error("{action}: {error}")]
    System {
        /// The failed action.
        action: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

impl PrivilegeError {
    /// Returns what an operator can do about the error.
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
    /// Looks up an account by name. Returns None for root: the process then stays root.
    ///
    /// # Errors
    /// If there is no such account, or the lookup fails.
    pub fn by_name(name: &str) -> Result<Option<Self>, PrivilegeError> {
        let found = UserAccount::by_name(name).map_err(|error| PrivilegeError::Account {
            name: name.to_owned(),
            reason: error.to_string(),
        })?;
        let user = found.ok_or_else(|| PrivilegeError::NoAccount(name.to_owned()))?;
        let account = Self {
            name: user.name,
            uid: user.uid,
            gid: user.gid,
        };
        Ok(Some(account).filter(|account| account.uid != 0))
    }

    /// Returns the name of the account.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the data directory to the account, starts a starter that accepts only launches within
    /// the given rules, and switches to the account for good. It has at most one right of root then. Root must call
    /// this function before it starts any other thread.
    ///
    /// `starter` and `runner` are programs with their first arguments.
    ///
    /// # Errors
    /// If the directory cannot be given to the account, or a system call fails.
    pub fn switch_to(
        &self,
        dir: &Path,
        (root_jobs, floor): (bool, UserFloor),
        starter: &[OsString],
        runner: &[OsString],
        kept: KeptRight,
    ) -> Result<PrivilegeDrop, PrivilegeError> {
        let (dir, took_over) = self.take_over(dir)?;
        let guard = LaunchGuard {
            account: self.uid,
            root_jobs,
            floor,
        };
        let started = StarterLink::start(starter, &engine_dir_in(&dir), guard, runner);
        let (starter, process) = started.map_err(system("the starter cannot be started"))?;
        self.give_up_root(kept)?;
        exit_with_starter(process, starter.clone()).map_err(system("no thread can be started"))?;
        Ok(PrivilegeDrop { starter, took_over })
    }

    /// Prepares a data directory that root owns and the account writes to. Its group is the account's, whose
    /// members may create files but rename and delete only their own (sticky bit). Returns the canonical
    /// path, and whether the directory was changed.
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
        // Only root could write to a directory of root's so far, so its contents are root's.
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

    /// Gives files and sockets to the account, and the outputs that are kept. The directories of the
    /// runner stay root's, and so do the settings.
    fn take_files(&self, dir: &Path) -> io::Result<()> {
        let outputs = tollgate_store::data_dir::outputs(dir);
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            let kind = metadata.file_type();
            if kind.is_dir() && entry.path() == outputs {
                self.take_files(&outputs)?;
                lchown(&outputs, Some(self.uid), Some(self.gid))?;
                continue;
            }
            let is_alone = kind.is_file() && metadata.nlink() == 1;
            if (is_alone || kind.is_socket()) && entry.file_name() != SETTINGS {
                lchown(entry.path(), Some(self.uid), Some(self.gid))?;
            }
        }
        Ok(())
    }

    /// Gives a socket that a service of root's has left behind to the account, which could not
    /// remove the socket otherwise.
    fn take_socket(&self, dir: &Path) -> io::Result<()> {
        let socket = tollgate_store::data_dir::socket(dir);
        match fs::symlink_metadata(&socket) {
            Ok(found) if found.file_type().is_socket() && found.uid() == 0 => {
                lchown(&socket, Some(self.uid), Some(self.gid))
            }
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Groups are changed first, because a process without root cannot change them. Threads started
    /// later inherit the account, but an existing thread would stay root.
    fn give_up_root(&self, kept: KeptRight) -> Result<(), PrivilegeError> {
        let threads = fs::read_dir("/proc/self/task").map_err(system("/proc cannot be read"))?;
        let threads = threads.count();
        if threads != 1 {
            return Err(PrivilegeError::Threads(threads));
        }
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        let rights = match kept {
            KeptRight::None => CapabilitySet::empty(),
            KeptRight::ReadFiles => CapabilitySet::DAC_READ_SEARCH,
        };
        let rights = CapabilitySets {
            effective: rights,
            permitted: rights,
            inheritable: CapabilitySet::empty(),
        };
        let keeps = kept != KeptRight::None;
        let given_up = rustix::thread::set_thread_groups(&[])
            .and_then(|()| rustix::thread::set_keep_capabilities(keeps))
            .and_then(|()| rustix::thread::set_thread_res_gid(gid, gid, gid))
            .and_then(|()| rustix::thread::set_thread_res_uid(uid, uid, uid))
            .and_then(|()| rustix::thread::set_capabilities(None, rights))
            .and_then(|()| rustix::thread::set_no_new_privs(true));
        given_up.map_err(|error| system("root cannot be given up")(error.into()))
    }
}

/// Makes settings that belong to root readable for root only: the account receives their contents
/// from root.
fn close_settings(dir: &Path) -> io::Result<()> {
    let file = dir.join(SETTINGS);
    match fs::symlink_metadata(&file) {
        // Only root can replace this file.
        Ok(found) if found.is_file() && found.uid() == 0 => {
            fs::set_permissions(&file, fs::Permissions::from_mode(found.mode() & 0o700))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Exits with an error once the starter has ended, because no runner can be started without a
/// starter: a service manager then starts this process again as root. As after a crash nothing is
/// lost, and jobs go on.
///
/// The thread keeps `link` open until this process ends. A starter ends when its link is closed, so otherwise a
/// process that ends for an error of its own would end here, before its user learns of the error.
fn exit_with_starter(mut starter: Child, link: StarterLink) -> io::Result<()> {
    let watching = move || {
        let _link = link;
        let ended = starter.wait();
        let ended = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
        tracing::error!(%ended, "the starter has ended, and so does this process");
        std::process::exit(1);
    };
    let thread = std::thread::Builder::new().name("starter".to_owned());
    thread.spawn(watching).map(drop)
}
