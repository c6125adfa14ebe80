//! The commands and answers of batch systems as values.
//!
//! A dialect turns a job into the command that submits it, and the text that an engine printed into
//! ids, states and refusals. The crate runs nothing: commands are words, answers are texts. So every
//! parser is tested against recorded answers, without an engine.
//!
//! | module | contents |
//! |---|---|
//! | [`dialect`](EngineDialect) | the trait, and the engines that are known |
//! | [`job`](BatchJob) | a job for an engine, its name and its id |
//! | [`arguments`](PassedArguments) | the arguments that users pass on to the submit command |
//! | [`state`](BatchJobReport) | where a job is: it waits, runs, is stuck or over |
//! | [`limits`](QueueLimits) | the queues of an engine and their limits |
//! | [`node`](BatchNode) | the nodes of an engine |
//! | [`queue`](QueueDialect) | the jobs of all users of an engine, read only |
//! | [`fault`](EngineFault) | refusals, and answers that are not understood |
//! | [`command`](EngineCommand) | words, standard input, and the answer |
//! | [`shell`] | words quoted for a shell |
//! | `slurm`, `sge`, `htcondor`, `local` | the dialects |
//! | `fields` | numbers, times and sizes in answers |
//! | `base64` | texts as letters that no parser changes |

mod arguments;
mod base64;
mod command;
mod dialect;
mod fault;
mod fields;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
mod htcondor;
mod job;
mod limits;
mod local;
mod node;
mod queue;
mod sge;
pub mod shell;
mod slurm;
mod state;

pub use arguments::{PassedArguments, RejectedArgument};
pub use command::{CommandAnswer, EngineCommand};
pub use dialect::{EngineDialect, EngineKind, RecordAge, UnknownEngine};
pub use fault::{EngineFault, RetryAdvice};
pub use job::{BatchJob, BatchJobId, BatchJobName, BatchPlacement, InvalidJobName, JobMemory};
pub use limits::QueueLimits;
pub use local::{LOCAL_QUEUE_ARG, LocalQueueVerb};
pub use node::BatchNode;
pub use queue::{QueueDialect, QueueJob, QueuePhase, QueueSettings};
pub use state::{BatchJobPhase, BatchJobReport, BatchLimit, is_early_end};
