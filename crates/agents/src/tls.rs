//! TLS between agents: TLS 1.3, where each end proves that it holds a key of the list.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, Error, ServerConfig};
use tollgate_client::certificate::{TlsCertificate, fingerprint};
use tollgate_client::tls::{ALPN_PROTOCOL, ServerTrust, client_config};
use tollgate_client::{Fingerprint, KeyVerifier};
use tollgate_federation::SiteId;

/// The name that a client asks for. The key decides, not the name.
const SERVER_NAME: &str = "tollgate";

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PeerRole {
    /// The agent of another site.
    Agent(SiteId),
    /// The operator of the session.
    Operator,
}

/// Returns the TLS configuration for incoming connections from the holders of some keys.
///
/// # Errors
/// If the certificate and the key do not match.
pub(crate) fn server_config(
    own: &TlsCertificate,
    peers: BTreeMap<Fingerprint, PeerRole>,
) -> Result<Arc<ServerConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = KeyVerifier::of_known(Arc::clone(&provider), move |key| peers.contains_key(key));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_single_cert(own.chain.clone(), own.key.clone_key())?;
    config.alpn_protocols = vec![ALPN_PROTOCOL.to_vec()];
    Ok(Arc::new(config))
}

/// Returns the TLS configuration for a connection to the holder of a key.
///
/// # Errors
/// If the certificate and the key do not match.
pub(crate) fn peer_config(
    own: &TlsCertificate,
    peer: Fingerprint,
) -> Result<Arc<ClientConfig>, Error> {
    let own = TlsCertificate {
        chain: own.chain.clone(),
        key: own.key.clone_key(),
    };
    client_config(ServerTrust::Key(peer), Some(own))
}

/// Returns a connection that begins its handshake.
///
/// # Errors
/// If the configuration does not allow one.
pub(crate) fn client(config: Arc<ClientConfig>) -> Result<ClientConnection, Error> {
    let name = ServerName::try_from(SERVER_NAME).expect("a legal name");
    ClientConnection::new(config, name)
}

/// Returns the holder of the first certificate.
pub(crate) fn role(
    chain: Option<&[CertificateDer<'_>]>,
    peers: &BTreeMap<Fingerprint, PeerRole>,
) -> io::Result<PeerRole> {
    let first = chain.and_then(<[_]>::first);
    let print = first.and_then(|first| fingerprint(first).ok());
    let role = print.and_then(|print| peers.get(&print).copied());
    role.ok_or_else(|| io::ErrorKind::PermissionDenied.into())
}
