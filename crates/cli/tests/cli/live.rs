//! Tests of a running service and its clients, with the real program.
//!
//! | module | behaviour |
//! |---|---|
//! | [`site`] | a service in a directory of its own, and its users |
//! | [`site_keep`] | `tollgate site keep` and the engine `local` |
//! | [`scripts`] | submitted scripts |
//! | [`jobs`] | jobs that are held, cancelled or waited for |
//! | [`lists`] | lists of jobs: limits, columns, order, failed jobs |
//! | [`job_in_job`] | jobs that submit jobs |
//! | [`job_facts`] | remarks, files of errors and input, and lists by them |
//! | [`answers`] | the JSON output of each command |
//! | [`session_shell`] | jobs on a terminal, and terminals over the network |
//! | [`signals`] | `tollgate signal`, and `logs --error` |
//! | [`shadow`] | a shadow policy beside the deciding policy |
//! | [`network`] | access to a service over the network |
//! | [`schemas`] | JSON output and the published schemas |
//! | [`clusters`] | jobs that go to one of several clusters |
//! | [`cluster_faults`] | the same, with services that hang or lose answers and clients that are killed |
//! | [`batch`] | many jobs at once |
//! | [`best_effort`] | jobs whose deadlines cannot be promised |
//! | [`clocks`] | services whose host's clock was wrong |
//! | [`launch_failures`] | jobs that the site cannot start |
//! | [`notices`] | notices to users |
//! | [`outputs`] | output files, and what a restarted job finds in them |
//! | [`own_files`] | services whose files beside the store are damaged |
//! | [`arrays`] | arrays and dependent jobs |
//! | [`frontends`] | `qsub`, `qstat` and `qdel` as workflow systems call them |
//! | [`slurm`] | `sbatch`, `squeue` and the other tools of Slurm |
//! | [`backup`] | backups, and services whose data is missing |
//! | [`learn`] | a service that is taught from records, and the policy that it goes on with |
//! | [`reconnect`] | clients whose service is stopped, killed and started again |
//! | [`records`] | usage, export and removal of old jobs |
//! | [`log`] | the log of the service |
//! | [`no_service`] | clients without a service |
//! | [`open`] | the window, without a browser |
//! | [`top`] | `tollgate top`: on a terminal of its own, and without one |
//! | [`generate`] | `tollgate generate` |
//! | [`reference`] | `tollgate generate config` and `reference`: what they print, and the published pages |
//! | [`demo`] | `tollgate demo` |
//! | [`detach`] | `tollgate serve --detach` |

mod answers;
mod arrays;
mod backup;
mod batch;
mod best_effort;
mod clocks;
mod cluster_faults;
mod clusters;
mod demo;
mod detach;
mod ends;
mod flags;
mod foreign_load;
mod frontends;
mod generate;
mod impossible;
mod job_facts;
mod job_in_job;
mod jobs;
mod launch_failures;
mod learn;
mod lists;
mod log;
mod network;
mod no_service;
mod notices;
pub(crate) mod open;
mod outputs;
mod own_files;
mod reconnect;
mod records;
mod reference;
mod schemas;
mod scripts;
mod session_shell;
mod shadow;
mod signals;
mod site;
mod site_keep;
mod slurm;
mod top;
