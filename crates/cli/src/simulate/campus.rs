//! `tollgate campus`: the results of each retry and select policy with tasks on desktops that have
//! users.
//!
//! | module | step |
//! |---|---|
//! | [`args`] | the flags |
//! | [`error`] | the errors |
//! | [`input`] | traces, or the synthetic campus |
//! | [`keys`] | the output as JSON, as CSV and as a table |

mod args;
mod error;
mod input;
mod keys;

use std::io::{BufWriter, Write, stdout};

use tollgate_sim::campus::retry::{FinishedTasks, RetryPolicy};
use tollgate_sim::campus::select::BuiltinSelectPolicy;
use tollgate_sim::campus::{CampusEnvironment, CampusMetrics, CampusPolicies, run_campus};

use crate::exit::CliFailure;
use crate::output::messages::Verbosity;
use tollgate_replay::parallel::{n_processors, run_in_order};

pub(crate) use self::args::CampusArgs;

/// The results of a pair of policies.
struct CampusAnswer {
    retry: String,
    select: &'static str,
    metrics: CampusMetrics,
}

/// `tollgate campus`.
pub(crate) fn run(args: &CampusArgs) -> Result<(), CliFailure> {
    let campus = input::environment(args, Verbosity::from_quiet(args.quiet))?;
    let pairs = pairs(args);
    let finished = pairs
        .iter()
        .any(|policies| policies.retry.needs_finished_tasks())
        .then(|| run_dedicated(&campus));
    let threads = args.threads.unwrap_or_else(n_processors);
    let mut answers = Vec::with_capacity(pairs.len());
    let live = |n: usize| Ok::<_, CliFailure>(run_pair(&campus, &pairs[n], finished.as_ref()));
    run_in_order(pairs.len(), threads, live, |_, answer| {
        answers.push(answer);
        Ok(())
    })?;
    let mut out = BufWriter::new(stdout().lock());
    keys::print(&mut out, args.format, &campus, &answers)?;
    Ok(out.flush()?)
}

/// Returns every pair of a retry policy and a select policy.
fn pairs(args: &CampusArgs) -> Vec<CampusPolicies> {
    const RETRY: [&str; 5] = [
        "forever",
        "max-evictions:3",
        "max-non-user-evictions:3",
        "max-evictions:6",
        "max-non-user-evictions:6",
    ];
    const SELECT: [&str; 3] = ["prefer-awake", "longest-idle", "least-energy-online"];
    let mut retry = args.retry.clone();
    if retry.is_empty() {
        retry.extend(RETRY.map(|words| words.parse::<RetryPolicy>().expect("it is one")));
    }
    let mut select = args.select.clone();
    if select.is_empty() {
        select.extend(SELECT.map(|name| name.parse::<&BuiltinSelectPolicy>().expect("it is one")));
    }
    let pairs = retry.iter().flat_map(|retry| {
        select.iter().map(|select| CampusPolicies {
            retry: retry.clone(),
            select,
        })
    });
    pairs.collect()
}

/// Returns the tasks that would finish without any limit on retries. Some policies compare with
/// these tasks.
fn run_dedicated(campus: &CampusEnvironment) -> FinishedTasks {
    let policies = CampusPolicies {
        retry: "forever".parse().expect("it is one"),
        select: "prefer-awake".parse().expect("it is one"),
    };
    run_campus(campus, &policies).finished(campus)
}

fn run_pair(
    campus: &CampusEnvironment,
    policies: &CampusPolicies,
    finished: Option<&FinishedTasks>,
) -> CampusAnswer {
    let mut policies = policies.clone();
    let retry = policies.retry.to_string();
    if let Some(finished) = finished {
        policies.retry = policies.retry.learn(finished);
    }
    CampusAnswer {
        retry,
        select: policies.select.name,
        metrics: run_campus(campus, &policies).metrics,
    }
}
