//! `tollgate replay`: what each policy would have done with a record of jobs.
//!
//! | module | step |
//! |---|---|
//! | [`args`] | the flags as they are typed |
//! | [`error`] | what can be wrong with them, and with the jobs |
//! | [`plan`] | the flags as checked settings |
//! | [`campus`] | the same in the world of desktops |
//! | [`input`] | the jobs, and what is said about them |
//! | [`mod@run`] | every policy over the jobs, in parallel |
//! | [`jobs`] | a row for each job and policy into a file |
//! | [`gantt`] | the schedule of a policy as a picture |
//! | [`keys`] | the answer as the keys of JSON and CSV |
//! | [`print`](mod@print) | the answer as it was asked for |
//! | [`table`] | the answer for people |

mod args;
mod campus;
mod error;
mod gantt;
mod input;
mod jobs;
mod keys;
mod plan;
mod print;
mod run;
mod table;

use std::io::{BufWriter, Write, stdout};

use crate::exit::CliFailure;

pub(crate) use args::ReplayArgs;
use campus::ReplayWorld;
use input::ReplayInput;
use plan::ReplayPlan;

pub(crate) fn run(args: &ReplayArgs) -> Result<(), CliFailure> {
    if let Some(failure) = campus::misplaced_option(args) {
        return Err(failure.into());
    }
    match args.world {
        ReplayWorld::Cluster => cluster(args),
        ReplayWorld::Campus => campus::run(args),
    }
}

fn cluster(args: &ReplayArgs) -> Result<(), CliFailure> {
    let plan = ReplayPlan::new(args)?;
    let input = ReplayInput::read(&plan)?;
    input.print_notes(&plan);
    let answers = run::run_all_policies(&plan, &input)?;
    if plan.is_checked() {
        plan.verbosity
            .note("every schedule was verified after each event and at the end");
    }
    let mut out = BufWriter::new(stdout().lock());
    print::write_answers(&mut out, &plan, &input, &answers)?;
    Ok(out.flush()?)
}
