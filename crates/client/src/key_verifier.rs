//! The verifier of peers by the keys of their certificates.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerMisbehaved,
    SignatureScheme,
};

use crate::Fingerprint;
use crate::certificate::fingerprint;

/// A verifier that accepts a certificate by its public key, at either end of a connection. Names and dates do
/// not matter, because the person who configured the keys vouches for them. The peer proves that it holds the
/// private key.
pub struct KeyVerifier {
    provider: Arc<CryptoProvider>,
    is_known: Box<dyn Fn(&Fingerprint) -> bool + Send + Sync>,
    needs_certificate: bool,
}

impl KeyVerifier {
    /// Creates a verifier of peers that must have one of the keys that `is_known` accepts.
    pub fn of_known(
        provider: Arc<CryptoProvider>,
        is_known: impl Fn(&Fingerprint) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            provider,
            is_known: Box::new(is_known),
            needs_certificate: true,
        }
    }

    /// Creates a verifier of clients that may have a certificate, with any key.
    pub fn of_any(provider: Arc<CryptoProvider>) -> Self {
        Self {
            provider,
            is_known: Box::new(|_| true),
            needs_certificate: false,
        }
    }

    fn verify(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        match (self.is_known)(&fingerprint(certificate)?) {
            true => Ok(()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

impl fmt::Debug for KeyVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyVerifier").finish_non_exhaustive()
    }
}

/// Returns the error for a TLS 1.2 signature: TLS 1.2 is never offered.
fn only_tls13() -> Error {
    Error::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedCipherSuite)
}

impl ServerCertVerifier for KeyVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verify(end_entity)
            .map(|()| ServerCertVerified::assertion())
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
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}

impl ClientCertVerifier for KeyVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        self.needs_certificate
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.verify(end_entity)
            .map(|()| ClientCertVerified::assertion())
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
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }
}
