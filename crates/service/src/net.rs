//! The service over TCP: always with TLS, and only for holders of a token or a certificate.
//!
//! | module | contents |
//! |---|---|
//! | [`Fingerprint`] | identifiers of keys |
//! | [`SecretToken`] | tokens |
//! | [`credentials`] | the users and roles of tokens and certificates |
//! | [`certificate`] | the service's TLS certificate |
//! | [`tls`] | the TLS configuration of both ends |
//! | [`endpoint`] | the client's connection to a remote service |
//! | `host_check` | the host names and web origins that requests may name |
//! | `connection`, `guard` | authentication of each request |
//! | `listen` | the TCP server |
//! | `write_timeout` | a stream with a write timeout |

pub(crate) mod authenticate;
pub mod certificate;
mod connection;
pub mod credentials;
pub mod endpoint;
mod fingerprint;
mod host_check;
mod listen;
pub mod tls;
mod token;
mod write_timeout;

pub use credentials::{Credential, CredentialStore};
pub use endpoint::{RemoteError, RemoteService};
pub use fingerprint::{BadFingerprint, Fingerprint};
pub use host_check::AllowedHosts;
pub use listen::{TcpContext, serve_tls};
pub use token::{SecretToken, SecretTokenError};
pub(crate) use write_timeout::WriteTimeout;
