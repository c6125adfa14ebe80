//! Readers for traces of any length in little memory: they pass on one batch of jobs at a time,
//! while the rest is still to be read.
//!
//! Memory holds one batch and the tallies of the findings. A directory, whose files have to be
//! brought into one order, is held whole and is one batch. An event log also keeps the data of its
//! jobs in memory until the batch of the jobs.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::error::{OpenError, ReadError};
use crate::open::{self, ReadOptions};
use crate::trace::{Trace, TraceMetadata};

/// Maximum number of jobs, or of findings that are kept one by one, in a batch: some two mebibytes.
const BATCH_LEN: usize = 1 << 14;

/// Why reading stopped before the end.
#[derive(Debug)]
pub enum BatchReadError<E> {
    /// The input cannot be read.
    Input(OpenError),
    /// The visitor of the batches returned an error.
    Visitor(E),
}

impl<E> From<OpenError> for BatchReadError<E> {
    fn from(error: OpenError) -> Self {
        Self::Input(error)
    }
}

/// Reads the trace at `path` (`-` is standard input, a directory is one batch) and calls `visit`
/// with each batch of its jobs, in file order. A batch is a trace whose columns hold the rows of
/// the batch and whose header is that of the file as far as it was read. Its diagnostics tally
/// everything so far and list each finding since the previous batch
/// (`Diagnostics::each`). The last batch may have no jobs. The returned
/// trace has no jobs, only the header and the tallies.
///
/// # Errors
/// [`BatchReadError::Input`] as for [`open()`](crate::open()), after the batches before the damage
/// were visited; [`BatchReadError::Visitor`] with the first error of `visit`, after which reading
/// stops.
pub fn open_in_batches<E>(
    path: &Path,
    options: ReadOptions,
    mut visit: impl FnMut(&Trace) -> Result<(), E>,
) -> Result<Trace, BatchReadError<E>> {
    if path.is_dir() {
        let mut whole = open::open(path, options)?;
        visit(&whole).map_err(BatchReadError::Visitor)?;
        whole.drop_first(whole.jobs.len());
        return Ok(whole);
    }
    if path == Path::new("-") {
        return read_in_batches(open::STANDARD_INPUT, io::stdin().lock(), options, visit);
    }
    let file = path.display().to_string();
    match File::open(path) {
        Ok(bytes) => read_in_batches(&file, bytes, options, visit),
        Err(error) => Err(BatchReadError::Input(OpenError {
            file,
            cause: ReadError::Open(error),
        })),
    }
}

/// Reads a trace from any stream of bytes, as [`open_in_batches`] does; `name` names the stream in
/// messages.
///
/// # Errors
/// As [`open_in_batches`].
pub fn read_in_batches<E>(
    name: &str,
    bytes: impl Read,
    options: ReadOptions,
    mut visit: impl FnMut(&Trace) -> Result<(), E>,
) -> Result<Trace, BatchReadError<E>> {
    let stop = Cell::new(false);
    let mut failure = None;
    let mut hand_over = |batch: &Trace| {
        if failure.is_none()
            && let Err(error) = visit(batch)
        {
            failure = Some(error);
            stop.set(true);
        }
    };
    let bytes = StoppableReader { bytes, stop: &stop };
    let outlet = &mut TraceSink::visiting(&mut hand_over);
    let outcome = open::read_with(name, bytes, |name, bytes| {
        open::read_text(name, bytes, options, outlet)
    });
    match failure {
        Some(error) => Err(BatchReadError::Visitor(error)),
        None => Ok(outcome?),
    }
}

/// A reader that ends the input once the visitor has stopped.
struct StoppableReader<'a, R> {
    bytes: R,
    stop: &'a Cell<bool>,
}

impl<R: Read> Read for StoppableReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.get() {
            return Ok(0);
        }
        self.bytes.read(buffer)
    }
}

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

    fn visiting(visit: &'a mut dyn FnMut(&Trace)) -> Self {
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
