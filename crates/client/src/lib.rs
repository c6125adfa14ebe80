//! A client of the service: the types of its HTTP API, and connections to it.
//!
//! | module | contents |
//! |---|---|
//! | [`api_client`](ApiClient) | requests to a service |
//! | `connection` | one connection, and the requests that it carries |
//! | [`forwarder`](ServiceForwarder) | requests from inside an asynchronous program, side by side |
//! | `reconnect` | how long a client tries again after a lost connection |
//! | [`at_most_once`] | requests that are carried out at most once |
//! | [`clusters_file`] | the clusters of a user |
//! | `client_error` | errors of requests |
//! | `attach` | the connection to the terminal of a session |
//! | [`unfinished`](unfinished_jobs) | jobs that are not over |
//! | [`types`] | the bodies of requests and responses |
//! | [`records`] | those about usage, removal and export of records |
//! | [`resources`] | devices and licences as they are typed |
//! | [`limits`] | the legal ranges of request fields |
//! | [`path_with_query`](PathWithQuery) | paths of the API with the parameters of a query |
//! | [`timestamp`] | instants as ISO 8601 |
//! | [`endpoint`] | the connection to a remote service, over TCP with TLS |
//! | [`tls`], [`key_verifier`](KeyVerifier) | the TLS configuration of a client; peers that are known by their keys |
//! | [`certificate`] | certificates and their private keys, read from files |
//! | [`fingerprint`](Fingerprint) | identifiers of keys |
//! | [`token`](SecretToken) | tokens |
//! | [`typed_amount`] | memory, rates, devices and licences as they are typed |
//! | [`typed_instant`] | instants as they are typed |
//! | [`typed_span`] | spans of time as they are typed |
//! | `whole_number` | whole numbers in JSON |
//! | [`private_file`] | checks of the permissions of files |

mod api_client;
pub mod at_most_once;
mod attach;
pub mod certificate;
mod client_error;
pub mod clusters_file;
mod connection;
pub mod endpoint;
mod fingerprint;
mod forwarder;
mod key_verifier;
pub mod limits;
mod path_with_query;
pub mod private_file;
mod reconnect;
pub mod records;
pub mod resources;
pub mod timestamp;
pub mod tls;
mod token;
pub mod typed_amount;
pub mod typed_instant;
pub mod typed_span;
pub mod types;
mod unfinished;
mod whole_number;

pub use api_client::ApiClient;
pub use attach::{TERMINAL_PATH, TERMINAL_PROTOCOL};
pub use client_error::ClientError;
pub use connection::{InProcessService, KEY_HEADER, ServiceTarget};
pub use endpoint::{RemoteError, RemoteService};
pub use fingerprint::{BadFingerprint, Fingerprint};
pub use forwarder::{ForwardedRequest, ServiceForwarder};
pub use key_verifier::KeyVerifier;
pub use path_with_query::PathWithQuery;
pub use reconnect::ReconnectPolicy;
pub use token::{SecretToken, SecretTokenError};
pub use unfinished::{cancel_unless_over, unfinished_jobs};
