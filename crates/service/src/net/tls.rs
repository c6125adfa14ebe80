//! What both ends of a connection insist on: TLS 1.3, and that the other end has the key that it
//! shows.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error,
    PeerMisbehaved, RootCertStore, ServerConfig, SignatureScheme,
};

use super::Fingerprint;
use super::certificate::{TlsCertificate, fingerprint};

/// What is spoken: there is no HTTP/2 here.
const ALPN_PROTOCOL: &[u8] = b"http/1.1";

/// By what a client knows the service.
#[derive(Clone, Debug)]
pub enum ServerTrust {
    /// These vouch for it, and for its name.
    Authorities(RootCertStore),
    /// Its public key, whatever it is called.
    Key(Fingerprint),
}

/// What the service insists on. Certificates of clients are asked for if `ask_certificate`; whom one
/// stands for is the keyring's affair.
///
/// # Errors
/// If certificate and key do not fit.
pub fn server_config(
    certificate: TlsCertificate,
    ask_certificate: bool,
) -> Result<Arc<ServerConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])?;
    let builder = match ask_certificate {
        true => builder.with_client_cert_verifier(Arc::new(AcceptAnyClientCert(provider))),
        false => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(certificate.chain, certificate.key)?;
    config.alpn_protocols = vec![ALPN_PROTOCOL.to_vec()];
    Ok(Arc::new(config))
}

/// What a client insists on, and the certificate that it shows, if any.
///
/// # Errors
/// If certificate and key do not fit, or no authority is named.
pub fn client_config(
    trust: ServerTrust,
    shown: Option<TlsCertificate>,
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
    let mut config = match shown {
        Some(shown) => builder.with_client_auth_cert(shown.chain, shown.key)?,
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![ALPN_PROTOCOL.to_vec()];
    Ok(Arc::new(config))
}

/// Accepts the one public key that it was told of. Name and dates of the certificate do not matter:
/// whoever wrote the fingerprint down vouches for the key.
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
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// Accepts every certificate whose private key the client has: that is all there is to be checked
/// here. A key that nobody knows stands for nobody.
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
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// No older version is offered, so nobody gets to sign as in one.
fn only_tls13() -> Error {
    Error::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedCipherSuite)
}
