//! One-time tickets, and the sessions that browsers trade them for.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tollgate_client::{Fingerprint, SecretToken};
use tollgate_host::replace_private;

/// The time in which a ticket must be used.
pub const TICKET_TIME: Duration = Duration::from_secs(60);
/// The time after which a session ends.
pub const SESSION_TIME: Duration = Duration::from_secs(8 * 3_600);
/// Maximum number of sessions, and of tickets, of a user. The oldest ends for another one.
const MAX_SECRETS: usize = 64;

/// A user of a window: the number under which the service has what is the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WindowUser(pub u32);

/// A session that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenSession {
    /// The hash of its secret.
    pub print: Fingerprint,
    /// The user that it shows the service to.
    pub user: WindowUser,
}

/// The tickets and sessions of a window. Only their hashes are kept.
#[derive(Clone, Debug, Default)]
pub struct WindowSessions(Arc<Mutex<SecretLists>>);

#[derive(Debug, Default)]
struct SecretLists {
    tickets: Vec<HashedSecret>,
    sessions: Vec<HashedSecret>,
    /// The file of the sessions. None if they end with the program.
    file: Option<PathBuf>,
}

/// A session in the file.
#[derive(Serialize, Deserialize)]
struct KeptSession {
    print: Fingerprint,
    user: u32,
    /// Seconds since the epoch.
    expires_s: u64,
}

/// A secret that is valid for some time.
#[derive(Debug)]
struct HashedSecret {
    print: Fingerprint,
    user: WindowUser,
    expires: Instant,
}

impl WindowSessions {
    /// Returns sessions that outlive the program, in a file that only its user can read. A missing file has none.
    ///
    /// # Errors
    /// If the file cannot be read or holds something else.
    pub fn kept_in(file: PathBuf) -> io::Result<Self> {
        let kept: Vec<KeptSession> = match fs::read(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => serde_json::from_slice(&read?)?,
        };
        let (clock, now) = (seconds_since_epoch(), Instant::now());
        let left = |expires_s: u64| expires_s.saturating_sub(clock).min(SESSION_TIME.as_secs());
        let sessions = kept.into_iter().map(|kept| HashedSecret {
            print: kept.print,
            user: WindowUser(kept.user),
            expires: now + Duration::from_secs(left(kept.expires_s)),
        });
        Ok(Self(Arc::new(Mutex::new(SecretLists {
            tickets: Vec::new(),
            sessions: sessions.collect(),
            file: Some(file),
        }))))
    }

    /// Creates a ticket of a user: 256 random bits, for one use within [`TICKET_TIME`].
    ///
    /// # Errors
    /// If the system has no random bytes.
    pub fn new_ticket(&self, user: WindowUser) -> io::Result<SecretToken> {
        let ticket = SecretToken::generate()?;
        add(&mut self.lists().tickets, &ticket, user, TICKET_TIME);
        Ok(ticket)
    }

    /// Trades a ticket for a session of its user. None if the ticket was used, is too old, or was never given.
    ///
    /// # Errors
    /// If the system has no random bytes.
    pub fn open(&self, ticket: &str) -> io::Result<Option<SecretToken>> {
        let mut lists = self.lists();
        let print = Fingerprint::of(ticket.as_bytes());
        remove_expired(&mut lists.tickets);
        let mut tickets = lists.tickets.iter();
        let Some(place) = tickets.position(|known| known.print == print) else {
            return Ok(None);
        };
        let ticket = lists.tickets.remove(place);
        let session = SecretToken::generate()?;
        add(&mut lists.sessions, &session, ticket.user, SESSION_TIME);
        lists.keep()?;
        Ok(Some(session))
    }

    /// Returns the session with this secret. None if there is none.
    pub fn find(&self, secret: &str) -> Option<OpenSession> {
        self.find_open(Fingerprint::of(secret.as_bytes()))
    }

    /// Returns whether a session has neither ended nor expired.
    pub fn is_open(&self, session: Fingerprint) -> bool {
        self.find_open(session).is_some()
    }

    fn find_open(&self, print: Fingerprint) -> Option<OpenSession> {
        let now = Instant::now();
        let lists = self.lists();
        let mut sessions = lists.sessions.iter();
        let known = sessions.find(|known| known.print == print && known.expires > now)?;
        let user = known.user;
        Some(OpenSession { print, user })
    }

    /// Returns the users that have sessions or tickets, each once.
    pub fn users(&self) -> BTreeSet<WindowUser> {
        let lists = self.lists();
        let known = lists.sessions.iter().chain(&lists.tickets);
        known.map(|known| known.user).collect()
    }

    /// Ends the sessions of a user. Tickets of that user open nothing any more.
    pub fn end_user(&self, user: WindowUser) {
        let mut lists = self.lists();
        let SecretLists {
            tickets, sessions, ..
        } = &mut *lists;
        for list in [tickets, sessions] {
            list.retain(|known| known.user != user);
        }
        // A file that cannot be written is noticed when the next session begins.
        let _ = lists.keep();
    }

    /// Ends a session.
    pub fn end(&self, session: Fingerprint) {
        let mut lists = self.lists();
        lists.sessions.retain(|known| known.print != session);
        // As above.
        let _ = lists.keep();
    }

    fn lists(&self) -> MutexGuard<'_, SecretLists> {
        self.0.lock().expect("no holder of the lock panics")
    }
}

impl SecretLists {
    /// Writes the sessions into their file, if they have one.
    fn keep(&self) -> io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let (clock, now) = (seconds_since_epoch(), Instant::now());
        let sessions = self.sessions.iter().map(|known| KeptSession {
            print: known.print,
            user: known.user.0,
            expires_s: clock + known.expires.saturating_duration_since(now).as_secs(),
        });
        let sessions: Vec<KeptSession> = sessions.collect();
        replace_private(file, &serde_json::to_vec(&sessions)?)
    }
}

fn seconds_since_epoch() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn add(list: &mut Vec<HashedSecret>, secret: &SecretToken, user: WindowUser, time: Duration) {
    remove_expired(list);
    let mut of_user = list.iter().filter(|known| known.user == user);
    if let Some(oldest) = of_user.next().map(|known| known.print)
        && of_user.count() + 1 == MAX_SECRETS
    {
        list.retain(|known| known.print != oldest);
    }
    list.push(HashedSecret {
        print: secret.fingerprint(),
        user,
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

    const ANN: WindowUser = WindowUser(7);
    const BEN: WindowUser = WindowUser(8);

    #[test]
    fn ticket_opens_one_session() {
        let sessions = WindowSessions::default();
        let ticket = sessions.new_ticket(ANN).unwrap();
        let session = sessions.open(ticket.reveal()).unwrap().unwrap();
        assert!(sessions.open(ticket.reveal()).unwrap().is_none());
        let found = sessions.find(session.reveal()).unwrap();
        assert!(sessions.find(ticket.reveal()).is_none());
        assert_eq!(found.user, ANN);
        sessions.end(found.print);
        assert!(!sessions.is_open(found.print));
    }

    #[test]
    fn unknown_ticket_opens_nothing() {
        let sessions = WindowSessions::default();
        let _ticket = sessions.new_ticket(ANN).unwrap();
        assert!(sessions.open("").unwrap().is_none());
        assert!(sessions.open("tollgate_00").unwrap().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn tickets_and_sessions_expire() {
        let sessions = WindowSessions::default();
        let late = sessions.new_ticket(ANN).unwrap();
        tokio::time::advance(TICKET_TIME).await;
        assert!(sessions.open(late.reveal()).unwrap().is_none());
        let ticket = sessions.new_ticket(ANN).unwrap();
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
            let ticket = sessions.new_ticket(ANN).unwrap();
            sessions.open(ticket.reveal()).unwrap().unwrap()
        };
        let ticket = sessions.new_ticket(BEN).unwrap();
        let of_ben = sessions.open(ticket.reveal()).unwrap().unwrap();
        let first = open();
        let others: Vec<SecretToken> = (0..MAX_SECRETS).map(|_| open()).collect();
        assert!(sessions.find(first.reveal()).is_none());
        assert!(sessions.find(of_ben.reveal()).is_some());
        assert!(
            others
                .iter()
                .all(|other| sessions.find(other.reveal()).is_some())
        );
    }

    #[test]
    fn sessions_of_one_user_end_and_those_of_others_do_not() {
        let sessions = WindowSessions::default();
        let open = |user| {
            let ticket = sessions.new_ticket(user).unwrap();
            sessions.open(ticket.reveal()).unwrap().unwrap()
        };
        let (of_ann, of_ben) = (open(ANN), open(BEN));
        let unused = sessions.new_ticket(ANN).unwrap();
        assert_eq!(sessions.users(), BTreeSet::from([ANN, BEN]));
        sessions.end_user(ANN);
        assert!(sessions.find(of_ann.reveal()).is_none());
        assert!(sessions.open(unused.reveal()).unwrap().is_none());
        assert_eq!(sessions.find(of_ben.reveal()).unwrap().user, BEN);
    }

    #[test]
    fn kept_sessions_outlive_the_program_and_their_secrets_are_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("sessions.json");
        let sessions = WindowSessions::kept_in(file.clone()).unwrap();
        let open = |user| {
            let ticket = sessions.new_ticket(user).unwrap();
            sessions.open(ticket.reveal()).unwrap().unwrap()
        };
        let (of_ann, of_ben) = (open(ANN), open(BEN));
        let unused = sessions.new_ticket(ANN).unwrap();
        let later = WindowSessions::kept_in(file.clone()).unwrap();
        assert_eq!(later.find(of_ann.reveal()).unwrap().user, ANN);
        assert!(later.open(unused.reveal()).unwrap().is_none());
        let written = fs::read_to_string(&file).unwrap();
        assert!(!written.contains(of_ann.reveal()), "{written}");
        later.end_user(ANN);
        let last = WindowSessions::kept_in(file.clone()).unwrap();
        assert!(last.find(of_ann.reveal()).is_none());
        assert!(last.find(of_ben.reveal()).is_some());
        fs::write(&file, "{}").unwrap();
        assert!(WindowSessions::kept_in(file).is_err());
    }

    #[test]
    fn kept_session_that_has_expired_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("sessions.json");
        let secret = SecretToken::generate().unwrap();
        let write = |expires_s| {
            let print = secret.fingerprint();
            let kept = KeptSession {
                print,
                user: 7,
                expires_s,
            };
            fs::write(&file, serde_json::to_vec(&[kept]).unwrap()).unwrap();
            WindowSessions::kept_in(file.clone())
                .unwrap()
                .find(secret.reveal())
        };
        assert_eq!(write(seconds_since_epoch() - 1), None);
        assert!(write(seconds_since_epoch() + 60).is_some());
    }
}
