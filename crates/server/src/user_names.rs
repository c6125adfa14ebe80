//! Names and main groups of users, as the system's name service knows them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::accounts::Accounts;
use crate::os_users;

/// Time after which a cached name is looked up again.
const CACHE_TTL: Duration = Duration::from_secs(60);

/// The names of users: those of their accounts, else those of the system, which are cached. Clones share
/// the cache.
#[derive(Clone, Debug, Default)]
pub struct UserNames {
    accounts: Accounts,
    cache: Arc<Mutex<BTreeMap<u32, (Instant, UserFacts)>>>,
}

/// The name of a user, and the id of the user's main group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserFacts {
    /// The name; the number of a user without a name.
    pub name: String,
    /// The id of the main group; None if the system does not know the user.
    pub group: Option<u32>,
}

impl UserNames {
    /// Returns the names of these accounts.
    pub fn new(accounts: Accounts) -> Self {
        Self {
            accounts,
            ..Self::default()
        }
    }

    /// Returns the number of a user's account on this host.
    pub fn uid(&self, user: u32) -> u32 {
        self.accounts.uid_of(user)
    }

    /// Returns the name of a user; the number of a user without a name. May wait for the system's name
    /// service.
    pub fn name(&self, user: u32) -> String {
        match self.accounts.name_of(user) {
            Some(name) => name,
            None => self.facts(user).name,
        }
    }

    /// Returns the name and the main group of a user. May wait for the system's name service.
    pub fn facts(&self, user: u32) -> UserFacts {
        if let Some((at, facts)) = self.cached().get(&user)
            && at.elapsed() < CACHE_TTL
        {
            return facts.clone();
        }
        // The cache is not locked meanwhile: one slow lookup must not delay the others.
        let account = os_users::account(self.uid(user)).ok();
        let stored = self.accounts.name_of(user);
        let facts = UserFacts {
            group: account.as_ref().map(|account| account.gid),
            name: stored
                .or(account.map(|account| account.name))
                .unwrap_or_else(|| user.to_string()),
        };
        self.cached().insert(user, (Instant::now(), facts.clone()));
        facts
    }

    /// Returns the user with a name or a number. None if the system knows no such user. May wait for the system's
    /// name service.
    pub fn find(&self, name_or_number: &str) -> Option<u32> {
        let number = name_or_number.parse().ok();
        let uid = number.or_else(|| os_users::by_name(name_or_number).ok())?;
        let account = os_users::account(uid);
        let name = account.map_or_else(|_| String::new(), |account| account.name);
        Some(self.accounts.user_named(uid, &name))
    }

    fn cached(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, (Instant, UserFacts)>> {
        // An insertion cannot leave the map half changed.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_without_an_account_has_its_number_as_name() {
        let names = UserNames::default();
        assert_eq!(names.name(0), "root");
        assert_eq!(names.name(u32::MAX - 7), (u32::MAX - 7).to_string());
        // The second answer comes from the cache.
        assert_eq!(names.name(0), "root");
    }
}
