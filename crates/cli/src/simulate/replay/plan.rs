//! The flags as a checked plan.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use tollgate_policy::PolicyRegistry;
use tollgate_replay::parallel::n_processors;
use tollgate_replay::{ReplayError, ReplayGrouping, ReplaySettings, choose_policies};
use tollgate_sim::RecordLevel;

use super::args::ReplayArgs;
use super::effects::RunContents;
use super::error::ReplayFlagError;
use crate::args::OutputFormat;
use crate::exit::{CliFailure, ParquetUnsupported};
use crate::output::messages::Verbosity;

/// The checked request. Everything is known to be possible before any file is opened.
pub(super) struct ReplayPlan {
    /// The trace. None for the embedded default workload.
    pub(super) file: Option<PathBuf>,
    pub(super) settings: ReplaySettings,
    /// Files of records that are learned.
    pub(super) learn: Vec<PathBuf>,
    pub(super) jobs_out: Option<PathBuf>,
    /// The file of the chart. A plan with a chart has one policy or two.
    pub(super) gantt: Option<PathBuf>,
    /// The file of the page.
    pub(super) html: Option<PathBuf>,
    threads: Option<NonZeroUsize>,
    pub(super) format: OutputFormat,
    pub(super) verbosity: Verbosity,
}

impl ReplayPlan {
    pub(super) fn new(args: &ReplayArgs, registry: &PolicyRegistry) -> Result<Self, CliFailure> {
        let jobs = args.sla.settings(args.seed);
        jobs.validate()
            .map_err(ReplayError::from)
            .map_err(ReplayFlagError::from)?;
        if args.jobs_out.as_deref() == Some(Path::new("-")) {
            return Err(ReplayFlagError::JobsOutToStdout.into());
        }
        if let Some(file) = args.jobs_out.as_deref()
            && file.extension().is_some_and(|ending| ending == "parquet")
        {
            let file = file.display().to_string();
            return Err(ParquetUnsupported { file }.into());
        }
        if args.calibration && args.format == OutputFormat::Csv {
            return Err(ReplayFlagError::CalibrationAsCsv.into());
        }
        let choices = choose_policies(registry, &args.policies, args.market)
            .map_err(ReplayFlagError::from)?;
        let sizes = args.nodes.len();
        if sizes > 1 && (args.gantt.is_some() || args.jobs_out.is_some()) {
            return Err(ReplayFlagError::ScheduleOfSeveralSizes { sizes }.into());
        }
        let policies = choices.len() * args.unpredictable.len().max(1);
        if args.gantt.is_some() && !(1..=2).contains(&policies) {
            return Err(ReplayFlagError::GanttOfSeveral { policies }.into());
        }
        let settings = ReplaySettings {
            part: args.part.filter(),
            last: args.last,
            first: args.first,
            seeds: args.seeds,
            jobs,
            nodes: args.nodes.iter().map(|nodes| nodes.0).collect(),
            speeds: args.speeds.clone(),
            node_memory: args.node_memory,
            tasks: args.tasks,
            preemption_cost: args.preemption_cost,
            overrun: args.overrun,
            estimates: args.estimates,
            learn_before: args.learn_before,
            record: record(args),
            by: args.by.map(ReplayGrouping::from),
            windows: args.windows,
            treatments: args.unpredictable.clone(),
            spread: args.unpredictable_spread,
            calibration: args.calibration,
            states_promises: args.calibration || args.jobs_out.is_some(),
            ..ReplaySettings::new(choices, args.market)
        };
        Ok(Self {
            file: args.workload.clone(),
            settings,
            learn: args.learn.clone(),
            jobs_out: args.jobs_out.clone(),
            gantt: args.gantt.clone(),
            html: args.html.clone(),
            threads: args.threads,
            format: args.format,
            verbosity: Verbosity::from_quiet(args.quiet),
        })
    }

    /// Returns a plan of settings, without files.
    pub(super) fn of_settings(settings: ReplaySettings, format: OutputFormat) -> Self {
        Self {
            file: None,
            settings,
            learn: Vec::new(),
            jobs_out: None,
            gantt: None,
            html: None,
            threads: None,
            format,
            verbosity: Verbosity::Notes,
        }
    }

    /// Checks that each of the flags has an effect.
    ///
    /// # Errors
    /// A flag that would change nothing.
    pub(super) fn check_flags(&self, args: &ReplayArgs) -> Result<(), ReplayFlagError> {
        let contents = RunContents {
            market: self.settings.market,
            policies: &self.settings.policies,
            recognises_unpredictable: !self.settings.treatments.is_empty(),
        };
        contents.check_flags(args, &self.settings.jobs)
    }

    /// Returns the number of policies that run in parallel: the requested number, or the number of
    /// processors. A single policy does not query the processors, because the query takes longer
    /// than a small workload.
    pub(super) fn threads(&self) -> NonZeroUsize {
        let n_runs = self.settings.policies.len()
            * self.settings.nodes.len().max(1)
            * self.settings.treatments.len().max(1);
        match n_runs {
            0 | 1 => NonZeroUsize::MIN,
            _ => self.threads.unwrap_or_else(n_processors),
        }
    }

    /// Returns whether every schedule is verified.
    pub(super) fn is_checked(&self) -> bool {
        self.settings.record == RecordLevel::Checked
    }
}

fn record(args: &ReplayArgs) -> RecordLevel {
    match (&args.jobs_out, &args.gantt, args.check) {
        (_, _, true) => RecordLevel::Checked,
        (Some(_), _, false) | (_, Some(_), false) => RecordLevel::Placements,
        (None, None, false) => RecordLevel::Outcomes,
    }
}
