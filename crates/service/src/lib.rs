//! The daemon around the gate. Every response is durable before it is sent.
//!
//! | module | contents |
//! |---|---|
//! | [`core`] | every decision, without I/O: commands in; responses, changes and orders out |
//! | [`store`] | the durable store |
//! | [`controller`] | the controller: one thread that owns core, store and engine |
//! | [`api`] | HTTP and JSON under `/v1` |
//! | [`client`] | a client of the API |
//! | [`daemon`](mod@daemon) | startup and shutdown of a service |
//! | [`config`] | the configuration |
//! | [`backup`] | backups of the data directory |
//! | [`events`] | the log of the latest job events |
//! | [`failpoint`] | failpoints for tests |
//! | [`access`] | access rules and limits |
//! | [`os_users`] | the user accounts that jobs run as |
//! | [`data_dir`] | the data directory |
//! | [`workers`] | workers on other hosts |
//! | [`net`] | TCP with TLS, tokens and certificates |
//! | [`privileges`] | the switch from root to an account of the service's own |
//! | [`permits`] | semaphores that count per key |
//!
//! The path of a request: `api` sends a [`controller::ControllerRequest`] to the controller. The
//! controller handles all pending requests in one [`core::Core::step`] and commits the resulting
//! changes to the store in one transaction. Only then it responds and lets the engine start
//! attempts.

pub mod access;
pub mod api;
pub mod backup;
pub mod client;
pub mod config;
pub mod controller;
pub mod core;
pub mod daemon;
pub mod data_dir;
mod engine_convert;
pub mod events;
pub mod failpoint;
#[doc(hidden)]
pub mod fuzz;
pub mod net;
pub mod os_users;
pub mod permits;
pub mod privileges;
pub mod store;
pub mod workers;

pub use access::{AccessRole, AccessRules, UserScope};
pub use client::{ApiClient, ClientError};
pub use config::{ConfigError, ListenConfig, ServeOptions, ServiceConfig};
pub use daemon::{BoundAddress, ServeError, serve};
pub use data_dir::{DataDir, DataDirError};
pub use net::{RemoteError, RemoteService};
