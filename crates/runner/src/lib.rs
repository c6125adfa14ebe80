//! The runner: a small process that starts tasks on this machine and records their ends. The service
//! can restart or crash without losing a task or an exit status.
//!
//! | module | contents |
//! |---|---|
//! | [`local`] | [`LocalEngine`]: this machine as an engine; its caller's end of the runner's socket |
//! | [`attempt`] | one attempt inside a job of a batch system, without a runner |
//! | [`starter`] | the process that starts runners as root for a service that is not root |
//! | [`guard`] | the checks of each launch for a service that is not root |
//! | [`log`] | the log of a process: levels, times, text or JSON |
//! | `protocol` | the messages between the two ends of the socket |
//! | `settings` | the settings of a runner |
//! | `state_dir` | the runner's directory |
//! | `started_files` | the marks of attempts that were started |
//!
//! The modules of the process itself:
//!
//! | module | contents |
//! |---|---|
//! | `startup` | [`main`]: the directory, the journal, the threads |
//! | `supervisor` | the main thread: requests, events, timers, the record of each attempt |
//! | `slot` | the threads that run one attempt after the other, and the limit of their outputs |
//! | `child` | the birth of a task: all of the `unsafe` code |
//! | `process` | processes: handles, `/proc`, marks, nice levels, the stop and the end of a whole task |
//! | `demand` | times of tasks on a processor, and of waiting for one |
//! | `cgroup` | control groups: limits, usage, members, owners, freezers |
//! | `lease` | the time until which tasks may run, and the process that watches it |
//! | `recovery` | the attempts of a runner that was killed |
//! | `journal` | the record of attempts taken, ended and acknowledged |
//! | `scripts` | the texts of scripts, and the copies that tasks run |
//! | `node_files` | the files in which tasks find the hosts of their attempt |
//! | `outputs` | reads of the outputs of tasks, as their users |
//! | `host` | the resources and mechanisms of this machine |
//! | `clock`, `failpoint` | the wall clock; points at which a test kills the runner |
//!
//! The runner's files are in a directory that only its owner can enter:
//!
//! | file | contents |
//! |---|---|
//! | `lock` | lock held by the runner, and by each child until its program has replaced it |
//! | `socket` | socket for requests of the service (one JSON value per line, see `protocol`) |
//! | `runner.json` | its settings |
//! | `journal` | attempts taken, ended, acknowledged; append-only, one checksum per line |
//! | `lease` | time until which tasks may run, if there is a lease |
//! | `scripts/<user>-<hash>` | text of a script that an unfinished task needs |
//! | `attempts/<attempt>` | mark that the attempt was started: created by its child, which never replaces one |
//! | `spares/` | files for later marks |
//!
//! The copies of scripts that tasks run are in a directory beside the runner's, `<folder>-scripts`, where
//! tasks of other users can reach them (see `scripts`). So are the files that list hosts.
//!
//! The order of steps prevents a second start of an attempt and the loss of an end:
//!
//! 1. An attempt is in the journal, and the journal on disk, before the service gets the answer
//!    that the attempt was taken.
//! 2. The child creates the `started` file before it becomes the program, and ends with the runner
//!    until then.
//! 3. An end is in the journal before it is reported to the service, and stays there until it is
//!    acknowledged.
//!
//! With a *lease* tasks may run only until a time that the caller renews. Then the runner ends
//! them, or, if the runner was killed or stopped, the runner's *watcher* does (see `lease::watcher`).
//!
//! A runner that gets SIGTERM or SIGINT asks all tasks to end, records their ends, and exits. A runner that
//! is killed leaves its tasks running. The next runner finds the live ones by process id and start time,
//! watches them, and gets their exit status from the kernel (Linux 6.15 and newer). On older kernels they are
//! reported as lost when they end. Tasks that have ended meanwhile are lost. Tasks without a `started` file
//! never ran, and are started.

pub mod attempt;
mod cgroup;
mod child;
mod clock;
mod demand;
mod failpoint;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
pub mod guard;
mod host;
mod journal;
mod lease;
pub mod local;
pub mod log;
mod node_files;
mod outputs;
mod process;
mod protocol;
mod recovery;
mod scripts;
mod settings;
mod slot;
mod started_files;
pub mod starter;
mod startup;
mod state_dir;
mod supervisor;

pub use host::available_memory;
pub use local::{LocalEngine, LocalEngineConfig};
pub use process::nice::raise_own as raise_own_priority;
pub use process::procfs::boot_id;
pub use startup::main;
pub use state_dir::socket_path;
