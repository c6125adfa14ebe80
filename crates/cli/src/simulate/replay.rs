//! `tollgate replay`: the results of each policy on a trace.
//!
//! | module | step |
//! |---|---|
//! | [`args`] | the flags |
//! | [`error`] | the errors |
//! | [`plan`] | the flags as checked settings |
//! | [`effects`] | the flags that would change nothing |
//! | [`clusters`] | jobs that go to one of several clusters |
//! | [`mod@run`] | every policy over the jobs, with a bar and the files of the schedules |
//! | [`notes`] | notes about the jobs |
//! | [`gantt`] | the schedules of one or two policies as a picture |
//! | [`html`] | the answer as a page |
//! | [`keys`] | the output as JSON and CSV |
//! | [`print`](mod@print) | the output in the requested format |
//! | [`shadow`] | policies on jobs that another scheduler serves |

mod args;
mod clusters;
mod effects;
mod error;
mod gantt;
mod html;
mod keys;
mod notes;
mod plan;
mod print;
mod run;
pub(crate) mod shadow;

use std::io::{BufWriter, Write, stdout};

use tollgate_policy::PolicyRegistry;
use tollgate_replay::{ReplayInput, default_record};
use tollgate_trace::{ColumnSelection, ReadOptions, open};

use crate::exit::CliFailure;

pub(crate) use self::args::ReplayArgs;
#[cfg(feature = "fuzz")]
pub(crate) use self::clusters::is_cluster_file;
use self::error::ReplayFlagError;
use self::plan::ReplayPlan;

pub(crate) fn run(args: &ReplayArgs, registry: &PolicyRegistry) -> Result<(), CliFailure> {
    if args.clusters.is_given() {
        return clusters::run(args, registry);
    }
    let plan = ReplayPlan::new(args, registry)?;
    plan.check_flags(args)?;
    let input = read_input(&plan)?;
    notes::print(&plan, &input);
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

/// Reads the record of a plan, and the records that are learned.
fn read_input(plan: &ReplayPlan) -> Result<ReplayInput, CliFailure> {
    let options = ReadOptions {
        columns: ColumnSelection::All,
    };
    let record = match &plan.file {
        Some(path) => open(path, options)?,
        None => default_record(),
    };
    let earlier = plan.learn.iter().map(|path| open(path, options));
    let input = ReplayInput::of(&plan.settings, record, earlier);
    Ok(input.map_err(ReplayFlagError::from)?)
}
