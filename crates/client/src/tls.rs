//! The TLS configuration of a client: TLS 1.3, with proof that the service holds the key of its
//! certificate.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls::version::TLS13;
use rustls::{ClientConfig, Error, RootCertStore};

use crate::Fingerprint;
use crate::certificate::TlsCertificate;
use crate::key_verifier::KeyVerifier;

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
        ServerTrust::Key(print) => {
            Arc::new(KeyVerifier::of_known(provider, move |key| *key == print))
        }
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
