//! Where jobs come from: readers and writers of trace formats, a generator, SLA synthesis.
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@open`] | a file, a folder or standard input, gzip or not |
//! | [`batches`] | the same for traces of any length, in little memory |
//! | [`folder`] | the files of a folder as one trace |
//! | [`mod@format`] | the formats, which are found by content |
//! | [`swf`] | the Standard Workload Format of the Parallel Workloads Archive |
//! | [`gwf`] | the Grid Workloads Format of the Grid Workloads Archive |
//! | [`sge`] | Grid Engine's `accounting` file (SGE, OGE, Univa) |
//! | [`slurm`] | Slurm's records as `sacct -P` and `sacct --json` print them; its simulator's events |
//! | [`pbs`] | accounting records of PBS and Torque |
//! | [`lsf`] | LSF's `lsb.acct` |
//! | [`condor`] | HTCondor's history, as ads or in JSON, and job event logs |
//! | [`table`] | tollgate's own job table, CSV with a header: reader and writer |
//! | [`rrd`] | round-robin databases, which hold no jobs: binary, or dumped as XML |
//! | [`logins`] | log-ins and availability of computers, which are no jobs either |
//! | [`trace`] | what a reader returns: [`Trace`], [`TraceJob`] and optional columns |
//! | [`labels`] | users, groups, accounts, executables and queues as interned names |
//! | [`attempts`] | the tries at running a job, where a format tells of more than the last |
//! | [`usage`] | how a job went: wait, processor time, memory, how it ended |
//! | [`extra`] | columns of a job table that tollgate does not know, passed through |
//! | [`diagnostics`] | what was skipped, repaired or defaulted on the way, counted by kind |
//! | [`error`] | why a file cannot be used at all |
//! | [`settings`] | what may be varied about a run's jobs, with its legal ranges |
//! | [`sla`] | deadlines, budgets and penalty rates for traces that have none |
//! | [`workload`] | the jobs of a run: a trace under settings and a market |
//! | [`generate`] | the embedded default workload |
//! | [`survey`] | what is in a trace, gathered a batch at a time |
//! | [`anonymise`] | a token for every name |
//! | [`summary`] | the figures by which workloads are compared |
//! | [`stream`] | pinned random streams, one a seed, job and purpose |
//!
//! Readers stream: memory grows with the jobs kept, never with the bytes read. Nothing is
//! repaired in silence: see [`Diagnostics`].

pub mod anonymise;
pub mod attempts;
pub mod batches;
pub mod condor;
pub mod diagnostics;
pub mod directory;
pub mod error;
pub mod format;
#[doc(hidden)]
pub mod fuzz;
pub mod generate;
pub mod gwf;
pub mod job_table;
mod json;
mod line_reader;
pub mod logins;
pub mod lsf;
mod memory_size;
pub mod name_column;
mod normal;
pub mod open;
mod parse_field;
mod parse_number;
mod parse_time;
pub mod passthrough_columns;
pub mod pbs;
mod record_reader;
pub mod rng;
mod row_selection;
pub mod rrd;
pub mod settings;
pub mod sge;
pub mod sla;
pub mod slurm;
pub mod statistics;
pub mod summary;
pub mod swf;
pub mod trace;
pub mod usage;
pub mod workload;

pub use attempts::{AttemptColumn, TraceAttempt, TraceAttemptEnd};
pub use diagnostics::{Diagnostics, Finding, FindingAction, FindingTally, RecordField};
pub use error::{OpenError, ReadError};
pub use format::TraceFormat;
pub use generate::WorkloadGenerator;
pub use open::{ColumnSelection, ReadOptions, open, read};
pub use settings::{NeverRanHandling, SlaFactor, WorkloadConfig, WorkloadConfigError};
pub use summary::TraceSummary;
pub use trace::{NodeCountSource, Trace, TraceJob, TraceMetadata, TraceSla};
pub use usage::{TraceStatus, TraceUsage};
pub use workload::{JobArrival, SynthesisedSlas, Workload};
