//! The peer of a TCP connection: unauthenticated until a request shows a valid key.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use tollgate_client::Fingerprint;
use tollgate_listen::{AddressPrefix, ConnectionPermit};

use super::Credential;
use crate::access::{AccessRules, AuthMethod, Peer};
use crate::os_users::UserLookupError;
use crate::permits::{KeyedPermit, KeyedSemaphore};

/// Maximum number of unauthenticated connections from all addresses together.
pub(crate) const MAX_UNAUTHENTICATED: u32 = 512;

/// The permit of an unauthenticated connection, which a newer one may take.
pub(crate) type UnauthenticatedPermit = ConnectionPermit<AddressPrefix>;

/// The peer of a connection.
#[derive(Debug)]
pub(crate) struct ConnectionInfo {
    /// The local address of the connection.
    pub(crate) local: IpAddr,
    /// Fingerprint of the client certificate, if any.
    pub(crate) certificate: Option<Fingerprint>,
    auth: Mutex<AuthState>,
}

/// A reason why a valid credential authenticates no peer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthError {
    #[error("the user is at the connection limit")]
    TooMany,
    #[error("its user is no longer the one that it was created for: {0}")]
    Account(#[from] UserLookupError),
    #[error("the service is stopping")]
    Stopping,
}

#[derive(Debug)]
enum AuthState {
    Unauthenticated {
        _permit: UnauthenticatedPermit,
    },
    Authenticated {
        peer: Peer,
        _permit: KeyedPermit<u32>,
    },
}

impl ConnectionInfo {
    pub(crate) fn new(
        local: IpAddr,
        certificate: Option<Fingerprint>,
        permit: UnauthenticatedPermit,
    ) -> Self {
        Self {
            local: local.to_canonical(),
            certificate,
            auth: Mutex::new(AuthState::Unauthenticated { _permit: permit }),
        }
    }

    /// Returns the peer that `key` authenticates. The connection counts for the last authenticated user,
    /// because a proxy may join several users' requests.
    ///
    /// # Errors
    /// At the user's connection limit, or if another account has the user's number.
    pub(crate) async fn authenticate(
        &self,
        key: &Credential,
        access: AccessRules,
        permits: &KeyedSemaphore<u32>,
    ) -> Result<Peer, AuthError> {
        if let Some(peer) = self.authenticated_peer(key) {
            return Ok(peer);
        }
        let permit = permits.try_acquire(key.user).ok_or(AuthError::TooMany)?;
        let user = key.user;
        // Blocks only this connection on the system's name service.
        let peer = tokio::task::spawn_blocking(move || access.peer_of_user(user)).await;
        let peer = peer.map_err(|_| AuthError::Stopping)??;
        let peer = Peer {
            role: key.role,
            auth_method: AuthMethod::Network(key.fingerprint),
            ..peer
        };
        let mut sitting = self.auth.lock().unwrap_or_else(PoisonError::into_inner);
        *sitting = AuthState::Authenticated {
            peer: peer.clone(),
            _permit: permit,
        };
        Ok(peer)
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
