//! The rights with which root reads a data directory.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tollgate_host::{AccountIds, guarded, with_rights_of};

use crate::data_dir;

/// Permission bits of a directory that others than its owner may write to.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Runs `act` with the rights of the accounts that write to the data directory `dir`. If root calls this and
/// another account writes there, `act` runs in a thread that has become the account. Names in the directory
/// then reach nothing that the account could not reach itself.
///
/// # Errors
/// If the account cannot be determined or become. `act` does not run then.
pub fn with_writer_rights<T: Send>(dir: &Path, act: impl FnOnce() -> T + Send) -> io::Result<T> {
    match writer(dir)? {
        Some(account) => with_rights_of(account, act),
        None => Ok(act()),
    }
}

/// Runs `act` with the rights of the account that starts a service in the data directory `dir`: of its owner.
///
/// # Errors
/// If the owner cannot be determined or become. `act` does not run then.
pub fn with_owner_rights<T: Send>(dir: &Path, act: impl FnOnce() -> T + Send) -> io::Result<T> {
    let found = fs::metadata(dir)?;
    let (uid, gid) = (found.uid(), found.gid());
    match rustix::process::geteuid().is_root() && uid != 0 {
        true => with_rights_of(AccountIds { uid, gid }, act),
        false => Ok(act()),
    }
}

/// Runs `act` with the rights of the account that wrote the store in `dir`, which may be a backup that only
/// root can write to. Programs that the rules of the store name then do nothing that the account could not do
/// itself.
///
/// # Errors
/// If the account cannot be determined or become. `act` does not run then.
pub(crate) fn with_author_rights<T: Send>(
    dir: &Path,
    act: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    let account = match writer(dir)? {
        None if rustix::process::geteuid().is_root() => owner_of_files(dir)?,
        writer => writer,
    };
    match account {
        Some(account) => with_rights_of(account, act),
        None => Ok(act()),
    }
}

/// Returns the account that writes to a data directory. None if this process is not root, or root alone
/// writes there.
fn writer(dir: &Path) -> io::Result<Option<AccountIds>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let found = fs::metadata(dir)?;
    let (uid, gid) = (found.uid(), found.gid());
    if uid != 0 {
        return Ok(Some(AccountIds { uid, gid }));
    }
    if found.mode() & WRITABLE_BY_OTHERS == 0 {
        return Ok(None);
    }
    // Root has prepared the directory for an account, whose group it has.
    match owner_of(&data_dir::store(dir))? {
        Some(owner) => Ok(Some(AccountIds { gid, ..owner })),
        None => Err(io::Error::other(
            "the store belongs to root: expected the account to whose group the directory is open",
        )),
    }
}

/// Returns the account whose store is in a directory of root. None if it is root. In backups of earlier
/// versions the store belongs to root in any case, and the other files to the account.
fn owner_of_files(dir: &Path) -> io::Result<Option<AccountIds>> {
    match owner_of(&data_dir::store(dir))? {
        Some(owner) => Ok(Some(owner)),
        None => owner_of(&data_dir::identity(dir)),
    }
}

/// Returns the owner of a file. None if it is root, or there is no such file.
fn owner_of(file: &Path) -> io::Result<Option<AccountIds>> {
    guarded::check(file)?;
    match fs::symlink_metadata(file) {
        Ok(found) => Ok(Some(AccountIds {
            uid: found.uid(),
            gid: found.gid(),
        })
        .filter(|owner| owner.uid != 0)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    /// Any account but root.
    const ACCOUNT: AccountIds = AccountIds { uid: 3, gid: 4 };

    /// A data directory: its owner, its mode, the owner of its store, and the user who acts as its author.
    type Case = (u32, u32, u32, u32);

    /// The owner's directory; a backup that root has made of it; one of root's own; one that root has
    /// prepared for the account.
    const CASES: [Case; 4] = [
        (ACCOUNT.uid, 0o700, ACCOUNT.uid, ACCOUNT.uid),
        (0, 0o700, ACCOUNT.uid, ACCOUNT.uid),
        (0, 0o700, 0, 0),
        (0, data_dir::ACCOUNT_DIR_MODE, ACCOUNT.uid, ACCOUNT.uid),
    ];

    #[test]
    fn root_acts_as_the_owner_of_the_store() {
        if !tollgate_needs::root() {
            return;
        }
        for (owner, mode, store_owner, expected) in CASES {
            let dir = tempfile::tempdir().unwrap();
            let store = data_dir::store(dir.path());
            fs::write(&store, "a store").unwrap();
            chown(&store, Some(store_owner), Some(ACCOUNT.gid)).unwrap();
            chown(dir.path(), Some(owner), Some(ACCOUNT.gid)).unwrap();
            fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
            let me = || rustix::process::geteuid().as_raw();
            let acted = with_author_rights(dir.path(), me).unwrap();
            assert_eq!(acted, expected, "{owner} {mode:o} {store_owner}");
        }
    }

    #[test]
    fn store_of_root_in_a_directory_of_others_is_refused() {
        if !tollgate_needs::root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::write(data_dir::store(dir.path()), "a store").unwrap();
        let open = Permissions::from_mode(data_dir::ACCOUNT_DIR_MODE);
        fs::set_permissions(dir.path(), open).unwrap();
        assert!(with_author_rights(dir.path(), || ()).is_err());
    }
}
