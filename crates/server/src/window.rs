//! The window of a service: pages for browsers at a loopback address. The program that runs the service makes the pages.
//! The service has the socket, the limits and the rights of users.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tollgate_client::InProcessService;
use tollgate_client::types::WindowLink;

use crate::access::{AccessDenied, AccessRules};
use crate::os_users::UserLookupError;

/// Interval at which the rights of users with sessions are looked up.
const RIGHTS_CHECK: Duration = Duration::from_secs(5);

/// The service as each of its users has it, within the process.
pub trait UserServices: Send + Sync {
    /// Returns the service as a user has it. The access of the user is looked up for each connection, which is closed
    /// once another account has the number of the user.
    fn within(&self, user: u32) -> Arc<dyn InProcessService>;

    /// Returns the number that the account of a user has, or had, on this host.
    fn uid_of(&self, user: u32) -> u32;
}

/// The pages, tickets and sessions of the window of a service. Users have the numbers under which the service stores what
/// is theirs.
pub trait ServiceWindow: Send + Sync {
    /// Returns a link that opens the window once, as a user has it.
    ///
    /// # Errors
    /// If the system has no random bytes.
    fn new_link(&self, user: u32) -> io::Result<WindowLink>;

    /// Returns the pages. A session has the service as its user does.
    fn router(&self, services: Arc<dyn UserServices>) -> Router;

    /// Returns the user of a session. None if there is no such session.
    fn user_of(&self, session: &str) -> Option<u32>;

    /// Returns the users that have sessions or tickets.
    fn users(&self) -> Vec<u32>;

    /// Ends the sessions and tickets of a user.
    fn end_user(&self, user: u32);
}

/// Makes a window at the address where it is bound.
pub type WindowMaker = Box<dyn FnOnce(SocketAddr) -> Arc<dyn ServiceWindow> + Send>;

/// A window to serve.
pub struct WindowSetup {
    /// A loopback address; with port 0 the system picks a free port.
    pub address: SocketAddr,
    /// Makes the window.
    pub make: WindowMaker,
}

impl fmt::Debug for WindowSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("WindowSetup");
        shown
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Ends the sessions of users whose accounts are gone or another's, again and again. Never returns.
pub(crate) async fn end_sessions_without_right(
    window: Arc<dyn ServiceWindow>,
    access: AccessRules,
) {
    let mut interval = tokio::time::interval(RIGHTS_CHECK);
    loop {
        interval.tick().await;
        for user in window.users() {
            let access = access.clone();
            let has_right = tokio::task::spawn_blocking(move || has_right(&access, user)).await;
            if let Ok(false) = has_right {
                tracing::info!(
                    user,
                    "the sessions of the window end: the user has no account"
                );
                window.end_user(user);
            }
        }
    }
}

/// Returns whether a user still may look. A name service that does not answer takes no right away.
fn has_right(access: &AccessRules, user: u32) -> bool {
    let lost = |error: &UserLookupError| !matches!(error, UserLookupError::System { .. });
    match access.peer_of_user(user) {
        Err(error) => !lost(&error),
        Ok(peer) => match peer.denied {
            Some(AccessDenied::UserLookup(error)) => !lost(&error),
            Some(
                AccessDenied::OtherUser
                | AccessDenied::Root
                | AccessDenied::OwnAccount
                | AccessDenied::SystemAccount(_),
            )
            | None => true,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::UserScope;
    use crate::accounts::Accounts;
    use crate::os_users;

    #[test]
    fn right_to_look_ends_with_the_account() {
        // Every system has an account with this number; here it was another's before.
        let Ok(name) = os_users::name(1) else { return };
        let dir = tempfile::tempdir().unwrap();
        let access = |name: &str| {
            let file = dir.path().join(name);
            let known = format!("[[accounts]]\nuser = 1\nuid = 1\nname = \"{name}\"\n");
            std::fs::write(&file, known).unwrap();
            AccessRules {
                scope: UserScope::All,
                accounts: Accounts::open(file, || Ok(Vec::new())).unwrap(),
                ..AccessRules::default()
            }
        };
        assert!(has_right(&access(&name), 1));
        assert!(!has_right(&access("the-earlier-one"), 1));
        assert!(!has_right(&access(&name), u32::MAX - 7));
        // Root is no account of the service, and may look even if it may not submit.
        assert!(has_right(&access(&name), 0));
    }
}
