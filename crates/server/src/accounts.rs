//! Accounts of the host: a user number with the name that it had.
//!
//! Systems give a number of a deleted account to the next one. So the service knows a user as number and
//! name. An account with the number of another one is a user of its own, under a number that only the service
//! has. It finds neither the jobs nor the tokens of the earlier account.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};
use tollgate_host::{StateFileError, read_state_file, replace_private};

use crate::os_users::{self, UserLookupError};

/// The first number of users whose own number another account had before. Systems do not give such
/// numbers to accounts.
const FIRST_LATER_USER: u32 = 3_000_000_000;

/// Returns the name of the account that has a number now.
type NameLookup = fn(u32) -> Result<String, UserLookupError>;

/// The accounts that the service knows, by the number under which it stores what is theirs. Clones share
/// them. By default none is known, and every number is that of the account that has it now.
#[derive(Clone, Debug, Default)]
pub struct Accounts(Option<Arc<KnownAccounts>>);

#[derive(Debug)]
struct KnownAccounts {
    by_user: RwLock<BTreeMap<u32, Account>>,
    file: PathBuf,
    look_up: NameLookup,
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Account {
    /// The number under which the service stores what is the account's.
    user: u32,
    /// The number of the account on this host.
    uid: u32,
    /// None if no account had the number when the service first stored names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AccountFile {
    #[serde(default)]
    accounts: Vec<Account>,
}

/// An error of the accounts.
#[derive(Debug, thiserror::Error)]
pub enum AccountsError {
    /// The file cannot be used.
    #[error(transparent)]
    File(#[from] StateFileError),
    /// The users of the store cannot get the names of today.
    #[error("the accounts of users cannot be named or stored: {0}")]
    Names(#[from] io::Error),
}

/// Checks the file of accounts, which may be missing.
///
/// # Errors
/// If the file cannot be used.
pub(crate) fn check_file(file: &Path) -> Result<(), StateFileError> {
    read(file).map(drop)
}

impl Accounts {
    /// Reads the accounts in a file. Without the file, the users `stored` get the names that their numbers
    /// have now.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn open(
        file: PathBuf,
        stored: impl FnOnce() -> io::Result<Vec<u32>>,
    ) -> Result<Self, AccountsError> {
        Self::open_with(file, stored, os_users::name)
    }

    fn open_with(
        file: PathBuf,
        stored: impl FnOnce() -> io::Result<Vec<u32>>,
        look_up: NameLookup,
    ) -> Result<Self, AccountsError> {
        let by_user = match read(&file)? {
            Some(accounts) => accounts,
            None => first_names(&file, &stored()?, look_up)?,
        };
        Ok(Self(Some(Arc::new(KnownAccounts {
            by_user: RwLock::new(by_user),
            file,
            look_up,
        }))))
    }

    /// Returns the user of the account that has a number now. May wait for the system's name service.
    ///
    /// # Errors
    /// If no account has the number, the lookup fails, or a new account cannot be stored.
    pub fn user_of(&self, uid: u32) -> Result<u32, UserLookupError> {
        let Some(known) = self.0.as_ref().filter(|_| uid != 0 && uid != own_uid()) else {
            return Ok(uid);
        };
        let name = (known.look_up)(uid)?;
        let found = known.find(uid, &name);
        match found {
            Some(user) => Ok(user),
            None => known.add(uid, name),
        }
    }

    /// Returns values of accounts by their present users. May wait for the system's name service.
    pub fn assign_to_users<T>(
        &self,
        by_uid: impl IntoIterator<Item = (u32, T)>,
    ) -> BTreeMap<u32, T> {
        let owned = by_uid.into_iter().map(|(uid, known)| {
            // A number without an account belongs to no other user either.
            (self.user_of(uid).unwrap_or(uid), known)
        });
        owned.collect()
    }

    /// Returns the number of a user's account on this host, if the account still has it. May wait for
    /// the system's name service.
    ///
    /// # Errors
    /// If another account or none has the number, or the lookup fails.
    pub fn current_uid(&self, user: u32) -> Result<u32, UserLookupError> {
        let Some((known, account)) = self.account(user) else {
            // Root and the service's own account are not stored.
            let is_stored = self.0.is_some() && user != 0 && user != own_uid();
            return match is_stored {
                true => Err(UserLookupError::Unknown(user)),
                false => Ok(user),
            };
        };
        let uid = account.uid;
        let now = (known.look_up)(uid)?;
        match account.name {
            Some(was) if was == now => Ok(uid),
            Some(was) => Err(UserLookupError::Reassigned { uid, was, now }),
            None => Err(UserLookupError::Unknown(uid)),
        }
    }

    /// Returns the user of an account, without storing it: a new one is its own number.
    pub fn user_named(&self, uid: u32, name: &str) -> u32 {
        let found = self.0.as_ref().and_then(|known| known.find(uid, name));
        found.unwrap_or(uid)
    }

    /// Returns the number that a user's account has, or had, on this host.
    pub fn uid_of(&self, user: u32) -> u32 {
        self.account(user).map_or(user, |(_, account)| account.uid)
    }

    /// Returns the name that a user's account has, or had. None if it is not stored.
    pub fn name_of(&self, user: u32) -> Option<String> {
        self.account(user)?.1.name
    }

    fn account(&self, user: u32) -> Option<(&KnownAccounts, Account)> {
        let known = self.0.as_ref()?;
        let by_user = known.by_user.read().unwrap_or_else(PoisonError::into_inner);
        Some((known, by_user.get(&user)?.clone()))
    }
}

impl KnownAccounts {
    fn find(&self, uid: u32, name: &str) -> Option<u32> {
        let by_user = self.by_user.read().unwrap_or_else(PoisonError::into_inner);
        find(&by_user, uid, name)
    }

    fn add(&self, uid: u32, name: String) -> Result<u32, UserLookupError> {
        let mut by_user = self.by_user.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(user) = find(&by_user, uid, &name) {
            return Ok(user);
        }
        let is_free = |user: &u32| !by_user.contains_key(user);
        let user = [uid]
            .into_iter()
            .chain(FIRST_LATER_USER..)
            .find(is_free)
            .unwrap_or(uid);
        let mut accounts = by_user.clone();
        if let Some(before) = by_user.get(&uid) {
            let was = before.name.as_deref().unwrap_or("no account");
            tracing::warn!(
                uid,
                was,
                now = name,
                "a user number belongs to another account now"
            );
        }
        let name = Some(name);
        accounts.insert(user, Account { user, uid, name });
        write(&self.file, &accounts).map_err(|error| UserLookupError::System {
            user: uid,
            reason: format!("its account cannot be stored: {error}"),
        })?;
        *by_user = accounts;
        Ok(user)
    }
}

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn find(by_user: &BTreeMap<u32, Account>, uid: u32, name: &str) -> Option<u32> {
    let is_it = |account: &&Account| account.uid == uid && account.name.as_deref() == Some(name);
    // Nearly every user has the number of the account.
    let likely = by_user.get(&uid).filter(is_it);
    let found = likely.or_else(|| by_user.values().find(is_it));
    found.map(|account| account.user)
}

/// Gives users that were stored without a name the names of today.
fn first_names(
    file: &Path,
    stored: &[u32],
    look_up: NameLookup,
) -> io::Result<BTreeMap<u32, Account>> {
    let mut accounts = BTreeMap::new();
    for &user in stored {
        let name = match look_up(user) {
            Ok(name) => Some(name),
            Err(UserLookupError::System { reason, .. }) => return Err(io::Error::other(reason)),
            Err(_) => None,
        };
        let uid = user;
        accounts.insert(user, Account { user, uid, name });
    }
    write(file, &accounts)?;
    if !accounts.is_empty() {
        let n_users = accounts.len();
        tracing::info!(
            n_users,
            "users were stored by number alone: they get the names of today"
        );
    }
    Ok(accounts)
}

/// Returns the accounts in a file, by user. None if there is no such file.
fn read(file: &Path) -> Result<Option<BTreeMap<u32, Account>>, StateFileError> {
    let read = read_state_file(file, |text| toml::from_str::<AccountFile>(text))?;
    Ok(read.map(|read| {
        let accounts = read.accounts.into_iter();
        accounts.map(|account| (account.user, account)).collect()
    }))
}

fn write(file: &Path, accounts: &BTreeMap<u32, Account>) -> io::Result<()> {
    let body = AccountFile {
        accounts: accounts.values().cloned().collect(),
    };
    let text = toml::to_string(&body).map_err(io::Error::other)?;
    replace_private(file, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// The name of the account with the number 1001; None if there is none.
        static NAME: Cell<Option<&'static str>> = const { Cell::new(Some("ada")) };
    }

    fn name(uid: u32) -> Result<String, UserLookupError> {
        let name = NAME.get().filter(|_| uid == 1001);
        name.map(str::to_owned).ok_or(UserLookupError::Unknown(uid))
    }

    fn open(dir: &tempfile::TempDir, stored: &[u32]) -> Accounts {
        let file = dir.path().join("accounts.toml");
        Accounts::open_with(file, || Ok(stored.to_vec()), name).unwrap()
    }

    #[test]
    fn account_with_a_reused_number_is_another_user() {
        let dir = tempfile::tempdir().unwrap();
        NAME.set(Some("ada"));
        let accounts = open(&dir, &[]);
        assert_eq!(accounts.user_of(1001), Ok(1001));
        assert_eq!(accounts.current_uid(1001), Ok(1001));
        NAME.set(None);
        assert_eq!(accounts.user_of(1001), Err(UserLookupError::Unknown(1001)));
        NAME.set(Some("eve"));
        // Also after a restart of the service.
        for accounts in [accounts, open(&dir, &[1001])] {
            assert_eq!(accounts.user_of(1001), Ok(FIRST_LATER_USER));
            assert_eq!(accounts.current_uid(FIRST_LATER_USER), Ok(1001));
            let error = accounts.current_uid(1001).unwrap_err();
            assert_eq!(
                error.to_string(),
                "user number 1001 belongs to the account `eve` now, and not to `ada` as before"
            );
            assert_eq!(accounts.name_of(1001).as_deref(), Some("ada"));
            assert_eq!(accounts.uid_of(FIRST_LATER_USER), 1001);
        }
        NAME.set(Some("ada"));
        assert_eq!(open(&dir, &[]).user_of(1001), Ok(1001));
    }

    #[test]
    fn weight_of_an_account_with_a_reused_number_is_that_of_its_present_user() {
        let dir = tempfile::tempdir().unwrap();
        let weights = || [(1001, 2.0), (1002, 3.0)];
        NAME.set(Some("ada"));
        let accounts = open(&dir, &[]);
        let of_ada = BTreeMap::from([(1001, 2.0), (1002, 3.0)]);
        assert_eq!(accounts.assign_to_users(weights()), of_ada);
        NAME.set(Some("eve"));
        let of_eve = BTreeMap::from([(FIRST_LATER_USER, 2.0), (1002, 3.0)]);
        assert_eq!(accounts.assign_to_users(weights()), of_eve);
    }

    #[test]
    fn users_without_a_name_get_that_of_the_first_start() {
        let dir = tempfile::tempdir().unwrap();
        NAME.set(Some("ada"));
        let accounts = open(&dir, &[1001, 1002]);
        assert_eq!(accounts.name_of(1001).as_deref(), Some("ada"));
        assert_eq!(accounts.name_of(1002), None);
        let unknown = Err(UserLookupError::Unknown(1002));
        assert_eq!(accounts.current_uid(1002), unknown);
        // The names of later starts change nothing.
        NAME.set(Some("eve"));
        let accounts = open(&dir, &[1001, 1002, 1003]);
        assert!(accounts.current_uid(1001).is_err());
        assert_eq!(accounts.name_of(1003), None);
        let unknown = Err(UserLookupError::Unknown(1003));
        assert_eq!(accounts.current_uid(1003), unknown);
    }

    #[test]
    fn number_without_accounts_is_its_own_user() {
        let accounts = Accounts::default();
        assert_eq!(accounts.user_of(7), Ok(7));
        assert_eq!(accounts.current_uid(7), Ok(7));
        assert_eq!((accounts.uid_of(7), accounts.name_of(7)), (7, None));
    }
}
