//! The flags of `tollgate site simulate`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use tollgate_grid_policies::migrate::MigrationSpec;
use tollgate_model::Span;
use tollgate_provisioning::{AcquisitionPolicy, IdleLimit};

use crate::args::{OutputFormat, parse_count, parse_integer};
use crate::parse::{parse_span, pilots};

/// Compare policies by which pilots come and go, on recorded queues.
///
/// Each site is a batch system with EASY backfilling that serves the jobs of a record. The tasks of one user have deadlines, which a
/// service with `plan` promises on the pilots.
#[derive(Debug, clap::Args)]
pub(crate) struct PilotsArgs {
    /// Records of jobs, one for each site [default: two generated queues]
    ///
    /// Any format of docs/policies/formats.md, plain or gzip.
    pub(super) queues: Vec<PathBuf>,

    /// Number of processors of each recorded site [default: as recorded]
    #[arg(long, value_name = "N", value_parser = parse_count::<u32>)]
    pub(super) procs: Option<u32>,

    /// Users see their own jobs alone, as with PrivateData=jobs
    #[arg(long)]
    pub(super) hide_jobs: bool,

    /// Time from the first job of others to the first task
    #[arg(long, value_name = "SPAN", default_value = "4d", value_parser = span)]
    pub(super) skip: Span,

    /// Number of tasks, each of one core
    #[arg(long, value_name = "N", default_value = "200", value_parser = parse_count::<NonZeroU32>)]
    pub(super) tasks: NonZeroU32,

    /// Time in which the tasks are submitted, on average
    #[arg(long, value_name = "SPAN", default_value = "8h", value_parser = span)]
    pub(super) within: Span,

    /// Mean number of tasks that are submitted together
    #[arg(long, value_name = "N", default_value = "10", value_parser = at_least_one)]
    pub(super) burst: f64,

    /// Shortest and longest expected run time of tasks
    #[arg(long, value_name = "SPAN..SPAN", default_value = "1m..20m", value_parser = spans)]
    pub(super) run: (Span, Span),

    /// Largest factor between a run time and its expectation
    #[arg(long, value_name = "FACTOR", default_value = "1.5", value_parser = at_least_one)]
    pub(super) spread: f64,

    /// Shortest and longest deadline of tasks
    #[arg(long, value_name = "SPAN..SPAN", default_value = "1h..8h", value_parser = spans)]
    pub(super) deadline: (Span, Span),

    /// Number of cores of a pilot
    #[arg(long, value_name = "N", default_value = "8", value_parser = parse_count::<NonZeroU32>)]
    pub(super) cores: NonZeroU32,

    /// Time limit of a pilot
    #[arg(long, value_name = "SPAN", default_value = "1h", value_parser = span)]
    pub(super) time: Span,

    /// Maximum number of pilots at a site
    #[arg(long, value_name = "N", default_value = "10", value_parser = parse_integer::<u32>)]
    pub(super) at_most: u32,

    /// Time between two rounds of decisions
    #[arg(long, value_name = "SPAN", default_value = "15s", value_parser = span)]
    pub(super) every: Span,

    /// Policies by which pilots are acquired, as a list or repeated [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = pilots::acquisition_parser())]
    pub(super) acquire: Vec<&'static AcquisitionPolicy>,

    /// Times without work after which pilots leave, as a list [default: 15s,60s,never]
    #[arg(long, value_name = "SPAN", value_delimiter = ',', value_parser = pilots::parse_idle_limit)]
    pub(super) release: Vec<IdleLimit>,

    /// Policies that move a fixed number of pilots between the sites, repeated
    ///
    /// `tollgate policies --world federation` lists them; `none` moves nothing.
    #[arg(long, value_name = "NAME[:KEY=VALUE,..]", value_parser = MigrationSpec::parse)]
    pub(super) migrate: Vec<MigrationSpec>,

    /// Number of pilots of each site where their number is fixed
    #[arg(long, value_name = "N", default_value = "4", value_parser = parse_integer::<u32>)]
    pub(super) fixed: u32,

    /// First seed of whatever is drawn: the tasks, and generated queues
    #[arg(
        long, value_name = "N", default_value = "1",
        value_parser = parse_integer::<u64>, allow_negative_numbers = true,
    )]
    pub(super) seed: u64,

    /// Number of seeds; figures are over all of them
    #[arg(long, value_name = "N", default_value = "1", value_parser = parse_count::<NonZeroU32>)]
    pub(super) seeds: NonZeroU32,

    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    pub(super) format: OutputFormat,

    /// Number of runs in parallel [default: number of processors]
    #[arg(
        long, value_name = "N",
        value_parser = parse_count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    pub(super) threads: Option<NonZeroUsize>,

    /// Print no notes, only errors
    #[arg(long, short)]
    pub(super) quiet: bool,
}

fn span(text: &str) -> Result<Span, String> {
    let secs = parse_span(text).map_err(|error| error.to_string())?;
    Ok(Span::from_secs_f64(secs))
}

fn spans(text: &str) -> Result<(Span, Span), String> {
    let (from, to) = text
        .split_once("..")
        .ok_or("expected two times, as 1m..20m")?;
    let (from, to) = (span(from)?, span(to)?);
    match from <= to {
        true => Ok((from, to)),
        false => Err("expected the shorter time first".to_owned()),
    }
}

fn at_least_one(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|number| (1.0..=1e6).contains(number))
        .ok_or_else(|| "expected a number of at least 1".to_owned())
}
