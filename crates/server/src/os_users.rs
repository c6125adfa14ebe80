//! User accounts that jobs run as, from the system's name service.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_engine::LaunchUser;
use tollgate_host::{NameServiceError, UserAccount};
use tollgate_model::LaunchFailure;

use crate::accounts::Accounts;

/// A reason why jobs cannot run as a user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserLookupError {
    /// The service runs only jobs of its own user.
    #[error("only jobs of user {own} are run here, not those of user {user}")]
    Foreign {
        /// User id of the job's owner.
        user: u32,
        /// User id of the service.
        own: u32,
    },
    /// The system has no user with this id.
    #[error("the system knows no user {0}")]
    Unknown(u32),
    /// The system has no user with this name.
    #[error("the system knows no user `{0}`")]
    UnknownName(String),
    /// Another account has the number now.
    #[error("user number {uid} belongs to the account `{now}` now, and not to `{was}` as before")]
    Reassigned {
        /// The number.
        uid: u32,
        /// Name of the account that had the number.
        was: String,
        /// Name of the account that has it now.
        now: String,
    },
    /// The lookup failed.
    #[error("user {user} cannot be looked up: {reason}")]
    System {
        /// User id.
        user: u32,
        /// The system's error.
        reason: String,
    },
}

impl UserLookupError {
    /// Returns the failure of a launch. A name service that does not answer may do so later.
    pub(crate) fn into_failure(self) -> LaunchFailure {
        let reason = self.to_string();
        match self {
            Self::Foreign { .. }
            | Self::Reassigned { .. }
            | Self::Unknown(_)
            | Self::UnknownName(_) => LaunchFailure::of_job("user", reason),
            Self::System { .. } => LaunchFailure::of_host("user", reason),
        }
    }
}

/// The account that jobs of a user run as; None for the service's own user.
pub type RunAsResult = Result<Option<LaunchUser>, UserLookupError>;

/// A function that returns the account for jobs of a user; None while the lookup is pending.
pub type RunAsResolver = Box<dyn FnMut(u32) -> Option<RunAsResult> + Send>;

/// Time for which a cached account is used. Meanwhile another account may get the number of the user.
const CACHE_TTL: Duration = Duration::from_secs(10);
/// Time after which a lookup without an answer is repeated.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(60);

/// Cached accounts with the time of their lookup.
type LookupCache = Arc<Mutex<BTreeMap<u32, (Instant, RunAsResult)>>>;

/// Returns a resolver that runs jobs of every user as the user's account, like [`any_user`], as long as it
/// has its number. The resolver never waits for the name service: a separate thread does.
///
/// # Errors
/// If the thread cannot be started.
pub fn background_resolver(accounts: Accounts) -> io::Result<RunAsResolver> {
    spawn_resolver(move |user| {
        own_user(user).or_else(|_| look_up(accounts.current_uid(user)?).map(Some))
    })
}

fn spawn_resolver(
    look_up: impl Fn(u32) -> RunAsResult + Send + 'static,
) -> io::Result<RunAsResolver> {
    let known = LookupCache::default();
    let (requests, received) = mpsc::channel::<u32>();
    let answers = Arc::clone(&known);
    thread::Builder::new()
        .name("accounts".to_owned())
        .spawn(move || {
            for user in received {
                let account = look_up(user);
                let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
                answers.insert(user, (Instant::now(), account));
            }
        })?;
    let mut pending: BTreeMap<u32, Instant> = BTreeMap::new();
    Ok(Box::new(move |user| {
        let known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(&user);
        let fresh = found.is_some_and(|(at, _)| at.elapsed() < CACHE_TTL);
        // An answer that is newer than the request is that to it.
        let received = pending.get(&user).is_some_and(|at| {
            at.elapsed() < LOOKUP_TIMEOUT && found.is_none_or(|(answered, _)| answered < at)
        });
        if !fresh && !received {
            pending.insert(user, Instant::now());
            // The thread receives as long as this sender exists.
            let _ = requests.send(user);
        }
        if fresh {
            pending.remove(&user);
        }
        found.filter(|_| fresh).map(|(_, account)| account.clone())
    }))
}

/// Resolves the service's own user.
///
/// # Errors
/// If `user` is another user.
pub fn own_user(user: u32) -> RunAsResult {
    let own = rustix::process::geteuid().as_raw();
    if user == own {
        return Ok(None);
    }
    Err(UserLookupError::Foreign { user, own })
}

/// Resolves any user to its account with all groups. Needs root.
///
/// # Errors
/// If the system has no account for the user, or the lookup fails.
pub fn any_user(user: u32) -> RunAsResult {
    own_user(user).or_else(|_| look_up(user).map(Some))
}

/// Returns the name of a user.
///
/// # Errors
/// If the system has no account for the user, or the lookup fails.
pub fn name(user: u32) -> Result<String, UserLookupError> {
    Ok(account(user)?.name)
}

/// Returns the id of the user with this name. May wait for the system's name service.
///
/// # Errors
/// If there is no such user, or the lookup fails.
pub fn by_name(name: &str) -> Result<u32, UserLookupError> {
    let unknown = || UserLookupError::UnknownName(name.to_owned());
    let found = UserAccount::by_name(name).map_err(|_| unknown())?;
    found.map(|account| account.uid).ok_or_else(unknown)
}

/// Returns the account of a user.
///
/// # Errors
/// If the system has no account for the user, or the lookup fails.
pub(crate) fn account(user: u32) -> Result<UserAccount, UserLookupError> {
    let found = UserAccount::by_uid(user).map_err(|error| failed(user, &error))?;
    found.ok_or(UserLookupError::Unknown(user))
}

fn look_up(user: u32) -> Result<LaunchUser, UserLookupError> {
    let account = account(user)?;
    Ok(LaunchUser {
        uid: user,
        gid: account.gid,
        groups: account.groups().map_err(|error| failed(user, &error))?,
    })
}

fn failed(user: u32, error: &NameServiceError) -> UserLookupError {
    UserLookupError::System {
        user,
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A user id that is not in use on any system, close to the largest.
    const UNUSED_UID: u32 = u32::MAX - 7;

    #[test]
    fn user_has_the_groups_of_the_system() {
        let account = look_up(0).unwrap();
        assert_eq!((account.uid, account.gid), (0, 0));
        assert!(account.groups.contains(&0));
    }

    #[test]
    fn user_name_is_looked_up() {
        assert_eq!(by_name("root"), Ok(0));
        for name in ["", "no such user", "a\0b"] {
            assert_eq!(
                by_name(name),
                Err(UserLookupError::UnknownName(name.to_owned()))
            );
        }
    }

    #[test]
    fn slow_name_service_does_not_block_the_caller() {
        fn slow(user: u32) -> RunAsResult {
            // The lookup completes only after the first call has returned None.
            LOOKUP_MAY_END.wait();
            Err(UserLookupError::Unknown(user))
        }
        static LOOKUP_MAY_END: std::sync::Barrier = std::sync::Barrier::new(2);
        let mut run_as = spawn_resolver(slow).unwrap();
        assert_eq!(run_as(7), None);
        LOOKUP_MAY_END.wait();
        let answer = std::iter::repeat_with(|| run_as(7)).find_map(|answer| answer);
        assert_eq!(answer, Some(Err(UserLookupError::Unknown(7))));
    }

    #[test]
    fn uid_without_an_account_is_rejected() {
        assert_eq!(
            any_user(UNUSED_UID),
            Err(UserLookupError::Unknown(UNUSED_UID))
        );
    }

    #[test]
    fn own_user_needs_no_account() {
        let me = rustix::process::geteuid().as_raw();
        assert_eq!(own_user(me), Ok(None));
        assert_eq!(any_user(me), Ok(None));
        assert!(matches!(
            own_user(UNUSED_UID),
            Err(UserLookupError::Foreign { .. })
        ));
    }
}
