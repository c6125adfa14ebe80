//! Commands of operators: the service, its workers, its figures and its data.
//!
//! | module | contents |
//! |---|---|
//! | [`serve`] | `tollgate serve` |
//! | [`served_window`] | the window that a service serves itself |
//! | [`detach`] | `tollgate serve --detach`: a service that outlives its terminal |
//! | [`log`] | the flags of the log |
//! | [`demo`] | `tollgate demo` |
//! | [`worker`] | `tollgate worker` |
//! | [`status`] | `tollgate status` |
//! | [`figures`] | `tollgate nodes`, `calibration`, and the objectives |
//! | `expected_hosts` | the hosts that `tollgate nodes` expects |
//! | [`placements`] | `tollgate nodes --jobs` |
//! | [`drain`] | `tollgate drain`, `resume` |
//! | [`grant`] | `tollgate grant` |
//! | [`ledger`] | `tollgate ledger` |
//! | [`usage`] | `tollgate usage` |
//! | [`export`] | `tollgate export` |
//! | [`prune`] | `tollgate prune` |
//! | [`learn`] | `tollgate learn` |
//! | [`backup`] | `tollgate backup`, `restore`, `check` |
//! | [`token`] | `tollgate token` |
//! | [`generate`] | `tollgate generate` |
//! | [`schemas`] | JSON schemas of the output of commands |
//! | [`reference`] | the pages of the reference |
//! | [`completions`] | completions for shells |

pub(crate) mod backup;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod detach;
pub(crate) mod drain;
mod expected_hosts;
pub(crate) mod export;
pub(crate) mod figures;
pub(crate) mod generate;
pub(crate) mod grant;
pub(crate) mod learn;
pub(crate) mod ledger;
pub(crate) mod log;
pub(crate) mod placements;
pub(crate) mod prune;
pub(crate) mod reference;
pub(crate) mod schemas;
pub(crate) mod serve;
pub(crate) mod served_window;
pub(crate) mod status;
pub(crate) mod token;
pub(crate) mod usage;
pub(crate) mod worker;
