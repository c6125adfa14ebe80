//! `tollgate replay --world campus`: the results of each retry and select policy with tasks on
//! desktops that have users.
//!
//! | module | step |
//! |---|---|
//! | [`input`] | traces, or the synthetic campus |
//! | [`keys`] | the output as JSON, as CSV and as a table |

mod input;
mod keys;

use std::io::{BufWriter, Write, stdout};
use std::path::PathBuf;

use tollgate_model::Span;
use tollgate_sim::TaskCoupling;
use tollgate_sim::campus::retry::{FinishedTasks, RetryPolicy};
use tollgate_sim::campus::{CampusEnvironment, CampusMetrics, CampusPolicies, run_campus, select};
use tollgate_workload::DeadlineModel;

use super::args::ReplayArgs;
use super::error::ReplayError;
use super::plan;
use crate::args::parse_count;
use crate::exit::CliFailure;
use crate::messages::Verbosity;
use crate::parallel::run_in_order;

/// What is said of the world `campus`.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Desktops with users (--world campus)")]
pub(super) struct CampusArgs {
    /// Log-ins of users on the computers [default: a synthetic campus]
    ///
    /// CSV with a header (computer, login, logout), or event traces of the Failure Trace Archive,
    /// plain or gzip.
    #[arg(long, value_name = "FILE")]
    pub(super) logins: Option<PathBuf>,

    /// Number of computers at each place in the log-ins
    #[arg(
        long, value_name = "N", default_value_t = 1,
        value_parser = parse_computers, allow_negative_numbers = true,
    )]
    pub(super) computers: u32,

    /// Daily reboot, UTC [default: never; synthetic campus: 05:00]
    #[arg(long, value_name = "HH:MM", value_parser = parse_time_of_day)]
    pub(super) reboot: Option<Span>,

    /// Policies for evicted tasks, repeated [default: five limits]
    ///
    /// `tollgate policies --world campus` lists them. The default is forever, max-evictions:3,
    /// max-non-user-evictions:3, max-evictions:6 and max-non-user-evictions:6.
    #[arg(long, value_name = "NAME:N[+..]", value_parser = str::parse::<RetryPolicy>)]
    pub(super) retry: Vec<RetryPolicy>,

    /// Policies that choose a computer, as a list or repeated [default: three]
    ///
    /// `tollgate policies --world campus` lists them. The default is prefer-awake, longest-idle and
    /// least-energy-online.
    #[arg(
        long, value_name = "NAME", value_delimiter = ',',
        value_parser = str::parse::<&'static select::BuiltinSelectPolicy>,
    )]
    pub(super) select: Vec<&'static select::BuiltinSelectPolicy>,

    /// Size of the synthetic campus, as a factor
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    pub(super) scale: f64,
}

/// Where jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ReplayWorld {
    /// A dedicated cluster
    Cluster,
    /// Desktops with users
    Campus,
}

/// The results of a pair of policies.
struct CampusAnswer {
    retry: String,
    select: &'static str,
    metrics: CampusMetrics,
}

fn parse_computers(word: &str) -> Result<u32, &'static str> {
    parse_count::<std::num::NonZeroU32>(word).map(std::num::NonZeroU32::get)
}

fn parse_time_of_day(word: &str) -> Result<Span, &'static str> {
    let read = || {
        let (hours, minutes) = word.split_once(':')?;
        let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
        let fits = (0..24).contains(&hours) && (0..60).contains(&minutes);
        fits.then(|| Span::from_secs(3600 * hours + 60 * minutes))
    };
    read().ok_or("expected a time of the day, as 05:00")
}

/// Returns an error for a flag that belongs only to the other world.
pub(super) fn misplaced_option(args: &ReplayArgs) -> Option<ReplayError> {
    let campus = &args.campus;
    let of_campus = [
        ("--logins", campus.logins.is_some()),
        ("--retry", !campus.retry.is_empty()),
        ("--select", !campus.select.is_empty()),
        ("--reboot", campus.reboot.is_some()),
        ("--computers", campus.computers != 1),
        ("--scale", campus.scale != 1.0),
    ];
    let of_cluster = [
        ("--policy", !args.policies.is_empty()),
        ("--clusters", !args.clusters.files.is_empty()),
        ("--nodes", !args.nodes.is_empty()),
        ("--speeds", args.speeds.is_some()),
        ("--first", args.first.is_some()),
        ("--seeds", args.seeds.get() > 1),
        (
            "--start, --end, --queue, --user",
            !args.part.filter().is_empty(),
        ),
        ("--jobs-out", args.jobs_out.is_some()),
        ("--gantt", args.gantt.is_some()),
        ("--html", args.html.is_some()),
        ("--check", args.check),
        ("--tasks", args.tasks != TaskCoupling::Rigid),
        ("--preemption-cost", args.preemption_cost > Span::ZERO),
        ("--learn", !args.learn.is_empty()),
        ("--learn-before", args.learn_before),
        (
            "--deadlines",
            args.sla.deadlines != DeadlineModel::default(),
        ),
    ];
    let (flags, world) = match args.world {
        ReplayWorld::Cluster => (&of_campus[..], "cluster"),
        ReplayWorld::Campus => (&of_cluster[..], "campus"),
    };
    let (flag, _) = flags.iter().find(|(_, given)| *given)?;
    Some(ReplayError::WrongWorld { flag, world })
}

pub(super) fn run(args: &ReplayArgs) -> Result<(), CliFailure> {
    let voice = if args.quiet {
        Verbosity::Errors
    } else {
        Verbosity::Notes
    };
    let campus = input::environment(args, voice)?;
    let pairs = pairs(&args.campus);
    let finished = pairs
        .iter()
        .any(|policies| policies.retry.needs_finished_tasks())
        .then(|| run_dedicated(&campus));
    let threads = args.threads.unwrap_or_else(plan::n_processors);
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
        select.extend(SELECT.map(|name| {
            name.parse::<&select::BuiltinSelectPolicy>()
                .expect("it is one")
        }));
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
