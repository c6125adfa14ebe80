//! A service elsewhere, and the way there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper::Uri;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::certificate::{CertificateError, CertificateFiles, TlsCertificate};
use super::tls::{self, ServerTrust};
use super::{Fingerprint, SecretToken, SecretTokenError};

/// The port of a URL that names none: that of HTTPS.
const DEFAULT_PORT: u16 = 443;
/// How long the connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A service elsewhere, by what it is known, and what is shown to it.
#[derive(Clone, Debug)]
pub struct RemoteService {
    /// As it is called: `host:port`.
    authority: String,
    host: String,
    port: u16,
    tls: Arc<ClientConfig>,
    token: Option<SecretToken>,
}

/// Where a service is and what is needed to get there, as users say it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// `https://host[:port]`.
    pub url: String,
    /// The file with the token.
    pub token: Option<PathBuf>,
    /// The file with the certificate to be shown, and its private key, in PEM.
    pub certificate: Option<PathBuf>,
    /// The file with certificates that vouch for the service, in PEM.
    pub authorities: Option<PathBuf>,
    /// The fingerprint of the service's public key; counts more.
    pub fingerprint: Option<Fingerprint>,
}

/// Why a service elsewhere cannot be spoken to.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// No such URL.
    #[error("{0}: expected a URL as in https://host:8443")]
    Url(String),
    /// Nobody vouches for it.
    #[error(
        "{0}: the service cannot be authenticated: expected a fingerprint or trusted certificates"
    )]
    NoTrust(String),
    /// The token cannot be used.
    #[error(transparent)]
    Token(#[from] SecretTokenError),
    /// The certificate to be shown cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// Those that vouch for it cannot be read.
    #[error("{}: expected certificates in PEM: {what}", path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// What is shown cannot be used.
    #[error("the client certificate cannot be used: {0}")]
    Tls(#[from] rustls::Error),
    /// It cannot be reached.
    #[error("{authority}: cannot be reached: {error}")]
    Connect {
        /// Where.
        authority: String,
        /// What the system said.
        error: io::Error,
    },
    /// It is another one, or it does not want to talk.
    #[error("{authority}: {error}")]
    Handshake {
        /// Where.
        authority: String,
        /// What went wrong.
        error: io::Error,
    },
}

impl RemoteError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoTrust(_) => Some(
                "`tollgate serve` prints its fingerprint: give it with `--fingerprint` or TOLLGATE_FINGERPRINT",
            ),
            Self::Token(SecretTokenError::Open { .. }) => {
                Some("take the rights away with `chmod go=`")
            }
            Self::Handshake { error, .. } if is_key_mismatch(error) => {
                Some("this is not the service with that fingerprint, or it was given a new key")
            }
            Self::Url(_)
            | Self::Token(_)
            | Self::Certificate(_)
            | Self::Authorities { .. }
            | Self::Tls(_)
            | Self::Connect { .. }
            | Self::Handshake { .. } => None,
        }
    }

    /// Whether it is a matter of what was typed, and not of what is there.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Url(_) | Self::NoTrust(_))
    }
}

fn is_key_mismatch(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    let failed = rustls::CertificateError::ApplicationVerificationFailure;
    matches!(inner, Some(rustls::Error::InvalidCertificate(why)) if *why == failed)
}

impl RemoteService {
    /// Reads what is needed.
    ///
    /// # Errors
    /// If the URL is none, a file cannot be used, or nobody vouches for the service.
    pub fn new(directions: &ConnectOptions) -> Result<Self, RemoteError> {
        let url = || RemoteError::Url(directions.url.clone());
        let uri: Uri = directions.url.parse().map_err(|_| url())?;
        let authority = uri.authority().ok_or_else(url)?;
        let is_plain = matches!(uri.path(), "" | "/") && uri.query().is_none();
        if uri.scheme_str() != Some("https") || !is_plain || authority.as_str().contains('@') {
            return Err(url());
        }
        let bare = authority
            .host()
            .trim_start_matches('[')
            .trim_end_matches(']');
        server_name(bare).map_err(|_| url())?;
        let trust = match (directions.fingerprint, &directions.authorities) {
            (Some(print), _) => ServerTrust::Key(print),
            (None, Some(path)) => ServerTrust::Authorities(authorities(path)?),
            (None, None) => return Err(RemoteError::NoTrust(directions.url.clone())),
        };
        let shown = directions.certificate.as_ref().map(|path| {
            TlsCertificate::read(&CertificateFiles {
                certificate: path.clone(),
                key: path.clone(),
            })
        });
        Ok(Self {
            authority: authority.as_str().to_owned(),
            host: bare.to_owned(),
            port: authority.port_u16().unwrap_or(DEFAULT_PORT),
            tls: tls::client_config(trust, shown.transpose()?)?,
            token: directions
                .token
                .as_deref()
                .map(SecretToken::read)
                .transpose()?,
        })
    }

    /// As it is called: `host:port`, for the header `host`.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// What is shown with each request, in the header `authorization`; none if a certificate is.
    pub fn token(&self) -> Option<&SecretToken> {
        self.token.as_ref()
    }

    /// A connection to it.
    ///
    /// # Errors
    /// If it cannot be reached, or is another one than it should be.
    pub async fn connect(&self) -> Result<TlsStream<TcpStream>, RemoteError> {
        let authority = || self.authority.clone();
        let unreachable = |error| RemoteError::Connect {
            authority: authority(),
            error,
        };
        let refused = |error| RemoteError::Handshake {
            authority: authority(),
            error,
        };
        let name = server_name(&self.host).map_err(|_| RemoteError::Url(authority()))?;
        let stream = TcpStream::connect((self.host.as_str(), self.port));
        let stream = with_timeout(stream).await.map_err(unreachable)?;
        let _ = stream.set_nodelay(true);
        let connector = TlsConnector::from(Arc::clone(&self.tls));
        with_timeout(connector.connect(name, stream))
            .await
            .map_err(refused)
    }
}

async fn with_timeout<T>(act: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let done = tokio::time::timeout(CONNECT_TIMEOUT, act).await;
    done.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn server_name(host: &str) -> Result<ServerName<'static>, InvalidDnsNameError> {
    ServerName::try_from(host.to_owned())
}

fn authorities(path: &Path) -> Result<RootCertStore, RemoteError> {
    let failed = |what: String| RemoteError::Authorities {
        path: path.to_owned(),
        what,
    };
    let text = fs::read(path).map_err(|error| failed(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        let added = roots.add(certificate);
        added.map_err(|error| failed(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(failed("there is none".to_owned())),
        false => Ok(roots),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(url: &str) -> Result<RemoteService, RemoteError> {
        RemoteService::new(&ConnectOptions {
            url: url.to_owned(),
            fingerprint: Some(Fingerprint::of(b"key")),
            ..ConnectOptions::default()
        })
    }

    #[test]
    fn a_url_names_host_and_port_and_nothing_else() {
        for (url, host, port) in [
            ("https://cluster.example:8443", "cluster.example", 8443),
            ("https://127.0.0.1/", "127.0.0.1", 443),
            ("https://[::1]:8443", "::1", 8443),
        ] {
            let remote = remote(url).unwrap();
            assert_eq!((remote.host.as_str(), remote.port), (host, port));
        }
        for url in [
            "",
            "cluster:8443",
            "http://cluster:8443",
            "https://",
            "https://cluster/v1",
            "https://x@cluster",
            "https://a b",
        ] {
            assert!(matches!(remote(url), Err(RemoteError::Url(_))), "{url}");
        }
    }

    #[test]
    fn somebody_must_vouch_for_it() {
        let remote = RemoteService::new(&ConnectOptions {
            url: "https://cluster:8443".to_owned(),
            ..ConnectOptions::default()
        });
        assert!(matches!(remote, Err(RemoteError::NoTrust(_))));
    }
}
