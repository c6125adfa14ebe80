//! HTTP and JSON under `/v1`: what clients say and are told, and the server.
//!
//! | module | what it holds |
//! |---|---|
//! | [`types`] | the requests and answers |
//! | [`server`] | who is let in, and within which limits |
//! | [`openapi`] | the description of it all |
//! | `limits`, `whole` | what the fields of a request may hold |
//! | `framing` | requests whose end is ambiguous |
//! | `endpoints` | every path, with what it takes and answers |
//! | `routes`, `tokens`, `streams`, `metrics` | what each path answers |

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
