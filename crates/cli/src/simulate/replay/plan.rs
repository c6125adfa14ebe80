//! The flags as a checked plan.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use tollgate_model::{Market, Span, SpeedList};
use tollgate_policy::{PolicyRegistry, PolicySpec};
use tollgate_sim::{EstimateOrigin, OverrunRule, RecordLevel, TaskCoupling};
use tollgate_trace::record_filter::RecordFilter;
use tollgate_workload::WorkloadConfig;

use super::args::{NodeCountArg, ReplayArgs};
use super::effects::{RunContents, learns};
use super::error::ReplayError;
use super::groups::ReplayGrouping;
use super::learning::LearnedRecords;
use crate::args::OutputFormat;
use crate::exit::{CliFailure, ParquetUnsupported};
use crate::output::messages::Verbosity;
use crate::parallel::n_processors;

/// The checked request. Everything is known to be possible before any file is opened.
pub(super) struct ReplayPlan {
    /// The trace. None for the embedded default workload.
    pub(super) file: Option<PathBuf>,
    pub(super) last: Option<NonZeroUsize>,
    pub(super) first: Option<NonZeroUsize>,
    pub(super) part: RecordFilter,
    /// Number of seeds, from that of the jobs on.
    pub(super) seeds: NonZeroU32,
    pub(super) jobs: WorkloadConfig,
    pub(super) market: Market,
    /// The numbers of nodes. Empty for the number in the workload.
    pub(super) nodes: Vec<NodeCountArg>,
    /// The speeds of the nodes. None if they are as fast as those of the record.
    pub(super) speeds: Option<SpeedList>,
    /// Whether the tasks of a job run in step on nodes that jobs share.
    pub(super) tasks: TaskCoupling,
    /// The work that a paused task loses when it resumes.
    pub(super) preemption_cost: Span,
    /// The fate of jobs that outlive their estimates.
    pub(super) overrun: OverrunRule,
    pub(super) choices: Vec<PolicySpec>,
    pub(super) estimates: EstimateOrigin,
    pub(super) learn: LearnedRecords,
    pub(super) record: RecordLevel,
    pub(super) jobs_out: Option<PathBuf>,
    /// The file of the chart. A plan with a chart has one policy or two.
    pub(super) gantt: Option<PathBuf>,
    /// The property by which the results are split.
    pub(super) by: Option<ReplayGrouping>,
    /// Number of windows into which the record is cut.
    pub(super) windows: Option<NonZeroU32>,
    /// Whether promises are compared with what was kept.
    pub(super) calibration: bool,
    /// The file of the page.
    pub(super) html: Option<PathBuf>,
    threads: Option<NonZeroUsize>,
    pub(super) format: OutputFormat,
    pub(super) verbosity: Verbosity,
}

impl ReplayPlan {
    pub(super) fn new(args: &ReplayArgs, registry: &PolicyRegistry) -> Result<Self, CliFailure> {
        let jobs = args.sla.settings(args.seed);
        jobs.validate().map_err(ReplayError::from)?;
        if args.jobs_out.as_deref() == Some(Path::new("-")) {
            return Err(ReplayError::JobsOutToStdout.into());
        }
        if let Some(file) = args.jobs_out.as_deref()
            && file.extension().is_some_and(|ending| ending == "parquet")
        {
            let file = file.display().to_string();
            return Err(ParquetUnsupported { file }.into());
        }
        if args.calibration && args.format == OutputFormat::Csv {
            return Err(ReplayError::CalibrationAsCsv.into());
        }
        let choices = choices(registry, &args.policies, args.market)?;
        let learn = LearnedRecords {
            files: args.learn.clone(),
            earlier: args.learn_before,
        };
        let sizes = args.nodes.len();
        if sizes > 1 && (args.gantt.is_some() || args.jobs_out.is_some()) {
            return Err(ReplayError::ScheduleOfSeveralSizes { sizes }.into());
        }
        if args.gantt.is_some() && !(1..=2).contains(&choices.len()) {
            let policies = choices.len();
            return Err(ReplayError::GanttOfSeveral { policies }.into());
        }
        Ok(Self {
            file: args.workload.clone(),
            last: args.last,
            jobs,
            market: args.market,
            nodes: args.nodes.clone(),
            speeds: args.speeds.clone(),
            first: args.first,
            part: args.part.filter(),
            seeds: args.seeds,
            tasks: args.tasks,
            preemption_cost: args.preemption_cost,
            overrun: args.overrun,
            choices,
            estimates: args.estimates,
            learn,
            record: record(args),
            jobs_out: args.jobs_out.clone(),
            gantt: args.gantt.clone(),
            by: args.by,
            windows: args.windows,
            calibration: args.calibration,
            html: args.html.clone(),
            threads: args.threads,
            format: args.format,
            verbosity: Verbosity::from_quiet(args.quiet),
        })
    }

    /// Checks that each of the flags has an effect.
    ///
    /// # Errors
    /// A flag that would change nothing.
    pub(super) fn check_flags(&self, args: &ReplayArgs) -> Result<(), ReplayError> {
        let contents = RunContents {
            market: self.market,
            policies: &self.choices,
        };
        contents.check_flags(args, &self.jobs)
    }

    /// Returns the number of policies that run in parallel: the requested number, or the number of
    /// processors. A single policy does not query the processors, because the query takes longer
    /// than a small workload.
    pub(super) fn threads(&self) -> NonZeroUsize {
        match self.choices.len() * self.nodes.len().max(1) {
            0 | 1 => NonZeroUsize::MIN,
            _ => self.threads.unwrap_or_else(n_processors),
        }
    }

    /// Returns whether anything depends on the run times of ended jobs.
    pub(super) fn learns(&self) -> bool {
        learns(self.estimates, &self.choices)
    }

    /// Returns whether there are results for groups of jobs.
    pub(super) fn splits_jobs(&self) -> bool {
        self.by.is_some() || self.windows.is_some()
    }

    /// Returns whether more of a replay is needed than its objectives.
    pub(super) fn needs_replay(&self) -> bool {
        self.calibration || self.splits_jobs() || self.record != RecordLevel::Outcomes
    }

    /// Returns the sentence about the speed of the nodes. None if it is the speed of those of the record.
    pub(super) fn speeds_sentence(&self) -> Option<String> {
        let speeds = self.speeds.as_ref()?;
        Some(format!(
            "nodes of speeds {speeds}: run times and estimates are those of a node of speed 1, and jobs \
             that have their nodes to themselves are planned for the slowest node"
        ))
    }

    /// Returns whether every schedule is verified.
    pub(super) fn is_checked(&self) -> bool {
        self.record == RecordLevel::Checked
    }
}

fn choices(
    registry: &PolicyRegistry,
    lists: &[String],
    market: Market,
) -> Result<Vec<PolicySpec>, ReplayError> {
    if lists.is_empty() {
        return Ok(registry.of_market(market));
    }
    let mut choices = Vec::new();
    for list in lists {
        choices.extend(registry.parse_list(list)?);
    }
    match choices.iter().find(|choice| !choice.runs_in(market)) {
        Some(choice) => Err(ReplayError::WrongMarket {
            policy: choice.to_string(),
            market,
        }),
        None => Ok(choices),
    }
}

fn record(args: &ReplayArgs) -> RecordLevel {
    match (&args.jobs_out, &args.gantt, args.check) {
        (_, _, true) => RecordLevel::Checked,
        (Some(_), _, false) | (_, Some(_), false) => RecordLevel::Placements,
        (None, None, false) => RecordLevel::Outcomes,
    }
}
