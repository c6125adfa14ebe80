//! Capacity: what starts tasks, ends them and says what became of them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`engine`] | [`Engine`]: the trait, and what every engine owes its caller |
//! | [`launch`] | [`LaunchSpec`]: one attempt to be started, down to its limits |
//! | [`script`] | [`LaunchScript`]: the text of a program that comes with its launch |
//! | [`report`] | [`AttemptReport`]: what became of it |
//! | [`lease`] | [`BootTime`]: until when what runs may go on without another word |
//! | [`capacity`] | [`EngineCapacity`]: what there is, what is enforced, what can escape |
//! | [`error`] | [`EngineError`]: what went wrong, and whether trying again can help |
//! | [`memory`] | [`SimEngine`]: nothing runs, under a simulated clock; faults on order |
//! | [`local`] | [`LocalEngine`]: this machine, by way of a runner that outlives its caller |
//! | [`log`] | the log of a process: levels, times, text or JSON |
//! | [`runner`] | the runner: the process that starts tasks here and keeps the record of them |
//! | [`starter`] | the process that starts runners as root for a service that is not root's |
//! | [`conformance`] | what every engine must do, as checks that run on any of them |

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
