//! Authentication of clients. Over TCP, only holders of a token or a certificate are served, always with TLS.
//!
//! | module | contents |
//! |---|---|
//! | [`credentials`] | the users and roles of tokens and certificates |
//! | [`own_certificate`] | the certificate that the service creates for itself |
//! | [`tls`] | the TLS configuration of the service |
//! | `bound_address` | the address of the service, in its data directory |
//! | `host_check` | the host names and web origins that requests may name |
//! | `connection`, `authenticate` | authentication of each request |

pub(crate) mod authenticate;
mod bound_address;
pub(crate) mod connection;
pub mod credentials;
mod host_check;
pub mod own_certificate;
pub mod tls;

pub use bound_address::BoundAddress;
pub use credentials::{Credential, CredentialStore};
pub use host_check::AllowedHosts;
