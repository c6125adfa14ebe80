//! Sources of jobs: readers and writers of trace formats, a generator, SLA synthesis.
//!
//! | module | contents |
//! |---|---|
//! | [`mod@open`] | a file, a directory or standard input, gzip or not |
//! | [`batches`] | the same for traces of any length, in little memory |
//! | [`directory`] | the files of a directory as one trace |
//! | [`mod@format`] | the formats, detected by content |
//! | [`swf`] | the Standard Workload Format of the Parallel Workloads Archive |
//! | [`gwf`] | the Grid Workloads Format of the Grid Workloads Archive |
//! | [`sge`] | Grid Engine's `accounting` file (SGE, OGE, Univa) |
//! | [`slurm`] | Slurm's records from `sacct -P` and `sacct --json`; its simulator's events |
//! | [`pbs`] | accounting records of PBS and Torque |
//! | [`lsf`] | LSF's `lsb.acct` |
//! | [`condor`] | HTCondor's history, as ads or in JSON, and job event logs |
//! | [`job_table`] | tollgate's own job table, CSV with a header: reader and writer |
//! | [`rrd`] | round-robin databases, which hold no jobs: binary, or dumped as XML |
//! | [`logins`] | log-ins and availability of computers, which are not jobs either |
//! | [`trace`] | the result of a reader: [`Trace`], [`TraceJob`] and optional columns |
//! | [`name_column`] | users, groups, accounts, executables and queues as interned names |
//! | [`attempts`] | the attempts of a job, where a format records more than the last |
//! | [`usage`] | the usage of a job: wait, processor time, memory, final status |
//! | [`passthrough_columns`] | columns of a job table that tollgate does not know, passed through |
//! | [`diagnostics`] | data that was skipped, repaired or defaulted, counted by kind |
//! | [`error`] | errors for files that cannot be used at all |
//! | [`settings`] | the settings of a run's jobs, with their legal ranges |
//! | [`sla`] | deadlines, budgets and penalty rates for traces that have none |
//! | [`workload`] | the jobs of a run: a trace under settings and a market |
//! | [`generate`] | the embedded default workload |
//! | [`statistics`] | an overview of a trace, gathered a batch at a time |
//! | [`anonymise`] | a token for every name |
//! | [`summary`] | the metrics by which workloads are compared |
//! | [`rng`] | pinned random streams, one per seed, job and purpose |
//!
//! Readers stream: memory grows with the jobs kept, never with the bytes read. No reader repairs
//! data silently: see [`Diagnostics`].

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
