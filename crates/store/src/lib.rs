//! The data directory of a service, and the durable store in it: [`Store`] writes, [`StoreReader`]
//! reads. The service sends no response before its effects are stored here.
//!
//! | module | contents |
//! |---|---|
//! | [`data_dir`] | [`DataDir`]: the data directory: its lock, its files, their permissions |
//! | `store`, `error` | [`Store`]: opening of a store; errors |
//! | `format` | the versions of the stored form |
//! | `write`, `job_rows`, `arrays`, `attempts`, `statement` | the rows that a step changes |
//! | `job_program` | [`JobProgram`]: the program of a job |
//! | `content` | texts of jobs, stored once each, and the limit on those of jobs that are over |
//! | `read`, `job_filter`, `row_values`, `tasks` | [`StoreReader`]: queries beside a running service, and those for tasks of arrays |
//! | `steps` | [`StepRow`]: steps of attempts |
//! | `places` | [`PlaceRow`]: the nodes of attempts over time |
//! | `history` | [`TurnRow`], [`SampleRow`]: turns in the lives of jobs, late promises, and samples of forecasts |
//! | `expected_hosts` | promises that count on hosts that were not there when they were made |
//! | `desktops` | [`EvictionRow`], [`HostUseRow`]: computers that people work at, and what became of tasks there |
//! | `task_numbers` | [`TaskNumbers`]: whole numbers of the tasks of arrays |
//! | `books` | [`PromiseSums`]: the books, and calibration |
//! | `objectives` | sums over finished jobs, and coverage of estimates |
//! | `usage` | [`UsageRow`]: usage by user, account and day; jobs and bookings page by page |
//! | `answers` | answers to requests that their clients may send again |
//! | `prune` | removal of jobs that are over |
//! | `impossible`, `repair` | values that cannot be true, and the nearest ones that can |
//! | `replay`, `recover` | the state after a crash, from snapshot and commands; new rules for it |
//! | `earlier_runs` | the runs of finished jobs, from which a state of another format is learned anew |
//! | `rehearsal` | the recovery of a store that stays as it is, for checks |
//! | `schema` | the tables |
//! | `sums` | sums in SQL that stay in range |
//! | [`integrity`] | checksums of rows, and the check of a whole store |
//! | `copy`, [`backup`] | consistent copies of a store, and backups of a data directory |
//! | `rights` | the rights with which root reads a data directory |
//! | `disk_reserve` | space that a full disk leaves to the last transactions |
//!
//! | table | contents |
//! |---|---|
//! | `batch` | the commands since the last snapshot, one row per step, from which to replay |
//! | `snapshot` | the state after some batch |
//! | `job`, `attempt` | the history of each job, for queries |
//! | `placement`, `step` | the hosts of attempts on several, and the steps of attempts |
//! | `place` | the nodes of attempts, from when until when |
//! | `late_promise`, `turn`, `sample` | promises made after the submission, holds and the like, and forecasts as time went by |
//! | `on_expected`, `promise_on_expected` | promises that counted on hosts that were not there |
//! | `host_use`, `eviction`, `abandonment` | when desktops were in use, evictions there, and tasks that are not tried again |
//! | `array`, `task_range` | task counts of an array by state, and the tasks that never ran |
//! | `task_numbers` | the first of the numbers of each array's tasks, and how many they are; also of removed arrays |
//! | `content` | scripts, environments and long commands of jobs, each once |
//! | `kept`, `kept_by_user` | those that users keep of jobs that are over, and their sizes |
//! | `ledger` | charges and penalties, append-only, one row per attempt and kind |
//! | `rules` | the rules under which the batches were handled |
//! | `book` | numbers of jobs by what became of them |
//! | `total`, `promise`, `account` | sums over finished jobs, promises and the ledger |
//! | `usage` | sums by user, account and day, which outlive the jobs |
//! | `granted` | exceptions from the shares of users: when, by which operator, and why |
//! | `answered` | answers of the last day to requests with a key |
//! | `removed` | counts of jobs that were removed because of their age |
//! | `sum_of` | the number of rows of each of these tables, and the sum of their checksums |
//!
//! Each step is one transaction over all of these tables, through SQLite's write-ahead log with full
//! synchronisation. A committed step survives a crash of the process, of the system, and a power failure.

mod answers;
mod arrays;
mod attempts;
pub mod backup;
mod books;
mod content;
mod copy;
pub mod data_dir;
mod desktops;
mod disk_reserve;
mod earlier_runs;
mod error;
mod expected_hosts;
mod format;
mod history;
mod impossible;
pub mod integrity;
mod job_filter;
mod job_program;
mod job_rows;
mod objectives;
mod places;
mod prune;
mod read;
mod recover;
mod rehearsal;
mod repair;
mod replay;
mod rights;
mod row_values;
mod schema;
mod statement;
mod steps;
mod store;
mod sums;
mod task_numbers;
mod tasks;
mod usage;
mod write;

pub use answers::{KeyedAnswer, StoredAnswer};
pub use books::PromiseSums;
pub use content::StoredProgram;
pub use copy::check;
pub use data_dir::{DataDir, DataDirError};
pub use desktops::{AbandonmentRow, EvictionRow, EvictionSums, HostUseRow};
pub use error::StoreError;
pub use format::{FIRST, FORMAT, VERSION};
pub use history::{LatePromise, MAX_SAMPLES, SampleRow, TurnRow};
pub use impossible::ImpossibleValue;
pub use integrity::CheckedRows;
pub use job_filter::{JobFilter, PromiseFilter};
pub use job_program::{JobProgram, RepeatOptions};
pub use objectives::EstimateCoverage;
pub use places::{PlaceFilter, PlaceRow};
pub use prune::RemovalProgress;
pub use read::{AccountRow, AttemptRow, JobRow, StoreReader};
pub use replay::RestoreProgress;
pub use rights::{with_owner_rights, with_writer_rights};
pub use steps::{MAX_STEPS, NewStep, StepEnding, StepRow};
pub use store::Store;
pub use task_numbers::TaskNumbers;
pub use tasks::{ArrayRow, FailedTasks};
pub use usage::{LedgerRow, RecordFilter, UsageKeys, UsageRow};
pub use write::{AttemptHosts, CommandBatch};
