//! The jobs of an experiment, read or generated once.

use std::path::Path;
use std::sync::Arc;

use tollgate_trace::{NodeCountSource, OpenError, ReadOptions, Trace, open};
use tollgate_workload::WorkloadGenerator;

use crate::experiment::Experiment;
use crate::fingerprint::InputFingerprint;

/// The jobs and the machine of an experiment, shared by all its runs.
#[derive(Clone, Debug)]
pub struct StudyWorkload {
    trace: Arc<Trace>,
    nodes: u32,
}

impl StudyWorkload {
    /// Reads or generates the jobs of `experiment`.
    ///
    /// # Errors
    /// If the trace cannot be used.
    pub fn of(experiment: &Experiment) -> Result<Self, OpenError> {
        let workload = &experiment.workload;
        let mut trace = match &workload.file {
            Some(file) => open(Path::new(file), ReadOptions::default())?,
            None => WorkloadGenerator::default().trace(),
        };
        if let Some(last) = workload.last {
            trace = trace.last(last);
        }
        let nodes = experiment.world.nodes.unwrap_or(trace.nodes().0);
        Ok(Self {
            trace: Arc::new(trace),
            nodes,
        })
    }

    /// Keeps only the last jobs, a share of `scale` and at least one, for a trial run of a study.
    #[must_use]
    pub fn scaled(&self, scale: f64) -> Self {
        let jobs = (self.trace.jobs.len() as f64 * scale).round().max(1.0);
        Self {
            trace: Arc::new(Trace::clone(&self.trace).last(jobs as usize)),
            nodes: self.nodes,
        }
    }

    /// Returns the jobs, before any filter.
    pub const fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Returns the number of nodes; at least 1.
    pub const fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Returns the source of the number of nodes if the experiment does not set it.
    pub fn nodes_from(&self) -> NodeCountSource {
        self.trace.nodes().1
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
        }
        for sla in self.trace.slas.iter().flatten() {
            fingerprint.add_text(&format!("{sla:?}"));
        }
        fingerprint
    }
}
