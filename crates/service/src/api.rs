//! HTTP and JSON under `/v1`: what clients say and are told, and the server.
//!
//! | module | what it holds |
//! |---|---|
//! | [`types`] | the requests and answers |
//! | [`server`] | who is let in, and within which limits |

mod figures;
mod instant;
mod reply;
mod routes;
pub mod server;
mod tokens;
mod translate;
pub mod types;
mod which;
mod words;

pub(crate) use reply::Refused;

pub use instant::{BadInstant, iso, read_iso};
