//! Tests of the program `tollgate`: its output, messages and exit codes, and the services it starts.
//!
//! | module | behaviour |
//! |---|---|
//! | [`help`] | help and version |
//! | [`policies`] | `tollgate policies` |
//! | [`replay`] | `tollgate replay` on the embedded workload and on small files |
//! | [`replay_clusters`] | `tollgate replay --clusters` |
//! | [`forecast`] | `tollgate forecast` |
//! | [`forecast_waits`] | `tollgate forecast --waits` |
//! | [`exec_policy`] | policies that are other programs |
//! | [`flags`] | every flag changes the answer or is refused |
//! | [`gantt`] | the picture of a schedule |
//! | [`records`] | traces of every format, from a file, a directory or standard input |
//! | [`bad_input`] | one message and an exit code for everything that is wrong |
//! | [`study`] | `tollgate study` |
//! | [`study_batch`] | `tollgate study run --on`, with a stand-in for Slurm |
//! | [`study_report`] | `tollgate study report` |
//! | [`trace`] | `tollgate trace` |
//! | [`same_bytes`] | the same input gives the same bytes on any number of threads |
//! | [`campus`] | `tollgate campus` |
//! | [`checked`] | every schedule passes its verification |
//! | [`pipes`] | readers that stop reading |
//! | [`documents`] | the documents show the output of the program |
//! | [`published`] | published or independently confirmed results, on real traces |
//! | [`live`] | a running service and its clients |
//! | [`access`] | a service for many users |
//! | [`workers`] | a service and a worker that connects over TCP |
//! | [`site_simulate`] | `tollgate site simulate` |
//! | [`sites`] | `tollgate site`, with a stand-in for Slurm and with the engine `local` |
//! | [`sessions`] | `tollgate session` with the engine `local` |
//! | [`crashes`] | services, workers and runners that are killed |

mod access;
mod bad_input;
mod beside;
mod campus;
mod checked;
mod crashes;
mod documents;
mod exec_policy;
mod execution_nodes;
mod flags;
mod forecast;
mod forecast_waits;
mod gantt;
mod help;
mod live;
mod pipes;
mod policies;
mod program;
mod published;
mod records;
mod replay;
mod replay_clusters;
mod replay_rows;
mod same_bytes;
mod sessions;
mod site_simulate;
mod sites;
mod study;
mod study_batch;
mod study_report;
mod trace;
mod workers;
