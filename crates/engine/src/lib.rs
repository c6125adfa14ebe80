//! Engines: they start tasks, end them and report their ends.
//!
//! | module | contents |
//! |---|---|
//! | [`traits`] | [`Engine`]: the trait, with the guarantees of every engine |
//! | [`launch`] | [`LaunchSpec`]: the specification of one attempt, with its limits |
//! | [`script`] | [`LaunchScript`]: the text of a program that comes with its launch |
//! | [`event`] | [`AttemptReport`]: starts and ends of attempts |
//! | [`lease`] | [`BootTime`]: the time until which attempts may run without renewal |
//! | [`capacity`] | [`EngineCapacity`]: resources, enforced limits, possible escapes |
//! | [`error`] | [`EngineError`]: failed calls, and whether a retry can help |
//! | [`sim_engine`] | [`SimEngine`]: a simulation with a simulated clock and injected faults |
//! | [`local`] | [`LocalEngine`]: this machine, through a runner that outlives its caller |
//! | [`log`] | the log of a process: levels, times, text or JSON |
//! | [`runner`] | the runner: the process that starts tasks here and records them |
//! | [`starter`] | the process that starts runners as root for a service that is not root |
//! | [`conformance`] | conformance checks that every engine must pass |

pub mod capacity;
pub mod conformance;
pub mod error;
pub mod event;
#[doc(hidden)]
pub mod fuzz;
pub mod launch;
pub mod lease;
pub mod local;
pub mod log;
mod protocol;
pub mod runner;
pub mod script;
pub mod sim_engine;
pub mod starter;
pub mod traits;

pub use capacity::EngineCapacity;
pub use error::{EngineError, Retryability};
pub use event::{
    AttemptEvent, AttemptOutcome, AttemptReport, AttemptStart, AttemptStatus, KillReason,
    RunningAttempt,
};
pub use launch::{AttemptKey, LaunchLimits, LaunchSpec, LaunchUser};
pub use lease::BootTime;
pub use local::{LocalEngine, LocalEngineConfig};
pub use script::{LaunchScript, MAX_SCRIPT_BYTES};
pub use sim_engine::{SimEngine, SimHost};
pub use traits::{Engine, WakeCallback};
