//! One-time tickets, and the sessions that browsers trade them for.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;
use tollgate_client::{Fingerprint, SecretToken};

/// The time in which a ticket must be used.
pub const TICKET_TIME: Duration = Duration::from_secs(60);
/// The time after which a session ends.
pub const SESSION_TIME: Duration = Duration::from_secs(8 * 3_600);
/// Maximum number of sessions, and of tickets. The oldest ends for another one.
const MAX_SECRETS: usize = 64;

/// The tickets and sessions of a window. Only their hashes are kept.
#[derive(Clone, Debug, Default)]
pub struct WindowSessions(Arc<Mutex<SecretLists>>);

#[derive(Debug, Default)]
struct SecretLists {
    tickets: Vec<HashedSecret>,
    sessions: Vec<HashedSecret>,
}

/// A secret that is valid for some time.
#[derive(Debug)]
struct HashedSecret {
    print: Fingerprint,
    expires: Instant,
}

impl WindowSessions {
    /// Creates a ticket: 256 random bits, for one use within [`TICKET_TIME`].
    ///
    /// # Errors
    /// If the system has no random bytes.
    pub fn new_ticket(&self) -> io::Result<SecretToken> {
        let ticket = SecretToken::generate()?;
        add(&mut self.lists().tickets, &ticket, TICKET_TIME);
        Ok(ticket)
    }

    /// Trades a ticket for a session. None if the ticket was used, is too old, or was never given.
    ///
    /// # Errors
    /// If the system has no random bytes.
    pub fn open(&self, ticket: &str) -> io::Result<Option<SecretToken>> {
        let mut lists = self.lists();
        let print = Fingerprint::of(ticket.as_bytes());
        remove_expired(&mut lists.tickets);
        let n_valid = lists.tickets.len();
        lists.tickets.retain(|known| known.print != print);
        if lists.tickets.len() == n_valid {
            return Ok(None);
        }
        let session = SecretToken::generate()?;
        add(&mut lists.sessions, &session, SESSION_TIME);
        Ok(Some(session))
    }

    /// Returns the session with this secret. None if there is none.
    pub fn find(&self, secret: &str) -> Option<Fingerprint> {
        let print = Fingerprint::of(secret.as_bytes());
        self.is_open(print).then_some(print)
    }

    /// Returns whether a session has neither ended nor expired.
    pub fn is_open(&self, session: Fingerprint) -> bool {
        let now = Instant::now();
        let lists = self.lists();
        let mut sessions = lists.sessions.iter();
        sessions.any(|known| known.print == session && known.expires > now)
    }

    /// Ends a session.
    pub fn end(&self, session: Fingerprint) {
        self.lists().sessions.retain(|known| known.print != session);
    }

    fn lists(&self) -> MutexGuard<'_, SecretLists> {
        self.0.lock().expect("no holder of the lock panics")
    }
}

fn add(list: &mut Vec<HashedSecret>, secret: &SecretToken, time: Duration) {
    remove_expired(list);
    if list.len() == MAX_SECRETS {
        list.remove(0);
    }
    list.push(HashedSecret {
        print: secret.fingerprint(),
        expires: Instant::now() + time,
    });
}

fn remove_expired(list: &mut Vec<HashedSecret>) {
    let now = Instant::now();
    list.retain(|known| known.expires > now);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticket_opens_one_session() {
        let sessions = WindowSessions::default();
        let ticket = sessions.new_ticket().unwrap();
        let session = sessions.open(ticket.reveal()).unwrap().unwrap();
        assert!(sessions.open(ticket.reveal()).unwrap().is_none());
        let found = sessions.find(session.reveal()).unwrap();
        assert!(sessions.find(ticket.reveal()).is_none());
        sessions.end(found);
        assert!(!sessions.is_open(found));
    }

    #[test]
    fn unknown_ticket_opens_nothing() {
        let sessions = WindowSessions::default();
        let _ticket = sessions.new_ticket().unwrap();
        assert!(sessions.open("").unwrap().is_none());
        assert!(sessions.open("tollgate_00").unwrap().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn tickets_and_sessions_expire() {
        let sessions = WindowSessions::default();
        let late = sessions.new_ticket().unwrap();
        tokio::time::advance(TICKET_TIME).await;
        assert!(sessions.open(late.reveal()).unwrap().is_none());
        let ticket = sessions.new_ticket().unwrap();
        let session = sessions.open(ticket.reveal()).unwrap().unwrap();
        tokio::time::advance(SESSION_TIME - Duration::from_secs(1)).await;
        assert!(sessions.find(session.reveal()).is_some());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(sessions.find(session.reveal()).is_none());
    }

    #[test]
    fn oldest_session_ends_for_another_one() {
        let sessions = WindowSessions::default();
        let open = || {
            let ticket = sessions.new_ticket().unwrap();
            sessions.open(ticket.reveal()).unwrap().unwrap()
        };
        let first = open();
        let others: Vec<SecretToken> = (0..MAX_SECRETS).map(|_| open()).collect();
        assert!(sessions.find(first.reveal()).is_none());
        assert!(
            others
                .iter()
                .all(|other| sessions.find(other.reveal()).is_some())
        );
    }
}
