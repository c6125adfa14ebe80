//! The destination of the jobs that a reader has read: the trace, or a visitor of batches.

use crate::error::ReadError;
use crate::options::ReadOptions;
use crate::trace::Trace;
use crate::trace_metadata::TraceMetadata;

/// Maximum number of jobs, or of findings that are kept one by one, in a batch: some two mebibytes.
const BATCH_LEN: usize = 1 << 14;

/// The destination of the jobs that a reader has read: a visitor, or the trace.
pub(crate) struct TraceSink<'a> {
    visit: Option<&'a mut dyn FnMut(&Trace)>,
    /// Number of jobs that are no longer in the trace.
    handed_over: u64,
}

impl<'a> TraceSink<'a> {
    /// Creates a sink that keeps everything in the trace.
    pub(crate) const fn collecting() -> Self {
        Self {
            visit: None,
            handed_over: 0,
        }
    }

    /// Creates a sink that passes batches to `visit`.
    pub(crate) fn visiting(visit: &'a mut dyn FnMut(&Trace)) -> Self {
        Self {
            visit: Some(visit),
            handed_over: 0,
        }
    }

    /// Creates a trace without jobs for a reader.
    pub(crate) fn new_trace(&self, source: &str, options: ReadOptions) -> Trace {
        let mut trace = Trace::with_columns(options.columns, source);
        if self.visit.is_some() {
            trace.diagnostics.enable_occurrences();
        }
        trace
    }

    /// Passes the previous jobs on if there are enough. A reader calls this before it adds any data
    /// of a job.
    pub(crate) fn before_job(&mut self, trace: &mut Trace) {
        if trace.jobs.len() >= BATCH_LEN {
            self.flush(trace);
        }
    }

    /// Passes the findings on if there are enough. A reader calls this after each line. The jobs
    /// stay, because the next line may add to the last of them.
    pub(crate) fn after_line(&mut self, trace: &mut Trace) {
        if trace.diagnostics.occurrences().len() < BATCH_LEN {
            return;
        }
        if let Some(visit) = &mut self.visit {
            let mut batch = trace.header();
            std::mem::swap(&mut batch.diagnostics, &mut trace.diagnostics);
            visit(&batch);
            trace.diagnostics = batch.diagnostics;
            trace.diagnostics.clear_occurrences();
        }
    }

    /// Passes the rest on and returns the trace, which is an error if no job was read. A reader
    /// calls this at the end.
    pub(crate) fn finish(&mut self, mut trace: Trace) -> Result<Trace, ReadError> {
        let jobs = trace.jobs.len() as u64 + self.handed_over;
        self.flush(&mut trace);
        if jobs == 0 {
            return Err(ReadError::NoUsableLine {
                diagnostics: trace.diagnostics,
            });
        }
        Ok(trace)
    }

    fn flush(&mut self, trace: &mut Trace) {
        let Some(visit) = &mut self.visit else {
            return;
        };
        visit(trace);
        self.handed_over += trace.jobs.len() as u64;
        trace.drop_first(trace.jobs.len());
        // Names would accumulate otherwise: some records have a different name for every job.
        trace.metadata = trace.metadata.take().map(|_| TraceMetadata::default());
        trace.diagnostics.clear_occurrences();
    }
}
