//! Capacity: what starts tasks, ends them and says what became of them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`engine`] | [`Engine`]: the trait, and what every engine owes its caller |
//! | [`launch`] | [`Launch`]: one attempt to be started, down to its limits |
//! | [`script`] | [`Script`]: the text of a program that comes with its launch |
//! | [`report`] | [`Report`]: what became of it |
//! | [`lease`] | [`BootTime`]: until when what runs may go on without another word |
//! | [`capacity`] | [`Capacity`]: what there is, what is enforced, what can escape |
//! | [`error`] | [`EngineError`]: what went wrong, and whether trying again can help |
//! | [`memory`] | [`MemoryEngine`]: nothing runs, under a simulated clock; faults on order |
//! | [`local`] | [`LocalEngine`]: this machine, by way of a runner that outlives its caller |
//! | [`log`] | the log of a process: levels, times, text or JSON |
//! | [`runner`] | the runner: the process that starts tasks here and keeps the record of them |
//! | [`conformance`] | what every engine must do, as checks that run on any of them |

pub mod capacity;
pub mod conformance;
pub mod engine;
pub mod error;
#[doc(hidden)]
pub mod fuzz;
pub mod launch;
pub mod lease;
pub mod local;
pub mod log;
pub mod memory;
pub mod report;
pub mod runner;
pub mod script;
mod wire;

pub use capacity::Capacity;
pub use engine::{Engine, Wake};
pub use error::{EngineError, Retry};
pub use launch::{AttemptKey, Launch, Limits, User};
pub use lease::BootTime;
pub use local::{LocalEngine, LocalSettings};
pub use memory::{MemoryEngine, MemoryWorld};
pub use report::{Ended, Event, KillReason, Report, Running, Start, Status};
pub use script::{MAX_SCRIPT_BYTES, Script};
