//! The jobs of a replay, and the machines that they run on.

use std::fmt;
use std::sync::Arc;

use tollgate_model::{Bytes, MachineSpeeds, Span};
use tollgate_report::pluralise;
use tollgate_sim::learning::LearnedJobs;
use tollgate_sim::learning::job_names::JobNames;
use tollgate_sim::{JobArrival, JobContext, MAX_NODES, MAX_RECORD_NODES, OverrunRule};
use tollgate_trace::{ColumnSelection, NodeCountSource, OpenError, Trace};
use tollgate_workload::{DeadlineCounts, Workload, WorkloadConfig, WorkloadGenerator};

use crate::error::ReplayError;
use crate::learning::learn;
use crate::settings::{NodeCount, ReplaySettings};

/// The jobs of all runs, and the machine that they run on.
pub struct ReplayInput {
    /// The jobs, with the draws of the first seed.
    pub workload: Workload,
    /// The same jobs with the draws of further seeds.
    pub reseeded: Vec<Workload>,
    offered: OfferedWork,
    /// The jobs by the memory that they request. None if memory does not count.
    pub memory: Option<MemoryCounts>,
    /// The jobs by their deadlines. A deadline is possible if the job can run so fast on the first machine.
    /// The deadline of a job that is killed at its limit is not possible.
    pub deadlines: DeadlineCounts,
    /// The machines. At least one.
    pub machines: Vec<ReplayMachine>,
    /// The information of a forecaster about each job, in order of arrival. Empty if nothing is
    /// forecast.
    pub job_contexts: Vec<JobContext>,
    /// The knowledge about earlier jobs.
    pub learned: LearnedJobs,
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

/// The jobs of a run by the memory that they request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryCounts {
    /// Number of jobs that request memory.
    pub requested: usize,
    /// Number of jobs that get more processors than they request, because their memory needs them.
    pub widened: usize,
    /// Number of jobs that request more memory than one of the machines has. Their processors alone would fit.
    pub too_large: usize,
}

/// The size of the machine, the source of this number, and how fast the nodes are.
#[derive(Clone, Debug)]
pub struct ReplayMachine {
    /// Number of nodes, at least 1.
    pub nodes: u32,
    /// The speeds of the nodes.
    pub speeds: MachineSpeeds,
    /// The source of the number of nodes.
    pub from: MachineSizeSource,
}

/// The source of a number of nodes.
#[derive(Clone, Copy, Debug)]
pub enum MachineSizeSource {
    /// The settings.
    Setting,
    /// The sum over several clusters.
    Clusters,
    /// The record.
    Workload(NodeCountSource),
}

impl OfferedWork {
    fn of(workload: &Workload, node_memory: Option<Bytes>) -> Self {
        let (mut n_overlong, mut work_s, mut last, mut first) = (0, 0.0, None, None);
        for job in workload.requests() {
            n_overlong += usize::from(outlives_estimate(&job));
            work_s += job.runtime.as_secs_f64() * f64::from(job.spec_on(node_memory).procs);
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

impl MemoryCounts {
    fn of(workload: &Workload, node_memory: Bytes, least_nodes: u32) -> Self {
        let mut counts = Self::default();
        for job in workload.requests() {
            let procs = job.spec_on(Some(node_memory)).procs;
            counts.requested += usize::from(job.requested_memory > Bytes::ZERO);
            counts.widened += usize::from(procs > job.spec.procs);
            counts.too_large += usize::from(job.spec.procs <= least_nodes && procs > least_nodes);
        }
        counts
    }
}

fn outlives_estimate(job: &JobArrival) -> bool {
    OverrunRule::Kill.kills(job)
}

impl ReplayInput {
    /// Takes the jobs of the settings from `record`, and learns from the jobs of `earlier` records.
    ///
    /// # Errors
    /// If a setting does not fit the record, no job of it takes part, or an earlier record cannot be read.
    pub fn of(
        plan: &ReplaySettings,
        record: Trace,
        earlier: impl IntoIterator<Item = Result<Trace, OpenError>>,
    ) -> Result<Self, ReplayError> {
        let record = Arc::new(record);
        let selected = if plan.part.is_empty() {
            record.clone()
        } else {
            let part = plan.part.select(Trace::clone(&record));
            Arc::new(part.map_err(ReplayError::from)?)
        };
        if selected.jobs.is_empty() && !record.jobs.is_empty() {
            let file = record.source.clone();
            return Err(ReplayError::NothingSelected { file });
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
            });
        }
        let mut machines = ReplayMachine::all_of(plan, &record);
        for machine in &machines {
            let most = machine.from.max_nodes();
            if machine.nodes > most {
                let machine = machine.clone();
                return Err(ReplayError::HugeMachine { machine, most });
            }
        }
        if let Some(list) = &plan.speeds {
            for machine in &mut machines {
                let speeds = list.of_machine(machine.nodes);
                machine.speeds = speeds.map_err(ReplayError::from)?;
            }
        }
        let least_nodes = machines.iter().map(|machine| machine.nodes).min();
        let counts = |memory| MemoryCounts::of(&workload, memory, least_nodes.unwrap_or_default());
        let memory = plan.node_memory.map(counts);
        if memory.is_some_and(|memory| memory.requested == 0) {
            let file = workload.trace().source.clone();
            return Err(ReplayError::NoRequestedMemory { file });
        }
        let mut names = JobNames::default();
        let job_contexts = match plan.learns() {
            true => names.contexts(&workload),
            false => Vec::new(),
        };
        let learned = learn(plan, &workload, &selected, earlier, &mut names)?;
        let mut deadlines = workload.deadline_counts();
        let may_end = |job: &JobArrival| {
            let procs = job.spec_on(plan.node_memory).procs;
            let runtime = machines[0].shortest_run_time(procs, job.runtime);
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
            offered: OfferedWork::of(&workload, plan.node_memory),
            memory,
            deadlines,
            workload,
            reseeded,
            machines,
            job_contexts,
            learned,
        })
    }

    /// Returns the number of jobs that outlive their estimates.
    pub const fn n_overlong(&self) -> usize {
        self.offered.n_overlong
    }

    /// Returns the work of all jobs in % of what the machine can do from the first submission to the
    /// last. None if that period is empty.
    pub fn offered_load_pct(&self, machine: &ReplayMachine) -> Option<f64> {
        let offered_s = self.offered.span_s * machine.speeds.capacity(machine.nodes);
        (offered_s > 0.0).then(|| self.offered.work_s / offered_s * 100.0)
    }
}

/// Returns the jobs of a replay without a record: a workload modelled on that of SDSC SP2.
pub fn default_record() -> Trace {
    let generator = WorkloadGenerator {
        columns: ColumnSelection::All,
        ..WorkloadGenerator::default()
    };
    generator.trace()
}

impl ReplayMachine {
    /// Returns the requested machines, or that of the record.
    fn all_of(plan: &ReplaySettings, record: &Trace) -> Vec<Self> {
        let own = Self::of_record(record);
        let nodes = plan.nodes.iter().map(|word| match word {
            NodeCount::Total(nodes) => nodes.get(),
            NodeCount::More(more) => own.nodes.saturating_add(more.get()),
        });
        let from = MachineSizeSource::Setting;
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

    /// Returns the run time of a job of this width on the fastest nodes that are enough for it.
    fn shortest_run_time(&self, procs: u32, runtime: Span) -> Span {
        let slowest = self.speeds.slowest_of_fastest(procs, self.nodes);
        slowest.time_for(runtime)
    }
}

impl MachineSizeSource {
    /// Returns the maximum number of nodes from this source. A setting is intended, but a header may
    /// be damaged.
    const fn max_nodes(self) -> u32 {
        match self {
            Self::Setting | Self::Clusters => MAX_NODES,
            Self::Workload(_) => MAX_RECORD_NODES,
        }
    }

    /// Returns the key of the source in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Setting => "flag",
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
            MachineSizeSource::Setting => write!(f, "{nodes} (as requested)"),
            MachineSizeSource::Clusters => write!(f, "{nodes} (all clusters)"),
            MachineSizeSource::Workload(from) => write!(f, "{nodes} ({from})"),
        }
    }
}
