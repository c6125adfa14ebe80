//! The daemon: a controller around the decisions of `tollgate_service`, its HTTP API, and the network.
//! Every response is durable before it is sent.
//!
//! | module | contents |
//! |---|---|
//! | [`controller`] | the controller: one thread that owns core, store and engine |
//! | [`api`] | HTTP and JSON under `/v1` |
//! | [`http`] | connections of clients, by Unix socket and TCP |
//! | [`daemon`](mod@daemon) | startup and shutdown of a service |
//! | [`config`] | the configuration |
//! | [`events`] | the log of the latest job events |
//! | [`exporters`] | node exporters that say how much load slows their hosts |
//! | [`failpoint`] | failpoints for tests |
//! | [`access`] | access rules and limits |
//! | [`accounts`] | user numbers with the names of their accounts |
//! | [`os_users`] | the user accounts that jobs run as |
//! | [`user_names`] | the names of users, cached |
//! | [`workers`] | the network side of workers on other hosts |
//! | [`net`] | authentication of clients: TLS, tokens and certificates |
//! | [`privileges`] | the switch from root to an account of the service's own |
//! | [`notices`] | notices to users, by a command of the site |
//! | [`part_socket`] | the socket where jobs ask for processes on their other hosts |
//! | `kept_outputs` | the outputs that are kept of tasks on other hosts |
//! | [`what_if`] | results of policies on the record of the service |
//! | [`window`] | the window that the service serves itself |
//! | [`permits`] | semaphores that count per key |
//! | `wall_clock` | the host's clock |
//! | `output_name` | names of output files with placeholders |
//!
//! The path of a request: `api` sends a [`controller::ControllerRequest`] to the controller. The
//! controller handles all pending requests in one [`tollgate_service::Core::step`] and commits the resulting
//! changes to the store in one transaction. Only then it responds and lets the engine start
//! attempts.

pub mod access;
pub mod accounts;
pub mod api;
pub mod config;
pub mod controller;
pub mod daemon;
pub mod events;
pub mod exporters;
pub mod failpoint;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
pub mod http;
mod kept_outputs;
pub mod net;
pub mod notices;
pub mod os_users;
mod output_name;
pub mod part_socket;
pub mod permits;
pub mod privileges;
pub mod user_names;
mod wall_clock;
pub mod what_if;
pub mod window;
pub mod workers;

pub use access::{AccessRules, UserScope};
pub use config::{
    ConfigError, DEFAULT_POLICY, ListenConfig, LocalNodes, ServeOptions, ServiceConfig, WebConfig,
};
pub use daemon::{ServeError, check_own_files, serve};
pub use kept_outputs::KeptOutputs;
pub use net::BoundAddress;
