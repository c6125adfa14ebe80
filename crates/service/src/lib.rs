//! The daemon around the gate: what it says is on disk before it says it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`core`] | every decision, without input and output: commands in; answers, changes and orders out |
//! | [`store`] | what was said and done, on disk |
//! | [`keeper`] | the one thread that owns both, and the engine |
//! | [`api`] | HTTP and JSON under `/v1` |
//! | [`client`] | the other end of it |
//! | [`serve`](mod@serve) | a service from its start to its end |
//! | [`config`] | its settings |
//! | [`backup`] | copies of its data folder |
//! | [`events`] | what has happened to jobs lately |
//! | [`fault`] | where tests have it fail |
//! | [`access`] | whom it lets do what, and how much |
//! | [`accounts`] | whom jobs run as |
//! | [`folder`] | its data folder |
//! | [`fleet`] | workers on other hosts |
//! | [`net`] | TCP with TLS, tokens and certificates |
//! | [`privileges`] | root gives itself up for an account of its own |
//! | [`seats`] | how many connections each may have |
//!
//! A request takes this way: `api` puts an [`keeper::ControllerRequest`] before the keeper; the keeper handles all
//! that came in meanwhile in one [`core::Core::step`], commits what follows to the store in one
//! transaction, and only then answers and lets the engine start something.

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
