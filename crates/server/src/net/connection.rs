//! The peer of a TCP connection: unauthenticated until a request shows a valid key.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use tollgate_client::Fingerprint;

use super::Credential;
use crate::access::{AccessRules, AuthMethod, Peer};
use crate::permits::{KeyedPermit, KeyedSemaphore};

/// Maximum number of unauthenticated connections from all addresses together.
const MAX_UNAUTHENTICATED: u32 = 512;

/// The limits on unauthenticated connections.
#[derive(Clone, Debug)]
pub(super) struct UnauthenticatedLimit {
    all: KeyedSemaphore<()>,
    /// Limit per origin address.
    by_origin: KeyedSemaphore<AddressPrefix>,
}

/// An address range that may well be one machine: an IPv4 address, or the 64-bit prefix of an IPv6
/// address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AddressPrefix {
    V4(u32),
    V6(u64),
}

/// A permit for one unauthenticated connection.
#[derive(Debug)]
pub(super) struct UnauthenticatedPermit {
    _of_all: KeyedPermit<()>,
    _of_origin: KeyedPermit<AddressPrefix>,
}

impl UnauthenticatedLimit {
    /// Allows at most `most` connections per address.
    pub(super) fn new(most: u32) -> Self {
        Self {
            all: KeyedSemaphore::new(MAX_UNAUTHENTICATED),
            by_origin: KeyedSemaphore::new(most),
        }
    }

    /// Returns a permit for a connection from this address; None if there are too many.
    pub(super) fn try_acquire(&self, from: IpAddr) -> Option<UnauthenticatedPermit> {
        Some(UnauthenticatedPermit {
            _of_origin: self.by_origin.try_acquire(AddressPrefix::of(from))?,
            _of_all: self.all.try_acquire(())?,
        })
    }
}

impl AddressPrefix {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.to_bits()),
            IpAddr::V6(address) => Self::V6((address.to_bits() >> 64) as u64),
        }
    }
}

/// The peer of a connection.
#[derive(Debug)]
pub(super) struct ConnectionInfo {
    /// The local address of the connection.
    pub(super) local: IpAddr,
    /// Fingerprint of the client certificate, if any.
    pub(super) certificate: Option<Fingerprint>,
    auth: Mutex<AuthState>,
}

#[derive(Debug)]
enum AuthState {
    Unauthenticated {
        _place: UnauthenticatedPermit,
    },
    Authenticated {
        peer: Peer,
        _place: KeyedPermit<u32>,
    },
}

impl ConnectionInfo {
    pub(super) fn new(
        local: IpAddr,
        certificate: Option<Fingerprint>,
        place: UnauthenticatedPermit,
    ) -> Self {
        Self {
            local: local.to_canonical(),
            certificate,
            auth: Mutex::new(AuthState::Unauthenticated { _place: place }),
        }
    }

    /// Returns the peer that `key` authenticates; None at the user's connection limit. The
    /// connection counts for the last authenticated user, because a proxy may join several users'
    /// requests.
    pub(super) async fn authenticate(
        &self,
        key: &Credential,
        access: AccessRules,
        seats: &KeyedSemaphore<u32>,
    ) -> Option<Peer> {
        if let Some(peer) = self.authenticated_peer(key) {
            return Some(peer);
        }
        let place = seats.try_acquire(key.user)?;
        let user = key.user;
        // Blocks only this connection on the system's name service.
        let peer = tokio::task::spawn_blocking(move || access.peer_of(user)).await;
        let peer = Peer {
            role: key.role,
            auth_method: AuthMethod::Network(key.fingerprint),
            ..peer.ok()?
        };
        let mut sitting = self.auth.lock().unwrap_or_else(PoisonError::into_inner);
        *sitting = AuthState::Authenticated {
            peer: peer.clone(),
            _place: place,
        };
        Some(peer)
    }

    fn authenticated_peer(&self, key: &Credential) -> Option<Peer> {
        let sitting = self.auth.lock().unwrap_or_else(PoisonError::into_inner);
        match &*sitting {
            AuthState::Authenticated { peer, .. }
                if peer.auth_method == AuthMethod::Network(key.fingerprint) =>
            {
                Some(peer.clone())
            }
            AuthState::Authenticated { .. } | AuthState::Unauthenticated { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unauthenticated_connections_are_limited_per_address() {
        let anteroom = UnauthenticatedLimit::new(2);
        let enter = |from: &str| anteroom.try_acquire(from.parse().unwrap());
        let one = [enter("192.0.2.1"), enter("::ffff:192.0.2.1")];
        assert!(one.iter().all(Option::is_some));
        assert!(enter("192.0.2.1").is_none());
        assert!(enter("192.0.2.2").is_some());
        let two = [enter("2001:db8::1"), enter("2001:db8::ffff:2")];
        assert!(two.iter().all(Option::is_some));
        assert!(enter("2001:db8::3").is_none());
        assert!(enter("2001:db8:0:1::3").is_some());
        drop(one);
        assert!(enter("192.0.2.1").is_some());
    }

    #[test]
    fn unauthenticated_connections_are_limited_in_total() {
        let anteroom = UnauthenticatedLimit::new(1);
        let from = |n: u32| IpAddr::from(n.to_be_bytes());
        let all: Vec<_> = (0..MAX_UNAUTHENTICATED)
            .map(|n| anteroom.try_acquire(from(n)))
            .collect();
        assert!(all.iter().all(Option::is_some));
        assert!(anteroom.try_acquire(from(MAX_UNAUTHENTICATED)).is_none());
    }
}
