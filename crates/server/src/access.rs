//! Access rules: users, roles and limits.

use serde::{Deserialize, Serialize};
use tollgate_client::Fingerprint;
use tollgate_client::types::AccessRole;
use tollgate_runner::guard::UserFloor;
use tollgate_service::UnfinishedCounts;

use crate::accounts::Accounts;
use crate::os_users::{self, UserLookupError};

/// The users that the service serves.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum UserScope {
    /// The service's own user.
    #[default]
    Own,
    /// Every user of the system; a job runs as the user that submits it. Needs root.
    All,
}

/// The limits of a user.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServiceLimits {
    /// Lowest user id that may submit jobs to a service for all users. At least 0. Default: `UID_MIN` of
    /// `/etc/login.defs`, or 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = 1000)]
    pub min_uid: Option<u32>,
    /// Maximum number of connections of a user, besides those of workers over TCP. At least 1.
    pub connections: u32,
    /// Maximum number of connections of a user's workers over TCP. At least 1.
    pub workers: u32,
    /// Maximum number of connections over TCP from one address that are not authenticated yet. At least 1.
    #[serde(rename = "strangers")]
    pub unauthenticated: u32,
    /// Maximum number of unfinished jobs of a user; an array counts as one. At least 1.
    pub jobs: u32,
    /// Maximum number of unfinished tasks of a user; a job that is no array has one. At least 1.
    pub tasks: u32,
    /// Maximum size of the commands, environments and scripts of a user's unfinished jobs, in bytes.
    /// At least 1.
    pub stored_bytes: u64,
    /// Maximum size of the texts that are kept of a user's finished jobs, in bytes: environments, scripts and
    /// commands of more than 1 KiB. Equal texts count once. At least 0. With 0 none is kept.
    pub kept_bytes: u64,
    /// Maximum number of tasks of an array. At least 1.
    pub array: u32,
    /// Maximum number of event streams of a user. At least 1.
    pub streams: u32,
    /// Maximum number of processes and threads of a task, where control groups can limit them. At least 1.
    pub task_processes: u32,
    /// Memory limit of a task whose job names none: `share`, the part of the host's memory that belongs to
    /// the task's processors, or `unlimited`.
    pub task_memory: TaskMemory,
    /// Maximum size of a task's output, in bytes. A task with more is killed. At least 1.
    pub output_bytes: u64,
    /// Maximum size of a request, in bytes. At least 1.
    pub body_bytes: usize,
    /// Maximum time for a client to send the head or the body of a request, or to read the next part of a
    /// response, in seconds. At least 0.001, at most 3600.
    pub request_s: f64,
}

/// The memory limit of a task whose job names none.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum TaskMemory {
    /// The share of the host's memory that belongs to the task's processors, where control groups
    /// can limit it.
    #[default]
    Share,
    /// No limit.
    Unlimited,
}

impl ServiceLimits {
    /// Returns the maximum numbers of unfinished jobs and tasks of a user.
    pub fn unfinished(&self) -> UnfinishedCounts {
        UnfinishedCounts {
            jobs: self.jobs.into(),
            tasks: self.tasks.into(),
        }
    }

    /// Returns the limits of a task, apart from those that its job sets.
    pub fn task_limits(&self) -> tollgate_engine::LaunchLimits {
        tollgate_engine::LaunchLimits {
            share_of_memory: self.task_memory == TaskMemory::Share,
            processes: Some(self.task_processes),
            output: Some(self.output_bytes),
            ..tollgate_engine::LaunchLimits::default()
        }
    }
}

impl Default for ServiceLimits {
    fn default() -> Self {
        Self {
            min_uid: None,
            connections: 64,
            workers: 4_096,
            unauthenticated: 64,
            jobs: 100_000,
            tasks: 1_000_000,
            stored_bytes: 64 << 20,
            kept_bytes: 64 << 20,
            array: 1_000_000,
            streams: 8,
            task_processes: 4_096,
            task_memory: TaskMemory::Share,
            output_bytes: 1 << 30,
            body_bytes: 1 << 20,
            request_s: 5.0,
        }
    }
}

/// The access rules of a service.
#[derive(Clone, Debug, Default)]
pub struct AccessRules {
    /// Users that the service serves.
    pub scope: UserScope,
    /// Whether root may submit jobs if the service serves all users.
    pub root_jobs: bool,
    /// The lowest user that may submit jobs if the service serves all users.
    pub floor: UserFloor,
    /// Limits per user.
    pub limits: ServiceLimits,
    /// The accounts of the users.
    pub accounts: Accounts,
}

/// The user of a peer that has no account: nothing belongs to this user.
pub(crate) const NO_USER: u32 = u32::MAX;

/// The peer of a connection: a user with its access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The user, as what is the user's is stored: see [`Accounts`].
    pub user: u32,
    /// Whether the peer may see and change the jobs of all users.
    pub operator: bool,
    /// Reason why the peer may not submit jobs; None if it may.
    pub denied: Option<AccessDenied>,
    /// Role of the peer's credential.
    pub role: AccessRole,
    /// Authentication method.
    pub auth_method: AuthMethod,
}

/// The way in which a peer was authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// Unix socket: the system reports the user.
    Socket,
    /// TCP: a key with this fingerprint.
    Network(Fingerprint),
    /// A session of the window that the service serves.
    Window,
}

/// A reason why a user may not submit jobs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessDenied {
    /// The service serves only its own user.
    #[error("only the service's own user may submit jobs here")]
    OtherUser,
    /// The jobs would run as root.
    #[error("jobs of root are not allowed here")]
    Root,
    /// The jobs would run as the service's own account and could tamper with the service.
    #[error("jobs of the service's own account are not allowed here")]
    OwnAccount,
    /// The jobs would run as an account of the system, which may be as good as root.
    #[error("jobs of users below {0} are not allowed here: they are accounts of the system")]
    SystemAccount(u32),
    /// Jobs could not run as this user.
    #[error(transparent)]
    UserLookup(#[from] UserLookupError),
}

impl AccessDenied {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::OtherUser => "start a service of your own with `tollgate serve`",
            Self::Root => "submit the job as another user, or set `root_jobs = true`",
            Self::OwnAccount => "submit the job as another user",
            Self::SystemAccount(_) => {
                "an operator allows an account by its name in `system_users`, or sets `limits.min_uid`"
            }
            Self::UserLookup(_) => "`getent passwd` shows the users of the system",
        }
    }
}

impl AccessRules {
    /// Returns the peer for a connection of `user` over the Unix socket. May wait for the system's
    /// name service.
    pub fn peer_of(&self, uid: u32) -> Peer {
        let own = rustix::process::geteuid().as_raw();
        let mut user = uid;
        let denied = match self.scope {
            UserScope::Own => (uid != own).then_some(AccessDenied::OtherUser),
            UserScope::All if uid == 0 => (!self.root_jobs).then_some(AccessDenied::Root),
            UserScope::All if uid == own && own != 0 => Some(AccessDenied::OwnAccount),
            UserScope::All if !self.floor.allows(uid) => {
                user = self.accounts.user_of(uid).unwrap_or(NO_USER);
                Some(AccessDenied::SystemAccount(self.floor.min_uid))
            }
            UserScope::All => {
                let known = self.accounts.user_of(uid);
                user = known.as_ref().copied().unwrap_or(NO_USER);
                let found = known.and_then(|_| os_users::any_user(uid));
                found.err().map(AccessDenied::UserLookup)
            }
        };
        Peer {
            user,
            operator: uid == own || uid == 0,
            denied,
            role: AccessRole::User,
            auth_method: AuthMethod::Socket,
        }
    }

    /// Returns the peer that a credential of this user stands for. May wait for the system's name
    /// service.
    ///
    /// # Errors
    /// If the account of the user no longer has its number.
    pub fn peer_of_user(&self, user: u32) -> Result<Peer, UserLookupError> {
        let uid = match self.scope {
            UserScope::Own => user,
            UserScope::All => self.accounts.current_uid(user)?,
        };
        Ok(Peer {
            user,
            ..self.peer_of(uid)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user id that is not in use on any system.
    const UNUSED_UID: u32 = u32::MAX - 7;

    #[test]
    fn service_for_its_own_user_denies_other_users() {
        let access = AccessRules::default();
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(access.peer_of(own).denied, None);
        let other = access.peer_of(UNUSED_UID);
        assert_eq!(other.denied, Some(AccessDenied::OtherUser));
        assert!(!other.operator);
    }

    #[test]
    fn service_for_all_users_denies_root_unless_configured() {
        let access = AccessRules {
            scope: UserScope::All,
            ..AccessRules::default()
        };
        assert_eq!(access.peer_of(0).denied, Some(AccessDenied::Root));
        let generous = AccessRules {
            root_jobs: true,
            ..access
        };
        assert_eq!(generous.peer_of(0).denied, None);
    }

    #[test]
    fn number_of_another_account_gives_neither_its_jobs_nor_its_tokens() {
        // Every system has an account with this number; here it was another's before.
        let Ok(name) = os_users::name(1) else { return };
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("accounts.toml");
        let earlier = "[[accounts]]\nuser = 1\nuid = 1\nname = \"the earlier one\"\n";
        std::fs::write(&file, earlier).unwrap();
        let access = AccessRules {
            scope: UserScope::All,
            accounts: Accounts::open(file, || Ok(Vec::new())).unwrap(),
            ..AccessRules::default()
        };
        let refused = access.peer_of_user(1).unwrap_err();
        let UserLookupError::Reassigned { uid: 1, was, now } = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((was.as_str(), now), ("the earlier one", name));
        let peer = access.peer_of(1);
        assert_ne!(peer.user, 1);
        assert_eq!(peer.denied, None);
        assert_eq!(access.peer_of_user(peer.user).unwrap().user, peer.user);
        // A number without an account owns nothing.
        assert_eq!(access.peer_of(UNUSED_UID).user, NO_USER);
    }

    #[test]
    fn account_of_the_system_may_not_submit_unless_it_is_named() {
        // Every system has an account with this number.
        if os_users::name(1).is_err() {
            return;
        }
        let with = |exceptions| AccessRules {
            scope: UserScope::All,
            floor: UserFloor {
                min_uid: 1000,
                exceptions,
            },
            ..AccessRules::default()
        };
        let denied = with(Vec::new()).peer_of(1).denied;
        assert_eq!(denied, Some(AccessDenied::SystemAccount(1000)));
        assert_eq!(with(vec![1]).peer_of(1).denied, None);
    }

    #[test]
    fn user_unknown_to_the_system_may_not_submit() {
        let access = AccessRules {
            scope: UserScope::All,
            ..AccessRules::default()
        };
        let barred = access.peer_of(UNUSED_UID).denied;
        assert_eq!(
            barred,
            Some(AccessDenied::UserLookup(UserLookupError::Unknown(
                UNUSED_UID
            )))
        );
    }
}
