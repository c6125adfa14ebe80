//! The TLS configuration of the service: TLS 1.3, with proof that a client holds the key of its
//! certificate.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::version::TLS13;
use rustls::{DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme};
use tollgate_client::certificate::{TlsCertificate, fingerprint};
use tollgate_client::tls::{ALPN_PROTOCOL, only_tls13, verify_signature};

/// Returns the TLS configuration of the service. With `requests_certificate`, client certificates are
/// requested; the keyring maps them to users.
///
/// # Errors
/// If the certificate and the key do not match.
pub fn server_config(
    certificate: TlsCertificate,
    requests_certificate: bool,
) -> Result<Arc<ServerConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])?;
    let builder = match requests_certificate {
        true => builder.with_client_cert_verifier(Arc::new(AcceptAnyClientCert(provider))),
        false => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(certificate.chain, certificate.key)?;
    config.alpn_protocols = vec![ALPN_PROTOCOL.to_vec()];
    Ok(Arc::new(config))
}

/// A verifier that accepts every certificate whose private key the client holds. The keyring
/// rejects unknown keys later.
#[derive(Debug)]
struct AcceptAnyClientCert(Arc<CryptoProvider>);

impl ClientCertVerifier for AcceptAnyClientCert {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        fingerprint(end_entity).map(|_| ClientCertVerified::assertion())
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
        verify_signature(&self.0, message, cert, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
