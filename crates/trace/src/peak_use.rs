//! The most processors that ran jobs at once.

use tollgate_model::{Instant, Span};

/// The starts and ends of jobs, for the most processors that were in use at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessorUse {
    /// Instant, and change in the number of processors.
    edges: Vec<(Instant, i64)>,
}

impl ProcessorUse {
    /// Adds a job of this many processors. A job that never ran used none.
    pub(crate) fn add(&mut self, start: Instant, runtime: Span, procs: u32) {
        if runtime > Span::ZERO {
            self.edges.push((start, procs.into()));
            self.edges.push((start + runtime, -i64::from(procs)));
        }
    }

    /// Returns the most processors in use at once; None without jobs.
    pub(crate) fn most(mut self) -> Option<u32> {
        // Ends sort before starts of the same instant, so jobs that end make room for jobs that start.
        self.edges.sort_unstable();
        let mut busy = 0;
        let peak = self.edges.iter().map(|&(_, change)| {
            busy += change;
            busy
        });
        peak.max()
            .map(|peak| u32::try_from(peak).unwrap_or(u32::MAX))
    }
}
