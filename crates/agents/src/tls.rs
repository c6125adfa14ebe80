//! TLS between agents: TLS 1.3, where each end proves that it holds a key of the list.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, DistinguishedName,
    Error, ServerConfig, SignatureScheme,
};
use tollgate_client::Fingerprint;
use tollgate_client::certificate::{TlsCertificate, fingerprint};
use tollgate_client::tls::{
    ALPN_PROTOCOL, ServerTrust, client_config, only_tls13, verify_signature,
};
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
    let verifier = KnownClientCert {
        provider: Arc::clone(&provider),
        peers,
    };
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

/// A verifier that accepts the certificates with some public keys. Names and dates do not matter.
#[derive(Debug)]
struct KnownClientCert {
    provider: Arc<CryptoProvider>,
    peers: BTreeMap<Fingerprint, PeerRole>,
}

impl ClientCertVerifier for KnownClientCert {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if self.peers.contains_key(&fingerprint(end_entity)?) {
            return Ok(ClientCertVerified::assertion());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(only_tls13())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_signature(&self.provider, message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
