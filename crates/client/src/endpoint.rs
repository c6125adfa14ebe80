//! The client's connection to a remote service.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper::Uri;
use rustix::net::sockopt;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::certificate::{CertificateError, CertificateFiles, TlsCertificate};
use crate::tls::{self, ServerTrust};
use crate::{Fingerprint, SecretToken, SecretTokenError};

/// The variable with the data directory of a service of this host.
pub const DATA_VARIABLE: &str = "TOLLGATE_DATA";
/// The variable with the URL of a service on another host.
pub const URL_VARIABLE: &str = "TOLLGATE_URL";
/// The variable with the file of the user's token.
pub const TOKEN_VARIABLE: &str = "TOLLGATE_TOKEN_FILE";
/// The variable with the file of the client's certificate and private key.
pub const CERTIFICATE_VARIABLE: &str = "TOLLGATE_CERTIFICATE";
/// The variable with the file of the certificates to trust.
pub const AUTHORITIES_VARIABLE: &str = "TOLLGATE_CA";
/// The variable with the fingerprint of the service's key.
pub const FINGERPRINT_VARIABLE: &str = "TOLLGATE_FINGERPRINT";
/// The variables that name a service on another host, and its credentials.
pub const REMOTE_VARIABLES: [&str; 5] = [
    URL_VARIABLE,
    TOKEN_VARIABLE,
    CERTIFICATE_VARIABLE,
    AUTHORITIES_VARIABLE,
    FINGERPRINT_VARIABLE,
];

/// The default port of a URL: that of HTTPS.
const DEFAULT_PORT: u16 = 443;
/// Maximum time of the TCP connect, and of the TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time without a byte before the system asks the peer, the interval of further questions, and their number.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(15);
const KEEPALIVE_PROBES: u32 = 4;

/// A remote service: its address, its expected key and the client's credentials.
#[derive(Clone, Debug)]
pub struct RemoteService {
    /// `host:port` as in the URL.
    authority: String,
    host: String,
    port: u16,
    tls: Arc<ClientConfig>,
    token: Option<SecretToken>,
    /// Fingerprint that the service's key must have.
    fingerprint: Option<Fingerprint>,
    /// File with the certificate authorities, if there is no fingerprint.
    authorities: Option<PathBuf>,
}

/// The connection settings of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// `https://host[:port]`.
    pub url: String,
    /// File with the token.
    pub token: Option<PathBuf>,
    /// PEM file with the client certificate and its private key.
    pub certificate: Option<PathBuf>,
    /// PEM file with the certificate authorities for the service.
    pub authorities: Option<PathBuf>,
    /// Fingerprint of the service's public key; takes precedence over `authorities`.
    pub fingerprint: Option<Fingerprint>,
}

/// An error of a remote connection.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The URL is invalid.
    #[error("{0}: expected a URL as in https://host:8443")]
    Url(String),
    /// Neither a fingerprint nor a certificate authority is given.
    #[error(
        "{0}: the service cannot be authenticated: expected a fingerprint or trusted certificates"
    )]
    NoTrust(String),
    /// The token cannot be used.
    #[error(transparent)]
    Token(#[from] SecretTokenError),
    /// The client certificate cannot be read.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The certificate authorities cannot be read.
    #[error("{}: expected certificates in PEM: {what}", path.display())]
    Authorities {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        what: String,
    },
    /// The client certificate cannot be used.
    #[error("the client certificate cannot be used: {0}")]
    Tls(#[from] rustls::Error),
    /// The service cannot be reached.
    #[error("{authority}: cannot be reached: {error}")]
    Connect {
        /// `host:port` of the service.
        authority: String,
        /// The system's error.
        error: io::Error,
    },
    /// The handshake failed, for instance because the service has another key.
    #[error("{authority}: {error}")]
    Handshake {
        /// `host:port` of the service.
        authority: String,
        /// The error of the handshake.
        error: io::Error,
    },
}

impl RemoteError {
    /// Returns what the user can do about the error.
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

    /// Returns whether another try may succeed, because the service was restarted or the network is back.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Connect { .. } => true,
            // A service that was killed, or a tunnel to it, closes the connection.
            Self::Handshake { error, .. } => matches!(
                error.kind(),
                io::ErrorKind::UnexpectedEof
                    | io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::BrokenPipe
                    | io::ErrorKind::TimedOut
            ),
            Self::Url(_)
            | Self::NoTrust(_)
            | Self::Token(_)
            | Self::Certificate(_)
            | Self::Authorities { .. }
            | Self::Tls(_) => false,
        }
    }

    /// Returns whether the options are at fault, and not files or the network.
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
    /// Checks the options and reads their files.
    ///
    /// # Errors
    /// If the URL is invalid, a file cannot be used, or the options do not authenticate the
    /// service.
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
        let presented = directions.certificate.as_ref().map(|path| {
            TlsCertificate::read(&CertificateFiles {
                certificate: path.clone(),
                key: path.clone(),
            })
        });
        Ok(Self {
            authority: authority.as_str().to_owned(),
            host: bare.to_owned(),
            port: authority.port_u16().unwrap_or(DEFAULT_PORT),
            tls: tls::client_config(trust, presented.transpose()?)?,
            fingerprint: directions.fingerprint,
            authorities: directions
                .authorities
                .clone()
                .filter(|_| directions.fingerprint.is_none()),
            token: directions
                .token
                .as_deref()
                .map(SecretToken::read)
                .transpose()?,
        })
    }

    /// Returns `host:port`, for the header `host`.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Returns the token for the header `authorization`; None without a token.
    pub fn token(&self) -> Option<&SecretToken> {
        self.token.as_ref()
    }

    /// Returns the fingerprint that the service's key must have; None if certificate authorities vouch for it.
    pub fn fingerprint(&self) -> Option<Fingerprint> {
        self.fingerprint
    }

    /// Returns the file with the certificate authorities; None if a fingerprint is given.
    pub fn authorities(&self) -> Option<&Path> {
        self.authorities.as_deref()
    }

    /// Connects to the service.
    ///
    /// # Errors
    /// If the service cannot be reached, or fails the authentication.
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
        // A waiting client sends nothing by which it would notice that the other host is gone.
        let _ = keep_alive(&stream);
        let connector = TlsConnector::from(Arc::clone(&self.tls));
        with_timeout(connector.connect(name, stream))
            .await
            .map_err(refused)
    }
}

/// Makes the system ask an idle peer whether it is still there: a peer that is gone breaks the connection
/// after about two minutes.
fn keep_alive(stream: &TcpStream) -> rustix::io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(stream, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(stream, KEEPALIVE_PROBES)
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
        true => Err(failed("expected at least one certificate".to_owned())),
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
    fn url_with_more_than_host_and_port_is_rejected() {
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
    fn service_without_trust_anchor_is_rejected() {
        let remote = RemoteService::new(&ConnectOptions {
            url: "https://cluster:8443".to_owned(),
            ..ConnectOptions::default()
        });
        assert!(matches!(remote, Err(RemoteError::NoTrust(_))));
    }
}
