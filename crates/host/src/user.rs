//! Accounts of users, as the system's name service knows them.

use std::ffi::CString;
use std::path::PathBuf;

use nix::unistd::{self, Gid, Uid, getgrouplist};

/// The account of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAccount {
    /// Name.
    pub name: String,
    /// User id.
    pub uid: u32,
    /// Id of the first group.
    pub gid: u32,
    /// Home directory.
    pub home: PathBuf,
    /// Shell of a log-in.
    pub shell: PathBuf,
}

/// The name service does not answer: the system's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NameServiceError(String);

impl From<nix::Error> for NameServiceError {
    fn from(error: nix::Error) -> Self {
        Self(error.desc().to_owned())
    }
}

impl UserAccount {
    /// Looks up a user by number. None if the system knows no such user. May wait for the name service.
    ///
    /// # Errors
    /// If the lookup fails.
    pub fn by_uid(uid: u32) -> Result<Option<Self>, NameServiceError> {
        Ok(unistd::User::from_uid(Uid::from_raw(uid))?.map(Self::from))
    }

    /// Looks up a user by name. None if the system knows no such user. May wait for the name service.
    ///
    /// # Errors
    /// If the lookup fails.
    pub fn by_name(name: &str) -> Result<Option<Self>, NameServiceError> {
        // The system's lookup takes no names with NUL.
        if name.contains('\0') {
            return Ok(None);
        }
        Ok(unistd::User::from_name(name)?.map(Self::from))
    }

    /// Returns the ids of all groups of the user. May wait for the name service.
    ///
    /// # Errors
    /// If the lookup fails.
    pub fn groups(&self) -> Result<Vec<u32>, NameServiceError> {
        let name = CString::new(self.name.as_str()).map_err(|_| nix::Error::EINVAL)?;
        let groups = getgrouplist(&name, Gid::from_raw(self.gid))?;
        Ok(groups.into_iter().map(Gid::as_raw).collect())
    }
}

impl From<unistd::User> for UserAccount {
    fn from(user: unistd::User) -> Self {
        Self {
            name: user.name,
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
            home: user.dir,
            shell: user.shell,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_found_by_number_and_by_name_with_its_groups() {
        let root = UserAccount::by_uid(0).unwrap().unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        assert!(root.groups().unwrap().contains(&0));
        let found = UserAccount::by_name(&root.name).unwrap();
        assert_eq!(found, Some(root));
    }

    #[test]
    fn user_that_the_system_does_not_know_is_none() {
        for name in ["", "no such user", "a\0b"] {
            assert_eq!(UserAccount::by_name(name), Ok(None), "{name:?}");
        }
        // Close to the largest number.
        assert_eq!(UserAccount::by_uid(u32::MAX - 7), Ok(None));
    }
}
