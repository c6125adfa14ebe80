//! `tollgate replay`: the results of each policy on a trace.
//!
//! | module | step |
//! |---|---|
//! | [`args`] | the flags |
//! | [`error`] | the errors |
//! | [`plan`] | the flags as checked settings |
//! | [`effects`] | the flags that would change nothing |
//! | [`clusters`] | jobs that go to one of several clusters |
//! | [`input`] | the jobs, and notes about them |
//! | [`learning`] | the records that are learned before the first job |
//! | [`mod@run`] | every policy over the jobs, in parallel |
//! | [`calibration`] | what was promised against what was kept |
//! | [`groups`] | the results by queue, user or size |
//! | [`windows`] | the record in windows, and the risk over them |
//! | [`jobs`] | a file with one row per job and policy |
//! | [`gantt`] | the schedules of one or two policies as a picture |
//! | [`html`] | the answer as a page |
//! | [`keys`] | the output as JSON and CSV |
//! | [`print`](mod@print) | the output in the requested format |
//! | [`table`] | the output as a table |

mod args;
mod calibration;
mod clusters;
mod effects;
mod error;
mod gantt;
mod groups;
mod html;
mod input;
mod jobs;
mod keys;
mod learning;
mod plan;
mod print;
mod run;
mod table;
mod windows;

use std::io::{BufWriter, Write, stdout};

use tollgate_policy::PolicyRegistry;

use crate::exit::CliFailure;

pub(crate) use self::args::ReplayArgs;
#[cfg(feature = "fuzz")]
pub(crate) use self::clusters::is_cluster_file;
use self::input::ReplayInput;
use self::plan::ReplayPlan;

pub(crate) fn run(args: &ReplayArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    if args.clusters.is_given() {
        return clusters::run(args, registry);
    }
    let plan = ReplayPlan::new(args, registry)?;
    plan.check_flags(args)?;
    let input = ReplayInput::read(&plan)?;
    input.print_notes(&plan);
    let answers = run::run_all_policies(&plan, &input)?;
    if plan.is_checked() {
        plan.verbosity
            .note("every schedule was verified after each event and at the end");
    }
    let mut out = BufWriter::new(stdout().lock());
    print::write_answers(&mut out, &plan, &input, &answers)?;
    out.flush()?;
    if let Some(path) = &plan.html {
        html::write(path, &plan, &input, &answers)?;
    }
    Ok(())
}
