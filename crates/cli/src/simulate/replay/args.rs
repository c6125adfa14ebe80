//! The flags of `tollgate replay`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tollgate_forecast::UnpredictableRule;
use tollgate_model::{Bytes, Market, Span, SpeedList};
use tollgate_policy::ParameterEnum;
use tollgate_replay::{NodeCount, ReplayGrouping, TreatmentTrial};
use tollgate_sim::{EstimateOrigin, MAX_PREEMPTION_COST, OverrunRule, TaskCoupling};
use tollgate_workload::{DeadlineModel, NeverRanHandling, SlaFactor, WorkloadConfig};

use super::clusters::args::ClustersArgs;
use crate::args::{OutputFormat, parse_count, parse_integer};
use crate::simulate::record_filter::RecordFilterArgs;

/// The options of `tollgate replay`.
#[derive(Debug, clap::Args)]
pub(crate) struct ReplayArgs {
    /// Trace, accounting records or job table [default: a generated workload]
    ///
    /// Any format of docs/policies/formats.md, plain or gzip. A directory is read as all its files, `-` is
    /// standard input. The generated workload is modelled on SDSC SP2.
    pub(super) workload: Option<PathBuf>,

    /// Policies, as a list or repeated [default: all of the market]
    #[arg(long = "policy", short, value_name = "NAME[:KEY=VALUE,...]")]
    pub(super) policies: Vec<String>,

    /// Pricing: none, a price per job, or a bid per user
    #[arg(long, default_value = Market::None.name(), value_parser = market_parser())]
    pub(super) market: Market,

    /// Numbers of nodes, or +N more than the trace has [default: from the trace]
    ///
    /// A record whose header has no size has at least the processors that ran jobs at once, where waits
    /// are known, and at least those of its widest job.
    #[arg(
        long, value_name = "[+]N,..", value_delimiter = ',',
        value_parser = NodeCountArg::parse, allow_negative_numbers = true,
    )]
    pub(super) nodes: Vec<NodeCountArg>,

    /// Speeds of nodes, as 64*1,64*1.5 [default: all 1]
    ///
    /// Run times and estimates of the record are those on a node of speed 1. A last speed without a
    /// count takes the rest of the nodes.
    #[arg(long, value_name = "COUNT*SPEED,..", allow_negative_numbers = true)]
    pub(super) speeds: Option<SpeedList>,

    /// Memory of each node, as 4G [default: memory does not count]
    ///
    /// A job that requests more memory than its processors come with gets as many as that memory comes with, as from a
    /// service.
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub(super) node_memory: Option<Bytes>,

    /// Whether the tasks of jobs that share nodes run in step
    ///
    /// `rigid`: a job progresses at the rate of its slowest task, as parallel programs do; `independent`:
    /// each task progresses on its own, as in the papers.
    #[arg(
        long, value_name = "COUPLING", default_value = "rigid", value_parser = parameter_parser::<TaskCoupling>(),
    )]
    pub(super) tasks: TaskCoupling,

    /// Seconds of work that a paused task loses when it resumes
    ///
    /// It has to be read back and warmed up. Only jobs that share nodes are ever paused.
    #[arg(
        long, value_name = "SECONDS", default_value = "0", value_parser = cost,
        allow_negative_numbers = true,
    )]
    pub(super) preemption_cost: Span,

    /// Let jobs outlive their estimates, or kill them at that limit
    ///
    /// A job killed before its deadline is neither kept nor broken. The limit counts work: paused jobs
    /// have longer.
    #[arg(
        long, value_name = "RULE", default_value = "run",
        value_parser = parameter_parser::<OverrunRule>(),
    )]
    pub(super) overrun: OverrunRule,

    /// Treatments to compare of jobs whose run time cannot be predicted
    ///
    /// `none`, `no-promise`, `limit:TIME` or `dedicated:NODES`, as in the section `unpredictable` of a
    /// service's settings. Each policy runs with each of them. With `none` such jobs
    /// are only counted.
    #[arg(long, value_name = "ACTION,..", value_delimiter = ',')]
    pub(super) unpredictable: Vec<TreatmentTrial>,

    /// Spread of run times that counts as unpredictable
    ///
    /// How many times as long the longest tenth of a class takes as the shortest tenth, or as a minute.
    #[arg(
        long, value_name = "FACTOR", default_value_t = UnpredictableRule::default().spread,
        value_parser = spread, allow_negative_numbers = true,
    )]
    pub(super) unpredictable_spread: f64,

    /// Use only the last N records
    #[arg(
        long, value_name = "N",
        value_parser = parse_count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    pub(super) last: Option<NonZeroUsize>,

    /// Use only the first N records
    #[arg(
        long, value_name = "N", conflicts_with = "last",
        value_parser = parse_count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    pub(super) first: Option<NonZeroUsize>,

    /// Seed of drawn deadlines, budgets and penalty rates
    #[arg(
        long, value_name = "N", default_value_t = WorkloadConfig::default().seed,
        value_parser = parse_integer::<u64>, allow_negative_numbers = true,
    )]
    pub(super) seed: u64,

    /// Repeat each run with N seeds, and print means and standard deviations
    #[arg(
        long, value_name = "N", default_value = "1",
        value_parser = parse_count::<NonZeroU32>, allow_negative_numbers = true,
    )]
    pub(super) seeds: NonZeroU32,

    /// Run times that policies assume: `user`, `true`, `forecast:LEVEL` or `user+forecast:LEVEL`
    ///
    /// `forecast:LEVEL` is the quantile of a forecast, learned from the jobs that have ended in the
    /// run; `user+forecast:LEVEL` is the larger of both.
    #[arg(long, value_name = "SOURCE", default_value_t = EstimateOrigin::User)]
    pub(super) estimates: EstimateOrigin,

    /// Learn run times from these records before the first submission
    ///
    /// Any format of docs/policies/formats.md. Only jobs that had ended by then are learned, for forecasts and
    /// for the beliefs of policies that plan.
    #[arg(long, value_name = "FILE")]
    pub(super) learn: Vec<PathBuf>,

    /// Learn from up to 20000 records before the last N
    #[arg(long, requires = "last")]
    pub(super) learn_before: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    pub(super) format: OutputFormat,

    /// Write a CSV row for each policy and job to this file
    ///
    /// A name that ends in .gz compresses it.
    #[arg(long, value_name = "FILE")]
    pub(super) jobs_out: Option<PathBuf>,

    /// Draw the schedule of one policy, or of two, into this file
    ///
    /// SVG, or PNG if the name ends in .png.
    #[arg(long, value_name = "FILE")]
    pub(super) gantt: Option<PathBuf>,

    /// Write a page that begins with the answer to this file
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,

    /// Print the results also by queue, user or number of processors
    #[arg(long, value_enum, value_name = "PROPERTY")]
    pub(super) by: Option<ReplayGroupingArg>,

    /// Cut the record into N windows; print results and risk of each
    ///
    /// The windows have equal numbers of jobs, by their submission. The risk of a policy is how its results
    /// vary over them.
    #[arg(
        long, value_name = "N", conflicts_with = "by",
        value_parser = parse_count::<NonZeroU32>, allow_negative_numbers = true,
    )]
    pub(super) windows: Option<NonZeroU32>,

    /// Print the share of promises kept, by the probability that was promised
    ///
    /// Of policies that state one at the promise, such as `plan`.
    #[arg(long)]
    pub(super) calibration: bool,

    /// Verify every schedule after each event and at the end
    #[arg(long)]
    pub(super) check: bool,

    /// Number of policies to run in parallel [default: number of processors]
    #[arg(
        long, value_name = "N",
        value_parser = parse_count::<NonZeroUsize>, allow_negative_numbers = true,
    )]
    pub(super) threads: Option<NonZeroUsize>,

    /// Print no notes, only errors
    #[arg(long, short)]
    pub(super) quiet: bool,

    #[command(flatten)]
    pub(super) clusters: ClustersArgs,

    #[command(flatten)]
    pub(super) part: RecordFilterArgs,

    #[command(flatten)]
    pub(super) sla: SlaArgs,
}

/// The assumptions about jobs where the record does not say.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Jobs and their SLAs")]
pub(super) struct SlaArgs {
    /// Leave out jobs that never ran, or run them for one second
    #[arg(long, value_enum, default_value = "drop", value_name = "RULE")]
    never_ran: NeverRanArg,

    /// Multiply inter-arrival times
    #[arg(
        long, value_name = "FACTOR", default_value_t = WorkloadConfig::default().arrival_factor,
        value_parser = number, allow_negative_numbers = true,
    )]
    arrival_factor: f64,

    /// Part of the estimates' error to keep: 0 exact, 1 as recorded
    #[arg(
        long, value_name = "FRACTION", default_value_t = WorkloadConfig::default().inaccuracy,
        value_parser = number, allow_negative_numbers = true,
    )]
    inaccuracy: f64,

    /// Share of jobs with high urgency
    #[arg(
        long, value_name = "FRACTION", default_value_t = WorkloadConfig::default().high_urgency,
        value_parser = number, allow_negative_numbers = true,
    )]
    high_urgency: f64,

    /// Model of the deadlines that the record does not have
    ///
    /// Only `paper` looks at the true run time of a job. docs/policies/replay.md describes the models.
    #[arg(
        long, value_name = "MODEL", default_value_t = WorkloadConfig::default().deadlines,
        value_parser = deadline_model_parser(),
    )]
    pub(super) deadlines: DeadlineModel,

    /// Probability that a job without a recorded deadline gets none
    #[arg(
        long, value_name = "FRACTION", default_value_t = WorkloadConfig::default().without_deadline,
        value_parser = number, allow_negative_numbers = true,
    )]
    without_deadline: f64,

    /// Mean deadline of high-urgency jobs, as a factor
    #[arg(
        long, value_name = "MEAN", default_value_t = SlaFactor::default().low,
        value_parser = number, allow_negative_numbers = true,
    )]
    deadline_low: f64,

    /// Deadlines of low-urgency jobs over those of high-urgency jobs
    #[arg(
        long, value_name = "RATIO", default_value_t = SlaFactor::default().ratio,
        value_parser = number, allow_negative_numbers = true,
    )]
    deadline_ratio: f64,

    /// Deadlines (`paper`): longer jobs get 1/BIAS, shorter ones times BIAS
    #[arg(
        long, value_name = "BIAS", default_value_t = SlaFactor::default().bias,
        value_parser = number, allow_negative_numbers = true,
    )]
    deadline_bias: f64,

    /// Budgets of low-urgency jobs: mean credits for a second of run time
    #[arg(
        long, value_name = "MEAN", default_value_t = SlaFactor::default().low,
        value_parser = number, allow_negative_numbers = true,
    )]
    budget_low: f64,

    /// Budgets of high-urgency jobs over those of low-urgency jobs
    #[arg(
        long, value_name = "RATIO", default_value_t = SlaFactor::default().ratio,
        value_parser = number, allow_negative_numbers = true,
    )]
    budget_ratio: f64,

    /// Budgets: longer jobs get 1/BIAS, shorter ones BIAS times as much
    #[arg(
        long, value_name = "BIAS", default_value_t = SlaFactor::default().bias,
        value_parser = number, allow_negative_numbers = true,
    )]
    budget_bias: f64,

    /// Penalty rates of low-urgency jobs: mean credits for a second of delay
    #[arg(
        long, value_name = "MEAN", default_value_t = SlaFactor::default().low,
        value_parser = number, allow_negative_numbers = true,
    )]
    penalty_low: f64,

    /// Penalty rates of high-urgency jobs over those of low-urgency jobs
    #[arg(
        long, value_name = "RATIO", default_value_t = SlaFactor::default().ratio,
        value_parser = number, allow_negative_numbers = true,
    )]
    penalty_ratio: f64,

    /// Penalty rates: longer jobs get 1/BIAS, shorter ones BIAS times as much
    #[arg(
        long, value_name = "BIAS", default_value_t = SlaFactor::default().bias,
        value_parser = number, allow_negative_numbers = true,
    )]
    penalty_bias: f64,

    /// Most that a delay costs, in budgets of the job; unlimited
    #[arg(long, value_name = "BUDGETS", value_parser = number, allow_negative_numbers = true)]
    penalty_limit: Option<f64>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum NeverRanArg {
    Drop,
    One,
}

impl SlaArgs {
    /// Returns the flags as an unvalidated configuration.
    pub(super) fn settings(&self, seed: u64) -> WorkloadConfig {
        WorkloadConfig {
            never_ran: match self.never_ran {
                NeverRanArg::Drop => NeverRanHandling::Drop,
                NeverRanArg::One => NeverRanHandling::One,
            },
            high_urgency: self.high_urgency,
            arrival_factor: self.arrival_factor,
            inaccuracy: self.inaccuracy,
            deadlines: self.deadlines,
            without_deadline: self.without_deadline,
            deadline: SlaFactor {
                low: self.deadline_low,
                ratio: self.deadline_ratio,
                bias: self.deadline_bias,
            },
            budget: SlaFactor {
                low: self.budget_low,
                ratio: self.budget_ratio,
                bias: self.budget_bias,
            },
            penalty: SlaFactor {
                low: self.penalty_low,
                ratio: self.penalty_ratio,
                bias: self.penalty_bias,
            },
            penalty_limit: self.penalty_limit.unwrap_or(f64::INFINITY),
            seed,
        }
    }
}

/// A number of nodes as typed: `128`, or `+16`.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeCountArg(pub(super) NodeCount);

impl NodeCountArg {
    fn parse(word: &str) -> Result<Self, &'static str> {
        let count = match word.strip_prefix('+') {
            Some(more) => parse_count(more).map(NodeCount::More),
            None => parse_count(word).map(NodeCount::Total),
        };
        count.map(Self)
    }
}

/// The property by which jobs are grouped.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ReplayGroupingArg {
    /// The ten queues with the most jobs, and all others
    Queue,
    /// The ten users with the most jobs, and all others
    User,
    /// The number of processors
    Size,
}

impl From<ReplayGroupingArg> for ReplayGrouping {
    fn from(arg: ReplayGroupingArg) -> Self {
        match arg {
            ReplayGroupingArg::Queue => Self::Queue,
            ReplayGroupingArg::User => Self::User,
            ReplayGroupingArg::Size => Self::Size,
        }
    }
}

/// Parses the seconds that a resumption costs.
fn cost(word: &str) -> Result<Span, &'static str> {
    let range = 0.0..=MAX_PREEMPTION_COST.as_secs_f64();
    let seconds = word.parse().ok().filter(|seconds| range.contains(seconds));
    seconds
        .map(Span::from_secs_f64)
        .ok_or("expected seconds, 0 to 1000000")
}

/// Parses a spread of run times.
fn spread(word: &str) -> Result<f64, &'static str> {
    let spread = word.parse().ok();
    let spread = spread.filter(|spread: &f64| spread.is_finite() && *spread > 1.0);
    spread.ok_or("expected a number above 1")
}

/// Parses any number. The configuration checks the range.
fn number(word: &str) -> Result<f64, &'static str> {
    word.parse().map_err(|_| "expected a number")
}

fn market_parser() -> impl TypedValueParser<Value = Market> {
    PossibleValuesParser::new(Market::ALL.map(Market::name)).try_map(|word| word.parse::<Market>())
}

fn parameter_parser<T>() -> impl TypedValueParser<Value = T>
where
    T: ParameterEnum + Send + Sync,
{
    PossibleValuesParser::new(T::KEYWORDS.iter().map(|(word, _)| *word))
        .try_map(|word| T::from_keyword(&word).ok_or("expected one of these words"))
}

fn deadline_model_parser() -> impl TypedValueParser<Value = DeadlineModel> {
    PossibleValuesParser::new(DeadlineModel::ALL.map(DeadlineModel::name))
        .try_map(|word| word.parse::<DeadlineModel>())
}
