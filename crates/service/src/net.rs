//! The service over TCP: only with TLS, and only for those who hold a token or a certificate.
//!
//! | module | what it holds |
//! |---|---|
//! | [`Fingerprint`] | what keys are known by |
//! | [`SecretToken`] | tokens |
//! | [`keyring`] | whom tokens and certificates stand for |
//! | [`certificate`] | what the service shows for itself |
//! | [`tls`] | what both ends of a connection insist on |
//! | [`remote`] | a service elsewhere, and the way there |
//! | `hosts` | by which names and from which pages it is called |
//! | `caller`, `guard` | who is at the other end, asked anew with each request |
//! | `listen` | connections from their first byte to their last |
//! | `impatient` | a stream whose other end must go on reading |

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
