//! Whom jobs run as: users of the system, as its name service knows them.

use std::ffi::CString;

use nix::unistd::{self, Uid, getgrouplist};
use tollgate_engine::User;

/// Why nothing can be run as a user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAccount {
    /// The service runs its own user's jobs only.
    #[error("only jobs of user {own} are run here, not those of user {user}")]
    Foreign {
        /// Whose job it is.
        user: u32,
        /// Whose the service is.
        own: u32,
    },
    /// Nobody has this number.
    #[error("the system knows no user {0}")]
    Unknown(u32),
    /// Nobody has this name.
    #[error("the system knows no user `{0}`")]
    UnknownName(String),
    /// The system cannot say.
    #[error("user {user} cannot be looked up: {reason}")]
    System {
        /// Who was looked for.
        user: u32,
        /// What it said.
        reason: String,
    },
}

/// Whom a job of a user runs as; none is the service's own user.
pub type RunAs = fn(u32) -> Result<Option<User>, NoAccount>;

/// Runs jobs of the service's own user.
///
/// # Errors
/// If it is anybody else.
pub fn own(user: u32) -> Result<Option<User>, NoAccount> {
    let own = rustix::process::geteuid().as_raw();
    if user == own {
        return Ok(None);
    }
    Err(NoAccount::Foreign { user, own })
}

/// Runs jobs of every user as that user, with all groups. Needs root.
///
/// # Errors
/// If the system has no account for it, or cannot say.
pub fn any(user: u32) -> Result<Option<User>, NoAccount> {
    own(user).or_else(|_| look_up(user).map(Some))
}

/// The number of the user with this name. May wait for the system's name service.
///
/// # Errors
/// If there is none, or the system cannot say.
pub fn by_name(name: &str) -> Result<u32, NoAccount> {
    let unknown = || NoAccount::UnknownName(name.to_owned());
    // The system could not be asked for such a name.
    if name.contains('\0') {
        return Err(unknown());
    }
    let found = unistd::User::from_name(name).map_err(|_| unknown())?;
    found.map(|user| user.uid.as_raw()).ok_or_else(unknown)
}

fn look_up(user: u32) -> Result<User, NoAccount> {
    let failed = |error: nix::Error| NoAccount::System {
        user,
        reason: error.desc().to_owned(),
    };
    let found = unistd::User::from_uid(Uid::from_raw(user)).map_err(failed)?;
    let account = found.ok_or(NoAccount::Unknown(user))?;
    // A name with a NUL byte in it is nobody's.
    let name = CString::new(account.name).map_err(|_| NoAccount::Unknown(user))?;
    let groups = getgrouplist(&name, account.gid).map_err(failed)?;
    Ok(User {
        uid: user,
        gid: account.gid.as_raw(),
        groups: groups.into_iter().map(unistd::Gid::as_raw).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that no system gives to anybody: the last before "nobody in particular".
    const NOBODY: u32 = u32::MAX - 7;

    #[test]
    fn users_have_the_groups_of_the_system() {
        let account = look_up(0).unwrap();
        assert_eq!((account.uid, account.gid), (0, 0));
        assert!(account.groups.contains(&0));
    }

    #[test]
    fn users_have_names() {
        assert_eq!(by_name("root"), Ok(0));
        for name in ["", "no such user", "a\0b"] {
            assert_eq!(by_name(name), Err(NoAccount::UnknownName(name.to_owned())));
        }
    }

    #[test]
    fn a_number_without_an_account_is_no_user() {
        assert_eq!(any(NOBODY), Err(NoAccount::Unknown(NOBODY)));
    }

    #[test]
    fn the_service_s_own_user_needs_no_account() {
        let me = rustix::process::geteuid().as_raw();
        assert_eq!(own(me), Ok(None));
        assert_eq!(any(me), Ok(None));
        assert!(matches!(own(NOBODY), Err(NoAccount::Foreign { .. })));
    }
}
