//! Records, read a batch at a time.

use std::path::Path;

use tollgate_model::Instant;
use tollgate_workload::batches::{BatchReadError, open_in_batches};
use tollgate_workload::{ColumnSelection, ReadOptions, Trace};

use super::error::TraceError;
use crate::exit::CliFailure;
use crate::messages::Verbosity;

/// Everything that is known of each job.
const OPTIONS: ReadOptions = ReadOptions {
    columns: ColumnSelection::All,
};

/// Calls `visit` with the jobs at `path`, a batch at a time; what is returned is the header of
/// the record, and what was found in it.
pub(super) fn each_batch(
    path: &Path,
    visit: impl FnMut(&Trace) -> Result<(), CliFailure>,
) -> Result<Trace, BatchReadError<CliFailure>> {
    open_in_batches(path, OPTIONS, visit)
}

impl From<BatchReadError<Self>> for CliFailure {
    fn from(stopped: BatchReadError<Self>) -> Self {
        match stopped {
            BatchReadError::Input(error) => error.into(),
            BatchReadError::Visitor(failure) => failure,
        }
    }
}

/// Says what was skipped, repaired or defaulted.
pub(super) fn print_findings(header: &Trace, voice: Verbosity) {
    for line in header.diagnostics.to_string().lines() {
        voice.note(format_args!("{}: {line}", header.source));
    }
}

/// The origin of the clock of the first record, on which those of the others must be.
#[derive(Default)]
pub(super) struct ClockOrigin(Option<(String, Option<Instant>)>);

impl ClockOrigin {
    /// Jobs of `batch` go where those of earlier records went.
    pub(super) fn check_same_origin(&mut self, batch: &Trace) -> Result<(), CliFailure> {
        let (first, origin) = self
            .0
            .get_or_insert_with(|| (batch.source.clone(), batch.unix_start));
        if *origin == batch.unix_start {
            return Ok(());
        }
        Err(TraceError::TwoClocks {
            first: first.clone(),
            other: batch.source.clone(),
        }
        .into())
    }
}
