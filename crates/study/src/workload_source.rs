//! The jobs of an experiment, read or generated once.

use std::path::Path;
use std::sync::Arc;

use tollgate_model::{MachineSpeeds, Market};
use tollgate_sim::LearnedHistory;
use tollgate_sim::learning::EarlierJobs;
use tollgate_sim::learning::job_names::JobNames;
use tollgate_trace::{ColumnSelection, NodeCountSource, OpenError, ReadOptions, Trace, open};
use tollgate_workload::{
    DeadlineModel, MissingRequests, NeverRanHandling, Workload, WorkloadConfig, WorkloadGenerator,
};

use crate::experiment::{EarlierLearning, Experiment};
use crate::fingerprint::InputFingerprint;

/// The jobs and the machine of an experiment, shared by all its runs.
#[derive(Clone, Debug)]
pub struct StudyWorkload {
    /// All jobs of the source, which users remember.
    record: Arc<Trace>,
    /// The jobs that take part: the last ones.
    trace: Arc<Trace>,
    nodes: u32,
    speeds: MachineSpeeds,
    learning: EarlierLearning,
    /// The knowledge before the first job.
    learned: Arc<LearnedHistory>,
}

impl StudyWorkload {
    /// Reads or generates the jobs of `experiment`, with these columns.
    ///
    /// # Errors
    /// If the trace cannot be used.
    pub fn of(experiment: &Experiment, columns: ColumnSelection) -> Result<Self, OpenError> {
        let workload = &experiment.workload;
        let record = Arc::new(match &workload.file {
            Some(file) => open(Path::new(file), ReadOptions { columns })?,
            None => generator(columns).trace(),
        });
        let trace = match workload.last {
            Some(last) => Arc::new(Trace::clone(&record).last(last)),
            None => record.clone(),
        };
        let nodes = experiment.world.nodes.unwrap_or(trace.nodes().0);
        let learning = workload.learn.0;
        Ok(Self {
            learned: Arc::new(learn(learning, &record, &trace)),
            learning,
            record,
            trace,
            nodes,
            speeds: MachineSpeeds::default(),
        })
    }

    /// Keeps only the last jobs, a share of `scale` and at least one, for a trial run of a study.
    #[must_use]
    pub fn scaled(&self, scale: f64) -> Self {
        let jobs = (self.trace.jobs.len() as f64 * scale).round().max(1.0);
        let trace = Arc::new(Trace::clone(&self.trace).last(jobs as usize));
        Self {
            record: self.record.clone(),
            learned: Arc::new(learn(self.learning, &self.record, &trace)),
            learning: self.learning,
            trace,
            nodes: self.nodes,
            speeds: self.speeds.clone(),
        }
    }

    /// Returns what forecasts and policies know before the first job.
    pub fn learned(&self) -> &LearnedHistory {
        &self.learned
    }

    /// Returns all jobs of the source, of which [`StudyWorkload::trace`] is the end.
    pub fn record(&self) -> &Trace {
        &self.record
    }

    /// Returns the jobs, before any filter.
    pub const fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Returns the number of nodes; at least 1.
    pub const fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Gives the nodes these speeds. By default all are as fast as those of the record.
    #[must_use]
    pub fn with_speeds(self, speeds: MachineSpeeds) -> Self {
        Self { speeds, ..self }
    }

    /// Returns the speeds of the nodes.
    pub const fn speeds(&self) -> &MachineSpeeds {
        &self.speeds
    }

    /// Returns the source of the number of nodes if the experiment does not set it.
    pub fn nodes_from(&self) -> NodeCountSource {
        self.trace.nodes().1
    }

    /// Returns the numbers of jobs without a request. They are the same in every run: no other setting
    /// decides which jobs take part.
    pub fn missing_requests(&self, never_ran: NeverRanHandling) -> MissingRequests {
        let settings = WorkloadConfig {
            never_ran,
            deadlines: DeadlineModel::Paper,
            ..WorkloadConfig::default()
        };
        Workload::new(self.trace.clone(), settings, Market::None)
            .expect("the defaults are in range")
            .missing_requests()
    }

    /// Returns a fingerprint of these jobs on this machine.
    pub fn fingerprint(&self) -> InputFingerprint {
        let mut fingerprint = InputFingerprint::default();
        fingerprint.add_number(self.nodes.into());
        for job in &self.trace.jobs {
            let times = [
                job.submit.as_micros(),
                job.runtime.as_micros(),
                job.estimate.as_micros(),
                job.procs.into(),
            ];
            for time in times {
                fingerprint.add_number(time.cast_unsigned());
            }
            // An estimate that is no request is replaced, whatever it is.
            if !job.is_estimated {
                fingerprint.add_text("no request");
            }
        }
        for sla in self.trace.slas.iter().flatten() {
            fingerprint.add_text(&format!("{sla:?}"));
        }
        self.add_memory(&mut fingerprint);
        fingerprint
    }

    /// Adds what users and forecasts remember, if deadlines or decisions may follow from it.
    fn add_memory(&self, fingerprint: &mut InputFingerprint) {
        let record = &self.record;
        let Some(metadata) = &record.metadata else {
            return;
        };
        fingerprint.add_text(&format!("{:?} {:?}", record.time_zone(), record.unix_start));
        for (row, job) in record.jobs.iter().enumerate() {
            let names = [
                &metadata.user,
                &metadata.executable,
                &metadata.queue,
                &metadata.account,
            ]
            .map(|column| column.get(row));
            let times = (job.submit, record.usage(row).wait, job.runtime);
            let is_requested = record.has_estimate(row);
            fingerprint.add_text(&format!("{names:?} {times:?} {is_requested}"));
        }
    }
}

/// Learns from the jobs of `record` before those of `trace`, its end.
fn learn(learning: EarlierLearning, record: &Trace, trace: &Trace) -> LearnedHistory {
    match learning {
        EarlierLearning::Nothing => LearnedHistory::default(),
        EarlierLearning::Before => {
            let mut names = JobNames::default();
            let mut jobs = EarlierJobs::before(trace);
            jobs.add_before_last(record, trace.jobs.len(), &mut names);
            jobs.learn().history
        }
    }
}

fn generator(columns: ColumnSelection) -> WorkloadGenerator {
    WorkloadGenerator {
        columns,
        ..WorkloadGenerator::default()
    }
}
