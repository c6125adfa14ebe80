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
use crate::open;
use crate::options::ReadOptions;
use crate::trace::Trace;
use crate::trace_sink::TraceSink;

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
    let sink = &mut TraceSink::visiting(&mut hand_over);
    let outcome = open::read_with(name, bytes, |name, bytes| {
        open::read_text(name, bytes, options, sink)
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
