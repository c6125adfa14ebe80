//! What users of a running service see, with the real program.
//!
//! | module | behaviour |
//! |---|---|
//! | [`site`] | a service in a folder of its own, and its users |
//! | [`scripts`] | scripts that are handed in |
//! | [`jobs`] | jobs that are held, cancelled, waited for |
//! | [`answers`] | what each command prints, as JSON |
//! | [`shadow`] | a policy on paper beside the one that decides |
//! | [`network`] | a service that is reached over the network |
//! | [`schemas`] | what commands print is as published |
//! | [`arrays`] | arrays, and jobs that start after others |
//! | [`front`] | `qsub`, `qstat` and `qdel` as workflow systems call them |
//! | [`backup`] | backups, and services whose data is gone |
//! | [`log`] | the log of the service |
//! | [`nobody`] | no service is there |
//! | [`generate`] | `tollgate generate` |
//! | [`demo`] | `tollgate demo` |
//! | [`detach`] | `tollgate serve --detach` |

mod answers;
mod arrays;
mod backup;
mod demo;
mod detach;
mod frontends;
mod generate;
mod jobs;
mod log;
mod network;
mod no_service;
mod schemas;
mod scripts;
mod shadow;
mod site;
