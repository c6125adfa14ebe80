//! The TLS configuration of a client: TLS 1.3, with proof that the service holds the key of its
//! certificate.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, PeerMisbehaved, RootCertStore,
    SignatureScheme,
};

use crate::Fingerprint;
use crate::certificate::{TlsCertificate, fingerprint};

/// The ALPN protocol: HTTP/2 is not supported.
pub const ALPN_PROTOCOL: &[u8] = b"http/1.1";

/// The criterion by which a client trusts the service.
#[derive(Clone, Debug)]
pub enum ServerTrust {
    /// Certificate authorities that vouch for the service and its name.
    Authorities(RootCertStore),
    /// The service's public key, under any name.
    Key(Fingerprint),
}

/// Returns the TLS configuration of a client, with its certificate, if any.
///
/// # Errors
/// If the certificate and the key do not match, or the list of authorities is empty.
pub fn client_config(
    trust: ServerTrust,
    presented: Option<TlsCertificate>,
) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])?;
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        ServerTrust::Key(print) => Arc::new(PinnedServerCert { provider, print }),
        ServerTrust::Authorities(roots) => {
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .map_err(|error| Error::General(error.to_string()))?
        }
    };
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match presented {
        Some(presented) => builder.with_client_auth_cert(presented.chain, presented.key)?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![ALPN_PROTOCOL.to_vec()];
    Ok(Arc::new(config))
}

/// A verifier that accepts a single pinned public key. Name and dates of the certificate do not
/// matter, because the user who configured the fingerprint vouches for the key.
#[derive(Debug)]
struct PinnedServerCert {
    provider: Arc<CryptoProvider>,
    print: Fingerprint,
}

impl ServerCertVerifier for PinnedServerCert {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if fingerprint(end_entity)? == self.print {
            return Ok(ServerCertVerified::assertion());
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

/// Verifies the signature with which either end of a connection proves that it holds the key of its
/// certificate.
///
/// # Errors
/// If the signature is invalid, or made by an algorithm that the provider does not have.
pub fn verify_signature(
    provider: &CryptoProvider,
    message: &[u8],
    cert: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let known = &provider.signature_verification_algorithms;
    crypto::verify_tls13_signature(message, cert, signed, known)
}

/// Returns the error for a TLS 1.2 signature: TLS 1.2 is never offered.
pub fn only_tls13() -> Error {
    Error::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedCipherSuite)
}
