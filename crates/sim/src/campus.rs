//! The campus world: tasks run on desktops that belong to somebody.
//!
//! | module | what it holds |
//! |---|---|
//! | [`settings`] | every number of the synthetic campus |
//! | [`layout`] | clusters, computers, opening hours, reboots |
//! | [`calendar`] | term and week-ends: when users come |
//! | [`sessions`] | log-ins: drawn, or from a record |
//! | [`tasks`] | what is submitted in a year, and what becomes of it on a dedicated computer |
//! | [`records`] | one's own log-ins and tasks in place of the synthetic ones |
//! | [`environment`] | all of that: what every policy meets alike |
//! | [`year`](mod@year) | the kernel: one retry and one select policy through the year |
//! | [`meter`] | energy |
//! | [`dedicated`] | computers without users |
//! | [`tally`] | what came of it |
//!
//! After McGough, Forshaw, Gerrard and Wheater, "Reducing the number of miscreant tasks executions
//! in a multi-use cluster" (2013). Their traces were never published: the synthetic campus is
//! calibrated to the figures that they print.
//!
//! Which tasks are bad is known here alone. A policy is handed [`Seen`](tollgate_policy::retry::Seen)
//! and [`Pool`](tollgate_policy::select::Pool), which do not tell.

pub mod calendar;
pub mod dedicated;
pub mod energy;
pub mod environment;
pub mod from_traces;
pub mod layout;
pub mod metrics;
pub mod run;
pub mod sessions;
pub mod settings;
pub mod tasks;

pub use environment::CampusEnvironment;
pub use layout::CampusLayout;
pub use metrics::CampusMetrics;
pub use run::{CampusPolicies, CampusRun, run_campus};
pub use sessions::{CampusSessions, UserSession};
pub use settings::{CampusConfig, CampusConfigError};
pub use tasks::{CampusTask, TaskFate, TaskTruth};
pub use tollgate_policy::{retry, select};
