//! The launch guard: checks of each launch by the runner of a service that is not root.

use std::ffi::CString;

use nix::unistd::{self, Uid, getgrouplist};
use serde::{Deserialize, Serialize};
use tollgate_engine::{LaunchSpec, LaunchUser};

/// The checks that a runner applies to each launch, whatever the service requests.
///
/// The user of a task must be named, have an account on this host, and be neither root, unless that
/// is allowed, nor the account of the service. The groups are those that the system knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchGuard {
    /// The account of the service: a task under this account could do anything to the service.
    pub account: u32,
    /// Whether tasks of root are allowed.
    pub root_jobs: bool,
}

/// A reason to reject a launch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LaunchGuardError {
    #[error("expected a user to run it as")]
    Unnamed,
    #[error("tasks of root are not run here")]
    Root,
    #[error("tasks of the service's own account are not run here")]
    OwnAccount,
    #[error("the system knows no user {0}")]
    Unknown(u32),
    #[error("user {user} cannot be looked up: {reason}")]
    System { user: u32, reason: String },
}

impl LaunchGuard {
    /// Returns the user that a launch runs as, with the groups that the system knows. The groups
    /// that the launch names are not trusted. May wait for the name service.
    pub(crate) fn resolve_user(self, launch: &LaunchSpec) -> Result<LaunchUser, LaunchGuardError> {
        let user = launch.user.as_ref().ok_or(LaunchGuardError::Unnamed)?.uid;
        if user == 0 && !self.root_jobs {
            return Err(LaunchGuardError::Root);
        }
        if user == self.account {
            return Err(LaunchGuardError::OwnAccount);
        }
        look_up(user)
    }
}

fn look_up(user: u32) -> Result<LaunchUser, LaunchGuardError> {
    let failed = |error: nix::Error| LaunchGuardError::System {
        user,
        reason: error.desc().to_owned(),
    };
    let found = unistd::User::from_uid(Uid::from_raw(user)).map_err(failed)?;
    let account = found.ok_or(LaunchGuardError::Unknown(user))?;
    let name = CString::new(account.name).map_err(|_| LaunchGuardError::Unknown(user))?;
    let groups = getgrouplist(&name, account.gid).map_err(failed)?;
    Ok(LaunchUser {
        uid: user,
        gid: account.gid.as_raw(),
        groups: groups.into_iter().map(unistd::Gid::as_raw).collect(),
    })
}

#[cfg(test)]
mod tests {
    use tollgate_model::AttemptId;
    use tollgate_model::NodeId;

    use super::*;

    const GUARD: LaunchGuard = LaunchGuard {
        account: 77,
        root_jobs: false,
    };

    fn launch_as(uid: Option<u32>) -> LaunchSpec {
        let attempt = AttemptId {
            job: 1,
            task: 0,
            attempt: 1,
        };
        let mut launch = LaunchSpec::new(attempt, vec![NodeId(0)], ["true"], "/");
        launch.user = uid.map(|uid| LaunchUser {
            uid,
            gid: 0,
            groups: vec![0],
        });
        launch
    }

    #[test]
    fn launch_without_user_or_as_root_or_service_account_is_rejected() {
        let refused = |uid| GUARD.resolve_user(&launch_as(uid)).unwrap_err();
        assert_eq!(refused(None), LaunchGuardError::Unnamed);
        assert_eq!(refused(Some(0)), LaunchGuardError::Root);
        assert_eq!(refused(Some(77)), LaunchGuardError::OwnAccount);
        let nobody = u32::MAX - 7;
        assert_eq!(refused(Some(nobody)), LaunchGuardError::Unknown(nobody));
    }

    #[test]
    fn launch_gets_the_groups_of_the_user_database() {
        let guard = LaunchGuard {
            root_jobs: true,
            ..GUARD
        };
        let root = guard.resolve_user(&launch_as(Some(0))).unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        // Whichever user has the number 1 on this host, only the launch names root's group.
        if let Ok(user) = guard.resolve_user(&launch_as(Some(1))) {
            assert_ne!(user.gid, 0);
            assert!(!user.groups.contains(&0));
        }
    }
}
