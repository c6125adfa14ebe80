//! Reads traces in batches.

use std::path::Path;

use tollgate_model::Instant;
use tollgate_trace::batches::{BatchReadError, open_in_batches};
use tollgate_trace::{ColumnSelection, ReadOptions, Trace};

use super::error::TraceError;
use crate::exit::CliFailure;
use crate::output::messages::Verbosity;

/// The options that read every column.
const OPTIONS: ReadOptions = ReadOptions {
    columns: ColumnSelection::All,
};

/// Calls `visit` with the jobs at `path`, one batch at a time. Returns the header of the trace and
/// the findings.
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

/// Prints notes about everything that was skipped, repaired or defaulted.
pub(super) fn print_findings(header: &Trace, verbosity: Verbosity) {
    for line in header.diagnostics.to_string().lines() {
        verbosity.note(format_args!("{}: {line}", header.source));
    }
}

/// The clock origin of the first trace, which all other traces must share.
#[derive(Default)]
pub(super) struct ClockOrigin(Option<(String, Option<Instant>)>);

impl ClockOrigin {
    /// Checks that `batch` has the same clock origin as the traces before it.
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
