//! The TLS configuration of the service: TLS 1.3, with proof that a client holds the key of its
//! certificate.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::version::TLS13;
use rustls::{Error, ServerConfig};
use tollgate_client::KeyVerifier;
use tollgate_client::certificate::TlsCertificate;
use tollgate_client::tls::ALPN_PROTOCOL;

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
        // The keyring rejects unknown keys later.
        true => builder.with_client_cert_verifier(Arc::new(KeyVerifier::of_any(provider))),
        false => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(certificate.chain, certificate.key)?;
    config.alpn_protocols = vec![ALPN_PROTOCOL.to_vec()];
    Ok(Arc::new(config))
}
