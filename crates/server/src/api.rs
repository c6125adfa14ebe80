//! HTTP and JSON under `/v1`. The types of requests and responses are in `tollgate_client`.
//!
//! | module | contents |
//! |---|---|
//! | [`openapi`] | the OpenAPI document |
//! | `convert`, `explain`, `array_tasks` | requests as commands, rows as responses |
//! | `endpoints`, `endpoint`, `request_schemas` | every path with its requests and responses |
//! | [`router`] | the router of these paths, and the limits of requests |
//! | [`promise_terms`] | what the site says about promises |
//! | `repeat` | requests with a key, which their clients may send again |
//! | `worker_upgrade`, `terminal_upgrade` | connections of workers, and to the terminal of a session |
//! | [`state`] | the state that handlers share |
//! | `submission`, `resubmit`, `jobs`, `job_list`, `actions`, `status`, `signal`, `steps`, `alter`, `batch`, `drain`, `worker_release`, `grant`, `learn`, `tokens`, `window`, `sse`, `metrics`, `usage`, `what_if`, `export`, `prune`, `outputs` | the handlers |

mod actions;
mod alter;
mod array_tasks;
mod batch;
mod convert;
mod drain;
mod endpoint;
mod endpoints;
pub(crate) mod error;
mod expected_pilots;
mod explain;
mod export;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod grant;
mod history;
mod job_list;
mod job_selector;
mod jobs;
mod learn;
pub mod metrics;
mod objectives;
pub mod openapi;
mod outputs;
mod placements;
pub mod promise_terms;
pub(crate) mod prune;
mod repeat;
mod request_schemas;
mod resubmit;
pub mod router;
mod signal;
pub mod sse;
pub mod state;
mod status;
mod steps;
mod submission;
mod terminal_upgrade;
mod tokens;
mod usage;
mod what_if;
mod window;
mod worker_ends;
mod worker_release;
mod worker_upgrade;
