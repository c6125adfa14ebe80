//! Where jobs come from: readers and writers of trace formats, a generator, SLA synthesis.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@open`] | a path or standard input, gzip or not: the format is found by content |
//! | [`swf`] | the Standard Workload Format of the Parallel Workloads Archive |
//! | [`sge`] | Grid Engine's `accounting` file (SGE, OGE, Univa) |
//! | [`slurm`] | Slurm's records as `sacct -P` prints them |
//! | [`pbs`] | accounting records of PBS and Torque |
//! | [`table`] | tollgate's own job table, CSV with a header: reader and writer |
//! | [`trace`] | what a reader returns: [`Trace`], [`TraceJob`] and optional columns |
//! | [`labels`] | users, groups, accounts, executables and queues as interned names |
//! | [`usage`] | how a job went: wait, processor time, memory, how it ended |
//! | [`extra`] | columns of a job table that tollgate does not know, passed through |
//! | [`diagnostics`] | what was skipped, repaired or defaulted on the way, counted by kind |
//! | [`error`] | why a file cannot be used at all |
//! | [`settings`] | what may be varied about a run's jobs, with its legal ranges |
//! | [`sla`] | deadlines, budgets and penalty rates for traces that have none |
//! | [`workload`] | the jobs of a run: a trace under settings and a market |
//! | [`generate`] | the embedded default workload |
//! | [`summary`] | the figures by which workloads are compared |
//! | [`stream`] | pinned random streams, one a seed, job and purpose |
//!
//! Readers stream: memory grows with the jobs kept, never with the bytes read. Nothing is
//! repaired in silence: see [`Diagnostics`].

mod clock;
pub mod diagnostics;
pub mod error;
pub mod extra;
mod field;
#[doc(hidden)]
pub mod fuzz;
pub mod generate;
pub mod labels;
mod lines;
mod normal;
mod number;
pub mod open;
pub mod pbs;
mod records;
mod rows;
pub mod settings;
pub mod sge;
mod size;
pub mod sla;
pub mod slurm;
pub mod stream;
pub mod summary;
pub mod swf;
pub mod table;
pub mod trace;
pub mod usage;
pub mod workload;

pub use diagnostics::{Action, Diagnostics, Field, Finding, Tally};
pub use error::{OpenError, ReadError};
pub use generate::Generator;
pub use open::{Columns, ReadOptions, open, read};
pub use settings::{Factor, NeverRan, Settings, SettingsError};
pub use summary::Summary;
pub use trace::{Metadata, NodesFrom, Trace, TraceJob, TraceSla};
pub use usage::{Status, Usage};
pub use workload::{Arrival, Drawn, Workload};
