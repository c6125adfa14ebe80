//! The commands of a running service: `serve`, and its clients.
//!
//! | module | contents |
//! |---|---|
//! | [`endpoint`] | the address of the service |
//! | [`reconnect`] | what commands do after they lost their connection |
//! | [`serve`] | `tollgate serve` |
//! | [`detach`] | `tollgate serve --detach`: a service that outlives its terminal |
//! | [`job`] | the flags that describe a job |
//! | [`job_notes`] | notes about a job that may not be what its user means |
//! | [`script`] | the `#TOLLGATE` lines of scripts |
//! | [`script_text`] | line ends of DOS, and lines with options of other commands |
//! | [`signal`] | the signal before a time limit, as it is typed |
//! | [`startable`] | what cannot be started, told before it is submitted |
//! | [`submit`] | `tollgate submit` and `tollgate quote` |
//! | [`cluster`] | `tollgate cluster`, and jobs that go to one of several clusters |
//! | [`batch`] | `tollgate submit --each-line` and `--from-json` |
//! | [`job_numbers`] | numbers of jobs and of tasks |
//! | [`jobs`] | `tollgate jobs` |
//! | [`status`], [`explain`], [`ledger`] | `tollgate status`, `explain`, `ledger` |
//! | [`outcome`] | what was promised for a job, against what happened |
//! | [`usage`] | `tollgate usage` |
//! | [`export`] | `tollgate export` |
//! | [`prune`] | `tollgate prune` |
//! | [`figures`] | `tollgate nodes`, `calibration`, and the objectives |
//! | [`demo`] | `tollgate demo` |
//! | [`learn`] | `tollgate learn` |
//! | [`schemas`] | JSON schemas of the output of commands |
//! | [`spread`] | `tollgate spread` |
//! | [`worker`] | `tollgate worker` |
//! | [`token`] | `tollgate token` |
//! | [`completions`] | completions for shells |
//! | [`generate`] | `tollgate generate` |
//! | [`frontends`] | `qsub`, `qstat`, `qdel` |
//! | [`log`] | the flags of the log |
//! | [`network_address`] | the address of a service for workers elsewhere |
//! | [`site`] | `tollgate site` |
//! | [`session`] | `tollgate session` |
//! | [`backup`] | `tollgate backup`, `restore`, `check` |
//! | [`act`] | `tollgate cancel`, `hold`, `release` |
//! | [`drain`] | `tollgate drain`, `resume` |
//! | [`alter`] | `tollgate alter` |
//! | [`wait`], [`logs`] | `tollgate wait`, `logs` |
//! | [`error`] | the errors of clients and of the service |

pub(crate) mod act;
pub(crate) mod alter;
mod array_outlook;
pub(crate) mod backup;
mod batch;
mod clock;
pub(crate) mod cluster;
mod completions;
pub(crate) mod demo;
pub(crate) mod detach;
pub(crate) mod drain;
mod endpoint;
mod error;
pub(crate) mod execution_node;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod figures;
pub(crate) mod frontends;
pub(crate) mod generate;
pub(crate) mod grant;
mod job;
mod job_notes;
pub(crate) mod job_numbers;
pub(crate) mod jobs;
pub(crate) mod learn;
pub(crate) mod ledger;
mod log;
pub(crate) mod logs;
mod network_address;
mod outcome;
mod pilot;
pub(crate) mod prune;
mod reconnect;
mod schemas;
pub(crate) mod script;
mod script_text;
pub(crate) mod serve;
pub(crate) mod session;
mod signal;
pub(crate) mod site;
pub(crate) mod spread;
mod startable;
pub(crate) mod status;
pub(crate) mod submit;
pub(crate) mod token;
pub(crate) mod usage;
pub(crate) mod wait;
pub(crate) mod worker;

pub(crate) use site::random_key;
