//! The world of sites: batch systems that serve the recorded jobs of others, pilots in their queues, and the tasks of one
//! user on those pilots.
//!
//! | module | contents |
//! |---|---|
//! | [`config`](SitesConfig) | the sites, the kind of their pilots, and the tasks |
//! | [`tasks`](TaskStream) | tasks with deadlines, from a seed |
//! | `batch_queue` | a batch system with EASY backfilling: the jobs of others and the pilots |
//! | `service` | the service of the user: the gate with `plan`, on the pilots that run |
//! | `pilot_site` | a site as the keeper of pilots sees it |
//! | [`policy`](PilotPolicy) | the policies that are compared |
//! | `fixed_pilots` | a fixed number of pilots, moved between the queues |
//! | [`run`](run_sites) | a run, event by event |
//! | [`outcome`](SitesOutcome) | the fates of tasks and pilots, in figures |
//!
//! The decisions are those of the product: `easy` and `plan` in the gate, [`tollgate_provisioning`] for the number of pilots,
//! `migrate` for moves. The world adds the truth: run times, and the queues.
//!
//! At an instant, jobs of batch systems end and arrive first. The service then sees the pilots that came and went, ends tasks
//! and starts others. Idle pilots leave, and the keeper decides last. Pilots join the service at once.

mod batch_queue;
mod config;
mod fixed_pilots;
mod outcome;
mod pilot_site;
mod policy;
mod run;
mod service;
mod tasks;

pub use config::{OtherJob, QueueConfig, SitesConfig};
pub use outcome::{SitesOutcome, SitesRun};
pub use policy::PilotPolicy;
pub use run::run_sites;
pub use tasks::{PilotTask, TaskStream};
