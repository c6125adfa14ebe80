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

mod endpoints;
mod figures;
mod framing;
pub(crate) mod fuzz;
mod instant;
mod limits;
mod metrics;
pub mod openapi;
mod reply;
mod routes;
pub mod server;
mod streams;
mod tokens;
mod translate;
pub mod types;
mod which;
mod whole;
mod words;
mod work;

pub(crate) use reply::ApiError;

pub use instant::{BadInstant, format_iso, parse_iso};
