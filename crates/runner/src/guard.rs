//! The launch guard: checks of each launch by the runner of a service that is not root.

use std::fs;

use serde::{Deserialize, Serialize};
use tollgate_engine::{LaunchSpec, LaunchUser};
use tollgate_host::{NameServiceError, UserAccount};

/// The checks that a runner applies to each launch, whatever the service requests.
///
/// The user of a task must be named and have an account on this host. The user must be neither root, unless
/// that is allowed, nor the account of the service, nor one of the system's. The groups are those that the
/// system knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchGuard {
    /// The account of the service: a task under this account could do anything to the service.
    pub account: u32,
    /// Whether tasks of root are allowed.
    pub root_jobs: bool,
    /// The users below which only accounts of the system are. Runners of earlier versions know none.
    #[serde(default)]
    pub floor: UserFloor,
}

/// The lowest number of users, with exceptions: the accounts below are the system's, and may be in groups
/// that are as good as root. Root is not decided about here. The default allows all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserFloor {
    /// The lowest number.
    pub min_uid: u32,
    /// The users below it that are allowed.
    pub exceptions: Vec<u32>,
}

/// The file with the lowest number of users of this host.
const LOGIN_DEFS: &str = "/etc/login.defs";
/// The lowest number where the file names none, as of `useradd`.
const DEFAULT_UID_MIN: u32 = 1000;

impl UserFloor {
    /// Returns the lowest number of users of this host: `UID_MIN` of `/etc/login.defs`, or 1000.
    pub fn uid_min_of_host() -> u32 {
        let text = fs::read_to_string(LOGIN_DEFS).unwrap_or_default();
        uid_min(&text).unwrap_or(DEFAULT_UID_MIN)
    }

    /// Returns whether tasks of this user are allowed.
    pub fn allows(&self, user: u32) -> bool {
        user == 0 || user >= self.min_uid || self.exceptions.contains(&user)
    }
}

/// Returns the value of `UID_MIN`.
fn uid_min(login_defs: &str) -> Option<u32> {
    login_defs.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("UID_MIN")).then(|| words.next()?.parse().ok())?
    })
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
    #[error("user {user} is an account of the system: tasks of users below {min} are not run here")]
    System { user: u32, min: u32 },
    #[error("the system knows no user {0}")]
    Unknown(u32),
    #[error("user {user} cannot be looked up: {reason}")]
    LookUp { user: u32, reason: String },
}

impl LaunchGuard {
    /// Returns whether another guard differs at most in the floor of users.
    pub(crate) fn has_rights_of(&self, other: &Self) -> bool {
        (self.account, self.root_jobs) == (other.account, other.root_jobs)
    }

    /// Returns the user that a launch runs as, with the groups that the system knows. The groups
    /// that the launch names are not trusted. May wait for the name service.
    pub(crate) fn resolve_user(&self, launch: &LaunchSpec) -> Result<LaunchUser, LaunchGuardError> {
        let user = launch.user.as_ref().ok_or(LaunchGuardError::Unnamed)?.uid;
        if user == 0 && !self.root_jobs {
            return Err(LaunchGuardError::Root);
        }
        if user == self.account {
            return Err(LaunchGuardError::OwnAccount);
        }
        if !self.floor.allows(user) {
            let min = self.floor.min_uid;
            return Err(LaunchGuardError::System { user, min });
        }
        look_up(user)
    }
}

fn look_up(user: u32) -> Result<LaunchUser, LaunchGuardError> {
    let failed = |error: NameServiceError| LaunchGuardError::LookUp {
        user,
        reason: error.to_string(),
    };
    let account = UserAccount::by_uid(user).map_err(failed)?;
    let account = account.ok_or(LaunchGuardError::Unknown(user))?;
    Ok(LaunchUser {
        uid: user,
        gid: account.gid,
        groups: account.groups().map_err(failed)?,
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
        floor: UserFloor {
            min_uid: 100,
            exceptions: Vec::new(),
        },
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
        let below = LaunchGuardError::System { user: 99, min: 100 };
        assert_eq!(refused(Some(99)), below);
        let mut lenient = GUARD;
        lenient.floor.exceptions = vec![99];
        assert_ne!(lenient.resolve_user(&launch_as(Some(99))), Err(below));
        let unknown_uid = u32::MAX - 7;
        assert_eq!(
            refused(Some(unknown_uid)),
            LaunchGuardError::Unknown(unknown_uid)
        );
    }

    #[test]
    fn lowest_user_is_read_from_the_settings_of_the_host() {
        let text = "# UID_MIN 7\nUID_MAX 60000\nUID_MIN\t\t 500 # from here\nSYS_UID_MIN 100\n";
        assert_eq!(uid_min(text), Some(500));
        assert_eq!(uid_min("#UID_MIN 500\nUID_MIN many\n"), None);
    }

    #[test]
    fn launch_gets_the_groups_of_the_user_database() {
        let guard = LaunchGuard {
            root_jobs: true,
            floor: UserFloor::default(),
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
