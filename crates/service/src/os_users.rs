//! Whom jobs run as: users of the system, as its name service knows them.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::{self, Uid, getgrouplist};
use tollgate_engine::LaunchUser;

/// Why nothing can be run as a user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserLookupError {
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

/// Whom jobs of a user run as; none is the service's own user.
pub type RunAsResult = Result<Option<LaunchUser>, UserLookupError>;

/// Says whom jobs of a user run as; none as long as that is being looked up.
pub type RunAsResolver = Box<dyn FnMut(u32) -> Option<RunAsResult> + Send>;

/// For how long an account is taken to be as it was.
const CACHE_TTL: Duration = Duration::from_secs(60);

/// What a thread has looked up, and when.
type LookupCache = Arc<Mutex<BTreeMap<u32, (Instant, RunAsResult)>>>;

/// Runs jobs of every user as that user, as [`any`] does, and never waits for the name service: a
/// thread of its own does. What it said last holds until it says something else.
///
/// # Errors
/// If there is no thread to be had.
pub fn background_resolver() -> io::Result<RunAsResolver> {
    spawn_resolver(any_user)
}

fn spawn_resolver(look_up: fn(u32) -> RunAsResult) -> io::Result<RunAsResolver> {
    let known = LookupCache::default();
    let (asks, asked) = mpsc::channel::<u32>();
    let answers = Arc::clone(&known);
    thread::Builder::new()
        .name("accounts".to_owned())
        .spawn(move || {
            for user in asked {
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
        let asked = pending
            .get(&user)
            .is_some_and(|at| at.elapsed() < CACHE_TTL);
        if !fresh && !asked {
            pending.insert(user, Instant::now());
            // The thread listens for as long as there is this.
            let _ = asks.send(user);
        }
        if fresh {
            pending.remove(&user);
        }
        found.map(|(_, account)| account.clone())
    }))
}

/// Runs jobs of the service's own user.
///
/// # Errors
/// If it is anybody else.
pub fn own_user(user: u32) -> RunAsResult {
    let own = rustix::process::geteuid().as_raw();
    if user == own {
        return Ok(None);
    }
    Err(UserLookupError::Foreign { user, own })
}

/// Runs jobs of every user as that user, with all groups. Needs root.
///
/// # Errors
/// If the system has no account for it, or cannot say.
pub fn any_user(user: u32) -> RunAsResult {
    own_user(user).or_else(|_| look_up(user).map(Some))
}

/// What a user is called; as a number has different owners on different hosts, a name is what tells
/// another host who is meant.
pub type UserNameLookup = fn(u32) -> Result<String, UserLookupError>;

/// What the system calls a user.
///
/// # Errors
/// If it has no account for it, or cannot say.
pub fn name(user: u32) -> Result<String, UserLookupError> {
    let found =
        unistd::User::from_uid(Uid::from_raw(user)).map_err(|error| UserLookupError::System {
            user,
            reason: error.desc().to_owned(),
        })?;
    Ok(found.ok_or(UserLookupError::Unknown(user))?.name)
}

/// The number of the user with this name. May wait for the system's name service.
///
/// # Errors
/// If there is none, or the system cannot say.
pub fn by_name(name: &str) -> Result<u32, UserLookupError> {
    let unknown = || UserLookupError::UnknownName(name.to_owned());
    // The system could not be asked for such a name.
    if name.contains('\0') {
        return Err(unknown());
    }
    let found = unistd::User::from_name(name).map_err(|_| unknown())?;
    found.map(|user| user.uid.as_raw()).ok_or_else(unknown)
}

fn look_up(user: u32) -> Result<LaunchUser, UserLookupError> {
    let failed = |error: nix::Error| UserLookupError::System {
        user,
        reason: error.desc().to_owned(),
    };
    let found = unistd::User::from_uid(Uid::from_raw(user)).map_err(failed)?;
    let account = found.ok_or(UserLookupError::Unknown(user))?;
    // A name with a NUL byte in it is nobody's.
    let name = CString::new(account.name).map_err(|_| UserLookupError::Unknown(user))?;
    let groups = getgrouplist(&name, account.gid).map_err(failed)?;
    Ok(LaunchUser {
        uid: user,
        gid: account.gid.as_raw(),
        groups: groups.into_iter().map(unistd::Gid::as_raw).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that no system gives to anybody: the last before "nobody in particular".
    const UNUSED_UID: u32 = u32::MAX - 7;

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
            assert_eq!(
                by_name(name),
                Err(UserLookupError::UnknownName(name.to_owned()))
            );
        }
    }

    #[test]
    fn nobody_waits_for_the_name_service() {
        fn slow(user: u32) -> RunAsResult {
            // It answers once somebody has been told that it does not.
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
    fn a_number_without_an_account_is_no_user() {
        assert_eq!(
            any_user(UNUSED_UID),
            Err(UserLookupError::Unknown(UNUSED_UID))
        );
    }

    #[test]
    fn the_service_s_own_user_needs_no_account() {
        let me = rustix::process::geteuid().as_raw();
        assert_eq!(own_user(me), Ok(None));
        assert_eq!(any_user(me), Ok(None));
        assert!(matches!(
            own_user(UNUSED_UID),
            Err(UserLookupError::Foreign { .. })
        ));
    }
}
