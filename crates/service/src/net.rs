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

mod caller;
pub mod certificate;
mod fingerprint;
pub(crate) mod guard;
mod hosts;
mod impatient;
pub mod keyring;
mod listen;
pub mod remote;
mod secret;
pub mod tls;

pub use fingerprint::{BadFingerprint, Fingerprint};
pub use hosts::AllowedHosts;
pub(crate) use impatient::WriteTimeout;
pub use keyring::{Credential, CredentialStore};
pub use listen::{TcpContext, serve_tls};
pub use remote::{RemoteError, RemoteService};
pub use secret::{SecretToken, SecretTokenError};
