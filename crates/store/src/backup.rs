//! Backups of a data directory: created while the service runs, restored to another directory.
//!
//! A backup is a directory with a consistent copy of the store, the service's identity, tokens,
//! certificate and list of workers, and its settings. A backup does not record the outcome of jobs
//! that run when it is created: a restored service reports these jobs as lost.
//!
//! A store passes a check, a backup and a restore only if a service could go on with it. Its state is
//! recovered from it, under the rules in force, as the service would do it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown, lchown};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tollgate_host::{guarded, replace_private};
use tollgate_policy::PolicyRegistry;

use crate::copy::OpenStore;
use crate::data_dir::{self, DataDir, DataDirError};
use crate::error::StoreError;
use crate::format::VERSION;
use crate::impossible::ImpossibleValue;
use crate::integrity::CheckedRows;
use crate::rehearsal::Rehearsal;
use crate::rights::{with_author_rights, with_writer_rights};
use crate::store::Store;

/// The file that marks a complete backup. It is written last.
const MANIFEST: &str = "backup.json";

/// The settings file. A restore does not replace an existing one.
const SETTINGS: &str = "config.toml";

/// The files that are copied as they are; any of them may be missing.
const COPIED_FILES: &[&str] = &[
    SETTINGS,
    "identity",
    "tokens.toml",
    "accounts.toml",
    "workers.json",
    "server.crt",
    "server.key",
];

/// The description of a backup: the file `backup.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupManifest {
    /// The version of the program that created the backup.
    pub program: String,
    /// The version of the store's tables that this program writes.
    pub store_version: u32,
    /// Creation time: ISO 8601, in UTC.
    pub made_at: String,
}

/// A store that a service could go on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedStore {
    /// The number of rows.
    pub rows: CheckedRows,
    /// The values that cannot be true. A service goes on with them, and they distort its figures.
    pub impossible: Vec<ImpossibleValue>,
}

/// A reason why a backup could not be created, restored or checked.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The store cannot be read, or is damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The data directory cannot be used.
    #[error(transparent)]
    Dir(#[from] DataDirError),
    /// The directory for the backup belongs to another user, who could replace its files.
    #[error("{}: belongs to user {owner}: expected a directory of this user", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// User id of its owner.
        owner: u32,
    },
    /// The directory for the backup is not empty.
    #[error("{}: expected a directory that is empty or does not exist yet", .0.display())]
    NotEmpty(PathBuf),
    /// The data directory has no store.
    #[error("{}: there is no store in this directory", .0.display())]
    NoStore(PathBuf),
    /// The directory is not a backup, or the backup is incomplete.
    #[error("{}: expected a backup, found no {MANIFEST} that can be read", .0.display())]
    NoBackup(PathBuf),
    /// The directory to restore to has a store.
    #[error("{}: this directory already has a store", .0.display())]
    Occupied(PathBuf),
    /// A file operation failed.
    #[error("{}: {action}: {error}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The failed action.
        action: &'static str,
        /// The error.
        error: io::Error,
    },
}

impl BackupError {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Dir(error) => error.hint(),
            Self::NotEmpty(_) | Self::Foreign { .. } => {
                Some("name a new directory for each backup")
            }
            Self::NoStore(_) => Some("name the service's data directory with `--data`"),
            Self::NoBackup(_) => Some("name a directory that `tollgate backup` has created"),
            Self::Occupied(_) => {
                Some("restore to a new directory with `--data`, or move this store away")
            }
            Self::File { .. } => None,
        }
    }
}

fn failed(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> BackupError {
    let path = path.to_owned();
    move |error| BackupError::File {
        path,
        action,
        error,
    }
}

/// Creates a backup of the data directory `data` in `to`; a service may be using `data`. `made_at`
/// is the current time; `registry` has the policies that the rules in force may name. Root reads the store
/// with the rights of the account that writes to `data`.
///
/// # Errors
/// If the data directory cannot be read, the backup cannot be written, or no service could go on with the
/// store.
pub fn back_up(
    data: &Path,
    to: &Path,
    made_at: String,
    registry: &PolicyRegistry,
) -> Result<CheckedStore, BackupError> {
    let store = data_dir::store(data);
    if !has_bytes(&store) {
        return Err(BackupError::NoStore(data.to_owned()));
    }
    create_empty_dir(to)?;
    let opened = with_writer_rights(data, || OpenStore::open_alone(&store));
    let opened = opened.map_err(failed(data, "cannot be read"))??;
    let copied = data_dir::store(to);
    opened.copy(&copied)?;
    drop(opened);
    give_to_owner_of(&store, &copied)?;
    let checked = check_store(to, OpenStore::open_alone(&copied)?, registry)?;
    for name in COPIED_FILES {
        copy_file(&data.join(name), &to.join(name))?;
    }
    let manifest = BackupManifest {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        store_version: VERSION,
        made_at,
    };
    let path = to.join(MANIFEST);
    let text = serde_json::to_vec_pretty(&manifest).map_err(io::Error::from);
    text.and_then(|text| replace_private(&path, &text))
        .map_err(failed(&path, "cannot be written"))?;
    Ok(checked)
}

/// Restores a backup to a data directory that has no store. A runner that is left there ends its
/// tasks, because its own directory is removed. `registry` has the policies that the rules in force may
/// name.
///
/// # Errors
/// If `from` is not a backup, no service could go on with its store, or the data directory has a store or
/// cannot be written.
pub fn restore(
    from: &Path,
    to: &DataDir,
    registry: &PolicyRegistry,
) -> Result<(BackupManifest, CheckedStore), BackupError> {
    let manifest = read_manifest(from).ok_or_else(|| BackupError::NoBackup(from.to_owned()))?;
    let store = data_dir::store(from);
    let open = || with_writer_rights(from, || OpenStore::open_alone(&store));
    let opened = open().map_err(failed(from, "cannot be read"))??;
    let checked = check_store(from, opened, registry)?;
    if has_bytes(&to.store()) {
        return Err(BackupError::Occupied(to.path().to_owned()));
    }
    for name in [
        "tollgate.db-wal",
        "tollgate.db-shm",
        "runner",
        "runner-scripts",
    ] {
        remove(&to.path().join(name))?;
    }
    for &name in COPIED_FILES {
        let target = to.path().join(name);
        if name != SETTINGS {
            remove(&target)?;
        } else if target.exists() {
            continue;
        }
        copy_file(&from.join(name), &target)?;
    }
    let marker = to.restored_marker();
    let text = format!("{}\n", manifest.made_at);
    replace_private(&marker, text.as_bytes()).map_err(failed(&marker, "cannot be written"))?;
    // The store comes last: no service starts in a directory that has an identity but no store.
    let new = to.path().join("tollgate.db.new");
    remove(&new)?;
    let opened = open().map_err(failed(from, "cannot be read"))??;
    opened.copy(&new)?;
    give_to_owner_of(&store, &new)?;
    let synced = fs::rename(&new, to.store()).and_then(|()| File::open(to.path())?.sync_all());
    synced.map_err(failed(&to.store(), "cannot be put in place"))?;
    Ok((manifest, checked))
}

/// Reads the description of a backup; None if there is none that can be read.
fn read_manifest(from: &Path) -> Option<BackupManifest> {
    let text = guarded::read(&from.join(MANIFEST)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Verifies the store of a data directory that no service uses: its rows, and that a service could go on
/// with it. Root acts with the rights of the account that writes to the directory. `registry` has the
/// policies that the rules in force may name.
///
/// # Errors
/// If a service uses the directory, the store is missing, or no service could go on with it.
pub fn check(data: &Path, registry: &PolicyRegistry) -> Result<CheckedStore, BackupError> {
    let (_locked, opened) = open_locked(data)?;
    check_store(data, opened, registry)
}

/// Verifies that this version could go on with the jobs of a data directory, whose service may run: it reads the
/// versions that the store names, and changes nothing.
///
/// # Errors
/// [`BackupError::NoStore`], or the error with which a service of this version would refuse to start.
pub fn check_upgrade(data: &Path) -> Result<(), BackupError> {
    let store = data_dir::store(data);
    if !has_bytes(&store) {
        return Err(BackupError::NoStore(data.to_owned()));
    }
    let checked = with_writer_rights(data, || OpenStore::open_alone(&store)?.check_upgrade());
    Ok(checked.map_err(failed(data, "cannot be read"))??)
}

/// Replaces each value of the store that cannot be true by the nearest one that can. This needs that no
/// service uses the data directory and that one could go on with the store. Returns the values that were
/// replaced, and the store as it is now.
///
/// # Errors
/// As [`check`], and if the store cannot be written; nothing is changed then.
pub fn repair(
    data: &Path,
    registry: &PolicyRegistry,
) -> Result<(Vec<ImpossibleValue>, CheckedStore), BackupError> {
    let (locked, opened) = open_locked(data)?;
    let (rows, rehearsal) = rehearse(data, opened, registry)?;
    let Some(last) = rehearsal.last.filter(|_| !rehearsal.impossible.is_empty()) else {
        let impossible = rehearsal.impossible;
        return Ok((Vec::new(), CheckedStore { rows, impossible }));
    };
    let store = locked.store();
    let repaired = with_writer_rights(data, || Store::open(&store)?.repair(last));
    let values = repaired.map_err(failed(data, "cannot be read"))??;
    let reopen = || OpenStore::open_alone(&store);
    let opened = with_writer_rights(data, reopen).map_err(failed(data, "cannot be read"))??;
    Ok((values, check_store(data, opened, registry)?))
}

/// Locks a data directory and opens its store.
fn open_locked(data: &Path) -> Result<(DataDir, OpenStore), BackupError> {
    // A lock would create the directory.
    if !has_bytes(&data_dir::store(data)) {
        return Err(BackupError::NoStore(data.to_owned()));
    }
    let opened = with_writer_rights(data, || {
        let locked = DataDir::lock(data)?;
        let opened = OpenStore::open_alone(&locked.store())?;
        Ok((locked, opened))
    });
    opened.map_err(failed(data, "cannot be read"))?
}

/// Verifies that a service could go on with the store of `dir`.
fn check_store(
    dir: &Path,
    opened: OpenStore,
    registry: &PolicyRegistry,
) -> Result<CheckedStore, BackupError> {
    let (rows, rehearsal) = rehearse(dir, opened, registry)?;
    let impossible = rehearsal.impossible;
    Ok(CheckedStore { rows, impossible })
}

/// Recovers the store of `dir` as a service would, with the rights of the account whose data it is.
fn rehearse(
    dir: &Path,
    opened: OpenStore,
    registry: &PolicyRegistry,
) -> Result<(CheckedRows, Rehearsal), BackupError> {
    let checked = with_author_rights(dir, move || opened.check_servable(registry));
    Ok(checked.map_err(failed(dir, "cannot be read"))??)
}

/// Gives a copy of a store to the owner of the store, if this process is root.
fn give_to_owner_of(store: &Path, copy: &Path) -> Result<(), BackupError> {
    let given =
        fs::symlink_metadata(store).and_then(|found| match rustix::process::geteuid().is_root() {
            true => lchown(copy, Some(found.uid()), Some(found.gid())),
            false => Ok(()),
        });
    given.map_err(failed(copy, "cannot be given to the owner of the store"))
}

/// Returns whether a file exists and is not empty.
pub fn has_bytes(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() > 0)
}

fn create_empty_dir(path: &Path) -> Result<(), BackupError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(failed(path, "cannot be created"))?;
    let found = fs::metadata(path).map_err(failed(path, "cannot be looked at"))?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        let (path, owner) = (path.to_owned(), found.uid());
        return Err(BackupError::Foreign { path, owner });
    }
    let mut entries = fs::read_dir(path).map_err(failed(path, "cannot be read"))?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(BackupError::NotEmpty(path.to_owned())),
    }
}

fn remove(path: &Path) -> Result<(), BackupError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed(path, "cannot be removed")(error))
        }
        _ => Ok(()),
    }
}

/// Copies a file with permissions and owner. A missing file is not an error.
fn copy_file(from: &Path, to: &Path) -> Result<(), BackupError> {
    let mut source = match guarded::open(from) {
        Ok(source) => source,
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(failed(from, "cannot be copied")(error.into())),
    };
    copy_open(&mut source, to).map_err(failed(to, "cannot be copied"))
}

fn copy_open(source: &mut File, to: &Path) -> io::Result<()> {
    let found = source.metadata()?;
    let mut target = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(found.mode() & 0o777)
        .open(to)?;
    io::copy(source, &mut target)?;
    if rustix::process::geteuid().is_root() {
        fchown(&target, Some(found.uid()), Some(found.gid()))?;
    }
    target.sync_all()
}
