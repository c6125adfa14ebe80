//! The run times that a replay knows and its gate does not.

use std::ops::Index;

use tollgate_gate::RunTimes;
use tollgate_model::{Credits, Instant, JobId, Span};

/// By slot: the truth about its job.
#[derive(Default)]
pub(super) struct GroundTruths(Vec<GroundTruth>);

/// The truth about a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroundTruth {
    /// The job's place in the order of arrival.
    pub(super) index: usize,
    /// The run time in the record, of a job that is killed up to its limit.
    pub(super) recorded: Span,
    /// The same on the slowest node of the machine.
    pub(super) on_slowest: Span,
    /// The same in seconds.
    pub(super) on_slowest_s: f64,
    /// The run time at which it is killed, on the slowest node; None if it runs to its end.
    pub(super) limit: Option<Span>,
    /// The same, if the site ends it because its run time cannot be predicted.
    pub(super) site_limit: Option<Span>,
    /// True if the job is killed at the end of its run time.
    pub(super) killed: bool,
    /// The deadline that its user asked for.
    pub(super) due: Option<Instant>,
    /// The processors that its user requested. The job has more if its memory needs them.
    pub(super) requested_procs: u32,
    /// True if its run time could not be predicted at its submission.
    pub(super) unpredictable: bool,
    /// False if nothing was known of the job's user at its submission.
    pub(super) is_known: bool,
    /// The run time that is planned for it.
    pub(super) planned_run: Span,
    /// The sum of the bookings.
    pub(super) utility: Credits,
}

impl RunTimes for GroundTruths {
    fn run_time(&self, job: JobId, _: Instant) -> Option<Span> {
        Some(self[job].on_slowest)
    }

    fn run_time_s(&self, job: JobId, _: Instant) -> Option<f64> {
        Some(self[job].on_slowest_s)
    }
}

impl Index<JobId> for GroundTruths {
    type Output = GroundTruth;

    fn index(&self, job: JobId) -> &GroundTruth {
        &self.0[job.index()]
    }
}

impl GroundTruths {
    pub(super) fn set(&mut self, job: JobId, truth: GroundTruth) {
        if job.index() >= self.0.len() {
            self.0.resize(job.index() + 1, truth);
        }
        self.0[job.index()] = truth;
    }

    pub(super) fn plan(&mut self, job: JobId, run: Span) {
        self.0[job.index()].planned_run = run;
    }

    pub(super) fn book(&mut self, job: JobId, amount: Credits) {
        self.0[job.index()].utility += amount;
    }
}
