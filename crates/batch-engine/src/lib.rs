//! The nodes of a batch system as engines.
//!
//! An attempt is a job of the batch system on the node that the service has chosen; its program is
//! [`tollgate_runner::attempt`]. The batch system carries out, and decides nothing: it gets a job when the job is to
//! start, and the nodes belong to the service alone.
//!
//! | module | contents |
//! |---|---|
//! | [`system`](BatchSystem) | a batch system: its nodes, its limits, the attempts there |
//! | [`engine`](BatchEngine) | one of its nodes, as an [`tollgate_engine::Engine`] |
//! | [`settings`](BatchSystemConfig) | the settings, and the errors at the start |
//! | [`commands`](CommandRunner) | how commands are run |
//! | `book` | the attempts, and what follows from files and answers; no threads, no commands |
//! | `submission` | the thread that submits jobs |
//! | `follow` | the thread that reads files, asks the engine and cancels jobs |
//! | `pace` | the pause after an error |
//!
//! An attempt is at the engine at most once, and is run at most once even if it is there twice:
//!
//! 1. Its launch is on disk before the job is submitted, and with it the name of the job.
//! 2. If a command may have been carried out without an answer, the engine is asked for the name first, among
//!    live and ended jobs. None: the job is submitted again. One: it is adopted. Two: the one
//!    that waits is cancelled once the program runs; the other one cannot run it again.
//! 3. Only the process that creates the mark of the start runs the program. The service creates it to cancel
//!    an attempt, or to decide that an attempt never started: whatever the engine does later, nothing runs.

mod book;
mod commands;
mod engine;
mod follow;
mod pace;
mod settings;
mod submission;
mod system;

pub use commands::CommandRunner;
pub use engine::BatchEngine;
pub use settings::{BatchSystemConfig, BatchSystemError};
pub use system::BatchSystem;
