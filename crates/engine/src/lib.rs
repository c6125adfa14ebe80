//! Engines: they start tasks, end them and report their ends.
//!
//! | module | contents |
//! |---|---|
//! | [`traits`] | [`Engine`]: the trait, with the guarantees of every engine |
//! | [`launch`] | [`LaunchSpec`]: the specification of one attempt, with its limits |
//! | [`part`] | [`AttemptPart`]: an attempt's processes on another of its hosts |
//! | [`service_location`] | [`ServiceLocation`]: where attempts find the service that runs them |
//! | [`script`] | [`LaunchScript`]: the text of a program that comes with its launch |
//! | [`output`] | [`OutputRead`]: the output of an attempt, piece by piece |
//! | [`running`] | [`RunningAttempt`]: an attempt that has not ended |
//! | [`load`] | [`HostLoad`]: the demand of tasks and of others for the processors of the host |
//! | [`lease`] | [`BootTime`]: the time until which attempts may run without renewal |
//! | [`capacity`] | [`EngineCapacity`]: resources, enforced limits, possible escapes |
//! | [`error`] | [`EngineError`]: failed calls, and whether a retry can help |
//! | [`sim_engine`] | [`SimEngine`]: a simulation with a simulated clock and injected faults |
//! | `wire` | launches and times as JSON |
//! | [`conformance`] | conformance checks that every engine must pass |

pub mod capacity;
pub mod conformance;
pub mod error;
pub mod launch;
pub mod lease;
pub mod load;
pub mod output;
pub mod part;
pub mod running;
pub mod script;
pub mod service_location;
pub mod sim_engine;
pub mod traits;
mod wire;

pub use capacity::EngineCapacity;
pub use error::{EngineError, Retryability};
pub use launch::{LaunchHost, LaunchLimits, LaunchSpec, LaunchUser};
pub use lease::BootTime;
pub use load::{AttemptDemand, HostLoad};
pub use output::{OutputAnswer, OutputRead};
pub use part::{AttemptPart, PartEvent, PartRequest, SpreadAccess};
pub use running::{RunningAttempt, SuspendedAttempt};
pub use script::{LaunchScript, MAX_SCRIPT_BYTES};
pub use service_location::ServiceLocation;
pub use sim_engine::{SimEngine, SimHost};
pub use traits::{Engine, WakeCallback};
