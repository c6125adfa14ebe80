//! HTTP and JSON under `/v1`: the server, its requests and its responses.
//!
//! | module | contents |
//! |---|---|
//! | [`types`] | the requests and answers |
//! | [`server`] | connections of the Unix socket and their limits |
//! | [`openapi`] | the OpenAPI document |
//! | `limits`, `whole` | the legal ranges of request fields |
//! | `framing` | rejection of requests whose end is ambiguous |
//! | `router` | every path with its requests and responses |
//! | `handlers`, `tokens`, `streams`, `metrics` | the handlers |

mod convert;
mod error;
mod explain;
mod framing;
pub(crate) mod fuzz;
mod handlers;
mod job_selector;
mod limits;
mod metrics;
mod objectives;
pub mod openapi;
mod router;
pub mod server;
mod sse;
mod timestamp;
mod tokens;
pub mod types;
mod whole_number;
mod worker_upgrade;

pub(crate) use error::ApiError;

pub use timestamp::{BadInstant, format_iso, parse_iso};
