//! The flags of `tollgate campus`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use tollgate_model::Span;
use tollgate_sim::campus::CampusConfig;
use tollgate_sim::campus::retry::RetryPolicy;
use tollgate_sim::campus::select::BuiltinSelectPolicy;

use crate::args::{OutputFormat, parse_count, parse_integer};

/// The options of `tollgate campus`.
#[derive(Debug, clap::Args)]
pub(crate) struct CampusArgs {
    /// Records of tasks [default: a synthetic campus]
    ///
    /// Any format of docs/policies/formats.md, plain or gzip. Of HTCondor, the history has the most fields.
    #[arg(requires = "logins")]
    pub(super) workload: Option<PathBuf>,

    /// Log-ins of users on the computers
    ///
    /// CSV with a header (computer, login, logout), or event traces of the Failure Trace Archive,
    /// plain or gzip.
    #[arg(long, value_name = "FILE", requires = "workload")]
    pub(super) logins: Option<PathBuf>,

    /// Number of computers at each place in the log-ins [default: 1]
    #[arg(
        long, value_name = "N", requires = "logins",
        value_parser = parse_count::<NonZeroU32>, allow_negative_numbers = true,
    )]
    pub(super) computers: Option<NonZeroU32>,

    /// Daily reboot of computers with recorded log-ins, UTC [default: never]
    ///
    /// The synthetic campus reboots at 05:00.
    #[arg(long, value_name = "HH:MM", requires = "logins", value_parser = parse_time_of_day)]
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
        value_parser = str::parse::<&'static BuiltinSelectPolicy>,
    )]
    pub(super) select: Vec<&'static BuiltinSelectPolicy>,

    /// Size of the synthetic campus, as a factor [default: 1]
    #[arg(
        long,
        value_name = "FACTOR",
        conflicts_with = "logins",
        allow_negative_numbers = true
    )]
    pub(super) scale: Option<f64>,

    /// Use only the last N records
    #[arg(
        long, value_name = "N", requires = "workload",
        value_parser = parse_count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    pub(super) last: Option<NonZeroUsize>,

    /// Seed of whatever is drawn
    ///
    /// The synthetic campus is drawn, and so are the ends of log-ins that the record does not have.
    #[arg(
        long, value_name = "N", default_value_t = CampusConfig::default().seed,
        value_parser = parse_integer::<u64>, allow_negative_numbers = true,
    )]
    pub(super) seed: u64,

    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    pub(super) format: OutputFormat,

    /// Number of policies to run in parallel [default: number of processors]
    #[arg(
        long, value_name = "N",
        value_parser = parse_count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    pub(super) threads: Option<NonZeroUsize>,

    /// Print no notes, only errors
    #[arg(long, short)]
    pub(super) quiet: bool,
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
