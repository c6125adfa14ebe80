//! The rights with which root reads a data directory.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tollgate_host::{AccountIds, guarded, with_rights_of};

use crate::data_dir;

/// Permission bits of a directory that others than its owner may write to.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Runs `act` with the rights of those who write to the data directory `dir`: if root calls this and
/// another account writes there, in a thread that has become the account. Names in the directory, and
/// programs that its rules name, then reach nothing that the account could not reach itself.
///
/// # Errors
/// If the account cannot be determined or become. `act` does not run then.
pub(crate) fn with_writer_rights<T: Send>(
    dir: &Path,
    act: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    match writer(dir)? {
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
    let store = data_dir::store(dir);
    guarded::check(&store)?;
    let uid = fs::symlink_metadata(&store)?.uid();
    match uid {
        0 => Err(io::Error::other(
            "the store belongs to root: expected the account to whose group the directory is open",
        )),
        uid => Ok(Some(AccountIds { uid, gid })),
    }
}
