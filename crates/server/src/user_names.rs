//! Names of users, as the system's name service knows them.

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
    cache: Arc<Mutex<BTreeMap<u32, (Instant, String)>>>,
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
        if let Some(name) = self.accounts.name_of(user) {
            return name;
        }
        if let Some((at, name)) = self.cached().get(&user)
            && at.elapsed() < CACHE_TTL
        {
            return name.clone();
        }
        // The cache is not locked meanwhile: one slow lookup must not delay the others.
        let name = os_users::name(user).unwrap_or_else(|_| user.to_string());
        self.cached().insert(user, (Instant::now(), name.clone()));
        name
    }

    fn cached(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, (Instant, String)>> {
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
