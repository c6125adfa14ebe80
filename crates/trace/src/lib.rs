//! Records of jobs, log-ins and usage: formats in and out, statistics, anonymising.
//!
//! # Examples
//! Two jobs of a job table, and a line that is none:
//! ```
//! use tollgate_model::Span;
//! use tollgate_trace::{ReadOptions, TraceFormat, read};
//!
//! let text = "job_id,submit_s,runtime_s,procs\n7,0,3600,16\n8,60,90,2\nnine\n";
//! let trace = read("jobs.csv", text.as_bytes(), ReadOptions::default())?;
//!
//! assert_eq!(trace.format, Some(TraceFormat::Table));
//! assert_eq!(trace.jobs.len(), 2);
//! assert_eq!(trace.jobs[1].runtime, Span::from_secs(90));
//! let (_, tally) = trace.diagnostics.iter().next().expect("a finding");
//! assert_eq!(tally.lines, [4]);
//! # Ok::<(), tollgate_trace::OpenError>(())
//! ```
//!
//! # Modules
//! Input:
//!
//! | module | contents |
//! |---|---|
//! | [`mod@open`] | a file, a directory or standard input, gzip or not |
//! | [`batches`] | the same for traces of any length, in little memory |
//! | [`directory`] | the files of a directory as one trace |
//! | [`options`] | the columns that a reader keeps |
//! | [`diagnostics`] | data that was skipped, repaired or defaulted, counted by kind |
//! | `finding`, `record_field` | the kinds of such data, and the fields that they are about |
//! | [`error`] | errors for files that cannot be used at all |
//!
//! Formats of jobs:
//!
//! | module | contents |
//! |---|---|
//! | [`mod@format`] | the formats; `detection` tells them by content |
//! | [`foreign_format`] | formats that are known and not read |
//! | [`swf`] | the Standard Workload Format of the Parallel Workloads Archive: reader and writer |
//! | [`gwf`] | the Grid Workloads Format of the Grid Workloads Archive |
//! | [`sge`] | Grid Engine's `accounting` file (SGE, OGE, Univa) |
//! | [`slurm`] | Slurm's records from `sacct -P` and `sacct --json`; its simulator's events |
//! | [`pbs`] | accounting records of PBS and Torque |
//! | [`lsf`] | LSF's `lsb.acct` |
//! | [`condor`] | HTCondor's history, as ads or in JSON, and job event logs |
//! | [`job_table`] | tollgate's own job table, CSV with a header: reader and writer; Parquet: writer |
//!
//! Formats of records that are not jobs:
//!
//! | module | contents |
//! |---|---|
//! | [`logins`] | log-ins and availability of computers |
//!
//! The records:
//!
//! | module | contents |
//! |---|---|
//! | [`trace`] | the result of a reader: [`Trace`] and [`TraceJob`] |
//! | `trace_metadata` | names, usage and attempts of jobs, as columns |
//! | [`name_column`] | users, groups, accounts, executables and queues as interned names |
//! | [`attempts`] | the attempts of a job, where a format records more than the last |
//! | [`usage`], [`usage_columns`] | the usage of a job: wait, processor time, memory, final status; that of many jobs |
//! | [`optional_column`] | columns of values that records often lack |
//! | [`passthrough_columns`] | columns of a job table that tollgate does not know, passed through |
//! | [`record_filter`] | the selection of a part of a record |
//! | [`statistics`] | an overview of a trace, gathered a batch at a time |
//! | [`summary`] | the metrics by which traces are compared |
//! | [`anonymise`] | a token for every name |
//!
//! The parts of readers:
//!
//! | module | contents |
//! |---|---|
//! | `detection` | the format of a file, by content |
//! | `gzip` | decompression |
//! | `line_reader`, `record_reader`, `json` | lines, accounting records and JSON records |
//! | `parse_field`, `parse_number`, `parse_time`, `memory_size` | the values of fields |
//! | `parts` | the parts of jobs that have records of their own |
//! | `peak_use` | the most processors that ran jobs at once |
//! | `program` | the programs of command lines |
//! | `trace_sink` | the destination of the jobs: the trace, or a visitor of batches |
//!
//! Readers stream: memory grows with the jobs kept, never with the bytes read. No reader repairs data
//! silently: see [`Diagnostics`]. A new reader is a module that parses lines with `line_reader` and
//! `record_reader`. It parses fields with `parse_field`, `parse_number`, `parse_time` and `memory_size` or
//! values with `json`, and passes jobs to the `trace_sink`. `detection` names it.

pub mod anonymise;
pub mod attempts;
pub mod batches;
pub mod condor;
mod detection;
pub mod diagnostics;
pub mod directory;
pub mod error;
mod finding;
pub mod foreign_format;
pub mod format;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
pub mod gwf;
mod gzip;
pub mod job_table;
mod json;
mod line_reader;
pub mod logins;
pub mod lsf;
mod memory_size;
pub mod name_column;
pub mod open;
pub mod optional_column;
pub mod options;
mod parse_field;
mod parse_number;
mod parse_time;
mod parts;
pub mod passthrough_columns;
pub mod pbs;
mod peak_use;
mod program;
mod record_field;
pub mod record_filter;
mod record_reader;
pub mod sge;
pub mod slurm;
pub mod statistics;
pub mod summary;
pub mod swf;
pub mod trace;
mod trace_metadata;
mod trace_sink;
pub mod usage;
pub mod usage_columns;

pub use attempts::{AttemptColumn, TraceAttempt, TraceAttemptEnd};
pub use diagnostics::{Diagnostics, FindingTally};
pub use error::{OpenError, ReadError};
pub use finding::{Finding, FindingAction};
pub use format::TraceFormat;
pub use open::{open, read};
pub use options::{ColumnSelection, ReadOptions};
pub use record_field::RecordField;
pub use summary::TraceSummary;
pub use trace::{NodeCountSource, Trace, TraceJob, TraceSla};
pub use trace_metadata::{RecordNames, TraceMetadata};
pub use usage::{TraceStatus, TraceUsage};
