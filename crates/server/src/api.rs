//! HTTP and JSON under `/v1`. The types of requests and responses are in `tollgate_client`.
//!
//! | module | contents |
//! |---|---|
//! | [`server`] | connections of the Unix socket and their limits |
//! | [`openapi`] | the OpenAPI document |
//! | `framing` | rejection of requests whose end is ambiguous |
//! | `convert`, `explain` | requests as commands, rows as responses |
//! | `router` | every path with its requests and responses |
//! | `worker_upgrade`, `terminal_upgrade` | connections of workers, and to the terminal of a session |
//! | `handlers`, `alter`, `batch`, `drain`, `grant`, `learn`, `tokens`, `sse`, `metrics`, `usage`, `export`, `prune`, `outputs` | the handlers |

mod alter;
mod batch;
mod convert;
mod drain;
mod error;
mod explain;
mod export;
mod framing;
pub(crate) mod fuzz;
mod grant;
mod handlers;
mod job_selector;
mod learn;
mod metrics;
mod objectives;
pub mod openapi;
mod outputs;
pub(crate) mod prune;
mod router;
pub mod server;
mod sse;
mod terminal_upgrade;
mod tokens;
mod usage;
mod worker_upgrade;

pub(crate) use error::ApiError;
pub(crate) use handlers::{ApiState, query_store};
