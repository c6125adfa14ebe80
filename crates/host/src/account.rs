//! Acting for a moment with the rights of an account.

use std::{io, panic, thread};

use rustix::thread::{Gid, Uid};

/// The user and the group of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountIds {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

/// Runs `act` with the rights of an account and without any other group. Root alone may call this.
/// `act` runs in a thread of its own, which gives up root for good, so that nothing in `act` can become
/// root again. Files that `act` opens can be used afterwards.
///
/// # Errors
/// If the thread cannot become the account. `act` does not run then.
pub fn with_rights_of<T: Send>(
    account: AccountIds,
    act: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    thread::scope(|scope| {
        let acting = thread::Builder::new().spawn_scoped(scope, move || {
            become_account(account)?;
            Ok(act())
        })?;
        acting
            .join()
            .unwrap_or_else(|cause| panic::resume_unwind(cause))
    })
}

/// Gives up root in this thread. Groups are changed first, because a thread without root cannot change
/// them.
fn become_account(account: AccountIds) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(account.uid), Gid::from_raw(account.gid));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn thread_of_an_account_reads_no_file_of_root() {
        if !tollgate_needs::root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = dir.path().join("secret");
        fs::write(&path, "root's").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let account = AccountIds {
            uid: 65_534,
            gid: 65_534,
        };
        let read = with_rights_of(account, || fs::read(&path)).unwrap();
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        // The other threads are still root.
        assert_eq!(fs::read(&path).unwrap(), b"root's");
        assert!(rustix::process::geteuid().is_root());
    }
}
