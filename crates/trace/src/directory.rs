//! Reader for the files of a directory as one trace.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tollgate_model::{Instant, Span};

use crate::attempts::TraceAttempt;
use crate::diagnostics::Diagnostics;
use crate::error::{OpenError, ReadError};
use crate::finding::Finding;
use crate::name_column::NameColumn;
use crate::open::open;
use crate::options::{ColumnSelection, ReadOptions};
use crate::passthrough_columns::PassthroughColumns;
use crate::trace::Trace;
use crate::trace_metadata::{RecordNames, TraceMetadata};

/// Reads every file in the directory at `path`, by name, except hidden files and subdirectories,
/// and sorts their jobs by submission. A file of no known format, or without a job, is counted and
/// skipped.
///
/// # Errors
/// If the directory or one of its files cannot be read, if no file has a job, or if two files have
/// different formats, since their clocks would not agree.
pub(crate) fn read(path: &Path, options: ReadOptions) -> Result<Trace, OpenError> {
    let source = path.display().to_string();
    let error = |cause| OpenError {
        file: source.clone(),
        cause,
    };
    let files = files_in(path)?;
    let (mut traces, mut useless): (Vec<Trace>, Vec<OpenError>) = (Vec::new(), Vec::new());
    for file in files {
        // The waits and the users tell whether two records are of the same job.
        let columns = ColumnSelection::All;
        match open(&file, ReadOptions { columns }) {
            Ok(trace) => traces.push(trace),
            Err(error) if error.cause.is_content_error() => useless.push(error),
            Err(error) => return Err(error),
        }
    }
    if let Some(pair) = traces
        .windows(2)
        .find(|pair| pair[0].format != pair[1].format)
    {
        let [first, second] = [&pair[0], &pair[1]].map(describe);
        return Err(error(ReadError::MixedFormats { first, second }));
    }
    if traces.is_empty() {
        let first = useless.into_iter().next();
        return Err(first.unwrap_or_else(|| error(ReadError::Empty)));
    }
    let mut trace = Trace::merged(&source, traces);
    if options.columns == ColumnSelection::Core {
        trace.metadata = None;
    }
    for error in useless {
        let finding = Finding::UnusableFile;
        trace.diagnostics.record_in(finding, 1, &error.file);
    }
    Ok(trace)
}

fn describe(trace: &Trace) -> String {
    let format = trace.format.map_or("unknown", |format| format.name());
    format!("`{}` ({format})", trace.source)
}

/// Returns the files in the directory at `path`, by name, except hidden files and subdirectories.
///
/// # Errors
/// [`ReadError::Open`] if the directory cannot be read.
pub fn files_in(path: &Path) -> Result<Vec<PathBuf>, OpenError> {
    list(path).map_err(|error| OpenError {
        file: path.display().to_string(),
        cause: ReadError::Open(error),
    })
}

fn list(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // The type of the file behind a link, not that of the link.
        if !hidden && fs::metadata(entry.path())?.is_file() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

impl Trace {
    /// Merges the jobs of `traces` in order of submission, ties in the order of the traces.
    /// Messages name the file of each line. Clocks that begin at different instants are shifted to
    /// the earliest. The machine is the largest machine of the traces.
    pub fn merged(source: &str, mut traces: Vec<Self>) -> Self {
        let start = align(&mut traces);
        let mut merged = Self::empty(source);
        merged.unix_start = start;
        merged.format = traces.first().and_then(|trace| trace.format);
        merged.max_procs = traces.iter().filter_map(|trace| trace.max_procs).max();
        merged.max_nodes = traces.iter().filter_map(|trace| trace.max_nodes).max();
        for trace in &traces {
            merged
                .diagnostics
                .merge_file(&trace.diagnostics, &trace.source);
        }
        let order = order(&traces);
        let order = without_duplicates(order, &traces, &mut merged.diagnostics);
        merged.jobs = order
            .iter()
            .map(|&(at, row)| traces[at].jobs[row])
            .collect();
        if traces.iter().any(|trace| trace.slas.is_some()) {
            let sla = |&(at, row): &(usize, usize)| {
                let slas: Option<&Vec<_>> = traces[at].slas.as_ref();
                slas.map(|slas| slas[row]).unwrap_or_default()
            };
            merged.slas = Some(order.iter().map(sla).collect());
        }
        merged.metadata = metadata(&traces, &order);
        merged.extra = extra(&traces, &order);
        merged
    }
}

/// Shifts the clocks of all `traces` to the earliest beginning, if the traces state their
/// beginnings.
fn align(traces: &mut [Trace]) -> Option<Instant> {
    let starts = traces.iter().map(|trace| trace.unix_start);
    let starts: Option<Vec<Instant>> = starts.collect();
    let earliest = starts?.into_iter().min()?;
    for trace in traces {
        let later = trace
            .unix_start
            .map_or(Span::ZERO, |start| start.since(earliest));
        if later == Span::ZERO {
            continue;
        }
        for job in &mut trace.jobs {
            job.submit += later;
        }
        if let Some(attempts) = trace
            .metadata
            .as_mut()
            .and_then(|names| names.attempts.as_mut())
        {
            attempts.shift(later);
        }
    }
    Some(earliest)
}

/// Removes the jobs that another trace has as well, since exports of periods overlap: each lists what
/// ran in its period. Without a calendar, equal numbers and times mean nothing. Jobs that share all of these within one trace are tasks of an array, and stay.
fn without_duplicates(
    order: Vec<(usize, usize)>,
    traces: &[Trace],
    notes: &mut Diagnostics,
) -> Vec<(usize, usize)> {
    if traces.iter().any(|trace| trace.unix_start.is_none()) {
        return order;
    }
    let key = |&(at, row): &(usize, usize)| {
        let trace = &traces[at];
        let job = trace.jobs[row];
        let user = trace
            .metadata
            .as_ref()
            .and_then(|names| names.user.get(row));
        (
            job.submit,
            job.number,
            trace.usage(row).wait,
            job.runtime,
            job.procs,
            user,
        )
    };
    let mut sorted = order.clone();
    sorted.sort_by_key(key);
    let mut kept = BTreeSet::new();
    for same in sorted.chunk_by(|a, b| key(a) == key(b)) {
        // Of the traces, that with the most of these jobs has them all.
        let of_traces = same.chunk_by(|a, b| a.0 == b.0);
        let most = of_traces.max_by_key(|rows| (rows.len(), Reverse(rows[0].0)));
        kept.extend(most.unwrap_or_default().iter().copied());
        let copies = same.iter().filter(|place| !kept.contains(place));
        for &(at, _) in copies {
            notes.record_in(Finding::SameRecord, 0, &traces[at].source);
        }
    }
    order
        .into_iter()
        .filter(|place| kept.contains(place))
        .collect()
}

/// Returns the trace and row of each job of the merged trace, in order.
fn order(traces: &[Trace]) -> Vec<(usize, usize)> {
    let rows = |(at, trace): (usize, &Trace)| (0..trace.jobs.len()).map(move |row| (at, row));
    let mut order: Vec<(usize, usize)> = traces.iter().enumerate().flat_map(rows).collect();
    order.sort_by_key(|&(at, row)| traces[at].jobs[row].submit);
    order
}

fn metadata(traces: &[Trace], order: &[(usize, usize)]) -> Option<TraceMetadata> {
    let parts: Option<Vec<&TraceMetadata>> =
        traces.iter().map(|trace| trace.metadata.as_ref()).collect();
    let parts = parts?;
    let has_attempts = parts.iter().any(|part| part.attempts.is_some());
    let mut merged = TraceMetadata::default();
    for &(at, row) in order {
        let part = parts[at];
        let name = |column| name_in(column, row);
        let names = RecordNames {
            user: name(&part.user),
            group: name(&part.group),
            account: name(&part.account),
            executable: name(&part.executable).into(),
            queue: name(&part.queue),
        };
        let usage = part.usage.get(row).unwrap_or_default();
        merged.push(names, usage);
        if has_attempts {
            let attempts: &[TraceAttempt] = part.attempts.as_ref().map_or(&[], |all| all.of(row));
            merged.push_attempts(attempts);
        }
    }
    Some(merged)
}

fn name_in(column: &NameColumn, row: usize) -> &[u8] {
    column.get(row).unwrap_or_default().as_bytes()
}

/// Returns every column that any trace has; its cells are empty for the other traces.
fn extra(traces: &[Trace], order: &[(usize, usize)]) -> Option<PassthroughColumns> {
    let mut names: Vec<String> = Vec::new();
    for extra in traces.iter().filter_map(|trace| trace.extra.as_ref()) {
        for name in extra.names() {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    if names.is_empty() {
        return None;
    }
    let mut merged = PassthroughColumns::new(names.clone());
    for &(at, row) in order {
        for name in &names {
            let cell = traces[at].extra.as_ref().and_then(|extra| {
                let place = extra.names().iter().position(|other| other == name)?;
                extra.row(row).nth(place)
            });
            merged.push(cell.unwrap_or_default());
        }
    }
    Some(merged)
}
