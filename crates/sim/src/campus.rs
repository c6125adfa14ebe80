//! The campus world: tasks run on desktops that users also log in to.
//!
//! | module | contents |
//! |---|---|
//! | [`settings`] | the parameters of the synthetic campus |
//! | [`layout`] | clusters, computers, opening hours, reboots |
//! | [`calendar`] | term and weekends: the log-in rate over time |
//! | [`sessions`] | log-ins: drawn, or from a record |
//! | [`tasks`] | the submissions of a year, and their truth and fate |
//! | [`from_traces`] | a campus from the operator's own log-ins and tasks instead of synthetic ones |
//! | [`environment`] | layout, sessions and tasks together: the same for every policy |
//! | [`run`](mod@run) | the kernel: one retry and one select policy through the year |
//! | [`energy`] | energy |
//! | [`dedicated`] | computers without users |
//! | [`metrics`] | the metrics of a year |
//!
//! After McGough, Forshaw, Gerrard and Wheater, "Reducing the number of miscreant tasks executions
//! in a multi-use cluster" (2013). Their traces were never published: the synthetic campus is
//! calibrated to the figures that they print.
//!
//! Only this module knows which tasks are bad. A policy receives
//! [`TaskHistory`](tollgate_grid_policies::retry::TaskHistory) and [`ComputerPool`](tollgate_grid_policies::select::ComputerPool), which do not
//! reveal it.

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
pub use tasks::{CampusTask, TaskOutcome, TaskTruth};
pub use tollgate_grid_policies::{retry, select};
