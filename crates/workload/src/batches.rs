//! Traces of any length in little memory: jobs are handed over a batch at a time, while the
//! rest is still to be read.
//!
//! What stays in memory is one batch and the tallies of what was found. A folder, whose files have to be brought into one order, is held whole and is one batch; so is
//! what a log of events tells of its jobs, before it is handed over.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::error::{OpenError, ReadError};
use crate::open::{self, ReadOptions};
use crate::trace::{Trace, TraceMetadata};

/// As many jobs are handed over at a time, or findings that are kept one by one: some two
/// mebibytes.
const BATCH_LEN: usize = 1 << 14;

/// Why reading stopped before the end.
#[derive(Debug)]
pub enum BatchReadError<E> {
    /// The input cannot be read.
    Input(OpenError),
    /// The visitor of the batches had enough.
    Visitor(E),
}

impl<E> From<OpenError> for BatchReadError<E> {
    fn from(error: OpenError) -> Self {
        Self::Input(error)
    }
}

/// Reads the trace at `path` (`-` is standard input, a folder is one batch) and calls `visit` with each batch of its
/// jobs, in file order: a trace whose columns hold the rows of the batch, whose header is that
/// of the file as far as it was read, and whose diagnostics tally everything so far and list
/// each finding since the batch before ([`Diagnostics::each`](crate::Diagnostics::each)). The
/// last batch may have no jobs. What is returned has none: it is the header and the tallies.
///
/// # Errors
/// [`BatchReadError::Input`] as for [`open()`](crate::open()), after the batches before the damage were
/// visited; [`BatchReadError::Visitor`] with the first error of `visit`, after which nothing more is
/// read.
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

/// Reads a trace from any stream of bytes, as [`open_in_batches`] does; `name` stands for it in
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

/// Ends the input once nobody wants any more of it.
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

/// Where a reader leaves the jobs that it has read: with a visitor, or in the trace.
pub(crate) struct TraceSink<'a> {
    visit: Option<&'a mut dyn FnMut(&Trace)>,
    /// Jobs that are not in the trace any more.
    handed_over: u64,
}

impl<'a> TraceSink<'a> {
    /// Everything stays in the trace.
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

    /// A trace without jobs, ready for a reader.
    pub(crate) fn new_trace(&self, source: &str, options: ReadOptions) -> Trace {
        let mut trace = Trace::with_columns(options.columns, source);
        if self.visit.is_some() {
            trace.diagnostics.enable_occurrences();
        }
        trace
    }

    /// What a reader calls before it adds anything of a job: hands the jobs before it over if
    /// there are enough.
    pub(crate) fn before_job(&mut self, trace: &mut Trace) {
        if trace.jobs.len() >= BATCH_LEN {
            self.flush(trace);
        }
    }

    /// What a reader calls after each line: hands the findings over if there are enough. The
    /// jobs stay, because the next line may say more about the last of them.
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

    /// What a reader ends with: the trace, if it has, or had, any job. The rest is handed over.
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
        // Names would be kept otherwise, and some records have one of its own for every job.
        trace.metadata = trace.metadata.take().map(|_| TraceMetadata::default());
        trace.diagnostics.clear_occurrences();
    }
}
