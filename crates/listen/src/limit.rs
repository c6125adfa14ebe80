//! The open connections of a listener, at most a number per key and in total.
//!
//! A new connection is never refused: the oldest one makes room for it. Silent connections, however
//! many, therefore keep no peer out, also not one at their own address: its handshake takes
//! milliseconds, and theirs are the oldest.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{Shutdown, shutdown};

/// A limit on open connections per key and in total. Clones share the connections.
#[derive(Debug)]
pub struct ConnectionLimit<K> {
    open: Arc<Mutex<OpenConnections<K>>>,
    per_key: usize,
    total: usize,
}

/// The permit of an open connection, which leaves the limit when this value is dropped.
#[derive(Debug)]
pub struct ConnectionPermit<K> {
    open: Arc<Mutex<OpenConnections<K>>>,
    number: u64,
}

#[derive(Debug)]
struct OpenConnections<K> {
    last: u64,
    /// By the order in which they were opened.
    by_number: BTreeMap<u64, OpenConnection<K>>,
}

#[derive(Debug)]
struct OpenConnection<K> {
    key: K,
    /// A copy of the descriptor, by which another thread can close the connection.
    socket: OwnedFd,
    opened: Instant,
}

impl<K: Ord + Copy> ConnectionLimit<K> {
    /// Allows at most `per_key` connections per key, and `total` of all keys; at least one of each.
    pub fn new(per_key: u32, total: u32) -> Self {
        let open = OpenConnections {
            last: 0,
            by_number: BTreeMap::new(),
        };
        Self {
            open: Arc::new(Mutex::new(open)),
            per_key: per_key.max(1) as usize,
            total: total.max(1) as usize,
        }
    }

    /// Adds a connection. If its key has too many, closes the oldest of this key; if there are too many in
    /// total, closes the oldest of a key that has the most.
    ///
    /// # Errors
    /// If the process has no descriptor left.
    pub fn admit(&self, key: K, socket: impl AsFd) -> io::Result<ConnectionPermit<K>> {
        let socket = socket.as_fd().try_clone_to_owned()?;
        let mut open = lock(&self.open);
        if open.of_key(key).count() >= self.per_key {
            open.close_oldest(key);
        }
        if open.by_number.len() >= self.total
            && let Some(key) = open.largest_key()
        {
            open.close_oldest(key);
        }
        open.last += 1;
        let number = open.last;
        let opened = Instant::now();
        let connection = OpenConnection {
            key,
            socket,
            opened,
        };
        open.by_number.insert(number, connection);
        Ok(ConnectionPermit {
            open: Arc::clone(&self.open),
            number,
        })
    }

    /// Closes the connections that have been in the limit for `time`. Returns the time until the next one
    /// will have been; None without a connection.
    pub fn close_overdue(&self, time: Duration) -> Option<Duration> {
        let mut open = lock(&self.open);
        while let Some(first) = open.by_number.first_entry() {
            let left = time.saturating_sub(first.get().opened.elapsed());
            if !left.is_zero() {
                return Some(left);
            }
            first.remove().close();
        }
        None
    }
}

impl<K> Clone for ConnectionLimit<K> {
    fn clone(&self) -> Self {
        Self {
            open: Arc::clone(&self.open),
            ..*self
        }
    }
}

impl<K> Drop for ConnectionPermit<K> {
    fn drop(&mut self) {
        lock(&self.open).by_number.remove(&self.number);
    }
}

impl<K: Ord + Copy> OpenConnections<K> {
    fn of_key(&self, key: K) -> impl Iterator<Item = u64> {
        let of_key = self.by_number.iter();
        of_key.filter_map(move |(number, open)| (open.key == key).then_some(*number))
    }

    /// Returns the key with the most connections; the lowest of several.
    fn largest_key(&self) -> Option<K> {
        let mut counts: BTreeMap<K, usize> = BTreeMap::new();
        for open in self.by_number.values() {
            *counts.entry(open.key).or_default() += 1;
        }
        let largest = counts.into_iter().rev().max_by_key(|(_, count)| *count);
        largest.map(|(key, _)| key)
    }

    fn close_oldest(&mut self, key: K) {
        let oldest = self.of_key(key).next();
        if let Some(connection) = oldest.and_then(|number| self.by_number.remove(&number)) {
            connection.close();
        }
    }
}

impl<K> OpenConnection<K> {
    /// Ends the connection for the thread that uses it too.
    fn close(self) {
        // The peer may have closed it already.
        let _ = shutdown(&self.socket, Shutdown::Both);
    }
}

fn lock<K>(open: &Mutex<OpenConnections<K>>) -> MutexGuard<'_, OpenConnections<K>> {
    // Neither an insertion nor a removal can leave the map half changed.
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Admits a connection of a key. Returns its other end.
    fn admit(limit: &ConnectionLimit<u8>, key: u8) -> (ConnectionPermit<u8>, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        let permit = limit.admit(key, &ours).unwrap();
        // The user of the connection holds it open.
        std::mem::forget(ours);
        (permit, theirs)
    }

    fn is_closed(stream: &UnixStream) -> bool {
        matches!((&*stream).read(&mut [0]), Ok(0))
    }

    #[test]
    fn new_connection_closes_the_oldest_of_its_key() {
        let limit = ConnectionLimit::new(2, 10);
        let open = [(); 3].map(|()| admit(&limit, 1));
        let other = admit(&limit, 2);
        assert_eq!(
            open.each_ref().map(|(_, end)| is_closed(end)),
            [true, false, false]
        );
        assert!(!is_closed(&other.1));
        // A connection that has left is not closed for another.
        let [_, second, _third] = open;
        drop(second.0);
        let _more = admit(&limit, 1);
        assert!(!is_closed(&second.1));
    }

    #[test]
    fn full_limit_closes_a_connection_of_the_key_with_the_most() {
        let limit = ConnectionLimit::new(3, 5);
        let few = [admit(&limit, 1), admit(&limit, 2)];
        let many = [(); 3].map(|()| admit(&limit, 9));
        let _new = admit(&limit, 3);
        assert!(few.iter().all(|(_, end)| !is_closed(end)));
        assert_eq!(
            many.each_ref().map(|(_, end)| is_closed(end)),
            [true, false, false]
        );
    }

    #[test]
    fn overdue_connections_are_closed_and_others_are_not() {
        let limit = ConnectionLimit::new(2, 2);
        assert_eq!(limit.close_overdue(Duration::ZERO), None);
        let (permit, end) = admit(&limit, 1);
        let left = limit.close_overdue(Duration::from_secs(3600));
        assert!(left.is_some_and(|left| left > Duration::ZERO));
        assert!(!is_closed(&end));
        assert_eq!(limit.close_overdue(Duration::ZERO), None);
        assert!(is_closed(&end));
        drop(permit);
    }
}
