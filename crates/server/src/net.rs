//! The service over TCP: always with TLS, and only for holders of a token or a certificate.
//!
//! | module | contents |
//! |---|---|
//! | [`credentials`] | the users and roles of tokens and certificates |
//! | [`own_certificate`] | the certificate that the service creates for itself |
//! | [`tls`] | the TLS configuration of the service |
//! | `host_check` | the host names and web origins that requests may name |
//! | `connection`, `authenticate` | authentication of each request |
//! | `listen` | the TCP server |
//! | `write_timeout` | a stream with a write timeout |

pub(crate) mod authenticate;
mod connection;
pub mod credentials;
mod host_check;
mod listen;
pub mod own_certificate;
pub mod tls;
mod write_timeout;

pub use credentials::{Credential, CredentialStore};
pub use host_check::AllowedHosts;
pub use listen::{TcpContext, serve_tls};
pub(crate) use write_timeout::WriteTimeout;
