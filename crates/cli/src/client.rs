//! The commands of a running service: `serve`, and its clients.
//!
//! | module | what it holds |
//! |---|---|
//! | [`address`] | which service is meant |
//! | [`serve`] | `tollgate serve` |
//! | [`detach`] | `tollgate serve --detach`: a service that outlives its terminal |
//! | [`job`] | the flags that describe a job |
//! | [`script`] | what scripts say of themselves |
//! | [`submit`] | `tollgate submit` and `tollgate quote` |
//! | [`list`] | `tollgate status`, `jobs`, `explain`, `ledger` |
//! | [`figures`] | `tollgate nodes`, `calibration`, and the objectives |
//! | [`demo`] | `tollgate demo` |
//! | [`schemas`] | what commands print, as JSON schemas |
//! | [`worker`] | `tollgate worker` |
//! | [`token`] | `tollgate token` |
//! | [`generate`] | `tollgate generate` |
//! | [`front`] | `qsub`, `qstat`, `qdel` |
//! | [`log`] | the flags that say how a process writes its log |
//! | [`backup`] | `tollgate backup`, `restore`, `check` |
//! | [`act`] | `tollgate cancel`, `hold`, `release`, `wait`, `logs` |
//! | [`error`] | what can be wrong between a user and the service |
//! | [`words`] | spans, instants, memory and rates as people type them |
//! | [`mod@print`] | instants and spans as people read them |

pub(crate) mod act;
pub(crate) mod backup;
mod clock;
pub(crate) mod demo;
pub(crate) mod detach;
mod endpoint;
mod error;
pub(crate) mod figures;
mod format;
pub(crate) mod frontends;
pub(crate) mod generate;
mod job;
pub(crate) mod list;
mod log;
mod parse;
mod schemas;
pub(crate) mod script;
pub(crate) mod serve;
pub(crate) mod submit;
pub(crate) mod token;
pub(crate) mod worker;
