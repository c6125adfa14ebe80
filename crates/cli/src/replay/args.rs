//! The flags as they are typed.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tollgate_model::Market;
use tollgate_sim::Estimates;
use tollgate_workload::{Factor, NeverRan, Settings};

use super::campus::{CampusArgs, World};
use crate::args::{Format, count, whole};

/// Learn what each policy would have promised, kept, delayed, refused and earned.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The record of jobs: a trace, accounting records of a batch system or a job table (CSV with
    /// header), plain or gzip; a folder is all its files, `-` standard input [default: a generated
    /// workload after SDSC SP2]
    pub(super) workload: Option<PathBuf>,

    /// The policies, as a list or repeated [default: all that belong to the market]
    #[arg(long = "policy", short, value_name = "NAME[:KEY=VALUE,...]")]
    pub(super) policies: Vec<String>,

    /// Who pays: nobody, each job a price, or each user a bid
    #[arg(long, default_value = Market::None.name(), value_parser = market_parser())]
    pub(super) market: Market,

    /// The size of the machine [default: MaxProcs or MaxNodes of the record, else its widest job]
    #[arg(
        long, value_name = "N",
        value_parser = count::<NonZeroU32>, allow_negative_numbers = true,
    )]
    pub(super) nodes: Option<NonZeroU32>,

    /// Use only the last N records, cut before anything is left out
    #[arg(
        long, value_name = "N",
        value_parser = count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    pub(super) last: Option<NonZeroUsize>,

    /// What the drawn deadlines, budgets and penalty rates depend on
    #[arg(
        long, value_name = "N", default_value_t = Settings::default().seed,
        value_parser = whole::<u64>, allow_negative_numbers = true,
    )]
    pub(super) seed: u64,

    /// What policies believe about run times: `user`, `true`, `forecast:LEVEL` (the quantile of a
    /// forecast that is learned from the jobs that have ended in the run) or `user+forecast:LEVEL`
    /// (the larger of both)
    #[arg(long, value_name = "SOURCE", default_value_t = Estimates::User)]
    pub(super) estimates: Estimates,

    /// How the answer is written
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub(super) format: Format,

    /// Write a row for each policy and job to this file, as CSV
    #[arg(long, value_name = "FILE")]
    pub(super) jobs_out: Option<PathBuf>,

    /// Draw the schedule into this file, as SVG: nodes down, time across, rejections on top. For
    /// one policy
    #[arg(long, value_name = "FILE")]
    pub(super) gantt: Option<PathBuf>,

    /// Verify every schedule after each event and at the end
    #[arg(long)]
    pub(super) check: bool,

    /// Run this many policies side by side [default: as many as there are processors]
    #[arg(
        long, value_name = "N",
        value_parser = count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    pub(super) threads: Option<NonZeroUsize>,

    /// Say nothing about the input, only what goes wrong
    #[arg(long, short)]
    pub(super) quiet: bool,

    /// Where the jobs run
    #[arg(long, value_enum, default_value_t = World::Cluster, value_name = "WORLD")]
    pub(super) world: World,

    #[command(flatten)]
    pub(super) campus: CampusArgs,

    #[command(flatten)]
    pub(super) sla: SlaArgs,
}

/// What jobs are taken to be and to want, where the record does not say.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Jobs and their SLAs")]
pub(super) struct SlaArgs {
    /// What becomes of jobs that never ran: left out, or run for one second
    #[arg(long, value_enum, default_value = "drop", value_name = "RULE")]
    never_ran: NeverRanArg,

    /// Multiply inter-arrival times
    #[arg(
        long, value_name = "FACTOR", default_value_t = Settings::default().arrival_factor,
        value_parser = number, allow_negative_numbers = true,
    )]
    arrival_factor: f64,

    /// How much of the estimates' error is kept: 0 is exact, 1 as recorded
    #[arg(
        long, value_name = "FRACTION", default_value_t = Settings::default().inaccuracy,
        value_parser = number, allow_negative_numbers = true,
    )]
    inaccuracy: f64,

    /// The share of jobs with high urgency
    #[arg(
        long, value_name = "FRACTION", default_value_t = Settings::default().high_urgency,
        value_parser = number, allow_negative_numbers = true,
    )]
    high_urgency: f64,

    /// Deadlines of high-urgency jobs: mean factor of the run time
    #[arg(
        long, value_name = "MEAN", default_value_t = Factor::default().low,
        value_parser = number, allow_negative_numbers = true,
    )]
    deadline_low: f64,

    /// Deadlines of low-urgency jobs over those of high-urgency jobs
    #[arg(
        long, value_name = "RATIO", default_value_t = Factor::default().ratio,
        value_parser = number, allow_negative_numbers = true,
    )]
    deadline_ratio: f64,

    /// Deadlines: longer jobs get 1/BIAS, shorter ones BIAS times as much
    #[arg(
        long, value_name = "BIAS", default_value_t = Factor::default().bias,
        value_parser = number, allow_negative_numbers = true,
    )]
    deadline_bias: f64,

    /// Budgets of low-urgency jobs: mean credits for a second of run time
    #[arg(
        long, value_name = "MEAN", default_value_t = Factor::default().low,
        value_parser = number, allow_negative_numbers = true,
    )]
    budget_low: f64,

    /// Budgets of high-urgency jobs over those of low-urgency jobs
    #[arg(
        long, value_name = "RATIO", default_value_t = Factor::default().ratio,
        value_parser = number, allow_negative_numbers = true,
    )]
    budget_ratio: f64,

    /// Budgets: longer jobs get 1/BIAS, shorter ones BIAS times as much
    #[arg(
        long, value_name = "BIAS", default_value_t = Factor::default().bias,
        value_parser = number, allow_negative_numbers = true,
    )]
    budget_bias: f64,

    /// Penalty rates of low-urgency jobs: mean credits for a second of delay
    #[arg(
        long, value_name = "MEAN", default_value_t = Factor::default().low,
        value_parser = number, allow_negative_numbers = true,
    )]
    penalty_low: f64,

    /// Penalty rates of high-urgency jobs over those of low-urgency jobs
    #[arg(
        long, value_name = "RATIO", default_value_t = Factor::default().ratio,
        value_parser = number, allow_negative_numbers = true,
    )]
    penalty_ratio: f64,

    /// Penalty rates: longer jobs get 1/BIAS, shorter ones BIAS times as much
    #[arg(
        long, value_name = "BIAS", default_value_t = Factor::default().bias,
        value_parser = number, allow_negative_numbers = true,
    )]
    penalty_bias: f64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NeverRanArg {
    Drop,
    One,
}

impl SlaArgs {
    /// The flags as settings that nobody has checked yet.
    pub(super) fn settings(&self, seed: u64) -> Settings {
        Settings {
            never_ran: match self.never_ran {
                NeverRanArg::Drop => NeverRan::Drop,
                NeverRanArg::One => NeverRan::One,
            },
            high_urgency: self.high_urgency,
            arrival_factor: self.arrival_factor,
            inaccuracy: self.inaccuracy,
            deadline: Factor {
                low: self.deadline_low,
                ratio: self.deadline_ratio,
                bias: self.deadline_bias,
            },
            budget: Factor {
                low: self.budget_low,
                ratio: self.budget_ratio,
                bias: self.budget_bias,
            },
            penalty: Factor {
                low: self.penalty_low,
                ratio: self.penalty_ratio,
                bias: self.penalty_bias,
            },
            seed,
        }
    }
}

/// Any number: whether it is a legal one is known to the settings.
fn number(word: &str) -> Result<f64, &'static str> {
    word.parse().map_err(|_| "expected a number")
}

fn market_parser() -> impl TypedValueParser<Value = Market> {
    PossibleValuesParser::new(Market::ALL.map(Market::name)).try_map(|word| word.parse::<Market>())
}
