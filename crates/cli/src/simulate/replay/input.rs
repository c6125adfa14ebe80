//! The jobs of a replay, and notes about them.

use std::fmt;
use std::sync::Arc;

use tollgate_model::{MachineSpeeds, Span};
use tollgate_policy::PolicySpec;
use tollgate_sim::learning::LearnedJobs;
use tollgate_sim::learning::job_names::JobNames;
use tollgate_sim::{
    JobArrival, JobContext, MAX_NODES, MAX_RECORD_NODES, OverrunRule, TaskCoupling,
};
use tollgate_trace::{ColumnSelection, NodeCountSource, ReadOptions, Trace, open};
use tollgate_workload::{
    DeadlineCounts, DeadlineModel, SynthesisedSlas, Workload, WorkloadConfig, WorkloadGenerator,
};

use super::args::NodeCountArg;
use super::error::ReplayError;
use super::plan::ReplayPlan;
use crate::exit::CliFailure;
use crate::output::messages::pluralise;
use crate::simulate::missing_requests;

/// The jobs of all runs, and the machine that they run on.
pub(super) struct ReplayInput {
    pub(super) workload: Workload,
    /// The same jobs with the draws of further seeds.
    pub(super) reseeded: Vec<Workload>,
    offered: OfferedWork,
    /// The jobs by their deadlines. A deadline is possible if the job can run so fast on the first machine.
    /// The deadline of a job that is killed at its limit is not possible.
    pub(super) deadlines: DeadlineCounts,
    /// The machines. At least one.
    pub(super) machines: Vec<ReplayMachine>,
    /// The information of a forecaster about each job, in order of arrival. Empty if nothing is
    /// forecast.
    pub(super) job_contexts: Vec<JobContext>,
    /// The knowledge about earlier jobs.
    pub(super) learned: LearnedJobs,
}

/// The work of all jobs, and the time in which it is offered.
struct OfferedWork {
    /// Number of jobs that outlive their estimates.
    n_overlong: usize,
    /// Run times times processors, in seconds.
    work_s: f64,
    /// From the first submission to the last, in seconds.
    span_s: f64,
}

/// The size of the machine, the source of this number, and how fast the nodes are.
#[derive(Clone)]
pub(super) struct ReplayMachine {
    pub(super) nodes: u32,
    pub(super) speeds: MachineSpeeds,
    pub(super) from: MachineSizeSource,
}

#[derive(Clone, Copy)]
pub(super) enum MachineSizeSource {
    Flag,
    /// The sum over several clusters.
    Clusters,
    Workload(NodeCountSource),
}

impl OfferedWork {
    fn of(workload: &Workload) -> Self {
        let (mut n_overlong, mut work_s, mut last, mut first) = (0, 0.0, None, None);
        for job in workload.requests() {
            n_overlong += usize::from(outlives_estimate(&job));
            work_s += job.runtime.as_secs_f64() * f64::from(job.spec.procs);
            first.get_or_insert(job.spec.submit);
            last = Some(job.spec.submit);
        }
        let span = last.zip(first).map(|(last, first)| last.since(first));
        Self {
            n_overlong,
            work_s,
            span_s: span.unwrap_or_default().as_secs_f64(),
        }
    }
}

fn outlives_estimate(job: &JobArrival) -> bool {
    OverrunRule::Kill.kills(job)
}

impl ReplayInput {
    pub(super) fn read(plan: &ReplayPlan) -> Result<Self, CliFailure> {
        let columns = ColumnSelection::All;
        let record = Arc::new(match &plan.file {
            Some(path) => open(path, ReadOptions { columns })?,
            None => generator(columns).trace(),
        });
        let selected = if plan.part.is_empty() {
            record.clone()
        } else {
            let part = plan.part.select(Trace::clone(&record));
            Arc::new(part.map_err(ReplayError::from)?)
        };
        if selected.jobs.is_empty() && !record.jobs.is_empty() {
            let file = record.source.clone();
            return Err(ReplayError::NothingSelected { file }.into());
        }
        let trace = match (plan.first, plan.last) {
            (Some(first), _) => Arc::new(Trace::clone(&selected).first(first.get())),
            (None, Some(last)) => Arc::new(Trace::clone(&selected).last(last.get())),
            (None, None) => selected.clone(),
        };
        let of_seed = |seed| {
            let jobs = WorkloadConfig { seed, ..plan.jobs };
            Workload::cut_from(&record, trace.clone(), jobs, plan.market).map_err(ReplayError::from)
        };
        let workload = of_seed(plan.jobs.seed)?;
        let further = (1..u64::from(plan.seeds.get())).map(|n| plan.jobs.seed.wrapping_add(n));
        let reseeded = further.map(of_seed).collect::<Result<Vec<_>, _>>()?;
        if workload.is_empty() {
            return Err(ReplayError::NothingRan {
                file: workload.trace().source.clone(),
                jobs: workload.dropped(),
            }
            .into());
        }
        let mut machines = ReplayMachine::all_of(plan, &record);
        for machine in &machines {
            let most = machine.from.max_nodes();
            if machine.nodes > most {
                let machine = machine.to_string();
                return Err(ReplayError::HugeMachine { machine, most }.into());
            }
        }
        if let Some(list) = &plan.speeds {
            for machine in &mut machines {
                let speeds = list.of_machine(machine.nodes);
                machine.speeds = speeds.map_err(ReplayError::from)?;
            }
        }
        let mut names = JobNames::default();
        let job_contexts = match plan.learns() {
            true => names.contexts(&workload),
            false => Vec::new(),
        };
        let learned = plan.learn.learn(workload.trace(), &selected, &mut names)?;
        let mut deadlines = workload.deadline_counts();
        let may_end = |job: &JobArrival| {
            let runtime = machines[0].shortest_run_time(job);
            job.spec.sla.deadline.is_some_and(|due| runtime <= due)
        };
        if plan.speeds.is_some() {
            deadlines.possible = workload.arrivals().filter(may_end).count();
        }
        if plan.overrun == OverrunRule::Kill {
            let killed = workload.arrivals().filter(outlives_estimate);
            deadlines.possible -= killed.filter(may_end).count();
        }
        Ok(Self {
            offered: OfferedWork::of(&workload),
            deadlines,
            workload,
            reseeded,
            machines,
            job_contexts,
            learned,
        })
    }

    /// Returns the number of jobs that outlive their estimates.
    pub(super) const fn n_overlong(&self) -> usize {
        self.offered.n_overlong
    }

    /// Prints notes about the assumptions of the output that the user did not request explicitly.
    pub(super) fn print_notes(&self, plan: &ReplayPlan) {
        let (verbosity, workload) = (plan.verbosity, &self.workload);
        let trace = workload.trace();
        // The trace is read as a whole even if its last jobs are cut out, and line numbers refer to
        // the file.
        let whole = plan.last.map_or("", |_| "in the whole file, ");
        for line in trace.diagnostics.to_string().lines() {
            verbosity.note(format_args!("{}: {whole}{line}", trace.source));
        }
        let jobs = pluralise(workload.len(), "job");
        match workload.dropped() {
            0 => verbosity.note(format_args!("{jobs} from {}", trace.source)),
            dropped => verbosity.note(format_args!(
                "{jobs} from {}; {dropped} that never ran are left out",
                trace.source
            )),
        }
        for machine in &self.machines {
            verbosity.note(machine);
            let load = self.offered_load_pct(machine);
            if let Some(load) = load.filter(|&load| load > 100.0) {
                verbosity.note(format_args!(
                    "the offered load is {load:.0} %: more work than the machine can do; `--nodes` sets \
                     its size"
                ));
            }
        }
        if let Some(speeds) = plan.speeds_sentence() {
            verbosity.note(speeds);
        }
        self.print_sharing_note(plan);
        if let Some(overrun) = self.overrun_sentence(plan) {
            verbosity.note(overrun);
        }
        if let Some(drawn) = describe_drawn(workload.synthesised()) {
            let first = plan.jobs.seed;
            match u64::from(plan.seeds.get()) {
                1 => verbosity.note(format_args!("{drawn} drawn at random, seed {first}")),
                n => verbosity.note(format_args!(
                    "{drawn} drawn at random, seeds {first} to {}",
                    first.wrapping_add(n - 1)
                )),
            }
        }
        self.print_deadline_notes(plan);
        if !plan.learn.is_empty() {
            let late = match self.learned.n_late {
                0 => String::new(),
                late => format!("; {late} that ended later are left out"),
            };
            verbosity.note(format_args!(
                "{} learned that ended before the first submission{late}",
                pluralise(self.learned.n_learned, "job")
            ));
        }
        if let Some(wide) = self.too_wide_note() {
            verbosity.note(wide);
        }
    }

    /// Says what becomes of jobs that outlive their estimates. None if there are no such jobs.
    pub(super) fn overrun_sentence(&self, plan: &ReplayPlan) -> Option<String> {
        let jobs = (self.n_overlong() > 0).then(|| pluralise(self.n_overlong(), "job"))?;
        Some(match plan.overrun {
            OverrunRule::Run => format!(
                "run beyond their estimates: {jobs}; `--overrun kill` kills jobs at that limit"
            ),
            OverrunRule::Kill => format!(
                "killed at their estimates: {jobs}; neither kept nor broken if that is before the deadline"
            ),
        })
    }

    /// Notes that parallel jobs do not run in step, if a policy shares nodes and there are any.
    fn print_sharing_note(&self, plan: &ReplayPlan) {
        let jobs = &self.workload.trace().jobs;
        let is_parallel = (0..self.workload.len()).any(|i| jobs[self.workload.row(i)].procs > 1);
        let is_shared = plan.choices.iter().any(PolicySpec::shares_nodes);
        if plan.tasks == TaskCoupling::Independent && is_parallel && is_shared {
            plan.verbosity.note(
                "the tasks of parallel jobs do not run in step where jobs share nodes, as few programs \
                 can: `--tasks rigid` keeps them in step",
            );
        }
    }

    /// Returns the work of all jobs in % of what the machine can do from the first submission to the
    /// last. None if that period is empty.
    pub(super) fn offered_load_pct(&self, machine: &ReplayMachine) -> Option<f64> {
        let offered_s = self.offered.span_s * machine.speeds.capacity(machine.nodes);
        (offered_s > 0.0).then(|| self.offered.work_s / offered_s * 100.0)
    }

    fn print_deadline_notes(&self, plan: &ReplayPlan) {
        let (verbosity, workload) = (plan.verbosity, &self.workload);
        let is_drawn = workload.synthesised().deadlines > 0;
        if is_drawn && plan.jobs.deadlines == DeadlineModel::Paper {
            verbosity.note(
                "each drawn deadline is a factor of the job's true run time, so deadlines tell \
                 policies what is unknown at submission; `--deadlines habit` does not",
            );
        }
        missing_requests::print_notes(workload.missing_requests(), verbosity);
        if workload.synthesised().budgets > 0 {
            verbosity.note("each drawn budget is a factor of the job's true run time");
        }
        if let Some(clock) = workload.deadline_clock() {
            verbosity.note(format_args!("deadlines are at {clock}"));
        }
        let why = match plan.jobs.without_deadline > 0.0 {
            true => "drawn at random, or because the record has no request",
            false => "because the record has no request",
        };
        match workload.deadline_counts().missing {
            0 => {}
            missing => verbosity.note(format_args!(
                "{} without a deadline, {why}: neither in SLA nor in reliability",
                pluralise(missing, "job")
            )),
        }
    }

    /// Describes the jobs that no policy can run, and names the first. None if every job fits.
    fn too_wide_note(&self) -> Option<String> {
        let workload = &self.workload;
        let procs = |&i: &usize| workload.trace().jobs[workload.row(i)].procs;
        let most = self.machines.iter().map(|machine| machine.nodes).min();
        let most = most.unwrap_or_default();
        let mut wide = (0..workload.len()).filter(|i| procs(i) > most);
        let first = wide.next()?;
        Some(format!(
            "always rejected for asking for more processors than there are: {} (the first is job \
             {}, which asks for {})",
            pluralise(1 + wide.count(), "job"),
            workload.number(first),
            procs(&first)
        ))
    }
}

fn generator(columns: ColumnSelection) -> WorkloadGenerator {
    WorkloadGenerator {
        columns,
        ..WorkloadGenerator::default()
    }
}

/// Describes the SLA parts that were drawn. None if no part was drawn.
fn describe_drawn(drawn: SynthesisedSlas) -> Option<String> {
    let parts = [
        (drawn.deadlines, "deadline"),
        (drawn.budgets, "budget"),
        (drawn.penalties, "penalty rate"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|&(count, _)| count > 0)
        .map(|(count, part)| pluralise(count, part))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

impl ReplayMachine {
    /// Returns the requested machines, or that of the record.
    fn all_of(plan: &ReplayPlan, record: &Trace) -> Vec<Self> {
        let own = Self::of_record(record);
        let nodes = plan.nodes.iter().map(|word| match word {
            NodeCountArg::Total(nodes) => nodes.get(),
            NodeCountArg::More(more) => own.nodes.saturating_add(more.get()),
        });
        let from = MachineSizeSource::Flag;
        let speeds = MachineSpeeds::default();
        let word = nodes.map(|nodes| Self {
            nodes,
            speeds: speeds.clone(),
            from,
        });
        let word: Vec<Self> = word.collect();
        if word.is_empty() { vec![own] } else { word }
    }

    /// Returns the size that the header names, else the smallest that can have run the jobs.
    fn of_record(record: &Trace) -> Self {
        let (nodes, from) = record.nodes();
        let from = MachineSizeSource::Workload(from);
        Self {
            nodes,
            speeds: MachineSpeeds::default(),
            from,
        }
    }

    /// Returns the run time of a job on the fastest nodes that are enough for it.
    fn shortest_run_time(&self, job: &JobArrival) -> Span {
        let speeds = &self.speeds;
        let slowest = speeds.slowest_of_fastest(job.spec.procs, self.nodes);
        slowest.time_for(job.runtime)
    }
}

impl MachineSizeSource {
    /// Returns the maximum number of nodes from this source. A flag is intended, but a header may
    /// be damaged.
    const fn max_nodes(self) -> u32 {
        match self {
            Self::Flag | Self::Clusters => MAX_NODES,
            Self::Workload(_) => MAX_RECORD_NODES,
        }
    }

    /// Returns the key of the source in JSON.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Clusters => "clusters",
            Self::Workload(NodeCountSource::MaxProcs) => "max_procs",
            Self::Workload(NodeCountSource::MaxNodes) => "max_nodes",
            Self::Workload(NodeCountSource::PeakUse) => "peak_use",
            Self::Workload(NodeCountSource::WidestJob) => "widest_job",
        }
    }
}

impl fmt::Display for ReplayMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = pluralise(self.nodes as usize, "node");
        match self.from {
            MachineSizeSource::Flag => write!(f, "{nodes} (--nodes)"),
            MachineSizeSource::Clusters => write!(f, "{nodes} (all clusters)"),
            MachineSizeSource::Workload(from) => write!(f, "{nodes} ({from})"),
        }
    }
}
