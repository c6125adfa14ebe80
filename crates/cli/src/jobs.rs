//! Commands about jobs: submitted, listed, explained, changed, waited for.
//!
//! | module | contents |
//! |---|---|
//! | [`job_args`] | the flags that describe a job |
//! | [`job_notes`] | notes about a job that may not be what its user means |
//! | [`script`] | the `#TOLLGATE` lines of scripts |
//! | [`script_text`] | line ends of DOS, and lines with options of other commands |
//! | [`signal`] | the signal before a time limit, as it is typed |
//! | [`startable`] | programs that cannot be started |
//! | [`submit`] | `tollgate submit` and `tollgate quote` |
//! | [`answer`] | the answer to a submission or a quote, as people read it |
//! | [`batch`] | `tollgate submit --each-line` and `--from-json` |
//! | [`clock`] | a note if the clocks of host and service differ |
//! | [`frontends`] | `qsub`, `qstat`, `qdel` |
//! | [`job_numbers`] | numbers of jobs and of tasks |
//! | [`cluster_job`] | jobs with the cluster that has them |
//! | [`list`] | `tollgate jobs` |
//! | [`explain`] | `tollgate explain` |
//! | [`history`] | `tollgate explain --history` |
//! | [`outcome`] | what was promised for a job, against what happened |
//! | [`array_outlook`] | when the last task of an array ends |
//! | [`alter`] | `tollgate alter` |
//! | [`act`] | `tollgate cancel`, `hold`, `release` |
//! | [`wait`], [`logs`] | `tollgate wait`, `logs` |
//! | [`open`], [`top`] | `tollgate open`, `top`: the service in a browser, in a terminal |
//! | [`output_tail`] | the end of the output of a job, from a file of this host |
//! | [`spread`] | `tollgate spread` |

pub(crate) mod act;
pub(crate) mod alter;
pub(crate) mod answer;
pub(crate) mod array_outlook;
pub(crate) mod batch;
pub(crate) mod clock;
pub(crate) mod cluster_job;
pub(crate) mod explain;
pub(crate) mod frontends;
mod history;
pub(crate) mod job_args;
pub(crate) mod job_notes;
pub(crate) mod job_numbers;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod open;
pub(crate) mod outcome;
pub(crate) mod output_tail;
pub(crate) mod script;
pub(crate) mod script_text;
pub(crate) mod signal;
pub(crate) mod spread;
pub(crate) mod startable;
pub(crate) mod submit;
pub(crate) mod top;
pub(crate) mod wait;
